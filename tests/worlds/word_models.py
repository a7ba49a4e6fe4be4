"""Components and global parameters of topics over words, from plain tables of counts."""

import numpy as np

from sparsetopics.inference.local_step import Globals
from sparsetopics.model.likelihoods.words import Words
from sparsetopics.model.statistics import DocumentTerms, Statistics
from sparsetopics.model.word_counts import WordCounts


def zero_statistics(n_words, n_topics):
    return Statistics(WordCounts.zeros(n_words, n_topics), DocumentTerms.zeros(n_topics))


def start_of(counts):
    """``counts`` (n_words, n_topics) that stand for documents not seen."""
    return Statistics(WordCounts(counts), DocumentTerms.zeros(counts.shape[1]))


def globals_of(counts, allocation, eta):
    return Globals(WordCounts(counts), allocation, Words(len(counts), eta))


def without_shares(counts):
    """The pairs of ``PairCounts``, of which topics have nothing."""
    starts = np.zeros_like(counts.starts)
    return counts._replace(starts=starts, topics=counts.topics[:0], shares=counts.shares[:0])
