"""Prevalence in plain numpy: slow, short, obviously right."""

import numpy as np
from scipy.optimize import minimize
from scipy.stats import t


def dense_shares(batch, n_words):
    """The share of each word in each document."""
    shares = np.zeros((batch.n_docs, n_words))
    for document in range(batch.n_docs):
        pairs = slice(*batch.indptr[document : document + 2])
        counts = batch.word_counts[pairs].astype(float)
        shares[document, batch.word_ids[pairs]] = counts / counts.sum()
    return shares


def projection(topic_word, weights):
    """(φ W φᵀ)⁻¹ φ W, transposed, without a ridge."""
    inverse = np.diag(1.0 / (weights @ topic_word))
    return np.linalg.solve(topic_word @ inverse @ topic_word.T, topic_word @ inverse).T


def errors(estimates):
    """Standard errors of the means of rows, and the skewness of these means."""
    n_rows = len(estimates)
    centred = estimates - estimates.mean(axis=0)
    skewness = (centred**3).mean(axis=0) / (centred**2).mean(axis=0) ** 1.5
    return estimates.std(axis=0, ddof=1) / np.sqrt(n_rows), skewness / np.sqrt(n_rows)


def most_likely(shares, topic_word):
    """The mixture of topics under which mean shares of words are most likely, by a general
    optimiser over logits."""

    def loss(logits):
        weights = np.exp(logits - logits.max())
        return -shares @ np.log(weights / weights.sum() @ topic_word)

    found = minimize(loss, np.zeros(len(topic_word)), method="BFGS", options={"gtol": 1e-9}).x
    weights = np.exp(found - found.max())
    return weights / weights.sum()


def interval(error, skewness, freedom, level):
    """Ends of an interval around zero, by bisection."""

    def solve(wanted):
        low, high = -1e3, 1e3
        for _ in range(200):
            q = (low + high) / 2
            value = q + skewness * (q * q / 3 + 1 / 6) + skewness**2 * q**3 / 27
            low, high = (q, high) if value < wanted else (low, q)
        return q

    quantile = t.ppf((1 + level) / 2, freedom)
    return -error * solve(quantile), -error * solve(-quantile)


def holm(p_values):
    """Holm's adjusted p-values by their definition."""
    order = np.argsort(p_values)
    adjusted = np.empty(len(p_values))
    for place, index in enumerate(order):
        ranked = [(len(p_values) - j) * p_values[order[j]] for j in range(place + 1)]
        adjusted[index] = min(1.0, max(ranked))
    return adjusted


def least_squares(design, estimates, contrasts):
    """Contrasts of coefficients, their HC3 errors, and the skewness of each."""
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ design.T @ estimates
    hat = design @ inverse @ design.T
    left = (estimates - design @ coefficients) / (1.0 - np.diag(hat))[:, None]
    weights = contrasts @ inverse @ design.T
    errors = np.sqrt(weights**2 @ left**2)
    return contrasts @ coefficients, errors, weights**3 @ left**3 / errors**3


def over_runs(value, error, freedom, of_runs):
    """One estimate with the distances of those of runs: its error and degrees of freedom."""
    own = [run for run in of_runs if not np.isnan(run)]
    m = len(own)
    if m < 2:
        return np.nan, np.nan
    between = sum((run - value) ** 2 for run in own) / (m - 1)
    total = error**2 + (1 + 1 / m) * between
    parts = [(error**2, freedom), ((1 + 1 / m) * between, m - 1)]
    return np.sqrt(total), total**2 / sum(part**2 / own for part, own in parts)


def correlations(shares, sizes, projection, blocks, n_blocks):
    """Correlations of topics over documents, and their errors by leaving out blocks."""
    documents = [number for number, size in enumerate(sizes) if size >= 2]
    estimates = shares @ projection

    def of(some):
        y = estimates[some]
        covariance = np.cov(y.T, bias=True)
        for own, d in zip(y, some, strict=True):
            words = projection.T @ np.diag(shares[d]) @ projection
            covariance -= (words - np.outer(own, own)) / (sizes[d] - 1) / len(some)
        scale = np.sqrt(np.diag(covariance))
        return covariance / np.outer(scale, scale)

    without = [of([d for d in documents if blocks[d] != block]) for block in range(n_blocks)]
    return of(documents), np.std(without, axis=0) * np.sqrt(n_blocks - 1)
