"""What training asks of the rule by which data share topics or components."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, Self, TypeGuard, runtime_checkable

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.execution.executors import Executor
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.statistics import B, DocumentLengths, DocumentTerms, T
from sparsetopics.model.topic_posterior import Sticks
from sparsetopics.options.training import TopicPrior


class Allocation(Protocol[T]):
    """Global parameters of topic weights. No method changes the object."""

    def zero_terms(self) -> T:
        """The ``Terms`` of no data, for this number of topics."""

    def elbo(self, terms: T) -> float:
        """The ELBO without the data's part, in nats."""

    def updated(self, terms: T) -> Self:
        """The global step: the weights at their optimum for ``terms``."""

    def learned(self, terms: T, lengths: DocumentLengths) -> Self:
        """The same rule with the prior's concentrations at their optimum for ``terms``."""

    def reordered(self, order: IntArray) -> Self:
        """Topic ``order[k]`` becomes topic k."""

    def check(self) -> None:
        """Raise ValueError for finite numbers that a file may hold, but training never produces."""

    @property
    def n_topics(self) -> int: ...

    @property
    def total_concentration(self) -> float | None:
        """The total α if each document has its own proportions, else None."""

    @property
    def top_concentration(self) -> float | None:
        """γ if there are sticks, else None."""


@runtime_checkable
class MovableAllocation(Allocation[T], Protocol[B, T]):
    """A rule for which moves may change the number of topics."""

    @property
    def weights(self) -> FloatArray:
        """Expected share of each topic, (n_topics,)."""

    @property
    def reference(self) -> FloatArray:
        """The parameters on which terms depend that are summed now, (n_topics,)."""

    def sum_terms(
        self, assignments: Assignments[B], reference: FloatArray, executor: Executor
    ) -> T:
        """The ``Terms`` of documents for a ``reference``, which may be an older one."""

    def pair_gains(
        self, batches: Iterable[Assignments[B]], terms: T, reference: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """What merging any two topics would add to ``elbo``, to first order, in nats.

        Also returns how often they occur together: the cosine of their use by documents. Entries
        above the diagonal of both matrices (n_topics, n_topics) are used.
        """

    def joined(self, new_topics: IntArray, n_topics: int) -> Self:
        """Topic k becomes part of ``new_topics[k]``, which takes its weight."""

    def restricted(self, kept: IntArray) -> Self:
        """Only the topics ``kept``, in rising order; they share the weight of the others."""

    def branched(self, parents: IntArray) -> Self:
        """Children share their parent's weight equally; ``parents`` (n_children,) rise."""


@runtime_checkable
class DocumentAllocation(Allocation[DocumentTerms], Protocol):
    """A rule by which each document has its own proportions of topics."""

    @classmethod
    def first(cls, n_topics: int, n_docs: float, prior: TopicPrior) -> Self:
        """The rule that training begins with, under which all topics are alike."""

    @property
    def sticks(self) -> Sticks | None:
        """How topics share their weight, if they do so as those of an HDP."""

    @property
    def doc_concentration(self) -> FloatArray:
        """Dirichlet parameters of a document's proportions before its words, (n_topics,)."""

    @property
    def tail(self) -> float:
        """The part of the total concentration that belongs to topics no document uses."""

    def complete(self, terms: DocumentTerms) -> DocumentTerms:
        """``terms`` with everything that a learner must keep of these parameters."""


def is_of_documents(allocation: Allocation[T]) -> TypeGuard[DocumentAllocation]:
    """Whether each document has its own proportions.

    ``isinstance`` would read, and so compute, all properties, for each batch.
    """
    return hasattr(type(allocation), DocumentAllocation.complete.__name__)
