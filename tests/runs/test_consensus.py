"""``train --runs``: the same bytes anywhere, resumed at any moment, and what it refuses."""

import shutil
import threading
from dataclasses import replace

import numpy as np
import pytest

from run_contents import files_of
from sparsetopics.base.errors import OptionError, OutputError, RunError
from sparsetopics.base.transactions import Workspace
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.gradual_start import GradualStart
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs import training_folder
from sparsetopics.runs.callbacks import RunHooks
from sparsetopics.runs.consensus import each_run, seeds_of
from sparsetopics.runs.plan import RunPlan, plan_run
from sparsetopics.runs.resume import resume_run
from sparsetopics.runs.run import load_run
from sparsetopics.runs.train import train_run
from worlds.worlds_on_disk import write_corpora

LAPS = 7


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    return write_corpora(tmp_path_factory.mktemp("corpora"))


@pytest.fixture
def plan_of(corpora, tmp_path):
    def make(**others):
        options = TrainingOptions(4, LAPS, n_runs=3, guide=others.pop("guide", None))
        usual = {"n_batches": 5, "checkpoint_every": 1, "out": tmp_path / "run", "seed": 5}
        return RunPlan(corpus=corpora / "documents", options=options, **usual | others)

    return make


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Where the run is that tests have copies of."""
    return tmp_path_factory.mktemp("trained") / "whole"


@pytest.fixture
def whole(trained, plan_of, tmp_path):
    if not trained.exists():
        train_run(plan_of(out=trained, keep_state=True))
    return shutil.copytree(trained, tmp_path / "whole")


def members_of(run):
    return [run / "state" / "runs" / str(number) for number in (1, 2, 3)]


def test_the_runs_are_those_that_their_seeds_make(plan_of, whole, tmp_path):
    for number, (member, seed) in enumerate(zip(members_of(whole), seeds_of(5, 3), strict=True)):
        plan = plan_of(out=tmp_path / str(number), seed=seed)
        train_run(replace(plan, options=replace(plan.options, n_runs=1)))

        alone, own = (load_run(path, TopicPosterior) for path in (plan.out, member))
        np.testing.assert_array_equal(own.model.exact_counts, alone.model.exact_counts)
        assert own.settings["seed"] == seed
        assert "seed = " + str(seed) in (member / "config.toml").read_text()


def test_the_consensus_is_a_run_with_one_more_lap(whole):
    run = load_run(whole, TopicPosterior)

    assert [entry["lap"] for entry in run.trace] == [*range(1, LAPS + 2)]
    sure = run.settings["found_in_runs"]
    assert [each.n_runs for each in sure] == [3] * 4
    assert "runs = 3" in (whole / "config.toml").read_text()
    members = [load_run(path, TopicPosterior).model for path in members_of(whole)]
    total = members[0].exact_counts.sum()
    assert all(member.exact_counts.sum() == total for member in [*members, run.model])


@pytest.mark.parametrize("workers", [2, 8])
def test_workers_change_nothing(plan_of, whole, workers):
    train_run(plan := plan_of(workers=workers))

    assert files_of(plan.out) == files_of(whole)
    assert not (plan.out / "state").exists()


class Stopped(Exception):
    """Training is over for now."""


@pytest.mark.parametrize("workers", [1, 2])
def test_stopped_after_any_lap_it_goes_on(plan_of, whole, workers):
    plan, n_laps = plan_of(workers=workers), 3 * LAPS + 1
    done = threading.Semaphore(2)

    def stop_soon(entry):
        if not done.acquire(blocking=False):
            raise KeyboardInterrupt

    hooks = RunHooks(on_lap=stop_soon)
    with pytest.raises(KeyboardInterrupt, match=r"continue with `sparsetopics resume"):
        train_run(plan, hooks)
    for _ in range(n_laps):
        done.release(2)
        try:
            resume_run(plan.out, watch=lambda options: shut(hooks))
            break
        except KeyboardInterrupt:
            with pytest.raises(OutputError, match="training was interrupted here"):
                train_run(plan)

    assert files_of(plan.out) == files_of(whole)


class shut:
    """A context that yields a value."""

    def __init__(self, value):
        self.value = value

    def __enter__(self):
        return self.value

    def __exit__(self, *_):
        return None


def test_killed_when_it_is_written_it_goes_on(plan_of, whole, monkeypatch):
    def die(self, write, rungs=()):
        if "runs" not in self.run.parts:
            raise KeyboardInterrupt
        publish(self, write, rungs)

    plan, publish = plan_of(), training_folder.TrainingFolder.publish
    with monkeypatch.context() as patch:
        patch.setattr(training_folder.TrainingFolder, "publish", die)
        with pytest.raises(KeyboardInterrupt):
            train_run(plan)
    monkeypatch.setattr(GradualStart, "first_number", None)  # no run begins again
    resume_run(plan.out)

    assert files_of(plan.out) == files_of(whole)


@pytest.mark.parametrize("harm", ["damage", "another", "checkpoint"])
def test_a_run_that_is_damaged_or_of_another_training_is_named(plan_of, whole, monkeypatch, harm):
    def stop(entry):
        if entry.get("run", 3) == 3 and entry["lap"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_run(plan := plan_of(), RunHooks(on_lap=stop))
    first, _, third = members_of(plan.out)
    if harm == "damage":
        (first / "model.safetensors").write_bytes(b"")
    elif harm == "another":
        shutil.rmtree(first)
        shutil.copytree(members_of(whole)[1], first)
    else:
        first = third
        (third / "state" / "checkpoint.npz").write_bytes(b"no zip")
    with pytest.raises(RunError, match="Remove it and resume: the other runs are kept") as error:
        resume_run(plan.out)

    assert str(error.value).startswith(str(first))
    shutil.rmtree(first)
    resume_run(plan.out)
    assert files_of(plan.out) == files_of(whole)


def test_without_a_lap_nothing_is_left(plan_of):
    def stop(entry):
        raise KeyboardInterrupt

    plan = plan_of(checkpoint_every=0)
    with pytest.raises(KeyboardInterrupt, match="Nothing was written"):
        train_run(plan, RunHooks(on_lap=stop))

    assert not plan.out.exists()


def test_overwriting_begins_anew(plan_of, whole):
    train_run(fresh := plan_of(seed=6))

    train_run(plan_of(out=whole, seed=6, overwrite=True))

    assert files_of(whole) == files_of(fresh.out)
    assert not (whole / "state").exists()


def test_killed_while_it_overwrites_it_does_not_take_runs_of_before(plan_of, whole, monkeypatch):
    def die(self, keep=()):
        raise KeyboardInterrupt

    train_run(fresh := plan_of(seed=6))
    with monkeypatch.context() as patch:
        patch.setattr(Workspace, "clear", die)
        patch.setattr(training_folder.TrainingFolder, "remove_state", lambda self: None)
        with pytest.raises(KeyboardInterrupt):
            train_run(plan_of(out=whole, seed=6, overwrite=True))
    resume_run(whole)

    assert files_of(whole) == files_of(fresh.out)


def test_an_error_in_one_run_stops_the_others():
    begun = threading.Barrier(2)

    def train(number, n_threads, hooks):
        begun.wait(600)
        if number == 1:
            raise Stopped
        while True:
            Executor().map(abs, [1])

    with pytest.raises(Stopped):
        each_run(train, 2, 2, RunHooks())


def test_hooks_are_called_in_the_thread_that_waits():
    told = []
    hooks = RunHooks(
        lambda entry: told.append((threading.get_ident(), entry["run"])),
        lambda n_done, n_docs: told.append((threading.get_ident(), n_done)),
    )

    def train(number, n_threads, hooks):
        hooks.on_documents(10, 20)
        hooks.on_lap({"lap": 1})
        return number

    assert each_run(train, 3, 3, hooks) == [0, 1, 2]
    assert sorted(told) == sorted((threading.get_ident(), n) for n in (1, 2, 3, 10, 10, 10))


@pytest.mark.parametrize(
    ("n_runs", "workers", "threads"),
    [(5, 1, [1] * 5), (5, 2, [1, 1, 1, 1, 2]), (3, 8, [2] * 3), (4, 4, [1] * 4), (5, 3, [1] * 5)],
)
def test_runs_share_the_workers(n_runs, workers, threads):
    found = each_run(lambda number, n, hooks: (number, n), n_runs, workers, RunHooks())

    assert found == [*enumerate(threads)]


def test_the_number_of_topics_is_the_middle_one(plan_of, monkeypatch):
    sizes = iter([5, 2, 3])

    def smaller(path, kind):
        run, n_topics = load_run(path, kind), next(sizes)
        rows = np.vstack([run.model.topic_word_posterior] * 2)[:n_topics]
        alpha = np.full(n_topics, 0.5 / n_topics)
        model = replace(run.model, topic_word_posterior=rows, doc_concentration=alpha)
        return replace(run, model=model)

    monkeypatch.setattr("sparsetopics.runs.train.load_run", smaller)
    result = train_run(plan_of())

    assert result.n_topics == 3
    sure = load_run(plan_of().out).settings["found_in_runs"]
    assert [each.n_runs for each in sure] == [3] * 3


def test_laps_of_a_consensus_cannot_be_added(whole):
    with pytest.raises(OptionError, match="is the consensus of several runs"):
        resume_run(whole, laps=20)


def test_a_run_to_start_from_is_refused(corpora, whole, tmp_path):
    given = {"model": "lda", "runs": 3, "start": str(whole)}
    with pytest.raises(OptionError, match="cannot be combined with --start RUN"):
        plan_run(corpora / "documents", tmp_path / "run", given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"runs": 0}, "must be from 1 to 100"),
        ({"runs": 2, "learner": "stochastic"}, "works only with --learner memoized"),
        ({"runs": 2, "model": "dp-mixture"}, "is for lda and hdp"),
    ],
)
def test_what_has_no_consensus_is_refused(corpora, tmp_path, given, message):
    with pytest.raises(OptionError, match=message):
        plan_run(corpora / "documents", tmp_path / "run", {"model": "lda", **given})
