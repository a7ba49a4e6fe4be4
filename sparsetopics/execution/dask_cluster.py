"""Run pure tasks on Dask workers, with results in order even if workers die.

A task depends only on its arguments and on files, so Dask may run it again, or twice, and nothing
but time is lost. Each item prefers the worker that ranks highest for it by a hash of both names
(rendezvous hashing), unless that worker already has its even share of the items. So a worker mostly
gets the items it had before, even after other workers have come or gone. Other workers may take an
item over.
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
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar
from uuid import uuid4

from threadpoolctl import threadpool_info, threadpool_limits

from sparsetopics.base.errors import ClusterError, SparsetopicsError, needing
from sparsetopics.base.wording import quantity, reason_of
from sparsetopics.options.workplace import Workplace

if TYPE_CHECKING:  # Dask may be missing
    from distributed import Client, Future

CONNECT_SECONDS = 10
LOCAL_SETTINGS = {  # for a cluster that is started here
    # Dask's own value returns freed memory to the system at once, which cost a quarter of the time.
    "distributed.nanny.pre-spawn-environ": {"OMP_NUM_THREADS": 1, "OPENBLAS_NUM_THREADS": 1},
    "distributed.worker.profile.enabled": False,
    # Ctrl-C in a terminal reaches all processes, but only the driver may act on it.
    "distributed.worker.preload": ["import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"],
    "distributed.scheduler.allowed-failures": 1000,  # workers that may die over one task
    "distributed.deploy.lost-worker-timeout": "1 hour",  # a busy machine restarts workers slowly
}
CONNECTED = "running"  # status of a client
LOGGERS = ("asyncio", "distributed", "tornado")  # these log tracebacks about a lost scheduler
NO_WORKER_SECONDS = 0.2  # between two looks for a worker
SCHEDULER_VARIABLE = "DASK_SCHEDULER_ADDRESS"  # read by every Dask client
# A model is sent as one large argument, about which Dask would warn.
SETTINGS = {"distributed.admin.large-graph-warning-threshold": "64 GB"}
# For errors that may pass, such as those of a shared disk that lags behind. Errors in data or
# options are not tried again.
RETRIES = 3
AHEAD = 3  # tasks for each thread that are submitted before the first result is taken
AHEAD_WITH_DATA = 2  # the same for tasks that carry their data
PATIENCE = 5.0  # seconds to wait for a result before looking for lost workers; doubles up to
MOST_PATIENCE = 300.0  # seconds, because tasks and the transfer of results may take long

_LOG = logging.getLogger(__name__)  # warnings go to stderr

Item = TypeVar("Item")
Result = TypeVar("Result")


# --- connecting -----------------------------------------------------------------------------------
@contextmanager
def open_cluster(place: Workplace) -> Iterator[Cluster]:
    """Connect to the cluster of ``place`` or of the environment, or start one on this machine.

    A cluster that is started here has processes with one thread each. A process that answers as the
    scheduler can run code here, so the address never comes from a file. Dask's own configuration
    names the certificates for ``tls://``. Raises OptionError if Dask is not installed, ClusterError
    if no scheduler answers.
    """
    with needing("dask", "executor", "dask needs the package {}, which is not installed"):
        import dask
        from distributed import Client, LocalCluster
    address = chosen_scheduler(place)
    if address is not None:
        with _quiet(), dask.config.set(SETTINGS), _connected(Client, address) as client:
            yield Cluster(client)
        return
    local_cluster = partial(
        LocalCluster,
        n_workers=place.workers,
        threads_per_worker=1,
        memory_limit=0,  # no limit: the user knows how much memory the collection needs
        dashboard_address="127.0.0.1:0",  # any free port, hidden from other machines
        silence_logs=logging.CRITICAL,  # Dask recovers from the lesser events itself
    )
    with (
        _quiet(),
        dask.config.set(SETTINGS | LOCAL_SETTINGS),
        started(local_cluster) as local,
        started(partial(Client, local, set_as_default=False, direct_to_workers=True)) as client,
    ):
        yield Cluster(client)


def chosen_scheduler(place: Workplace) -> str | None:
    """Return the given address, else that of the environment; None to start a local cluster."""
    if place.executor != "dask":
        return None
    return place.scheduler or os.environ.get(SCHEDULER_VARIABLE) or None


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask from logging tracebacks of errors that are reported here in one line."""
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in LOGGERS]
    levels = {logger: logger.level for logger in map(logging.getLogger, names)}
    for logger in levels:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


def started(start: Callable[[], Result]) -> Result:
    """Return what ``start`` returns, if necessary after some attempts.

    Dask asserts that a thread of its own runs within ten seconds. On a machine that stood still for
    so long, the assertion fails and the next attempt succeeds.
    """
    for _ in range(RETRIES):
        with suppress(AssertionError):
            return start()
    return start()


