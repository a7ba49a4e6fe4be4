"""Where pure tasks run. Results come back in the order of the items, whoever computed them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, TypeVar

from sparsetopics.base.errors import OptionError
from sparsetopics.options.training import Workplace

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")
Value = TypeVar("Value")


class Executor(Protocol):
    """Applies one task to many items; the task must not depend on the order of execution."""

    def map(self, task: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]: ...


class SerialExecutor:
    """One item after the other, in this thread."""

    def map(self, task: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        return [task(item) for item in items]


class ThreadExecutor:
    """Threads of this process; the kernels release the interpreter lock."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool

    def map(self, task: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        return list(self._pool.map(task, items))


@contextmanager
def open_executor(workers: int) -> Iterator[Executor]:
    """An executor of ``workers`` threads, closed at the end of the block.

    Within the block linear algebra keeps to the thread that asks for it. Threads of its own would
    wait for each other over matrices too small to share, which takes several times the time, and
    round by how many they are. Raises OptionError if ``workers`` is below 1.
    """
    if workers < 1:
        raise OptionError("workers", found=str(workers), wanted="at least 1")
    with _linear_algebra().limit(limits=1, user_api="blas"):
        if workers == 1:
            yield SerialExecutor()
            return
        with open_threads(workers) as pool:
            yield ThreadExecutor(pool)


@contextmanager
def open_threads(n_threads: int) -> Iterator[ThreadPoolExecutor]:
    """A pool whose threads end with the block, which cancels tasks that have not begun."""
    pool = ThreadPoolExecutor(n_threads)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@lru_cache(maxsize=1)
def _linear_algebra() -> ThreadpoolController:
    """The libraries that numpy and scipy bring, one each."""
    import scipy.special  # noqa: F401 - loads scipy's; sooner than scipy.linalg
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class Spread(Protocol):
    """Applies a pure function to parts of a collection, and to a value that all parts share.

    Results come in the order of the parts. Where other processes work, parts and value go there, so
    that parts should say where data are, not hold them.
    """

    def __call__(
        self, function: Callable[[Item, Value], Result], items: Iterable[Item], value: Value
    ) -> Iterator[Result]: ...


def spread_here(
    function: Callable[[Item, Value], Result], items: Iterable[Item], value: Value
) -> Iterator[Result]:
    """One after the other in this process, when it is asked for."""
    return (function(item, value) for item in items)


@contextmanager
def open_spread(place: Workplace) -> Iterator[Spread]:
    """Over the workers of a cluster, if ``place`` has one."""
    if place.executor != "dask":
        yield spread_here
        return
    from sparsetopics.execution.dask_cluster import open_cluster

    with open_cluster(place) as cluster:
        yield cluster.spread
