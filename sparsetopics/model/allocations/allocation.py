"""What the engine asks of the rule by which data share topics or components."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, Self, runtime_checkable

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.execution.executors import Executor
from sparsetopics.model.allocations.mixture import ItemTerms
from sparsetopics.model.allocations.pair_gains import PairGains
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.statistics import B, DocumentLengths, DocumentTerms, T


class Allocation(Protocol[T]):
    """Global parameters of weights; every method leaves the object as it is."""

    def zero_terms(self) -> T:
        """The ``Terms`` of no data, for as many topics."""

    def elbo(self, terms: T) -> float:
        """All of the ELBO but the data's part, in nats."""

    def updated(self, terms: T) -> Self:
        """The global step: the weights at their optimum for ``terms``."""

    def learned(self, terms: T, lengths: DocumentLengths) -> Self:
        """The prior's own concentrations at their optimum for ``terms``."""

    def reordered(self, order: IntArray) -> Self:
        """Topic ``order[k]`` becomes topic k."""

    def check(self) -> None:
        """ValueError for finite numbers that training never produces, but a file may hold."""

    @property
    def n_topics(self) -> int: ...

    @property
    def total_concentration(self) -> float | None:
        """α, in total, where documents have proportions of their own."""

    @property
    def top_concentration(self) -> float | None:
        """γ, where there are sticks."""


@runtime_checkable
class MovableAllocation(Allocation[T], Protocol[B, T]):
    """One whose number of topics moves may change."""

    @property
    def weights(self) -> FloatArray:
        """Expected share of each topic, (n_topics,)."""

    @property
    def reference(self) -> FloatArray:
        """What terms that are summed now depend on, (n_topics,)."""

    def sum_terms(
        self, assignments: Assignments[B], reference: FloatArray, executor: Executor
    ) -> T:
        """``Terms`` of documents, for a ``reference`` that may be an older one."""

    def pair_gains(
        self, batches: Iterable[Assignments[B]], terms: T, reference: FloatArray
    ) -> PairGains:
        """What merging any two topics would add to ``elbo``, to first order."""

    def merged(self, kept: int, absorbed: int) -> Self:
        """Topic ``kept`` takes the weight of ``absorbed``, which goes."""

    def restricted(self, kept: IntArray) -> Self:
        """Some topics only, ``kept`` rising; the weight of the others falls to them."""

    def branched(self, parents: IntArray) -> Self:
        """Children share the weight of their parent, ``parents`` (n_children,) rising."""


@runtime_checkable
class DocumentAllocation(Allocation[DocumentTerms], Protocol):
    """A rule by which every document has its own proportions of topics."""

    @property
    def doc_concentration(self) -> FloatArray:
        """Dirichlet parameters of a document's proportions before its words, (n_topics,)."""

    @property
    def tail(self) -> float:
        """What is left of the total concentration for topics that no document uses."""

    def complete(self, terms: DocumentTerms) -> DocumentTerms:
        """``terms`` with what a learner has to keep of these parameters."""


@runtime_checkable
class ItemRule(Allocation[ItemTerms], Protocol):
    """A rule by which every item has one component."""

    @property
    def expected_log_weights(self) -> FloatArray:
        """E[log w_k] of all components that items may have, (n_components,)."""
