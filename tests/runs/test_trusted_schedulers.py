"""Whoever answers as a scheduler can run code: which one is asked, who can reach ours, TLS."""

import os
import re
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from shutil import which

import psutil
import pytest
from click.testing import CliRunner

pytest.importorskip("distributed")

from dask_processes import forked_workers
from sparsetopics.base.errors import ClusterError
from sparsetopics.cli.main import main
from sparsetopics.corpora.ingest import ingest
from sparsetopics.execution.dask_cluster import SCHEDULER_VARIABLE, open_cluster
from sparsetopics.options.workplace import Workplace
from sparsetopics.runs import training_folder
from sparsetopics.runs.plan import RunPlan, run_config
from sparsetopics.runs.resume import resume_run
from sparsetopics.runs.train import train_run
from worlds.collections_on_disk import make_texts, write_jsonl
from worlds.worlds_on_disk import WORLDS

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "clusters.md"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpora")
    ingest([write_jsonl(folder / "news.jsonl", make_texts(120, 0))], folder / "corpus")
    return folder / "corpus"


@pytest.fixture
def plan(corpus, tmp_path):
    options = replace(WORLDS["lda"], laps=1)
    return RunPlan(corpus, tmp_path / "run", options, keep_state=True, checkpoint_every=1)


@pytest.fixture
def stranger():
    """A port that notices who comes."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def address_of(server):
    return f"tcp://127.0.0.1:{server.getsockname()[1]}"


# --- which scheduler is asked ---------------------------------------------------------------------
def test_resume_never_asks_the_scheduler_of_a_plan(plan, stranger, monkeypatch, caplog):
    train_run(plan)
    hostile = {"executor": "dask", "scheduler": address_of(stranger)}
    plain = training_folder.read_plan

    def read(path):
        record = plain(path)
        record.plan = replace(record.plan, **hostile)
        return record

    monkeypatch.setattr(training_folder, "read_plan", read)

    with forked_workers():
        resumed = resume_run(plan.out, laps=2)

    assert resumed.result.laps == 2
    # A cluster of another test may still be closing.
    said = [text for name, _, text in caplog.record_tuples if name.startswith("sparsetopics")]
    assert said == [
        "--workers 1: using processes on this machine. Repeat --scheduler to use the cluster."
    ]
    with pytest.raises(BlockingIOError):
        stranger.accept()


def test_the_settings_of_a_run_name_no_scheduler(plan):
    there = replace(plan, executor="dask", scheduler="tcp://head:8786")

    assert run_config(there) == run_config(plan)


def test_an_address_without_a_port_is_refused(monkeypatch):
    monkeypatch.setenv(SCHEDULER_VARIABLE, "tcp://head")

    with (
        pytest.raises(
            ClusterError, match=r"^tcp://head: the address has no port. Give --scheduler"
        ),
        open_cluster(Workplace("dask")),
    ):
        pass


# --- who can reach ours ---------------------------------------------------------------------------
def listening():
    """Addresses and ports of this process and its children."""
    here = psutil.Process()
    return {
        (connection.laddr.ip, connection.laddr.port)
        for process in (here, *here.children(recursive=True))
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }


def test_a_cluster_of_its_own_listens_to_this_machine_alone():
    before = listening()
    with open_cluster(Workplace("dask", 1)) as workers:
        list(workers.map(lambda item: item, [0, 1], ["0", "1"]))
        found = listening() - before

    assert len(found) >= 2
    assert {ip for ip, _ in found} <= {"127.0.0.1", "::1"}


# --- TLS ------------------------------------------------------------------------------------------
def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def tls_example():
    """The commands of the page, for a machine that is there, and a free port."""
    (text,) = re.findall(r"```sh\n(openssl .*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return text.replace("head", "127.0.0.1").replace("8786", str(free_port()))


@pytest.mark.skipif(which("openssl") is None, reason="certificates are made by openssl")
@pytest.mark.skipif(not PAGE.exists(), reason="needs docs/, which the source archive leaves out")
def test_the_example_of_tls_trains_over_tls(corpus, tmp_path):
    (tmp_path / "train").symlink_to(corpus)
    folder = Path(sys.executable).parent
    script = tls_example() + "\nkill -INT $(jobs -p)\nwait || true\n"
    with (tmp_path / "said").open("w") as said:
        shell = subprocess.Popen(
            ["bash", "-ec", script],
            cwd=tmp_path,
            env=os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"},
            stdout=said,
            stderr=said,
            start_new_session=True,  # so that scheduler and workers end together
        )
        try:
            shell.wait(1000)
        finally:
            os.killpg(shell.pid, signal.SIGKILL)
    errors = (tmp_path / "said").read_text()

    assert (tmp_path / "run" / "model.json").exists(), errors
    assert re.search(r"Scheduler at: +tls://127\.0\.0\.1", errors)
    assert (tmp_path / "key.pem").stat().st_mode & 0o077 == 0


def test_tls_without_certificates_is_refused_in_one_line(corpus, tmp_path, stranger):
    address = address_of(stranger).replace("tcp", "tls")
    words = f"train {corpus} --out {tmp_path / 'run'} --executor dask --scheduler {address}"

    result = CliRunner().invoke(main, words.split())

    assert result.exit_code == 1
    assert result.stderr.startswith(
        f"Error: {address}: the Dask settings do not fit those of the scheduler ("
    )
    assert result.stderr.count("\n") == 1
