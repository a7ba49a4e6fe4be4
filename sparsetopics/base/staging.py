"""Write files durably: sync them, then rename them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sparsetopics.base.errors import OutputError


def put_in_place(scratch: Path, path: Path) -> None:
    """Replace ``path`` by a file already written; ``path`` is complete at every moment."""
    sync(scratch)
    os.replace(scratch, path)
    sync(path.parent)


def sync_tree(folder: Path) -> None:
    """``sync`` for all that a folder holds, and itself."""
    for file in folder.rglob("*"):
        sync(file)
    sync(folder)


def sync(path: Path) -> None:
    """Have the disk hold a file, or the names in a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def stranger_in(folder: Path) -> str:
    """The path of the first thing in ``folder`` that is neither file nor folder, or "".

    Writing through a symbolic link would change another place, and reading a pipe may never end.
    """
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(parent, name)
            mode = os.lstat(path).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                return path
    return ""


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Turn the system's errors about ``path`` into OutputError; nothing is left behind."""
    try:
        yield
    except OSError as error:
        raise refused(path, error, "Nothing was written.") from error


def refused(path: Path, error: OSError, hint: str) -> OutputError:
    """The OutputError for a system error; ``hint`` says what happened to the output."""
    found = error.strerror or str(error)
    return OutputError(str(path), found=found, wanted="room and permission to write", hint=hint)
