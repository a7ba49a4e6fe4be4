"""Document completion in plain numpy, one document at a time: slow, short, obviously right."""

import numpy as np
from scipy.special import digamma


def topic_proportions(batch, topic_word, doc_concentration, *, workers=1):
    """E[π_d] of every document by the dense mean-field step from a uniform start."""
    return np.array(
        [
            document_proportions(words, counts, topic_word, doc_concentration)
            for words, counts in documents(batch)
        ]
    ).reshape(batch.n_docs, len(topic_word))


def document_proportions(words, counts, topic_word, doc_concentration):
    likelihood = topic_word[:, words]
    topic_counts = (likelihood / likelihood.sum(axis=0)) @ counts
    for _ in range(100):
        weights = np.exp(digamma(topic_counts + doc_concentration))
        fresh = weights * (likelihood @ (counts / (weights @ likelihood)))
        moved = np.abs(fresh - topic_counts).max()
        topic_counts = fresh
        if moved < 0.01:
            break
    posterior = topic_counts + doc_concentration
    return posterior / posterior.sum()


def documents(batch):
    for start, stop in zip(batch.indptr[:-1], batch.indptr[1:], strict=True):
        yield batch.word_ids[start:stop], batch.word_counts[start:stop].astype(float)


def log_likelihood_per_token(observed, scored, topic_word, doc_concentration):
    """Score and standard error over (A, B) pairs; the error by leave-one-out, not the formula."""
    sums, tokens = [], []
    for (words_a, counts_a), (words_b, counts_b) in zip(
        documents(observed), documents(scored), strict=True
    ):
        theta = document_proportions(words_a, counts_a, topic_word, doc_concentration)
        sums.append(counts_b @ np.log(theta @ topic_word[:, words_b]))
        tokens.append(counts_b.sum())
    sums, tokens = np.array(sums), np.array(tokens)
    n = len(sums)
    without = (sums.sum() - sums) / (tokens.sum() - tokens)
    jackknife = np.sqrt((n - 1) / n * np.sum((without - without.mean()) ** 2))
    return sums.sum() / tokens.sum(), jackknife
