"""LDA in plain numpy: dense, slow, obviously right. Twins of the engine's bound and updates.

A visit is what a batch's last local step left behind: the documents, their dense responsibilities
(n_pairs, n_topics) and the α it was made under, which θ_d keeps.
"""

import itertools
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, psi

from sparsetopics.base.batches import DocumentBatch


class Visit(NamedTuple):
    batch: DocumentBatch
    responsibilities: np.ndarray
    doc_concentration: np.ndarray


def log_beta(values, axis=None):
    return gammaln(values).sum(axis=axis) - gammaln(values.sum(axis=axis))


def expected_log(posterior):
    """E[log p] under the Dirichlet of each row."""
    return psi(posterior) - psi(posterior.sum(axis=-1, keepdims=True))


def word_counts(visit, n_words):
    """S_kv of one visit, (n_topics, n_words)."""
    counts = np.zeros((n_words, visit.responsibilities.shape[1]))
    weighted = visit.responsibilities * visit.batch.word_counts[:, None].astype(float)
    np.add.at(counts, visit.batch.word_ids, weighted)
    return counts.T


def doc_topic_counts(visit):
    """N_dk of one visit, (n_docs, n_topics)."""
    counts = np.zeros((visit.batch.n_docs, visit.responsibilities.shape[1]))
    documents = np.repeat(np.arange(visit.batch.n_docs), np.diff(visit.batch.indptr))
    weighted = visit.responsibilities * visit.batch.word_counts[:, None].astype(float)
    np.add.at(counts, documents, weighted)
    return counts


def entropy(visit):
    shares = visit.responsibilities
    logs = np.log(np.where(shares > 0, shares, 1.0))
    return -float((visit.batch.word_counts[:, None] * shares * logs).sum())


def elbo(visits, topic_word_posterior, doc_concentration, word_concentration, stored=np.float64):
    """Whole-data ELBO, every term written out, for any λ, α and η.

    ``stored`` is the precision in which a visit's word counts are kept.
    """
    n_topics, n_words = topic_word_posterior.shape
    counts = sum(word_counts(visit, n_words).astype(stored).astype(float) for visit in visits)
    logs = expected_log(topic_word_posterior)
    bound = log_beta(topic_word_posterior, axis=1).sum()
    bound -= n_topics * log_beta(np.full(n_words, word_concentration))
    bound += ((counts + word_concentration - topic_word_posterior) * logs).sum()
    for visit in visits:
        in_document = doc_topic_counts(visit)
        posterior = in_document + visit.doc_concentration
        slack = in_document + doc_concentration - posterior
        bound += entropy(visit) + (slack * expected_log(posterior)).sum()
        bound += log_beta(posterior, axis=1).sum() - len(posterior) * log_beta(doc_concentration)
    return float(bound)


def log_evidence(batch, n_topics, n_words, doc_concentration, word_concentration):
    """log p(tokens) exactly, by enumerating the topic assignments of all tokens."""
    documents = np.repeat(np.arange(batch.n_docs), np.diff(batch.indptr))
    documents = np.repeat(documents, batch.word_counts)
    tokens = np.repeat(batch.word_ids, batch.word_counts)
    prior = np.full(n_words, word_concentration)
    joint = []
    for topics in itertools.product(range(n_topics), repeat=len(tokens)):
        of_documents, of_words = np.zeros((batch.n_docs, n_topics)), np.zeros((n_topics, n_words))
        np.add.at(of_documents, (documents, topics), 1)
        np.add.at(of_words, (topics, tokens), 1)
        joint.append(
            (log_beta(of_documents + doc_concentration, axis=1) - log_beta(doc_concentration)).sum()
            + (log_beta(of_words + prior, axis=1) - log_beta(prior)).sum()
        )
    return float(np.logaddexp.reduce(joint))


def mean_field(batch, log_topic_word, doc_concentration, n_iterations, tolerance=-1.0):
    """Dense mean-field responsibilities from uniform π_d; ``log_topic_word`` is (n_topics, V).

    Every document runs until no topic's count moves by ``tolerance``.
    """
    found = []
    for lo, hi in itertools.pairwise(batch.indptr):
        logs = log_topic_word[:, batch.word_ids[lo:hi]].T
        counts = batch.word_counts[lo:hi].astype(float)
        shares = _softmax(logs)
        mass = counts @ shares
        for _ in range(n_iterations):
            shares = _softmax(logs + psi(mass + doc_concentration))
            change = np.abs(counts @ shares - mass).max(initial=0.0)
            mass = counts @ shares
            if change < tolerance:
                break
        found.append(shares)
    return np.concatenate(found)


def variational_bayes(batch, start, doc_concentration, word_concentration, laps, n_iterations):
    """λ (n_topics, n_words) after ``laps`` of full coordinate ascent from counts ``start``."""
    counts = start
    for _ in range(laps):
        logs = expected_log(counts + word_concentration)
        shares = mean_field(batch, logs, doc_concentration, n_iterations)
        counts = word_counts(Visit(batch, shares, doc_concentration), counts.shape[1])
    return counts + word_concentration


def _softmax(logs):
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)
