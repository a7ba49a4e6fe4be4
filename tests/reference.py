"""The step of documents in plain numpy: slow, obviously right, and with the kernels' roundings.

Matrices are (n_columns, n_words), responsibilities (n_words, n_topics). A column is a topic that
the document may use. Ties go to the lower topic.
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, psi

from sparsetopics.kernels.special import exp_digamma, fast_log, log_gamma

F = np.float32
TINY, SMALLEST = F(1e-30), F(1e-37)
ONE = 2**20  # a share of one, in quanta


class Fit(NamedTuple):
    """A document after its local step."""

    quanta: np.ndarray  # (n_words, n_topics)  shares in units of 2⁻²⁰
    masses: np.ndarray  # (n_topics,)  N_k of the last sweep
    tallies: np.ndarray  # (3,)  restarts proposed, accepted, sweeps


class Words(NamedTuple):
    """A document, and the parts of a token in which its tokens are counted."""

    counts: np.ndarray  # (n_words,)  float64
    token: np.float32  # a power of two: the document has at most 2³⁰ of them
    weights: np.ndarray  # (n_columns, n_words)
    prior: np.ndarray  # (n_columns,)


class State(NamedTuple):
    """Columns in use, rising, and what the last sweep made of them; only those count."""

    active: np.ndarray  # (n_active,)  columns
    masses: np.ndarray  # (n_columns,)
    shares: np.ndarray  # (n_columns, n_words)
    topic_weights: np.ndarray | None = None  # (n_active,)
    inverse: np.ndarray | None = None  # (n_words,)  of the sums of products


def in_order(terms):
    """The sum over the first axis, one term after the other."""
    return np.add.accumulate(terms, axis=0)[-1]


def top_topics(weights, n_slots):
    """Topics of the largest weights of each row, falling, (n_rows, n_slots)."""
    return np.argsort(-weights, axis=1, kind="stable")[:, :n_slots]


def only_largest(products, n_slots):
    """Each row's ``n_slots`` largest entries, the others zero."""
    kept = np.zeros_like(products)
    np.put_along_axis(kept, top_topics(products, n_slots), 1.0, axis=1)
    return kept


def best_topics(weights, n_slots):
    """Topics of each word under equal proportions, and its shares of them, (n_words, n_slots)."""
    topics = top_topics(weights, n_slots)
    if n_slots == weights.shape[1]:
        topics = np.sort(topics, axis=1)
    best = np.take_along_axis(weights, topics, axis=1)
    start = np.full((len(best), 1), SMALLEST)
    total = in_order(np.hstack([start, best]).T)
    return topics, best / total[:, None]


def topic_values(plan, masses):
    """g(N_j + α_j)."""
    return masses if plan.collapsed else np.array([exp_digamma(float(x)) for x in masses], F)


def own_parts(plan, counts):
    """o_u: what a word leaves out of the counts, at most a token."""
    return np.minimum(counts, 1).astype(F) * F(plan.collapsed)


# --- the beginning --------------------------------------------------------------------------------
def sum_over_lists(counts, topics, shares, n_topics):
    """Σ_u c_u r_uk by float32 sums, entry by entry."""
    masses = np.zeros(n_topics, F)
    np.add.at(masses, topics, counts[:, None] * shares)
    return masses


def heavy(masses, minimum):
    """Whether each topic stays: it has more than ``minimum``, or as much as the heaviest."""
    return (masses > minimum) | (masses == masses.max())


def begin_cold(counts, weights, prior, plan, n_slots, minimum):
    """The topics that matter by each word's best topics, and their N_k."""
    topics, shares = best_topics(weights, n_slots)
    counts, n_topics = counts.astype(F), len(prior)
    masses = sum_over_lists(counts, topics, shares, n_topics)
    if plan.column_share > 0:
        values = topic_values(plan, masses + prior.astype(F))
        own = own_parts(plan, counts)[:, None] * shares
        in_use = np.where(heavy(masses, minimum), values, F(0))
        products = shares * np.maximum(in_use[topics] - own, TINY)
        start = np.full((len(products), 1), SMALLEST)
        scale = F(1) / in_order(np.hstack([start, products]).T)
        masses = sum_over_lists(counts, topics, scale[:, None] * products, n_topics)
    return masses


def relative(weights):
    """Weights (n_columns, n_words) scaled so that the largest of each word is one."""
    return weights * (F(1) / (weights.max(axis=0) + SMALLEST))


