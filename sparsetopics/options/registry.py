"""The models, likelihoods, learners and moves that options can name: one line for each.

A line holds what options must know before any work. The module it names is imported only when it is
needed, so that options and ``--help`` do without it.
"""

from __future__ import annotations

import importlib
from collections import ChainMap
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any, NamedTuple

from sparsetopics.base.showing import short_repr


class ModelKind(NamedTuple):
    """A kind of model: all that is asked about it, by the commands and by everything else."""

    begin: str  # module:function of type ``training.Begin``
    finish: str  # module:function of type ``training.Finish``
    sharing: str  # module:class, how data share topics: an ``Allocation``
    posterior: str  # module:class of the model that runs hold, with ``stored`` and ``from_stored``
    shares: str  # module:function of type ``proportions.SharesOf``
    lap_score: str  # module:function of type ``data.LapScore``
    score: str  # module:function of type ``evaluate.ScoreRun``
    subject: str  # module:function of type ``report.RunSubject``
    title: str  # how pages and tables name it
    goes_on: str | None = None  # module:function, ``learned_in``; None: no run says what is needed
    estimator: str | None = None  # module:class to load a run as; None: its likelihood says
    options: Collection[str] = ()  # of ``train``, among those that not all models take
    words: str = ""  # how pages describe it; "": by its title
    noun: str = "topic"  # what it learns
    share: str = "proportion"  # of a topic in a document
    n_topics: int = 100  # by default
    laps: int = 100  # by default, at most
    of_items: bool = False  # a vector or document is in one component, found by an exact step
    narrows: bool = False  # it begins with more topics than wanted, and merges them between laps

    def __repr__(self) -> str:
        return short_repr(self, "title", "options", "n_topics", "laps")

    @property
    def learns_number(self) -> bool:
        """Whether moves can change its number of topics."""
        return "moves" in self.options


class LikelihoodKind(NamedTuple):
    """A likelihood of items."""

    where: str  # module:class with the methods of ``ItemLikelihood``
    grows: bool = False  # it has ``prepare_nodes``, which scores nodes of a tree
    at_modes: bool = False  # its parameters may be points, and its variance given
    has_means: bool = True  # components differ in their means, where they are densest
    words: str = ""  # how pages describe it; "": by its name
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
    options: Collection[str] = ()  # of ``train``, among those that not all learners take
    words: str = ""  # how pages describe it; "": by its name

    def __repr__(self) -> str:
        return short_repr(self, "where")


class MoveKind(NamedTuple):
    """A move, which changes topics after a lap."""

    where: str  # module:function
    counted: str  # a key of ``MOVE_COUNTS``
    option: str | None = None  # the name in ``--moves`` that asks for it; None: its own name
    most_refusals: int = 1  # of a rival on the same topics, before it is not tried again


OF_TOPICS = (
    *("alpha", "smoothing", "learn-hyperparameters", "restarts", "minimum-mass"),
    *("own-counts", "guide", "runs"),
)
OF_MIXTURES = ("likelihood", "variance", "gamma")
OF_MOVES = ("moves", "criterion")
OF_GRADIENTS = ("gradient", "step-size", "momentum")
TOPICS = partial(
    ModelKind,
    "sparsetopics.inference.topics:begin_topics",
    "sparsetopics.inference.topics:make_topic_model",
    posterior="sparsetopics.model.topic_posterior:TopicPosterior",
    shares="sparsetopics.answers.proportions:proportions_of",
    lap_score="sparsetopics.runs.data:completion_score",
    score="sparsetopics.evaluation.scoring.topic_scores:score_topics",
    subject="sparsetopics.evaluation.report.model_subjects:topic_subject",
    goes_on="sparsetopics.runs.seen_documents:learned_in",
    options=OF_TOPICS,
)
MIXTURE = partial(
    ModelKind,
    "sparsetopics.inference.mixtures:begin_mixture",
    "sparsetopics.inference.mixtures:make_mixture_model",
    posterior="sparsetopics.model.mixture_posterior:MixturePosterior",
    shares="sparsetopics.answers.proportions:responsibilities_of",
    lap_score="sparsetopics.runs.data:density_score",
    score="sparsetopics.evaluation.scoring.mixture_scores:score_mixture",
    subject="sparsetopics.evaluation.report.model_subjects:mixture_subject",
    options=OF_MIXTURES,
    noun="component",
    share="responsibility",
    of_items=True,
)
MODELS: dict[str, ModelKind] = {
    "lda": TOPICS(
        sharing="sparsetopics.model.allocations.lda:LDAAllocation",
        estimator="sparsetopics.estimators.topics:LDA",
        title="LDA",
        laps=20,
        narrows=True,
    ),
    "hdp": TOPICS(
        sharing="sparsetopics.model.allocations.hdp:HDPAllocation",
        estimator="sparsetopics.estimators.topics:HDP",
        options=(*OF_TOPICS, *OF_MOVES, "gamma", "validation-share", "for"),
        title="HDP",
    ),
    "dp-mixture": MIXTURE(
        sharing="sparsetopics.model.allocations.mixture_weights:DPMixture",
        options=(*OF_MIXTURES, *OF_MOVES, "tree-tolerance", *OF_GRADIENTS),
        title="dp-mixture",
        words="Dirichlet process mixture",
        n_topics=1,
    ),
    "mixture": MIXTURE(
        sharing="sparsetopics.model.allocations.mixture_weights:FiniteMixture",
        title="mixture",
        n_topics=10,
    ),
}

