"""Latent Dirichlet allocation: π_d ~ Dir(α_1, …, α_K), a fixed number of topics.

The concentration that users set is the total Σ_k α_k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import gammaln

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.base.soundness import require
from sparsetopics.model.allocations import documents
from sparsetopics.model.hyperparameters import learn_doc_concentration
from sparsetopics.model.statistics import DocumentLengths, DocumentTerms
from sparsetopics.options.training import TopicPrior


@dataclass(frozen=True, slots=True, eq=False)
class LDAAllocation:
    """A symmetric or learned Dirichlet prior over topics."""

    doc_concentration: FloatArray  # (n_topics,)  α_k

    sticks = None
    tail = 0.0
    top_concentration = None

    @classmethod
    def first(cls, n_topics: int, n_docs: float, prior: TopicPrior) -> Self:
        return cls(np.full(n_topics, prior.doc_concentration / n_topics))

    def zero_terms(self) -> DocumentTerms:
        return DocumentTerms.zeros(len(self.doc_concentration))

    def check(self) -> None:
        alpha = self.doc_concentration
        require(alpha.ndim == 1 and len(alpha) > 0, "no concentrations of topics")
        require(alpha.min() > 0.0, "concentrations of topics that are not positive")

    @property
    def total_concentration(self) -> float:
        return float(self.doc_concentration.sum())

    def complete(self, terms: DocumentTerms) -> DocumentTerms:
        """Freeze all that depends on this α, which may be learned later."""
        return documents.frozen_everywhere(terms, self.doc_concentration)

    def elbo(self, terms: DocumentTerms) -> float:
        """Σ_k H_k + Σ_d [lnB(θ_d) − lnB(α) + Σ_k (N_dk + α_k − θ_dk) E[log π_dk]].

        A bound for every responsibility, whichever local update made it.
        """
        alpha, total = self.doc_concentration, float(self.doc_concentration.sum())
        log_normalizer = gammaln(alpha).sum() - gammaln(total)
        by_topic = documents.bound_by_topic(terms, alpha)
        return float(
            by_topic.sum() + documents.bound_of_totals(terms, total) - terms.n_docs * log_normalizer
        )

    def updated(self, terms: DocumentTerms) -> Self:
        """This rule itself: in LDA documents share no weights."""
        return self

    def learned(self, terms: DocumentTerms, lengths: DocumentLengths) -> Self:
        """The rule with α at its optimum for ``terms``."""
        return type(self)(learn_doc_concentration(self.doc_concentration, terms))

    @property
    def n_topics(self) -> int:
        return len(self.doc_concentration)

    def joined(self, new_topics: IntArray, n_topics: int) -> Self:
        """Topic k becomes part of ``new_topics[k]``; all get equal parts of the same total."""
        return type(self)(np.full(n_topics, self.total_concentration / n_topics))

    def reordered(self, order: IntArray) -> Self:
        return type(self)(self.doc_concentration[order])
