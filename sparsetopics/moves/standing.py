"""What moves work on: a memoized collection and the parameters that fit it, taken as one value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from sparsetopics.allocations.hdp import HDPAllocation
from sparsetopics.assignments import Assignments, TopicChange
from sparsetopics.batches import FloatArray
from sparsetopics.document_step import sum_terms
from sparsetopics.executors import Executor
from sparsetopics.laps import Laps, Prior
from sparsetopics.learners.memoized import MemoizedState, assignments_of
from sparsetopics.likelihoods import words
from sparsetopics.likelihoods.words import Words
from sparsetopics.moves.ledger import Ledger
from sparsetopics.moves.word_scores import WordScores
from sparsetopics.options import Criterion, LocalOptions
from sparsetopics.spread import Spread
from sparsetopics.statistics import DocumentTerms, Statistics, added
from sparsetopics.word_counts import WordCounts


class Tools(NamedTuple):
    """What moves are made with."""

    laps: Laps
    rng: np.random.Generator
    criterion: Criterion
    verify: bool = False  # recompute everything after each move

    @property
    def local(self) -> LocalOptions:
        return self.laps.local

    @property
    def executor(self) -> Executor:
        return self.laps.executor


class MoveTally(NamedTuple):
    """How often a move was tried, and how often it was made."""

    proposed: int
    accepted: int


class Standing(NamedTuple):
    """Every move takes one and returns one, or the same; nothing is changed in place.

    All documents' terms are those of the prior ``reference``: what a move takes out of them is then
    known without keeping anything per document. It is a bound for any (``allocations.documents``).
    """

    state: MemoizedState
    allocation: HDPAllocation
    likelihood: Words
    reference: FloatArray  # (n_topics,)  α_k of the terms
    ledger: Ledger
    spread: Spread | None = None  # with the collapsed criterion, once ``refreshed``
    known_scores: WordScores | None = None  # of the counts and their spread, once ``refreshed``

    @classmethod
    def of(cls, state: MemoizedState, prior: Prior, ledger: Ledger) -> Standing:
        """A collection after a lap; its terms are not yet those of one prior (``refreshed``)."""
        allocation, likelihood = prior.allocation, prior.likelihood
        assert isinstance(allocation, HDPAllocation), "moves are for the HDP"
        assert isinstance(likelihood, Words), "moves are for the HDP"
        return cls(state, allocation, likelihood, allocation.doc_concentration, ledger)

    @property
    def n_topics(self) -> int:
        return len(self.reference)

    @property
    def word_concentration(self) -> float:
        return self.likelihood.word_concentration

    @property
    def elbo(self) -> float:
        """Whole-data ELBO in nats."""
        return elbo_of(self.counts, self.word_concentration, self.terms, self.allocation)

    @property
    def word_scores(self) -> WordScores:
        """What words contribute to the score."""
        if self.known_scores is not None:
            return self.known_scores
        return WordScores.of(self.counts, self.spread, self.word_concentration)

    @property
    def score(self) -> float:
        """What moves must raise, in nats: the ELBO or the collapsed criterion."""
        return score_of(
            self.word_scores, self.n_words, self.word_concentration,
            self.terms, self.allocation, self.spread,
        )  # fmt: skip

    @property
    def n_words(self) -> int:
        return len(self.counts)

    @property
    def counts(self) -> FloatArray:
        """S, (n_words, n_topics)."""
        counts: FloatArray = self.state.total.components.table
        return counts

    @property
    def terms(self) -> DocumentTerms:
        terms: DocumentTerms = self.state.total.terms
        return terms

    @property
    def sizes(self) -> FloatArray:
        """Tokens of each topic, (n_topics,)."""
        sizes: FloatArray = self.counts.sum(axis=0)
        return sizes

    @property
    def tail(self) -> float:
        """What ``reference`` leaves of the total concentration."""
        return float(self.allocation.sticks.doc_concentration - self.reference.sum())

    def assignments(self) -> Iterator[tuple[int, Assignments]]:
        """Batch after batch, as they are now."""
        for batch_id in sorted(self.state.per_batch):
            yield batch_id, assignments_of(self.state, batch_id)


def elbo_of(
    counts: FloatArray,
    word_concentration: float,
    terms: DocumentTerms,
    allocation: HDPAllocation,
) -> float:
    """Whole-data ELBO in nats of statistics and weights."""
    return words.log_marginal(counts, word_concentration) + allocation.elbo(terms)


def score_of(
    scores: WordScores,
    n_words: int,
    word_concentration: float,
    terms: DocumentTerms,
    allocation: HDPAllocation,
    spread: Spread | None,
) -> float:
    """The ELBO or the collapsed criterion in nats."""
    of_documents = 0.0 if spread is None else float(spread.doc_corrections.sum())
    of_words = float(scores.by_topic(n_words, word_concentration).sum())
    return of_words + of_documents + allocation.elbo(terms)


def refreshed(standing: Standing, tools: Tools) -> Standing:
    """All documents' θ_d at their optimum for the weights; this never lowers the bound."""
    reference = standing.allocation.doc_concentration
    terms = {
        batch_id: sum_terms(*assignments, reference, standing.allocation.tail, tools.executor)
        for batch_id, assignments in standing.assignments()
    }
    state = with_terms(standing.state, terms, standing.counts)
    allocation = standing.allocation.updated(state.total.terms)
    spread = None
    if tools.criterion == "collapsed":
        spread = Spread.zeros(*standing.counts.shape)
        for _, assignments in standing.assignments():
            spread.add(assignments, reference)
    scores = WordScores.of(standing.counts, spread, standing.word_concentration)
    return standing._replace(
        state=state, reference=reference, allocation=allocation, spread=spread, known_scores=scores
    )


def resummed(standing: Standing, tools: Tools) -> Standing:
    """Word counts summed anew from the assignments, free of what exchanging documents leaves.

    A batch's sums are rounded to float32, so parts that go out do not cancel what went in.
    """
    counts = standing.state.total.components.zeros_like()
    for _, assignments in standing.assignments():
        counts.add(counts.sum_batch(*assignments, tools.executor))
    total = standing.state.total._replace(components=counts)
    scores = WordScores.of(counts.table, standing.spread, standing.word_concentration)
    return standing._replace(state=standing.state._replace(total=total), known_scores=scores)


def with_terms(
    state: MemoizedState, terms: Mapping[int, DocumentTerms], counts: FloatArray
) -> MemoizedState:
    """New terms of all batches, and the collection's word counts."""
    per_batch = {
        batch_id: kept._replace(terms=terms[batch_id]) for batch_id, kept in state.per_batch.items()
    }
    total = DocumentTerms.zeros(counts.shape[1])
    for batch_id in sorted(terms):
        total = added(total, terms[batch_id])
    return state._replace(per_batch=per_batch, total=Statistics(WordCounts(counts), total))


def committed(
    standing: Standing,
    change: TopicChange,
    counts: FloatArray,
    terms: Mapping[int, DocumentTerms],
    allocation: HDPAllocation,
    reference: FloatArray,
    spread: Spread | None,
    scores: WordScores,
) -> Standing:
    """The standing after ``change``, with what follows from it for the statistics."""
    state = with_terms(standing.state, terms, counts)
    return standing._replace(
        state=state._replace(changes=(*state.changes, change)),
        allocation=allocation,
        reference=reference,
        spread=spread,
        known_scores=scores,
        ledger=standing.ledger.renumbered(change.new_topics, change.n_topics),
    )
