"""Training by Dask workers: the same bits as without them, whichever of them die."""

import os
import pickle
import socket
import sys
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

pytest.importorskip("distributed")

from distributed import Client
from threadpoolctl import threadpool_limits

from run_contents import files_of, path_files_of
from sparsetopics.base.errors import ClusterError, OptionError, RunError
from sparsetopics.cli.main import main
from sparsetopics.corpora.store import document_rows, vector_rows
from sparsetopics.execution import dask_cluster
from sparsetopics.execution.dask_cluster import (
    NO_WORKER_SECONDS,
    RETRIES,
    SCHEDULER_VARIABLE,
    Cluster,
    open_cluster,
    placed,
)
from sparsetopics.inference.learners.memoized import MemoizedLearner
from sparsetopics.model.memo import Memo, OnDisk
from sparsetopics.model.statistics import Statistics
from sparsetopics.options.workplace import Workplace
from sparsetopics.runs import checkpoints, dask_steps, session
from sparsetopics.runs.plan import RunPlan, plan_run, plan_topic_path
from sparsetopics.runs.resume import resume_run
from sparsetopics.runs.train import train_run
from sparsetopics.runs.training_folder import TrainingFolder
from worker_kills import MOMENTS_OF_WORKERS, Killer, Kills, name_of
from worlds.vectors_on_disk import ingested
from worlds.worlds_on_disk import WORLDS, write_corpora

