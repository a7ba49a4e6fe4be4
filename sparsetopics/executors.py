"""Where pure tasks run. Results come back in the order of the items, whoever computed them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Protocol, TypeVar

from sparsetopics.errors import OptionError

Item = TypeVar("Item")
Result = TypeVar("Result")


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

    Raises OptionError if ``workers`` is below 1.
    """
    if workers < 1:
        raise OptionError("workers", found=str(workers), wanted="at least 1")
    if workers == 1:
        yield SerialExecutor()
        return
    with ThreadPoolExecutor(workers) as pool:
        yield ThreadExecutor(pool)
