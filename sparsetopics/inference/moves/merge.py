"""Merges: two topics become one, r_m = r_a + r_b.

Plan: the gain of all pairs of neighbours is computed, exactly for words and entropies, and to first
order for the small prior of documents that use only one of the two. Propose: the best pairs are
chosen so that no topic is in two of them; one pass over the assignments gives the exact terms of
all. Accept: pairs are tested one after the other, each against the state that the earlier ones
left, with sticks optimised again (HDP15, MEMO13).

The gain has two parts: that of the data comes from the likelihood (``merge_gains``), that of the
weights from ``allocations.pair_gains``.
"""

from __future__ import annotations

from math import inf
from typing import Generic, NamedTuple, Self

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.inference.moves.evidence import Evidence, merged_numbers
from sparsetopics.inference.moves.standing import Made, MoveTally, Standing, Tools
from sparsetopics.model.allocations.allocation import MovableAllocation
from sparsetopics.model.assignments import Assignments, TopicChange
from sparsetopics.model.statistics import B, C, P, T

ROUNDS = 4  # a lap
WORTH_ANOTHER = 0.25  # of a round's proposals must be accepted for another round
NEIGHBOURS = 12  # of a topic by words, and as many by documents
HOPE = 20.0  # nats that the first-order gain may lack, since sticks and θ_d adapt


def merge_topics(standing: Standing[B, C, P, T]) -> Made[B, C, P, T]:
    """Merge the best pairs, in up to ``ROUNDS`` rounds as long as enough are accepted."""
    proposed = accepted = 0
    for _ in range(ROUNDS):
        pairs = disjoint_pairs(pair_gains(standing), least=-HOPE)  # kept < absorbed
        if len(pairs) == 0 or standing.n_topics <= standing.tools.fewest:
            break
        proposed += len(pairs)
        n_before = standing.n_topics
        standing = _merge_round(standing, pairs)
        n_made = n_before - standing.n_topics
        accepted += n_made
        if n_made < WORTH_ANOTHER * len(pairs):
            break
    return standing, MoveTally(proposed, accepted)


def disjoint_pairs(gains: FloatArray, *, most: float = inf, least: float = -inf) -> IntArray:
    """Pairs a < b without a common topic that gain more than ``least``, best first, (n_pairs, 2).

    ``gains`` is (n_topics, n_topics), of which only entries above the diagonal count. At most
    ``most`` pairs are returned.
    """
    a, b = np.nonzero(np.triu(gains > least, 1))
    used: set[int] = set()
    pairs: list[tuple[int, int]] = []
    for i in np.argsort(-gains[a, b], kind="stable").tolist():
        if len(pairs) >= most:
            break
        pair = int(a[i]), int(b[i])
        if used.isdisjoint(pair):
            used.update(pair)
            pairs.append(pair)
    return np.array(pairs, np.int64).reshape(-1, 2)


def pair_gains(standing: Standing[B, C, P, T]) -> FloatArray:
    """What merging topics a < b would add to the ELBO at the present weights, (K, K).

    Minus infinity for pairs that are neither alike nor used together.
    """
    n_topics = standing.n_topics
    batches = (assignments for _, assignments in standing.assignments())
    gains, together = standing.allocation.pair_gains(batches, standing.terms, standing.reference)
    pairs = _neighbours(standing.evidence.likeness(), together)
    of_data = np.full((n_topics, n_topics), -np.inf)
    gained = standing.likelihood.merge_gains(standing.evidence.components, pairs)
    of_data[pairs[:, 0], pairs[:, 1]] = gained
    return of_data + gains


def _neighbours(*likenesses: FloatArray) -> IntArray:
    """Pairs a < b of topics, one of which is among the nearest of the other, (n_pairs, 2)."""
    n_topics = len(likenesses[0])
    near = np.zeros((n_topics, n_topics), bool)
    for likeness in likenesses:
        np.fill_diagonal(likeness, -np.inf)
        nearest = np.argsort(-likeness, axis=1, kind="stable")[:, :NEIGHBOURS]
        near[np.arange(n_topics)[:, None], nearest] = True
    return np.argwhere(np.triu(near | near.T, 1))


