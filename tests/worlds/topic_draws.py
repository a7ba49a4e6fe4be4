"""Topics, and documents of known proportions drawn from them."""

import numpy as np

from sparsetopics.base.batches import DocumentBatch
from sparsetopics.measures.prevalence import GroupTotal, sum_groups

N_TOPICS, N_WORDS = 4, 30


def draw_topics(seed=0, concentration=0.3):
    topics = np.random.default_rng(seed).dirichlet(np.full(N_WORDS, concentration), N_TOPICS)
    topics = (topics + 1e-4) / (topics + 1e-4).sum(axis=1, keepdims=True)
    topics.flags.writeable = False
    return topics


def draw_documents(rng, topic_word, mean, n_documents, n_tokens=40, concentration=2.0):
    """Documents whose proportions have the given mean."""
    proportions = rng.dirichlet(concentration * mean, n_documents)
    counts = np.stack([rng.multinomial(n_tokens, each @ topic_word) for each in proportions])
    return batch_of(counts)


def batch_of(counts):
    documents, words = np.nonzero(counts)
    indptr = np.searchsorted(documents, np.arange(len(counts) + 1))
    found = counts[documents, words]
    return DocumentBatch(indptr.astype(np.int64), words.astype(np.int32), found.astype(np.uint32))


def totals_of(batch, groups, n_groups, projection):
    sums = sum_groups(batch, np.asarray(groups), n_groups, projection)
    totals = [GroupTotal(N_TOPICS, N_WORDS) for _ in range(n_groups)]
    for row, total in enumerate(totals):
        total.add(sums, row)
    return totals
