"""Where pure tasks run: in this process, in its threads, or on a Dask cluster.

Results come in the order of the items, whichever worker computed them first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from sparsetopics.base.errors import OptionError
from sparsetopics.base.stopping import check_held, safely_interruptible
from sparsetopics.options.workplace import Workplace

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

    from sparsetopics.execution.dask_cluster import Cluster

Item = TypeVar("Item")
Result = TypeVar("Result")


# --- parts of a batch, in this process ------------------------------------------------------------
class Executor:
    """Applies one task to many items; the task must not depend on the order of execution.

    Items run in this thread, and in those of a ``pool`` if there is one; the kernels release the
    interpreter lock. Each thread takes the next item when it is done with one. A future for each
    item would take longer than many items do.
    """

    def __init__(self, pool: ThreadPoolExecutor | None = None, n_others: int = 0) -> None:
        self._pool, self._n_others = pool, n_others

    def map(self, task: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return the result of each item, in their order."""
        results: dict[int, Result] = {}
        numbers = iter(range(len(items)))  # whose ``next`` is one step under the lock

        def work() -> None:
            try:
                for i in numbers:
                    results[i] = task(items[i])
            finally:  # after an error, leave the others nothing to begin
                deque(numbers, maxlen=0)

        others: list[Future[None]] = []
        if self._pool is not None:
            others += [self._pool.submit(work) for _ in range(min(self._n_others, len(items) - 1))]
        try:
            work()
        finally:
            wait(others)
        for other in others:
            other.result()
        check_held()
        return [results[i] for i in range(len(items))]


@contextmanager
def open_executor(workers: int) -> Iterator[Executor]:
    """Yield an executor of ``workers`` threads, which end with the block.

    Raises OptionError if ``workers`` is below 1.
    """
    if workers < 1:
        raise OptionError("workers", f"must be at least 1, but is {workers}")
    # Linear algebra must stay in the thread that calls it. With threads of its own it takes several
    # times as long on matrices too small to share, and rounds by how many threads there are.
    with safely_interruptible(), _linear_algebra().limit(limits=1, user_api="blas"):
        if workers == 1:
            yield Executor()
            return
        with open_threads(workers - 1) as pool:
            yield Executor(pool, workers - 1)


@contextmanager
def open_threads(
    n_threads: int, begin: Callable[[], None] | None = None
) -> Iterator[ThreadPoolExecutor]:
    """Yield a pool whose threads end with the block; tasks that have not begun are cancelled.

    Each thread calls ``begin`` first.
    """
    pool = ThreadPoolExecutor(n_threads, initializer=begin)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@lru_cache(maxsize=1)
def _linear_algebra() -> ThreadpoolController:
    """Return a handle on the BLAS libraries of numpy and scipy, which differ."""
    import scipy.special  # noqa: F401 - loads scipy's library faster than scipy.linalg does
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


# --- items of a stream, perhaps on a cluster ------------------------------------------------------
class OrderedMap(Protocol):
    """Maps a pure function over a stream of items that may be large, and many.

    Only a few items are taken ahead of the results. On a cluster, items and results travel between
    processes.
    """

    def __call__(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[Result]: ...


@dataclass(frozen=True, slots=True)
class LocalMap:
    """An ``OrderedMap`` in this process, which can also read.

    With a ``pool``, it takes at most ``n_workers + 1`` items ahead of the results; without one,
    everything happens in this thread. Threads are enough, since Arrow, numpy, zlib and the kernels
    release the interpreter lock.
    """

    pool: ThreadPoolExecutor | None = None
    n_workers: int = 1

    def __call__(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[Result]:
        if self.pool is None:
            yield from map(function, items)
            return
        waiting: deque[Future[Result]] = deque()
        for item in items:
            waiting.append(self.pool.submit(function, item))
            if len(waiting) > self.n_workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def chained(self, streams: Iterable[Iterator[Item]]) -> Iterator[Item]:
        """Yield the items of all streams, one stream after the other; none of them is None.

        With a pool, the next item of this stream and the first items of the next streams are made
        ahead.
        """
        if self.pool is None:
            yield from chain.from_iterable(streams)
            return
        for stream, item in self(lambda stream: (stream, next(stream, None)), streams):
            while item is not None:
                ahead = self.pool.submit(next, stream, None)
                yield item
                item = ahead.result()


@contextmanager
def open_local_map(place: Workplace) -> Iterator[LocalMap]:
    """Yield a map in this process, even if ``place`` has a cluster.

    It is for work that takes less time than sending it. Its threads end with the block. One worker
    is this thread alone.
    """
    if place.workers == 1:
        yield LocalMap()
        return
    with open_threads(place.workers) as pool:
        yield LocalMap(pool, place.workers)


@contextmanager
def open_cluster_map(place: Workplace) -> Iterator[OrderedMap | None]:
    """Yield a map over the workers of the cluster of ``place``; None if it has none.

    Raises OptionError if Dask is not installed, ClusterError if no scheduler answers.
    """
    with _open_cluster(place) as cluster:
        yield None if cluster is None else cluster.stream


# --- parts of a collection, perhaps on a cluster --------------------------------------------------
broadcast_map_here: OrderedMap = LocalMap()  # computes each result when it is needed


class Crew(NamedTuple):
    """Who works on a collection: threads on each part of it, and a map over the parts.

    The map is for a function that holds a model or other large values: a cluster gets it once. An
    item should say where its data are, not hold them. Results do not depend on the crew.
    """

    threads: int = 1
    map: OrderedMap = broadcast_map_here


ALONE = Crew()


@contextmanager
def open_crew(place: Workplace) -> Iterator[Crew]:
    """Yield the workers of the cluster of ``place``, or the threads of this process if it has none.

    Raises OptionError if Dask is not installed, ClusterError if no scheduler answers.
    """
    with _open_cluster(place) as cluster:
        over_parts = broadcast_map_here if cluster is None else cluster.broadcast_map
        yield Crew(place.threads, over_parts)


def _open_cluster(place: Workplace) -> AbstractContextManager[Cluster | None]:
    """The cluster of ``place``; None if it has none."""
    if place.executor != "dask":
        return nullcontext()
    from sparsetopics.execution.dask_cluster import open_cluster

    return open_cluster(place)
