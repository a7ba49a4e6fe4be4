"""Additive summaries of documents or items, from which the global parameters follow.

Everything here adds over disjoint sets of documents, so that a learner can add batches and take
them out again.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from sparsetopics.base.batches import AnyArray, Arrays, Batch, FloatArray, IntArray, StoredBatch
from sparsetopics.base.soundness import check_close, check_like, require
from sparsetopics.execution.executors import Executor
from sparsetopics.model.responsibilities import Responsibilities

# All parts of a model share four type parameters:
B = TypeVar("B", bound=StoredBatch)  # a batch
C = TypeVar("C", bound="Components[Any, Any]")  # components, of any batches: those of B and P
P = TypeVar("P", bound="BatchSums")  # what one batch gives components, often a sparse form of them
T = TypeVar("T", bound="Terms")
B_contra = TypeVar("B_contra", contravariant=True)
SMALLEST = 1.0 - 1e-6  # tokens or items of a topic in use: one, less what rounding takes
ROUNDING = 1e-3  # documents that rounding may leave over after batches were added and taken out


def in_use(sizes: FloatArray) -> NDArray[np.bool_]:
    """Whether each topic or component has at least one token or item, (n_topics,)."""
    return sizes >= SMALLEST


class BatchSums(Protocol):
    """A NamedTuple of arrays, from which ``Components.restored`` makes it again."""

    def _asdict(self) -> dict[str, AnyArray]: ...


class Components(Protocol[B_contra, P]):
    """Expected sufficient statistics of a likelihood, for each topic or component.

    The statistics of one batch may have another, sparse form P, which these methods understand.
    ``add`` and ``exchange`` change the object in place.
    """

    @property
    def n_topics(self) -> int: ...

    @property
    def n_columns(self) -> int:
        """Words of the vocabulary, or numbers of a vector."""

    @property
    def sizes(self) -> FloatArray:
        """Tokens or items of each topic, (n_topics,)."""

    @property
    def is_exact(self) -> bool:
        """Whether a batch that is taken out leaves no trace of rounding."""

    def accumulator(self) -> Self:
        """A copy, made to have batches added and taken out in place."""

    def zeros_like(self) -> Self: ...

    def scaled(self, factor: float) -> Self: ...

    def plus(self, other: Self) -> Self: ...

    def with_rest(self, start: Self, share: float) -> Self:
        """These statistics plus ``share`` of a start, for local steps; they may share memory."""

    def add(self, batch: P, scale: float = 1.0) -> None: ...

    def exchange(self, new: P, old: P | None, executor: Executor) -> None:
        """Add ``new``, and take out ``old``, which came from the same documents.

        Rounding leaves no size below zero.
        """

    def sum_batch(self, batch: B_contra, found: Responsibilities, executor: Executor) -> P:
        """The statistics of a batch with the responsibilities ``found``."""

    def restored(self, arrays: Arrays) -> P:
        """A result of ``sum_batch``, from its arrays by name."""

    def check(self, nothing: Self) -> None:
        """Raise ValueError for values that no data can give, or shapes other than ``nothing``'s."""

    def check_batch(self, arrays: Arrays) -> None:
        """Raise ValueError unless a file's arrays are valid for ``restored``."""


AnyComponents = Components[StoredBatch, BatchSums]  # only the options say of which model


class Terms(Protocol):
    """Sums over documents or items that an allocation's part of the ELBO needs.

    A NamedTuple of numbers and arrays that add up over disjoint batches.
    """

    @property
    def n_docs(self) -> float: ...

    @property
    def n_tokens(self) -> float: ...

    @property
    def by_topic(self) -> FloatArray:
        """The sums that belong to a topic, (n_sums, n_topics)."""

    def with_topics(self, by_topic: FloatArray) -> Self:
        """The same data with other sums by topic, (n_sums, n_topics)."""

    def __iter__(self) -> Iterator[float | FloatArray]: ...

    def check(self) -> None:
        """Raise ValueError for finite values that no data can give."""


class DocumentTerms(NamedTuple):
    """Sums over documents that the allocation's part of the ELBO needs (``allocations.documents``).

    θ_dk = N_dk + α_k holds for the α of the document's last visit. The slack term keeps the
    contribution of that α, so that the sums stay exact when α changes. The sums of a topic run over
    the documents in which it is active.
    """

    n_docs: float
    n_tokens: float
    assignment_entropy: FloatArray  # (n_topics,)  −Σ_d Σ_u x r log r
    active_documents: FloatArray  # (n_topics,)  D_k
    summed_digamma: FloatArray  # (n_topics,)  Σ_d ψ(θ_dk)
    summed_log_gamma: FloatArray  # (n_topics,)  Σ_d lnΓ(θ_dk)
    frozen_slack: FloatArray  # (n_topics,)  Σ_d (N_dk − θ_dk) ψ(θ_dk)
    totals: FloatArray  # (3,)  the last three sums with θ_d = Σ_k θ_dk, over all documents

    @classmethod
    def zeros(cls, n_topics: int) -> DocumentTerms:
        return cls._make((0.0, 0.0, *np.zeros((5, n_topics)), np.zeros(3)))

    def check(self) -> None:
        active = self.active_documents
        is_sound = active.min(initial=0.0) >= -ROUNDING and active.max() <= self.n_docs + ROUNDING
        require(is_sound, "active documents of topics out of range")
        entropy = self.assignment_entropy
        require(entropy.min(initial=0.0) >= -ROUNDING * self.n_tokens, "entropy below zero")
        require(self.n_docs > 0.0 and self.n_tokens >= 0.0, "no documents")

    def with_tail(self) -> DocumentTerms:
        """The same documents with one topic more, which no document uses."""
        n_topics = len(self.active_documents)
        return renumbered(self, np.arange(n_topics), n_topics + 1)

    @property
    def by_topic(self) -> FloatArray:
        """The sums that belong to a topic, (5, n_topics)."""
        return np.stack([getattr(self, name) for name in TERMS_BY_TOPIC])

    def with_topics(self, by_topic: FloatArray) -> DocumentTerms:
        """The same documents with other sums by topic, (5, n_topics)."""
        return self._replace(**dict(zip(TERMS_BY_TOPIC, by_topic, strict=True)))


