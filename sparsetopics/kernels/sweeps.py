"""The sweeps over one document, a small matrix with topics in rows and words along lanes.

A sweep updates all words under the same counts (Jacobi), so that it runs along the lanes of the
processor. Letters: u word type of a document, j column, i.e. a topic that the document may use.

    p_ju = w_ju max(g(y_j + α_j) − o_u r_ju, tiny),   r_ju = p_ju / Σ_j p_ju,   N_j = Σ_u c_u r_ju

mean-field   g(x) = exp ψ(x), o_u = 0,           y_j = N_j of the last sweep
collapsed    g(x) = x,        o_u = min(c_u, 1), y_j = max(N_j + β (N_j − N_j before), 0)

Momentum makes up for what a word does not yet know of the others. The collapsed update leaves the
token at hand out of the counts, or all of a word that has less than one. Mean-field has no
momentum, so that no sweep lowers its bound.

Bits do not depend on the width of vectors: everything is done word by word, except for sums over
words, which are sums of whole numbers. A token is a power of two of them, chosen by the length of
the document. What is beyond the last word of a row has no count.
"""

from __future__ import annotations

import numpy as np

from sparsetopics.kernels.special import exp_digamma
from sparsetopics.kernels.types import (
    BEFORE,
    KEPT,
    MASS,
    OWN,
    PRIOR,
    PRODUCT,
    SCALED,
    TOTAL,
    USED,
    WEIGHT,
    ZERO,
    Float32Array,
    Matrix,
    Schedule,
    inner,
    lanes,
)

F = np.float32
# A topic's least weight; above all products; and what keeps the inverse of a sum finite.
TINY, HUGE, SMALLEST = F(1e-30), np.finfo(F).max, F(1e-37)
# The best L topics of each word are chosen anew in the first few sweeps, and then rarely.
CHOOSE_ALWAYS_UNTIL = 5
CHOOSE_EVERY = 10
SHARE_BITS = 20
# With more, what rounding to the nearest adds to a word's shares may exceed the largest of them.
LARGEST_ROUNDED = 1_024
ONE, QUANTUM = F(2.0**SHARE_BITS), F(2.0**-SHARE_BITS)


# --- along lanes ----------------------------------------------------------------------------------
@lanes
def _weigh_topics(n_active: int, collapsed: bool, columns: Float32Array) -> None:
    """g(y_j + α_j) of the active columns."""
    if collapsed:
        for j in range(n_active):
            columns[WEIGHT, j] = columns[USED, j] + columns[PRIOR, j]
    else:
        for j in range(n_active):
            columns[WEIGHT, j] = exp_digamma(np.float64(columns[USED, j] + columns[PRIOR, j]))


@lanes
def _weigh(n_active: int, matrix: Matrix) -> None:
    """Products in place of shares, and their sums over columns."""
    weights, shares, by_word = matrix.weights, matrix.shares, matrix.by_word
    n_lanes = weights.shape[1]
    for u in range(n_lanes):
        by_word[TOTAL, u] = F(0.0)
    for j in range(n_active):
        weight = matrix.columns[WEIGHT, j]
        for u in range(n_lanes):
            product = weights[j, u] * max(weight - by_word[OWN, u] * shares[j, u], TINY)
            shares[j, u] = product
            by_word[TOTAL, u] += product


@lanes
def _weigh_chosen(n_active: int, matrix: Matrix) -> None:
    """The same with the columns that each word has chosen: its shares of them are above zero."""
    weights, shares, by_word = matrix.weights, matrix.shares, matrix.by_word
    n_lanes = weights.shape[1]
    for u in range(n_lanes):
        by_word[TOTAL, u] = F(0.0)
    for j in range(n_active):
        weight = matrix.columns[WEIGHT, j]
        for u in range(n_lanes):
            share = shares[j, u]
            product = weights[j, u] * max(weight - by_word[OWN, u] * share, TINY)
            product = product if share > F(0.0) else F(0.0)
            shares[j, u] = product
            by_word[TOTAL, u] += product


@lanes
def _weigh_column(j: int, matrix: Matrix) -> None:
    """Products of one column in place of its shares, and once more to be compared."""
    weights, shares, by_word = matrix.weights, matrix.shares, matrix.by_word
    weight = matrix.columns[WEIGHT, j]
    for u in range(weights.shape[1]):
        product = weights[j, u] * max(weight - by_word[OWN, u] * shares[j, u], TINY)
        shares[j, u] = product
        by_word[PRODUCT, u] = product


