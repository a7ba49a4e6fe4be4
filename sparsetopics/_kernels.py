"""Numba kernels of the document step. Arrays in, arrays out: no objects, no drawing, no logging.

Kernels that call each other stand in one file, because numba's on-disk cache does not notice a
change in another file. Letters: d document, u word type of a document, v row of the batch's
word-topic weights, k topic, l slot of an L-sparse responsibility.

One document step serves every path. ``sparsity`` L = K is the dense step, L = 1 hard assignment.
The two local updates differ in one line each:

mean-field   r_uk ∝ w_vk exp ψ(N_k + α_k),   w_vk = exp E[log φ_kv]  (all words, then N at once)
collapsed    r_uk ∝ w_vk (N_k − r_uk + α_k), w_vk = E[φ_kv]          (N follows word by word)
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from sparsetopics.batches import FloatArray, IntArray

Float32Array = NDArray[np.float32]
TopicIds = NDArray[np.uint32]
Rows = NDArray[np.uint32]

MINIMUM_MASS = 1e-8  # a topic below this many tokens has left the document
SELECT_ALWAYS_UNTIL = 5  # the top L are chosen anew in these first iterations,
SELECT_EVERY = 10  # and then every so many


class Schedule(NamedTuple):
    """How a document is iterated; plain numbers, so that kernels can take it whole."""

    collapsed: bool
    max_iterations: int
    tolerance: float  # tokens: stop when no N_k moved by more
    restarts: int  # topics tried per document, 0 for none
    restart_iterations: int


class Workspace(NamedTuple):
    """One document's scratch arrays, made once per block."""

    mass: FloatArray  # (n_topics,)  N_k
    new_mass: FloatArray  # (n_topics,)
    topic_weights: FloatArray  # (n_topics,)  exp ψ(N_k + α_k), or N_k + α_k when collapsed
    active: TopicIds  # (n_topics,)  by falling weight; the first n_active are in use
    choice_weights: FloatArray  # (n_topics,)  topic weights at the start of a sweep
    best: FloatArray  # (n_slots,)
    chosen: TopicIds  # (n_slots,)
    normalizers: FloatArray  # (longest document,)
    kept: FloatArray  # (longest document, n_slots)  w_vk of the slots
    saved_mass: FloatArray  # (n_topics,)
    saved_active: TopicIds  # (n_topics,)
    saved_topics: TopicIds  # (longest document, n_slots)
    saved_shares: FloatArray  # (longest document, n_slots)


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


@numba.njit(cache=True, nogil=True)
def mean_field_weights(
    counts: FloatArray,  # (n_rows, n_topics)  expected counts of the batch's words
    expected_log_totals: FloatArray,  # (n_topics,)  ψ(N_k + Vη)
    word_concentration: float,
    weights: Float32Array,  # (n_rows, n_topics)  overwritten
) -> None:
    """Fill ``weights`` with exp E[log φ_kv], each row scaled so that its largest entry is one."""
    n_rows, n_topics = counts.shape
    empty = digamma(word_concentration)  # most counts are exactly zero
    row = np.empty(n_topics)
    for v in range(n_rows):
        largest = -np.inf
        for k in range(n_topics):
            count = counts[v, k]
            value = empty if count == 0.0 else digamma(count + word_concentration)
            row[k] = value - expected_log_totals[k]
            largest = max(largest, row[k])
        for k in range(n_topics):
            weights[v, k] = math.exp(row[k] - largest)


@numba.njit(cache=True, nogil=True)
def collapsed_weights(
    counts: FloatArray,  # (n_rows, n_topics)
    inverse_totals: FloatArray,  # (n_topics,)  1 / (N_k + Vη)
    word_concentration: float,
    weights: Float32Array,  # (n_rows, n_topics)  overwritten
) -> None:
    """Fill ``weights`` with the posterior mean E[φ_kv]."""
    n_rows, n_topics = counts.shape
    for v in range(n_rows):
        for k in range(n_topics):
            weights[v, k] = (counts[v, k] + word_concentration) * inverse_totals[k]


