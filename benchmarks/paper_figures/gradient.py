"""Stochastic gradient ascent of DP mixtures (Lim 2020): its figures 1 to 4 and tables 2 and 3.

The paper uses deep features of Caltech and scene images, which are not available here. The sets are
those of Office-Caltech10, ten classes in deep or SURF features, and MNIST in 50 principal
components as a set too large for a full lap. MM and SGA begin with the same k-means of 50 clusters
and have the same known variance, their default. SVI and VB have the mean variance of the columns,
the default of posteriors: with that of MM, they put all items of webcam into one component.

Scores are those of the items that are used for training, and CPU seconds are those of the laps.
NMI is the mutual information divided by the larger entropy, as in the paper.
"""

from __future__ import annotations

import copy
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from known_variance import load as load_features
from sklearn.cluster import KMeans

from paper_figures.figure import Figure, Row, Setting
from sparsetopics.base.batches import IntArray, Source, Vectors
from sparsetopics.base.errors import SparsetopicsWarning
from sparsetopics.corpora.corpus import VectorCorpus
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.course import Hooks
from sparsetopics.inference.mixtures import begin_mixture
from sparsetopics.inference.training import train
from sparsetopics.inference.training_state import LapInfo
from sparsetopics.measures.clustering import score_clustering
from sparsetopics.model.likelihoods.diagonal_gaussian import IsotropicGaussian
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.options.table import GradientName
from sparsetopics.options.training import GradientOptions, LocalOptions, TrainingOptions
from sparsetopics.runs.data import source_of

OFFICE = ("amazon", "webcam", "dslr")
SETS = {
    **{f"googlenet:{name}": (f"googlenet:{name}",) for name in OFFICE},
    "googlenet:office": tuple(f"googlenet:{name}" for name in OFFICE),  # three domains together
    **{f"surf:{name}": (f"surf:{name}",) for name in (*OFFICE, "caltech10")},
    "caffenet:dslr": ("caffenet:dslr",),  # last, because its 4,096 columns take longest
}
QUICK_SETS = ("googlenet:webcam", "googlenet:dslr")
RULES: dict[str, GradientName | None] = {
    "MM": None, "SGA": "plain", "SGA+M": "momentum", "SGA+F": "fisher"
}  # fmt: skip
TRUNCATION = 50  # of the paper's two small sets
ITERATIONS = 30  # of the paper
PAPER_MINIBATCH = 100  # of the paper's Caltech10, which is most like these sets
LARGE_MINIBATCH = 300  # of the paper's Scene15
MINIBATCHES = (20, 40, 60, 80, 100, 150, 200, 300)  # to choose the least from
LAPS = 100  # at most, by default
N_COLUMNS = 50  # of MNIST


