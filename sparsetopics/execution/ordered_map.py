"""Work on what a reader hands out, results in its order: in this process, or by Dask workers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from sparsetopics.execution.executors import open_threads
from sparsetopics.options.training import Workplace

Item = TypeVar("Item")
Result = TypeVar("Result")


class OrderedMap(Protocol):
    """``map`` of a pure function that works on a few items ahead of the results, but not on more:
    items may be large, and many. Where other processes work, items and results go there and back.
    """

    def __call__(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[Result]: ...


def one_by_one(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """``map`` itself."""
    return map(function, items)


@dataclass(frozen=True, slots=True)
class OverThreads:
    """At most ``n_workers + 1`` items are taken ahead of the results.

    Threads, not processes: Arrow, numpy, zlib and the kernels release the interpreter lock.
    """

    pool: ThreadPoolExecutor
    n_workers: int

    def __call__(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[Result]:
        waiting: deque[Future[Result]] = deque()
        for item in items:
            waiting.append(self.pool.submit(function, item))
            if len(waiting) > self.n_workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@contextmanager
def open_map_here(place: Workplace) -> Iterator[OrderedMap]:
    """Map over threads of this process, even if ``place`` has a cluster: for work that is quicker
    to do than to send. The threads end with the block."""
    if place.executor == "serial":
        yield one_by_one
        return
    with open_threads(place.workers) as pool:
        yield OverThreads(pool, place.workers)


@contextmanager
def open_ordered_map(place: Workplace) -> Iterator[OrderedMap]:
    """Over the workers of a cluster, if ``place`` has one.

    Raises OptionError if Dask is not installed, ClusterError if no scheduler answers.
    """
    if place.executor != "dask":
        with open_map_here(place) as over_threads:
            yield over_threads
        return
    from sparsetopics.execution.dask_cluster import open_cluster

    with open_cluster(place) as cluster:
        yield cluster.stream