TERMS_BY_TOPIC = DocumentTerms._fields[2:-1]


class DocumentLengths(NamedTuple):
    """The number of documents of each length."""

    tokens: FloatArray  # (n_lengths,)  rising
    n_docs: FloatArray  # (n_lengths,)

    def check(self) -> None:
        """Raise ValueError unless these numbers can be lengths of documents."""
        require(self.tokens.ndim == 1, "lengths of documents have axes")
        require(self.tokens.shape == self.n_docs.shape, "lengths of no documents")
        lowest = min(self.tokens.min(initial=0.0), self.n_docs.min(initial=0.0))
        require(lowest >= 0.0, "lengths of documents below zero")

    @classmethod
    def of(cls, batches: Iterable[Batch]) -> DocumentLengths:
        lengths = [tokens_of_documents(batch) for batch in batches]
        tokens, n_docs = np.unique(np.concatenate([np.zeros(0), *lengths]), return_counts=True)
        return cls(tokens, n_docs.astype(np.float64))

    def plus(self, other: DocumentLengths) -> DocumentLengths:
        """The lengths of two disjoint sets of documents together."""
        both = np.concatenate((self.tokens, other.tokens))
        tokens, place = np.unique(both, return_inverse=True)
        n_docs = np.bincount(place, np.concatenate((self.n_docs, other.n_docs)))
        return DocumentLengths(tokens, n_docs.astype(np.float64))

    def log_gamma_sum(self, concentration: float) -> float:
        """Σ_d lnΓ(N_d + α)."""
        return float((self.n_docs * gammaln(self.tokens + concentration)).sum())


def tokens_of_documents(batch: Batch) -> AnyArray:
    """The tokens of each document, (n_docs,)."""
    documents = np.repeat(np.arange(batch.n_docs), np.diff(batch.indptr))
    return np.bincount(documents, batch.weights, minlength=batch.n_docs)


class Summary(NamedTuple, Generic[P, T]):
    """What a learner keeps of a batch."""

    components: P  # what ``Components.sum_batch`` gives
    terms: T


class Statistics(NamedTuple, Generic[C, T]):
    """What a learner knows of a collection."""

    components: C
    terms: T

    def check(self, nothing: Self, n_docs: float) -> None:
        """Raise ValueError unless these are sums over ``n_docs`` documents.

        ``nothing`` has the statistics of no documents.
        """
        self.components.check(nothing.components)
        check_terms(self.terms, nothing.terms)
        check_close(self.terms.n_docs, float(n_docs), "number of documents")

    @classmethod
    def sum(cls, summaries: Iterable[Summary[P, T]], zero: Self) -> Self:
        """``zero`` plus ``summaries``, added in their order."""
        return reduce(cls.add_in_place, summaries, zero.accumulator())

    def zeros_like(self) -> Self:
        return self._replace(components=self.components.zeros_like(), terms=scaled(self.terms, 0.0))

    def accumulator(self) -> Self:
        """A copy to change in place; it shares the terms, which never change in place."""
        return self._replace(components=self.components.accumulator())

    def add_in_place(self, new: Summary[P, T]) -> Self:
        """These statistics with ``new`` added; the components are changed."""
        self.components.add(new.components)
        return self._replace(terms=added(self.terms, new.terms))

    def exchange_in_place(
        self, new: Summary[P, T], old: Summary[P, T] | None, executor: Executor
    ) -> Self:
        """These statistics with ``new`` added and ``old`` taken out; the components are changed.

        With many words, copying the components for each batch would take longer than the batch.
        """
        terms = added(self.terms, new.terms)
        if old is not None:
            terms = subtracted(terms, old.terms)
        self.components.exchange(new.components, None if old is None else old.components, executor)
        return self._replace(terms=terms)


def renumbered(terms: T, new_topics: IntArray, n_topics: int) -> T:
    """Topic k becomes ``new_topics[k]``, all different; -1 leaves it out."""
    by_topic, kept = terms.by_topic, new_topics >= 0
    moved = np.zeros((len(by_topic), n_topics))
    moved[:, new_topics[kept]] = by_topic[:, kept]
    return terms.with_topics(moved)


def check_terms(terms: T | None, nothing: T) -> None:
    """Raise ValueError unless terms are like ``nothing`` and have values that data can give."""
    if terms is None:
        raise ValueError("no terms")
    check_like(terms, nothing, "terms")
    terms.check()


def added(left: T, right: T) -> T:
    return _with_values(left, map(operator.add, left, right))


def subtracted(left: T, right: T) -> T:
    return _with_values(left, map(operator.sub, left, right))


def scaled(terms: T, factor: float) -> T:
    return _with_values(terms, (factor * value for value in terms))


def _with_values(terms: T, values: Iterable[float | FloatArray]) -> T:
    made: T = type(terms)._make(values)  # type: ignore[attr-defined]  # of a NamedTuple
    return made