@numba.njit(cache=True, nogil=True)
def _select(
    weights: Float32Array,  # (n_rows, n_topics)
    v: int,  # row of the word
    largest: float,  # its largest entry
    topic_weights: FloatArray,  # (n_topics,)
    active: TopicIds,  # (n_topics,)  by falling topic weight in the first n_active entries
    n_active: int,
    n_slots: int,
    best: FloatArray,  # (n_slots,)  overwritten with the products of the chosen, falling
    chosen: TopicIds,  # (n_slots,)  overwritten
) -> None:
    """The ``n_slots`` active topics with the largest product of weights, ties to the lower one.

    Topics come by falling weight, so the search ends where even the word's largest entry could
    not lift the next one above the last of the chosen: exact, and mostly short.
    """
    for j in range(n_active):
        k = active[j]
        if j >= n_slots and largest * topic_weights[k] < best[n_slots - 1]:
            break
        score = weights[v, k] * topic_weights[k]
        if j >= n_slots and score < best[n_slots - 1]:
            continue
        place = min(j, n_slots)
        while place > 0 and (
            best[place - 1] < score or (best[place - 1] == score and chosen[place - 1] > k)
        ):
            place -= 1
            if place < n_slots - 1:
                best[place + 1] = best[place]
                chosen[place + 1] = chosen[place]
        if place < n_slots:
            best[place] = score
            chosen[place] = k


@numba.njit(cache=True, nogil=True)
def top_topics(
    weights: Float32Array,  # (n_rows, n_topics)
    topics: TopicIds,  # (n_rows, n_slots)  overwritten
) -> None:
    """The largest ``n_slots`` weights of each row, falling, ties to the lower topic index.

    This is the first step of every document: under uniform π_d the best topics of a word depend
    on the word type alone, so they are found once per global update.
    """
    n_rows, n_topics = weights.shape
    n_slots = topics.shape[1]
    best = np.empty(n_slots)
    chosen = np.empty(n_slots, np.uint32)
    active = np.arange(n_topics).astype(np.uint32)
    uniform = np.ones(n_topics)
    for v in range(n_rows):
        _select(weights, v, np.inf, uniform, active, n_topics, n_slots, best, chosen)
        for slot in range(n_slots):
            topics[v, slot] = chosen[slot]


@numba.njit(cache=True, nogil=True)
def make_workspace(n_topics: int, n_slots: int, longest: int) -> Workspace:
    """Scratch arrays for documents of at most ``longest`` word types."""
    return Workspace(
        np.zeros(n_topics),
        np.zeros(n_topics),
        np.zeros(n_topics),
        np.zeros(n_topics, np.uint32),
        np.zeros(n_topics),
        np.zeros(n_slots),
        np.zeros(n_slots, np.uint32),
        np.zeros(longest),
        np.zeros((longest, n_slots)),
        np.zeros(n_topics),
        np.zeros(n_topics, np.uint32),
        np.zeros((longest, n_slots), np.uint32),
        np.zeros((longest, n_slots)),
    )


@numba.njit(cache=True, nogil=True)
def _first_step(
    words: Rows,  # (n_unique,)  rows of the weights
    counts: FloatArray,  # (n_unique,)
    weights: Float32Array,  # (n_rows, n_topics)
    first_topics: TopicIds,  # (n_rows, n_slots)
    topics: TopicIds,  # (n_unique, n_slots)  overwritten
    shares: FloatArray,  # (n_unique, n_slots)  overwritten
    work: Workspace,
) -> int:
    """Responsibilities under uniform π_d; return the number of active topics."""
    n_slots = first_topics.shape[1]
    n_active = work.mass.shape[0]
    for k in range(n_active):
        work.mass[k] = 0.0
        work.new_mass[k] = 0.0
        work.active[k] = k
    for u in range(words.shape[0]):
        v = words[u]
        total = 0.0
        for slot in range(n_slots):
            topics[u, slot] = first_topics[v, slot]
            work.kept[u, slot] = weights[v, topics[u, slot]]
            total += work.kept[u, slot]
        for slot in range(n_slots):
            shares[u, slot] = work.kept[u, slot] / total
            work.mass[topics[u, slot]] += counts[u] * shares[u, slot]
    return n_active


@numba.njit(cache=True, nogil=True)
def _weigh_topics(prior: FloatArray, collapsed: bool, n_active: int, work: Workspace) -> int:
    """Set the topic weights from N_k, drop topics that left, order the rest; return how many."""
    active, weights = work.active, work.topic_weights
    n_left = 0
    for j in range(n_active):
        k = active[j]
        mass = work.mass[k]
        if mass <= MINIMUM_MASS:
            work.mass[k] = 0.0
            weights[k] = 0.0
            continue
        value = mass + prior[k]
        weight = value if collapsed else math.exp(digamma(value))
        weights[k] = weight
        place = n_left  # insertion: from sweep to sweep the order hardly changes
        while place > 0 and weights[active[place - 1]] < weight:
            active[place] = active[place - 1]
            place -= 1
        active[place] = k
        n_left += 1
    for j in range(n_left):
        work.choice_weights[active[j]] = weights[active[j]]
    return n_left


