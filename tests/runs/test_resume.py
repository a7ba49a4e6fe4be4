"""A run that was interrupted ends as it would have, byte by byte but for times."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from string import ascii_lowercase
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from fuzz.checkpoint_changes import closed, opened, with_stamps
from rights import only_those_of_modes
from run_contents import files_of
from sparsetopics.base.errors import OptionError, OutputError, RunError, SparsetopicsError
from sparsetopics.base.transactions import Workspace
from sparsetopics.cli.main import main
from sparsetopics.corpora.batching import plan_vector_batches
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.model.memo import Memo
from sparsetopics.options.training import (
    GradientOptions,
    LocalOptions,
    MoveOptions,
    TopicPrior,
    TrainingOptions,
)
from sparsetopics.runs import checkpoints, session
from sparsetopics.runs import train as trained_runs
from sparsetopics.runs.callbacks import RunHooks
from sparsetopics.runs.checkpoints import RunKeeper
from sparsetopics.runs.plan import RunPlan
from sparsetopics.runs.resume import resume_run
from sparsetopics.runs.run import load_run
from sparsetopics.runs.train import train_run
from sparsetopics.runs.training_folder import TrainingFolder, is_training
from worlds.clumped_mixtures import draw_clumps
from worlds.collections_on_disk import write_jsonl
from worlds.vectors_on_disk import ingested

COLLAPSED = LocalOptions()
MEAN_FIELD = LocalOptions("mean-field", restarts=2)
DENSE = LocalOptions("mean-field")


def topics(learner, local=COLLAPSED, model="lda", n_topics=4, laps=4, **others):
    return TrainingOptions(n_topics, laps, learner, local, model=model, **others)


def mixture(learner, model="dp-mixture", n_topics=4, laps=4, **others):
    return TrainingOptions(n_topics, laps, learner, DENSE, model=model, **others)


def points(learner, **others):
    return mixture(learner, likelihood="isotropic-gaussian", prior=TopicPrior(), **others)


BOUND = MoveOptions(criterion="bound")
WORLDS = {
    "lda memoized": topics("memoized"),
    "lda gradual": topics("memoized", laps=8),
    "lda memoized mean-field": topics("memoized", MEAN_FIELD, learn_hyperparameters=True),
    "lda full": topics("full", MEAN_FIELD),
    "lda stochastic": topics("stochastic"),
    "hdp memoized": topics("memoized", model="hdp", n_topics=2, laps=14),
    "hdp bound": topics("memoized", MEAN_FIELD, "hdp", 9, 9, moves=BOUND),
    "hdp learned": topics("memoized", model="hdp", laps=8, learn_hyperparameters=True),
    "hdp full": topics("full", MEAN_FIELD, "hdp", learn_hyperparameters=True),
    "hdp stochastic": topics("stochastic", model="hdp"),
    "gaussian": mixture("memoized", n_topics=1, laps=14),
    "diagonal": mixture("memoized", n_topics=9, laps=10, likelihood="diagonal-gaussian"),
    "zero-mean": mixture("stochastic", likelihood="zero-mean-gaussian"),
    "finite full": mixture("full", "mixture"),
    "finite memoized": mixture("memoized", "mixture", likelihood="isotropic-gaussian"),
    "accelerated": mixture("accelerated", n_topics=1, laps=9),
    "accelerated past the tree": mixture("accelerated", n_topics=1, laps=12, tree_tolerance=1e-6),
    "accelerated items": mixture("accelerated", n_topics=1, laps=3, tree_tolerance=0.0),
    "gradient fisher": points("gradient"),
    "gradient momentum": points("gradient", gradient=GradientOptions("momentum")),
    "alternating": points("alternating"),
    "words": mixture("memoized", n_topics=3, laps=10, likelihood="multinomial"),
    "words finite": mixture("stochastic", "mixture", likelihood="multinomial"),
}
RIVALS = ("hdp memoized", "hdp bound", "hdp learned", "gaussian", "diagonal", "words")


class Stopped(Exception):
    """Training is over for now."""


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """Documents of five topics, and vectors of several clumps."""
    folder = tmp_path_factory.mktemp("corpora")
    rng = np.random.default_rng(0)
    words = [f"word{first}{second}" for first in ascii_lowercase[:6] for second in "abcde"]
    shares = rng.dirichlet(np.full(len(words), 0.1), 5)
    texts = [
        " ".join(rng.choice(words, 40, p=rng.dirichlet(np.full(5, 0.2)) @ shares))
        for _ in range(150)
    ]
    source = write_jsonl(folder / "texts.jsonl", texts)
    ingest([source], folder / "documents", IngestOptions(format="jsonl"))
    np.save(folder / "values.npy", draw_clumps(0, 400, 3).values)
    ingested([folder / "values.npy"], folder / "vectors")
    return folder


@pytest.fixture
def plan_of(corpora, tmp_path):
    def make(world, **others):
        options = WORLDS[world] if isinstance(world, str) else world
        corpus = corpora / ("documents" if options.counts_words else "vectors")
        usual = {"n_batches": 5, "checkpoint_every": 1, "out": tmp_path / "run", "corpus": corpus}
        return RunPlan(options=options, **usual | others)

    return make


class StoppingKeeper(RunKeeper):
    """Stops after every lap that it has kept."""

    seen: list = []  # noqa: RUF012 - of all keepers

    def keep(self, progress, memo):
        super().keep(progress, memo)
        self.seen.append(progress)
        raise Stopped


@pytest.fixture
def stop_and_go(monkeypatch):
    """Train a plan lap by lap, each in a training of its own; the progress after each."""

    def run(plan):
        StoppingKeeper.seen.clear()
        with monkeypatch.context() as patch:
            patch.setattr(trained_runs, "RunKeeper", StoppingKeeper)
            with pytest.raises(Stopped):
                train_run(plan)
            for _ in range(plan.options.n_laps):
                try:
                    resume_run(plan.out)
                except Stopped:
                    continue
                return list(StoppingKeeper.seen)
        raise AssertionError("never done")

    return run


@pytest.mark.parametrize("world", WORLDS)
def test_stopping_after_every_lap_changes_nothing(plan_of, tmp_path, stop_and_go, world):
    train_run(plan_of(world, out=tmp_path / "whole"))

    seen = stop_and_go(plan_of(world))

    whole, parts = files_of(tmp_path / "whole"), files_of(tmp_path / "run")
    assert parts == whole
    assert len(seen) == len(whole["trace"]) > 1
    growing = [progress for progress in seen if getattr(progress.mover, "rival", None)]
    assert bool(growing) == (world in RIVALS)


@pytest.mark.parametrize("world", ["hdp memoized", "lda memoized mean-field", "gaussian"])
def test_streamed_batches_and_spilled_memos_come_back(
    monkeypatch, plan_of, tmp_path, stop_and_go, world
):
    train_run(plan_of(world, out=tmp_path / "whole", resident_pairs=0))
    monkeypatch.setattr(Memo.__init__, "__defaults__", (4_000,))

    stop_and_go(plan_of(world, resident_pairs=0, checkpoint_every=1))

    assert files_of(tmp_path / "run") == files_of(tmp_path / "whole")


# --- processes that are stopped -------------------------------------------------------------------
TRAIN = """
import pathlib, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
from sparsetopics.cli.main import main
from sparsetopics.runs.checkpoints import RunKeeper

