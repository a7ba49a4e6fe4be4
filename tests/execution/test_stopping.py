"""Ctrl-C while a kernel returns its result."""

import signal
import subprocess
import sys
import textwrap

import pytest

# The signal arrives while the kernel runs, so Python sees it in the first function that is called
# afterwards: that in which numba makes arrays of the result.
HEAD = """
    import signal, sys, threading
    import numpy as np
    from sparsetopics.base.stopping import Terminated, check_held, stoppable
    from sparsetopics.execution.executors import open_executor
    from sparsetopics.kernels.summaries import renumber
    from sparsetopics.model.responsibilities import Responsibilities

    n_pairs = 300_000
    topics = np.random.default_rng(0).integers(0, 50, 4 * n_pairs).astype(np.uint32)
    starts = np.arange(0, 4 * n_pairs + 1, 4)
    found = Responsibilities(starts, topics, np.ones(4 * n_pairs, np.float32))
    new_topics = np.arange(50)
    renumber(found, new_topics)  # which compiles it

    def task(item):
        threading.Timer(0.003, signal.raise_signal, [getattr(signal, sys.argv[1])]).start()
        for _ in range(2):
            renumber(found, new_topics)
        return item

    signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
"""
COMMAND = """
    for _ in range(5):
        try:
            with stoppable(), open_executor(1) as executor:
                executor.map(task, range(1))
        except KeyboardInterrupt as error:
            assert isinstance(error, Terminated) == (sys.argv[1] == "SIGTERM")
        else:
            raise AssertionError("it was not stopped")
"""
LIBRARY = """
    for workers in (1, 2) * 3:
        try:
            with open_executor(workers) as executor:
                executor.map(task, range(2))
        except KeyboardInterrupt:
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        else:
            raise AssertionError("it was not stopped")
"""


@pytest.mark.parametrize(("body", "name"), [(COMMAND + LIBRARY, "SIGINT"), (COMMAND, "SIGTERM")])
def test_a_signal_while_a_kernel_returns_stops_without_a_crash(body, name):
    script = textwrap.dedent(HEAD + body + "    print('stopped')\n")
    result = subprocess.run(
        [sys.executable, "-c", script, name], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout) == (0, "stopped\n"), result.stderr


def test_the_handler_of_another_program_stays(monkeypatch):
    from sparsetopics.execution.executors import open_executor

    def own(number, frame):
        raise AssertionError

    before = signal.signal(signal.SIGINT, own)
    try:
        with open_executor(1):
            assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)