@numba.njit(cache=True, nogil=True)
def _sweep(
    words: Rows,
    counts: FloatArray,
    weights: Float32Array,
    first_topics: TopicIds,
    collapsed: bool,
    n_active: int,
    n_used: int,  # slots in use
    reselect: bool,
    topics: TopicIds,
    shares: FloatArray,
    work: Workspace,
) -> float:
    """One pass over the word types: new responsibilities and N_k; return the largest change.

    The top L are chosen by the topic weights at the start of the sweep. When collapsed, the
    weights that make the responsibilities follow word by word: one token's own share is left
    out of the product, then the whole type moves.
    """
    best, chosen, kept = work.best, work.chosen, work.kept
    topic_weights, new_mass, active = work.topic_weights, work.new_mass, work.active
    normalizers, choice_weights = work.normalizers, work.choice_weights
    n_slots = topics.shape[1]
    n_next = min(n_slots, n_active) if reselect else n_used
    for u in range(words.shape[0]):
        count = counts[u]
        if collapsed:
            for slot in range(n_used):
                topic_weights[topics[u, slot]] -= shares[u, slot]
        if reselect:
            v = words[u]
            largest = weights[v, first_topics[v, 0]]
            _select(weights, v, largest, choice_weights, active, n_active, n_next, best, chosen)
            if collapsed:
                for slot in range(n_next):
                    best[slot] = weights[v, chosen[slot]] * topic_weights[chosen[slot]]
        else:
            for slot in range(n_next):
                best[slot] = kept[u, slot] * topic_weights[topics[u, slot]]
        if collapsed:
            for slot in range(n_used):
                topic_weights[topics[u, slot]] -= (count - 1.0) * shares[u, slot]
        if reselect:
            for slot in range(n_next):
                topics[u, slot] = chosen[slot]
                kept[u, slot] = weights[words[u], chosen[slot]]
            for slot in range(n_next, n_slots):
                shares[u, slot] = 0.0
        total = 0.0
        for slot in range(n_next):
            total += best[slot]
        normalizers[u] = total
        if total <= 0.0:  # every product underflowed: the word goes to its first slot
            best[0] = total = 1.0
        scale = 1.0 / total
        for slot in range(n_next):
            share = best[slot] * scale
            shares[u, slot] = share
            new_mass[topics[u, slot]] += count * share
            if collapsed:
                topic_weights[topics[u, slot]] += count * share
    return _settle_mass(n_active, work)


@numba.njit(cache=True, nogil=True)
def _settle_mass(n_active: int, work: Workspace) -> float:
    """Make the new N_k current; return the largest change."""
    change = 0.0
    for j in range(n_active):
        k = work.active[j]
        change = max(change, abs(work.new_mass[k] - work.mass[k]))
        work.mass[k] = work.new_mass[k]
        work.new_mass[k] = 0.0
    return change


@numba.njit(cache=True, nogil=True)
def _document_score(counts: FloatArray, prior: FloatArray, n_active: int, work: Workspace) -> float:
    """The document's ELBO right after a mean-field sweep, up to terms no proposal changes.

    With r = w P / Z, Σ_u x Σ_k r (log w − log r) = Σ_u x log Z_u − Σ_k N_k log P_k, and at
    θ = N + α the Dirichlet part is Σ_k lnΓ(N_k + α_k) (MATH: restart proposals, HDP15).
    """
    score = 0.0
    for u in range(counts.shape[0]):
        if work.normalizers[u] <= 0.0:
            return -np.inf
        score += counts[u] * math.log(work.normalizers[u])
    for j in range(n_active):
        k = work.active[j]
        mass = work.mass[k]
        if mass > 0.0:
            score += math.lgamma(mass + prior[k]) - math.lgamma(prior[k])
            score -= mass * math.log(work.topic_weights[k])
    return score


@numba.njit(cache=True, nogil=True)
def _smallest_above(threshold: float, n_active: int, work: Workspace) -> int:
    """The active topic with the least mass above ``threshold``, or -1."""
    found = -1
    for j in range(n_active):
        k = work.active[j]
        if work.mass[k] > threshold and (found < 0 or work.mass[k] < work.mass[found]):
            found = k
    return found


