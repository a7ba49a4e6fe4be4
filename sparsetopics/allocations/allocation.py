"""What the engine asks of the rule by which documents share topics."""

from __future__ import annotations

from typing import Protocol, Self

from sparsetopics.batches import FloatArray, IntArray
from sparsetopics.statistics import DocumentLengths, DocumentTerms


class Allocation(Protocol):
    """Global parameters of topic weights; every method leaves the object as it is."""

    @property
    def doc_concentration(self) -> FloatArray:
        """Dirichlet parameters of a document's proportions before its words, (n_topics,)."""
        ...

    @property
    def tail(self) -> float:
        """What is left of the total concentration for topics that no document uses."""
        ...

    @property
    def total_concentration(self) -> float:
        """α, in total."""
        ...

    @property
    def top_concentration(self) -> float | None:
        """γ, where there are sticks."""
        ...

    def complete(self, terms: DocumentTerms) -> DocumentTerms:
        """``terms`` with what a learner has to keep of these parameters."""
        ...

    def elbo(self, terms: DocumentTerms) -> float:
        """All of the ELBO but the words' part, in nats."""
        ...

    def updated(self, terms: DocumentTerms) -> Self:
        """The global step: the weights at their optimum for ``terms``."""
        ...

    def learned(self, terms: DocumentTerms, lengths: DocumentLengths) -> Self:
        """The prior's own concentrations at their optimum for ``terms``."""
        ...

    def reordered(self, order: IntArray) -> Self:
        """Topic ``order[k]`` becomes topic k."""
        ...