@lanes
def _keep(n_kept: int, smallest: bool, by_word: Float32Array) -> None:
    """Insert products among the largest so far, which fall, or the smallest, which rise."""
    for slot in range(KEPT, KEPT + n_kept):
        for u in range(by_word.shape[1]):
            new, old = by_word[PRODUCT, u], by_word[slot, u]
            small, large = min(new, old), max(new, old)
            by_word[slot, u] = small if smallest else large
            by_word[PRODUCT, u] = large if smallest else small


@lanes
def _choose(n_active: int, n_slots: int, floor: int, matrix: Matrix) -> None:
    """Keep products above the floor, and those at the floor while there is a spare slot."""
    shares, by_word = matrix.shares, matrix.by_word
    n_lanes = shares.shape[1]
    spare = PRODUCT  # slots that products above the floor do not take
    for u in range(n_lanes):
        by_word[spare, u] = F(n_slots)
        by_word[TOTAL, u] = F(0.0)
    for j in range(n_active):
        for u in range(n_lanes):
            by_word[spare, u] -= F(1.0) if shares[j, u] > by_word[floor, u] else F(0.0)
    for j in range(n_active):
        for u in range(n_lanes):
            product, left = shares[j, u], by_word[spare, u]
            at_floor = F(1.0) if product == by_word[floor, u] else F(0.0)
            by_word[spare, u] = left - at_floor
            is_kept = product > by_word[floor, u] or at_floor * left > F(0.0)
            kept = product if is_kept else F(0.0)
            shares[j, u] = kept
            by_word[TOTAL, u] += kept


@lanes
def _divide(n_active: int, token: F, matrix: Matrix) -> F:
    """Make products shares, and N_j of them; return the largest change of an N_j, in tokens."""
    shares, by_word, columns = matrix.shares, matrix.by_word, matrix.columns
    n_lanes, change = shares.shape[1], F(0.0)
    for u in range(n_lanes):
        by_word[TOTAL, u] = F(1.0) / (by_word[TOTAL, u] + SMALLEST)
    for j in range(n_active):
        whole = 0
        for u in range(n_lanes):
            share = shares[j, u] * by_word[TOTAL, u]
            shares[j, u] = share
            whole += int(np.int32(by_word[SCALED, u] * share + F(0.5)))
        mass = F(whole) * token
        change = max(change, abs(mass - columns[MASS, j]))
        columns[MASS, j] = mass
    return change


@lanes
def scale_weights(n_columns: int, matrix: Matrix) -> None:
    """Make each word's largest weight one."""
    weights, by_word = matrix.weights, matrix.by_word
    n_lanes = weights.shape[1]
    for u in range(n_lanes):
        by_word[TOTAL, u] = F(0.0)
    for j in range(n_columns):
        for u in range(n_lanes):
            by_word[TOTAL, u] = max(by_word[TOTAL, u], weights[j, u])
    for u in range(n_lanes):
        by_word[TOTAL, u] = F(1.0) / (by_word[TOTAL, u] + SMALLEST)
    for j in range(n_columns):
        for u in range(n_lanes):
            weights[j, u] *= by_word[TOTAL, u]


@lanes
def round_shares(n_active: int, n_slots: int, matrix: Matrix) -> None:
    """Make shares whole numbers of quanta; row PRODUCT says which column is a word's largest.

    Row TOTAL has their sums. Shares are rounded to the nearest, or down where the sum of what
    rounding adds could exceed the largest share.
    """
    shares, by_word = matrix.shares, matrix.by_word
    n_lanes, best, largest = shares.shape[1], PRODUCT, KEPT
    more = F(0.5) if min(n_active, n_slots) <= LARGEST_ROUNDED else F(0.0)
    for u in range(n_lanes):
        by_word[TOTAL, u] = F(0.0)
        by_word[largest, u] = F(-1.0)
    for j in range(n_active):
        for u in range(n_lanes):
            share = F(np.int32(shares[j, u] * ONE + more))
            shares[j, u] = share
            by_word[TOTAL, u] += share
            by_word[best, u] = F(j) if share > by_word[largest, u] else by_word[best, u]
            by_word[largest, u] = max(share, by_word[largest, u])


