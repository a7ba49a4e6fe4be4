"""What a local step is given and what it returns, for documents and for items alike.

``laps.fit_batch`` makes the local step of a batch: ``document_step`` for documents that share
topics, ``item_step`` for items that have one component each. The evidence lower bound (ELBO) is
here too. It is exact for the whole collection, and a bound for any choice of responsibilities,
because the other factors follow from those in closed form. It therefore holds under either local
update, although only the mean-field update is sure to raise it. Multinomial coefficients are left
out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, NamedTuple, Self, TypeVar

from sparsetopics.base.batches import Batch, IntArray
from sparsetopics.model.allocations.allocation import Allocation
from sparsetopics.model.likelihoods.likelihood import Likelihood
from sparsetopics.model.responsibilities import DocumentTopics, Responsibilities
from sparsetopics.model.statistics import C, DocumentLengths, P, Statistics, Summary, T
from sparsetopics.options.training import LocalOptions

D = TypeVar("D", bound=Batch)  # a batch, of documents, items or nodes


class Parameters(NamedTuple, Generic[C, P, T]):
    """The present global parameters, except for the components, which the learner holds."""

    allocation: Allocation[T]
    likelihood: Likelihood[C, P]

    @property
    def nothing(self) -> Statistics[C, T]:
        """Statistics of no data, for this number of topics."""
        terms = self.allocation.zero_terms()
        return Statistics(self.likelihood.zeros(terms.by_topic.shape[1]), terms)

    def with_components(self, components: C) -> Globals[C, P, T]:
        return Globals(components, *self)

    def updated(self, terms: T | None) -> Self:
        """Parameters with optimal topic weights; the same if there are no ``terms`` yet."""
        if terms is None:
            return self
        return self._replace(allocation=self.allocation.updated(terms))

    def learned(self, statistics: Statistics[C, T], lengths: DocumentLengths) -> Self:
        """Parameters with the priors' own concentrations at their optimum."""
        return self._replace(
            allocation=self.allocation.learned(statistics.terms, lengths),
            likelihood=self.likelihood.learned(statistics.components),
        )


class Globals(NamedTuple, Generic[C, P, T]):
    """All that a document or item needs to know of the collection."""

    components: C  # the posterior follows from them and the prior
    allocation: Allocation[T]
    likelihood: Likelihood[C, P]


def elbo(statistics: Statistics[C, T], current: Globals[C, P, T]) -> float:
    """Whole-data ELBO in nats of ``statistics`` under the ``current`` global parameters."""
    of_data = current.likelihood.elbo(statistics.components, current.components)
    return of_data + current.allocation.elbo(statistics.terms)


def batch_bound(summary: Summary[P, T], current: Globals[C, P, T]) -> float:
    """The part of the ELBO, in nats, that depends on a batch's responsibilities.

    Under the same global parameters, two summaries of a batch differ in it by as much as in the
    whole-data ELBO. Keeping the better one before a global step therefore never lowers the ELBO.
    """
    of_data = current.likelihood.expected_log_evidence(summary.components, current.components)
    return of_data + current.allocation.elbo(summary.terms)


class LocalInfo(NamedTuple):
    """What a local step reports to people."""

    restarts_proposed: int = 0
    restarts_accepted: int = 0
    iterations: int = 0


class LocalResult(NamedTuple, Generic[P, T]):
    """Responsibilities of a batch, what follows from them, and how they were found."""

    summary: Summary[P, T]
    responsibilities: Responsibilities
    info: LocalInfo
    doc_topics: DocumentTopics | None = None  # None for items


# What the last visit of a batch left: the topics that its documents begin with, or None for a cold
# start; and what it put into the counts, or None if nothing is left out of them.
Former = tuple[DocumentTopics | None, Responsibilities | None]
NOTHING: Former = (None, None)  # of a first visit

# Makes the local steps of a round, each a pure function of its batch and the parameters. Given are
# the numbers of the batches, the parameters, which must not change until the last step is out, and
# what the last visit of each batch left. The batches come out in their order, as they were read.
LocalSteps = Callable[
    [IntArray, Globals[C, P, T], LocalOptions, Iterable[Former]],
    Iterator[tuple[D, LocalResult[P, T]]],
]
