"""What a process that fuzzes may do: little memory, no bytes on disk outside its folder."""

import os
import resource
import sys
import traceback
from pathlib import Path
from typing import Any

from fuzz.cases import ForbiddenError

MEMORY = 1 << 30  # bytes that reading may add
WRITTEN = 1 << 30  # bytes of a file
FORBIDDEN = ("pickle.find_class", "subprocess.Popen", "os.system", "socket.connect")
CHANGES = ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink")


def limit_memory() -> None:
    """Address space for a gibibyte more than there is; allocations beyond it fail."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (WRITTEN, resource.RLIM_INFINITY))


def free_memory() -> None:
    """As much as there is, until the next limit."""
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def peak_memory() -> int:
    """The most bytes that were resident at once."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _is_numba() -> bool:
    frames = traceback.extract_stack(limit=40)
    return any("numba" in frame.filename for frame in frames)


def forbid_writing_outside(*folders: Path) -> None:
    """From now on: no pickles, no processes, and no file written but in ``folders``."""
    caches = [Path(os.environ[name]) for name in ("NUMBA_CACHE_DIR",) if name in os.environ]
    allowed = tuple(f"{folder}{os.sep}" for folder in (*folders, *caches, "/dev/null"))
    written = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

    def check(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, str | bytes | os.PathLike) and flags & written:
                check_path(path)
        elif event in CHANGES:
            inside = arguments[2 if event == "os.rename" else -1]  # of which open folder
            folder = os.readlink(f"/proc/self/fd/{inside}") if inside >= 0 else ""
            check_path(os.path.join(folder, os.fsdecode(arguments[0])))
        elif event in FORBIDDEN and not _is_numba():  # which keeps what it compiles as pickles
            raise ForbiddenError(f"{event} {arguments!r:.200}")

    def check_path(path: Any) -> None:
        whole = os.path.abspath(os.fsdecode(path))
        if not f"{whole}{os.sep}".startswith(allowed) and "__pycache__" not in whole:
            raise ForbiddenError(f"writes {whole}")

    sys.addaudithook(check)
