"""What a local step needs and what it gives, for documents and for items of a mixture alike."""

from __future__ import annotations

from typing import Any, NamedTuple

from sparsetopics.allocations.allocation import Allocation
from sparsetopics.likelihoods.likelihood import Likelihood
from sparsetopics.responsibilities import Responsibilities
from sparsetopics.statistics import Summary


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
