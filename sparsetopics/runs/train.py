"""From a corpus folder to a run folder: what ``train`` and ``quickstart`` do."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from math import nan
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np

from sparsetopics.base.batches import Source
from sparsetopics.base.errors import OptionError
from sparsetopics.base.sealed_files import file_sha256
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.opening import check_alike, open_corpus
from sparsetopics.corpora.store.manifest import FILE_NAME as MANIFEST
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.corpora.vectors import VectorCorpus
from sparsetopics.evaluation.scores.completion import document_completion, unigram_probabilities
from sparsetopics.execution.executors import open_executor
from sparsetopics.inference.local_step import LocalSteps
from sparsetopics.inference.training import Hooks, LapInfo, Model, train
from sparsetopics.model.mixture_posterior import MixtureModel
from sparsetopics.model.topic_posterior import TopicModel
from sparsetopics.options.table import StartName
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.callbacks import OnLap
from sparsetopics.runs.keeper import SCORE, RunKeeper
from sparsetopics.runs.plan import RunPlan, plan_record, write_config
from sparsetopics.runs.run_files import CONFIG_FILE
from sparsetopics.runs.sources import corpus_of, divided
from sparsetopics.runs.stored_models import facts_of, save_any_run
from sparsetopics.runs.topic_runs import load_run, refuse_run
from sparsetopics.runs.training_folder import TrainingFolder, check_new_run, new_training


class RunHooks(NamedTuple):
    """Whom to tell while a run is trained."""

    on_lap: OnLap = lambda entry: None
    on_documents: Callable[[float, int], None] = lambda n_done, n_docs: None  # of this lap


class RunResult(NamedTuple):
    """Headline facts of a finished run."""

    model: str
    n_topics: int
    elbo_per_token: float
    laps: int
    seconds: float


class Task(NamedTuple):
    """What the kind of data decides about a run."""

    score: Callable[[Any], float]  # of a model, on held-out data
    save: Callable[[Path, Any, Sequence[dict[str, Any]]], None]
    start: TopicModel | None


def train_run(plan: RunPlan, hooks: RunHooks = RunHooks()) -> RunResult:  # noqa: B008
    """Train and write ``plan.out``; until that is done it holds the state of the training alone.

    Raises SparsetopicsError of the kind that fits: an output that exists, a damaged corpus,
    vocabularies or columns that differ, options out of range.
    """
    _ = plan.workplace  # before there is a folder
    check_new_run(plan.out, overwrite=plan.overwrite, inputs=plan.inputs)
    plan, task = task_of(plan)
    with new_training(plan.out, plan_record(plan), overwrite=plan.overwrite) as folder:
        return go_on(plan, task, folder, hooks)


def go_on(plan: RunPlan, task: Task, folder: TrainingFolder, hooks: RunHooks) -> RunResult:
    """Train from where ``folder`` is to the end, and publish the run."""
    began = time.perf_counter()
    keeper = RunKeeper(folder, plan.checkpoint_every, plan.tie)

    def on_lap(info: LapInfo, snapshot: Callable[[], Model]) -> None:
        score = None if plan.heldout is None else task.score(snapshot())
        keeper.trace.append(info._asdict() | {SCORE: score})
        folder.tell(keeper.trace)
        hooks.on_lap(keeper.trace[-1])

    rng = np.random.default_rng(plan.seed)
    with open_executor(plan.workers) as executor, _open_steps(plan, folder) as steps_of:
        source = divided(plan, rng)
        told = Hooks(on_lap, hooks.on_documents)
        with _enough_memory(plan):
            model = train(
                source, plan.options, folder.memo, executor, rng,
                hooks=told, start=task.start, keeper=keeper, steps=steps_of(source),
            )  # fmt: skip

    def write(result: Path) -> None:
        task.save(result, model, keeper.trace)
        write_config(result / CONFIG_FILE, plan)

    folder.publish(write)
    folder.close(plan_record(plan, finished=True), keep=plan.keep_state)
    seconds = keeper.seconds_before + time.perf_counter() - began
    last = keeper.trace[-1]
    return RunResult(model.name, model.n_topics, last["elbo_per_token"], last["lap"], seconds)


@contextmanager
def _enough_memory(plan: RunPlan) -> Iterator[None]:
    """OptionError if a model is too large for this machine."""
    try:
        yield
    except MemoryError as error:
        found = f"too little for {plan.options.n_topics:,} topics or components ({error})"
        hint = "Use fewer topics, or more batches."
        raise OptionError("memory", found=found, wanted="room for the model", hint=hint) from error


@contextmanager
def _open_steps(
    plan: RunPlan, folder: TrainingFolder
) -> Iterator[Callable[[Source], LocalSteps | None]]:
    """Makes those of the plan's cluster; or None, for local steps in this process."""
    if plan.workplace.executor != "dask":
        yield lambda source: None
        return
    from sparsetopics.runs.dask_steps import open_dask_steps

    with open_dask_steps(plan, folder.globals) as steps_of:
        yield steps_of


