"""The iterations of one document: prune and weigh topics, choose slots, sweep over the words.

``documents`` explains the letters and the two local updates.
"""

from __future__ import annotations

import math

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.kernels.special import digamma
from sparsetopics.kernels.types import (
    ACTIVE,
    CANDIDATE,
    CHOICE_WEIGHT,
    COLUMN_OF,
    MASS,
    NEW_MASS,
    OWN,
    PRIOR,
    TOPIC_OF,
    WEIGHT,
    Document,
    Float32Array,
    TopicIds,
    Workspace,
    inner,
)


@inner
def first_step(
    document: Document,
    weights: Float32Array,  # (n_rows, n_topics)
    first_topics: TopicIds,  # (n_rows, n_slots)
    work: Workspace,
) -> None:
    """Fill in responsibilities under uniform π_d; put their N_k, by topic, in row NEW_MASS."""
    words, counts, topics, shares = document
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


@inner
def recall(
    former_topics: TopicIds,  # (n_former,)
    former_counts: Float32Array,  # (n_former,)
    topics: TopicIds,  # (n_unique, n_slots)  overwritten with 0, as no slot is in use yet
    work: Workspace,
) -> None:
    """Put the N_k of an earlier visit, by topic, in row NEW_MASS."""
    columns = work.columns
    for k in range(columns.shape[1]):
        columns[NEW_MASS, k] = 0.0
    for i in range(former_topics.shape[0]):
        columns[NEW_MASS, former_topics[i]] = former_counts[i]
    for u in range(topics.shape[0]):
        for slot in range(topics.shape[1]):
            topics[u, slot] = 0


@inner
def gather_columns(
    document: Document,
    weights: Float32Array,  # (n_rows, n_topics)
    prior: FloatArray,  # (n_topics,)
    minimum_mass: float,
    work: Workspace,
) -> int:
    """Make columns of the topics that row NEW_MASS leaves in the document; return how many.

    Slots then name columns instead of topics.
    """
    words, topics = document.words, document.topics
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


@inner
def _prune(n_active: int, minimum_mass: float, work: Workspace) -> int:
    """Prune light columns, order the rest by falling N_k + α_k, and return how many are left."""
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
        # Insertion sort: from one selection to the next, the order hardly changes.
        place = n_left
        while place > 0:
            before = ids[ACTIVE, place - 1]
            if columns[MASS, before] + columns[PRIOR, before] >= value:
                break
            ids[ACTIVE, place] = before
            place -= 1
        ids[ACTIVE, place] = j
        n_left += 1
    return n_left


@inner
def _weigh_topics(n_active: int, collapsed: bool, work: Workspace) -> None:
    """Set the topic weights from N_k, and set the sums of a mean-field sweep to zero."""
    columns = work.columns
    for i in range(n_active):
        j = work.ids[ACTIVE, i]
        value = columns[MASS, j] + columns[PRIOR, j]
        weight = value if collapsed else math.exp(digamma(value))
        columns[WEIGHT, j] = weight
        columns[CHOICE_WEIGHT, j] = weight
        columns[NEW_MASS, j] = 0.0


@inner
def _mask_of(n_columns: int) -> int:
    """A mask of the low bits that hold a column's number."""
    mask = 1
    while mask < n_columns:
        mask <<= 1
    return mask - 1


@inner
def _keep_largest(n_candidates: int, n_slots: int, columns_mask: int, work: Workspace) -> None:
    """Put the candidates of the largest products first; ties go to the lower column.

    Non-negative floats are ordered like their bits read as integers. The lowest bits are replaced
    by the column, so that one maximum gives both product and column, without a branch that depends
    on the data. With a thousand topics, products that differ by less than 2⁻⁴² of their size become
    ties, too.
    """
    ids, keys = work.ids, work.keys
    # The complement of the column makes the lower column the larger key.
    for i in range(n_candidates):
        keys[i] = (keys[i] & ~columns_mask) | (columns_mask - np.int64(ids[CANDIDATE, i]))
    last = np.int64(np.iinfo(np.int64).max)
    for slot in range(n_slots):
        best = np.int64(-1)
        for i in range(n_candidates):
            best = max(best, keys[i] if keys[i] < last else np.int64(-1))
        ids[CANDIDATE, slot] = columns_mask - (best & columns_mask)
        last = best