def _connected(client: Callable[..., Client], address: str) -> Client:
    if ":" not in address.rpartition("//")[2]:  # Dask would wait, then fail with another error
        hint = "Give --scheduler an address such as tcp://head:8786."
        raise ClusterError(address, "the address has no port", hint)
    try:
        return started(partial(client, address, timeout=CONNECT_SECONDS, set_as_default=False))
    except (TypeError, RuntimeError) as error:  # Dask's errors for settings that do not fit
        problem = f"the Dask settings do not fit those of the scheduler ({reason_of(error)})"
        hint = "tls:// needs certificates: see docs/how-to/clusters.md."
        raise ClusterError(address, problem, hint) from error
    except (OSError, ValueError) as error:
        hint = "Is it running, and is the port open? An address looks like tcp://host:8786."
        raise ClusterError(address, "no Dask scheduler answers", hint) from error


# --- running tasks --------------------------------------------------------------------------------
class _Task(NamedTuple, Generic[Item, Result]):
    """A submitted task whose result is awaited."""

    item: Item
    address: str  # of the worker that it was meant for
    future: Future  # of a Result, or of the error of a task that would fail wherever it is tried


#: Given the addresses of awaited tasks, that for the next task and the number of all threads.
_Choose = Callable[[Iterable[str]], tuple[str, int]]


