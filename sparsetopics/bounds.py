"""The evidence lower bound of topic models, exact for the whole collection.

It is a bound for every choice of responsibilities, since the other factors follow from them in
closed form; so it holds under either local update. Only the mean-field update is sure to raise it.
Multinomial coefficients are left out.
"""

from __future__ import annotations

from sparsetopics.likelihoods import words
from sparsetopics.local_step import TopicGlobals
from sparsetopics.statistics import Statistics, Summary


def elbo(statistics: Statistics, current: TopicGlobals) -> float:
    """Whole-data ELBO in nats of ``statistics`` under the ``current`` global parameters."""
    return words.elbo_words(
        statistics.word_topic_counts, current.word_topic_counts, current.word_concentration
    ) + current.allocation.elbo(statistics.terms)


def batch_bound(summary: Summary, current: TopicGlobals) -> float:
    """The part of the ELBO, in nats, that a batch's responsibilities decide.

    Under the same global parameters, two summaries of a batch differ by as much in the whole-data
    ELBO; taking the larger one and then the global step therefore never lowers it.
    """
    evidence = words.expected_log_evidence(
        summary.word_counts,
        current.word_topic_counts,
        current.topic_counts,
        current.word_concentration,
    )
    return evidence + current.allocation.elbo(summary.terms)
