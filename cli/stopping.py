"""Ctrl-C and SIGTERM stop a command, even where Python drops the exception that they raise."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn


class Terminated(KeyboardInterrupt):
    """SIGTERM, which stops a command just as Ctrl-C does."""


_KINDS = {signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: Terminated}
_received: list[type[KeyboardInterrupt]] = []  # by this process, since the command began


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise KeyboardInterrupt or Terminated for signals, unless the process ignores them."""
    if threading.current_thread() is not threading.main_thread():  # others get no signals
        yield
        return
    _received.clear()
    before = {number: signal.getsignal(number) for number in _KINDS}
    taken = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in taken:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, before[number])


def check_stopped() -> None:
    """Raise again for a signal whose exception was lost in a callback of a library in C."""
    if _received:
        raise _received[-1]


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    _received.append(_KINDS[signal.Signals(number)])
    raise _received[-1]
