"""Numba kernels of the local step of documents: how a document begins, restarts and ends.

``sweeps`` has the iterations and explains the two local updates. Numba's on-disk cache notices
changes in this file only: clear the cache after editing ``sweeps`` or ``types``. Letters: d
document, u word type of a document, v row of the table of counts, k topic, j column, i.e. a topic
that the document may use.

The same code serves all sparsities: L = K gives dense responsibilities, L = 1 hard assignments.
"""

from __future__ import annotations

import math

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray, WordIds
from sparsetopics.kernels.special import exp_digamma, fast_log, log_gamma
from sparsetopics.kernels.sweeps import (
    ONE,
    QUANTUM,
    SMALLEST,
    TINY,
    F,
    iterate,
    move_column,
    prune,
    rest,
    round_shares,
    scale_weights,
    sweep,
)
from sparsetopics.kernels.types import (
    COUNT,
    MASS,
    OWN,
    PRIOR,
    PRODUCT,
    SAVED,
    SCALED,
    TOTAL,
    WEIGHT,
    ZERO,
    Float32Array,
    Lists,
    Matrix,
    Schedule,
    SparseShares,
    Weights,
    cut_lanes,
    cut_rows,
    inner,
    kernel,
    make_matrix,
    make_rows,
    padded,
)

MASS_BITS = 30  # of the whole numbers in which a document's tokens are counted
LARGEST_SHIFT = 100  # keeps both a token and a whole number within float32


# --- the beginning --------------------------------------------------------------------------------
@inner
def _count_words(counts: FloatArray, collapsed: bool, matrix: Matrix) -> tuple[float, F]:
    """Fill in rows of counts; return the document's length, and a whole number in tokens."""
    n_words, length = counts.shape[0], 0.0
    for u in range(n_words):
        length += counts[u]
    bits = min(MASS_BITS - math.frexp(length)[1], LARGEST_SHIFT)
    scale = F(math.ldexp(1.0, bits))
    for u in range(n_words):
        matrix.by_word[COUNT, u] = counts[u]
        matrix.by_word[SCALED, u] = F(counts[u]) * scale
        matrix.by_word[OWN, u] = F(min(counts[u], 1.0)) if collapsed else F(0.0)
    matrix.by_word[: OWN + 1, n_words:] = F(0.0)
    return length, F(1.0) / scale


@inner
def _largest(values: Float32Array) -> F:
    largest = F(0.0)
    for i in range(values.shape[0]):
        largest = max(largest, values[i])
    return largest


@inner
def _recall(former: SparseShares, d: int, minimum_mass: F, matrix: Matrix) -> int:
    """Make columns of the topics of the document's last visit; return how many."""
    first, last = former.starts[d], former.starts[d + 1]
    largest = _largest(former.shares[first:last])
    n_columns = 0
    for i in range(first, last):
        if former.shares[i] > minimum_mass or former.shares[i] == largest:
            matrix.topic_of[n_columns] = former.topics[i]
            matrix.columns[MASS, n_columns] = former.shares[i]
            n_columns += 1
    return n_columns


@inner
def _sum_lists(words: WordIds, lists: Lists, matrix: Matrix) -> None:
    """N_k by each word's best L topics under equal proportions."""
    masses, counts = matrix.by_topic[0], matrix.by_word[COUNT]
    masses[:] = F(0.0)
    for u in range(words.shape[0]):
        v = words[u]
        for slot in range(lists.topics.shape[1]):
            masses[lists.topics[v, slot]] += counts[u] * lists.shares[v, slot]


@inner
def _sum_lists_again(
    words: WordIds,
    lists: Lists,
    prior: FloatArray,
    collapsed: bool,
    minimum_mass: F,
    matrix: Matrix,
) -> None:
    """N_k after a sweep over the same lists, without light topics."""
    masses, weights, counts = matrix.by_topic[0], matrix.by_topic[1], matrix.by_word[COUNT]
    largest = _largest(masses)
    for k in range(masses.shape[0]):
        weight = masses[k] + F(prior[k])
        weight = weight if collapsed else exp_digamma(np.float64(weight))
        weights[k] = weight if masses[k] > minimum_mass or masses[k] == largest else F(0.0)
        masses[k] = F(0.0)
    for u in range(words.shape[0]):
        v, own, total = words[u], matrix.by_word[OWN, u], SMALLEST
        topics, shares = lists.topics[v], lists.shares[v]
        for slot in range(topics.shape[0]):
            total += shares[slot] * max(weights[topics[slot]] - own * shares[slot], TINY)
        scale = F(1.0) / total
        for slot in range(topics.shape[0]):
            product = shares[slot] * max(weights[topics[slot]] - own * shares[slot], TINY)
            masses[topics[slot]] += counts[u] * (scale * product)


