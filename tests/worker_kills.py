"""Kills of Dask workers at chosen moments; a worker finds this module beside the tests.

Marks are files of a folder, named after moments. A worker that comes to a moment, and takes away
its mark, is killed: once for each mark, whoever comes first.
"""

import os
import signal
import time
from functools import wraps
from pathlib import Path

from distributed import WorkerPlugin

from sparsetopics.execution.executors import Executor
from sparsetopics.runs import dask_steps

MOMENTS_OF_WORKERS = {
    "parameters": ("before reading",),
    "local step": ("before", "during", "after"),
    "return": ("before", "during"),
}


def name_of(stage, moment):
    return f"{stage} {moment}".replace(" ", "-")


class Kills(WorkerPlugin):
    """Dies where there is a mark; puts everything back when it is taken out."""

    name = "kills"

    def __init__(self, folder):
        self.folder = Path(folder)

    def setup(self, worker):
        self.originals = {
            (dask_steps, "read_globals"): dask_steps.read_globals,
            (dask_steps, "Executor"): Executor,
            (dask_steps, "fit_batch"): dask_steps.fit_batch,
        }
        dask_steps.read_globals = self.around("parameters", dask_steps.read_globals, " reading")
        dask_steps.fit_batch = self.around("local step", dask_steps.fit_batch)
        dask_steps.Executor = lambda: DyingExecutor(self)
        self.handlers = worker.handlers
        self.get_data = worker.handlers["get_data"]
        worker.handlers["get_data"] = self.send

    def teardown(self, worker):
        for (module, name), original in self.originals.items():
            setattr(module, name, original)
        self.handlers["get_data"] = self.get_data

    def transition(self, key, start, finish, **kwargs):
        if finish == "memory":
            self.reach("return", "before")

    def send(self, comm, *args, **kwargs):
        """The driver has asked for a result, and gets nothing."""
        self.reach("return", "during")
        return self.get_data(comm, *args, **kwargs)

    def around(self, stage, function, of=""):
        @wraps(function)
        def call(*args, **kwargs):
            self.reach(stage, f"before{of}")
            result = function(*args, **kwargs)
            self.reach(stage, f"after{of}")
            return result

        if hasattr(function, "cache_clear"):
            call.cache_clear = function.cache_clear
        return call

    def reach(self, stage, moment):
        try:
            (self.folder / name_of(stage, moment)).unlink()
        except FileNotFoundError:
            return
        os.kill(os.getpid(), signal.SIGKILL)


class DyingExecutor(Executor):
    """Of a local step: dies when one of its parts is done."""

    def __init__(self, kills):
        self.kills = kills

    def map(self, task, items):
        found = [task(item) for item in items[:1]]
        self.kills.reach("local step", "during")
        return found + [task(item) for item in items[1:]]


class Killer:
    """Kills a worker once before or during, and once after a function of the driver."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.deaths = []
        self.killed = set()

    def strike(self, moment):
        if moment in self.deaths:
            return
        self.deaths.append(moment)
        while not (alive := self.alive()):
            time.sleep(0.05)
        self.killed.add(alive[0])
        os.kill(alive[0], signal.SIGKILL)

    def alive(self):
        pids = [nanny.pid for nanny in self.cluster.workers.values()]
        return [pid for pid in pids if pid is not None and pid not in self.killed]

    def around(self, patch, target, name, within=None):
        """``within`` is an inner function, with its place, after which one dies instead of before
        the outer one."""
        outer = getattr(target, name)

        def call(*args, **kwargs):
            if within is None:
                self.strike("before")
            result = outer(*args, **kwargs)
            self.strike("after")
            return result

        patch.setattr(target, name, call)
        if within is not None:
            inner = getattr(*within)

            def half(*args, **kwargs):
                result = inner(*args, **kwargs)
                self.strike("during")
                return result

            patch.setattr(*within, half)
