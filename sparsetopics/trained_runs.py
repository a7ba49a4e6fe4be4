"""From a corpus folder to a run folder: what ``train`` and ``quickstart`` do."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from sparsetopics.corpora.batching import plan_batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.manifest import FILE_NAME as MANIFEST
from sparsetopics.corpora.manifest import file_sha256
from sparsetopics.errors import VocabularyError
from sparsetopics.evaluation.completion import document_completion, unigram_probabilities
from sparsetopics.executors import open_executor
from sparsetopics.model import TopicModel
from sparsetopics.options import (
    DEFAULT_MOVES,
    WITH_MOVES,
    Criterion,
    MoveName,
    MoveOptions,
    TrainingOptions,
)
from sparsetopics.runs import Run, load_run, refuse_run, save_run
from sparsetopics.staging import staged_folder
from sparsetopics.training import Hooks, LapInfo, Model, train


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One training run on disk."""

    corpus: Path
    out: Path
    options: TrainingOptions
    n_batches: int | None = None
    resident_pairs: int = 32_000_000
    seed: int = 0
    workers: int = 1
    heldout: Path | None = None
    start_run: Path | None = None
    start_topics: bool = False  # as many topics as ``start_run`` has, whatever the options say
    overwrite: bool = False


class RunHooks(NamedTuple):
    """Whom to tell while a run is trained."""

    on_lap: Callable[[dict[str, Any]], None] = lambda entry: None  # the trace's entry
    on_documents: Callable[[float, int], None] = lambda n_done, n_docs: None  # of this lap


class RunResult(NamedTuple):
    """Headline facts of a finished run."""

    model: str
    n_topics: int
    elbo_per_token: float
    laps: int
    seconds: float


def train_run(plan: RunPlan, hooks: RunHooks = RunHooks()) -> RunResult:  # noqa: B008
    """Train and write ``plan.out``, whole or not at all.

    Raises SparsetopicsError of the kind that fits: an output that exists, a damaged corpus,
    vocabularies that differ, options out of range.
    """
    began = time.perf_counter()
    with staged_folder(plan.out, overwrite=plan.overwrite) as folder:
        corpus = _open(plan.corpus)
        start = load_run(plan.start_run) if plan.start_run is not None else None
        if start is not None:
            start.check_vocabulary(corpus.vocabulary, str(plan.corpus))
            plan = _sized_like(start, plan)
        score = _scorer(plan, corpus)
        trace: list[dict[str, Any]] = []

        def on_lap(info: LapInfo, snapshot: Callable[[], Model]) -> None:
            score_now = score(cast("Callable[[], TopicModel]", snapshot))
            trace.append(info._asdict() | {"heldout_log_likelihood_per_token": score_now})
            hooks.on_lap(trace[-1])

        model = _train(plan, corpus, start, folder, Hooks(on_lap, hooks.on_documents))
        save_run(folder, model, corpus.vocabulary, _settings(plan, corpus), trace)
    seconds = time.perf_counter() - began
    last = trace[-1]
    return RunResult(model.name, model.n_topics, last["elbo_per_token"], last["lap"], seconds)


def _open(path: Path) -> Corpus:
    refuse_run(path)
    return Corpus.open(path)


def _sized_like(start: Run, plan: RunPlan) -> RunPlan:
    if not plan.start_topics:
        return plan
    return replace(plan, options=replace(plan.options, n_topics=start.model.n_topics))


def _train(
    plan: RunPlan, corpus: Corpus, start: Run | None, folder: Path, hooks: Hooks
) -> TopicModel:
    rng = np.random.default_rng(plan.seed)
    source = plan_batches(corpus, plan.n_batches, rng, resident_pairs=plan.resident_pairs)
    with (
        tempfile.TemporaryDirectory(prefix=".memo-", dir=folder) as scratch,
        open_executor(plan.workers) as executor,
    ):
        model = train(
            source,
            plan.options,
            Path(scratch),
            executor,
            rng,
            hooks=hooks,
            start=start.model if start is not None else None,
        )
    assert isinstance(model, TopicModel), "documents have topics"
    return model


def _scorer(plan: RunPlan, corpus: Corpus) -> Callable[[Callable[[], TopicModel]], float | None]:
    """The held-out score of a model, or always None without held-out documents."""
    if plan.heldout is None:
        return lambda snapshot: None
    heldout = _open(plan.heldout)
    _check_same_words(heldout, corpus, plan)
    unigram = unigram_probabilities(corpus.vocabulary.term_frequency)

    def score(snapshot: Callable[[], TopicModel]) -> float:
        model = snapshot()
        return document_completion(
            heldout, model.topic_word_mean, model.doc_concentration, unigram, workers=plan.workers
        ).log_likelihood_per_token

    return score


def _check_same_words(heldout: Corpus, corpus: Corpus, plan: RunPlan) -> None:
    if heldout.vocabulary.fingerprint != corpus.vocabulary.fingerprint:
        raise VocabularyError(
            str(plan.heldout),
            found=f"another vocabulary ({heldout.n_words:,} words) than that of {plan.corpus}",
            wanted=f"the {corpus.n_words:,} words of the training corpus",
            hint=f"Ingest the held-out documents with --vocabulary {plan.corpus}.",
        )


def move_options(
    names: Sequence[MoveName] | None, criterion: Criterion | None
) -> MoveOptions | None:
    """The moves a user asks for; None, the default of model and learner, if nothing is asked."""
    if names is None and criterion is None:
        return None
    return MoveOptions(DEFAULT_MOVES if names is None else tuple(names), criterion)


def option_record(options: TrainingOptions) -> dict[str, Any]:
    """Options as model.json keeps them, with what the model decides by default filled in."""
    moves = options.active_moves if options.model in WITH_MOVES else None
    return asdict(replace(options, laps=options.n_laps, moves=moves))


def _settings(plan: RunPlan, corpus: Corpus) -> dict[str, Any]:
    return {
        "corpus": {
            "path": os.fspath(plan.corpus),
            "n_documents": corpus.n_docs,
            "n_tokens": corpus.n_tokens,
            "fingerprint": file_sha256(plan.corpus / MANIFEST),
        },
        "options": option_record(plan.options)
        | {"batches": plan.n_batches, "resident_pairs": plan.resident_pairs},
        "seed": plan.seed,
    }
