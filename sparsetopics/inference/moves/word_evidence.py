"""Evidence of words: counts, their spread under the collapsed criterion, and sums over words.

Fitting documents again touches only the rows of their words. The sums over all other words are
remembered, and the whole tables are written once, when the fit is accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray
from sparsetopics.inference.moves.evidence import Focus, cosines, merged_numbers, numbered
from sparsetopics.kernels import pairs as pair_kernels
from sparsetopics.kernels import variances as variance_kernels
from sparsetopics.kernels import words as word_kernels
from sparsetopics.kernels.types import Rows
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.likelihoods.document_seeds import distant_shares
from sparsetopics.model.likelihoods.words import Words
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.word_counts import WordCounts, number_rows

SAMPLING = (300, 5.0)  # documents at most, of each topic; with so many of its tokens each
FEWEST_SEEDS = 2  # documents for each child
SEED_SHARE = 1 / 7  # of a child's counts come from its seed document


class WordEvidence(NamedTuple):
    """What topics hold of all words."""

    table: FloatArray  # S, (n_words, n_topics)
    spread: CountVariances | None
    scores: WordScores
    likelihood: Words

    @classmethod
    def of(
        cls, components: WordCounts, likelihood: Words, spread: CountVariances | None
    ) -> WordEvidence:
        """The evidence of components, with their ``spread`` if the criterion needs it."""
        table, eta = components.table, likelihood.word_concentration
        corrections = np.zeros(components.n_topics)
        by_word = np.ascontiguousarray(table)  # for other layouts numba would compile again
        if spread is not None:
            corrections = spread.word_corrections(by_word, eta)
        sums = pair_kernels.word_gamma_sums(by_word, eta)
        return cls(table, spread, WordScores(table.sum(axis=0), sums, corrections), likelihood)

    @property
    def components(self) -> WordCounts:
        return WordCounts(self.table)

    @property
    def by_topic(self) -> FloatArray:
        return self.scores.worth(self.spread, self.likelihood)

    @property
    def sampling(self) -> tuple[int, float]:
        return SAMPLING

    def take(self, topics: IntArray) -> WordEvidence:
        table = self.table.take(topics, axis=1)
        spread = None if self.spread is None else self.spread.take(topics)
        return self._replace(table=table, spread=spread, scores=self.scores.take(topics))

    def with_components(self, components: WordCounts) -> WordEvidence:
        return WordEvidence.of(components, self.likelihood, self.spread)

    def joint(self, pairs: IntArray) -> WordCounts:
        return WordCounts(self.table[:, pairs[:, 0]] + self.table[:, pairs[:, 1]])

    def merged(self, pairs: IntArray, joint: WordEvidence) -> WordEvidence:
        left, numbers = merged_numbers(pairs, self.table.shape[1])
        after, places = self.take(left), numbers[pairs[:, 0]]
        after.table[:, places] = joint.table
        if after.spread is not None and joint.spread is not None:
            after.spread.put(places, joint.spread)
        return after._replace(scores=after.scores.put(places, joint.scores))

    def likeness(self) -> FloatArray:
        """The cosine of the square roots of counts."""
        return cosines(np.sqrt(self.table.T.astype(np.float32)))

    def families(
        self,
        samples: Mapping[int, Assignments[DocumentBatch]],
        n_children: int,
        rng: np.random.Generator,
    ) -> tuple[WordCounts, IntArray]:
        """See ``Evidence``; a topic is split if its sample has enough documents.

        A child is its parent tilted towards a seed document, as topics are when training starts.
        The seeds are documents of the sample that are far from each other.
        """
        counts, parents = [], []
        for topic in range(self.table.shape[1]):
            mine = self.table[:, [topic]]
            own = words_of_topic(samples[topic], topic) if topic in samples else None
            if own is not None and own.n_docs >= FEWEST_SEEDS * n_children:
                seeds = distant_shares(own, len(mine), n_children, rng)
                mine = ((1.0 - SEED_SHARE) * mine + SEED_SHARE * mine.sum() * seeds) / n_children
            counts.append(mine)
            parents.append(np.full(mine.shape[1], topic))
        return WordCounts(np.hstack(counts)), np.concatenate(parents)

    def focus(
        self, assignments: Assignments[DocumentBatch], kept: IntArray, reference: FloatArray
    ) -> WordFocus:
        batch, found = assignments
        words, rows = number_rows(batch, len(self.table))
        batch = DocumentBatch(batch.indptr, rows, batch.word_counts)
        before = Assignments(batch, found.renumbered(numbered(kept, self.table.shape[1])))
        counts = word_kernels.take_block(self.table, words, kept)
        components = WordCounts(counts, self.scores.sizes[kept] - counts.sum(axis=0))
        return WordFocus(before, components, self, kept, reference, words, before)


@dataclass
class WordFocus(Focus[DocumentBatch, WordCounts]):
    """Some documents with the rows of their words; all other rows stay as they are.

    Words are numbered by row, and the components are of these rows.
    """

    whole: WordEvidence  # before the documents were fitted again
    kept: IntArray  # (n_kept,)
    reference: FloatArray  # (n_kept,)  α_k
    rows: Rows  # (n_rows,)  the words
    before: Assignments[DocumentBatch]

    @cached_property
    def _scored(self) -> tuple[CountVariances | None, WordScores]:
        """The spread of the focus's words in all documents, and the sums over all words."""
        whole, eta = self.whole, self.whole.likelihood.word_concentration
        block = self.rows, self.kept, self.components.seen
        scores, sizes = whole.scores.take(self.kept), self.components.sizes
        sums = scores.sums + pair_kernels.word_gamma_changes(whole.table, *block, eta)
        if whole.spread is None:
            return None, scores._replace(sizes=sizes, sums=sums)
        spread = whole.spread.block(self.rows, self.kept)
        spread.add(*self.before, self.reference, -1.0)
        spread.add(*self.now, self.reference)
        changes = variance_kernels.word_correction_changes(
            whole.table, whole.spread.by_word, *block, spread.by_word, eta
        )
        return spread, WordScores(sizes, sums, scores.corrections + changes)

    @property
    def by_topic(self) -> FloatArray:
        spread, scores = self._scored
        return scores.worth(spread, self.whole.likelihood)

    def written(self, *, in_place: bool = False) -> WordEvidence:
        whole, (of_words, scores) = self.whole, self._scored
        table, spread = whole.table, whole.spread
        if not in_place:
            table, spread = table.copy(), None if spread is None else spread.copy()
        table[np.ix_(self.rows, self.kept)] = self.components.seen
        if spread is not None and of_words is not None:
            spread.put_block(self.rows, self.kept, of_words)
        return WordEvidence(table, spread, whole.scores.put(self.kept, scores), whole.likelihood)


