"""Mixtures of vectors trained from Python, and their rows, for the figures of several papers."""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from paper_figures.figure import Row
from sparsetopics.base.batches import IntArray, Vectors
from sparsetopics.corpora.corpus import VectorCorpus
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.course import Hooks
from sparsetopics.inference.training import train
from sparsetopics.inference.training_state import LapInfo
from sparsetopics.measures.clustering import score_clustering
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.options.training import LocalOptions, MoveOptions, StepSizes, TrainingOptions
from sparsetopics.runs.data import source_of

EARLY = 5  # the lap whose ELBO stands beside the last one's
RATES = {  # of the stochastic learner in Hughes & Sudderth (2013), section 4
    "stochastic a": StepSizes(10.0, 0.5),
    "stochastic b": StepSizes(100.0, 0.5),
    "stochastic c": StepSizes(10.0, 0.9),
}
FIXED = ("memoized", "full", *RATES)  # methods that keep their number of components
BASE = TrainingOptions(1, model="dp-mixture", local=LocalOptions("mean-field", restarts=0))


class Trained(NamedTuple):
    """A run that has ended."""

    model: MixturePosterior
    laps: list[LapInfo]
    cpu: float  # seconds, coordinates included

    def row(self) -> Row:
        """What all figures show of a run; the ELBO is in nats per item."""
        last, early = self.laps[-1], self.laps[min(EARLY, len(self.laps)) - 1]
        return {
            "components": last.n_topics,
            "in_use": last.active_topics,
            f"elbo_lap_{EARLY}": early.elbo_per_token,
            "elbo": last.elbo_per_token,
            "laps": last.lap,
            "cpu_s": round(self.cpu, 2),
        }

    def accuracy(self, values: Vectors, labels: IntArray) -> float:
        """The share of items whose label is the commonest one of their component."""
        found = [  # in parts, because densities of all items take much memory
            self.model.responsibilities(part).argmax(axis=1)
            for part in np.array_split(values, max(1, len(values) // 10_000))
        ]
        return score_clustering(labels, np.concatenate(found)).majority_accuracy


def fixed(method: str, n_components: int, laps: int, likelihood: str) -> TrainingOptions:
    """A method of ``FIXED``, which keeps all components."""
    options = replace(
        BASE,
        n_topics=n_components,
        laps=laps,
        likelihood=likelihood,
        learner="stochastic" if method in RATES else method,
        moves=MoveOptions(names=()),
    )
    return replace(options, step_sizes=RATES[method]) if method in RATES else options


def moving(likelihood: str, n_components: int = 1, laps: int | None = None) -> TrainingOptions:
    """The memoized learner with merges, deletes and births."""
    return replace(BASE, n_topics=n_components, likelihood=likelihood, laps=laps)


def trained(values: Vectors, options: TrainingOptions, n_batches: int, seed: int) -> Trained:
    """Train once."""
    rng, course = np.random.default_rng(seed), list[LapInfo]()
    hooks = Hooks(on_lap=lambda info, model: course.append(info))
    with tempfile.TemporaryDirectory() as scratch:
        began = time.process_time()
        source = source_of(VectorCorpus.from_array(values), options, n_batches, rng)
        model = train(source, options, Path(scratch), Executor(), rng, hooks=hooks)
        cpu = time.process_time() - began
    assert isinstance(model, MixturePosterior)
    return Trained(model, course, cpu)
