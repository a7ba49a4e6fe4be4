"""Commands that fail end in one line: no signal, no thread alive, nothing left on the disk."""

import os
import subprocess
import sys
import threading
from tempfile import gettempdir

import pyarrow as pa
import pytest
from click.testing import CliRunner

from failing_commands import COMMANDS, contents, repeated_faults, write_world
from sparsetopics.cli import ingest, train_progress
from sparsetopics.cli.main import main
from sparsetopics.corpora.sources.arrow_files import open_native
from sparsetopics.execution.executors import open_local_map
from sparsetopics.options.training import TrainingOptions
from sparsetopics.options.workplace import Workplace

N_PROCESSES = int(os.environ.get("FAILING_PROCESSES", "5"))
SECONDS_TO_END = 300  # for a thread that is told to


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return write_world(tmp_path_factory.mktemp("world"))


@pytest.fixture
def no_thread_stays():
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(SECONDS_TO_END)
        assert not thread.is_alive(), thread


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS.keys())
def test_a_failing_command_leaves_no_thread_and_no_file(
    world, tmp_path, monkeypatch, no_thread_stays, words
):
    monkeypatch.chdir(world)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)  # which is found again
    before = contents(world)

    result = CliRunner().invoke(main, words.split())

    assert gettempdir() == str(tmp_path)
    assert result.exit_code in (1, 2)
    assert isinstance(result.exception, SystemExit)
    assert contents(world) == before
    assert list(tmp_path.iterdir()) == []


def test_processes_that_fail_end_by_themselves(world):
    assert repeated_faults(N_PROCESSES, world) == {}


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted in /proc")
def test_corpora_are_read_without_threads_of_arrow(world):
    """One that still holds a Python object when the interpreter ends aborts the process."""
    code = """
import os, time
from sparsetopics.corpora.corpus import Corpus

def others():
    names = [open(f"/proc/self/task/{task}/comm").read() for task in os.listdir("/proc/self/task")]
    return sum("jemalloc" not in name for name in names) - 1

corpus = Corpus.open("corpus")
assert sum(len(batch.word_ids) for batch in corpus.batches())
assert len(corpus.vocabulary.words)
last = time.monotonic() + 100
while others() and time.monotonic() < last:  # threads of the allocator get their names late
    time.sleep(0.01)
print(others())
"""
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=world,
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert found.stdout == "0\n"


@pytest.mark.parametrize("name", ["damaged.csv", "damaged.csv.gz"])
def test_what_arrow_reads_ahead_is_no_python_object(world, name):
    with open_native(world / name) as source:
        assert type(source) is pa.OSFile
        assert source.read(6) == b"height"


def test_threads_of_an_ingest_end_with_it():
    """Even where results are left, which the traceback of an error keeps."""
    with open_local_map(Workplace(workers=2)) as ordered_map:
        results = ordered_map(str, range(50))
        assert next(results) == "0"

    assert not [t for t in threading.enumerate() if t.name.startswith("ThreadPoolExecutor")]


def test_bars_end_with_an_error(no_thread_stays, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    options = TrainingOptions(3, 1)
    for bar in (train_progress._bar(options), ingest._showing_progress()):
        with pytest.raises(ValueError, match="stop"), bar:
            raise ValueError("stop")
