"""Where numba keeps compiled kernels between two processes."""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path

from sparsetopics.base.errors import OutputError, SparsetopicsWarning

VARIABLE = "NUMBA_CACHE_DIR"
_HINT = f"Set {VARIABLE} to a folder that you can write to."


def choose_cache_folder(module: str) -> None:
    """Set NUMBA_CACHE_DIR if numba would find no place for the kernels in the file ``module``.

    Call this after importing numba, and before the first kernel. Numba uses the folder that the
    user has chosen, or keeps kernels beside the sources, if it can write there. Otherwise the
    user's cache folder is used, or a private temporary one, with a warning. Raises OutputError if
    there is none.
    """
    chosen = os.environ.get(VARIABLE)
    if (chosen and _is_writable(Path(chosen))) or _is_writable(Path(module).parent / "__pycache__"):
        return
    from numba import config  # which the caller, too, has imported by now

    os.environ[VARIABLE] = str(_user_cache() or _temporary_cache())
    config.reload_config()


def _is_writable(folder: Path) -> bool:
    """Find out as numba does; permissions alone do not tell."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _user_cache() -> Path | None:
    from importlib.metadata import version

    from platformdirs import user_cache_path

    folder = user_cache_path("sparsetopics") / f"numba-{version('sparsetopics')}"
    return folder if _is_writable(folder) else None


def _temporary_cache() -> Path:
    import atexit
    import shutil

    try:  # private, because the code in it is executed: in a shared folder others could replace it
        folder = tempfile.mkdtemp(prefix="sparsetopics-numba-")
    except OSError as error:
        problem = "there is no folder that they can be written to"
        raise OutputError("compiled kernels", problem, _HINT) from error
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    warnings.warn(
        "Compiled kernels are kept in a temporary folder until this process ends, because no other "
        f"folder for them can be written to. {_HINT}",
        SparsetopicsWarning,
        stacklevel=3,
    )
    return Path(folder)
