"""Groups of topics that are joined pair by pair, where the evidence of the words loses least.

A merge of groups a and b changes that evidence by log M(S_a + S_b) − log M(S_a) − log M(S_b), where
M is the marginal likelihood of a group's word counts (``likelihoods.words.evidence_by_topic``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.inference.moves.evidence import merged_numbers
from sparsetopics.kernels import pairs as pair_kernels
from sparsetopics.kernels import summaries as summary_kernels
from sparsetopics.kernels.types import SparseShares
from sparsetopics.model.word_counts import cut_rows

FEWEST_TOKENS = 1.0  # of a word in a topic: smaller counts are ignored when merges are judged,
SMALL_SHARE = 1e-3  # or those below this share of an average topic, if that is less


class Merging(NamedTuple):
    """Groups of topics, in the order of the first topic of each."""

    rows: SparseShares  # (n_words,)  the counts of the groups
    word_concentration: float
    sizes: FloatArray  # (n_groups,)  tokens
    of_words: FloatArray  # (n_groups, n_groups)  what the words gain; [a, b] and [b, a] add up
    groups: IntArray  # (n_topics,)  the group of each topic

    @classmethod
    def of(
        cls, counts: FloatArray, word_concentration: float, fewest: float = FEWEST_TOKENS
    ) -> Merging:
        """Each topic of ``counts`` (n_words, n_topics) as a group; see ``large_counts``."""
        rows, n_topics = large_counts(counts, fewest), counts.shape[1]
        sizes = np.bincount(rows.topics, rows.shares, minlength=n_topics).astype(np.float64)
        of_words = np.zeros((n_topics, n_topics))
        pair_kernels.add_word_gains(rows, np.ones(n_topics, bool), word_concentration, of_words)
        return cls(rows, word_concentration, sizes, of_words, np.arange(n_topics))

    @property
    def n_groups(self) -> int:
        return len(self.sizes)

    @property
    def gains(self) -> FloatArray:
        """What joining each pair adds to the evidence, nats, (n_groups, n_groups)."""
        sizes, prior = self.sizes, (len(self.rows.starts) - 1) * self.word_concentration
        alone = gammaln(sizes + prior) - gammaln(prior)
        together = gammaln(sizes[:, None] + sizes + prior) - gammaln(prior)
        gains: FloatArray = self.of_words + self.of_words.T + (alone[:, None] + alone - together)
        return gains

    def joined(self, pairs: IntArray) -> Merging:
        """The groups after disjoint ``pairs`` a < b, (n_pairs, 2), have become one each."""
        left, number = merged_numbers(pairs, self.n_groups)
        rows = SparseShares(*summary_kernels.renumber(self.rows, number))
        sizes = np.bincount(number, self.sizes).astype(np.float64)
        of_words, is_new = self.of_words[np.ix_(left, left)], np.isin(left, pairs[:, 0])
        of_words[is_new], of_words[:, is_new] = 0.0, 0.0
        pair_kernels.add_word_gains(rows, is_new, self.word_concentration, of_words)
        return Merging(rows, self.word_concentration, sizes, of_words, number[self.groups])


def large_counts(counts: FloatArray, fewest: float = FEWEST_TOKENS) -> SparseShares:
    """The counts, (n_words, n_topics), that merges are judged by, as sparse rows."""
    is_large = counts >= min(fewest, SMALL_SHARE * counts.sum() / counts.shape[1])
    starts = np.concatenate(([0], np.cumsum(is_large.sum(axis=1))))
    topics = np.nonzero(is_large)[1].astype(np.uint32)
    return SparseShares(starts, topics, counts[is_large].astype(np.float32))


def merged_counts(table: FloatArray, new_topics: IntArray) -> FloatArray:
    """Word counts, (n_words, n_new), with the columns of topics of the same new number added up.

    Each number from 0 to the largest must occur. Counts are exact, so the order does not matter.
    """
    order = np.argsort(new_topics, kind="stable")
    n_topics = int(new_topics.max()) + 1
    starts = np.searchsorted(new_topics[order], np.arange(n_topics))
    merged = np.empty((len(table), n_topics))
    for rows in cut_rows(len(table)):  # a copy of the whole table would take much memory
        np.add.reduceat(table[rows][:, order], starts, axis=1, out=merged[rows])
    return merged
