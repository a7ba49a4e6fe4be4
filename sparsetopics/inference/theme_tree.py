"""The tree of themes above the topics of a model: which topics are joined, down to one.

Topics are joined where the evidence of their words loses least (``merging``). Merges alone are
short-sighted: two topics that were joined early stay together. Therefore topics are first divided
into a few themes, and move between them while that raises the evidence. Each of these is divided
further in the same way. The tree then joins the topics of each theme before it joins themes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.inference.merging import Merging, merged_counts
from sparsetopics.inference.moves.merge import disjoint_pairs
from sparsetopics.kernels import pairs as pair_kernels
from sparsetopics.kernels.types import SparseShares

LEVELS = (10, 20, 40)  # themes, between which topics move
FEWEST_PER_THEME = 2  # topics on average, in such a level
ROUND_SHARE = 0.2  # of the groups, that are joined at once
SWEEPS = 3  # of moves, at most
FEWEST_TOKENS = 3.0  # of a word in a topic: to count smaller ones takes longer, and helps little


class Merge(NamedTuple):
    """Two groups of topics that become one. A group has the number of its first topic."""

    kept: int
    absorbed: int
    gain: float  # nats, of the evidence of the words; mostly negative


def theme_tree(
    counts: FloatArray, word_concentration: float, joined_first: Sequence[IntArray] = ()
) -> list[Merge]:
    """Return the merges of topics with ``counts`` (n_words, n_topics), from all of them to one.

    Topics are in falling order of weight, so a group has the number of its heaviest topic. Those
    with the same number in the first of ``joined_first``, (n_topics,), are joined first, then those
    with the same number in the next.
    """
    first = Merging.of(counts, word_concentration, FEWEST_TOKENS)
    if joined_first:
        own, *others = joined_first
        merging, merges = _merged(first, own, len(np.unique(own)))
        tops, joined = np.unique(merging.groups, return_index=True)[1], merging.groups
        later = theme_tree(
            merged_counts(counts, joined), word_concentration, [each[tops] for each in others]
        )
        return [*merges, *(Merge(int(tops[a]), int(tops[b]), gain) for a, b, gain in later)]
    levels = [np.zeros(first.n_groups, np.int64)]  # the themes of topics, the coarsest level first
    for n_themes in LEVELS:
        if FEWEST_PER_THEME * n_themes <= first.n_groups:
            groups = _merged(first, levels[-1], n_themes)[0].groups
            levels.append(_after_moves(first, levels[-1], groups))
    merges, merging = list[Merge](), first
    for families in reversed(levels):
        merging, made = _merged(merging, families, len(np.unique(families)))
        merges += made
    return merges


def groups_at(merges: Sequence[Merge], n_groups: int) -> IntArray:
    """The group of each topic, (n_topics,), where the tree has ``n_groups``; numbered as above.

    With ``n_groups`` above the number of topics, each is alone.
    """
    groups = np.arange(len(merges) + 1)
    for kept, absorbed, _ in merges[: max(0, len(groups) - n_groups)]:
        groups[groups == absorbed] = kept
    return np.unique(groups, return_inverse=True)[1]


def _merged(merging: Merging, families: IntArray, n_groups: int) -> tuple[Merging, list[Merge]]:
    """The groups after merges within ``families`` of topics to ``n_groups``, and these merges."""
    made = list[Merge]()
    while (surplus := merging.n_groups - n_groups) > 0:
        firsts = np.unique(merging.groups, return_index=True)[1]
        of_group, gains = families[firsts], merging.gains
        gains[of_group[:, None] != of_group] = -np.inf
        most = min(surplus, math.ceil(ROUND_SHARE * merging.n_groups))
        pairs = disjoint_pairs(gains, most=most)
        made += [Merge(int(firsts[a]), int(firsts[b]), float(gains[a, b])) for a, b in pairs]
        merging = merging.joined(pairs)
    return merging, made


def _after_moves(first: Merging, families: IntArray, groups: IntArray) -> IntArray:
    """The groups of topics after sweeps in which each moves to the best group of its family."""
    starts, numbers, values = first.rows
    n_words, order = len(starts) - 1, np.argsort(numbers, kind="stable")
    words = np.repeat(np.arange(n_words, dtype=np.uint32), np.diff(starts))
    of_topics = np.searchsorted(numbers[order], np.arange(first.n_groups + 1))
    topics = SparseShares(of_topics, words[order], values[order])
    groups, of_groups = groups.copy(), np.zeros((n_words, int(groups.max()) + 1))
    np.add.at(of_groups, (words, groups[numbers]), values)
    for _ in range(SWEEPS):
        arguments = topics, families, first.word_concentration, groups, of_groups
        if pair_kernels.move_topics_in_place(*arguments) == 0:
            break
    return np.unique(groups, return_inverse=True)[1]
