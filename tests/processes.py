"""How tests share the processors: how many processes there are, what they import and compile."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkstemp

import pytest
from numba.core.dispatcher import Dispatcher

import sparsetopics

ROOT = Path(__file__).resolve().parent.parent
AT_COLLECTION = pytest.StashKey[set[str]]()  # kernels that test modules have used by then
COMPILE = (sys.executable, "-m", "sparsetopics.cli", "warmup")


def n_workers(arguments: Sequence[str]) -> int:
    """One for each processor; none for the tests of a single file, which no worker would share."""
    files = {argument.partition("::")[0] for argument in arguments}
    if len(files) == 1 and Path(files.pop()).is_file():
        return 0
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def let_children_import_the_same() -> None:
    """Processes that tests start test the same sparsetopics as the tests themselves.

    Otherwise ``python -c`` would take the one of the folder that it is called in, which may be
    the checkout, while the tests take the one that is installed. They keep its bytecode: to compile
    it takes a third of the time of a short command.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONSAFEPATH"] = "1"
    place = Path(sparsetopics.__file__).resolve().parent.parent
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if place == ROOT and str(place) not in known:  # found by "python -m pytest"
        os.environ["PYTHONPATH"] = os.pathsep.join([str(place), *filter(None, known)])


class KernelCompiler:
    """A process that compiles the kernels once, while the workers import and collect."""

    def __init__(self, command: Sequence[str] = COMPILE) -> None:
        descriptor, name = mkstemp(prefix="sparsetopics-kernels-")
        self.lock = Path(name)
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # the process inherits it, and keeps it to its end
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # tests of the command say what is wrong with it
            pass_fds=[descriptor],
        )
        os.close(descriptor)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()
        self.lock.unlink()


def kernels_in_use() -> set[str]:
    """The names of those that this process has compiled or loaded."""
    modules = [module for name, module in sys.modules.items() if name.startswith("sparsetopics")]
    found = (each for module in modules for each in vars(module).values())
    return {each.__name__ for each in found if isinstance(each, Dispatcher) and each.signatures}


def wait_for_kernels(lock: Path) -> None:
    """Until the process that compiles them has come to its end, whichever that is."""
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)