@inner
def _begin_cold(
    words: WordIds,
    lists: Lists,
    prior: FloatArray,
    schedule: Schedule,
    length: float,
    minimum_mass: F,
    matrix: Matrix,
) -> int:
    """Make columns of the topics that matter by the words' best L topics; return how many."""
    _sum_lists(words, lists, matrix)
    if schedule.column_share > 0.0:
        _sum_lists_again(words, lists, prior, schedule.collapsed, minimum_mass, matrix)
    masses = matrix.by_topic[0]
    floor, largest = max(minimum_mass, F(schedule.column_share * length)), _largest(masses)
    n_columns = 0
    for k in range(masses.shape[0]):
        matrix.topic_of[n_columns] = k
        matrix.columns[MASS, n_columns] = masses[k]
        n_columns += 1 if masses[k] > floor or masses[k] == largest else 0
    return n_columns


@inner
def _gather(words: WordIds, weights: Weights, n_columns: int, matrix: Matrix) -> None:
    """w_ju of all columns."""
    table, eta, inverse_totals = weights
    gathered, topic_of = matrix.weights, matrix.topic_of
    for u in range(words.shape[0]):
        v = words[u]
        for j in range(n_columns):
            k = topic_of[j]
            gathered[j, u] = (table[v, k] + eta) * inverse_totals[k]


@inner
def _gather_without_own(
    words: WordIds,
    counts: FloatArray,
    weights: Weights,
    own: SparseShares,
    first: int,
    share: float,
    n_columns: int,
    matrix: Matrix,
) -> None:
    """w_ju = (S_vk − f c_u r_uk + η) / (N_k − f N_dk + Vη) of all columns.

    r and N_d are those of the last visit. Topics need not rise within a row of ``own``.
    """
    table, eta, inverse_totals = weights
    masses, column_of = np.zeros(inverse_totals.shape[0]), np.full(inverse_totals.shape[0], -1)
    numerators = np.empty((n_columns, words.shape[0]))
    for j in range(n_columns):
        column_of[matrix.topic_of[j]] = j
    for u, v in enumerate(words):
        for j in range(n_columns):
            numerators[j, u] = table[v, matrix.topic_of[j]] + eta
        for i in range(own.starts[first + u], own.starts[first + u + 1]):
            k, put_in = own.topics[i], counts[u] * own.shares[i]
            masses[k] += put_in
            if column_of[k] >= 0:
                numerators[column_of[k], u] = max(table[v, k] - share * put_in, 0.0) + eta
    for j in range(n_columns):
        k = matrix.topic_of[j]
        # Rounding must not take away Vη, or weights could be negative or infinite.
        inverse = 1.0 / max(1.0 / inverse_totals[k] - share * masses[k], table.shape[0] * eta)
        for u in range(words.shape[0]):
            matrix.weights[j, u] = numerators[j, u] * inverse


# --- restarts -------------------------------------------------------------------------------------
@inner
def _document_score(counts: FloatArray, n_active: int, matrix: Matrix) -> float:
    """The document's ELBO right after a mean-field sweep, up to terms that no restart changes.

    With r = w P / Z, Σ_u x Σ_k r (log w − log r) = Σ_u x log Z_u − Σ_k N_k log P_k, and at
    θ = N + α the Dirichlet part is Σ_k lnΓ(N_k + α_k) (HDP15, restart proposals).
    """
    score, columns = 0.0, matrix.columns
    for u in range(counts.shape[0]):
        score -= counts[u] * fast_log(np.float64(matrix.by_word[TOTAL, u]))  # 1 / Z_u
    for j in range(n_active):
        mass, prior = np.float64(columns[MASS, j]), np.float64(columns[PRIOR, j])
        if mass > 0.0:
            score += log_gamma(mass + prior) - log_gamma(prior)
            score -= mass * fast_log(np.float64(max(columns[WEIGHT, j], TINY)))
    return score


@inner
def _lightest_above(threshold: F, n_active: int, masses: Float32Array) -> int:
    """The active column with the least mass above ``threshold``, or -1."""
    found = -1
    for j in range(n_active):
        if masses[j] > threshold and (found < 0 or masses[j] < masses[found]):
            found = j
    return found


