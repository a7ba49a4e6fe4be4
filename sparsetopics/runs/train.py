"""From a corpus folder to a run folder: what ``train`` and ``quickstart`` do."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple, get_args

import numpy as np

from sparsetopics.base.batches import Source, StoredBatch
from sparsetopics.base.errors import OptionError, RunError, SparsetopicsError, warn_user
from sparsetopics.base.sealed_files import Json
from sparsetopics.base.transactions import STATE_FOLDER, refuse_pending
from sparsetopics.base.wording import quantity, reason_of
from sparsetopics.corpora.batching import TrainingData
from sparsetopics.corpora.corpus import AnyCorpus, Corpus
from sparsetopics.execution.executors import open_executor
from sparsetopics.inference.training import Start
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.table import FEWEST_VALIDATED, StartName
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.callbacks import LapEntry, RunHooks
from sparsetopics.runs.checkpoints import RunKeeper
from sparsetopics.runs.consensus import consensus_of, each_run, seeds_of
from sparsetopics.runs.data import corpus_of, data_of, facts_of, heldout_of, lap_score
from sparsetopics.runs.found_in_runs import Found, counted, found_by_all
from sparsetopics.runs.guidance import lists_for, tell_of, with_topics
from sparsetopics.runs.plan import RunPlan, lowered, with_validation, write_config
from sparsetopics.runs.run import (
    NO_THEMES,
    AnyRun,
    TopicRun,
    knowing,
    load_run,
    option_record,
    refuse_run,
    run_in_memory,
    save_run,
)
from sparsetopics.runs.run_files import CONFIG_FILE, CorpusFacts, Nested, Provenance
from sparsetopics.runs.session import Steps, Trained, run_session
from sparsetopics.runs.topic_path import RungScorer, RungWriter, keep_no_model
from sparsetopics.runs.training_folder import TrainingFolder, check_new_run, new_training

ONLY_THIS = "Remove it and resume: the other runs are kept."


class RunResult(NamedTuple):
    """Headline facts of a finished run."""

    model: str
    n_topics: int
    active_topics: int  # those with at least one token or item
    elbo_per_token: float
    laps: int
    seconds: float
    as_good_from: int | None = None  # topics, if their number was validated
    as_good_to: int | None = None
    recommended: int | None = None  # topics, the fewest that predict about as well as the best
    to_read: int | None = None  # the fewest topics that are enough to read
    smoothing: float | None = None  # σ; None for a mixture
    lists: Sequence[Json] = ()  # of words, that topics began with: each a ``GuideList``
    n_runs: int = 1
    in_every_run: int | None = None  # topics; None for one run

    @property
    def sureness(self) -> str:
        """How many topics every run has found, after a space; empty for one run."""
        sure = self.in_every_run
        return "" if sure is None else f" {found_by_all(sure, self.active_topics, self.n_runs)}"

    @property
    def advice(self) -> str:
        """Which numbers of topics predict as well; empty unless that was measured."""
        low, high = self.as_good_from, self.as_good_to
        if low is None or high is None:
            return ""
        if low == high:
            return "No other number of topics predicts as well."
        return f"From {low:,} to {high:,} topics predict as well."


class Task(NamedTuple):
    """What the data decide about a run."""

    corpus: AnyCorpus
    heldout: AnyCorpus | None
    provenance: Provenance
    start: TopicRun | None  # whose topics are the first ones
    before: AnyRun | None  # whose topics these continue


def train_run(plan: RunPlan, hooks: RunHooks = RunHooks()) -> RunResult:  # noqa: B008
    """Train and write ``plan.out``; until that is done it holds only the state of the training.

    Raises SparsetopicsError of the kind that fits: an output that exists, a damaged corpus,
    vocabularies or columns that differ, options out of range.
    """
    _ = plan.workplace  # refuses what cannot work, before there is a folder
    check_new_run(plan)
    asked = plan
    plan, task = task_of(plan)
    # Not in ``task_of``: training that resumes must have the rungs that it began with.
    n_rows = task.corpus.sizes.n_docs
    plan = replace(plan, options=lowered(plan.options, plan.validation_share, n_rows))
    hooks.on_options(plan.options)
    tell_of(lists_for(plan.options, task.corpus), hooks.say)
    with new_training(plan) as folder:
        result = finish_training(plan, task, folder, hooks)
    for sentence in _choices(asked, plan, task):
        hooks.say(sentence)
    return result


def _choices(asked: RunPlan, plan: RunPlan, task: Task) -> Iterator[str]:
    """What the data decided about the number of topics, other than was asked."""
    begins_with, given = plan.options.n_topics, asked.options.n_topics
    if plan.options.is_validated and not asked.start_topics and begins_with != given:
        yield (
            "Documents kept out of training chose the number of topics. Training began with "
            f"{begins_with:,}, not with the {given:,} of --topics."
        )
    may_ask = asked.validation_share is None and asked.options.may_be_validated
    if may_ask and plan.start_run is None and not plan.options.is_validated:
        found = quantity(task.corpus.sizes.n_docs, "document")
        yield (
            f"The corpus has {found}, fewer than {FEWEST_VALIDATED:,}: the criterion decided the "
            "number of topics. With --validation-share, documents kept out of training decide."
        )


def finish_training(
    plan: RunPlan, task: Task, folder: TrainingFolder, hooks: RunHooks
) -> RunResult:
    """Train from where ``folder`` stands to the end, and publish the run."""
    began = time.perf_counter()
    keeper = RunKeeper(folder, plan.checkpoint_every, plan.tie)
    lists, writer = lists_for(plan.options, task.corpus), None
    if plan.options.is_topic_path:
        assert isinstance(task.corpus, Corpus), "topics are over words"
        writer = RungWriter(plan, task.corpus, task.provenance, folder, keeper)

    def on_lap(entry: Mapping[str, float | None]) -> None:
        folder.tell(keeper.trace)
        hooks.on_lap(entry)

    def on_writing() -> None:
        keeper.keeps_last = plan.keep_state and plan.options.n_runs == 1
        hooks.on_writing()

    def learn(start: Start, options: TrainingOptions) -> Trained:
        if plan.options.n_runs > 1:  # the lap of the consensus has options of its own
            hooks.on_options(options)
        own, rng = replace(plan, options=options), np.random.default_rng(plan.seed)
        data = data_of(own, task.corpus, rng)
        with open_executor(plan.workers) as executor, _open_steps(own, folder, data.whole) as steps:
            return run_session(
                data, options, rng, executor, folder.memo,
                hooks._replace(on_lap=on_lap, on_writing=on_writing),
                scorer=_scorer(own, task, data),
                keep_rung=keep_no_model if writer is None else writer.keep,
                score=lap_score(own, task.corpus, task.heldout),
                start=start, lists=lists, keeper=keeper, steps=steps,
            )  # fmt: skip

    if plan.options.n_runs == 1:
        found = learn(None if task.start is None else task.start.model, plan.options)
    else:
        found = consensus_of(_members(plan, task, folder, hooks), plan.options, learn)
    model, trace, scores = found.model, found.trace, found.kept.get("number_of_topics")

    def write(result: Path) -> None:
        if writer is not None and scores is not None:
            writer.write(result, scores)
        else:
            facts: Provenance = {**task.provenance, **found.kept}
            words = task.corpus.vocabulary if isinstance(task.corpus, Corpus) else None
            if task.before is not None and words is not None:
                facts["topics"] = task.before.carried(model)
            save_run(result, run_in_memory("", model, words, facts, trace))
        write_config(result / CONFIG_FILE, plan)

    folder.publish(write, plan.rung_names)
    folder.close(plan)
    seconds = keeper.seconds_before + time.perf_counter() - began
    result = result_of(model.name, model.n_topics, trace, found.kept.get("found_in_runs", ()))
    records = tuple(map(asdict, with_topics(lists, model)))
    result = result._replace(seconds=seconds, smoothing=model.smoothing, lists=records)
    if not scores or not plan.options.is_validated:
        return result
    if scores.limits:
        hooks.say(scores.limits)
    low, high = scores.as_good_around(result.n_topics)
    result = result._replace(recommended=scores.recommended, to_read=scores.to_read)
    return result._replace(as_good_from=low, as_good_to=high)


def _members(plan: RunPlan, task: Task, folder: TrainingFolder, hooks: RunHooks) -> list[TopicRun]:
    """The runs of a plan with several; those that are finished or begun are not begun again."""
    n_runs, seeds = plan.options.n_runs, seeds_of(plan.seed, plan.options.n_runs)
    options = replace(plan.options, n_runs=1)

    def train(number: int, n_threads: int, hooks: RunHooks) -> TopicRun:
        own = folder.member(number + 1)
        facts = task.provenance.copy()
        facts["seed"], facts["themes"] = seeds[number], NO_THEMES
        member = replace(
            plan, out=own.run, options=options, seed=seeds[number], keep_state=False,
            workers=plan.workers if is_on_cluster else n_threads,
        )  # fmt: skip
        try:
            if not own.is_finished:
                finish_training(member, task._replace(provenance=facts), own, hooks)
            run = load_run(own.run, TopicPosterior)
        except RunError as error:
            raise RunError(str(own.run), reason_of(error), ONLY_THIS) from error
        known = run.settings.get("seed"), run.settings["corpus"].get("fingerprint")
        if known != (seeds[number], facts["corpus"].get("fingerprint")):
            raise RunError(str(own.run), "the run is of another training", ONLY_THIS)
        return run

    # The workers of a cluster share the batches of one run after the other.
    is_on_cluster = plan.executor == "dask"
    return each_run(train, n_runs, 1 if is_on_cluster else plan.workers, hooks)


def _scorer(plan: RunPlan, task: Task, data: TrainingData) -> RungScorer | None:
    """What scores rungs, if there are any; CorpusError if no document can be scored."""
    if plan.heldout is not None and plan.options.is_topic_path:
        assert isinstance(task.heldout, Corpus), "it is like the training corpus"
        described = f"{quantity(task.heldout.n_docs, 'held-out document')} of {plan.heldout}"
        return RungScorer(task.heldout, 1, described, plan.workers)  # as ``evaluate`` scores
    return RungScorer.of_validation(data.validation, plan.workers)


def result_of(model: str, n_topics: int, trace: Sequence[LapEntry], runs: Found) -> RunResult:
    """What the last lap says about a run; ValueError if its entries are missing.

    ``runs`` says which topics of a consensus were found.
    """
    last = trace[-1] if trace else {}
    lap, bound, seconds = (last.get(name) for name in ("lap", "elbo_per_token", "seconds"))
    if not lap or bound is None or seconds is None:
        raise ValueError("a lap must have lap, elbo_per_token and seconds")
    active = last.get("active_topics")  # traces of other programs may lack it
    used = n_topics if active is None else int(active)
    n_sure, _, n_runs = counted(runs)
    result = RunResult(model, n_topics, used, bound, int(lap), seconds)
    return result._replace(n_runs=n_runs, in_every_run=n_sure) if n_runs else result


def _open_steps(
    plan: RunPlan, folder: TrainingFolder, source: Source[StoredBatch]
) -> AbstractContextManager[Steps | None]:
    """Yield what makes steps of a source on the plan's cluster, or None to make them here."""
    if plan.workplace.executor != "dask":
        return nullcontext()
    from sparsetopics.runs.dask_steps import open_dask_steps

    return open_dask_steps(plan, folder.globals, source)


