"""What there is to choose from: a line for each model, likelihood, learner and move.

Here stands what options must know of it before any work. The rest is where the line says, and is
imported when it is asked for: options and ``--help`` do without it.
"""

from __future__ import annotations

import importlib
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeVar

T = TypeVar("T")


class ModelKind(NamedTuple):
    """How training of one kind of model begins, and what it ends with."""

    begin: str  # module:function, ``training.Begin``
    finish: str  # module:function, ``training.Finish``
    estimator: str | None = None  # module:class that a run is loaded as; None: by its likelihood


class LikelihoodKind(NamedTuple):
    """One of items."""

    where: str  # module:class with the methods of ``likelihoods.likelihood.ItemLikelihood``
    grows: bool = False  # it has ``natural_parameters``, which score nodes of a tree
    at_modes: bool = False  # its parameters may be points, and its variance given
    has_means: bool = True  # its components are densest at their means, which tell them apart
    estimators: Mapping[str, str] = {}  # of each model, module:class that a run is loaded as


class LearnerKind(NamedTuple):
    """An algorithm that makes parameters of summaries."""

    where: str  # module with ``make`` and ``STATES``, as ``learners.learner.LearnerModule``
    takes_all: bool = False  # all batches are one round of it
    at_modes: bool = False  # of points, and of items with one component each
    grows: bool = False  # from one component, on a kd-tree
    makes_moves: bool = False  # it keeps what every batch contributes
    knows_all: bool = True  # has statistics of the whole collection, to learn concentrations from
    passes_on: bool = False  # the learners that take more go on from its statistics
    remembers: bool = False  # where documents stood at their last visit
    takes_more: str | None = None  # module:function, ``learning.TakesMore``; None: it cannot


class MoveKind(NamedTuple):
    """What changes topics after a lap."""

    where: str  # module:function
    counted: Literal["merges", "deletes", "births", "regroups"]  # what it is to the trace
    option: str | None = None  # of ``--moves`` that asks for it; None: its own name
    keeps_number: bool = False  # of topics: for LDA, which does not learn it
    most_refusals: int = 1  # of a rival, after which it is not tried on the same topics


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
VECTOR_LIKELIHOODS: dict[str, LikelihoodKind] = {
    "zero-mean-gaussian": LikelihoodKind(
        "sparsetopics.model.likelihoods.zero_mean_gaussian:ZeroMeanGaussian",
        grows=True,
        has_means=False,
        estimators=_OF_GAUSSIANS,
    ),
    "gaussian": LikelihoodKind(
        "sparsetopics.model.likelihoods.gaussian:Gaussian", grows=True, estimators=_OF_GAUSSIANS
    ),
    "diagonal-gaussian": LikelihoodKind(
        "sparsetopics.model.likelihoods.diagonal_gaussian:DiagonalGaussian",
        grows=True,
        estimators=_OF_GAUSSIANS,
    ),
    "isotropic-gaussian": LikelihoodKind(
        "sparsetopics.model.likelihoods.isotropic_gaussian:IsotropicGaussian",
        grows=True,
        at_modes=True,
        estimators=_OF_GAUSSIANS,
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
    # Differs from full in what it starts with.
    "alternating": LearnerKind(
        "sparsetopics.inference.learners.full", takes_all=True, at_modes=True
    ),
    "gradient": LearnerKind("sparsetopics.inference.learners.gradient", at_modes=True),
}

TRIMS: dict[str, MoveKind] = {  # ``moves.trimming.Move``, made in this order
    "merge": MoveKind("sparsetopics.inference.moves.merge:merge_topics", "merges"),
    "delete": MoveKind("sparsetopics.inference.moves.delete:delete_topics", "deletes"),
}
RIVALS: dict[str, MoveKind] = {  # ``moves.phase.Plan``, one at a time
    "birth": MoveKind("sparsetopics.inference.moves.rival_plans:plan_birth", "births"),
    "cull": MoveKind(  # as often as ``cull.SHARES`` has shares to try
        "sparsetopics.inference.moves.cull:plan_cull",
        "deletes",
        option="delete",
        most_refusals=3,
    ),
    "regroup": MoveKind(
        "sparsetopics.inference.moves.regroup:plan_regroup", "regroups", keeps_number=True
    ),
}
MOVES: Mapping[str, MoveKind] = ChainMap(RIVALS, TRIMS)


def move_options() -> dict[str, bool]:
    """The names that ``--moves`` takes, each with whether the number of topics stays."""
    return {kind.option or name: kind.keeps_number for name, kind in MOVES.items()}


def imported(where: str) -> Any:
    """What ``module:name`` means."""
    module, _, name = where.partition(":")
    return getattr(importlib.import_module(module), name)


class Registered(Mapping[str, T]):
    """A registry as what is made of its lines, whenever that is asked for."""

    def __init__(self, registry: Mapping[str, Any], make: Callable[[Any], T]) -> None:
        self._registry, self._make = registry, make

    def __getitem__(self, name: str) -> T:
        return self._make(self._registry[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._registry)

    def __len__(self) -> int:
        return len(self._registry)


def things_of(registry: Mapping[str, Any]) -> Registered[Any]:
    """What the lines of a registry mean, by name."""
    return Registered(registry, lambda kind: imported(kind.where))
