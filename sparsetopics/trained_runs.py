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

from sparsetopics.batches import Source
from sparsetopics.callbacks import OnLap
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.manifest import FILE_NAME as MANIFEST
from sparsetopics.corpora.manifest import file_sha256
from sparsetopics.corpora.vectors import VectorCorpus
from sparsetopics.errors import OptionError, ShapeError, VocabularyError
from sparsetopics.evaluation.completion import document_completion, unigram_probabilities
from sparsetopics.executors import open_executor
from sparsetopics.local_step import LocalSteps
from sparsetopics.mixture_model import MixtureModel
from sparsetopics.mixture_runs import save_mixture_run
from sparsetopics.model import TopicModel
from sparsetopics.options import WITH_MOVES, StartName, TrainingOptions
from sparsetopics.run_configs import write_config
from sparsetopics.run_files import CONFIG_FILE
from sparsetopics.run_keeper import RunKeeper
from sparsetopics.run_plans import RunPlan, plan_record
from sparsetopics.run_sources import divided
from sparsetopics.runs import load_run, refuse_run, save_run
from sparsetopics.training import Hooks, LapInfo, Model, train
from sparsetopics.training_folder import TrainingFolder, check_new_run, new_training


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
    start: TopicModel | None = None


def train_run(plan: RunPlan, hooks: RunHooks = RunHooks()) -> RunResult:  # noqa: B008
    """Train and write ``plan.out``; until that is done it holds the state of the training alone.

    Raises SparsetopicsError of the kind that fits: an output that exists, a damaged corpus,
    vocabularies or columns that differ, options out of range.
    """
    _ = plan.workplace  # before there is a folder
    check_new_run(plan.out, overwrite=plan.overwrite)
    plan, task = task_of(plan)
    with new_training(plan.out, plan_record(plan), overwrite=plan.overwrite) as folder:
        return go_on(plan, task, folder, hooks)


def go_on(plan: RunPlan, task: Task, folder: TrainingFolder, hooks: RunHooks) -> RunResult:
    """Train from where ``folder`` is to the end, and publish the run."""
    began = time.perf_counter()
    keeper = RunKeeper(folder, plan.checkpoint_every)

    def on_lap(info: LapInfo, snapshot: Callable[[], Model]) -> None:
        score = None if plan.heldout is None else task.score(snapshot())
        keeper.trace.append(info._asdict() | {"heldout_log_likelihood_per_token": score})
        folder.tell(keeper.trace)
        hooks.on_lap(keeper.trace[-1])

    rng = np.random.default_rng(plan.seed)
    with open_executor(plan.workers) as executor, _open_steps(plan, folder) as steps_of:
        source = divided(plan, rng)
        told = Hooks(on_lap, hooks.on_documents)
        model = train(
            source, plan.options, folder.memo, executor, rng,
            hooks=told, start=task.start, keeper=keeper, steps=steps_of(source),
        )  # fmt: skip

    def write(result: Path) -> None:
        task.save(result, model, keeper.trace)
        write_config(result / CONFIG_FILE, plan)

    folder.publish(write)
    if plan.keep_state:
        folder.write_plan(plan_record(plan, finished=True))
    else:
        folder.remove_state()
    seconds = keeper.seconds_before + time.perf_counter() - began
    last = keeper.trace[-1]
    return RunResult(model.name, model.n_topics, last["elbo_per_token"], last["lap"], seconds)


@contextmanager
def _open_steps(
    plan: RunPlan, folder: TrainingFolder
) -> Iterator[Callable[[Source], LocalSteps | None]]:
    """Makes those of the plan's cluster; or None, for local steps in this process."""
    if plan.workplace.executor != "dask":
        yield lambda source: None
        return
    from sparsetopics.dask_steps import open_dask_steps

    with open_dask_steps(plan, folder.globals) as steps_of:
        yield steps_of


def task_of(plan: RunPlan) -> tuple[RunPlan, Task]:
    """What there is to do, and the plan with all that follows from data."""
    refuse_run(plan.at(plan.corpus))
    if not plan.options.is_mixture:
        return _of_documents(plan)
    if plan.start_run is not None:
        raise OptionError(
            "start",
            found=f"{plan.start_run} with a mixture",
            wanted=f"one of {', '.join(get_args(StartName))}",
            hint="Mixtures do not go on from a run.",
        )
    return plan, _of_document_items(plan) if plan.options.counts_words else _of_vectors(plan)


