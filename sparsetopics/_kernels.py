"""Numba kernels of the document step. Arrays in, arrays out: no objects, no drawing, no logging.

Kernels that call each other stand in one file, because numba's on-disk cache does not notice a
change in another file. Letters: d document, u word type of a document, v row of the batch's
word-topic weights, k topic, l slot of an L-sparse responsibility, j column: a topic that the
document's first step left in it. Columns rise by topic, and inner loops never see K.

One document step serves every path. ``sparsity`` L = K is the dense step, L = 1 hard assignment.
The two local updates differ in one line each:

mean-field   r_uk ∝ w_vk exp ψ(N_k + α_k),   w_vk = exp E[log φ_kv]  (all words, then N at once)
collapsed    r_uk ∝ w_vk (N_k − r_uk + α_k), w_vk = E[φ_kv]          (N follows word by word)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from sparsetopics.batches import FloatArray, IntArray

Float32Array = NDArray[np.float32]
TopicIds = NDArray[np.uint32]
Rows = NDArray[np.uint32]

SELECT_ALWAYS_UNTIL = 5  # the top L are chosen anew in these first iterations,
SELECT_EVERY = 10  # and then every so many


# Only what Python calls needs wrappers and a place in the on-disk cache; the rest compiles faster.
_INNER: Any = {
    "nogil": True,
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
Kernel = TypeVar("Kernel", bound=Callable[..., object])


def _inner(kernel: Kernel) -> Kernel:
    """Compile a function that only other kernels call."""
    return cast(Kernel, numba.njit(**_INNER)(kernel))


class Schedule(NamedTuple):
    """How a document is iterated; plain numbers, so that kernels can take it whole."""

    collapsed: bool
    max_iterations: int
    tolerance: float  # tokens: stop when no N_k moved by more
    restarts: int  # topics tried per document, 0 for none
    restart_iterations: int
    minimum_mass: float = 1e-8  # tokens: a topic with no more leaves; the heaviest never does
    largest_pruned: float = 1.0  # share of a document's tokens: a topic with more stays


# Rows of Workspace.columns, one number per column.
MASS, NEW_MASS = 0, 1  # N_k now and after a mean-field sweep
PRIOR = 2  # α_k
WEIGHT = 3  # exp ψ(N_k + α_k), or N_k + α_k when collapsed
CHOICE_WEIGHT = 4  # the same at the start of a sweep, zero if negligible
OWN = 5  # one word's shares, zero between words
SAVED_MASS = 6

# Rows of Workspace.ids.
TOPIC_OF, COLUMN_OF = 0, 1  # the topic of a column, the column of a topic
ACTIVE = 2  # columns by falling weight; the first n_active are in use
CANDIDATE = 3  # columns one word may choose
SAVED_ACTIVE = 4


class Workspace(NamedTuple):
    """One document's scratch arrays, made once per block: few, as numba compiles each slowly.

    The last column is spare: slots of pruned topics point at it, and its weight is always zero.
    """

    columns: FloatArray  # (7, n_topics + 1)
    ids: TopicIds  # (5, n_topics + 1)
    local: Float32Array  # (longest document · n_topics,)  w_vk by word and column, without gaps
    kept: Float32Array  # (longest document, n_slots + 1)  w_vk of the slots; the row's largest
    normalizers: FloatArray  # (longest document,)
    products: FloatArray  # (n_topics + 1,)  of the candidates of one word
    keys: IntArray  # the same memory, as integers


@numba.njit(cache=True, nogil=True)
def digamma(x: float) -> float:
    """ψ(x) for x > 0: recurrence up to 6, then the asymptotic series (error below 1e-13)."""
    shift = 0.0
    while x < 6.0:
        shift += 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    series = y * (
        1 / 12
        - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132 - y * (691 / 32760 - y / 12)))))
    )
    return math.log(x) - 0.5 / x - series - shift


@_inner
def make_workspace(n_topics: int, n_slots: int, longest: int) -> Workspace:
    """Scratch arrays for documents of at most ``longest`` word types."""
    products = np.zeros(n_topics + 1)
    return Workspace(
        np.zeros((7, n_topics + 1)),
        np.zeros((5, n_topics + 1), np.uint32),
        np.zeros(longest * n_topics, np.float32),
        np.zeros((longest, n_slots + 1), np.float32),
        np.zeros(longest),
        products,
        products.view(np.int64),
    )


@_inner
def _first_step(
    words: Rows,  # (n_unique,)  rows of the weights
    counts: FloatArray,  # (n_unique,)
    weights: Float32Array,  # (n_rows, n_topics)
    first_topics: TopicIds,  # (n_rows, n_slots)
    topics: TopicIds,  # (n_unique, n_slots)  overwritten
    shares: FloatArray,  # (n_unique, n_slots)  overwritten
    work: Workspace,
) -> None:
    """Responsibilities under uniform π_d, and their N_k by topic in row NEW_MASS."""
    n_unique, n_slots = topics.shape
    columns, kept = work.columns, work.kept
    for k in range(columns.shape[1]):
        columns[NEW_MASS, k] = 0.0
    for u in range(n_unique):
        v = words[u]
        total = 0.0
        for slot in range(n_slots):
            k = topics[u, slot] = first_topics[v, slot]
            kept[u, slot] = weights[v, k]
            total += kept[u, slot]
        kept[u, n_slots] = kept[u, 0]
        for slot in range(n_slots):
            shares[u, slot] = kept[u, slot] / total
            columns[NEW_MASS, topics[u, slot]] += counts[u] * shares[u, slot]


@_inner
def _gather_columns(
    words: Rows,
    weights: Float32Array,
    prior: FloatArray,  # (n_topics,)
    minimum_mass: float,
    topics: TopicIds,  # overwritten with columns
    work: Workspace,
) -> int:
    """Keep the topics that the first step left in the document; return how many."""
    columns, ids, local = work.columns, work.ids, work.local
    n_topics = prior.shape[0]
    heaviest = 0
    for k in range(n_topics):
        if columns[NEW_MASS, k] > columns[NEW_MASS, heaviest]:
            heaviest = k
    n_columns = 0
    for k in range(n_topics):
        ids[COLUMN_OF, k] = n_topics
        if columns[NEW_MASS, k] > minimum_mass or k == heaviest:
            ids[COLUMN_OF, k] = n_columns
            ids[TOPIC_OF, n_columns] = k
            ids[ACTIVE, n_columns] = n_columns
            columns[MASS, n_columns] = columns[NEW_MASS, k]
            columns[PRIOR, n_columns] = prior[k]
            n_columns += 1
    columns[CHOICE_WEIGHT, n_topics] = 0.0
    for u in range(topics.shape[0]):
        first = u * n_columns
        for j in range(n_columns):
            local[first + j] = weights[words[u], ids[TOPIC_OF, j]]
        for slot in range(topics.shape[1]):
            topics[u, slot] = ids[COLUMN_OF, topics[u, slot]]
    return n_columns


@_inner
def _prune(n_active: int, minimum_mass: float, work: Workspace) -> int:
    """Drop the columns that left, order the rest by falling N_k + α_k; return how many."""
    columns, ids = work.columns, work.ids
    heaviest = ids[ACTIVE, 0]
    for i in range(n_active):
        if columns[MASS, ids[ACTIVE, i]] > columns[MASS, heaviest]:
            heaviest = ids[ACTIVE, i]
    n_left = 0
    for i in range(n_active):
        j = ids[ACTIVE, i]
        if columns[MASS, j] <= minimum_mass and j != heaviest:
            columns[MASS, j] = 0.0
            columns[WEIGHT, j] = 0.0
            columns[CHOICE_WEIGHT, j] = 0.0
            continue
        value = columns[MASS, j] + columns[PRIOR, j]
        place = n_left  # insertion: from one selection to the next the order hardly changes
        while place > 0:
            before = ids[ACTIVE, place - 1]
            if columns[MASS, before] + columns[PRIOR, before] >= value:
                break
            ids[ACTIVE, place] = before
            place -= 1
        ids[ACTIVE, place] = j
        n_left += 1
    return n_left


@_inner
def _weigh_topics(n_active: int, collapsed: bool, work: Workspace) -> None:
    """Set the topic weights from N_k, and the sums of a mean-field sweep to zero."""
    columns = work.columns
    for i in range(n_active):
        j = work.ids[ACTIVE, i]
        value = columns[MASS, j] + columns[PRIOR, j]
        weight = value if collapsed else math.exp(digamma(value))
        columns[WEIGHT, j] = weight
        columns[CHOICE_WEIGHT, j] = weight
        columns[NEW_MASS, j] = 0.0


@_inner
def _keep_largest(n_candidates: int, n_slots: int, work: Workspace) -> None:
    """Put the candidates of the largest products first, ties to the lower column.

    Floats that are not negative are ordered as their bits are as integers. The last bits make room
    for the column, so that the largest key tells both, without a branch that depends on the data.
    """
    ids, keys = work.ids, work.keys
    columns_mask = np.int64(1)
    while columns_mask < ids.shape[1]:
        columns_mask <<= 1
    columns_mask -= 1
    for i in range(n_candidates):
        keys[i] = (keys[i] & ~columns_mask) | (columns_mask - np.int64(ids[CANDIDATE, i]))
    last = np.int64(np.iinfo(np.int64).max)
    for slot in range(n_slots):
        best = np.int64(-1)
        for i in range(n_candidates):
            best = max(best, keys[i] if keys[i] < last else np.int64(-1))
        ids[CANDIDATE, slot] = columns_mask - (best & columns_mask)
        last = best


@_inner
def _choose(
    counts: FloatArray,
    collapsed: bool,
    n_columns: int,  # of the document
    n_active: int,
    n_used: int,  # slots in use
    topics: TopicIds,
    shares: FloatArray,
    work: Workspace,
) -> int:
    """Choose each word's top L columns anew, its shares going along; return the slots in use.

    The best are sought by the weights at the start of the sweep. The slots there are bound the
    products of the best from below, which mostly leaves hardly more than L candidates.
    """
    columns, ids, local, kept = work.columns, work.ids, work.local, work.kept
    products, n_slots = work.products, topics.shape[1]
    n_next: int = min(n_slots, n_active)
    for u in range(counts.shape[0]):
        own = u * n_columns
        floor = np.inf if n_used == n_slots and n_slots < n_active else 0.0
        for slot in range(n_used):
            j = topics[u, slot]
            floor = min(floor, kept[u, slot] * columns[CHOICE_WEIGHT, j])
            columns[OWN, j] = shares[u, slot]
        if n_slots < n_active:  # as many other products bound the best from below as well
            heaviest = np.inf
            for i in range(n_slots):
                j = ids[ACTIVE, i]
                heaviest = min(heaviest, local[own + j] * columns[CHOICE_WEIGHT, j])
            floor = max(floor, heaviest)
        n_candidates = 0
        for i in range(n_active):
            j = ids[ACTIVE, i]
            if kept[u, n_slots] * columns[CHOICE_WEIGHT, j] < floor:
                break
            product = local[own + j] * columns[CHOICE_WEIGHT, j]
            products[n_candidates] = product
            ids[CANDIDATE, n_candidates] = j
            n_candidates += 1 if product >= floor else 0
        if n_candidates > n_slots:
            _keep_largest(n_candidates, n_slots, work)
        for slot in range(n_next):
            j = ids[CANDIDATE, slot]
            shares[u, slot] = columns[OWN, j]
            kept[u, slot] = local[own + j]
            columns[OWN, j] = 0.0
        for slot in range(n_used):
            j = topics[u, slot]
            if collapsed:  # what is not taken along leaves N_k
                columns[WEIGHT, j] -= counts[u] * columns[OWN, j]
            columns[OWN, j] = 0.0
        for slot in range(n_next):
            topics[u, slot] = ids[CANDIDATE, slot]
    return n_next


@_inner
def _sweep(
    counts: FloatArray,
    collapsed: bool,
    n_used: int,
    topics: TopicIds,
    shares: FloatArray,
    work: Workspace,
) -> None:
    """Re-weigh the slots of every word once.

    Mean-field responsibilities all follow the same weights and add up to the new N_k. Collapsed
    ones leave one token's own share out, and move N_k + α_k word by word.
    """
    columns, kept, products = work.columns, work.kept, work.products
    sums = WEIGHT if collapsed else NEW_MASS
    left_out = 1.0 if collapsed else 0.0
    for u in range(counts.shape[0]):
        total = 0.0
        for slot in range(n_used):
            weight = columns[WEIGHT, topics[u, slot]] - left_out * shares[u, slot]
            product = kept[u, slot] * max(weight, 0.0)
            products[slot] = product
            total += product
        work.normalizers[u] = total
        if total <= 0.0:  # every product underflowed: the word goes to its first slot
            products[0] = total = 1.0
        scale = 1.0 / total
        for slot in range(n_used):
            share = products[slot] * scale
            columns[sums, topics[u, slot]] += counts[u] * (share - left_out * shares[u, slot])
            shares[u, slot] = share


@_inner
def _settle_mass(n_active: int, collapsed: bool, work: Workspace) -> float:
    """Make the N_k of the sweep current; return the largest change."""
    change = 0.0
    for i in range(n_active):
        j = work.ids[ACTIVE, i]
        mass = (
            max(work.columns[WEIGHT, j] - work.columns[PRIOR, j], 0.0)
            if collapsed
            else work.columns[NEW_MASS, j]
        )
        change = max(change, abs(mass - work.columns[MASS, j]))
        work.columns[MASS, j] = mass
    return change


@_inner
def _iterate(
    counts: FloatArray,
    collapsed: bool,
    reselect: bool,
    minimum_mass: float,
    n_columns: int,
    n_active: int,
    n_used: int,
    topics: TopicIds,
    shares: FloatArray,
    work: Workspace,
) -> tuple[int, int, float]:
    """One iteration; return the active columns, the slots in use and the largest change."""
    if reselect:
        n_active = _prune(n_active, minimum_mass, work)
    _weigh_topics(n_active, collapsed, work)
    if reselect:
        n_used = _choose(counts, collapsed, n_columns, n_active, n_used, topics, shares, work)
    _sweep(counts, collapsed, n_used, topics, shares, work)
    return n_active, n_used, _settle_mass(n_active, collapsed, work)


@_inner
def _document_score(counts: FloatArray, n_active: int, work: Workspace) -> float:
    """The document's ELBO right after a mean-field sweep, up to terms no proposal changes.

    With r = w P / Z, Σ_u x Σ_k r (log w − log r) = Σ_u x log Z_u − Σ_k N_k log P_k, and at
    θ = N + α the Dirichlet part is Σ_k lnΓ(N_k + α_k) (MATH: restart proposals, HDP15).
    """
    score = 0.0
    for u in range(counts.shape[0]):
        if work.normalizers[u] <= 0.0:
            return -np.inf
        score += counts[u] * math.log(work.normalizers[u])
    for i in range(n_active):
        j = work.ids[ACTIVE, i]
        mass = work.columns[MASS, j]
        if mass > 0.0:
            score += math.lgamma(mass + work.columns[PRIOR, j]) - math.lgamma(
                work.columns[PRIOR, j]
            )
            score -= mass * math.log(work.columns[WEIGHT, j])
    return score


@_inner
def _smallest_above(threshold: float, n_active: int, work: Workspace) -> int:
    """The active column with the least mass above ``threshold``, or -1."""
    found = -1
    for i in range(n_active):
        j = work.ids[ACTIVE, i]
        if work.columns[MASS, j] > threshold and (
            found < 0 or work.columns[MASS, j] < work.columns[MASS, found]
        ):
            found = j
    return found


@_inner
def _copy_masses(
    n_active: int, from_ids: int, from_mass: int, to_ids: int, to_mass: int, work: Workspace
) -> None:
    """Copy the active columns and their N_k between two pairs of rows."""
    for i in range(n_active):
        j = work.ids[from_ids, i]
        work.ids[to_ids, i] = j
        work.columns[to_mass, j] = work.columns[from_mass, j]


@_inner
def _try_restarts(
    counts: FloatArray,
    schedule: Schedule,
    minimum_mass: float,
    n_columns: int,
    n_active: int,
    n_used: int,
    topics: TopicIds,
    shares: FloatArray,
    tallies: IntArray,  # (3,)  proposed, accepted, iterations: added to
    work: Workspace,
) -> tuple[int, int]:
    """Empty one small topic after another; keep what raises the document's score (HDP15).

    A mean-field step follows from N_k alone, so only N_k is kept for the way back; the step from
    there that ends a row of refusals cannot lower the score.
    """
    score = _document_score(counts, n_active, work)
    threshold, refused = 0.0, False
    for _ in range(schedule.restarts):
        column = _smallest_above(threshold, n_active, work)
        if n_active < 2 or column < 0:
            break
        threshold = work.columns[MASS, column]
        _copy_masses(n_active, ACTIVE, MASS, SAVED_ACTIVE, SAVED_MASS, work)
        work.columns[MASS, column] = 0.0
        n_trial = n_active
        for i in range(schedule.restart_iterations):
            n_trial, n_used, _ = _iterate(
                counts, schedule.collapsed, i == 0, minimum_mass, n_columns,
                n_trial, n_used, topics, shares, work,
            )  # fmt: skip
        proposed = _document_score(counts, n_trial, work)
        refused = proposed <= score
        tallies[0] += 1
        if refused:
            _copy_masses(n_active, SAVED_ACTIVE, SAVED_MASS, ACTIVE, MASS, work)
        else:
            score, n_active = proposed, n_trial
            tallies[1] += 1
    if refused:
        n_active, n_used, _ = _iterate(
            counts, schedule.collapsed, refused, 0.0, n_columns,
            n_active, n_used, topics, shares, work,
        )  # fmt: skip
    return n_active, n_used


@_inner
def _finish(
    counts: FloatArray,
    n_active: int,
    n_used: int,
    topics: TopicIds,
    shares: FloatArray,
    work: Workspace,
) -> None:
    """Sum N_k once more from the shares, free of rounding drift; write topics for columns."""
    for i in range(n_active):
        work.columns[MASS, work.ids[ACTIVE, i]] = 0.0
    for u in range(counts.shape[0]):
        for slot in range(n_used):
            j = topics[u, slot]
            work.columns[MASS, j] += counts[u] * shares[u, slot]
            topics[u, slot] = work.ids[TOPIC_OF, j]
        for slot in range(n_used, topics.shape[1]):
            topics[u, slot] = 0
            shares[u, slot] = 0.0


@_inner
def fit_document(
    words: Rows,  # (n_unique,)  rows of the weights
    counts: FloatArray,  # (n_unique,)
    weights: Float32Array,  # (n_rows, n_topics)
    first_topics: TopicIds,  # (n_rows, n_slots)
    prior: FloatArray,  # (n_topics,)  α_k
    schedule: Schedule,
    topics: TopicIds,  # (n_unique, n_slots)  overwritten
    shares: FloatArray,  # (n_unique, n_slots)  overwritten
    tallies: IntArray,  # (3,)  restarts proposed, accepted, iterations: added to
    work: Workspace,
) -> int:
    """Local step of one document, from a cold start; leaves N_k in row MASS.

    Returns the number of active columns. Every word type gets exactly n_slots slots;
    unused ones name topic 0 and have no share. Sources: SPARSE16 Alg. 1 (L-sparse selection and
    its schedule), HDP15 (restarts), Asuncion et al. 2009 (collapsed update).
    """
    if words.shape[0] == 0:
        return 0
    _first_step(words, counts, weights, first_topics, topics, shares, work)
    minimum_mass = min(schedule.minimum_mass, schedule.largest_pruned * counts.sum())
    n_active = n_columns = _gather_columns(words, weights, prior, minimum_mass, topics, work)
    n_used = topics.shape[1]
    for i in range(schedule.max_iterations):
        reselect = i < SELECT_ALWAYS_UNTIL or i % SELECT_EVERY == 0
        n_active, n_used, change = _iterate(
            counts, schedule.collapsed, reselect, minimum_mass, n_columns,
            n_active, n_used, topics, shares, work,
        )  # fmt: skip
        tallies[2] += 1
        if change < schedule.tolerance:
            break
    if schedule.restarts > 0:
        n_active, n_used = _try_restarts(
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
    _finish(counts, n_active, n_used, topics, shares, work)
    return n_active


@numba.njit(cache=True, nogil=True)
def fit_block(
    indptr: IntArray,  # (n_docs + 1,)  positions in the batch's pairs
    words: Rows,  # (n_pairs,)
    counts: FloatArray,  # (n_pairs,)
    weights: Float32Array,  # (n_rows, n_topics)
    first_topics: TopicIds,  # (n_rows, n_slots)
    prior: FloatArray,  # (n_topics,)
    schedule: Schedule,
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
        fit_document(
            words[lo:hi], counts[lo:hi], weights, first_topics, prior, schedule,
            topics[lo:hi], shares[lo:hi], tallies, work,
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
    for d in range(indptr.shape[0] - 1):
        lo, hi = indptr[d], indptr[d + 1]
        n_active = fit_document(
            words[lo:hi], counts[lo:hi], weights, first_topics, prior, schedule,
            topics[: hi - lo], shares[: hi - lo], tallies, work,
        )  # fmt: skip
        for k in range(prior.shape[0]):
            doc_topic_counts[d, k] = 0.0
        for i in range(n_active):
            j = work.ids[ACTIVE, i]
            doc_topic_counts[d, work.ids[TOPIC_OF, j]] = work.columns[MASS, j]
