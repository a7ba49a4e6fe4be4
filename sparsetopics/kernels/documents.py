"""Numba kernels of the document step. Arrays in, arrays out: no objects, no drawing, no logging.

``_sweep_kernels`` has the iterations, ``_restart_kernels`` the restarts. Numba's on-disk cache
notices changes in this file alone: who edits those two clears it. Letters: d document, u word type
of a document, v row of the batch's word-topic weights, k topic, l slot of an L-sparse
responsibility, j column: a topic that the document's first step left in it. Columns rise by topic,
and inner loops never see K.

One document step serves every path. ``sparsity`` L = K is the dense step, L = 1 hard assignment.
The two local updates differ in one line each:

mean-field   r_uk ∝ w_vk exp ψ(N_k + α_k),   w_vk = exp E[log φ_kv]  (all words, then N at once)
collapsed    r_uk ∝ w_vk (N_k − r_uk + α_k), w_vk = E[φ_kv]          (N follows word by word)
"""

from __future__ import annotations

import numba
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
    Float32Array,
    Rows,
    Schedule,
    TopicIds,
    Workspace,
    inner,
    make_workspace,
)

SELECT_ALWAYS_UNTIL = 5  # the top L are chosen anew in these first iterations,
SELECT_WARM_UNTIL = 2  # or in these, where a document begins with its former topics,
SELECT_EVERY = 10  # and then every so many


@inner
def fit_document(
    words: Rows,  # (n_unique,)  rows of the weights
    counts: FloatArray,  # (n_unique,)
    weights: Float32Array,  # (n_rows, n_topics)
    first_topics: TopicIds,  # (n_rows, n_slots); of warm documents the first is enough
    prior: FloatArray,  # (n_topics,)  α_k
    schedule: Schedule,
    former_topics: TopicIds,  # (n_former,)  of the document's last visit; none: start cold
    former_counts: Float32Array,  # (n_former,)
    topics: TopicIds,  # (n_unique, n_slots)  overwritten
    shares: FloatArray,  # (n_unique, n_slots)  overwritten
    tallies: IntArray,  # (3,)  restarts proposed, accepted, iterations: added to
    work: Workspace,
) -> int:
    """Local step of one document; leaves N_k in row MASS.

    From a cold start under uniform π_d, or from the N_k of an earlier visit: no other topics then,
    and few iterations. Returns the number of active columns. Every word type gets exactly n_slots
    slots; unused ones name topic 0 and have no share. Sources: SPARSE16 Alg. 1 (L-sparse
    selection and its schedule), HDP15 (restarts), Asuncion et al. 2009 (collapsed update).
    """
    if words.shape[0] == 0:
        return 0
    minimum_mass = min(schedule.minimum_mass, schedule.largest_pruned * counts.sum())
    is_warm = former_topics.shape[0] > 0
    if is_warm:
        recall(former_topics, former_counts, topics, work)
    else:
        first_step(words, counts, weights, first_topics, topics, shares, work)
    n_active = n_columns = gather_columns(words, weights, prior, minimum_mass, topics, work)
    n_used = topics.shape[1]
    if is_warm:
        n_active, n_used = warm_step(
            words, counts, weights, first_topics, schedule.collapsed, minimum_mass, n_columns,
            topics, shares, work,
        )  # fmt: skip
    select_until = SELECT_WARM_UNTIL if is_warm else SELECT_ALWAYS_UNTIL
    for i in range(schedule.max_iterations):
        reselect = i < select_until or i % SELECT_EVERY == 0
        n_active, n_used, change = iterate(
            counts, schedule.collapsed, reselect, minimum_mass, n_columns,
            n_active, n_used, topics, shares, work,
        )  # fmt: skip
        tallies[2] += 1
        if change < schedule.tolerance:
            break
    if schedule.restarts > 0:
        n_active, n_used = try_restarts(
            counts,
            schedule,
            minimum_mass,
            n_columns,
            n_active,
            n_used,
            topics,
            shares,
            tallies,
            work,
        )
    finish(counts, n_active, n_used, topics, shares, work)
    return n_active


@numba.njit(cache=True, nogil=True)
def fit_block(
    indptr: IntArray,  # (n_docs + 1,)  positions in the batch's pairs
    words: Rows,  # (n_pairs,)
    counts: FloatArray,  # (n_pairs,)
    weights: Float32Array,  # (n_rows, n_topics)
    first_topics: TopicIds,  # (n_rows, n_slots); of warm documents the first is enough
    prior: FloatArray,  # (n_topics,)
    schedule: Schedule,
    former_starts: IntArray,  # (n_docs + 1,)  rows of the next two, what documents begin with
    former_topics: TopicIds,  # (n_former,)
    former_counts: Float32Array,  # (n_former,)
    topics: TopicIds,  # (n_pairs, n_slots)  this block's rows overwritten
    shares: FloatArray,  # (n_pairs, n_slots)  this block's rows overwritten
    tallies: IntArray,  # (3,)  added to
) -> None:
    """Local steps of consecutive documents."""
    longest = 0
    for d in range(indptr.shape[0] - 1):
        longest = max(longest, indptr[d + 1] - indptr[d])
    work = make_workspace(prior.shape[0], topics.shape[1], longest)
    for d in range(indptr.shape[0] - 1):
        lo, hi = indptr[d], indptr[d + 1]
        entries = slice(former_starts[d], former_starts[d + 1])
        fit_document(
            words[lo:hi], counts[lo:hi], weights, first_topics, prior, schedule,
            former_topics[entries], former_counts[entries], topics[lo:hi], shares[lo:hi],
            tallies, work,
        )  # fmt: skip


@numba.njit(cache=True, nogil=True)
def infer_block(
    indptr: IntArray,
    words: Rows,
    counts: FloatArray,
    weights: Float32Array,
    first_topics: TopicIds,
    prior: FloatArray,
    schedule: Schedule,
    doc_topic_counts: FloatArray,  # (n_docs, n_topics)  overwritten with N_dk
) -> None:
    """Local steps of consecutive documents, keeping only their topic counts."""
    longest = 0
    for d in range(indptr.shape[0] - 1):
        longest = max(longest, indptr[d + 1] - indptr[d])
    n_slots = first_topics.shape[1]
    work = make_workspace(prior.shape[0], n_slots, longest)
    topics = np.zeros((longest, n_slots), np.uint32)
    shares = np.zeros((longest, n_slots))
    tallies = np.zeros(3, np.int64)
    no_topics, no_counts = np.zeros(0, np.uint32), np.zeros(0, np.float32)
    for d in range(indptr.shape[0] - 1):
        lo, hi = indptr[d], indptr[d + 1]
        n_active = fit_document(
            words[lo:hi], counts[lo:hi], weights, first_topics, prior, schedule,
            no_topics, no_counts, topics[: hi - lo], shares[: hi - lo], tallies, work,
        )  # fmt: skip
        for k in range(prior.shape[0]):
            doc_topic_counts[d, k] = 0.0
        for i in range(n_active):
            j = work.ids[ACTIVE, i]
            doc_topic_counts[d, work.ids[TOPIC_OF, j]] = work.columns[MASS, j]
