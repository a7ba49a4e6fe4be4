"""Dask workers as this package uses them: pure tasks, results in order, whichever workers die.

A task is a function of what it is given and of files, so that Dask may run it again, or twice, and
nothing but time is lost. An item goes to the worker that ranks highest for it by a hash of both
names (rendezvous), unless that one has its share of the items already; so a worker mostly gets what
it got before, even after others have come or gone. Others may take over.
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from hashlib import blake2b
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

from threadpoolctl import threadpool_info, threadpool_limits

from sparsetopics.base.errors import ClusterError, OptionError, SparsetopicsError
from sparsetopics.options.training import Workplace

CONNECT_SECONDS = 10
LOCAL_SETTINGS: dict[str, Any] = {  # of a cluster that is started here
    # Dask would also have memory given back at once, which took a quarter of a worker's time.
    "distributed.nanny.pre-spawn-environ": {"OMP_NUM_THREADS": 1, "OPENBLAS_NUM_THREADS": 1},
    "distributed.worker.profile.enabled": False,
    # Ctrl-C in a terminal is for the driver, which ends the workers.
    "distributed.worker.preload": ["import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"],
    "distributed.scheduler.allowed-failures": 1000,  # workers that may die over one task
    "distributed.deploy.lost-worker-timeout": "1 hour",  # until which a busy machine restarts one
}
CONNECTED = "running"  # status of a client
LOGGERS = ("asyncio", "distributed", "tornado")  # these log tracebacks about a lost scheduler
NO_WORKER_SECONDS = 0.2  # between two looks whether there is a worker
SCHEDULER_VARIABLE = "DASK_SCHEDULER_ADDRESS"  # read by every Dask client
SETTINGS = {"distributed.admin.large-graph-warning-threshold": "64 GB"}  # a model is no graph
# Of a task that fails for another reason, such as a shared disk that lags behind; what is wrong
# with data or options is so wherever it is tried.
RETRIES = 3
AHEAD = 3  # tasks for each thread that are handed out before the first result is taken
AHEAD_WITH_DATA = 2  # where they hold what is worked on
PATIENCE = 5.0  # seconds before workers are looked after for the first time, and at most, as long
MOST_PATIENCE = 300.0  # tasks and the way back of their results may take

_LOG = logging.getLogger(__name__)  # whose warnings go to stderr

Item = TypeVar("Item")
Result = TypeVar("Result")
Value = TypeVar("Value")


@contextmanager
def open_cluster(place: Workplace) -> Iterator[Cluster]:
    """The cluster of ``place`` or of the environment, or else one of processes of this machine,
    with one thread each.

    A process that answers as the scheduler can run code here, so the address never comes from a
    file. Dask's own configuration names the certificates for ``tls://``. Raises OptionError
    if Dask is not installed, ClusterError if no scheduler answers.
    """
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise OptionError(
            "executor",
            found=f"dask, without the package {error.name}",
            wanted="Dask distributed",
            hint="Install it with `pip install 'sparsetopics[dask]'`.",
        ) from error
    address = chosen_scheduler(place)
    if address is not None:
        with _quiet(), dask.config.set(SETTINGS), _connected(Client, address) as client:
            yield Cluster(client)
        return
    local_cluster = partial(
        LocalCluster,
        n_workers=place.workers,
        threads_per_worker=1,
        memory_limit=0,  # who trains knows how much the collection takes
        dashboard_address="127.0.0.1:0",  # any free port, hidden from other machines
        silence_logs=logging.CRITICAL,  # what Dask mends itself
    )
    with (
        _quiet(),
        dask.config.set(SETTINGS | LOCAL_SETTINGS),
        started(local_cluster) as local,
        started(partial(Client, local, set_as_default=False, direct_to_workers=True)) as client,
    ):
        yield Cluster(client)


def chosen_scheduler(place: Workplace) -> str | None:
    """The given address, else that of the environment; None to start a local cluster."""
    if place.executor != "dask":
        return None
    return place.scheduler or os.environ.get(SCHEDULER_VARIABLE) or None


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask from logging tracebacks of errors that we report in one line."""
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in LOGGERS]
    loggers = {name: logging.getLogger(name) for name in names}
    levels = {name: logger.level for name, logger in loggers.items()}
    for logger in loggers.values():
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in levels.items():
            loggers[name].setLevel(level)


def started(start: Callable[[], Any]) -> Any:
    """What ``start`` gives.

    Dask asserts that a thread of its own runs within ten seconds; where the machine stood still
    for as long, it does not, and does the next time.
    """
    for _ in range(RETRIES):
        with suppress(AssertionError):
            return start()
    return start()


