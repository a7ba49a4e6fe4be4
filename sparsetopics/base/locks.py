"""A file lock that is released when the process that holds it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sparsetopics.base.errors import OutputError

if sys.platform != "win32":
    import fcntl

_LONGEST_PID = 20  # digits


@contextmanager
def alone_at(output: Path, lock: Path, doing: str) -> Iterator[None]:
    """Hold the lock of the file ``lock``, which is made if it is missing.

    Raises OutputError about ``output`` if another process holds it; ``doing`` says what that
    process does. If a process is killed, its lock is released.
    """
    with lock.open("a+b") as file:
        if not _taken(file, lock):
            raise OutputError(
                str(output),
                found=f"another process{_holder(file)} that {doing}",
                wanted="one at a time",
                hint="Wait until it is done, or stop it.",
            )
        file.truncate(0)
        file.write(str(os.getpid()).encode())
        file.flush()
        yield


def _taken(file: BinaryIO, path: Path) -> bool:
    """Try to take the lock; whether that worked and its file is still in the folder."""
    if sys.platform != "win32":
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            return True
    return path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())


def _holder(file: BinaryIO) -> str:
    """The id of the process that holds the lock, as a phrase; "" if the file has none."""
    file.seek(0)
    pid = file.read(_LONGEST_PID)
    return f" ({pid.decode()})" if pid.isdigit() else ""