@inner
def _choose(
    document: Document,
    collapsed: bool,
    n_columns: int,  # of the document
    n_active: int,
    n_used: int,  # slots in use
    work: Workspace,
) -> int:
    """Choose each word's top L columns anew, and return the slots in use.

    Columns that stay chosen keep their shares. Products use the weights at the start of the sweep.
    The L-th best product is at least the smallest product of the present slots; that bound mostly
    leaves hardly more than L candidates.
    """
    _, counts, topics, shares = document
    columns, ids, local, kept = work.columns, work.ids, work.local, work.kept
    products, n_slots = work.products, topics.shape[1]
    n_next: int = min(n_slots, n_active)
    columns_mask = _mask_of(ids.shape[1])
    for u in range(counts.shape[0]):
        own = u * n_columns
        floor = np.inf if n_used == n_slots and n_slots < n_active else 0.0
        for slot in range(n_used):
            j = topics[u, slot]
            floor = min(floor, kept[u, slot] * columns[CHOICE_WEIGHT, j])
            columns[OWN, j] = shares[u, slot]
        # The products of the L heaviest columns are another lower bound.
        if n_slots < n_active:
            heaviest = np.inf
            for i in range(n_slots):
                j = ids[ACTIVE, i]
                heaviest = min(heaviest, local[own + j] * columns[CHOICE_WEIGHT, j])
            floor = max(floor, heaviest)
        n_candidates = 0
        for i in range(n_active):
            j = ids[ACTIVE, i]
            # Weights fall, and kept[u, n_slots] is the row's largest: no later column qualifies.
            if kept[u, n_slots] * columns[CHOICE_WEIGHT, j] < floor:
                break
            product = local[own + j] * columns[CHOICE_WEIGHT, j]
            products[n_candidates] = product
            ids[CANDIDATE, n_candidates] = j
            n_candidates += 1 if product >= floor else 0
        if n_candidates > n_slots:
            _keep_largest(n_candidates, n_slots, columns_mask, work)
        for slot in range(n_next):
            j = ids[CANDIDATE, slot]
            shares[u, slot] = columns[OWN, j]
            kept[u, slot] = local[own + j]
            columns[OWN, j] = 0.0
        for slot in range(n_used):
            j = topics[u, slot]
            # OWN still holds the shares of columns that are not chosen any more: they leave N_k.
            if collapsed:
                columns[WEIGHT, j] -= counts[u] * columns[OWN, j]
            columns[OWN, j] = 0.0
        for slot in range(n_next):
            topics[u, slot] = ids[CANDIDATE, slot]
    return n_next


@inner
def _sweep(document: Document, collapsed: bool, n_used: int, work: Workspace) -> None:
    """Compute the responsibilities of every word once.

    Mean-field responsibilities all follow the same weights and add up to the new N_k. Collapsed
    ones leave one token's own share out, and change N_k + α_k word by word.
    """
    _, counts, topics, shares = document
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
        # If every product underflowed, the word goes to its first slot.
        if total <= 0.0:
            products[0] = total = 1.0
        scale = 1.0 / total
        for slot in range(n_used):
            share = products[slot] * scale
            columns[sums, topics[u, slot]] += counts[u] * (share - left_out * shares[u, slot])
            shares[u, slot] = share


@inner
def warm_step(
    document: Document,
    weights: Float32Array,  # (n_rows, n_topics)
    first_topics: TopicIds,  # (n_rows, 1 or more)
    collapsed: bool,
    minimum_mass: float,
    n_columns: int,
    work: Workspace,
) -> tuple[int, int]:
    """Fill in responsibilities under the recalled N_k; return active columns and slots in use.

    No word has shares yet, so even the collapsed update leaves none out.
    """
    words, n_slots = document.words, document.topics.shape[1]
    for u in range(words.shape[0]):
        work.kept[u, n_slots] = weights[words[u], first_topics[words[u], 0]]
    n_active = _prune(n_columns, minimum_mass, work)
    _weigh_topics(n_active, collapsed, work)
    n_used = _choose(document, False, n_columns, n_active, 0, work)
    _sweep(document, False, n_used, work)
    _settle_mass(n_active, False, work)
    return n_active, n_used


@inner
def _settle_mass(n_active: int, collapsed: bool, work: Workspace) -> float:
    """Replace N_k by those of the sweep; return the largest change."""
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


@inner
def iterate(
    document: Document,
    collapsed: bool,
    reselect: bool,
    minimum_mass: float,
    n_columns: int,
    n_active: int,
    n_used: int,
    work: Workspace,
) -> tuple[int, int, float]:
    """One iteration; return active columns, slots in use and the largest change of an N_k."""
    if reselect:
        n_active = _prune(n_active, minimum_mass, work)
    _weigh_topics(n_active, collapsed, work)
    if reselect:
        n_used = _choose(document, collapsed, n_columns, n_active, n_used, work)
    _sweep(document, collapsed, n_used, work)
    return n_active, n_used, _settle_mass(n_active, collapsed, work)


@inner
def finish(document: Document, n_active: int, n_used: int, work: Workspace) -> None:
    """Sum N_k anew from the shares, free of rounding drift; replace columns by topics."""
    _, counts, topics, shares = document
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