@inner
def _set_aside(j: int, n_active: int, spare: int, matrix: Matrix) -> None:
    """Move a column to place ``spare``, and close the gap."""
    move_column(j, spare, matrix)
    for place in range(j, n_active - 1):
        move_column(place + 1, place, matrix)


@inner
def _put_back(j: int, n_active: int, spare: int, matrix: Matrix) -> None:
    """Undo ``_set_aside``."""
    for place in range(n_active - 1, j, -1):
        move_column(place - 1, place, matrix)
    move_column(spare, j, matrix)


@inner
def _try_restarts(
    counts: FloatArray,
    n_active: int,
    n_slots: int,
    minimum_mass: F,
    token: F,
    schedule: Schedule,
    tallies: IntArray,
    matrix: Matrix,
) -> int:
    """Leave out one small topic after another; keep what raises the document's score (HDP15).

    A mean-field step follows from N_k alone, so only N_k is saved. After a refusal N_k is restored,
    and one more step makes the responsibilities from it; that step cannot lower the score. Returns
    the number of active columns.
    """
    columns, spare = matrix.columns, matrix.weights.shape[0] - 1
    score = _document_score(counts, n_active, matrix)
    threshold, refused = F(0.0), n_active < 0  # False, but no literal: see ``ZERO``
    for _ in range(schedule.restarts):
        lightest = _lightest_above(threshold, n_active, columns[MASS])
        if n_active < 2 or lightest < 0:
            break
        threshold = columns[MASS, lightest]
        for j in range(n_active):  # assignments of slices take a second to compile
            columns[SAVED, j] = columns[MASS, j]
        n_trial = n_active - 1
        _set_aside(lightest, n_active, spare, matrix)
        for i in range(schedule.restart_iterations):
            rest(n_trial, columns)
            sweep(n_trial, n_slots, i == 0, schedule.collapsed, token, matrix)
        proposed = _document_score(counts, n_trial, matrix)
        refused = proposed <= score
        tallies[0] += 1
        if refused:
            _put_back(lightest, n_active, spare, matrix)
            for j in range(n_active):
                columns[MASS, j] = columns[SAVED, j]
        else:
            score, n_active = proposed, prune(n_trial, minimum_mass, matrix)
            tallies[1] += 1
    if refused:
        rest(n_active, columns)
        sweep(n_active, n_slots, refused, schedule.collapsed, token, matrix)
    return n_active


# --- whole documents ------------------------------------------------------------------------------
@inner
def _round_shares(n_words: int, n_active: int, n_slots: int, matrix: Matrix) -> None:
    """Make shares whole numbers of quanta that add up to one; the largest takes the rest."""
    round_shares(n_active, n_slots, matrix)
    for u in range(n_words):
        matrix.shares[int(matrix.by_word[PRODUCT, u]), u] += ONE - matrix.by_word[TOTAL, u]