@numba.njit(cache=True, nogil=True)
def _copy_state(
    n_active: int,
    from_active: TopicIds,
    from_mass: FloatArray,
    from_topics: TopicIds,
    from_shares: FloatArray,
    active: TopicIds,
    mass: FloatArray,
    topics: TopicIds,
    shares: FloatArray,
    n_unique: int,
) -> None:
    """Copy what a restart may have to bring back; plain loops compile much faster than slices."""
    for j in range(n_active):
        k = from_active[j]
        active[j] = k
        mass[k] = from_mass[k]
    for u in range(n_unique):
        for slot in range(topics.shape[1]):
            topics[u, slot] = from_topics[u, slot]
            shares[u, slot] = from_shares[u, slot]


@numba.njit(cache=True, nogil=True)
def _try_restarts(
    words: Rows,
    counts: FloatArray,
    weights: Float32Array,
    first_topics: TopicIds,
    prior: FloatArray,
    schedule: Schedule,
    n_active: int,
    topics: TopicIds,
    shares: FloatArray,
    tallies: IntArray,  # (2,)  proposed, accepted: added to
    work: Workspace,
) -> int:
    """Empty one small topic after another; keep what raises the document's score (HDP15)."""
    n_unique, n_slots = topics.shape
    n_used = n_slots
    score = _document_score(counts, prior, n_active, work)
    threshold = 0.0
    for _ in range(schedule.restarts):
        if n_active < 2:
            break
        topic = _smallest_above(threshold, n_active, work)
        if topic < 0:
            break
        threshold = work.mass[topic]
        _copy_state(
            n_active, work.active, work.mass, topics, shares,
            work.saved_active, work.saved_mass, work.saved_topics, work.saved_shares, n_unique,
        )  # fmt: skip
        tallies[0] += 1
        work.mass[topic] = 0.0
        n_trial = n_active
        for i in range(schedule.restart_iterations):
            n_trial = _weigh_topics(prior, False, n_trial, work)
            n_used = min(n_slots, n_trial) if i == 0 else n_used
            _sweep(
                words, counts, weights, first_topics, False,
                n_trial, n_used, i == 0, topics, shares, work,
            )  # fmt: skip
        proposed = _document_score(counts, prior, n_trial, work)
        if proposed > score:
            score, n_active = proposed, n_trial
            tallies[1] += 1
        else:
            _copy_state(
                n_active, work.saved_active, work.saved_mass, work.saved_topics, work.saved_shares,
                work.active, work.mass, topics, shares, n_unique,
            )  # fmt: skip
    return n_active


@numba.njit(cache=True, nogil=True)
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
    """Local step of one document, from a cold start; leaves N_k in ``work.mass``.

    Returns the number of topics in ``work.active``. Every word type gets exactly n_slots slots;
    unused ones have no share. Sources: SPARSE16 Alg. 1 (L-sparse selection and its schedule),
    HDP15 (restarts), Asuncion et al. 2009 (collapsed update).
    """
    n_used = n_slots = topics.shape[1]
    n_active = _first_step(words, counts, weights, first_topics, topics, shares, work)
    for i in range(schedule.max_iterations):
        n_active = _weigh_topics(prior, schedule.collapsed, n_active, work)
        reselect = i < SELECT_ALWAYS_UNTIL or i % SELECT_EVERY == 0
        change = _sweep(
            words, counts, weights, first_topics, schedule.collapsed,
            n_active, n_used, reselect, topics, shares, work,
        )  # fmt: skip
        if reselect:
            n_used = min(n_slots, n_active)
        tallies[2] += 1
        if change < schedule.tolerance:
            break
    if schedule.restarts > 0:
        n_active = _try_restarts(
            words, counts, weights, first_topics, prior, schedule,
            n_active, topics, shares, tallies, work,
        )  # fmt: skip
    return n_active