class Cluster:
    """The workers of a Dask cluster."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._blas_threads = blas_threads()

    def map(
        self, function: Callable[[Item], Result], items: Sequence[Item], names: Iterable[str]
    ) -> Iterator[Result]:
        """Yield ``function(item)`` in order; the function must be pure, and known to the workers.

        Items of the same name mostly go to the same worker. Raises what the function raises, and
        ClusterError if the scheduler is lost.
        """
        return self._ordered(function, items, self._by_name(names))

    def broadcast_map(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[Result]:
        """An ``executors.OrderedMap`` over the workers, for a function that may be large.

        The scheduler keeps the function, so a worker that lost it gets it again.
        """
        with _scheduler_errors(self._client):
            kept = self._client.submit(_same, function, key=_new_key(), retries=RETRIES)
        listed = list(items)
        names = map(str, range(len(listed)))
        return self.map(kept, listed, names)  # Dask gives tasks the function itself

    def stream(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """An ``executors.OrderedMap`` over the workers.

        An item stays here until its result arrives, so that it can be submitted again. At most
        ``AHEAD_WITH_DATA`` items for each thread are held.
        """
        return self._ordered(function, items, self._least_busy, AHEAD_WITH_DATA)

    def _ordered(
        self,
        work: Callable[[Item], Result],
        items: Iterable[Item],
        choose: _Choose,
        n_ahead: int = AHEAD,
    ) -> Iterator[Result]:
        waiting: deque[_Task[Item, Result]] = deque()
        for item in items:
            address, n_threads = choose(task.address for task in waiting)
            waiting.append(self._submit(work, item, address))
            while len(waiting) > n_ahead * n_threads:
                yield self._first(work, waiting)
        while waiting:
            yield self._first(work, waiting)

    def _by_name(self, names: Iterable[str]) -> _Choose:
        """Choose for each task in turn the worker that ranks highest for its name."""
        workers = self._workers()
        n_threads = sum(n_threads for _, n_threads in workers.values())
        places = iter(placed(list(names), sorted(workers)))
        return lambda _: (workers[next(places)][0], n_threads)

    def _least_busy(self, awaited: Iterable[str]) -> tuple[str, int]:
        """Choose among the workers of this moment: they come and go while a stream runs."""
        workers = self._workers().values()
        n_tasks = Counter(awaited)
        address, _ = min(workers, key=lambda worker: n_tasks[worker[0]] / worker[1])
        return address, sum(n_threads for _, n_threads in workers)

    def run_everywhere(self, function: Callable[[], None]) -> None:
        """Run ``function`` in every worker that is connected and finishes it soon.

        If the scheduler is lost, this neither raises nor waits: the error that ends the block says
        so.
        """
        if self._client.status != CONNECTED:
            return
        with suppress(TimeoutError, ClusterError), _scheduler_errors(self._client):
            futures = [
                self._client.submit(function, key=_new_key(), workers=[address])
                for address in self._client.scheduler_info(n_workers=-1)["workers"]
            ]
            for future in futures:
                future.result(timeout=PATIENCE)

    def _first(self, work: Callable[[Item], Result], waiting: deque[_Task[Item, Result]]) -> Result:
        """Wait for the result of the first task, and remove the task."""
        patience = PATIENCE
        while True:
            try:
                result = _result(waiting[0], patience)
            except TimeoutError:
                self._submit_lost_again(work, waiting)
                patience = min(2 * patience, MOST_PATIENCE)
            else:
                waiting.popleft()
                if isinstance(result, SparsetopicsError):
                    raise result
                return result

    def _submit_lost_again(
        self, work: Callable[[Item], Result], waiting: deque[_Task[Item, Result]]
    ) -> None:
        """Submit again the tasks of workers that are gone.

        Dask moves a task to another worker by itself. But if for a moment there were no workers,
        it waits for the very one that is gone.
        """
        addresses = sorted(address for address, _ in self._workers().values())
        for index, task in enumerate(waiting):
            if task.address not in addresses:
                waiting[index] = self._submit(work, task.item, addresses[index % len(addresses)])

    def _submit(
        self, work: Callable[[Item], Result], item: Item, address: str
    ) -> _Task[Item, Result]:
        with _scheduler_errors(self._client):
            future = self._client.submit(
                _as_in_driver,
                self._blas_threads,
                work,
                item,
                key=_new_key(),
                workers=[address],
                allow_other_workers=True,
                retries=RETRIES,
            )
        return _Task(item, address, future)

    def _workers(self) -> dict[str, tuple[str, int]]:
        """Return addresses and numbers of threads of the workers by name, waiting until there is
        one; names outlive a restart."""
        until_warning = PATIENCE
        while not (workers := self._seen_workers()):
            time.sleep(NO_WORKER_SECONDS)
            until_warning -= NO_WORKER_SECONDS
            if -NO_WORKER_SECONDS < until_warning <= 0:  # once
                _LOG.warning("The Dask cluster has no workers. Waiting for one.")
        return workers

    def _seen_workers(self) -> dict[str, tuple[str, int]]:
        with _scheduler_errors(self._client):
            workers = self._client.scheduler_info(n_workers=-1)["workers"].items()
        return {str(w["name"]): (address, w["nthreads"]) for address, w in workers}


def placed(items: Sequence[str], workers: Sequence[str]) -> list[str]:
    """Return the worker of each item; no worker gets more than its even share."""
    share = -(-len(items) // len(workers))
    taken: Counter[str] = Counter()
    places = []
    for item in items:
        free = (worker for worker in workers if taken[worker] < share)
        # Python's own hash of a string differs between processes.
        best = max(free, key=lambda w: blake2b(f"{w}/{item}".encode(), digest_size=8).digest())
        places.append(best)
        taken[best] += 1
    return places


def _new_key() -> str:
    return f"sparsetopics-{uuid4().hex}"


def _result(task: _Task[Item, Result], patience: float) -> Result | SparsetopicsError:
    """Raise TimeoutError if the result takes longer, and what the task raised if it failed."""
    from distributed import KilledWorker

    try:
        with _scheduler_errors(task.future.client):
            result: Result | SparsetopicsError = task.future.result(timeout=patience)
            return result
    except TimeoutError:
        if task.future.status == "error":  # the task itself raised TimeoutError
            raise task.future.exception() from None
        raise
    except KilledWorker as error:
        problem = f"{quantity(error.allowed_failures + 1, 'worker')} died over the same batch"
        hint = "Add memory, or raise the scheduler's distributed.scheduler.allowed-failures."
        raise ClusterError("the Dask cluster", problem, hint) from error


@contextmanager
def _scheduler_errors(client: Client) -> Iterator[None]:
    """Turn what Dask raises when the scheduler is lost into a ClusterError."""
    from concurrent.futures import CancelledError

    try:
        yield
    except (TimeoutError, SparsetopicsError):  # TimeoutError is an OSError, but no lost connection
        raise
    except Exception as error:
        # A client that lost its scheduler raises errors of any kind.
        if client.status == CONNECTED and not isinstance(error, CancelledError | OSError):
            raise
        problem = f"the connection to its scheduler is lost ({type(error).__name__})"
        raise ClusterError("the Dask cluster", problem) from error


# --- in a worker ----------------------------------------------------------------------------------
def blas_threads() -> int:
    """Return the number of threads of matrix products here; their rounding depends on it."""
    counts = (each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas")
    return max(counts, default=1)


def _as_in_driver(
    n_threads: int, function: Callable[[Item], Result], item: Item
) -> Result | SparsetopicsError:
    """Compute in a worker what the driver would compute.

    An error that comes from a disk is raised, so that Dask tries the task again.
    """
    _limit_blas(n_threads)
    try:
        return function(item)
    except SparsetopicsError as error:
        if isinstance(error.__cause__, OSError):
            raise
        return error


@lru_cache(maxsize=1)
def _limit_blas(n_threads: int) -> None:
    threadpool_limits(n_threads, user_api="blas")


def _same(value: Item) -> Item:
    """Keep a value in the cluster as the result of a task."""
    return value
