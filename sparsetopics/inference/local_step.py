"""What a local step needs, what it gives and who makes it, of documents and of items alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from sparsetopics.base.batches import IntArray
from sparsetopics.model.allocations.allocation import Allocation
from sparsetopics.model.document_topics import DocumentTopics
from sparsetopics.model.likelihoods.likelihood import Likelihood
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import Summary


class Globals(NamedTuple):
    """All that a document or item needs to know of the collection."""

    components: Any  # Components; the posterior is what follows from them and the prior
    allocation: Allocation
    likelihood: Likelihood


class LocalInfo(NamedTuple):
    """What a local step tells people."""

    restarts_proposed: int
    restarts_accepted: int
    iterations: int


class LocalResult(NamedTuple):
    """Responsibilities of a batch, what follows from them, and how they were found."""

    summary: Summary
    responsibilities: Responsibilities
    info: LocalInfo
    doc_topics: DocumentTopics | None = None  # of documents; an item has one component


class Fitted(NamedTuple):
    """A batch after its local step."""

    documents: Any  # the batch as it was read
    found: LocalResult


class LocalSteps(Protocol):
    """Makes the local steps of a round, each a pure function of its batch and the parameters."""

    def fit_all(
        self, batch_ids: IntArray, current: Globals, former: Iterable[DocumentTopics | None]
    ) -> Iterator[Fitted]:
        """The batches in their order, whoever fits them; ``current`` stays as it is until then.

        ``former`` are the topics that each batch's documents begin with; None: they start cold.
        """
        ...