class ClockedExecutor(Executor):
    """Knows when the first lap began: the start has an executor of its own."""

    began: float | None = None

    def map(self, task: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        if self.began is None:
            self.began = time.process_time()
        return super().map(task, items)


class Items(NamedTuple):
    """A labelled set."""

    name: str
    values: Vectors
    labels: IntArray
    sources: dict[tuple[int, int], tuple[Source, np.random.Generator]]  # by batches and seed

    @property
    def our_minibatch(self) -> int:
        """The size of a batch by default: ten batches, or fewer with at least 64 items in each."""
        return len(self.values) // min(10, max(1, len(self.values) // 64))

    def first(self, n: int, name: str | None = None) -> Items:
        """The first ``n`` items, with batches of their own."""
        return Items(name or self.name, self.values[:n], self.labels[:n], {})


def load(name: str, shared: Path) -> Items:
    """Read a set of ``SETS``, or MNIST."""
    data = shared / "data"
    if name != "mnist":
        parts = [load_features(part, data) for part in SETS[name]]
        values, labels = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return Items(name, values, labels, {})
    with np.load(data / "mnist" / "mnist.npz") as arrays:
        values, labels = arrays["X_train"].astype(np.float64) / 255.0, arrays["y_train"]
    values -= values.mean(axis=0)
    directions = np.linalg.eigh(values.T @ values)[1][:, -N_COLUMNS:]
    return Items(name, (values @ directions).astype(np.float32), labels.astype(np.int64), {})


def options_of(method: str, items: Items, laps: int, variance: float | None) -> TrainingOptions:
    """The options of MM or SGA; both learn points."""
    rule = RULES[method]
    return TrainingOptions(
        min(TRUNCATION, len(items.values)),
        laps=laps,
        learner="alternating" if rule is None else "gradient",
        local=LocalOptions("mean-field", restarts=0),
        model="dp-mixture",
        likelihood="isotropic-gaussian",
        variance=variance,
        gradient=None if rule is None else GradientOptions(rule),
    )


def variance_of(items: Items, options: TrainingOptions) -> float:
    """The variance that a learner has by default."""
    source, rng = _batches(items, options, 1, 0)
    return cast(IsotropicGaussian, begin_mixture(source, options, rng)[1].likelihood).variance


def one_run(items: Items, options: TrainingOptions, n_batches: int, seed: int) -> Row:
    """Train once, and score the components of the training items."""
    (source, rng), executor = _batches(items, options, n_batches, seed), ClockedExecutor()
    assert source.n_docs == len(items.values), "batches of other items"
    course: list[LapInfo] = []
    hooks = Hooks(on_lap=lambda info, model: course.append(info))
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore", SparsetopicsWarning)
        model = train(source, options, Path(scratch), executor, rng, hooks=hooks)
        ended = time.process_time()
    assert isinstance(model, MixturePosterior)
    assert executor.began is not None
    found = model.responsibilities(items.values).argmax(axis=1)
    return {**scored(items, found), "cpu_s": round(ended - executor.began, 3), "laps": len(course)}


def _batches(
    items: Items, options: TrainingOptions, n_batches: int, seed: int
) -> tuple[Source, np.random.Generator]:
    """Batches in standard coordinates, and the generator after they were drawn.

    They are kept for further runs, since the coordinates of 4,096 columns take 15 seconds.
    """
    key = n_batches, seed
    if key not in items.sources:
        rng = np.random.default_rng(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SparsetopicsWarning)
            corpus = VectorCorpus.from_array(items.values)
            items.sources[key] = source_of(corpus, options, n_batches, rng), rng
    source, rng = items.sources[key]
    return source, copy.deepcopy(rng)


def scored(items: Items, components: IntArray) -> Row:
    """The number of clusters, NMI and accuracy."""
    score = score_clustering(items.labels, components)
    return {
        "clusters": score.n_components,
        "nmi": round(score.nmi, 4),
        "accuracy": round(score.hungarian_accuracy, 4),
    }


def runs(
    items: Items, method: str, options: TrainingOptions, n_batches: int, n: int
) -> Iterator[Row]:
    """Runs of ``n`` seeds."""
    size = round(len(items.values) / n_batches)
    about: Row = {"set": items.name, "method": method, "minibatch": size}
    if options.variance is None:
        options = replace(options, variance=variance_of(items, options))
    about["variance"] = round(cast(float, options.variance), 3)
    for seed in range(n):
        yield {**about, "seed": seed, **one_run(items, options, n_batches, seed)}


def points(items: Items, method: str, minibatch: int, n: int, **changed: Any) -> Iterator[Row]:
    """MM, or SGA in ``ITERATIONS`` minibatches, or one lap if that is more."""
    n_batches = 1 if method == "MM" else max(1, round(len(items.values) / minibatch))
    laps = max(1, round(ITERATIONS / n_batches))
    options = options_of(method, items, changed.get("laps", laps), changed.get("variance"))
    yield from runs(items, method, options, n_batches, n)


def gradient_and_closed_form(setting: Setting) -> Iterator[Row]:
    """MM and SGA with the paper's minibatch in 30 iterations, and as by default."""
    n = 2 if setting.is_quick else 5
    for name in QUICK_SETS if setting.is_quick else SETS:
        items = load(name, setting.shared)
        _compile(items)
        for method in RULES:
            for row in points(items, method, PAPER_MINIBATCH, n):
                yield {**row, "training": "30 iterations"}
            if method != "MM":  # which settles sooner
                for row in points(items, method, items.our_minibatch, n, laps=LAPS):
                    yield {**row, "training": "by default"}


def least_minibatch(setting: Setting) -> Iterator[Row]:
    """MM, and SGA with smaller and smaller minibatches in 30 iterations."""
    n, sizes = (2, MINIBATCHES[1::3]) if setting.is_quick else (5, MINIBATCHES)
    for name in QUICK_SETS[:1] if setting.is_quick else ("googlenet:amazon", "googlenet:webcam"):
        items = load(name, setting.shared)
        _compile(items)
        yield from points(items, "MM", 0, n)
        for method in ("SGA+M", "SGA+F"):
            for size in sizes:
                if size < len(items.values):
                    for row in points(items, method, size, n):
                        yield {**row, "wanted": size}


def large_set(setting: Setting) -> Iterator[Row]:
    """MNIST: MM on all items and on a fixed sample, and SGA in one lap of minibatches."""
    items = load("mnist", setting.shared)
    if setting.is_quick:
        items = items.first(6000)
    n = 1 if setting.is_quick else 5
    _compile(items)
    for method in RULES:
        yield from points(items, method, LARGE_MINIBATCH, n)
    yield from points(items.first(5000, "mnist:5000"), "MM", 0, n)


def other_variances(setting: Setting) -> Iterator[Row]:
    """How far the scores depend on the known variance, of which the paper says nothing."""
    items = load("googlenet:webcam" if setting.is_quick else "googlenet:amazon", setting.shared)
    _compile(items)
    usual = variance_of(items, options_of("MM", items, 1, None))
    for times in (2.0,) if setting.is_quick else (0.5, 1.0, 2.0):
        for method in RULES:
            for row in points(items, method, PAPER_MINIBATCH, 2 if setting.is_quick else 5,
                              variance=times * usual):  # fmt: skip
                yield {**row, "times": times}


def other_learners(setting: Setting) -> Iterator[Row]:
    """SVI, memoized VB from the same 50 components and from one with births, and k-means."""
    n = 2 if setting.is_quick else 5
    for name in QUICK_SETS if setting.is_quick else SETS:
        items = load(name, setting.shared)
        sizes = {"30 iterations": PAPER_MINIBATCH, "by default": items.our_minibatch}
        for training, size in sizes.items():
            n_batches = max(1, round(len(items.values) / size))
            laps = LAPS if training == "by default" else max(1, round(ITERATIONS / n_batches))
            options = posterior_options("stochastic", TRUNCATION, laps)
            for row in runs(items, "SVI", options, n_batches, n):
                yield {**row, "training": training}
        n_batches = max(1, round(len(items.values) / items.our_minibatch))
        for method, start in (("VB", TRUNCATION), ("VB, births", 1)):
            options = posterior_options("memoized", start, LAPS)
            yield from runs(items, method, options, n_batches, n)
        for k in (TRUNCATION, len(np.unique(items.labels))):
            for seed in range(n):
                about: Row = {"set": items.name, "method": f"k-means {k}", "seed": seed}
                yield {**about, **k_means(items, k, seed)}


def posterior_options(learner: str, n_topics: int, laps: int) -> TrainingOptions:
    """The options of a learner of posteriors; the memoized one makes moves."""
    return TrainingOptions(
        n_topics,
        laps=laps,
        learner=learner,
        local=LocalOptions("mean-field", restarts=0),
        model="dp-mixture",
        likelihood="isotropic-gaussian",
    )


def k_means(items: Items, n_clusters: int, seed: int) -> Row:
    """scikit-learn's k-means with one start, as the paper's learners have."""
    began = time.process_time()
    model = KMeans(n_clusters, n_init=1, random_state=seed).fit(items.values)
    spent = time.process_time() - began
    return {**scored(items, model.labels_), "cpu_s": round(spent, 3), "laps": int(model.n_iter_)}


def _compile(items: Items) -> None:
    """Run each learner once, so that no time of compiling counts."""
    few = items.first(200)
    for method in RULES:
        one_run(few, options_of(method, few, 1, 1.0), 1 if method == "MM" else 2, 0)


FIGURES: dict[str, Figure] = {
    "sga20-figures-1-3-4": Figure(
        "SGA takes less CPU time than MM, with better NMI and accuracy and, in table 2, a number "
        "of clusters closer to the true one.",
        gradient_and_closed_form,
        named_by=("method", "training"),
        across=("set",),
    ),
    "sga20-figure-2": Figure(
        "Small minibatches suffice for SGA to be as accurate as MM.",
        least_minibatch,
        named_by=("method", "wanted"),
        across=("set",),
    ),
    "sga20-large": Figure(
        "On sets too large for a full lap, MM sees a fixed sample, and SGA is better.",
        large_set,
        named_by=("method", "set"),
    ),
    "sga20-table-3": Figure(
        "SGA+F has higher NMI and accuracy than SVI, VB and k-means.",
        other_learners,
        named_by=("method", "training"),
        across=("set",),
    ),
    "sga20-variance": Figure(
        "None: it says nothing of the known variance, on which scores depend.",
        other_variances,
        named_by=("method",),
        across=("times",),
    ),
}
