"""Where compiled kernels are kept between two calls of the command line."""

from __future__ import annotations

import os
from pathlib import Path


def choose_cache_folder() -> None:
    """Set NUMBA_CACHE_DIR, before numba is imported, where numba itself would find no place.

    A writable installation keeps its kernels beside the sources, and a folder the user has
    chosen stays. Otherwise it is the user's cache folder, or where there is none a private
    temporary one, never a shared one: the cache is executed.
    """
    package = Path(__file__).resolve().parent
    if "NUMBA_CACHE_DIR" in os.environ or os.access(package, os.W_OK):
        return
    os.environ["NUMBA_CACHE_DIR"] = str(_user_cache() or _temporary_cache())


def kernels_are_kept() -> bool:
    """Whether there are any on disk, of whichever release: a hint for who waits, no more."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    beside_sources = Path(__file__).parent.parent / "kernels" / "__pycache__"
    places = Path(chosen).glob("*/*.nbi") if chosen else beside_sources.glob("*.nbi")
    return next(places, None) is not None


def _user_cache() -> Path | None:
    from importlib.metadata import version  # these take longer than all else that --help imports

    from platformdirs import user_cache_path

    folder = user_cache_path("sparsetopics") / f"numba-{version('sparsetopics')}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # no home, or one that cannot be written
        return None
    return folder if os.access(folder, os.W_OK) else None


def _temporary_cache() -> Path:
    import atexit
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="sparsetopics-numba-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
