"""Kernels in plain numpy, over all topics: slow, obviously right.

Responsibilities are dense, (n_unique, n_topics). Ties go to the lower topic.
"""

import numpy as np
from scipy.special import gammaln, psi


def top_topics(weights, n_slots):
    """Topics of the largest weights of each row, falling, (n_rows, n_slots)."""
    return np.argsort(-weights, axis=1, kind="stable")[:, :n_slots]


def only_largest(products, n_slots):
    """Each row's ``n_slots`` largest entries, the others zero."""
    kept = np.zeros_like(products)
    np.put_along_axis(kept, top_topics(products, n_slots), 1.0, axis=1)
    return kept


def normalize(products):
    return products / products.sum(axis=1, keepdims=True)


def topic_weights(mass, prior, collapsed):
    return mass + prior if collapsed else np.exp(psi(mass + prior))


def prune(mass, active, minimum_mass):
    left = active & (mass > minimum_mass)
    left[np.argmax(np.where(active, mass, -1.0))] = True
    return left


def sweep(counts, weights, chosen, mass, prior, shares, collapsed):
    """Responsibilities of the chosen topics and the N_k they leave behind."""
    if not collapsed:
        shares = normalize(chosen * weights * topic_weights(mass, prior, False))
        return shares, counts @ shares
    shares = shares * chosen
    current = mass - (mass - counts @ shares) * (mass > 0)
    for u, count in enumerate(counts):
        products = chosen[u] * weights[u] * np.maximum(current + prior - shares[u], 0.0)
        share = products / products.sum()
        current = current + count * (share - shares[u])
        shares[u] = share
    return shares, counts @ shares


def choose(weights, mass, prior, active, collapsed, n_slots):
    products = weights * np.where(active, topic_weights(mass, prior, collapsed), 0.0)
    chosen = only_largest(np.where(active, products, -1.0), n_slots)
    return chosen * active


def fit_document(counts, weights, prior, schedule, n_slots, former=None):
    """Dense responsibilities and the topics still active; ``weights`` are the document's rows.

    ``former`` is the N_k to begin from, (n_topics,), if the start is not cold.
    """
    minimum_mass = min(schedule.minimum_mass, schedule.largest_pruned * counts.sum())
    every_topic = np.ones(len(prior), bool)
    if former is None:
        shares = normalize(only_largest(weights, n_slots) * weights)
        mass = counts @ shares
        active = prune(mass, every_topic, minimum_mass)
    else:
        active = prune(former, every_topic, minimum_mass)
        chosen = choose(weights, former, prior, active, schedule.collapsed, n_slots)
        shares = normalize(chosen * weights * topic_weights(former, prior, schedule.collapsed))
        mass = counts @ shares
    mass = mass * active
    for i in range(schedule.max_iterations):
        if i < (5 if former is None else 2) or i % 10 == 0:
            active = prune(mass, active, minimum_mass)
            mass = mass * active
            chosen = choose(weights, mass, prior, active, schedule.collapsed, n_slots)
        shares, new_mass = sweep(counts, weights, chosen, mass, prior, shares, schedule.collapsed)
        change = np.abs(new_mass - mass).max()
        mass = new_mass
        if change < schedule.tolerance:
            break
    return shares, active


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
