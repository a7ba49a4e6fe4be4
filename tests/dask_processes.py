"""Processes of Dask: workers that are soon there, and a scheduler that a test may kill."""

import json
import multiprocessing
import os
import time
from contextlib import contextmanager
from importlib import import_module

SECONDS_TO_START = 1000
NEEDED_BY_WORKERS = (
    "distributed",
    "sparsetopics.corpora.ingest_vectors",
    "sparsetopics.evaluation.evaluate",
    "sparsetopics.runs.dask_steps",
)


def import_before_forks():
    """Have the process from which Dask forks workers import what they need.

    Only in a configuration where Dask forks, and before it does so for the first time.
    """
    from distributed.utils import get_mp_context

    get_mp_context().set_forkserver_preload(list(NEEDED_BY_WORKERS))


@contextmanager
def forked_workers():
    """Have clusters that are started within fork their workers from a process that has imported
    what they need. Otherwise each worker would take seconds of a processor to do so.
    """
    import dask

    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        import_before_forks()
        yield


def forked(function, *arguments, said=os.devnull):
    """Start a process that has imported what Dask's need; ``said`` is where stdout and stderr go.

    It begins as another process does, without threads and without what tests have changed.
    """
    with forked_workers():
        forks = multiprocessing.get_context("forkserver")
        process = forks.Process(target=_called, args=(str(said), function, *arguments))
        process.start()
    return process


def _called(said, function, *arguments):
    file = os.open(said, os.O_WRONLY | os.O_CREAT)
    os.dup2(file, 1)
    os.dup2(file, 2)
    function(*arguments)


@contextmanager
def dask_processes(folder, *options):
    """Yield the address of a scheduler and its process; ``options`` are of both commands."""
    file = folder / "scheduler.json"
    common = ("--scheduler-file", str(file), *options)
    started = []
    try:
        place = ("--host", "127.0.0.1", "--port", "0")
        started.append(forked(_command, "scheduler", *place, *common))
        address = _address(file, started[0])
        words = ("--nthreads", "1", "--host", "127.0.0.1", "--no-nanny")
        started.append(forked(_command, "worker", *common, *words))
        yield address, started[0]
    finally:
        for process in reversed(started):
            process.kill()
            process.join()


def _command(name, *arguments):
    import_module(f"distributed.cli.dask_{name}").main(arguments)


def _address(file, process):
    last = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < last and process.is_alive():
        if file.exists() and file.read_text().endswith("}"):
            return json.loads(file.read_text())["address"]
        time.sleep(0.05)
    raise AssertionError("no scheduler came up")