_OF_GAUSSIANS = {
    "mixture": "sparsetopics.estimators.mixtures:GaussianMixture",
    "dp-mixture": "sparsetopics.estimators.mixtures:DPGaussianMixture",
}
_GAUSSIAN = partial(LikelihoodKind, grows=True, estimators=_OF_GAUSSIANS)
VECTOR_LIKELIHOODS: dict[str, LikelihoodKind] = {
    "zero-mean-gaussian": _GAUSSIAN(
        "sparsetopics.model.likelihoods.gaussian:ZeroMeanGaussian",
        has_means=False,
        words="Gaussian around zero",
    ),
    "gaussian": _GAUSSIAN("sparsetopics.model.likelihoods.gaussian:Gaussian", words="Gaussian"),
    "diagonal-gaussian": _GAUSSIAN(
        "sparsetopics.model.likelihoods.diagonal_gaussian:DiagonalGaussian",
        words="Gaussian without correlations",
    ),
    "isotropic-gaussian": _GAUSSIAN(
        "sparsetopics.model.likelihoods.diagonal_gaussian:IsotropicGaussian",
        at_modes=True,
        words="Gaussian, equally wide in all directions",
    ),
}
DOCUMENT_LIKELIHOODS: dict[str, LikelihoodKind] = {
    "multinomial": LikelihoodKind(
        "sparsetopics.model.likelihoods.multinomial:Multinomial",
        has_means=False,
        words="multinomial over words",
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
        words="memoized: an update after each batch, with exact sums over all batches",
    ),
    "stochastic": LearnerKind(
        "sparsetopics.inference.learners.stochastic",
        knows_all=False,
        passes_on=True,
        takes_more="sparsetopics.estimators.learning:step_more",
        options=("forgetting-rate", "delay", "fixed-rate"),
        words="stochastic: a step after each batch, smaller and smaller",
    ),
    "full": LearnerKind(
        "sparsetopics.inference.learners.full",
        takes_all=True,
        passes_on=True,
        words="full: an update after each pass over all data",
    ),
    "accelerated": LearnerKind(
        "sparsetopics.inference.learners.accelerated",
        takes_all=True,
        grows=True,
        options=("tree-tolerance",),
        words="accelerated: components are added one by one, on a kd-tree of the items",
    ),
    # The full learner; only its start differs.
    "alternating": LearnerKind(
        "sparsetopics.inference.learners.full",
        takes_all=True,
        at_modes=True,
        words="alternating: every item in its best component, then every component anew",
    ),
    "gradient": LearnerKind(
        "sparsetopics.inference.learners.gradient",
        at_modes=True,
        options=OF_GRADIENTS,
        words="gradient: steps along the gradient, with every item in one component",
    ),
}

MOVE_COUNTS: dict[str, str] = {  # what the trace counts, and how progress reports a number of it
    "merges": "−{} merged",
    "deletes": "−{} deleted",
    "births": "+{} born",
}
TRIMS: dict[str, MoveKind] = {  # from a ``Standing`` to ``Made``, made in this order
    "merge": MoveKind("sparsetopics.inference.moves.merge:merge_topics", "merges"),
    "delete": MoveKind("sparsetopics.inference.moves.delete:delete_topics", "deletes"),
}
RIVALS: dict[str, MoveKind] = {  # from a ``Standing``, and the name here, to a ``Rival`` or None
    "birth": MoveKind(  # ``rival.FEWEST_BIRTHS`` times from one topic
        "sparsetopics.inference.moves.rival:plan_birth", "births", most_refusals=10
    ),
    "cull": MoveKind(  # as often as ``rival.CULL_SHARES`` has shares to try
        "sparsetopics.inference.moves.rival:plan_cull",
        "deletes",
        option="delete",
        most_refusals=3,
    ),
}
MOVES: Mapping[str, MoveKind] = ChainMap(RIVALS, TRIMS)


def models_with(option: str) -> list[str]:
    """The models that take an option of ``train``: all, if none of them names it."""
    return [name for name, kind in MODELS.items() if option in kind.options] or list(MODELS)


def learners_with(option: str) -> list[str]:
    """The learners that take an option of ``train``: all, if none of them names it."""
    return [name for name, kind in LEARNERS.items() if option in kind.options] or list(LEARNERS)


def models_of(*, items: bool) -> list[str]:
    """The models that put each item into one component, or those that mix topics."""
    return [name for name, kind in MODELS.items() if kind.of_items == items]


def move_options() -> list[str]:
    """The names that ``--moves`` takes."""
    return list(dict.fromkeys(kind.option or name for name, kind in MOVES.items()))


def imported(where: str) -> Any:  # each caller knows the type of what it names
    """Import what ``module:name`` stands for."""
    module, _, name = where.partition(":")
    return getattr(importlib.import_module(module), name)