def _of_documents(plan: RunPlan) -> tuple[RunPlan, Task]:
    corpus = Corpus.open(plan.at(plan.corpus))
    start = None
    if plan.start_run is not None:
        run = load_run(plan.at(plan.start_run))
        run.check_vocabulary(corpus.vocabulary, str(plan.corpus))
        start = run.model
        if plan.start_topics:
            options = replace(plan.options, n_topics=start.n_topics)
            plan = replace(plan, options=options, start_topics=False)
    settings = _settings(plan, {"n_documents": corpus.n_docs, "n_tokens": corpus.n_tokens})

    def save(folder: Path, model: TopicModel, trace: Sequence[dict[str, Any]]) -> None:
        save_run(folder, model, corpus.vocabulary, settings, trace)

    return plan, Task(_completion_scorer(plan, corpus), save, start)


def _completion_scorer(plan: RunPlan, corpus: Corpus) -> Callable[[TopicModel], float]:
    """Document completion of the held-out documents, if there are any."""
    heldout = _heldout_documents(plan, corpus)
    if heldout is None:
        return lambda model: nan
    unigram = unigram_probabilities(corpus.vocabulary.term_frequency)

    def score(model: TopicModel) -> float:
        return document_completion(
            heldout, model.topic_word_mean, model.doc_concentration, unigram, workers=plan.workers
        ).log_likelihood_per_token

    return score


def _of_document_items(plan: RunPlan) -> Task:
    """Of documents that have one component each."""
    corpus = Corpus.open(plan.at(plan.corpus))
    settings = _settings(plan, {"n_documents": corpus.n_docs, "n_tokens": corpus.n_tokens})

    def save(folder: Path, model: MixtureModel, trace: Sequence[dict[str, Any]]) -> None:
        save_mixture_run(folder, model, settings, trace, corpus.vocabulary)

    return Task(_document_density_scorer(plan, corpus), save)


def _document_density_scorer(plan: RunPlan, corpus: Corpus) -> Callable[[MixtureModel], float]:
    """Log probability of the held-out documents per token, if there are any."""
    heldout = _heldout_documents(plan, corpus)
    if heldout is None:
        return lambda model: nan

    def score(model: MixtureModel) -> float:
        sums = [model.log_densities(batch).sum() for batch in heldout.batches()]
        return float(np.sum(sums)) / heldout.n_tokens

    return score


def _of_vectors(plan: RunPlan) -> Task:
    corpus = VectorCorpus.open(plan.at(plan.corpus))
    facts = {"n_items": corpus.n_items, "columns_fingerprint": corpus.fingerprint}
    settings = _settings(plan, facts | {"made": dict(corpus.made)})

    def save(folder: Path, model: MixtureModel, trace: Sequence[dict[str, Any]]) -> None:
        save_mixture_run(folder, model, settings, trace)

    return Task(_density_scorer(plan, corpus), save)


def _density_scorer(plan: RunPlan, corpus: VectorCorpus) -> Callable[[MixtureModel], float]:
    """Mean log density of the held-out items, if there are any."""
    if plan.heldout is None:
        return lambda model: nan
    heldout = VectorCorpus.open(plan.at(plan.heldout))
    if heldout.fingerprint != corpus.fingerprint:
        raise ShapeError(
            str(plan.heldout),
            found=f"columns ({heldout.n_columns:,}) or a projection other than of {plan.corpus}",
            wanted=f"the {corpus.n_columns:,} columns of the training corpus",
            hint=f"Ingest the held-out vectors with --projection {plan.corpus}.",
        )

    def score(model: MixtureModel) -> float:
        sums = [model.log_densities(batch.values).sum() for batch in heldout.batches()]
        return float(np.sum(sums)) / heldout.n_items

    return score


def _heldout_documents(plan: RunPlan, corpus: Corpus) -> Corpus | None:
    """Those of the plan; VocabularyError if their words are not those of the training."""
    if plan.heldout is None:
        return None
    refuse_run(plan.at(plan.heldout))
    heldout = Corpus.open(plan.at(plan.heldout))
    if heldout.vocabulary.fingerprint != corpus.vocabulary.fingerprint:
        raise VocabularyError(
            str(plan.heldout),
            found=f"another vocabulary ({heldout.n_words:,} words) than that of {plan.corpus}",
            wanted=f"the {corpus.n_words:,} words of the training corpus",
            hint=f"Ingest the held-out documents with --vocabulary {plan.corpus}.",
        )
    return heldout


def option_record(options: TrainingOptions) -> dict[str, Any]:
    """Options as model.json keeps them, with what the model decides by default filled in."""
    makes_moves = options.model in WITH_MOVES or options.active_moves.names
    moves = options.active_moves if makes_moves else None
    likelihood = options.likelihood_name if options.is_mixture else None
    local = options.local_step
    return asdict(
        replace(options, laps=options.n_laps, moves=moves, local=local, likelihood=likelihood)
    )


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