def task_of(plan: RunPlan) -> tuple[RunPlan, Task]:
    """What there is to do, and the plan with all that follows from data."""
    refuse_run(plan.at(plan.corpus))
    if plan.start_run is not None and plan.options.is_mixture:
        raise OptionError(
            "start",
            found=f"{plan.start_run} with a mixture",
            wanted=f"one of {', '.join(get_args(StartName))}",
            hint="Mixtures do not go on from a run.",
        )
    corpus = corpus_of(plan)
    vocabulary = corpus.vocabulary if isinstance(corpus, Corpus) else None
    plan, start = _started(plan, vocabulary)
    settings = _settings(plan, facts_of(corpus))

    def save(folder: Path, model: Model, trace: Sequence[dict[str, Any]]) -> None:
        save_any_run(folder, model, vocabulary, settings, trace)

    return plan, Task(_scorer(plan, corpus), save, start)


def _started(plan: RunPlan, vocabulary: Vocabulary | None) -> tuple[RunPlan, TopicModel | None]:
    """The model to go on from, and the plan with as many topics if nobody said how many."""
    if plan.start_run is None:
        return plan, None
    assert vocabulary is not None, "topics have words"
    run = load_run(plan.at(plan.start_run))
    run.check_vocabulary(vocabulary, str(plan.corpus))
    if plan.start_topics:
        options = replace(plan.options, n_topics=run.model.n_topics)
        plan = replace(plan, options=options, start_topics=False)
    return plan, run.model


def _scorer(plan: RunPlan, corpus: Corpus | VectorCorpus) -> Callable[[Any], float]:
    """What is told of the held-out data after a lap, if there are any.

    Of topics the score of document completion, of mixtures the mean log density of a vector, or
    log probability of a document's token.
    """
    if plan.heldout is None:
        return lambda model: nan
    refuse_run(plan.at(plan.heldout))
    heldout = open_corpus(plan.at(plan.heldout))
    check_alike(corpus, heldout, plan.corpus, str(plan.heldout))
    if plan.options.is_mixture:
        n_data = heldout.n_tokens if isinstance(heldout, Corpus) else heldout.n_items

        def density(model: MixtureModel) -> float:
            sums = [model.log_densities(batch.values).sum() for batch in heldout.batches()]
            return float(np.sum(sums)) / n_data

        return density
    assert isinstance(corpus, Corpus), "topics have words"
    assert isinstance(heldout, Corpus), "likewise"
    documents, unigram = heldout, unigram_probabilities(corpus.vocabulary.term_frequency)

    def completion(model: TopicModel) -> float:
        return document_completion(
            documents, model.topic_word_mean, model.doc_concentration, unigram, workers=plan.workers
        ).log_likelihood_per_token

    return completion


def option_record(options: TrainingOptions) -> dict[str, Any]:
    """Options as model.json keeps them, with what the model decides by default filled in."""
    return asdict(options.filled())


def _settings(plan: RunPlan, sizes: dict[str, Any]) -> dict[str, Any]:
    manifest = {
        "path": os.fspath(plan.corpus),
        "fingerprint": file_sha256(plan.at(plan.corpus) / MANIFEST),
    }
    return {
        "corpus": manifest | sizes,
        "options": option_record(plan.options)
        | {"batches": plan.n_batches, "resident_pairs": plan.resident_pairs},
        "seed": plan.seed,
    }