def task_of(plan: RunPlan, before: AnyRun | None = None) -> tuple[RunPlan, Task]:
    """What there is to do, and the plan with all that follows from the data.

    Topics continue those of ``before``, or else those of the run that training began with.
    Raises SparsetopicsError of the kind that fits if the data or the run to start from do not.
    """
    refuse_run(plan.at(plan.corpus), "To start from its topics use --start.")
    if plan.start_run is not None and plan.options.model_kind.of_items:
        problem = f"a mixture cannot start from a run, here {plan.start_run}"
        raise OptionError("start", problem, f"Give one of {', '.join(get_args(StartName))}.")
    corpus = corpus_of(plan)
    plan, start = _started(plan, corpus)
    options, share = with_validation(plan.options, plan.validation_share, corpus.sizes.n_docs)
    plan = replace(plan, options=options, validation_share=share)
    batches: Nested = {"batches": plan.n_batches, "resident_pairs": plan.resident_pairs}
    facts: CorpusFacts = {"path": os.fspath(plan.corpus), **facts_of(corpus)}
    record = option_record(options) | batches
    provenance: Provenance = {"corpus": facts, "options": record, "seed": plan.seed}
    before = before or start or _first_start(plan, corpus)
    return plan, Task(corpus, heldout_of(plan, corpus), provenance, start, before)


