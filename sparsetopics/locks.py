"""A lock in a file, which goes with the process that holds it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sparsetopics.errors import OutputError

if sys.platform != "win32":
    import fcntl

_LONGEST_PID = 20  # digits


@contextmanager
def alone_at(output: Path, lock: Path, doing: str) -> Iterator[None]:
    """Hold the lock of the file ``lock``, which is made if it is missing.

    Raises OutputError about ``output`` if another process holds it; ``doing`` says what that
    process does. The lock of a process that is killed is free again.
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
    """Whether the lock is ours now, and its file is still the one in the folder."""
    if sys.platform != "win32":
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            return True
    return path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())


def _holder(file: BinaryIO) -> str:
    """The number of the process that holds the lock, if the file tells it."""
    file.seek(0)
    pid = file.read(_LONGEST_PID)
    return f" ({pid.decode()})" if pid.isdigit() else ""
