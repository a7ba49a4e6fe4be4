"""Topics that begin with the documents which hold words of a list, and the lists of topics.

A list of words that a user names has several topics at first. Each begins as a part of the
documents with at least two of the words. A topic belongs to the list whose words are at least twice
as frequent in it as in the other topics. Topics of two lists are not merged as long as there are
enough topics for all lists; any other topic may be merged with one of a list. No prior favours the
words: laps learn these topics from the documents as they learn all others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray, Source
from sparsetopics.model.document_counts import rows_of
from sparsetopics.model.likelihoods.document_seeds import mixed_counts

STARTS = 3  # topics of a list at first, if there are enough in all
START_SHARE = 0.3  # of a start, that comes from its documents; the rest is the background
FEWEST_WORDS = 2  # different ones of the list, that these documents hold
LEAST_LIFT = 2.0  # times as often as all other topics, at least, one of a list holds its words
LEAST_SHARE = 0.002  # of the tokens of a topic, that are of its list
LEAST_TOKENS = 5.0  # of a list in one of its topics; fewer may be there by chance
NO_LIST = -1
Guidance = tuple[IntArray, ...]  # word ids of each list; one without any has no topic


def lists_of(guidance: Guidance, counts: FloatArray) -> IntArray:
    """The list of each topic with these ``counts``, (n_words, n_topics); or ``NO_LIST``."""
    own = np.array([counts[words].sum(axis=0) for words in guidance])
    sizes, others = counts.sum(axis=0), own.sum(axis=1, keepdims=True) - own
    shares = own / np.maximum(sizes, 1.0)
    in_others = np.maximum(others, 1.0) / np.maximum(sizes.sum() - sizes, 1.0)
    is_enough = (shares >= LEAST_SHARE) & (own >= LEAST_TOKENS)
    lift = np.where(is_enough, shares / in_others, 0.0)
    return np.where(lift.max(axis=0) >= LEAST_LIFT, lift.argmax(axis=0), NO_LIST)


def begin_in_place(
    guidance: Guidance, counts: FloatArray, source: Source[DocumentBatch], rng: np.random.Generator
) -> None:
    """Replace the first of the topics with ``counts``, (n_words, n_topics), by those of lists.

    Each document belongs to one start of a list. A start without a document of two words is
    made of those with one; without any document, the topic stays as it is.
    """
    used = [words for words in guidance if len(words)]
    n_starts = max(1, min(STARTS, counts.shape[1] // (2 * len(used))))
    places = np.repeat(np.arange(len(used)), [len(words) for words in used])
    ones = np.ones(len(places)), (np.concatenate(used), places)
    is_in = sparse.csr_array(ones, (source.n_columns, len(used)))
    # For each number of words, the sums of the documents of each start
    nothing = sparse.csr_array((len(used) * n_starts, source.n_columns))
    sums, background = [nothing] * FEWEST_WORDS, np.zeros(source.n_columns)
    for batch_id in range(source.n_batches):
        rows = rows_of(source.read(batch_id), source.n_columns)
        background += np.asarray(rows.sum(axis=0)).ravel()
        n_found = (rows.sign() @ is_in).toarray()
        start = rng.integers(n_starts, size=rows.shape[0])
        for fewest in range(FEWEST_WORDS):
            documents, places = np.nonzero(n_found > fewest)
            parts = np.ones(len(documents)), (places * n_starts + start[documents], documents)
            belongs = sparse.csr_array(parts, (nothing.shape[0], rows.shape[0]))
            sums[fewest] = sums[fewest] + belongs @ rows
    has_two = np.diff(sums[1].indptr) > 0
    seeds = sparse.csr_array(has_two[:, None] * sums[1] + ~has_two[:, None] * sums[0])
    begun = np.flatnonzero(np.diff(seeds.indptr))
    n_tokens = source.n_tokens * len(begun) / counts.shape[1]
    background /= background.sum()
    counts[:, begun] = mixed_counts(seeds[begun], background, START_SHARE, n_tokens)


def are_apart(lists: IntArray, groups: IntArray) -> NDArray[np.bool_]:
    """Whether pairs of ``groups`` of topics, (n_topics,), are of two lists; a group is of at most
    one of the ``lists``, (n_topics,). The result is (n_groups, n_groups)."""
    of_groups = np.full(int(groups.max()) + 1, NO_LIST)
    np.maximum.at(of_groups, groups, lists)
    is_of_list = of_groups != NO_LIST
    apart: NDArray[np.bool_] = (of_groups[:, None] != of_groups) & is_of_list[:, None] & is_of_list
    return apart
