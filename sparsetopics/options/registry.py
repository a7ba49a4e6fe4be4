"""The models, likelihoods, learners and moves that options can name: one line for each.

A line holds what options must know before any work. The module it names is imported only when it is
needed, so that options and ``--help`` do without it.
"""

from __future__ import annotations

import importlib
from collections import ChainMap
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")  # what lines stand for


class ModelKind(NamedTuple):
    """A kind of model: how its training begins, and what it ends with."""

    begin: str  # module:function of type ``training.Begin``
    finish: str  # module:function of type ``training.Finish``
    estimator: str | None = None  # module:class to load a run as; None: its likelihood says


class LikelihoodKind(NamedTuple):
    """A likelihood of items."""

    where: str  # module:class with the methods of ``ItemLikelihood``
    grows: bool = False  # it has ``natural_parameters``, which score nodes of a tree
    at_modes: bool = False  # its parameters may be points, and its variance given
    has_means: bool = True  # components differ in their means, where they are densest
    estimators: Mapping[str, str] = {}  # module:class to load a run as, by model


class LearnerKind(NamedTuple):
    """A learner: an algorithm that turns summaries into parameters."""

    where: str  # module with ``make`` and ``STATES`` (see ``learners.learner``)
    takes_all: bool = False  # fits all batches in one round
    at_modes: bool = False  # learns points, with one component for each item
    grows: bool = False  # begins with one component, on a kd-tree
    makes_moves: bool = False  # keeps what every batch contributes, which moves need
    knows_all: bool = True  # has statistics of the whole collection, to learn concentrations from
    passes_on: bool = False  # ``partial_fit`` can continue from its statistics
    remembers: bool = False  # keeps the topics that documents had at their last visit
    takes_more: str | None = None  # module:function, ``learning.TakesMore``; None: it cannot


class MoveKind(NamedTuple):
    """A move, which changes topics after a lap."""

    where: str  # module:function
    counted: str  # a key of ``MOVE_COUNTS``
    option: str | None = None  # the name in ``--moves`` that asks for it; None: its own name
    most_refusals: int = 1  # of a rival on the same topics, before it is not tried again


_TOPICS = ModelKind(
    "sparsetopics.inference.topics:begin_topics", "sparsetopics.inference.topics:make_topic_model"
)
_MIXTURE = ModelKind(
    "sparsetopics.inference.mixtures:begin_mixture",
    "sparsetopics.inference.mixtures:make_mixture_model",
)
MODELS: dict[str, ModelKind] = {
    "lda": _TOPICS._replace(estimator="sparsetopics.estimators.topics:LDA"),
    "hdp": _TOPICS._replace(estimator="sparsetopics.estimators.topics:HDP"),
    "dp-mixture": _MIXTURE,
    "mixture": _MIXTURE,
}

_OF_GAUSSIANS = {
    "mixture": "sparsetopics.estimators.mixtures:GaussianMixture",
    "dp-mixture": "sparsetopics.estimators.mixtures:DPGaussianMixture",
}
_GAUSSIAN = partial(LikelihoodKind, grows=True, estimators=_OF_GAUSSIANS)
VECTOR_LIKELIHOODS: dict[str, LikelihoodKind] = {
    "zero-mean-gaussian": _GAUSSIAN(
        "sparsetopics.model.likelihoods.zero_mean_gaussian:ZeroMeanGaussian", has_means=False
    ),
    "gaussian": _GAUSSIAN("sparsetopics.model.likelihoods.gaussian:Gaussian"),
    "diagonal-gaussian": _GAUSSIAN(
        "sparsetopics.model.likelihoods.diagonal_gaussian:DiagonalGaussian"
    ),
    "isotropic-gaussian": _GAUSSIAN(
        "sparsetopics.model.likelihoods.isotropic_gaussian:IsotropicGaussian", at_modes=True
    ),
}
DOCUMENT_LIKELIHOODS: dict[str, LikelihoodKind] = {
    "multinomial": LikelihoodKind(
        "sparsetopics.model.likelihoods.multinomial:Multinomial",
        has_means=False,
        estimators={
            "mixture": "sparsetopics.estimators.mixtures:MultinomialMixture",
            "dp-mixture": "sparsetopics.estimators.mixtures:DPMultinomialMixture",
        },
    ),
}
LIKELIHOODS: Mapping[str, LikelihoodKind] = ChainMap(DOCUMENT_LIKELIHOODS, VECTOR_LIKELIHOODS)

LEARNERS: dict[str, LearnerKind] = {
    "memoized": LearnerKind(
        "sparsetopics.inference.learners.memoized",
        makes_moves=True,
        passes_on=True,
        remembers=True,
        takes_more="sparsetopics.estimators.learning:memoize_more",
    ),
    "stochastic": LearnerKind(
        "sparsetopics.inference.learners.stochastic",
        knows_all=False,
        passes_on=True,
        takes_more="sparsetopics.estimators.learning:step_more",
    ),
    "full": LearnerKind("sparsetopics.inference.learners.full", takes_all=True, passes_on=True),
    "accelerated": LearnerKind(
        "sparsetopics.inference.learners.accelerated", takes_all=True, grows=True
    ),
    # The full learner; only its start differs.
    "alternating": LearnerKind(
        "sparsetopics.inference.learners.full", takes_all=True, at_modes=True
    ),
    "gradient": LearnerKind("sparsetopics.inference.learners.gradient", at_modes=True),
}

MOVE_COUNTS: dict[str, str] = {  # what the trace counts, and how progress reports a number of it
    "merges": "−{} merged",
    "deletes": "−{} deleted",
    "births": "+{} born",
}
TRIMS: dict[str, MoveKind] = {  # ``moves.trimming.Move``, made in this order
    "merge": MoveKind("sparsetopics.inference.moves.merge:merge_topics", "merges"),
    "delete": MoveKind("sparsetopics.inference.moves.delete:delete_topics", "deletes"),
}
RIVALS: dict[str, MoveKind] = {  # ``moves.phase.Plan``, one at a time
    "birth": MoveKind("sparsetopics.inference.moves.rival_plans:plan_birth", "births"),
    "cull": MoveKind(  # as often as ``rival_plans.CULL_SHARES`` has shares to try
        "sparsetopics.inference.moves.rival_plans:plan_cull",
        "deletes",
        option="delete",
        most_refusals=3,
    ),
}
MOVES: Mapping[str, MoveKind] = ChainMap(RIVALS, TRIMS)


def move_options() -> list[str]:
    """The names that ``--moves`` takes."""
    return list(dict.fromkeys(kind.option or name for name, kind in MOVES.items()))


def imported(where: str) -> Any:  # each caller knows the type of what it names
    """Import what ``module:name`` stands for."""
    module, _, name = where.partition(":")
    return getattr(importlib.import_module(module), name)


class Registered(Mapping[str, T]):
    """What the lines of a registry stand for, by name; imported when looked up."""

    def __init__(self, lines: Mapping[str, LikelihoodKind] | Mapping[str, MoveKind]) -> None:
        self._lines = lines

    def __getitem__(self, name: str) -> T:
        thing: T = imported(self._lines[name].where)
        return thing

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)
