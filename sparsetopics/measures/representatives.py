"""Which documents represent a topic, and which of their words they owe to it.

The documents with the largest shares E[π_dk] are poor examples for two reasons:

* Most of them are short. Three words that all belong to a topic say less than half of a long
  article does. So documents are ordered by the lower end of the interval of a share, which is wide
  for few words.
* Others have words that no other document has. A topic that was given a rare word keeps it, however
  little it has to do with the rest of the topic. So a document counts as far as it uses the core of
  the topic: the words that make up half of it.

A document in which another topic has a larger share comes after all those in which the topic leads.

Collections repeat themselves, and one source often has the purest documents. So near-duplicates are
shown once, and groups of documents take turns as parties do when seats are given out by the
Imperiali method: the second document of a group counts two thirds, the third one half, the fourth
two fifths. With the divisors of D'Hondt (1/2, 1/3, 1/4), topics of one group only would soon have
documents of others that are mostly about something else.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray

QUANTILE = 1.96  # of the normal distribution, for an interval of 95 %
CORE = 0.5  # of the probability of a topic
NEAR_DUPLICATE = 0.8  # of the tokens of two documents are in both
SHORTLIST = 4  # documents looked at first, for each that is wanted


class Candidate(NamedTuple):
    """A document that may represent a topic."""

    place: int  # in the corpus, which orders equally good documents
    group: str | None
    share: float  # E[π_dk]
    bound: float  # lower end of the interval of what counts of it
    leads: bool  # whether no other topic has a larger share
    words: DocumentBatch  # of the document alone

    def rank(self, n_before: int) -> tuple[bool, float]:
        """Smaller is better, with ``n_before`` documents of its group before it."""
        return not self.leads, -self.bound / (1.0 + 0.5 * n_before)


# --- how much a document shows of a topic ---------------------------------------------------------
def core_words(topic_word: FloatArray, topics: Sequence[int]) -> csr_array:
    """Return the core of each of ``topics``, (n_chosen, n_words): 1/its probability at its words.

    The core is the fewest words that have half of the probability of the topic. They are from the
    words that are more probable in it than in the mean of all topics, (n_all_topics, n_words), or
    from all words if those are less than half of it.
    """
    mean = topic_word.mean(axis=0)
    rows, values, indptr = [], [], [0]
    for topic in topics:
        probabilities = topic_word[topic]
        half = CORE * probabilities.sum()
        own = np.flatnonzero(probabilities >= mean)
        if probabilities[own].sum() < half:
            own = np.arange(len(probabilities))
        order = own[np.argsort(-probabilities[own], kind="stable")]
        sums = probabilities[order].cumsum()
        n_words = min(int(np.searchsorted(sums, half)) + 1, len(sums))
        rows.append(np.sort(order[:n_words]))
        values.append(np.full(n_words, 1.0 / sums[n_words - 1]))
        indptr.append(indptr[-1] + n_words)
    parts = np.concatenate([*values, []]), np.concatenate([*rows, np.empty(0, np.int64)])
    return csr_array((*parts, indptr), shape=(len(topics), topic_word.shape[1]))


def typical_shares(shares: FloatArray, batch: DocumentBatch, core: csr_array) -> FloatArray:
    """Return the part of each share that counts, (n_docs, n_chosen).

    It is the share, but at most that which the tokens in the core of the topic would lead one to
    expect: their part of the document, divided by the probability of the core in the topic.
    """
    counts = batch.weights
    sizes = np.add.reduceat(counts, batch.indptr[:-1])
    documents = csr_array((counts, batch.word_ids, batch.indptr), (batch.n_docs, core.shape[1]))
    typical: FloatArray = np.minimum(shares, (documents @ core.T).toarray() / sizes[:, None])
    return typical


def share_bounds(shares: FloatArray, batch: DocumentBatch) -> FloatArray:
    """Return the lower end of the 95 % interval of each share, (n_docs, n_topics).

    It is that of Wilson (1927) for a share p of n draws,

        (p + z²/2n − z √(p(1 − p)/n + z²/4n²)) / (1 + z²/n).

    A word that occurs again says less than a new one, so n is not the number of tokens but
    (Σ_v x_dv)² / Σ_v x_dv² (Kish 1965): the number of words if all are equally frequent, and 1 for
    one word said a hundred times. It also has a meaning where counts are weights.
    """
    counts, starts = batch.weights, batch.indptr[:-1]  # of documents, none of which is empty
    n = np.add.reduceat(counts, starts) ** 2 / np.add.reduceat(counts**2, starts)
    n, z = n[:, None], QUANTILE
    spread = np.sqrt(shares * (1.0 - shares) / n + z * z / (4.0 * n * n))
    return (shares + z * z / (2.0 * n) - z * spread) / (1.0 + z * z / n)


def has_near_duplicate(document: DocumentBatch, others: Sequence[DocumentBatch]) -> bool:
    """Whether Σ_v min(x_v, y_v) ≥ 0.8 Σ_v max(x_v, y_v) for one of ``others``, each alone.

    Documents that are equally long are near-duplicates if they have eight ninths of their tokens
    in common.
    """
    if not others:
        return False
    joined = DocumentBatch.joined(others)
    places = np.searchsorted(document.word_ids, joined.word_ids)
    places = np.minimum(places, document.n_pairs - 1)
    is_in_both = document.word_ids[places] == joined.word_ids
    own, counts = document.weights[places] * is_in_both, joined.weights
    starts = joined.indptr[:-1]
    both = np.add.reduceat(np.minimum(own, counts), starts)
    sizes = np.add.reduceat(counts, starts) + document.n_tokens
    return bool((both >= NEAR_DUPLICATE * (sizes - both)).any())


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

    def entry(group: str | None) -> tuple[tuple[bool, float], int, str | None]:
        return queues[group][-1].rank(n_chosen[group]), queues[group][-1].place, group

    heads = [entry(group) for group in queues]
    heapq.heapify(heads)
    chosen: list[Candidate] = []
    while heads and len(chosen) < n:
        group = heads[0][-1]
        best = queues[group].pop()
        if not has_near_duplicate(best.words, [each.words for each in chosen]):
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
    core: csr_array,  # (n_chosen, n_words)  of these topics
    n: int,
    places: Sequence[int],  # (n_docs,)
) -> list[list[Candidate]]:
    """Return the ``n`` best documents of a batch for each of ``topics``, as ``choose`` does."""
    leaders = shares.max(axis=1)
    bounds = share_bounds(typical_shares(shares[:, topics], batch, core), batch)
    number_of = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    numbers = np.array([number_of[group] for group in groups], np.int64)
    found = []
    for own, bound in zip(shares[:, topics].T, bounds.T, strict=True):
        leads = own >= leaders
        rows = _in_order(leads, bound, numbers)
        chosen: list[Candidate] = []
        n_seen = 0
        while len(chosen) < n and n_seen < len(rows):  # more than once if many are near-duplicates
            n_seen = SHORTLIST * max(n, n_seen)
            candidates = [
                Candidate(
                    places[row], groups[row], float(own[row]), float(bound[row]), bool(leads[row]),
                    batch[row : row + 1],
                )
                for row in rows[:n_seen].tolist()
            ]  # fmt: skip
            chosen = choose(candidates, n)
        found.append(chosen)
    return found


def _in_order(leads: NDArray[np.bool_], bounds: FloatArray, groups: IntArray) -> IntArray:
    """Rows in the order in which ``choose`` takes them if there are no near-duplicates."""
    best_first = np.lexsort((-bounds, ~leads))
    by_group = best_first[np.argsort(groups[best_first], kind="stable")]
    starts = np.searchsorted(groups[by_group], groups[by_group])
    n_before = np.empty(len(groups), np.int64)
    n_before[by_group] = np.arange(len(groups)) - starts
    return np.lexsort((-bounds / (1.0 + 0.5 * n_before), ~leads))


# --- their words ----------------------------------------------------------------------------------
def leading_words(
    document: DocumentBatch,  # alone
    shares: FloatArray,  # (n_topics,)  π_d
    topic_word: FloatArray,  # (n_topics, n_words)
    topic: int,
    core: IntArray,  # (n_core_words,)  of the topic
    n_words: int,
) -> IntArray:
    """Return the ids of the core words of a document that give a topic most tokens, best first.

    The tokens of word v in document d that belong to topic k are x_dv π_dk φ_kv / Σ_j π_dj φ_jv.
    """
    is_core = np.isin(document.word_ids, core)
    ids, counts = document.word_ids[is_core].astype(np.int64), document.weights[is_core]
    joint = shares[:, None] * topic_word[:, ids]
    owed = counts * joint[topic] / joint.sum(axis=0)
    return ids[np.argsort(-owed, kind="stable")[:n_words]]
