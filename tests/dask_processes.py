"""Processes of Dask: workers that are soon there, and a scheduler that a test may kill."""

import json
import subprocess
import sys
import time
from contextlib import contextmanager

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


@contextmanager
def dask_processes(folder, *options):
    """Yield the address of a scheduler and its process; ``options`` are of both commands."""
    file = folder / "scheduler.json"
    common = ("--scheduler-file", str(file), *options)
    started = []
    try:
        started.append(_start("scheduler", "--host", "127.0.0.1", "--port", "0", *common))
        address = _address(file, started[0])
        words = ("--nthreads", "1", "--host", "127.0.0.1", "--no-nanny")
        started.append(_start("worker", *common, *words))
        yield address, started[0]
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def _start(name, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.dask_{name}", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _address(file, process):
    last = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < last and process.poll() is None:
        if file.exists() and file.read_text().endswith("}"):
            return json.loads(file.read_text())["address"]
        time.sleep(0.05)
    raise AssertionError("no scheduler came up")
