"""The evidence lower bound, exact for the whole collection.

It is a bound for every choice of responsibilities, since the other factors follow from them in
closed form; so it holds under either local update. Only the mean-field update is sure to raise it.
Multinomial coefficients are left out.
"""

from __future__ import annotations

from sparsetopics.inference.local_step import Globals
from sparsetopics.model.statistics import Statistics, Summary


def elbo(statistics: Statistics, current: Globals) -> float:
    """Whole-data ELBO in nats of ``statistics`` under the ``current`` global parameters."""
    of_data = current.likelihood.elbo(statistics.components, current.components)
    return of_data + current.allocation.elbo(statistics.terms)


def batch_bound(summary: Summary, current: Globals) -> float:
    """The part of the ELBO, in nats, that a batch's responsibilities decide.

    Under the same global parameters, two summaries of a batch differ by as much in the whole-data
    ELBO; taking the larger one and then the global step therefore never lowers it.
    """
    of_data = current.likelihood.expected_log_evidence(summary.components, current.components)
    return of_data + current.allocation.elbo(summary.terms)
