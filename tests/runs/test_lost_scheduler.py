"""A scheduler that dies ends every command in one line, whatever the command was doing."""

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

pytest.importorskip("distributed")

from dask_processes import dask_processes
from sparsetopics.cli.main import main
from worlds.collections_on_disk import make_texts, write_jsonl

KILL = """
import os, signal, sys
from functools import wraps
from sparsetopics.execution import dask_cluster
from sparsetopics.cli.main import main

def around(owner, name):
    plain = getattr(owner, name)
    @wraps(plain)
    def call(*given, **named):
        os.kill(int(sys.argv[1]), signal.SIGKILL)
        setattr(owner, name, plain)
        return plain(*given, **named)
    setattr(owner, name, call)

owners = {"result": (dask_cluster, "_result"), "look": (dask_cluster.Cluster, "_seen_workers")}
around(*owners[sys.argv[2]])
main(sys.argv[3:], prog_name="sparsetopics")
"""
TRAIN = "--model lda --topics 3 --laps 3 --checkpoint-every 1 --keep-state --quiet"
CASES = [
    ("result", f"train corpus --out new {TRAIN}"),
    ("look", f"train corpus --out new {TRAIN}"),
    ("result", "infer run corpus --out new.parquet"),
    ("result", "ingest news.jsonl --out new --quiet"),
]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    write_jsonl(folder / "news.jsonl", make_texts(120, 0))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for words in ("ingest news.jsonl --out corpus --quiet", f"train corpus --out run {TRAIN}"):
            done = CliRunner().invoke(main, words.split())
            assert done.exit_code == 0, done.output
    return folder


@pytest.mark.parametrize(("moment", "words"), CASES)
def test_a_command_that_loses_its_scheduler_says_so_in_one_line(world, tmp_path, moment, words):
    with dask_processes(tmp_path) as (address, scheduler):
        done = subprocess.run(
            [
                *(sys.executable, "-c", KILL, str(scheduler.pid), moment),
                *words.split(),
                *("--executor", "dask", "--scheduler", address),
            ],
            cwd=world,
            env=os.environ | {"TMPDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=1000,
        )

    lines = [line for line in done.stderr.splitlines() if "is kept; the same command" not in line]
    assert done.returncode == 1
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("Error: the Dask cluster: the connection to its scheduler is lost (")
    assert not (world / "new").exists()
    assert not (world / "new.parquet").exists()