def _connected(client: Any, address: str) -> Any:
    if ":" not in address.rpartition("//")[2]:  # else Dask waits, then fails with another error
        raise ClusterError(address, found="no port", wanted="an address such as tcp://head:8786")
    try:
        return started(partial(client, address, timeout=CONNECT_SECONDS, set_as_default=False))
    except (TypeError, RuntimeError) as error:  # Dask's errors for settings that do not fit
        raise ClusterError(
            address,
            found=f"Dask settings that do not fit ({error})",
            wanted="those of the scheduler",
            hint="tls:// needs certificates: see docs/how-to/clusters.md.",
        ) from error
    except (OSError, ValueError) as error:
        raise ClusterError(
            address,
            found="no Dask scheduler that answers",
            wanted="the address of one, such as tcp://host:8786",
            hint="Is it running, and is the port open?",
        ) from error


class _Task(NamedTuple):
    """What was handed out and is waited for."""

    item: Any
    address: str  # of the worker that it was meant for
    future: Any


class _Refusal(NamedTuple):
    """What came of a task that would be refused again, wherever it is tried."""

    error: SparsetopicsError


class _Worker(NamedTuple):
    """One that is there."""

    address: str
    n_threads: int


#: Where to send the next task, given those that are waited for, and how many threads there are.
_Choose = Callable[[Iterable[_Task]], tuple[str, int]]