class WordScores(NamedTuple):
    """What words contribute to the score of each topic, (n_topics,) each.

    These are sums over words, so that the rows of a few words can be exchanged.
    """

    sizes: FloatArray  # Σ_v S_kv
    sums: FloatArray  # Σ_v lnΓ(S_kv + η) − lnΓ(η)
    corrections: FloatArray  # of the collapsed criterion, otherwise zero

    def take(self, topics: IntArray) -> WordScores:
        return WordScores(*(array[topics] for array in self))

    def put(self, topics: IntArray, other: WordScores) -> WordScores:
        """Replace ``topics`` by those of ``other``."""
        changed = WordScores(*(array.copy() for array in self))
        for mine, theirs in zip(changed, other, strict=True):
            mine[topics] = theirs
        return changed

    def worth(self, spread: CountVariances | None, likelihood: Words) -> FloatArray:
        """log M(S_k) and what the criterion adds for words and documents, (n_topics,), in nats."""
        of_words = likelihood.evidence_of_sums(self.sums, self.sizes) + self.corrections
        return of_words if spread is None else of_words + spread.doc_corrections


class CountVariances(NamedTuple):
    """How uncertain the counts of a collection are. All fields are sums over its documents.

    The collapsed criterion is the ELBO with what the variances of expected counts add to it. At the
    best q(φ) and q(π_d), the ELBO is the collapsed evidence with every E[lnΓ(a + n)] replaced by
    lnΓ(a + E[n]). That is smaller, and the difference grows with the number of topics that share a
    token. Collapsed variational inference keeps the difference to second order (Teh, Newman &
    Welling 2006; for the HDP Teh, Kurihara & Welling 2008). Counts are treated as sums of
    independent assignments, both the counts of a word in a topic (a = η) and those of a topic in a
    document (a = α_k). Totals are not corrected. Moves of an HDP add ``HDPAllocation.prior_slack``.
    The criterion approximates the evidence and is not a bound.
    """

    by_word: FloatArray  # (n_words, n_topics, 2)  Σ x r (1 − r) and Σ x log(1 − r)
    doc_corrections: FloatArray  # (n_topics,)  for the documents' topic counts, in nats

    @classmethod
    def zeros(cls, n_words: int, n_topics: int) -> CountVariances:
        return cls(np.zeros((n_words, n_topics, 2)), np.zeros(n_topics))

    def add(
        self, batch: DocumentBatch, found: Responsibilities, prior: FloatArray, scale: float = 1.0
    ) -> None:
        """Add documents (``scale`` 1) or take them out (-1), in place; ``prior`` is α_k."""
        counts = batch.word_counts.astype(np.float64)
        variance_kernels.add_variances(
            batch.indptr, batch.word_ids, counts, found, prior, scale, *self
        )

    def copy(self) -> CountVariances:
        return CountVariances(*(values.copy() for values in self))

    def block(self, words: Rows, topics: IntArray) -> CountVariances:
        """A copy for some words and topics, with the corrections for all documents."""
        flat = self.by_word.reshape(len(self.by_word), -1)
        columns = (2 * topics[:, None] + np.arange(2)).ravel()
        block = word_kernels.take_block(flat, words, columns)
        by_word = block.reshape(len(words), len(topics), 2)
        return CountVariances(by_word, self.doc_corrections[topics])

    def put_block(self, words: Rows, topics: IntArray, other: CountVariances) -> None:
        """Replace these words and topics in place, and the corrections for documents."""
        self.by_word[np.ix_(words, topics)] = other.by_word
        self.doc_corrections[topics] = other.doc_corrections

    def take(self, topics: IntArray) -> CountVariances:
        """Only the chosen topics, in that order."""
        return CountVariances(self.by_word.take(topics, axis=1), self.doc_corrections[topics])

    def put(self, topics: IntArray, other: CountVariances) -> None:
        """Replace the columns of ``topics`` by those of ``other``, in place."""
        self.by_word[:, topics] = other.by_word
        self.doc_corrections[topics] = other.doc_corrections

    def word_corrections(self, counts: FloatArray, word_concentration: float) -> FloatArray:
        """What the criterion adds to the ELBO for the words of each topic, (n_topics,), in nats."""
        return variance_kernels.word_corrections(counts, self.by_word, word_concentration)


def words_of_topic(assignments: Assignments[DocumentBatch], topic: int) -> DocumentBatch:
    """The expected counts x_dv r_dv of a topic, as documents without empty ones."""
    batch, found = assignments
    entries = np.flatnonzero(found.topics == topic)
    pairs = np.searchsorted(found.starts, entries, side="right") - 1
    counts = (found.shares[entries] * batch.word_counts[pairs]).astype(np.float32)
    indptr = np.searchsorted(pairs, batch.indptr).astype(np.int64)
    own = DocumentBatch(indptr, batch.word_ids[pairs], counts)
    return own.take(np.flatnonzero(np.diff(indptr) > 0))
