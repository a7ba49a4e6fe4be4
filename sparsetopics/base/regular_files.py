"""Files that a user names. Only regular ones are read: a device or a pipe may never end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import IO

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def open_regular(path: Path) -> IO[bytes]:
    """Open for reading; raises what ``check_regular`` does."""
    check_regular(path)  # first, because opening a pipe waits for a writer
    return path.open("rb")


def check_regular(path: Path) -> None:
    """OSError for anything but a regular file or a link to one."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "no file")
        raise OSError(errno.EINVAL, f"{kind} instead of a regular file", str(path))
