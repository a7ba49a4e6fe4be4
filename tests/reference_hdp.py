"""The HDP in plain numpy: dense, every term of the bound written out, for any θ, sticks and λ.

A visit is a batch with its dense responsibilities (n_pairs, n_topics) and the Dirichlet parameters
θ (n_docs, n_topics + 1) of its documents, the tail last. Sticks are (means ρ, concentrations ω).
"""

import itertools
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, psi, roots_sh_jacobi

import reference_lda
from reference_lda import expected_log, log_beta
from sparsetopics.base.batches import DocumentBatch


class Visit(NamedTuple):
    batch: DocumentBatch
    responsibilities: np.ndarray
    doc_topic_posterior: np.ndarray  # θ, the tail last


class Prior(NamedTuple):
    gamma: float
    alpha: float
    eta: float


def stick_lengths(means):
    """E[β_1], …, E[β_K], E[β_{>K}]; at fixed sticks u the weights themselves."""
    left = 1.0
    lengths = []
    for mean in means:
        lengths.append(mean * left)
        left = left * (1.0 - mean)
    return np.array([*lengths, left])


def doc_topic_counts(visit):
    """N_dk with a column of zeros for the tail, (n_docs, n_topics + 1)."""
    given = reference_lda.Visit(visit.batch, visit.responsibilities, None)
    counts = reference_lda.doc_topic_counts(given)
    return np.hstack([counts, np.zeros((len(counts), 1))])


def at_optimum(batch, responsibilities, means, alpha):
    """The visit with θ_dk = N_dk + αE[β_k]."""
    visit = Visit(batch, responsibilities, None)
    theta = doc_topic_counts(visit) + alpha * stick_lengths(means)
    return visit._replace(doc_topic_posterior=theta)


def elbo_words(visits, topic_word_posterior, eta):
    n_topics, n_words = topic_word_posterior.shape
    counts = sum((reference_lda.word_counts(visit, n_words) for visit in visits), 0.0)
    bound = log_beta(topic_word_posterior, axis=1).sum()
    bound -= n_topics * log_beta(np.full(n_words, eta))
    slack = counts + eta - topic_word_posterior
    return float(bound + (slack * expected_log(topic_word_posterior)).sum())


def elbo_documents(visits, means, alpha):
    """Σ_k H_k + Σ_d {lnB(θ_d) + Σ_k (N_dk − θ_dk) P_dk} + α Σ_k E[β_k] Σ_d P_dk, over K + 1."""
    bound = 0.0
    for visit in visits:
        theta, counts = visit.doc_topic_posterior, doc_topic_counts(visit)
        logs = expected_log(theta)
        bound += reference_lda.entropy(visit)
        bound += log_beta(theta, axis=1).sum() + ((counts - theta) * logs).sum()
        bound += alpha * (stick_lengths(means) @ logs.sum(axis=0))
    return float(bound)


def elbo_sticks(means, concentrations, n_docs, prior):
    """The part of the sticks alone, with the bound of the Dirichlet normalizer in expectation."""
    n_topics = len(means)
    bound = n_docs * n_topics * np.log(prior.alpha)
    for k in range(n_topics):
        a, b = means[k] * concentrations[k], (1.0 - means[k]) * concentrations[k]
        log_taken, log_left = psi(a) - psi(a + b), psi(b) - psi(a + b)
        bound += n_docs * (log_taken + (n_topics - k) * log_left)
        bound += np.log(prior.gamma) + gammaln(a) + gammaln(b) - gammaln(a + b)
        bound += (1.0 - a) * log_taken + (prior.gamma - b) * log_left
    return float(bound)


def elbo(visits, topic_word_posterior, means, concentrations, prior):
    """Whole-data ELBO in nats, without multinomial coefficients (HDP15)."""
    n_docs = sum(visit.batch.n_docs for visit in visits)
    return (
        elbo_words(visits, topic_word_posterior, prior.eta)
        + elbo_documents(visits, means, prior.alpha)
        + elbo_sticks(means, concentrations, n_docs, prior)
    )


