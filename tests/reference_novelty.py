"""How topics explain documents, token by token: slow, short, obviously right."""

import numpy as np


def explained(counts, tokens, alpha, topic_word_counts, sigma, *, are_known):
    """Scores of documents, (n_docs,), of these ``counts``, (n_docs, n_words).

    ``tokens`` (n_docs, n_topics, n_words) are those that each topic has of them, and
    ``topic_word_counts`` those of topics. ``alpha`` is (n_topics,).
    """
    scores = np.zeros(len(counts))
    for document, (own, given) in enumerate(zip(counts, tokens, strict=True)):
        shares = given.sum(axis=1) + alpha
        left = topic_word_counts - given if are_known else topic_word_counts
        for word in np.flatnonzero(own):
            p = [probability(each, word, sigma) for each in left]
            scores[document] += own[word] * np.log(np.dot(shares / shares.sum(), p))
    return scores / np.maximum(counts.sum(axis=1), 1.0)


def probability(counts, word, sigma):
    """The probability of a word in a topic with these counts, of which none is below zero."""
    return (max(counts[word], 0.0) + sigma) / (max(counts.sum(), 0.0) + len(counts) * sigma)
