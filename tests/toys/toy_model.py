"""Models as someone would add them.

``zipf`` is LDA whose topics have expected shares that fall as 1/k: π_d ~ Dir(α_1, …, α_K) with
α_k = α (1/k) / Σ_l (1/l). ``equal`` is a mixture whose components all have the weight 1/K.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Self

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.estimators.mixtures import VectorMixture
from sparsetopics.estimators.topics import TopicEstimator
from sparsetopics.model.allocations.lda import LDAAllocation
from sparsetopics.model.allocations.mixture import ItemAllocation
from sparsetopics.options.training import TopicPrior


@dataclass(frozen=True, slots=True, eq=False)
class FallingShares(LDAAllocation):
    """The prior of documents' topics."""

    @classmethod
    def first(cls, n_topics: int, n_docs: float, prior: TopicPrior) -> Self:
        shares = 1.0 / np.arange(1.0, n_topics + 1.0)
        return cls(prior.doc_concentration * shares / shares.sum())


@dataclass(repr=False, eq=False)
class Zipf(TopicEstimator):
    """The model as an estimator."""

    n_components: int = 5
    _: KW_ONLY

    _model_name: ClassVar[str] = "zipf"


@dataclass(frozen=True, slots=True, eq=False)
class EqualWeights(ItemAllocation):
    """Weights that are known."""

    @property
    def expected_log_weights(self) -> FloatArray:
        return np.full(self.n_topics, -np.log(self.n_topics))

    @property
    def weights(self) -> FloatArray:
        return np.full(self.n_topics, 1.0 / self.n_topics)

    def bound(self, counts: FloatArray, entropies: FloatArray) -> float:
        return float(entropies.sum() - counts.sum() * np.log(self.n_topics))


@dataclass(repr=False, eq=False)
class Equal(VectorMixture):
    """The mixture as an estimator."""

    n_components: int = 4
    _: KW_ONLY

    _model_name: ClassVar[str] = "equal"
