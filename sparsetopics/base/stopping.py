"""Ctrl-C and SIGTERM stop a command, even where their exception would be lost or do harm."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Terminated(KeyboardInterrupt):
    """SIGTERM, which stops a command just as Ctrl-C does."""


_KINDS = {signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: Terminated}
_BOXING = "_numba_unpickle"  # in which numba runs Python while it returns from a kernel
_received: list[type[KeyboardInterrupt]] = []  # by this process, since the command began
_thread = threading.local()
_held: list[type[KeyboardInterrupt]] = []  # those of which no exception was raised yet


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise KeyboardInterrupt or Terminated for signals, unless the process ignores them."""
    if threading.current_thread() is not threading.main_thread():  # others get no signals
        yield
        return
    with _handling([n for n in _KINDS if signal.getsignal(n) is not signal.SIG_IGN]):
        yield


@contextmanager
def safely_interruptible() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt as Python does, but never while a kernel returns."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    with _handling([signal.SIGINT]):
        yield
        check_held()


@contextmanager
def _handling(numbers: list[signal.Signals]) -> Iterator[None]:
    _received.clear()
    _held.clear()
    before = {number: signal.signal(number, _stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def check_stopped() -> None:
    """Raise again for a signal whose exception was lost in a callback of a library in C."""
    if _received:
        _held.clear()
        raise _received[-1]


def stop_thread_at(event: threading.Event) -> None:
    """Let ``check_held`` stop this thread, which gets no signals, once the ``event`` is set."""
    _thread.stops_at = event


def check_held() -> None:
    """Raise for a signal that came while a kernel returned, and in a thread that should stop."""
    if _held:
        raise _held.pop()
    event: threading.Event | None = getattr(_thread, "stops_at", None)
    if event is not None and event.is_set():
        raise KeyboardInterrupt


def _stop(number: int, frame: FrameType | None) -> None:
    kind = _KINDS[signal.Signals(number)]
    _received.append(kind)
    if _is_in_boxing(frame):
        _held.append(kind)
    else:
        raise kind


def _is_in_boxing(frame: FrameType | None) -> bool:
    """Whether numba is making Python objects of a kernel's result.

    It does not expect an exception there: with several arrays to return, the process crashes.
    """
    while frame is not None:
        if frame.f_code.co_name == _BOXING:
            return True
        frame = frame.f_back
    return False