@numba.njit(cache=True, nogil=True)
def _add_document_terms(
    counts: FloatArray,
    topics: TopicIds,
    shares: FloatArray,
    prior: FloatArray,
    n_active: int,
    topic_terms: FloatArray,  # (4, n_topics)  added to
    total_terms: FloatArray,  # (2,)  added to
    work: Workspace,
) -> None:
    """Add one document's share of the sums listed under ``fit_block``."""
    for u in range(counts.shape[0]):
        for slot in range(topics.shape[1]):
            share = shares[u, slot]
            if 0.0 < share < 1.0:
                topic_terms[0, topics[u, slot]] -= counts[u] * share * math.log(share)
    for j in range(n_active):
        k = work.active[j]
        value = work.mass[k] + prior[k]
        topic_terms[1, k] += 1.0
        topic_terms[2, k] += digamma(value)
        topic_terms[3, k] += math.lgamma(value)
    total = prior.sum() + counts.sum()
    total_terms[0] += digamma(total)
    total_terms[1] += math.lgamma(total)


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
    topic_terms: FloatArray,  # (4, n_topics)  added to
    total_terms: FloatArray,  # (2,)  added to
    tallies: IntArray,  # (3,)  added to
) -> None:
    """Local steps of consecutive documents and the sums that their ELBO terms need.

    Rows of ``topic_terms``: the entropy −Σ x r log r; the number of documents in which k is
    active; and over those documents Σ ψ(θ_dk) and Σ lnΓ(θ_dk). ``total_terms``: over all
    documents Σ ψ(Σ_k θ_dk) and Σ lnΓ(Σ_k θ_dk).
    """
    longest = 0
    for d in range(indptr.shape[0] - 1):
        longest = max(longest, indptr[d + 1] - indptr[d])
    work = make_workspace(prior.shape[0], topics.shape[1], longest)
    for d in range(indptr.shape[0] - 1):
        lo, hi = indptr[d], indptr[d + 1]
        n_active = fit_document(
            words[lo:hi], counts[lo:hi], weights, first_topics, prior, schedule,
            topics[lo:hi], shares[lo:hi], tallies, work,
        )  # fmt: skip
        _add_document_terms(
            counts[lo:hi], topics[lo:hi], shares[lo:hi], prior, n_active,
            topic_terms, total_terms, work,
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
        fit_document(
            words[lo:hi], counts[lo:hi], weights, first_topics, prior, schedule,
            topics[: hi - lo], shares[: hi - lo], tallies, work,
        )  # fmt: skip
        doc_topic_counts[d] = work.mass


@numba.njit(cache=True, nogil=True)
def sum_by_word(
    pair_starts: IntArray,  # (n_rows + 1,)
    pairs: IntArray,  # (n_pairs,)  positions of each row's pairs, row after row
    counts: FloatArray,  # (n_pairs,)
    topics: TopicIds,  # (n_pairs, n_slots)
    shares: FloatArray,  # (n_pairs, n_slots)
    n_topics: int,
) -> tuple[IntArray, TopicIds, Float32Array]:
    """Expected counts S_vk = Σ x r as sparse rows: row starts, topics rising, values.

    Pairs are added in the order given, so the sums do not depend on how documents were spread
    over workers. Values are rounded to float32 once, here: what is stored is what is summed.
    """
    n_rows = pair_starts.shape[0] - 1
    starts = np.zeros(n_rows + 1, np.int64)
    capacity = 0
    for v in range(n_rows):
        capacity += min(n_topics, (pair_starts[v + 1] - pair_starts[v]) * topics.shape[1])
    row_topics = np.empty(capacity, np.uint32)
    values = np.empty(capacity, np.float32)
    row = np.zeros(n_topics)
    filled = 0
    for v in range(n_rows):
        for i in range(pair_starts[v], pair_starts[v + 1]):
            pair = pairs[i]
            for slot in range(topics.shape[1]):
                row[topics[pair, slot]] += counts[pair] * shares[pair, slot]
        for k in range(n_topics):
            if row[k] > 0.0:
                row_topics[filled] = k
                values[filled] = row[k]
                filled += 1
                row[k] = 0.0
        starts[v + 1] = filled
    return starts, row_topics[:filled].copy(), values[:filled].copy()


@numba.njit(cache=True, nogil=True)
def add_sparse_rows(
    rows: Rows,  # (n_rows,)  where each sparse row goes
    starts: IntArray,  # (n_rows + 1,)
    topics: TopicIds,
    values: Float32Array,
    scale: float,
    out: FloatArray,  # (n_words, n_topics)  added to
) -> None:
    """out[rows[i], topics] += scale · values, row by row."""
    for i in range(rows.shape[0]):
        for j in range(starts[i], starts[i + 1]):
            out[rows[i], topics[j]] += scale * values[j]
