"""What words contribute to the score, kept as sums that a few rows can be taken out of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.model.likelihoods import words
from sparsetopics.model.variances import CountVariances


class WordScores(NamedTuple):
    """Sums over words, so that the words of a few documents can be exchanged; (n_topics,) each."""

    sizes: FloatArray  # Σ_v S_kv
    sums: FloatArray  # Σ_v lnΓ(S_kv + η) − lnΓ(η)
    corrections: FloatArray  # of the collapsed criterion, else nothing

    @classmethod
    def of(
        cls, counts: FloatArray, spread: CountVariances | None, word_concentration: float
    ) -> WordScores:
        """For ``counts`` (n_rows, n_topics) of some or all words, and their spread."""
        none = np.zeros(counts.shape[1])
        return cls(
            counts.sum(axis=0),
            words.gamma_sums(counts, word_concentration),
            none if spread is None else spread.word_corrections(counts, word_concentration),
        )

    def exchanged(
        self,
        before: tuple[FloatArray, CountVariances | None],
        after: tuple[FloatArray, CountVariances | None],
        word_concentration: float,
    ) -> WordScores:
        """With some words' counts and spread ``after`` in the place of those ``before``."""
        counts, spread = before
        counts_after, spread_after = after
        sums = words.gamma_sum_changes(counts, counts_after, word_concentration)
        changed = self._replace(
            sizes=self.sizes + (counts_after.sum(axis=0) - counts.sum(axis=0)),
            sums=self.sums + sums,
        )
        if spread is None or spread_after is None:
            return changed
        changes = spread.word_correction_changes(
            counts, spread_after, counts_after, word_concentration
        )
        return changed._replace(corrections=self.corrections + changes)

    def take(self, topics: IntArray) -> WordScores:
        return WordScores(*(array[topics] for array in self))

    def put(self, topics: IntArray, other: WordScores) -> WordScores:
        """With ``other`` in the place of ``topics``."""
        changed = WordScores(*(array.copy() for array in self))
        for mine, theirs in zip(changed, other, strict=True):
            mine[topics] = theirs
        return changed

    def by_topic(self, n_words: int, word_concentration: float) -> FloatArray:
        """log M(S_k) and what the criterion adds for words, (n_topics,), in nats."""
        evidence = words.evidence_of_sums(self.sums, self.sizes, n_words, word_concentration)
        return evidence + self.corrections
