"""Work spread over threads, results in the order of the items."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], n_workers: int
) -> Iterator[Result]:
    """``map`` over threads that takes at most ``n_workers + 1`` items ahead of the results.

    Threads, not processes: Arrow, numpy, zlib and the kernels release the interpreter lock.
    """
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(n_workers) as pool:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > n_workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
