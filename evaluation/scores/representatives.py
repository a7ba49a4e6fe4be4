"""Which documents represent a topic, and which of their words they owe to it.

The documents with the largest shares E[π_dk] are mostly the shortest: three words that all belong
to a topic say less than half of a long article does. So documents are ordered by the lower end of
the interval of their share, which is wide for few words. A document in which another topic has a
larger share comes after all those in which the topic leads.

Collections repeat themselves, and one source often has the purest documents. So near-duplicates are
shown once, and groups of documents take turns as parties do when seats are given out by the
D'Hondt method: the second document of a group counts half, the third one a third. A group thus gets
a second document before another group gets its first one only where it has more than twice as much
of the topic.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray

QUANTILE = 1.96  # of the normal distribution, for an interval of 95 %
NEAR_DUPLICATE = 0.8  # of the tokens of two documents are in both
SHORTLIST = 4  # documents looked at first, for each that is wanted


class Candidate(NamedTuple):
    """A document that may represent a topic."""

    place: tuple[int, int]  # row group and row, which order equally good documents
    group: str | None
    share: float  # E[π_dk]
    bound: float  # lower end of its interval
    leads: bool  # whether no other topic has a larger share
    words: DocumentBatch  # of the document alone

    def rank(self, n_before: int) -> tuple[bool, float]:
        """Smaller is better, with ``n_before`` documents of its group before it."""
        return not self.leads, -self.bound / (1 + n_before)


# --- how much a document shows of a topic ---------------------------------------------------------
def share_bounds(shares: FloatArray, batch: DocumentBatch) -> FloatArray:
    """Return the lower end of the 95 % interval of each share, (n_docs, n_topics).

    It is that of Wilson (1927) for a share p of n draws,

        (p + z²/2n − z √(p(1 − p)/n + z²/4n²)) / (1 + z²/n).

    A word that occurs again says less than a new one, so n is not the number of tokens but
    (Σ_v x_dv)² / Σ_v x_dv² (Kish 1965): the number of words if all are equally frequent, and 1 for
    one word said a hundred times. It also has a meaning where counts are weights.
    """
    counts, starts = batch.weights, batch.indptr[:-1]  # no document is empty
    n = np.add.reduceat(counts, starts) ** 2 / np.add.reduceat(counts**2, starts)
    n, z = n[:, None], QUANTILE
    spread = np.sqrt(shares * (1.0 - shares) / n + z * z / (4.0 * n * n))
    bounds: FloatArray = (shares + z * z / (2.0 * n) - z * spread) / (1.0 + z * z / n)
    return bounds


def are_near_duplicates(one: DocumentBatch, other: DocumentBatch) -> bool:
    """Whether Σ_v min(x_v, y_v) ≥ 0.8 Σ_v max(x_v, y_v) for two documents.

    If they are equally long, they have eight ninths of their tokens in common.
    """
    sizes = one.n_tokens, other.n_tokens
    if min(sizes) < NEAR_DUPLICATE * max(sizes):
        return False
    _, *pairs = np.intersect1d(one.word_ids, other.word_ids, True, return_indices=True)
    both = np.minimum(one.word_counts[pairs[0]], other.word_counts[pairs[1]]).sum(dtype=np.float64)
    return bool(both >= NEAR_DUPLICATE * (sum(sizes) - both))


# --- which of them to show ------------------------------------------------------------------------
def choose(candidates: Iterable[Candidate], n: int) -> list[Candidate]:
    """Return the ``n`` best documents, the best first, as the head of this module says.

    A document that is not chosen from some of the documents is not chosen from all of them, unless
    near-duplicates of the better ones are among the others.
    """
    queues: dict[str | None, list[Candidate]] = {}
    for candidate in sorted(candidates, key=lambda each: (each.rank(0), each.place), reverse=True):
        queues.setdefault(candidate.group, []).append(candidate)
    n_chosen = dict.fromkeys(queues, 0)

    def entry(group: str | None) -> tuple[tuple[bool, float], tuple[int, int], str | None]:
        return queues[group][-1].rank(n_chosen[group]), queues[group][-1].place, group

    heads = [entry(group) for group in queues]
    heapq.heapify(heads)
    chosen: list[Candidate] = []
    while heads and len(chosen) < n:
        group = heads[0][-1]
        best = queues[group].pop()
        if not any(are_near_duplicates(best.words, each.words) for each in chosen):
            chosen.append(best)
            n_chosen[group] += 1
        if queues[group]:
            heapq.heapreplace(heads, entry(group))
        else:
            heapq.heappop(heads)
    return chosen


def choose_from_batch(
    batch: DocumentBatch,
    shares: FloatArray,  # (n_docs, n_topics)  E[π_dk]
    groups: Sequence[str | None],  # (n_docs,)
    topics: Sequence[int],
    n: int,
    places: Sequence[tuple[int, int]],  # (n_docs,)
) -> list[list[Candidate]]:
    """Return the ``n`` best documents of a batch for each of ``topics``, as ``choose`` does."""
    leaders = shares.max(axis=1)
    bounds = share_bounds(shares, batch)
    number_of = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    numbers = np.array([number_of[group] for group in groups], np.int64)
    found = []
    for topic in topics:
        leads = shares[:, topic] >= leaders
        rows = _in_order(leads, bounds[:, topic], numbers)

        def candidate(row: int, topic: int = topic, leads: NDArray[np.bool_] = leads) -> Candidate:
            return Candidate(
                places[row], groups[row], float(shares[row, topic]), float(bounds[row, topic]),
                bool(leads[row]), batch.take(np.array([row])),
            )  # fmt: skip

        n_seen = SHORTLIST * n
        chosen = choose(map(candidate, rows[:n_seen].tolist()), n)
        while len(chosen) < n and n_seen < len(rows):  # many near-duplicates
            n_seen *= SHORTLIST
            chosen = choose(map(candidate, rows[:n_seen].tolist()), n)
        found.append(chosen)
    return found


def _in_order(leads: NDArray[np.bool_], bounds: FloatArray, groups: IntArray) -> IntArray:
    """Rows in the order in which ``choose`` takes them if there are no near-duplicates."""
    best_first = np.lexsort((-bounds, ~leads))
    by_group = best_first[np.argsort(groups[best_first], kind="stable")]
    starts = np.searchsorted(groups[by_group], groups[by_group])
    n_before = np.empty(len(groups), np.int64)
    n_before[by_group] = np.arange(len(groups)) - starts
    return np.lexsort((-bounds / (1 + n_before), ~leads))


# --- their words ----------------------------------------------------------------------------------
def leading_words(
    document: DocumentBatch,  # alone
    shares: FloatArray,  # (n_topics,)  π_d
    topic_word: FloatArray,  # (n_topics, n_words)
    topic: int,
    n_words: int,
) -> IntArray:
    """Return the ids of the words of a document that give a topic most tokens, best first.

    The tokens of word v in document d that belong to topic k are x_dv π_dk φ_kv / Σ_j π_dj φ_jv.
    """
    joint = shares[:, None] * topic_word[:, document.word_ids]
    owed = document.word_counts * joint[topic] / joint.sum(axis=0)
    order = np.argsort(-owed, kind="stable")[:n_words]
    return document.word_ids[order].astype(np.int64)