class Cluster:
    """Workers of a Dask cluster."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._name = uuid4().hex
        self._blas_threads = blas_threads()
        self._n_tasks = 0

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """``function`` of each item, in their order; it must be pure, and known to the workers.

        Raises what it raises, and ClusterError if the scheduler is lost.
        """
        return self._ordered(function, items, (), self._by_name([str(item) for item in items]))

    def spread(
        self, function: Callable[[Item, Value], Result], items: Iterable[Item], value: Value
    ) -> Iterator[Result]:
        """An ``executors.Spread``. The scheduler keeps ``value``: who loses it gets it again."""
        with _scheduler_errors(self._client):
            shared = self._client.submit(_same, value, key=self._new_key(), retries=RETRIES)
        listed = list(items)
        choose = self._by_name([str(n) for n in range(len(listed))])
        return self._ordered(function, listed, (shared,), choose)

    def stream(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """A ``corpora.ordered_map.OrderedMap``. What is handed out stays here too until its result
        is there, so that it can be handed out again: ``AHEAD_WITH_DATA`` items for each thread."""
        return self._ordered(function, items, (), self._least_busy, AHEAD_WITH_DATA)

    def _ordered(
        self,
        function: Callable[..., Result],
        items: Iterable[Any],
        shared: tuple[Any, ...],
        choose: _Choose,
        n_ahead: int = AHEAD,
    ) -> Iterator[Result]:
        waiting: deque[_Task] = deque()
        for item in items:
            address, n_threads = choose(waiting)
            waiting.append(self._submit(function, item, shared, address))
            while len(waiting) > n_ahead * n_threads:
                yield self._first(function, shared, waiting)
        while waiting:
            yield self._first(function, shared, waiting)

    def _by_name(self, names: Sequence[str]) -> _Choose:
        """To each task in turn the worker for its name."""
        workers = self._workers()
        n_threads = sum(worker.n_threads for worker in workers.values())
        places = iter(placed(names, sorted(workers)))
        return lambda _: (workers[next(places)].address, n_threads)

    def _least_busy(self, waiting: Iterable[_Task]) -> tuple[str, int]:
        """Of the workers that are there now: a stream may take hours, in which they come and go."""
        workers = self._workers().values()
        n_tasks = Counter(task.address for task in waiting)
        chosen = min(workers, key=lambda worker: n_tasks[worker.address] / worker.n_threads)
        return chosen.address, sum(worker.n_threads for worker in workers)

    def tell_all(self, function: Callable[[], None]) -> None:
        """Run ``function`` in every worker that is there and finishes it soon.

        If the scheduler is lost, this neither raises nor waits: the error that ends the block says
        so.
        """
        if self._client.status != CONNECTED:
            return
        with suppress(TimeoutError, ClusterError), _scheduler_errors(self._client):
            told = [
                self._client.submit(function, key=self._new_key(), workers=[address])
                for address in self._client.scheduler_info(n_workers=-1)["workers"]
            ]
            for future in told:
                future.result(timeout=PATIENCE)

    def _first(
        self, function: Callable[..., Result], shared: tuple[Any, ...], waiting: deque[_Task]
    ) -> Result:
        """The result of the first task, which leaves."""
        patience = PATIENCE
        while True:
            try:
                result: Result | _Refusal = _result(waiting[0].future, patience)
            except TimeoutError:
                self._renew(function, shared, waiting)
                patience = min(2 * patience, MOST_PATIENCE)
            else:
                waiting.popleft()
                if isinstance(result, _Refusal):
                    raise result.error
                return result

    def _renew(
        self, function: Callable[..., Any], shared: tuple[Any, ...], waiting: deque[_Task]
    ) -> None:
        """Hand out again what was meant for workers that are gone.

        If others are there they have it already. But if for a moment there were none, Dask waits
        for the very worker that is gone.
        """
        addresses = sorted(worker.address for worker in self._workers().values())
        for index, task in enumerate(waiting):
            if task.address not in addresses:
                place = addresses[index % len(addresses)]
                waiting[index] = self._submit(function, task.item, shared, place)

    def _submit(
        self, function: Callable[..., Any], item: Any, shared: tuple[Any, ...], address: str
    ) -> _Task:
        with _scheduler_errors(self._client):
            future = self._client.submit(
                _as_in_driver,
                self._blas_threads,
                function,
                item,
                *shared,
                key=self._new_key(),
                workers=[address],
                allow_other_workers=True,
                retries=RETRIES,
            )
        return _Task(item, address, future)

    def _new_key(self) -> str:
        self._n_tasks += 1
        return f"sparsetopics-{self._name}-{self._n_tasks}"

    def _workers(self) -> dict[str, _Worker]:
        """By their names, which outlive a restart; waits until there is one, which is told once."""
        until_told = PATIENCE
        while not (workers := self._seen_workers()):
            time.sleep(NO_WORKER_SECONDS)
            until_told -= NO_WORKER_SECONDS
            if -NO_WORKER_SECONDS < until_told <= 0:
                _LOG.warning("The Dask cluster has no workers. Waiting for one.")
        return {
            str(worker["name"]): _Worker(address, worker["nthreads"])
            for address, worker in workers.items()
        }

    def _seen_workers(self) -> dict[str, Any]:
        with _scheduler_errors(self._client):
            seen: dict[str, Any] = self._client.scheduler_info(n_workers=-1)["workers"]
        return seen


@contextmanager
def _scheduler_errors(client: Any) -> Iterator[None]:
    """Turn what Dask raises when the scheduler is lost into a ClusterError."""
    from concurrent.futures import CancelledError

    try:
        yield
    except (TimeoutError, SparsetopicsError):  # TimeoutError is an OSError, but no lost connection
        raise
    except (CancelledError, OSError) as error:
        raise _lost(error) from error
    except Exception as error:
        if client.status == CONNECTED:
            raise
        raise _lost(error) from error  # a closed client raises any kind of error


def _lost(error: Exception) -> ClusterError:
    return ClusterError(
        "the Dask cluster",
        found=f"no connection to its scheduler ({type(error).__name__})",
        wanted="a running scheduler",
    )


def blas_threads() -> int:
    """With which products of matrices are made in this process: they round by that."""
    counts = (each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas")
    return max(counts, default=1)


def _as_in_driver(
    n_threads: int, function: Callable[..., Result], *given: Any
) -> Result | _Refusal:
    """In a worker: what the driver would get.

    What a disk has refused may go well the next time, and Dask tries it again.
    """
    _limit_blas(n_threads)
    try:
        return function(*given)
    except SparsetopicsError as error:
        if isinstance(error.__cause__, OSError):
            raise
        return _Refusal(error)


@lru_cache(maxsize=1)
def _limit_blas(n_threads: int) -> None:
    threadpool_limits(n_threads, user_api="blas")


def _same(value: Value) -> Value:
    """In a worker: what was sent."""
    return value


def placed(items: Sequence[str], workers: Sequence[str]) -> list[str]:
    """The worker of each item; none has more than its even share."""
    share = -(-len(items) // len(workers))
    taken: Counter[str] = Counter()
    places = []
    for item in items:
        free = (worker for worker in workers if taken[worker] < share)
        places.append(max(free, key=lambda worker: _rank(worker, item)))
        taken[places[-1]] += 1
    return places


def _rank(worker: str, item: str) -> bytes:
    return blake2b(f"{worker}/{item}".encode(), digest_size=8).digest()


def _result(future: Any, patience: float) -> Any:
    """TimeoutError if it takes longer; what the task raises, if it is that."""
    from distributed import KilledWorker

    try:
        with _scheduler_errors(future.client):
            return future.result(timeout=patience)
    except TimeoutError:
        if future.status == "error":
            raise future.exception() from None
        raise
    except KilledWorker as error:
        raise ClusterError(
            "the Dask cluster",
            found=f"{error.allowed_failures + 1} workers that died over the same batch",
            wanted="workers with enough memory",
            hint="Or raise distributed.scheduler.allowed-failures where the scheduler runs.",
        ) from error
