"""Sparse posteriors (Hughes & Sudderth 2016): its figures 1 to 5.

Mixtures are of patches of BSDS500, in place of the paper's 400 images. Topics are of 1,500 NIPS
articles, as in its figure 4, but with the words alone that occur more than 20 times. L is the
number of components that an item, or of topics that a word, may use; "dense" is L = K. Seconds are
CPU seconds of one thread.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from denoising import patches_of
from prepared import Prepared, prepare
from scored_runs import train_scored

from paper_figures.figure import Figure, Row, Setting
from paper_figures.gradient import ClockedExecutor
from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray, Source, Vectors
from sparsetopics.corpora.batching import plan_batches
from sparsetopics.corpora.corpus import Corpus, VectorCorpus
from sparsetopics.execution.executors import Executor
from sparsetopics.inference import course as course_module
from sparsetopics.inference.course import Hooks, course_of
from sparsetopics.inference.document_step import fit_documents, summarize
from sparsetopics.inference.local_step import Globals
from sparsetopics.inference.training import follow, train
from sparsetopics.measures.paired import mean_score
from sparsetopics.model.item_assignment import assign
from sparsetopics.model.likelihoods.scorers import Scorer
from sparsetopics.model.memo import Memo
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.options.table import LocalUpdate
from sparsetopics.options.training import LocalOptions, TrainingOptions
from sparsetopics.runs.data import source_of

SPARSITIES = (1, 2, 4, 8, 16, None)  # None is dense
NUMBERS = (100, 400, 800)  # of components or topics
N_COMPARED = 500  # items of which responsibilities are compared with dense ones
COLLECTION = "nips"
LEAST_FALL = 1e-9  # nats per token; anything less is rounding


class AsPublished(TrainingOptions):
    """Options of a memoized learner without our two rules for documents under mean-field.

    Batches always take their new responsibilities, and the first lap updates topics after each
    batch.
    """

    @property
    def keeps_better(self) -> bool:
        return False


class ClockedScorer:
    """Counts the CPU seconds of densities while something else calls for them."""

    def __init__(self, scorer: Scorer[Vectors]) -> None:
        self.scorer, self.seconds = scorer, 0.0

    def __call__(self, values: Vectors) -> Any:
        began = time.process_time()
        logs = self.scorer(values)
        self.seconds += time.process_time() - began
        return logs


def sparsities(setting: Setting) -> tuple[int | None, ...]:
    return (1, 4, None) if setting.is_quick else SPARSITIES


def shown(sparsity: int | None) -> str:
    return "dense" if sparsity is None else str(sparsity)


def steps_of_mixtures(setting: Setting) -> Iterator[Row]:
    """Seconds of the parts of a step of a mixture, and how far it is from a dense one."""
    n_items = 4_000 if setting.is_quick else 20_000
    for n_topics in (50,) if setting.is_quick else NUMBERS:
        values = patches(setting, "train", n_items)
        options = mixture_options(n_topics, 4, "memoized", 2)
        model = trained_mixture(in_batches(values, options, 1), options)
        n_times = 1 if setting.is_quick else 3
        found = [
            timed_mixture_step(model, values, sparsity, n_times) for sparsity in sparsities(setting)
        ]
        dense = found[-1][1]
        for sparsity, (row, shares) in zip(sparsities(setting), found, strict=True):
            about: Row = {"K": n_topics, "L": shown(sparsity), "items": n_items, **row}
            yield {**about, "distance": distance(shares, dense)}


def timed_mixture_step(
    model: MixturePosterior, values: Vectors, sparsity: int | None, n_times: int
) -> tuple[Row, FloatArray]:
    """Median seconds of densities, selection and summary; the first responsibilities, dense."""
    likelihood, serial = cast(Any, model.likelihood), Executor()
    values = likelihood.coordinates(values)
    scorer = ClockedScorer(likelihood.prepare(likelihood.components_of(model.posterior)))
    logs, n_slots = model.mixture.expected_log_weights, sparsity or model.n_topics
    seconds = np.empty((n_times + 1, 3))
    for parts in seconds:  # of which the first compiles
        scorer.seconds, began = 0.0, time.process_time()
        found, _ = assign(values, scorer, logs, n_slots, serial)
        between = time.process_time()
        likelihood.zeros(model.n_topics).sum_items(values, found, serial)
        parts[:] = scorer.seconds, between - began, time.process_time() - between
    densities, local, summary = np.median(seconds[1:], axis=0).tolist()
    row: Row = {
        "densities_s": round(densities, 3),
        "selection_s": round(local - densities, 3),
        "summary_s": round(summary, 3),
        "step_s": round(local + summary, 3),
    }
    return row, dense_shares(found, np.arange(N_COMPARED + 1), model.n_topics)


def dense_shares(found: Responsibilities, ends: IntArray, n_topics: int) -> FloatArray:
    """Shares of the topics in rows ``ends[i]`` to ``ends[i + 1]``, (len(ends) - 1, n_topics)."""
    shares = np.zeros((len(ends) - 1, n_topics))
    for i, (low, high) in enumerate(
        zip(found.starts[ends[:-1]], found.starts[ends[1:]], strict=True)
    ):
        np.add.at(shares[i], found.topics[low:high], found.shares[low:high])
    return shares / shares.sum(axis=1, keepdims=True)


def distance(shares: FloatArray, dense: FloatArray) -> float:
    """The mean over items of half the L1 distance, from 0 to 1."""
    return round(float(0.5 * np.abs(shares - dense).sum(axis=1).mean()), 4)


def patches(setting: Setting, part: str, n_patches: int) -> Vectors:
    archive = setting.shared / "data" / "bsds500" / f"bsds500-{part}.tar"
    rng = np.random.default_rng(0)
    return rng.permutation(patches_of(archive, n_patches, rng))


def mixture_options(n_topics: int, n_slots: int, learner: str, laps: int) -> TrainingOptions:
    return TrainingOptions(
        n_topics,
        laps=laps,
        learner=learner,
        local=LocalOptions("mean-field", sparsity=n_slots, restarts=0),
        model="mixture",
        likelihood="zero-mean-gaussian",
    )


def trained_mixture(
    source: Source[Any],
    options: TrainingOptions,
    on_lap: Callable[[Any, Any], None] = lambda info, model: None,
    executor: Executor | None = None,
) -> MixturePosterior:
    with tempfile.TemporaryDirectory() as scratch:
        rng, hooks = np.random.default_rng(0), Hooks(on_lap=on_lap)
        model = train(source, options, Path(scratch), executor or Executor(), rng, hooks=hooks)
    assert isinstance(model, MixturePosterior)
    return model


def in_batches(values: Vectors, options: TrainingOptions, n_batches: int) -> Source[Any]:
    """Batches in standard coordinates, which the likelihood alone decides about."""
    corpus = VectorCorpus.from_array(values)
    return source_of(corpus, options, n_batches, np.random.default_rng(0))


def scores_of_patches(setting: Setting) -> Iterator[Row]:
    """Held-out scores of patches over laps, memoized and stochastic."""
    n_items, n_topics, laps = (8_000, 20, 2) if setting.is_quick else (200_000, 100, 8)
    values = patches(setting, "train", n_items)
    unseen = patches(setting, "test", n_items // 10)
    batches = in_batches(values, mixture_options(n_topics, 4, "memoized", laps), 20)
    trained_mixture(batches, mixture_options(5, 4, "memoized", 1))  # compiles
    for learner in ("memoized", "stochastic"):
        for sparsity in (1, 4, None) if setting.is_quick else (1, 4, 16, None):
            options = mixture_options(n_topics, sparsity or n_topics, learner, laps)
            about: Row = {"learner": learner, "L": shown(sparsity), "K": n_topics}
            for row in scored_laps(batches, unseen, options):
                yield {**about, "patches": n_items, **row}


def scored_laps(batches: Source[Any], unseen: Vectors, options: TrainingOptions) -> list[Row]:
    """The held-out score after each lap, and CPU seconds of laps without scoring."""
    rows: list[Row] = []
    executor, mark, spent = ClockedExecutor(), 0.0, 0.0

    def on_lap(info: Any, snapshot: Callable[[], MixturePosterior]) -> None:
        nonlocal mark, spent
        spent += time.process_time() - (mark or executor.began or 0.0)
        score = float(snapshot().log_densities(unseen).mean())
        rows.append({"lap": info.lap, "cpu_s": round(spent, 2), "heldout": round(score, 3)})
        mark = time.process_time()

    trained_mixture(batches, options, on_lap, executor)
    return rows


def collection(setting: Setting, n_batches: int) -> tuple[Prepared, Source[DocumentBatch]]:
    data = prepare(COLLECTION, setting.shared, setting.folder)
    if setting.is_quick:
        data = data._replace(train=data.train[:150], heldout=data.heldout.first(50))
    corpus = Corpus.from_csr(data.train, data.words)
    return data, plan_batches(corpus, n_batches, np.random.default_rng(0))


def steps_of_topics(setting: Setting) -> Iterator[Row]:
    """Seconds of a local step and of a summary of all documents, and the distance from dense."""
    batch = collection(setting, 1)[1].read(0)
    updates: tuple[LocalUpdate, ...] = ("mean-field", "collapsed")
    for n_topics in (50,) if setting.is_quick else NUMBERS:
        for update in updates:
            current = settled_topics(setting, n_topics, update)
            found = [
                timed_topic_step(batch, current, update, sparsity)
                for sparsity in sparsities(setting)
            ]
            dense = found[-1][1]
            for sparsity, (row, shares) in zip(sparsities(setting), found, strict=True):
                about: Row = {"K": n_topics, "update": update, "L": shown(sparsity), **row}
                yield {**about, "distance": distance(shares, dense)}


def settled_topics(setting: Setting, n_topics: int, update: LocalUpdate) -> Globals[Any, Any, Any]:
    """The parameters after three laps with L = 4."""
    source = collection(setting, 4)[1]
    options = TrainingOptions(
        n_topics, laps=3, local=LocalOptions(update, sparsity=4, restarts=0), cold_every=1
    )
    with tempfile.TemporaryDirectory() as scratch:
        how = Executor(), Memo(Path(scratch)), np.random.default_rng(0), Hooks()
        course = course_of(options)(course_module.Setting(source, source, options, *how))
        follow(course, None, None)
    current: Globals[Any, Any, Any] = course.current
    return current


def timed_topic_step(
    batch: DocumentBatch, current: Globals[Any, Any, Any], update: LocalUpdate, sparsity: int | None
) -> tuple[Row, FloatArray]:
    """A cold step; with restarts under mean-field, as in the paper."""
    options = LocalOptions(update, sparsity=sparsity or current.components.n_topics)
    few, serial = batch[:20], Executor()
    summarize(few, fit_documents(few, current, options, serial).responsibilities, current, serial)
    began = time.process_time()
    found = fit_documents(batch, current, options, serial).responsibilities
    between = time.process_time()
    summarize(batch, found, current, serial)
    ended = time.process_time()
    row: Row = {"local_s": round(between - began, 3), "summary_s": round(ended - between, 3)}
    weighted = found._replace(shares=found.shares * np.repeat(batch.weights, np.diff(found.starts)))
    return row, dense_shares(weighted, batch.indptr[: N_COMPARED + 1], current.components.n_topics)


def scores_of_topics(setting: Setting) -> Iterator[Row]:
    """Held-out scores of topics by L, memoized and stochastic, mean-field and collapsed."""
    settings: list[tuple[LocalUpdate, int, tuple[int | None, ...]]]
    if setting.is_quick:
        settings = [("mean-field", 20, (1, 4, None)), ("collapsed", 20, (1, 4, None))]
    else:
        settings = [("collapsed", k, SPARSITIES) for k in NUMBERS]
        # Dense laps under mean-field take longest.
        settings += [("mean-field", 100, SPARSITIES), ("mean-field", 800, (1, 4, 16, None))]
    compile_laps(setting)
    documents = collection(setting, 10)
    for update, n_topics, several in settings:
        for learner in ("memoized", "stochastic"):
            for sparsity in several:
                local = LocalOptions(update, sparsity=sparsity or n_topics)
                options = TrainingOptions(
                    n_topics, laps=3 if setting.is_quick else 10, learner=learner, local=local
                )
                about: Row = {"update": update, "learner": learner, "K": n_topics}
                yield {**about, "L": shown(sparsity), "seed": 0, **scored(documents, options, 0)}


def starts_of_documents(setting: Setting) -> Iterator[Row]:
    """Cold and warm documents with and without restarts, by our learners and as published."""
    n_topics, laps = (20, 4) if setting.is_quick else (100, 20)
    compile_laps(setting)
    documents = collection(setting, 10)
    for (learner, start), options in start_options(n_topics, laps).items():
        for seed in range(1 if setting.is_quick else 2):
            about: Row = {"learner": learner, "start": start, "K": n_topics, "seed": seed}
            yield {**about, **scored(documents, options, seed)}


def start_options(n_topics: int, laps: int) -> dict[tuple[str, str], TrainingOptions]:
    """Options by the name of the learner and by how documents start."""
    starts = {
        "cold, restarts": (5, 1),
        "cold": (0, 1),
        "warm, restarts": (5, laps),
        "warm": (0, laps),
    }
    kinds = {
        "memoized": TrainingOptions,
        "memoized, as published": AsPublished,
        "stochastic": TrainingOptions,
    }
    return {
        (learner, start): kind(
            n_topics,
            laps=laps,
            learner=learner.partition(",")[0],
            local=LocalOptions("mean-field", sparsity=min(8, n_topics), restarts=n_restarts),
            cold_every=cold_every,
        )
        for learner, kind in kinds.items()
        for start, (n_restarts, cold_every) in starts.items()
        if learner != "stochastic" or cold_every == 1  # it keeps nothing of a document
    }


def compile_laps(setting: Setting) -> None:
    """Train on a few documents in all ways, so that no time of compiling counts."""
    few = collection(setting._replace(is_quick=True), 2)
    for options in start_options(5, 2).values():
        scored(few, options, 0)
    for learner in ("memoized", "stochastic"):
        scored(few, TrainingOptions(5, laps=3, learner=learner), 0)


def scored(
    documents: tuple[Prepared, Source[DocumentBatch]], options: TrainingOptions, seed: int
) -> Row:
    """Train once; the ELBO and the score of all held-out documents, in nats per token."""
    (data, source), bounds = documents, list[float]()
    done = train_scored(
        source,
        options,
        np.random.default_rng(seed),
        data.heldout,
        (),
        ("", ""),
        lambda info, *lap: bounds.append(info.elbo_per_token),
    )
    return {
        "laps": done.last.lap,
        "elbo": round(done.last.elbo_per_token, 4),
        **falls_of(bounds),
        "heldout": round(mean_score(done.scored[-1].scores).mean, 4),
        "cpu_s": round(done.cpu, 2),
    }


def falls_of(bounds: Sequence[float]) -> Row:
    """How often the ELBO of a lap is below that of the one before, and the largest difference."""
    falls = -np.diff(bounds)
    n_falls, largest = int((falls > LEAST_FALL).sum()), float(falls.max(initial=0.0))
    return {"falls": n_falls, "largest_fall": round(largest, 6)}


FIGURES: dict[str, Figure] = {
    "sparse16-figure-1": Figure(
        "A step of a mixture of patches with L = 4 or 8 takes half the time of a dense one, and "
        "finds nearly the same responsibilities.",
        steps_of_mixtures,
        named_by=("L",),
        across=("K",),
    ),
    "sparse16-figure-2": Figure(
        "Mixtures of patches with small L predict as well as dense ones after a half to a quarter "
        "of the time, and better than with L = 1.",
        scores_of_patches,
        named_by=("learner", "L"),
        across=("lap",),
    ),
    "sparse16-figure-3": Figure(
        "A step of topics with small L takes a third of the time of a dense one, or less, and "
        "finds nearly the same topics of documents.",
        steps_of_topics,
        named_by=("L",),
        across=("update", "K"),
    ),
    "sparse16-figure-4": Figure(
        "Topics with L = 4 to 16 predict as well as dense ones, several times sooner; L = 1 may "
        "fail.",
        scores_of_topics,
        named_by=("update", "learner", "K"),
        across=("L",),
    ),
    "sparse16-figure-5": Figure(
        "Cold documents with restarts end at a higher bound than warm ones; cold ones without "
        "restarts may let the bound fall.",
        starts_of_documents,
        named_by=("learner", "start"),
    ),
}
