"""Random sticks, responsibilities and global parameters of an HDP."""

import numpy as np
from hypothesis import strategies as st

import reference_hdp
from reference_hdp import Prior
from sparsetopics.model.allocations.hdp import HDPAllocation
from sparsetopics.model.topic_posterior import Sticks
from worlds.word_models import globals_of

N_WORDS, N_TOPICS = 30, 5
SEEDS = st.integers(0, 2**32 - 1)


def draw_sticks(rng, n_topics, gamma=3.0, alpha=0.5):
    means = np.clip(rng.beta(1.0, 2.0, n_topics), 0.01, 0.99)
    return Sticks(means, rng.gamma(2.0, 20.0, n_topics) + 1.0, gamma, alpha)


def make_globals(counts, drawn, eta):
    return globals_of(counts, HDPAllocation(drawn), eta)


def draw_shares(rng, batch, n_topics=N_TOPICS, n_used=2):
    """Every word uses some topics of the two or three its document uses."""
    shares = np.zeros((batch.n_pairs, n_topics))
    for lo, hi in zip(batch.indptr[:-1], batch.indptr[1:], strict=True):
        used = rng.choice(n_topics, min(n_used, n_topics), replace=False)
        shares[np.ix_(np.arange(lo, hi), used)] = rng.dirichlet(np.full(len(used), 0.6), hi - lo)
    shares[shares < 1e-3] = 0.0
    return shares / shares.sum(axis=1, keepdims=True)


def active_in(visit):
    """Which topics each document uses at all, (n_docs, n_topics)."""
    return reference_hdp.doc_topic_counts(visit)[:, :-1] > 0


def prior_of(drawn, eta):
    return Prior(drawn.top_concentration, drawn.doc_concentration, eta)