@inner
def fit_document(
    words: WordIds,  # (n_unique,)  rows of the table and of the lists
    counts: FloatArray,  # (n_unique,)
    weights: Weights,
    lists: Lists,  # needed for a cold start only
    prior: FloatArray,  # (n_topics,)  α_k
    schedule: Schedule,
    former: SparseShares,  # topics of the last visits; no entries for a cold start
    d: int,  # the document's row in ``former``
    own: SparseShares,  # what the last visits put into the counts; empty if all of it stays there
    first: int,  # the document's first row in ``own``
    n_slots: int,
    tallies: IntArray,  # (3,)  restarts proposed, accepted, sweeps: added to
    matrix: Matrix,  # with rows for the document's words
) -> int:
    """Local step of one document; leaves its N_k in row MASS and its shares, in quanta.

    A cold start begins with uniform π_d. A warm start begins with the N_k of an earlier visit; it
    uses no other topics and needs few sweeps. Returns the number of active columns. Sources:
    SPARSE16 Alg. 1 (L-sparse selection and its schedule), HDP15 (restarts), Asuncion et al. 2009
    (collapsed update).
    """
    length, token = _count_words(counts, schedule.collapsed, matrix)
    minimum_mass = F(min(schedule.minimum_mass, schedule.largest_pruned * length))
    if former.starts[d + 1] > former.starts[d]:
        n_columns = _recall(former, d, minimum_mass, matrix)
    else:
        n_columns = _begin_cold(words, lists, prior, schedule, length, minimum_mass, matrix)
    matrix.weights[:n_columns, words.shape[0] :] = F(1.0)  # beyond the last word
    share = schedule.own_share
    if share > 0.0:
        _gather_without_own(words, counts, weights, own, first, share, n_columns, matrix)
    else:
        _gather(words, weights, n_columns, matrix)
    scale_weights(n_columns, matrix)
    matrix.shares[:n_columns] = F(0.0)
    for j in range(n_columns):
        matrix.columns[PRIOR, j] = prior[matrix.topic_of[j]]
    rest(n_columns, matrix.columns)
    n_active, n_sweeps = iterate(n_columns, n_slots, minimum_mass, token, schedule, matrix)
    tallies[2] += n_sweeps
    if schedule.restarts > 0:
        n_active = _try_restarts(
            counts, n_active, n_slots, minimum_mass, token, schedule, tallies, matrix
        )
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
    words: WordIds,  # (n_pairs,)
    counts: FloatArray,  # (n_pairs,)
    weights: Weights,
    lists: Lists,
    prior: FloatArray,  # (n_topics,)
    schedule: Schedule,
    former: SparseShares,  # (n_docs)  topics of the last visits
    own: SparseShares,  # (n_pairs)  what they put into the counts; not read if all of it stays
    n_slots: int,
    tallies: IntArray,  # (3,)  added to
    doc_topic_counts: FloatArray,  # (n_docs, n_topics) zeros, to take N_dk; or no rows
) -> tuple[SparseShares, SparseShares]:
    """Local steps of consecutive documents.

    Returns the responsibilities, a row for each pair, and the N_k, a row for each document; topics
    rise within a row. Shares are multiples of 2⁻²⁰ that add up to one. If ``doc_topic_counts`` has
    rows, only N_k is kept, there. One kernel does both because it takes long to compile.
    """
    n_docs, n_topics, is_dense = indptr.shape[0] - 1, prior.shape[0], len(doc_topic_counts) > 0
    n_pairs = indptr[-1] - indptr[0]
    n_entries = 0 if is_dense else n_pairs * n_slots
    whole = make_matrix(n_topics, n_slots, _longest(indptr))
    found = make_rows(n_pairs, n_entries)
    topics = make_rows(n_docs, min(n_entries, n_docs * n_topics))
    n_shares = n_found = ZERO
    for d in range(n_docs):
        lo, hi = indptr[d], indptr[d + 1]
        if hi > lo:
            matrix = cut_lanes(whole, padded(hi - lo))
            n_active = fit_document(
                words[lo:hi], counts[lo:hi], weights, lists, prior, schedule, former, d, own,
                lo - indptr[0], n_slots, tallies, matrix,
            )  # fmt: skip
            if is_dense:
                for j in range(n_active):
                    doc_topic_counts[d, matrix.topic_of[j]] = matrix.columns[MASS, j]
                continue
            _round_shares(hi - lo, n_active, n_slots, matrix)
            n_found = _write_topics(counts[lo:hi], n_active, topics, n_found, matrix)
            n_shares = _write_shares(lo - indptr[0], hi - lo, n_active, found, n_shares, matrix)
        topics.starts[d + 1] = n_found
    return cut_rows(found, n_shares), cut_rows(topics, n_found)


@inner
def _write_topics(
    counts: FloatArray, n_active: int, rows: SparseShares, filled: int, matrix: Matrix
) -> int:
    """Append the document's N_k by its rounded shares; return the entries filled so far."""
    for j in range(n_active):
        mass = 0.0
        for u in range(counts.shape[0]):
            mass += counts[u] * np.float64(matrix.shares[j, u])
        if mass > 0.0:
            rows.topics[filled] = matrix.topic_of[j]
            rows.shares[filled] = mass * QUANTUM
            filled += 1
    return filled


@inner
def _write_shares(
    first_pair: int, n_words: int, n_active: int, rows: SparseShares, filled: int, matrix: Matrix
) -> int:
    """Append the document's responsibilities; return the entries filled so far."""
    for u in range(n_words):
        for j in range(n_active):
            share = matrix.shares[j, u]
            if share > F(0.0):
                rows.topics[filled] = matrix.topic_of[j]
                rows.shares[filled] = share * QUANTUM
                filled += 1
        rows.starts[first_pair + u + 1] = filled
    return filled