def _started(plan: RunPlan, corpus: AnyCorpus) -> tuple[RunPlan, TopicRun | None]:
    """The run to start from, and the plan with their number if none was given."""
    if plan.start_run is None:
        return plan, None
    start = plan.at(plan.start_run)
    refuse_pending(start, (STATE_FOLDER,))
    if not start.exists():
        names = ", ".join(get_args(StartName))
        found = f"there is no folder {str(plan.start_run)!r}"
        raise OptionError("start", f"must be {names} or a run folder, but {found}")
    run = load_run(start, TopicPosterior)
    if isinstance(corpus, Corpus):
        run = knowing(run, corpus, str(plan.corpus))
    n_topics = run.model.n_topics
    if not plan.start_topics and plan.options.n_topics != n_topics:
        problem = f"is {plan.options.n_topics:,}, but the run of --start has {n_topics:,} topics"
        raise OptionError("topics", problem, "Leave out --topics.")
    options, share = replace(plan.options, n_topics=n_topics), plan.validation_share or 0.0
    # The run decides where training begins, so that nothing is left to validate.
    return replace(plan, options=options, start_topics=False, validation_share=share), run


def _first_start(plan: RunPlan, corpus: AnyCorpus) -> AnyRun | None:
    """The run that resumed training began with, to take ids and names of topics from."""
    if plan.first_start is not None and isinstance(corpus, Corpus):
        try:
            run = load_run(plan.at(plan.first_start), TopicPosterior)
            return knowing(run, corpus, str(plan.corpus))
        except SparsetopicsError as error:
            warn_user(f"Topics get new ids, since those of --start cannot be read: {error}")
    return None
