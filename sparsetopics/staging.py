"""Outputs appear whole or not at all: written aside, synced, renamed."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sparsetopics.errors import OutputError

if sys.platform != "win32":
    import fcntl


def check_output(path: Path, *, overwrite: bool) -> None:
    """Refuse an output that exists, or whose parent folder does not, before any work is done."""
    if path.exists() and not overwrite:
        raise OutputError(
            str(path), found="an existing output", wanted="a new path", hint="Use --overwrite."
        )
    if not path.parent.is_dir():
        raise OutputError(
            str(path), found=f"no folder {path.parent}", wanted="an existing parent folder"
        )


@contextmanager
def staged_folder(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a scratch folder that becomes ``path`` if the block succeeds and vanishes if not.

    Raises OutputError if ``path`` exists and ``overwrite`` is false, or if the disk refuses.
    """
    check_output(path, overwrite=overwrite)
    scratch = _make_scratch(path)
    try:
        yield scratch
        publish_folder(scratch, path)
    except OSError as error:
        raise refused(path, error) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def staged_file(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a scratch file path that becomes ``path`` if the block succeeds and vanishes if not."""
    check_output(path, overwrite=overwrite)
    scratch = path.with_name(f".{path.name}.part-{os.getpid()}")
    try:
        yield scratch
        put_in_place(scratch, path)
    except OSError as error:
        raise refused(path, error) from error
    finally:
        scratch.unlink(missing_ok=True)


def put_in_place(scratch: Path, path: Path) -> None:
    """Have a file that is written take the place of another, whole at any moment."""
    sync(scratch)
    os.replace(scratch, path)
    sync(path.parent)


def _make_scratch(path: Path) -> Path:
    try:
        scratch = Path(tempfile.mkdtemp(prefix=f".{path.name}.part-", dir=path.parent))
        scratch.chmod(0o755)
    except OSError as error:
        raise refused(path, error) from error
    return scratch


def publish_folder(scratch: Path, path: Path) -> None:
    """Rename ``scratch``, once the disk holds it, to ``path``; an older output steps aside first
    and is then removed."""
    sync_tree(scratch)
    if path.exists():
        old = scratch.with_name(scratch.name + ".old")
        os.rename(path, old)
        os.rename(scratch, path)
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    else:
        os.rename(scratch, path)
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


@contextmanager
def alone_at(output: Path, lock: Path, doing: str) -> Iterator[None]:
    """Hold the lock of the file ``lock``, made if it is not there; who is killed lets go.

    Raises OutputError, of ``output``, if another process holds it; ``doing`` says what that does.
    """
    with lock.open("a+b") as file:
        if not _taken(file, lock):
            raise OutputError(
                str(output),
                found=f"another process that {doing}",
                wanted="one at a time",
                hint="Wait until it is done, or stop it.",
            )
        yield


def _taken(file: BinaryIO, path: Path) -> bool:
    """Whether the lock is ours now, and still the one in the folder."""
    if sys.platform != "win32":
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            return True
    return path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())


def refused(path: Path, error: OSError) -> OutputError:
    """What to raise for what the disk said, where nothing is left behind."""
    return OutputError(
        str(path),
        found=error.strerror or str(error),
        wanted="room and permission to write",
        hint="Nothing was written.",
    )