# --- sweeps ---------------------------------------------------------------------------------------
@inner
def _choose_best(n_active: int, n_slots: int, matrix: Matrix) -> None:
    """The products of each word's best L columns; ties at the last go to the lower topic.

    The L largest products of a word, or all the others if they are fewer, are sorted by insertion.
    The last of them is the floor: what is above stays, and at the floor the first columns do.
    """
    n_left_out = n_active - n_slots
    sorts_smallest = n_left_out < n_slots
    n_kept = n_left_out if sorts_smallest else n_slots
    matrix.by_word[KEPT : KEPT + n_kept] = HUGE if sorts_smallest else F(0.0)
    for j in range(n_active):
        _weigh_column(j, matrix)
        _keep(n_kept, sorts_smallest, matrix.by_word)
    _choose(n_active, n_slots, KEPT + n_kept - 1, matrix)


@inner
def sweep(
    n_active: int, n_slots: int, chooses: bool, collapsed: bool, token: F, matrix: Matrix
) -> F:
    """One sweep; return the largest change of an N_j, in tokens.

    ``token`` is the part of a token that a whole number stands for. The inverse of each word's sum
    of products is left in row TOTAL.
    """
    _weigh_topics(n_active, collapsed, matrix.columns)
    if n_active <= n_slots:
        _weigh(n_active, matrix)
    elif chooses:
        _choose_best(n_active, n_slots, matrix)
    else:
        _weigh_chosen(n_active, matrix)
    return _divide(n_active, token, matrix)


@inner
def move_column(source: int, target: int, matrix: Matrix) -> None:
    """Overwrite a column by another."""
    weights, shares, columns = matrix.weights, matrix.shares, matrix.columns
    for u in range(weights.shape[1]):
        weights[target, u] = weights[source, u]
        shares[target, u] = shares[source, u]
    for i in range(columns.shape[0]):
        columns[i, target] = columns[i, source]
    matrix.topic_of[target] = matrix.topic_of[source]


@inner
def prune(n_active: int, minimum_mass: F, matrix: Matrix) -> int:
    """Leave out light columns, but never the heaviest; return how many are left."""
    masses, heaviest = matrix.columns[MASS], 0
    for j in range(n_active):
        if masses[j] > masses[heaviest]:
            heaviest = j
    n_left = ZERO
    for j in range(n_active):
        if masses[j] > minimum_mass or j == heaviest:
            if n_left < j:
                move_column(j, n_left, matrix)
            n_left += 1
    return n_left


@inner
def rest(n_active: int, columns: Float32Array) -> None:
    """Let the next sweep use the masses of the last as they are, without momentum."""
    for j in range(n_active):
        columns[USED, j] = columns[BEFORE, j] = columns[MASS, j]


@lanes
def _push(n_active: int, momentum: F, columns: Float32Array) -> None:
    """Let the next sweep use the masses of the last, moved on by momentum."""
    for j in range(n_active):
        moved = columns[MASS, j] - columns[BEFORE, j]
        columns[USED, j] = max(columns[MASS, j] + momentum * moved, F(0.0))
        columns[BEFORE, j] = columns[MASS, j]


@inner
def iterate(
    n_active: int,
    n_slots: int,
    minimum_mass: F,
    token: F,
    schedule: Schedule,
    matrix: Matrix,
) -> tuple[int, int]:
    """Sweep until no N_j moves; return the active columns and the number of sweeps."""
    collapsed, is_fresh, n_sweeps = schedule.collapsed, True, 0
    for i in range(schedule.max_iterations):
        chooses = is_fresh or i < CHOOSE_ALWAYS_UNTIL or i % CHOOSE_EVERY == 0
        change = sweep(n_active, n_slots, chooses, collapsed, token, matrix)
        is_fresh = False
        n_sweeps += 1
        if chooses:
            n_left = prune(n_active, minimum_mass, matrix)
            if n_left < n_active:
                n_active, is_fresh = n_left, True
                rest(n_active, matrix.columns)
                continue
        if change < schedule.tolerance:
            break
        _push(n_active, F(schedule.momentum), matrix.columns)
    if is_fresh:  # a column has left in the last sweep, or there was none
        sweep(n_active, n_slots, is_fresh, collapsed, token, matrix)
    return n_active, n_sweeps
