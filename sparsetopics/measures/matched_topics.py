"""Topics of several runs in groups, and the mean of each group."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray

ROUNDS = 2  # in which each run is assigned anew
NONE = -1  # a run has no topic in a group
DIGITS = 9  # of similarities: products of matrices differ in later ones between processors


def matched_topics(counts: Sequence[FloatArray], first: int) -> IntArray:
    """The topic that each run has in each group, (n_runs, n_groups), or −1.

    ``counts`` are the tokens of each run, (n_topics, n_words). There is a group for each topic of
    the ``first`` run. A run has at most one topic in a group. One run after the other is assigned
    to the groups so that the sum of the similarities is the largest (Kuhn 1955): Σ √(p q), for the
    words of a topic and those of the other runs' topics in the group (Bhattacharyya 1943).
    """
    from scipy.optimize import linear_sum_assignment  # slow to import, and seldom needed

    n_runs, n_groups = len(counts), len(counts[first])
    found = np.full((n_runs, n_groups), NONE)
    found[first] = np.arange(n_groups)
    total, roots = counts[first].copy(), [np.sqrt(own) / _root_sizes(own) for own in counts]
    later = [run for run in range(n_runs) if run != first]
    for run in (*later, *chain.from_iterable(repeat(range(n_runs), ROUNDS))):
        groups = np.flatnonzero(found[run] != NONE)
        # Shares of a token may leave something below zero.
        total[groups] = np.maximum(total[groups] - counts[run][found[run, groups]], 0.0)
        similarity = np.round(np.sqrt(total) @ roots[run].T / _root_sizes(total), DIGITS)
        groups, topics = linear_sum_assignment(similarity, maximize=True)
        found[run] = NONE
        found[run, groups] = topics
        total[groups] += counts[run][topics]
    return found


def mean_topics(counts: Sequence[FloatArray], groups: IntArray) -> FloatArray:
    """The mean tokens of the topics in each group, (n_groups, n_words): (Σ √S / m)² of m topics.

    This is the Hellinger mean. A word that only some of the topics have gets less than in the mean
    of tokens, so that groups differ more.
    """
    total = np.zeros((groups.shape[1], counts[0].shape[1]))
    for own, topics in zip(counts, groups, strict=True):
        is_there = topics != NONE
        total[is_there] += np.sqrt(own[topics[is_there]])
    mean: FloatArray = np.square(total / (groups != NONE).sum(axis=0)[:, None])
    return mean


def _root_sizes(counts: FloatArray) -> FloatArray:
    """The square roots of the sizes of topics, (n_topics, 1), one for topics without a token."""
    sizes = counts.sum(axis=1, keepdims=True)
    return np.sqrt(np.where(sizes > 0.0, sizes, 1.0))