N_BATCHES = 5


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """In several row groups each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document_rows, "DOCS_PER_ROW_GROUP", 50)
        patch.setattr(vector_rows, "ROW_GROUP_BYTES", 100 * 12)
        return write_corpora(tmp_path_factory.mktemp("corpora"))


@pytest.fixture
def plan_of(corpora, tmp_path, cluster):
    """Of a world, by Dask unless said otherwise."""

    def make(world, **others):
        options = WORLDS[world]
        corpus = corpora / ("documents" if options.counts_words else "vectors")
        usual = {"n_batches": N_BATCHES, "out": tmp_path / "run", "corpus": corpus}
        if others.get("executor", "dask") == "dask":
            usual |= {"executor": "dask", "scheduler": cluster.scheduler_address}
        return RunPlan(options=options, **usual | others)

    return make


MOVES = {  # that the worlds are there for
    "hdp": ("births_accepted", "deletes_accepted"),
    "gaussian": ("births_accepted",),
    "merging": ("merges_accepted",),
}


@pytest.mark.parametrize("world", [world for world in WORLDS if world != "wide"])
def test_serial_threads_and_dask_give_the_same_bits(plan_of, tmp_path, world):
    train_run(plan_of(world, executor="serial", out=tmp_path / "serial"))
    train_run(plan_of(world, executor="threads", workers=2, out=tmp_path / "threads"))

    train_run(plan_of(world, out=tmp_path / "dask", keep_state=True))

    serial = files_of(tmp_path / "serial")
    assert files_of(tmp_path / "threads") == serial
    assert files_of(tmp_path / "dask") == serial
    assert not (tmp_path / "dask" / "state" / "globals").exists()
    for move in MOVES.get(world, ()):
        assert sum(entry[move] for entry in serial["trace"]) > 0, move


def test_the_consensus_of_several_runs_has_the_same_bits(plan_of, tmp_path):
    plans = [
        plan_of("lda", executor="serial", out=tmp_path / "serial"),
        plan_of("lda", out=tmp_path / "dask"),
    ]
    for plan in plans:
        train_run(replace(plan, options=replace(plan.options, n_runs=2)))

    assert files_of(tmp_path / "dask") == files_of(tmp_path / "serial")


def test_streamed_batches_and_spilled_memos_give_the_same_bits(plan_of, tmp_path, small_memo):
    given = {"resident_pairs": 0}
    train_run(plan_of("hdp", executor="serial", out=tmp_path / "serial", **given))

    train_run(plan_of("hdp", **given))

    assert files_of(tmp_path / "run") == files_of(tmp_path / "serial")
    assert small_memo.n_files > 0


def test_products_of_matrices_round_as_in_the_driver(cluster, tmp_path):
    """Those of workers have one thread of BLAS, those of most other processes have more."""
    values = np.random.default_rng(0).normal(size=(2_000, 64))
    np.save(tmp_path / "values.npy", values + 3.0 * (np.arange(2_000) % 5)[:, None])
    ingested([tmp_path / "values.npy"], tmp_path / "wide")
    plan = RunPlan(tmp_path / "wide", tmp_path / "serial", WORLDS["wide"], 2)
    address = cluster.scheduler_address

    with threadpool_limits(2, user_api="blas"):
        train_run(plan)
        train_run(replace(plan, out=tmp_path / "dask", executor="dask", scheduler=address))

    assert files_of(tmp_path / "dask") == files_of(tmp_path / "serial")


READ_OUT = {  # kinds of runs, with the corpora that they are of
    "lda": "documents",
    "words": "documents",
    "merging": "vectors",
}


@pytest.mark.parametrize(("world", "kind"), READ_OUT.items())
def test_infer_and_evaluate_say_the_same(plan_of, corpora, tmp_path, cluster, world, kind):
    plan = plan_of(world, executor="serial")
    train_run(replace(plan, options=replace(plan.options, laps=2)))
    run, corpus = str(plan.out), str(corpora / kind)
    there = ("--executor", "dask", "--scheduler", cluster.scheduler_address)

    said = []
    for place in ((), there):
        out = str(tmp_path / f"shares-{len(said)}.parquet")
        inferred = CliRunner().invoke(main, ["infer", run, corpus, "--out", out, *place])
        assert inferred.exit_code == 0, inferred.output
        top = tmp_path / f"top-{len(said)}.csv"
        largest = ["infer", run, corpus, "--top", "2", "--out", str(top), *place]
        assert CliRunner().invoke(main, largest).exit_code == 0
        scored = CliRunner().invoke(main, ["evaluate", run, corpus, "--json", *place])
        assert scored.exit_code == 0, scored.output
        said.append((pq.read_table(out), top.read_text(), scored.stdout))

    assert said[0][0].num_rows in (120, 300)
    assert said[0] == said[1]


def test_documents_that_represent_topics_are_the_same(plan_of, corpora, tmp_path, cluster):
    train_run(plan_of("lda mean-field", executor="serial"))
    words = ["documents", str(tmp_path / "run"), str(corpora / "documents"), "--json"]
    there = ("--executor", "dask", "--scheduler", cluster.scheduler_address)

    here, found = (CliRunner().invoke(main, [*words, *place]) for place in ((), there))

    assert here.exit_code == 0, here.output
    assert found.stdout == here.stdout


def test_a_topic_path_is_the_same(corpora, tmp_path, cluster):
    place = {"executor": "dask", "scheduler": cluster.scheduler_address}
    for name, given in (("here", {}), ("there", place)):
        given = {"rungs": (12, 8, 5)} | given
        train_run(plan_topic_path(corpora / "documents", tmp_path / name, given))

    files = [files_of(tmp_path / name / str(n)) for name in ("here", "there") for n in (12, 8, 5)]
    assert files[:3] == files[3:]
    assert path_files_of(tmp_path / "here") == path_files_of(tmp_path / "there")


def test_a_validated_number_is_the_same(corpora, tmp_path, cluster):
    """For reading: until its last laps, that is the training for predicting."""
    place = {"executor": "dask", "scheduler": cluster.scheduler_address}
    for name, given in (("here", {}), ("there", place)):
        given = {"validation-share": 0.25, "for": "reading"} | given
        train_run(plan_run(corpora / "documents", tmp_path / name, given))

    assert files_of(tmp_path / "here") == files_of(tmp_path / "there")


# --- workers that are killed ----------------------------------------------------------------------
@pytest.fixture
def small_memo(monkeypatch):
    """Nearly everything that is memoized goes to files."""

    class SmallMemo(Memo):
        n_files = 0

        def __init__(self, folder, **how):
            super().__init__(folder, 2_000, **how)

        def keep(self, arrays):
            stored = super().keep(arrays)
            SmallMemo.n_files += isinstance(stored, OnDisk)
            return stored

    monkeypatch.setattr(session, "Memo", SmallMemo)
    return SmallMemo


@pytest.fixture
def kills(tmp_path, cluster):
    """Marks for the workers, which are as they were before when the test is over."""
    folder = tmp_path / "marks"
    folder.mkdir()
    with Client(cluster, set_as_default=False) as client:
        client.register_plugin(Kills(folder))
        yield folder
        client.unregister_worker_plugin(Kills.name)
        client.wait_for_workers(2)


@pytest.mark.parametrize("stage", MOMENTS_OF_WORKERS)
def test_workers_may_die_whatever_they_do(plan_of, tmp_path, kills, small_memo, stage):
    train_run(plan_of("short", executor="serial", out=tmp_path / "serial"))
    for moment in MOMENTS_OF_WORKERS[stage]:
        (kills / name_of(stage, moment)).touch()

    train_run(plan_of("short"))

    assert list(kills.iterdir()) == []  # all have died
    assert files_of(tmp_path / "run") == files_of(tmp_path / "serial")


STAGES_OF_THE_DRIVER = {
    "return": ((dask_cluster, "_result"), None),  # before, the worker may hold the result
    "spill": ((Memo, "keep"), (np, "savez")),
    "reduction": ((MemoizedLearner, "step_in_place"), (Statistics, "exchange_in_place")),
    "commit": ((TrainingFolder, "keep"), (checkpoints, "write_checkpoint")),
}


@pytest.mark.parametrize("stage", STAGES_OF_THE_DRIVER)
def test_workers_may_die_whatever_the_driver_does(
    plan_of, tmp_path, cluster, monkeypatch, small_memo, stage
):
    train_run(plan_of("short", executor="serial", out=tmp_path / "serial"))
    killer, (outer, inner) = Killer(cluster), STAGES_OF_THE_DRIVER[stage]

    with monkeypatch.context() as patch:
        killer.around(patch, *outer, within=inner)
        train_run(plan_of("short", checkpoint_every=1))

    assert killer.deaths == ["during" if inner else "before", "after"]
    assert files_of(tmp_path / "run") == files_of(tmp_path / "serial")


# --- what is refused, what is told ----------------------------------------------------------------
def test_a_run_goes_on_with_other_workers(plan_of, tmp_path, cluster):
    options = replace(WORLDS["lda"], laps=5)  # too few for a gradual start, like one lap
    train_run(replace(plan_of("lda", executor="serial", out=tmp_path / "whole"), options=options))
    plan = plan_of("lda", executor="threads", keep_state=True, checkpoint_every=1)
    plan = replace(plan, options=options)
    train_run(replace(plan, options=replace(options, laps=1)))

    resume_run(
        plan.out, laps=plan.options.laps, executor="dask", scheduler=cluster.scheduler_address
    )

    names = ("model.safetensors", "vocabulary.parquet")
    whole, parts = files_of(tmp_path / "whole"), files_of(plan.out)
    assert [parts[name] for name in names] == [whole[name] for name in names]


def test_a_cluster_of_its_own(plan_of, tmp_path):
    train_run(plan_of("lda", executor="serial", out=tmp_path / "serial"))

    train_run(plan_of("lda", workers=2, scheduler=None))

    assert files_of(tmp_path / "run") == files_of(tmp_path / "serial")


def test_the_environment_names_a_scheduler(cluster, monkeypatch):
    monkeypatch.setenv(SCHEDULER_VARIABLE, cluster.scheduler_address)

    with open_cluster(Workplace("dask")) as workers:
        (pid,) = workers.map(lambda _: os.getpid(), [0], ["0"])  # workers cannot import this module

    assert pid in {nanny.pid for nanny in cluster.workers.values()}


class EmptyAtFirst:
    """A client that finds no worker for six seconds."""

    def __init__(self):
        self.looks = 0

    def scheduler_info(self, n_workers):
        self.looks += 1
        found = self.looks * NO_WORKER_SECONDS > 6
        return {"workers": {"tcp://a": {"name": "a", "nthreads": 1}} if found else {}}


def test_waiting_for_workers_is_told_once(monkeypatch, caplog):
    monkeypatch.setattr(dask_cluster.time, "sleep", lambda seconds: None)
    client = EmptyAtFirst()

    _, n_threads = Cluster(client)._least_busy([])

    assert n_threads == 1
    # A cluster of another test may still be closing.
    said = [text for name, _, text in caplog.record_tuples if name.startswith("sparsetopics")]
    assert said == ["The Dask cluster has no workers. Waiting for one."]


def test_no_scheduler_is_told_in_one_line(plan_of, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 0.5)
    with socket.socket() as port:  # bound, but nobody listens
        port.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{port.getsockname()[1]}"

        with pytest.raises(ClusterError, match=f"^{address}: no Dask scheduler answers"):
            train_run(plan_of("lda", scheduler=address))

    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("address", ["host:port", "carrier-pigeon://host:1"])
def test_no_address_is_told_in_one_line(plan_of, address):
    with pytest.raises(ClusterError, match="no Dask scheduler answers"):
        train_run(plan_of("lda", scheduler=address))


def test_a_machine_that_stood_still_is_no_failure(plan_of, tmp_path, monkeypatch):
    starts = []

    class SlowClient(Client):
        def __init__(self, *given, **named):
            starts.append(given)
            assert len(starts) > 2  # as Dask says of its thread
            super().__init__(*given, **named)

    monkeypatch.setattr("distributed.Client", SlowClient)

    train_run(plan_of("lda"))

    assert len(starts) == 3


def test_without_dask_the_extra_is_named(plan_of, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)

    with pytest.raises(
        OptionError, match=r"dask needs the package distributed, which is not.*\[dask\]"
    ):
        train_run(plan_of("lda"))

    assert not (tmp_path / "run").exists()


def test_a_worker_with_another_corpus_says_so(plan_of, monkeypatch, tmp_path):
    monkeypatch.setattr(dask_steps, "file_sha256", lambda path: "another")

    with pytest.raises(RunError, match=r"expected the training corpus .*, but found another"):
        train_run(plan_of("lda"))

    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("cause", "n_tries"), [(None, 1), (OSError("stale"), 1 + RETRIES)])
def test_what_is_refused_is_tried_again_only_where_a_disk_refused(
    cluster, tmp_path, cause, n_tries
):
    def refused(item):
        with (tmp_path / "tries").open("a") as file:
            file.write("x")
        raise OptionError("laps", "must be 1, but is 0") from cause

    place = Workplace("dask", scheduler=cluster.scheduler_address)
    with (
        open_cluster(place) as workers,
        pytest.raises(OptionError, match="laps: must be 1, but is 0"),
    ):
        list(workers.map(refused, [0], ["0"]))

    assert len((tmp_path / "tries").read_text()) == n_tries


def test_a_folder_that_a_machine_does_not_see_is_told(tmp_path):
    with pytest.raises(RunError, match=f"^{tmp_path / 'gone'}: a worker does not see this folder"):
        dask_steps.read_globals(tmp_path / "gone" / "1")


def test_what_an_error_says_survives_the_way_back():
    error = pickle.loads(pickle.dumps(OptionError("laps", "must be 1, but is 0", "More.")))

    assert type(error) is OptionError
    assert str(error) == "laps: must be 1, but is 0. More."


# --- where batches go -----------------------------------------------------------------------------
def test_no_worker_has_more_than_its_share():
    workers = [f"w{n}" for n in range(5)]
    for n_items in range(1, 23):
        places = placed([str(n) for n in range(n_items)], workers)

        assert max(places.count(worker) for worker in workers) == -(-n_items // 5)


def test_most_batches_stay_where_they_were_when_a_worker_goes():
    items, workers = [str(n) for n in range(200)], [f"w{n}" for n in range(10)]
    before, after = placed(items, workers), placed(items, workers[:-1])

    stayed = sum(one == other for one, other in zip(before, after, strict=True))
    assert stayed > 0.7 * sum(place != "w9" for place in before)