def _measured(
    standing: Standing[B, C, P, T], pairs: IntArray
) -> tuple[dict[int, FloatArray], Evidence[B, C]]:
    """The terms of each batch as if every pair were merged, (5, n_pairs), and their evidence."""
    number = np.full(standing.n_topics, -1)
    number[pairs[:, 0]] = number[pairs[:, 1]] = np.arange(len(pairs))
    reference = standing.reference[pairs].sum(axis=1)
    joint = (
        (batch_id, Assignments(batch, found.renumbered(number)))
        for batch_id, (batch, found) in standing.assignments()
    )
    terms, evidence = standing.measure(standing.evidence.joint(pairs), reference, joint)
    return {batch_id: own.by_topic for batch_id, own in terms.items()}, evidence


class _Merged(NamedTuple, Generic[B, C, P, T]):
    """The state of a round: all that the score needs, by topic."""

    by_topic: FloatArray  # (n_topics,)  the data's part of the score
    terms: T
    allocation: MovableAllocation[B, T]
    score: float
    tools: Tools[B, C, P, T]

    def with_pair(self, kept: int, absorbed: int, joint: float, column: FloatArray) -> Self:
        """Merge two topics; sticks are optimised again only if that can change the decision."""
        by_topic = self.by_topic.copy()
        by_topic[kept] = joint
        by_topic = np.delete(by_topic, absorbed)
        columns = self.terms.by_topic  # sums over documents stay as they are
        columns[:, kept] = column
        terms = self.terms.with_topics(np.delete(columns, absorbed, axis=1))
        left, new_topics = merged_numbers(np.array([[kept, absorbed]]), len(self.by_topic))
        allocation = self.allocation.joined(new_topics, len(left))
        score = self.tools.score(by_topic, allocation, terms)
        if self.score - 2.0 * HOPE < score <= self.score:
            allocation = allocation.updated(terms)
            score = self.tools.score(by_topic, allocation, terms)
        return self._replace(by_topic=by_topic, terms=terms, allocation=allocation, score=score)


def _merge_round(standing: Standing[B, C, P, T], pairs: IntArray) -> Standing[B, C, P, T]:
    """Test ``pairs`` in their order and merge those that raise the score."""
    by_batch, joint = _measured(standing, pairs)
    columns, by_pair = np.sum(list(by_batch.values()), axis=0), joint.by_topic
    by_topic, tools = standing.evidence.by_topic, standing.tools
    merged = _Merged(by_topic, standing.terms, standing.allocation, standing.score, tools)
    number = np.arange(standing.n_topics)
    made = []
    for p, (kept, absorbed) in enumerate(pairs.tolist()):
        if len(merged.by_topic) <= standing.tools.fewest:
            break
        a, b = int(number[kept]), int(number[absorbed])
        trial = merged.with_pair(a, b, by_pair[p], columns[:, p])
        if trial.score > merged.score:
            merged = trial
            made.append(p)
            number[number > b] -= 1
            number[absorbed] = a
    if not made:
        return standing
    kept = np.setdiff1d(np.arange(standing.n_topics), pairs[made, 1])
    reference: FloatArray = np.bincount(number, standing.reference).astype(np.float64)
    terms = {}
    for batch_id, memoized in standing.state.per_batch.items():
        of_batch = memoized.terms.by_topic
        of_batch[:, pairs[made, 0]] = by_batch[batch_id][:, made]
        terms[batch_id] = memoized.terms.with_topics(of_batch[:, kept])
    allocation = merged.allocation.updated(merged.terms)
    evidence = standing.evidence.merged(pairs[made], joint.take(np.array(made)))
    change = TopicChange(number, {}, len(kept))
    return standing.committed(change, terms, allocation, reference, evidence)
