"""Write files durably, and by one process at a time."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from sparsetopics.base.errors import OutputError
from sparsetopics.base.wording import reason_of

if sys.platform != "win32":
    import fcntl

_LONGEST_PID = 20  # digits


# --- durability -----------------------------------------------------------------------------------
def sync_tree(folder: Path) -> None:
    """``sync`` a folder and everything in it."""
    for file in folder.rglob("*"):
        sync(file)
    sync(folder)


def sync(path: Path) -> None:
    """Force a file, or the list of names in a folder, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# --- refusals -------------------------------------------------------------------------------------
def stranger_in(folder: Path) -> str:
    """Return the path of the first thing in ``folder`` that is neither file nor folder, or "".

    Writing through a symbolic link would change another place, and reading a pipe may never end.
    """
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(parent, name)
            with suppress(FileNotFoundError):  # another process may have renamed it just now
                mode = os.lstat(path).st_mode
                if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                    return path
    return ""


@contextmanager
def refusing(path: Path, hint: str = "Nothing was written.") -> Iterator[None]:
    """Turn the system's errors about ``path`` into OutputError, as ``refused`` does."""
    try:
        yield
    except OSError as error:
        raise refused(path, error, hint) from error


def refused(path: Path, error: OSError, hint: str) -> OutputError:
    """Return the OutputError for a system error; ``hint`` says what happened to the output."""
    return OutputError(str(path), f"cannot write here ({reason_of(error)})", hint)


# --- locks ----------------------------------------------------------------------------------------
@contextmanager
def exclusive_lock(output: Path, lock: Path, doing: str) -> Iterator[None]:
    """Hold a lock on the file ``lock``, which is made if it is missing.

    Raises OutputError about ``output`` if another process holds it; ``doing`` says what that
    process does. The system releases the lock of a process that is killed.
    """
    with lock.open("a+b") as file:
        if not _take(file, lock):
            file.seek(0)
            pid = file.read(_LONGEST_PID)
            holder = f" ({pid.decode()})" if pid.isdigit() else ""  # its id, if it is known
            hint = "Wait until it is done, or stop it."
            raise OutputError(str(output), f"another process{holder} {doing}", hint)
        file.truncate(0)
        file.write(str(os.getpid()).encode())
        file.flush()
        yield


def _take(file: BinaryIO, path: Path) -> bool:
    """Try to take the lock, and return whether this process now holds it."""
    if sys.platform != "win32":
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            return True
    # Another process may have removed the file since it was opened here; a lock on a file without
    # a name keeps nobody out.
    return path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())
