"""Where numba keeps compiled kernels between two processes."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType

from sparsetopics.base.errors import OutputError, warn_user

VARIABLE = "NUMBA_CACHE_DIR"
HINT = f"Set {VARIABLE} to a folder that you can write to."


@contextmanager
def _without_yaml() -> Iterator[None]:
    """Let every YAML file be empty for modules that are imported meanwhile."""
    missing = ModuleType("yaml")
    vars(missing)["safe_load"] = lambda file: None
    before = {name: module for name, module in sys.modules.items() if name == "yaml"}
    sys.modules["yaml"] = missing
    try:
        yield
    finally:
        del sys.modules["yaml"]
        sys.modules.update(before)


# Import numba from here only. By itself it would take settings, such as a folder of code to run,
# from .numba_config.yaml in the current folder, when it is imported and whenever it compiles.
with _without_yaml():
    import numba as numba
numba.core.config._config_fname = os.devnull
numba.config.reload_config()  # somebody may have imported numba before


def choose_cache_folder(module: str) -> None:
    """Set NUMBA_CACHE_DIR if numba would find no place for the kernels in the file ``module``.

    Call this before the first kernel. Numba uses the folder that the user has chosen, or keeps
    kernels beside the sources, if it can write there. Otherwise the user's cache folder is used, or
    a private temporary one, with a warning. Raises OutputError if there is none.
    """
    chosen = os.environ.get(VARIABLE)
    if (chosen and _is_writable(Path(chosen))) or _is_writable(Path(module).parent / "__pycache__"):
        return
    from importlib.metadata import version

    from platformdirs import user_cache_path

    folder = user_cache_path("sparsetopics") / f"numba-{version('sparsetopics')}"
    os.environ[VARIABLE] = str(folder) if _is_writable(folder) else _temporary_folder()
    numba.config.reload_config()


def _is_writable(folder: Path) -> bool:
    """Find out as numba does; permissions alone do not tell."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _temporary_folder() -> str:
    """A folder for this process. Others could replace the code in it if it were not private."""
    try:
        folder = tempfile.mkdtemp(prefix="sparsetopics-numba-")
    except OSError as error:
        raise OutputError("compiled kernels", "no folder for them was found", HINT) from error
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    # Numba does not read kernels where it cannot write, such as those that root has compiled.
    for kernel in Path(os.environ.get(VARIABLE) or folder).glob("*/*.nb[ic]"):
        with suppress(OSError):
            Path(folder, kernel.parent.name).mkdir(exist_ok=True)
            shutil.copyfile(kernel, Path(folder, kernel.parent.name, kernel.name))
    said = "Compiled kernels are kept in a temporary folder until this process ends, because no "
    said += f"other folder for them can be written to. {HINT}"
    warn_user(said)
    return folder
