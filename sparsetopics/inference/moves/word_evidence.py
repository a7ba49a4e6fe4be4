"""Evidence of words: counts, their spread under the collapsed criterion, and sums over words.

Fitting documents anew touches only the rows of their words; the sums over all other words are
remembered, and the whole tables are written once, when the fit is to stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.moves.families import Families, Sampling, divide_words
from sparsetopics.inference.moves.word_scores import WordScores
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.likelihoods import words
from sparsetopics.model.likelihoods.words import Words
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.variances import CountVariances
from sparsetopics.model.word_counts import WordCounts

SAMPLING = Sampling(n_documents=300, fewest_tokens=5.0)


class WordGathering(NamedTuple):
    """Counts that are known, and a spread that follows from assignments if it is wanted."""

    table: FloatArray  # (n_words, n_topics)
    spread: CountVariances | None
    likelihood: Words

    @classmethod
    def begin(cls, components: WordCounts, likelihood: Words, with_spread: bool) -> WordGathering:
        table = components.table
        return cls(table, CountVariances.zeros(*table.shape) if with_spread else None, likelihood)

    def add(self, assignments: Assignments, reference: FloatArray) -> None:
        if self.spread is not None:
            self.spread.add(assignments, reference)

    def done(self) -> WordEvidence:
        return WordEvidence.of(*self)


class WordEvidence(NamedTuple):
    """Of all words."""

    table: FloatArray  # S, (n_words, n_topics)
    spread: CountVariances | None
    scores: WordScores
    likelihood: Words

    @classmethod
    def of(
        cls, table: FloatArray, spread: CountVariances | None, likelihood: Words
    ) -> WordEvidence:
        scores = WordScores.of(table, spread, likelihood.word_concentration)
        return cls(table, spread, scores, likelihood)

    @property
    def components(self) -> WordCounts:
        return WordCounts(self.table)

    @property
    def by_topic(self) -> FloatArray:
        return _worth(self.scores, self.spread, self.likelihood)

    @property
    def sampling(self) -> Sampling:
        return SAMPLING

    def fresh(self) -> WordEvidence:
        return WordEvidence.of(self.table, self.spread, self.likelihood)

    def take(self, topics: IntArray) -> WordEvidence:
        table = self.table.take(topics, axis=1)
        spread = None if self.spread is None else self.spread.take(topics)
        return self._replace(table=table, spread=spread, scores=self.scores.take(topics))

    def with_components(self, components: WordCounts) -> WordEvidence:
        return WordEvidence.of(components.table, self.spread, self.likelihood)

    def gather_pairs(self, pairs: IntArray) -> WordGathering:
        joint = WordCounts(self.table[:, pairs[:, 0]] + self.table[:, pairs[:, 1]])
        return WordGathering.begin(joint, self.likelihood, self.spread is not None)

    def merged(self, pairs: IntArray, joint: WordEvidence) -> WordEvidence:
        left = np.setdiff1d(np.arange(self.table.shape[1]), pairs[:, 1])
        places = np.searchsorted(left, pairs[:, 0])
        after = self.take(left)
        after.table[:, places] = joint.table
        if after.spread is not None and joint.spread is not None:
            after.spread.put(places, joint.spread)
        return after._replace(scores=after.scores.put(places, joint.scores))

    def likeness(self) -> FloatArray:
        """The cosine of the square roots of counts."""
        by_topic = np.sqrt(self.table.T.astype(np.float32))
        by_topic /= np.maximum(np.linalg.norm(by_topic, axis=1, keepdims=True), 1e-30)
        likeness: FloatArray = (by_topic @ by_topic.T).astype(np.float64)
        return likeness

    def pair_gains(self, pairs: IntArray) -> FloatArray:
        return words.merge_gains(self.table, pairs, self.likelihood.word_concentration)

    def families(
        self, samples: Mapping[int, Assignments], n_children: int, rng: np.random.Generator
    ) -> Families:
        return divide_words(self.table, samples, n_children, rng)

    def focus(
        self, assignments: Assignments, reference: FloatArray, kept: IntArray, executor: Executor
    ) -> WordFocus:
        batch, found = assignments
        rows, numbered = np.unique(batch.word_ids.astype(np.int64), return_inverse=True)
        batch = DocumentBatch(batch.indptr, numbered.astype(np.int32), batch.word_counts)
        before = self.table[rows]
        counts = WordCounts(before.copy())
        counts.take_out(counts.sum_batch(batch, found, executor))
        before = before.take(kept, axis=1)
        spread = spread_before = None
        if self.spread is not None:
            spread = self.spread.rows(rows)
            spread_before = spread.take(kept)
            spread = spread._replace(doc_corrections=self.spread.doc_corrections.copy())
            spread.add(Assignments(batch, found), reference, -1.0)
            spread = spread.take(kept)
        elsewhere = self.scores.sizes[kept] - before.sum(axis=0)
        rest = counts.table.take(kept, axis=1)
        return WordFocus(self, kept, rows, batch, before, spread_before, rest, spread, elsewhere)


class WordFocus(NamedTuple):
    """The collection without some documents, in the rows of their words."""

    whole: WordEvidence  # as it was
    kept: IntArray  # (n_kept,)
    rows: IntArray  # (n_rows,)  the words
    batch: DocumentBatch  # its words numbered by row
    counts_before: FloatArray  # (n_rows, n_kept)
    spread_before: CountVariances | None  # of words alone
    counts_rest: FloatArray  # (n_rows, n_kept)  without the documents
    spread_rest: CountVariances | None  # likewise; of documents, that of all others
    elsewhere: FloatArray  # (n_kept,)  tokens of all other words

    @property
    def before(self) -> WordCounts:
        return WordCounts(self.counts_before, self.elsewhere)

    def holding(self, found: Responsibilities, executor: Executor) -> WordCounts:
        counts = WordCounts(self.counts_rest.copy(), self.elsewhere)
        counts.add(counts.sum_batch(self.batch, found, executor))
        return counts

    def refit(
        self, components: WordCounts, found: Responsibilities, reference: FloatArray
    ) -> WordRefit:
        spread = self.spread_rest
        if spread is not None:
            spread = spread.copy()
            spread.add(Assignments(self.batch, found), reference)
        scores = self.whole.scores.take(self.kept).exchanged(
            (self.counts_before, self.spread_before),
            (components.table, spread),
            self.whole.likelihood.word_concentration,
        )
        return WordRefit(self, components.table, spread, scores)


class WordRefit(NamedTuple):
    """The documents of a focus, fitted anew."""

    focus: WordFocus
    table: FloatArray  # (n_rows, n_kept)
    spread: CountVariances | None  # likewise
    scores: WordScores  # of all words

    @property
    def by_topic(self) -> FloatArray:
        return _worth(self.scores, self.spread, self.focus.whole.likelihood)

    def whole(self) -> WordEvidence:
        after = self.focus.whole.take(self.focus.kept)
        after.table[self.focus.rows] = self.table
        spread = after.spread
        if spread is not None and self.spread is not None:
            spread.variances[self.focus.rows] = self.spread.variances
            spread.log_absent[self.focus.rows] = self.spread.log_absent
            spread = spread._replace(doc_corrections=self.spread.doc_corrections)
        return after._replace(spread=spread, scores=self.scores)


def _worth(scores: WordScores, spread: CountVariances | None, likelihood: Words) -> FloatArray:
    of_words = scores.by_topic(likelihood.n_words, likelihood.word_concentration)
    return of_words if spread is None else of_words + spread.doc_corrections
