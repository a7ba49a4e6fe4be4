"""What moves work on: a memoized collection and the parameters that fit it, as one value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from math import inf
from typing import Generic, NamedTuple, Self, cast

import numpy as np

from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.laps import Laps
from sparsetopics.inference.learners.memoized import MemoizedState
from sparsetopics.inference.local_step import Parameters
from sparsetopics.inference.moves.evidence import Evidence
from sparsetopics.inference.moves.item_evidence import ItemEvidence
from sparsetopics.inference.moves.ledger import Ledger
from sparsetopics.inference.moves.word_evidence import CountVariances, WordEvidence
from sparsetopics.kernels import summaries as summary_kernels
from sparsetopics.model.allocations.allocation import MovableAllocation
from sparsetopics.model.allocations.hdp import HDPAllocation
from sparsetopics.model.assignments import Assignments, TopicChange
from sparsetopics.model.likelihoods.likelihood import Likelihood
from sparsetopics.model.likelihoods.words import Words
from sparsetopics.model.statistics import B, C, P, T, added, renumbered
from sparsetopics.options.table import Criterion


class Tools(NamedTuple, Generic[B, C, P, T]):
    """What moves are made with."""

    laps: Laps[MemoizedState[B, C, T], B, C, P, T]
    criterion: Criterion
    verify: bool = False  # recompute the score after each move
    last_lap: float = inf  # of training
    fewest: int = 1  # topics that merges and deletes leave

    def score(self, by_topic: FloatArray, allocation: MovableAllocation[B, T], terms: T) -> float:
        """What moves must raise, in nats: the ELBO or the collapsed criterion."""
        score = float(by_topic.sum()) + allocation.elbo(terms)
        if self.criterion == "collapsed" and isinstance(allocation, HDPAllocation):
            score += allocation.prior_slack(terms.n_docs)
        return score


class MoveTally(NamedTuple):
    """How often a move was tried, and how often it was accepted."""

    proposed: int
    accepted: int


class Standing(NamedTuple, Generic[B, C, P, T]):
    """A memoized collection between two moves, and their tools. Each move returns a new one.

    Nothing is changed in place. The terms of all documents are computed with one ``reference``, so
    that what a move takes out of them is known without storing anything per document. The bound
    holds for any reference (``allocations.documents``).
    """

    state: MemoizedState[B, C, T]
    allocation: MovableAllocation[B, T]
    likelihood: Likelihood[C, P]
    reference: FloatArray  # (n_topics,)  α_k that the terms were computed with
    ledger: Ledger
    tools: Tools[B, C, P, T]
    known_evidence: Evidence[B, C] | None = None  # None until ``refreshed``

    @classmethod
    def of(
        cls,
        state: MemoizedState[B, C, T],
        parameters: Parameters[C, P, T],
        ledger: Ledger,
        tools: Tools[B, C, P, T],
    ) -> Self:
        """A collection after a lap, whose terms do not share one reference yet (``refreshed``)."""
        allocation, likelihood = parameters
        assert isinstance(allocation, MovableAllocation), "of a model with moves"
        return cls(state, allocation, likelihood, allocation.reference, ledger, tools)

    @property
    def n_topics(self) -> int:
        return len(self.reference)

    @property
    def executor(self) -> Executor:
        return self.tools.laps.executor

    @property
    def parameters(self) -> Parameters[C, P, T]:
        return Parameters(self.allocation, self.likelihood)

    @property
    def evidence(self) -> Evidence[B, C]:
        """What topics hold, and the data's part of the score."""
        assert self.known_evidence is not None, "moves begin with ``refreshed``"
        return self.known_evidence

    @property
    def score(self) -> float:
        """What moves must raise, in nats: the ELBO or the collapsed criterion."""
        return self.tools.score(self.evidence.by_topic, self.allocation, self.terms)

    @property
    def terms(self) -> T:
        return self.state.total.terms

    @property
    def sizes(self) -> FloatArray:
        """Tokens of each topic, (n_topics,)."""
        return self.state.total.components.sizes

    def assignments(self) -> Iterator[tuple[int, Assignments[B]]]:
        """The present assignments, batch by batch."""
        for batch_id in sorted(self.state.per_batch):
            yield batch_id, self.state.assignments(batch_id)

    def renumbered_terms(self, new_topics: IntArray, n_topics: int) -> dict[int, T]:
        """The terms of every batch; topic k becomes ``new_topics[k]``, -1 leaves it out."""
        return {
            batch_id: renumbered(kept.terms, new_topics, n_topics)
            for batch_id, kept in self.state.per_batch.items()
        }

    def sum_anew(self) -> C:
        """Sum the components from the assignments.

        The sums of a batch may be rounded, so taking documents out of a total and putting them in
        again leaves traces. A new sum is free of them.
        """
        components = self.state.total.components.zeros_like()
        for _, assignments in self.assignments():
            components.add(components.sum_batch(*assignments, self.executor))
        return components

    def resummed(self) -> Self:
        """The standing with components that are summed anew."""
        components = self.sum_anew()
        total = self.state.total._replace(components=components)
        evidence = self.evidence.with_components(components)
        return self._replace(state=self.state._replace(total=total), known_evidence=evidence)

    def measure(
        self,
        components: C,
        reference: FloatArray,
        assignments: Iterable[tuple[int, Assignments[B]]],
    ) -> tuple[dict[int, T], Evidence[B, C]]:
        """The terms of every batch, and the evidence of the ``assignments``' ``components``."""
        likelihood, spread = self.likelihood, None
        if isinstance(likelihood, Words) and self.tools.criterion == "collapsed":
            spread = CountVariances.zeros(components.n_columns, components.n_topics)
        terms = {}
        for batch_id, own in assignments:
            terms[batch_id] = self.allocation.sum_terms(own, reference, self.executor)
            if spread is not None and isinstance(own.documents, DocumentBatch):
                spread.add(own.documents, own.responsibilities, reference)
        made = WordEvidence.of if isinstance(likelihood, Words) else ItemEvidence.of
        # The likelihood says what the components are; no type can.
        make = cast("Callable[..., Evidence[B, C]]", made)
        return terms, make(components, likelihood, spread)

    def committed(
        self,
        change: TopicChange,
        terms: Mapping[int, T],
        allocation: MovableAllocation[B, T],
        reference: FloatArray,
        evidence: Evidence[B, C],
    ) -> Self:
        """The standing after ``change``; the other arguments describe the topics that result."""
        state = self.state.with_terms(terms, evidence.components)
        return self._replace(
            state=state._replace(changes=(*state.changes, change)),
            allocation=allocation,
            reference=reference,
            known_evidence=evidence,
            ledger=self.ledger.renumbered(change.new_topics, change.n_topics),
        )

    def refreshed(self) -> Self:
        """Recompute all terms with the weights' own reference; this never lowers the bound.

        Every document's θ_d is then at its optimum for the weights.
        """
        reference, components = self.allocation.reference, self.state.total.components
        terms, evidence = self.measure(components, reference, self.assignments())
        state = self.state.with_terms(terms, components)
        allocation = self.allocation.updated(state.total.terms)
        return self._replace(
            state=state, reference=reference, allocation=allocation, known_evidence=evidence
        )

    def recomputed_score(self) -> float:
        """Compute the ELBO or the collapsed criterion, in nats, from all batches' assignments."""
        terms, evidence = self.measure(self.sum_anew(), self.reference, self.assignments())
        total = reduce(added, terms.values())
        return self.tools.score(evidence.by_topic, self.allocation, total)


Made = tuple[Standing[B, C, P, T], MoveTally]  # what a move returns


class TopicUse(NamedTuple):
    """The topics that some documents use, one entry for each topic of each document."""

    documents: IntArray  # (n_entries,)
    topics: IntArray  # (n_entries,)
    counts: FloatArray  # (n_entries,)  N_dk, expected tokens
    lengths: FloatArray  # (n_docs,)  tokens of each document

    @classmethod
    def of(cls, assignments: Assignments[B], n_topics: int) -> TopicUse:
        """The topic counts of every document."""
        batch, found = assignments
        starts, topics, counts = summary_kernels.doc_topic_counts(
            batch.indptr, batch.weights, found, n_topics
        )
        documents = np.repeat(np.arange(batch.n_docs), np.diff(starts))
        lengths = np.bincount(documents, counts, minlength=batch.n_docs).astype(np.float64)
        return cls(documents, topics.astype(np.int64), counts, lengths)
