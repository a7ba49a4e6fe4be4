"""A scheduler that dies ends every command in one line, whatever the command was doing."""

import os
import signal
from functools import wraps

import pytest
from click.testing import CliRunner

pytest.importorskip("distributed")

from dask_processes import dask_processes, forked
from sparsetopics.cli.main import main
from sparsetopics.execution import dask_cluster
from worlds.collections_on_disk import make_texts, write_jsonl

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


def command_that_kills(scheduler, moment, folder, words):
    """Run a command in a folder; at the moment, the process of the scheduler is killed."""
    owners = {"result": (dask_cluster, "_result"), "look": (dask_cluster.Cluster, "_seen_workers")}
    owner, name = owners[moment]
    plain = getattr(owner, name)

    @wraps(plain)
    def call(*given, **named):
        os.kill(scheduler, signal.SIGKILL)
        setattr(owner, name, plain)
        return plain(*given, **named)

    setattr(owner, name, call)
    os.chdir(folder)
    main(words, prog_name="sparsetopics")


@pytest.mark.parametrize(("moment", "words"), CASES)
def test_a_command_that_loses_its_scheduler_says_so_in_one_line(world, tmp_path, moment, words):
    said = tmp_path / "said"
    with dask_processes(tmp_path) as (address, scheduler):
        words = [*words.split(), "--executor", "dask", "--scheduler", address]
        command = forked(command_that_kills, scheduler.pid, moment, world, words, said=said)
        command.join(1000)

    lines = [line for line in said.read_text().splitlines() if "is kept; the same" not in line]
    assert command.exitcode == 1
    assert len(lines) == 1, lines
    assert lines[0].startswith("Error: the Dask cluster: the connection to its scheduler is lost (")
    assert not (world / "new").exists()
    assert not (world / "new.parquet").exists()
