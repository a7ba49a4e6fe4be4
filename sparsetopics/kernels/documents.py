"""Numba kernels of the local step of documents.

``sweeps`` has the iterations and ``restarts`` the restarts. Numba's on-disk cache notices changes
in this file only: clear the cache after editing those two. Letters: d document, u word type of a
document, v row of the batch's word-topic weights, k topic, slot one of the L topics to which an
L-sparse responsibility may go, j column, i.e. a topic that the document's first step left in it.
Inner loops run over columns, never over all K topics.

The same code serves all sparsities: L = K gives dense responsibilities, L = 1 hard assignments. The
two local updates differ in one line each:

mean-field   r_uk ∝ w_vk exp ψ(N_k + α_k),   w_vk = exp E[log φ_kv]  (all words, then N at once)
collapsed    r_uk ∝ w_vk (N_k − r_uk + α_k), w_vk = E[φ_kv]          (N follows word by word)
"""

from __future__ import annotations

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.kernels.restarts import try_restarts
from sparsetopics.kernels.sweeps import (
    finish,
    first_step,
    gather_columns,
    iterate,
    recall,
    warm_step,
)
from sparsetopics.kernels.types import (
    ACTIVE,
    MASS,
    TOPIC_OF,
    Document,
    Float32Array,
    Rows,
    Schedule,
    TopicIds,
    Workspace,
    inner,
    kernel,
    make_workspace,
)

# The top L topics of each word are chosen anew in the first few iterations, and then rarely.
SELECT_ALWAYS_UNTIL = 5  # after a cold start
SELECT_WARM_UNTIL = 2  # after a warm start
SELECT_EVERY = 10


@inner
def fit_document(
    document: Document,
    weights: Float32Array,  # (n_rows, n_topics)
    first_topics: TopicIds,  # (n_rows, n_slots); for warm documents the first is enough
    prior: FloatArray,  # (n_topics,)  α_k
    schedule: Schedule,
    former_topics: TopicIds,  # (n_former,)  of the document's last visit; empty for a cold start
    former_counts: Float32Array,  # (n_former,)
    tallies: IntArray,  # (3,)  restarts proposed, accepted, iterations: added to
    work: Workspace,
) -> int:
    """Local step of one document; leaves N_k in row MASS and returns the number of active columns.

    A cold start begins with uniform π_d. A warm start begins with the N_k of an earlier visit; it
    uses no other topics and needs few iterations. Every word gets exactly n_slots slots; unused
    ones name topic 0 and have no share. Sources: SPARSE16 Alg. 1 (L-sparse selection and its
    schedule), HDP15 (restarts), Asuncion et al. 2009 (collapsed update).
    """
    if document.words.shape[0] == 0:
        return 0
    minimum_mass = min(schedule.minimum_mass, schedule.largest_pruned * document.counts.sum())
    is_warm = former_topics.shape[0] > 0
    if is_warm:
        recall(former_topics, former_counts, document.topics, work)
    else:
        first_step(document, weights, first_topics, work)
    n_active = n_columns = gather_columns(document, weights, prior, minimum_mass, work)
    n_used = document.topics.shape[1]
    if is_warm:
        n_active, n_used = warm_step(
            document, weights, first_topics, schedule.collapsed, minimum_mass, n_columns, work
        )
    select_until = SELECT_WARM_UNTIL if is_warm else SELECT_ALWAYS_UNTIL
    for i in range(schedule.max_iterations):
        reselect = i < select_until or i % SELECT_EVERY == 0
        n_active, n_used, change = iterate(
            document, schedule.collapsed, reselect, minimum_mass, n_columns, n_active, n_used, work
        )
        tallies[2] += 1
        if change < schedule.tolerance:
            break
    if schedule.restarts > 0:
        n_active, n_used = try_restarts(
            document, schedule, minimum_mass, n_columns, n_active, n_used, tallies, work
        )
    finish(document, n_active, n_used, work)
    return n_active


@inner
def _longest(indptr: IntArray) -> int:
    """Word types of the longest document."""
    longest = 0
    for d in range(indptr.shape[0] - 1):
        longest = max(longest, indptr[d + 1] - indptr[d])
    return longest


@kernel
def fit_block(
    indptr: IntArray,  # (n_docs + 1,)  positions in the batch's pairs
    words: Rows,  # (n_pairs,)
    counts: FloatArray,  # (n_pairs,)
    weights: Float32Array,  # (n_rows, n_topics)
    first_topics: TopicIds,  # (n_rows, n_slots); for warm documents the first is enough
    prior: FloatArray,  # (n_topics,)
    schedule: Schedule,
    former_starts: IntArray,  # (n_docs + 1,)  rows of the next two, with which documents begin
    former_topics: TopicIds,  # (n_former,)
    former_counts: Float32Array,  # (n_former,)
    topics: TopicIds,  # (n_pairs, n_slots)  this block's rows overwritten
    shares: FloatArray,  # (n_pairs, n_slots)  this block's rows overwritten
    tallies: IntArray,  # (3,)  added to
) -> None:
    """Local steps of consecutive documents."""
    work = make_workspace(prior.shape[0], topics.shape[1], _longest(indptr))
    for d in range(indptr.shape[0] - 1):
        lo, hi = indptr[d], indptr[d + 1]
        document = Document(words[lo:hi], counts[lo:hi], topics[lo:hi], shares[lo:hi])
        entries = slice(former_starts[d], former_starts[d + 1])
        fit_document(
            document, weights, first_topics, prior, schedule,
            former_topics[entries], former_counts[entries], tallies, work,
        )  # fmt: skip


@kernel
def infer_block(
    indptr: IntArray,  # (n_docs + 1,)
    words: Rows,  # (n_pairs,)
    counts: FloatArray,  # (n_pairs,)
    weights: Float32Array,  # (n_rows, n_topics)
    first_topics: TopicIds,  # (n_rows, n_slots)
    prior: FloatArray,  # (n_topics,)
    schedule: Schedule,
    doc_topic_counts: FloatArray,  # (n_docs, n_topics)  overwritten with N_dk
) -> None:
    """Local steps of consecutive documents from a cold start, keeping only their topic counts."""
    longest, n_slots = _longest(indptr), first_topics.shape[1]
    work = make_workspace(prior.shape[0], n_slots, longest)
    topics = np.zeros((longest, n_slots), np.uint32)
    shares = np.zeros((longest, n_slots))
    tallies = np.zeros(3, np.int64)
    no_topics, no_counts = np.zeros(0, np.uint32), np.zeros(0, np.float32)
    for d in range(indptr.shape[0] - 1):
        lo, hi = indptr[d], indptr[d + 1]
        document = Document(words[lo:hi], counts[lo:hi], topics[: hi - lo], shares[: hi - lo])
        n_active = fit_document(
            document, weights, first_topics, prior, schedule, no_topics, no_counts, tallies, work
        )
        doc_topic_counts[d] = 0.0
        for i in range(n_active):
            j = work.ids[ACTIVE, i]
            doc_topic_counts[d, work.ids[TOPIC_OF, j]] = work.columns[MASS, j]
