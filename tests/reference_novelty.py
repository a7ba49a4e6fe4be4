"""How topics explain documents, token by token: slow, short, obviously right."""

import numpy as np


def explained(counts, proportions, topic_word_counts, sigma, *, are_known):
    """Scores of documents, (n_docs,), and what topics get of their words, (n_topics, n_words).

    ``counts`` are those of documents, (n_docs, n_words), and ``topic_word_counts`` those of topics.
    """
    n_topics, n_words = topic_word_counts.shape
    scores, of_topics = np.zeros(len(counts)), np.zeros((n_topics, n_words))
    for document, (own, shares) in enumerate(zip(counts, proportions, strict=True)):
        given = np.zeros((n_topics, n_words))
        for word in np.flatnonzero(own):
            p = [
                shares[k] * probability(topic_word_counts[k], word, sigma) for k in range(n_topics)
            ]
            given[:, word] = own[word] * np.array(p) / sum(p)
        of_topics += given
        left = topic_word_counts - given if are_known else topic_word_counts
        for word in np.flatnonzero(own):
            p = sum(shares[k] * probability(left[k], word, sigma) for k in range(n_topics))
            scores[document] += own[word] * np.log(p)
    return scores / np.maximum(counts.sum(axis=1), 1.0), of_topics


def probability(counts, word, sigma):
    """The probability of a word in a topic with these counts, of which none is below zero."""
    return (max(counts[word], 0.0) + sigma) / (max(counts.sum(), 0.0) + len(counts) * sigma)