# --- sweeps ---------------------------------------------------------------------------------------
def sweep(words, plan, n_slots, state, used, chooses):
    """r ∝ w max(g(y + α) − o r, tiny) for all words at once, and the N_j that follow."""
    active, before = state.active, state.shares[state.active]
    values = topic_values(plan, used[active] + words.prior[active])
    own = own_parts(plan, words.counts)
    products = words.weights[active] * np.maximum(values[:, None] - own * before, TINY)
    if len(active) > n_slots:
        products *= only_largest(products.T, n_slots).T if chooses else before > 0
    inverse = F(1) / (in_order(products) + SMALLEST)
    shares, masses = state.shares.copy(), state.masses.copy()
    shares[active] = products * inverse
    parts = (words.counts.astype(F) * (F(1) / words.token)) * shares[active] + F(0.5)
    masses[active] = parts.astype(np.int32).sum(axis=1, dtype=np.int64).astype(F) * words.token
    return State(active, masses, shares, values, inverse)


def without_light(state, minimum):
    """Leave out light columns, but not the first of the heaviest."""
    masses = state.masses[state.active]
    stays = masses > minimum
    stays[np.argmax(masses)] = True
    return state._replace(active=state.active[stays])


def iterate(words, plan, n_slots, state, minimum):
    """Sweep until no N_j moves; with momentum, which ends where a column leaves."""
    step = partial(sweep, words, plan, n_slots)
    used = before = state.masses
    is_fresh, n_sweeps = True, 0  # fresh: the words have not chosen among these columns
    while n_sweeps < plan.max_iterations:
        chooses = is_fresh or n_sweeps < 5 or n_sweeps % 10 == 0
        former, state = state, step(state, used, chooses)
        left = without_light(state, minimum) if chooses else state
        is_fresh, n_sweeps = len(left.active) < len(state.active), n_sweeps + 1
        if not is_fresh and np.abs(state.masses - former.masses).max() < plan.tolerance:
            break
        momentum = F(0 if is_fresh else plan.momentum)
        used = np.maximum(state.masses + momentum * (state.masses - before), F(0))
        before, state = state.masses, left
    if is_fresh:
        state = step(state, used, True)
    return state, n_sweeps


# --- restarts, and the end ------------------------------------------------------------------------
def restart_score(words, state):
    """Σ_u x log Z_u − Σ_k N_k log P_k + Σ_k lnΓ(N_k + α_k) − lnΓ(α_k), from a mean-field sweep."""
    terms = [-count * fast_log(z) for count, z in zip(words.counts, state.inverse, strict=True)]
    for j, weight in zip(state.active, state.topic_weights, strict=True):
        mass, prior = float(state.masses[j]), float(words.prior[j])
        if mass > 0:
            terms.append(log_gamma(mass + prior) - log_gamma(prior))
            terms.append(-(mass * fast_log(float(max(weight, TINY)))))
    return in_order(np.array([0.0, *terms]))


def lightest_above(masses, threshold):
    """The first place of the least mass above a threshold, or None."""
    above = np.flatnonzero(masses > threshold)
    return above[np.argmin(masses[above])] if len(above) else None


def try_restarts(words, plan, n_slots, state, minimum):
    """Leave out one light column after another; keep what raises the document's score."""
    step = partial(sweep, words, plan, n_slots)
    score, threshold, tallies, refused = restart_score(words, state), F(0), [0, 0], False
    for _ in range(plan.restarts):
        place = lightest_above(state.masses[state.active], threshold)
        if len(state.active) < 2 or place is None:
            break
        threshold = state.masses[state.active[place]]
        trial = state._replace(active=np.delete(state.active, place))
        for i in range(plan.restart_iterations):
            trial = step(trial, trial.masses, i == 0)
        proposed = restart_score(words, trial)
        refused = proposed <= score
        tallies = [tallies[0] + 1, tallies[1] + (not refused)]
        if not refused:
            score, state = proposed, without_light(trial, minimum)
    return (step(state, state.masses, True) if refused else state), tallies


def rounded(shares, n_slots):
    """Shares (n_words, n_columns) in quanta that add up to one; the largest takes the rest."""
    nearest = min(n_slots, shares.shape[1]) <= 1024  # many would add up to too much
    quanta = (shares * F(ONE) + F(0.5 if nearest else 0)).astype(np.int32)
    quanta[np.arange(len(quanta)), quanta.argmax(axis=1)] += ONE - quanta.sum(axis=1)
    return quanta