keep, gate = RunKeeper.keep, pathlib.Path(sys.argv[1])

def keep_when_let(self, progress, memo):
    while len(progress.laps) == 13 and not gate.exists():
        time.sleep(0.01)
    keep(self, progress, memo)

RunKeeper.keep = keep_when_let
main(sys.argv[2:])
"""


@pytest.fixture
def gate(tmp_path):
    """A file without which no process comes to its last lap before it is stopped."""
    return tmp_path / "gate"


@pytest.fixture
def start(gate):
    """A process that runs a command and tells laps on stderr."""
    begun = []

    def call(*arguments):
        command = [sys.executable, "-c", TRAIN, *map(str, (gate, *arguments))]
        begun.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
        return begun[-1]

    yield call
    for process in begun:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.fixture
def train_command(corpora, tmp_path):
    """As the plan of ``hdp memoized``."""
    usual = ("--topics", 2, "--laps", 14, "--batches", 5, "--checkpoint-every", 1)
    return ("train", corpora / "documents", "--out", tmp_path / "run", *usual)


def wait_for(process, lap):
    """Until a lap is done: it is kept at about the same time."""
    for line in process.stderr:
        if line.startswith(f"lap {lap}/"):
            return
    raise AssertionError("the process ended before")


def interrupted_by_ctrl_c(process):
    """Interrupt a process until it ends; return its last line.

    Python ignores an exception in a callback from C, such as those of a compiler, so that a single
    signal may be lost.
    """
    for _ in range(10):
        process.send_signal(signal.SIGINT)
        try:
            return process.communicate(timeout=60)[1].splitlines(keepends=True)[-1]
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError("the process ignores Ctrl-C")


def test_killed_at_any_moment_it_goes_on(plan_of, start, gate, train_command, tmp_path):
    train_run(plan_of("hdp memoized", out=tmp_path / "whole"))
    process = start(*train_command)
    for lap, seconds in ((1, 0.0), (7, 0.05)):
        wait_for(process, lap)
        time.sleep(seconds)
        process.kill()
        process.wait()
        with pytest.raises(RunError, match="training that is not finished"):
            load_run(tmp_path / "run")
        process = start("resume", tmp_path / "run")
    gate.touch()

    assert process.wait() == 0
    assert files_of(tmp_path / "run") == files_of(tmp_path / "whole")


def test_one_process_trains_until_ctrl_c(plan_of, start, train_command, tmp_path):
    process = start(*train_command)
    wait_for(process, 2)
    with pytest.raises(OutputError, match=r"another process .* trains there"):
        resume_run(tmp_path / "run")
    with pytest.raises(OutputError, match=r"/run: another process .* trains there"):
        train_run(plan_of("hdp memoized", overwrite=True))
    with pytest.raises(OutputError, match=rf"another process \({process.pid}\) trains"):
        train_run(plan_of("hdp memoized"))

    last = interrupted_by_ctrl_c(process)

    assert process.returncode == 130, last
    assert last.startswith("Error: interrupted. Lap ")
    assert last.endswith(f"continue with `sparsetopics resume {tmp_path / 'run'}`.\n")
    assert resume_run(tmp_path / "run").result.laps == 14


class Killed(BaseException):
    """Nothing is done any more."""


@pytest.fixture
def dying(monkeypatch):
    """Have the process die before the n-th thing that it does to names in folders."""

    def at(patch, n):
        count = iter(range(10**6))

        def unless_dead(action):
            def call(*given, **named):
                if next(count) >= n:
                    raise Killed
                return action(*given, **named)

            return call

        for name in ("os.replace", "os.fsync", "pathlib.Path.unlink", "shutil.rmtree"):
            module, _, function = name.rpartition(".")
            owner = {"os": os, "shutil": shutil}.get(module, Path)
            patch.setattr(owner, function, unless_dead(getattr(owner, function)))
        return count

    return at


@pytest.mark.parametrize(
    ("way", "first"), [({}, 0), ({"overwrite": True, "keep_state": True}, 1)], ids=["new", "over"]
)
def test_dying_before_any_change_of_a_name_loses_no_lap(
    monkeypatch, dying, plan_of, tmp_path, way, first
):
    """Each way at every other change. Batches in files, so that those are there too."""
    monkeypatch.setattr(Memo.__init__, "__defaults__", (2_000,))
    small = partial(plan_of, replace(WORLDS["lda memoized"], laps=2), n_batches=2)
    train_run(small(out=tmp_path / "whole"))
    with monkeypatch.context() as patch:
        count = dying(patch, 10**6)
        train_run(small(out=tmp_path / "counted", **way))
        n_changes = next(count)
    assert n_changes > 20
    for n in range(first, n_changes, 2):
        run = tmp_path / f"run{n}"
        if "overwrite" in way:
            shutil.copytree(tmp_path / "counted", run)
        plan = small(out=run, **way)
        with monkeypatch.context() as patch:
            dying(patch, n)
            try:
                train_run(plan)
            except Killed:
                pass
            else:  # over a run that is there, fewer names change
                assert n > 20
                break

        if is_training(run) or (run / "model.json").exists():
            resume_run(run)
        else:
            assert n < 16
            train_run(replace(plan, overwrite=True))

        shutil.rmtree(run / "state", ignore_errors=True)
        assert files_of(run) == files_of(tmp_path / "whole"), n


# --- what is there to go on with ------------------------------------------------------------------
def stop_after_two(plan):
    keep = RunKeeper.keep

    def keep_two(self, progress, memo):
        keep(self, progress, memo)
        if len(progress.laps) == 2:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunKeeper, "keep", keep_two)
        with pytest.raises(KeyboardInterrupt):
            train_run(plan)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """Where the runs are that tests have copies of, each under the name of its world."""
    return tmp_path_factory.mktemp("stopped")


@pytest.fixture
def interrupted(stopped, plan_of):
    """A run of four laps that was stopped after the second was kept."""

    def make(world="lda memoized", **others):
        plan = plan_of(world, **others)
        if others:
            stop_after_two(plan)
            return plan.out
        if not (stopped / world).exists():
            stop_after_two(replace(plan, out=stopped / world))
        return shutil.copytree(stopped / world, plan.out)

    return make


def test_it_goes_on_elsewhere_with_other_workers(monkeypatch, interrupted, plan_of, tmp_path):
    train_run(plan_of("lda memoized", out=tmp_path / "whole"))
    run = interrupted()
    run.rename(tmp_path / "moved")
    monkeypatch.chdir("/")

    resumed = resume_run(tmp_path / "moved", workers=2)

    assert resumed.result.laps == 4
    assert files_of(tmp_path / "moved") == files_of(tmp_path / "whole")


def test_relative_paths_mean_what_they_did(monkeypatch, plan_of, corpora, tmp_path):
    monkeypatch.chdir(corpora)
    given = {"corpus": Path("documents"), "out": tmp_path / "run", "keep_state": True}
    train_run(replace(plan_of("lda memoized"), **given))
    monkeypatch.chdir("/")

    resume_run(tmp_path / "run", laps=5)

    assert load_run(tmp_path / "run").settings["corpus"]["path"] == "documents"


def test_more_laps_are_those_of_a_longer_run(plan_of, tmp_path):
    longer = replace(WORLDS["lda memoized"], laps=5)
    train_run(plan_of(longer, out=tmp_path / "whole"))
    train_run(plan_of("lda memoized", keep_state=True))
    before = load_run(tmp_path / "run")
    assert before.n_laps == 4

    assert resume_run(tmp_path / "run").options is None
    assert resume_run(tmp_path / "run", laps=4).options is None
    resumed = resume_run(tmp_path / "run", laps=5)

    assert resumed.options == longer
    shutil.rmtree(tmp_path / "run" / "state")
    found, whole = files_of(tmp_path / "run"), files_of(tmp_path / "whole")
    topics = [files["settings"].pop("topics") for files in (found, whole)]
    for files in (found, whole):  # the tree names topics by their ids
        del files["themes.json"]
        files["settings"].pop("files")
    assert found == whole
    # Topics keep the ids that they had after four laps.
    assert {topic["id"] for topic in topics[0]} == {topic.id for topic in before.topics}
    assert topics[0] != topics[1]


def test_a_kill_while_more_laps_are_written_spoils_nothing(plan_of, monkeypatch, tmp_path):
    """The first training was killed when its run was in place, but its journal was still there."""

    def write_half(folder, *_):
        (folder / "model.json").write_text("{}")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(TrainingFolder, "close", interrupt)
        with pytest.raises(KeyboardInterrupt):
            train_run(plan_of("lda memoized"))
    with monkeypatch.context() as patch:
        patch.setattr(trained_runs, "save_run", write_half)
        with pytest.raises(KeyboardInterrupt):
            resume_run(tmp_path / "run", laps=5)
    assert load_run(tmp_path / "run").n_laps == 4

    resume_run(tmp_path / "run", laps=5)

    assert load_run(tmp_path / "run").n_laps == 5
    assert not (tmp_path / "run" / "state").exists()


def test_a_run_that_could_not_be_moved_is_in_place_with_the_next_command(
    plan_of, monkeypatch, tmp_path
):
    move = Workspace._move_one

    def refuse(self, name, **how):
        if name == "model.json":
            raise OSError("no space")
        move(self, name, **how)

    plan = plan_of("lda memoized", checkpoint_every=0)
    with monkeypatch.context() as patch:
        patch.setattr(Workspace, "_move_one", refuse)
        with pytest.raises(OutputError, match="complete but not in its place yet"):
            train_run(plan)

    with pytest.raises(OutputError, match="already exists"):
        train_run(plan)

    assert load_run(tmp_path / "run").n_laps == 4


def test_a_finished_run_has_nothing_left_to_do(plan_of, tmp_path):
    trained = train_run(plan_of("lda memoized"))
    before = files_of(tmp_path / "run")

    result, options, has_settled = resume_run(tmp_path / "run")

    assert (options, has_settled) == (None, False)
    assert result._replace(seconds=0.0) == trained._replace(seconds=0.0)
    with pytest.raises(RunError, match=r"finished after .* laps, without --keep-state"):
        resume_run(tmp_path / "run", laps=9)
    assert files_of(tmp_path / "run") == before


def test_a_settled_run_makes_no_lap_and_says_so(plan_of, tmp_path):
    settling = replace(WORLDS["finite full"], n_topics=1, laps=20)
    trained = train_run(plan_of(settling, keep_state=True))
    assert trained.laps < 20
    name = "model.safetensors"
    before = (tmp_path / "run" / name).read_bytes()

    resumed = resume_run(tmp_path / "run", laps=58)

    assert resumed.has_settled
    assert resumed.result.laps == trained.laps
    assert (tmp_path / "run" / name).read_bytes() == before
    told = CliRunner().invoke(main, ["resume", str(tmp_path / "run"), "--laps", "59"])
    assert told.stdout.startswith(
        f"No lap was made: the bound and the number of components have settled after {trained.laps}"
    )


@pytest.mark.parametrize("cost", [1e-9, 1e9])  # of which the first allows hardly any checkpoint
@pytest.mark.parametrize(("keep_state", "kept"), [(False, [1]), (True, [1, 2])])
def test_the_last_lap_is_kept_only_for_a_run_that_may_go_on(
    plan_of, monkeypatch, cost, keep_state, kept
):
    laps, keep = [], TrainingFolder.keep
    monkeypatch.setattr(checkpoints, "COST", cost)
    monkeypatch.setattr(
        TrainingFolder, "keep", lambda self, lap, write: laps.append(lap) or keep(self, lap, write)
    )
    options = replace(WORLDS["gaussian"], laps=2)

    train_run(plan_of(options, checkpoint_every=None, keep_state=keep_state))

    assert laps == kept


def test_fewer_laps_than_are_kept_end_it_as_it_stands(plan_of, interrupted, tmp_path):
    shorter = replace(WORLDS["lda memoized"], laps=2)
    train_run(plan_of(shorter, out=tmp_path / "whole"))

    resume_run(interrupted(), laps=1)

    name = "model.safetensors"
    assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_topics_that_are_still_to_be_merged_get_one_more_lap(interrupted):
    run = interrupted("lda gradual")

    result = resume_run(run, laps=2).result

    assert (result.laps, result.n_topics, load_run(run).model.n_topics) == (3, 4, 4)


def test_laps_are_told_while_training_goes_on(plan_of, tmp_path):
    """Those of a process before, too, and none twice that is made again."""
    told = []

    def look(entry):
        lines = (tmp_path / "run" / "state" / "trace.jsonl").read_text().splitlines()
        told.append([json.loads(line)["lap"] for line in lines])
        assert json.loads(lines[-1]) == entry
        if len(told) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_run(plan_of("lda memoized", checkpoint_every=2, keep_state=True), RunHooks(look))
    resume_run(tmp_path / "run", watch=lambda options: nullcontext(RunHooks(look)))

    assert told == [[1], [1, 2], [1, 2, 3], [1, 2, 3], [1, 2, 3, 4]]
    assert len((tmp_path / "run" / "trace.jsonl").read_text().splitlines()) == 4
    assert not (tmp_path / "run" / "state" / "trace.jsonl").exists()


@pytest.mark.parametrize("every", [0, 3])
def test_laps_that_are_not_kept_are_made_again(plan_of, monkeypatch, tmp_path, every):
    train_run(plan_of("lda memoized", out=tmp_path / "whole"))
    with monkeypatch.context() as patch:
        patch.setattr(trained_runs, "save_run", interrupt)
        patch.setattr(TrainingFolder, "remove_state", lambda folder: None)  # killed
        with pytest.raises(KeyboardInterrupt):
            train_run(plan_of("lda memoized", checkpoint_every=every))

    resume_run(tmp_path / "run")

    assert files_of(tmp_path / "run") == files_of(tmp_path / "whole")


def interrupt(*_):
    raise KeyboardInterrupt


def test_the_old_run_is_there_until_the_new_one_is_done(interrupted, plan_of, tmp_path):
    train_run(plan_of("gaussian"))
    before = files_of(tmp_path / "run")

    run = interrupted(overwrite=True)

    assert (run / "state").is_dir()
    shutil.copytree(run, tmp_path / "copy", ignore=shutil.ignore_patterns("state"))
    assert files_of(tmp_path / "copy") == before
    resume_run(run)
    train_run(plan_of("lda memoized", out=tmp_path / "whole"))
    assert files_of(run) == files_of(tmp_path / "whole")


def test_an_interrupted_run_may_be_overwritten(interrupted, plan_of, tmp_path):
    run = interrupted("gaussian")

    train_run(plan_of("lda memoized", overwrite=True))

    assert sorted(file.name for file in run.iterdir()) == [
        "config.toml",
        "model.json",
        "model.safetensors",
        "themes.json",
        "trace.jsonl",
        "vocabulary.parquet",
    ]


def test_nothing_but_runs_is_overwritten(plan_of, corpora, tmp_path):
    plan = plan_of("lda memoized", overwrite=True)

    shutil.copytree(corpora / "documents", tmp_path / "corpus")
    with pytest.raises(
        OutputError, match=r"corpus: expected .* found a folder that is not a run folder"
    ):
        train_run(replace(plan, out=tmp_path / "corpus"))


@pytest.mark.parametrize("file", ["checkpoint.npz", "plan.json"])
def test_a_damaged_state_is_refused(interrupted, file):
    path = interrupted() / "state" / file
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])

    with pytest.raises(RunError, match=rf"{file}: the (checkpoint|JSON) is damaged"):
        resume_run(path.parent.parent)


def edited(path, name, place, value):
    """Give the array whose name ends so another entry, or another value if ``place`` is None."""
    tree, arrays = opened(path.read_bytes())
    (whole,) = (each for each in arrays if each.endswith(name))
    if place is None:
        arrays[whole] = value(arrays[whole])
    else:
        arrays[whole] = arrays[whole].copy()
        arrays[whole].reshape(-1)[place] = value
    path.write_bytes(closed(tree, arrays))


OF_BATCH = "progress.learner.per_batch.0"
FAR = 50_000_000
EDITS = [
    ("hdp memoized", f"{OF_BATCH}.stored.topics", 0, FAR, "topics has 50000000 of"),
    ("hdp memoized", f"{OF_BATCH}.stored.starts", 1, FAR, "starts falls"),
    ("hdp memoized", f"{OF_BATCH}.stored.starts", -1, FAR, "does not span the entries"),
    ("hdp memoized", f"{OF_BATCH}.stored.starts", None, lambda a: a[1:], "does not span"),
    ("hdp memoized", f"{OF_BATCH}.stored.topics", None, lambda a: a.astype("<i8"), "of int64"),
    ("hdp memoized", f"{OF_BATCH}.stored.shares", 0, 0.0, "has value 0"),
    ("hdp memoized", f"{OF_BATCH}.stored.shares", 0, np.nan, "not finite"),
    ("hdp memoized", f"{OF_BATCH}.terms.active_documents", 0, FAR, "active documents"),
    ("hdp memoized", "learner.total.components.seen", 0, 40.0, "does not add up"),
    ("hdp memoized", "learner.total.components.seen", None, lambda a: a[1:], "has shape"),
    ("hdp memoized", "learner.total.terms.totals", 0, np.inf, "not finite"),
    ("hdp memoized", "parameters.allocation.sticks.means", 0, 1.5, "sticks out of range"),
    ("hdp memoized", "parameters.allocation.sticks.means", None, lambda a: a[:-1], "damaged"),
    ("hdp memoized", "mover.ledger.ids", 0, FAR, "ids of topics has 50000000"),
    ("lda memoized", f"{OF_BATCH}.stored.topics", 0, FAR, "topics has 50000000 of 4"),
    ("lda memoized", f"{OF_BATCH}.doc_topics.topics", 0, FAR, "topics has 50000000 of 4"),
    ("lda memoized", f"{OF_BATCH}.doc_topics.topics", None, np.zeros_like, "name one twice"),
    ("lda memoized", "learner.total.components.seen", 0, -1.0, "below zero"),
    ("lda memoized", "parameters.allocation.doc_concentration", 0, 0.0, "not positive"),
    ("lda full", "learner.total.components.seen", None, lambda a: a[:, :2], "has shape"),
    ("lda stochastic", "learner.components.seen", 0, 2.0, "the ELBO does not add up"),
    ("gaussian", f"{OF_BATCH}.stored.topics", 0, FAR, "topics has 50000000 of"),
    ("gaussian", "parameters.likelihood.coordinates.origin", 0, 9.0, "other coordinates"),
    ("gaussian", "parameters.likelihood.coordinates.widths", 0, 0.0, "must be square"),
    ("gaussian", "parameters.likelihood.coordinates.directions", 0, 0.5, "other coordinates"),
    (
        "gaussian",
        "parameters.likelihood.coordinates.scales",
        None,
        lambda a: a[1:],
        "other coordinates",
    ),
    ("finite memoized", f"{OF_BATCH}.stored.counts", 0, -1.0, "below zero"),
    (
        "zero-mean",
        "parameters.likelihood.scale_matrix",
        0,
        -1.0,
        "scale matrix: is not positive definite",
    ),
    ("words", f"{OF_BATCH}.stored.topics", 0, FAR, "topics has 50000000 of"),
    ("words finite", "learner.components.table", None, lambda a: a[:3], "has shape"),
    ("accelerated", "learner.found.topics", 0, FAR, "topics has 50000000 of"),
    ("accelerated", "mover.nodes.outer", 0, FAR, "outer nodes has 50000000"),
    ("accelerated", "mover.nodes.outer", None, lambda a: a[::-1] * 0, "leave items out"),
    ("accelerated", "mover.nodes.divided", -1, FAR, "divided nodes has 50000000"),
    ("gradient fisher", "learner.points.sticks", 0, 1.0, "sticks out of range"),
    ("gradient fisher", "learner.velocity.means", None, lambda a: a[1:], "has shape"),
    ("alternating", "parameters.allocation.counts", 0, -1.0, "below zero"),
]


@pytest.mark.parametrize(("world", "name", "place", "value", "message"), EDITS)
def test_an_edited_checkpoint_is_refused(interrupted, world, name, place, value, message):
    """It would have had kernels write anywhere, or training end in a traceback."""
    run = interrupted(world)
    edited(run / "state" / "checkpoint.npz", name, place, value)

    with pytest.raises(RunError, match=message) as refused:
        resume_run(run)

    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda kept: kept["progress"]["fields"]["rng"]["pairs"][1].pop(),
            "the checkpoint is damaged",
        ),
        (lambda kept: kept["scores"].update(items=[]), "the checkpoint is damaged"),
        (
            lambda kept: kept["progress"]["fields"].update(laps={"type": "tuple", "items": []}),
            "laps that do not follow",
        ),
        (lambda kept: kept["progress"]["fields"].update(learner=None), "another learner"),
        (lambda kept: kept["progress"]["fields"].update(mover=None), "no record of moves"),
    ],
)
def test_a_checkpoint_without_its_parts_is_refused(interrupted, change, message):
    path = interrupted("hdp memoized") / "state" / "checkpoint.npz"
    tree, arrays = opened(path.read_bytes())
    tree = json.loads(tree)
    change(tree["value"]["fields"])
    path.write_bytes(closed(json.dumps(tree), arrays))

    with pytest.raises(RunError, match=message):
        resume_run(path.parent.parent)


@pytest.mark.parametrize(
    ("world", "name", "place", "value", "message"),
    [
        ("hdp memoized", "topics", 0, FAR, "topics has 50000000 of"),
        ("hdp memoized", "starts", 1, FAR, "starts falls"),
        ("hdp memoized", "word_ids", 0, FAR, "word ids has 50000000 of"),
        ("hdp memoized", "word_ids", None, np.zeros_like, "word ids do not rise"),
        ("hdp memoized", "indptr", 1, FAR, "documents falls"),
        ("hdp memoized", "word_counts", 0, 0, "not positive"),
        ("gaussian", "values", 0, np.nan, "not finite"),
        ("gaussian", "values", None, lambda a: a.reshape(-1, 1), "vectors have shape"),
        ("words", "item_word_ids", 0, FAR, "word ids has 50000000 of"),
        ("words", "topics", None, lambda a: a.astype(np.float32), "an array of float32"),
    ],
)
@pytest.mark.parametrize("is_late", [False, True])
def test_an_edited_memo_file_is_refused_whenever_it_is_read(
    monkeypatch, interrupted, world, name, place, value, message, is_late
):
    monkeypatch.setattr(Memo.__init__, "__defaults__", (0,))
    monkeypatch.setitem(plan_vector_batches.__kwdefaults__, "resident_bytes", 0)
    run = interrupted(world, resident_pairs=0)
    left = list((run / "state" / "memo").iterdir())

    def edit(*_):
        while left:
            edited(left.pop(), name, place, value)

    if not is_late:
        edit()
        path = run / "state" / "checkpoint.npz"
        path.write_bytes(with_stamps(path.read_bytes(), run / "state" / "memo"))
    with pytest.raises(RunError, match=rf"memo-\d+.npz: the file is damaged .*{message}"):
        resume_run(run, watch=lambda options: nullcontext(RunHooks(on_documents=edit)))


def test_a_state_of_another_version_is_refused(interrupted):
    path = interrupted() / "state" / "plan.json"
    path.write_text(path.read_text().replace('"format_version": 3', '"format_version": 7'))

    with pytest.raises(RunError, match=r"expected format version 3, but found 7\. Train again"):
        resume_run(path.parent.parent)


def test_another_corpus_is_refused(interrupted, corpora, tmp_path):
    run = interrupted(corpus=shutil.copytree(corpora / "documents", tmp_path / "corpus"))
    manifest = tmp_path / "corpus" / "manifest.json"
    manifest.write_text(manifest.read_text() + "\n")

    with pytest.raises(RunError, match=r"corpus: the data have changed"):
        resume_run(run)
    assert (run / "state" / "checkpoint.npz").exists()


def test_a_shard_that_is_gone_is_told_and_loses_nothing(interrupted, corpora, tmp_path):
    corpus = shutil.copytree(corpora / "documents", tmp_path / "corpus")
    run = interrupted(corpus=corpus)
    before = {file.name: file.read_bytes() for file in (run / "state").iterdir() if file.is_file()}
    shard = corpus / "shard-00000.parquet"
    shard.rename(tmp_path / "elsewhere")

    with pytest.raises(SparsetopicsError, match=r"shard-00000.parquet: the file is missing"):
        resume_run(run)

    after = {file.name: file.read_bytes() for file in (run / "state").iterdir() if file.is_file()}
    assert after == before
    (tmp_path / "elsewhere").rename(shard)
    resume_run(run)


def test_a_model_that_memory_cannot_hold_is_told(plan_of, monkeypatch, tmp_path):
    def train(*given, **named):
        raise MemoryError("Unable to allocate 32.0 GiB")

    monkeypatch.setattr(session, "follow", train)

    with pytest.raises(OptionError, match=r"topics: 4 need more memory than there is .*32\.0 GiB"):
        train_run(plan_of("lda memoized"))
    assert not (tmp_path / "run").exists()


def test_a_folder_that_cannot_be_written_is_told(plan_of, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    plan = plan_of("lda memoized", out=tmp_path / "closed" / "run")

    with only_those_of_modes(), pytest.raises(OutputError, match="Permission denied"):
        train_run(plan)


def test_the_time_decides_how_often_laps_are_kept(monkeypatch, plan_of, tmp_path):
    clock = iter(np.arange(0.0, 1e6).tolist())  # a second each time it is asked
    kept = []
    monkeypatch.setattr(checkpoints, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    original = TrainingFolder.keep
    monkeypatch.setattr(
        TrainingFolder, "keep", lambda *given: (kept.append(given[1]), original(*given))
    )

    train_run(plan_of(replace(WORLDS["lda memoized"], laps=30), checkpoint_every=None))

    assert kept == [1, 11, 21]  # a second each, ten seconds between
