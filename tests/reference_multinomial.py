"""Mixtures of documents in plain numpy: dense counts, document by document, obviously right."""

import numpy as np
from scipy.special import gammaln, psi


def expected_logs(counts, shares, eta):
    """E[log φ_kv], (n_topics, n_words), of documents ``counts`` and their ``shares``."""
    posterior = shares.T @ counts + eta
    return psi(posterior) - psi(posterior.sum(axis=1, keepdims=True))


def log_density(count, logs):
    """Σ_v x_v log φ_v of one document, (n_topics,), without the multinomial coefficient."""
    return np.array([sum(x * log for x, log in zip(count, row, strict=True)) for row in logs])


def log_evidence_by_chain(counts, eta):
    """log p(tokens) of documents of one component: token after token, φ integrated out."""
    n_words = counts.shape[1]
    seen, total = np.zeros(n_words), 0.0
    for document in counts:
        for word in np.repeat(np.arange(n_words), document):
            total += np.log((seen[word] + eta) / (seen.sum() + n_words * eta))
            seen[word] += 1
    return total


def elbo_of_words(counts, shares, eta):
    """E[log p(x, φ)] − E[log q(φ)] by its definition, q(φ) at its optimum for ``shares``."""
    n_words = counts.shape[1]
    logs = expected_logs(counts, shares, eta)
    total = 0.0
    for k in range(shares.shape[1]):
        for n, document in enumerate(counts):
            total += shares[n, k] * float(document @ logs[k])
        posterior = shares[:, k] @ counts + eta
        total += gammaln(n_words * eta) - n_words * gammaln(eta) + (eta - 1) * logs[k].sum()
        total -= gammaln(posterior.sum()) - gammaln(posterior).sum()
        total -= float((posterior - 1) @ logs[k])
    return total
