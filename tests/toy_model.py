"""A model as someone would add it: LDA whose topics have expected shares that fall as 1/k (Zipf).

π_d ~ Dir(α_1, …, α_K) with α_k = α (1/k) / Σ_l (1/l).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Self

import numpy as np

from sparsetopics.estimators.topics import TopicEstimator
from sparsetopics.model.allocations.lda import LDAAllocation
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