def elbo_following_tangents(visits, active, topic_word_posterior, sticks, prior):
    """The bound when θ_dk of ``active`` pairs (n_docs, n_topics) are given and others follow c_k.

    lnB(m_d), m_dk = N_dk + c_k, is what the documents' part is at the optimal θ. Each lnΓ(m_dk) of
    an active pair is replaced by its tangent at θ_dk, from below since lnΓ is convex; lnΓ(Σ_k m_dk)
    is exact, for the total α of the weights never changes.
    """
    means, concentrations = sticks
    prior_mass = prior.alpha * stick_lengths(means)
    bound = elbo_words(visits, topic_word_posterior, prior.eta)
    n_docs = sum(visit.batch.n_docs for visit in visits)
    bound += elbo_sticks(means, concentrations, n_docs, prior)
    for visit, used in zip(visits, active, strict=True):
        best = doc_topic_counts(visit) + prior_mass
        frozen = np.hstack([used, np.zeros((len(used), 1), bool)])
        theta = visit.doc_topic_posterior
        tangents = gammaln(theta) + (best - theta) * psi(theta)
        bound += np.where(frozen, tangents, gammaln(best)).sum()
        bound += reference_lda.entropy(visit) - gammaln(best.sum(axis=1)).sum()
    return float(bound)


def merged(visit, kept, absorbed):
    """r, and with it N, and θ added up; later topics move one place down."""
    shares, theta = visit.responsibilities.copy(), visit.doc_topic_posterior.copy()
    shares[:, kept] += shares[:, absorbed]
    theta[:, kept] += theta[:, absorbed]
    return Visit(visit.batch, np.delete(shares, absorbed, 1), np.delete(theta, absorbed, 1))


def log_evidence(batch, n_topics, n_words, prior, n_nodes=12):
    """log p(tokens, all in the first ``n_topics`` topics), exactly.

    All topic assignments of all tokens are enumerated; documents and topics are integrated in
    closed form, sticks by Gauss-Jacobi quadrature under their prior Beta(1, γ). What is integrated
    is a polynomial in each stick, of at most the number of tokens: so the quadrature is exact for
    less than 2 ``n_nodes`` tokens.
    """
    documents = np.repeat(np.arange(batch.n_docs), np.diff(batch.indptr))
    documents = np.repeat(documents, batch.word_counts)
    tokens = np.repeat(batch.word_ids, batch.word_counts)
    assert len(tokens) < 2 * n_nodes
    log_weights, masses = _stick_nodes(n_topics, prior, n_nodes)
    eta = np.full(n_words, prior.eta)
    joint = []
    for topics in itertools.product(range(n_topics), repeat=len(tokens)):
        of_documents, of_words = np.zeros((batch.n_docs, n_topics)), np.zeros((n_topics, n_words))
        np.add.at(of_documents, (documents, topics), 1)
        np.add.at(of_words, (topics, tokens), 1)
        by_node = log_weights.copy()
        for counts in of_documents:
            by_node += (gammaln(counts + masses) - gammaln(masses)).sum(axis=1)
            by_node += gammaln(prior.alpha) - gammaln(prior.alpha + counts.sum())
        of_topics = (log_beta(of_words + eta, axis=1) - log_beta(eta)).sum()
        joint.append(np.logaddexp.reduce(by_node) + of_topics)
    return float(np.logaddexp.reduce(joint))


def _stick_nodes(n_topics, prior, n_nodes):
    """Quadrature nodes as αβ_k, (n_nodes ** n_topics, n_topics), and their log weights."""
    nodes, weights = roots_sh_jacobi(n_nodes, prior.gamma, 1.0)  # weight (1 − u)^(γ − 1)
    weights = weights / weights.sum()
    sticks = np.array(list(itertools.product(nodes, repeat=n_topics)))
    log_weights = np.log(np.array(list(itertools.product(weights, repeat=n_topics)))).sum(axis=1)
    lengths = np.array([stick_lengths(means)[:-1] for means in sticks])
    return log_weights, prior.alpha * lengths