def least_part(length):
    """The power of two in which the tokens of a document are counted, at most 2³⁰ of them."""
    return F(2.0 ** -min(30 - math.frexp(length)[1], 100))


def weights_without_own(words, counts, weights, own, share):
    """(S − f c r + η) / (N − f N_d + Vη) of one document, (n_words, n_topics), in float32.

    ``words`` are rows of the table of ``weights``, ``own`` has the r of the last visit.
    """
    table, eta, inverse_totals = weights
    put_in = counts[:, None] * own
    totals = np.maximum(1 / inverse_totals - share * in_order(put_in), len(table) * eta)
    left = ((np.maximum(table[words] - share * put_in, 0) + eta) * (1 / totals)).astype(F)
    assert (left > 0).all()
    assert np.isfinite(left).all()
    return left


def fit_document(counts, weights, prior, plan, n_slots, former=None, left=None):
    """The local step of a document; ``weights`` (n_words, n_topics) are its rows, in float32.

    ``former`` is the N_k to begin from, (n_topics,), if the start is not cold. ``left`` are weights
    without the document's own counts, if these are left out once its topics are chosen.
    """
    length = in_order(counts)
    minimum = F(min(plan.minimum_mass, plan.largest_pruned * length))
    if former is None:
        masses = begin_cold(counts, weights, prior, plan, n_slots, minimum)
        topics = np.flatnonzero(heavy(masses, max(minimum, F(plan.column_share * length))))
    else:
        masses, known = former, np.flatnonzero(former)
        topics = known[heavy(former[known], minimum)]
    gathered = relative((weights if left is None else left).T[topics])
    words = Words(counts, least_part(length), gathered, prior[topics].astype(F))
    state = State(np.arange(len(topics)), masses[topics], np.zeros_like(words.weights))
    state, n_sweeps = iterate(words, plan, n_slots, state, minimum)
    restarts = [0, 0]
    if plan.restarts:
        state, restarts = try_restarts(words, plan, n_slots, state, minimum)
    quanta = np.zeros((len(counts), len(prior)), np.int64)
    quanta[:, topics[state.active]] = rounded(state.shares[state.active].T, n_slots)
    found = np.zeros(len(prior), F)
    found[topics[state.active]] = state.masses[state.active]
    return Fit(quanta, found, np.array([*restarts, n_sweeps]))


# --- what the steps are for -----------------------------------------------------------------------
def gauss_seidel(counts, weights, prior, shares, n_sweeps):
    """Collapsed responsibilities in float64; each word knows the counts that the last one left."""
    shares = shares.copy()
    masses = counts @ shares
    for _ in range(n_sweeps):
        for u, count in enumerate(counts):
            products = weights[u] * np.maximum(masses + prior - min(count, 1.0) * shares[u], 0.0)
            share = products / products.sum()
            masses, shares[u] = masses + count * (share - shares[u]), share
    return shares


def document_score(counts, weights, prior, shares):
    """The document's mean-field ELBO, up to terms of weights' scale and of inactive topics."""
    mass = counts @ shares
    positive = shares > 0
    logs = np.zeros_like(shares)
    logs[positive] = np.log(weights[positive] / shares[positive])
    return float(
        counts @ (shares * logs).sum(axis=1) + (gammaln(mass + prior) - gammaln(prior)).sum()
    )


def dense_from_slots(topics, shares, n_topics):
    dense = np.zeros((len(topics), n_topics))
    for u in range(len(topics)):
        np.add.at(dense[u], topics[u], shares[u])
    return dense


def document_terms(counts, prior, shares, tail):
    """The sums of ``add_topic_terms`` for one document: (5, n_topics) and (3,)."""
    positive = np.where(shares > 0, shares, 1.0)
    active = (shares > 0).any(axis=0).astype(float)
    posterior = counts @ shares + prior
    topic_terms = np.stack(
        [
            -counts @ (shares * np.log(positive)),
            active,
            active * psi(posterior),
            active * gammaln(posterior),
            active * -prior * psi(posterior),
        ]
    )
    before = prior.sum() + tail
    total = before + counts.sum()
    return topic_terms, np.array([psi(total), gammaln(total), -before * psi(total)])


def sum_by_word(rows, counts, shares, n_rows):
    sums = np.zeros((n_rows, shares.shape[1]))
    np.add.at(sums, rows, counts[:, None] * shares)
    return sums
