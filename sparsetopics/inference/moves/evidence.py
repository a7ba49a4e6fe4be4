"""What topics hold and what it is worth, whatever kind of data it is.

Moves take topics away, join them, and fit some documents anew; after each they need the data's part
of the score. How that is kept, and which of it has to be computed again, is the likelihood's
matter: ``word_evidence`` for words, ``item_evidence`` for items.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, Self

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.moves.families import Families, Sampling
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import Components


class Evidence(Protocol):
    """Every method leaves the object as it is."""

    @property
    def components(self) -> Any:
        """Components."""
        ...

    @property
    def by_topic(self) -> FloatArray:
        """log M(s_k) and what the criterion adds to it, (n_topics,), in nats."""
        ...

    @property
    def sampling(self) -> Sampling:
        """What ``families`` are made from."""
        ...

    def fresh(self) -> Self:
        """The same, with nothing remembered of what it is worth."""
        ...

    def take(self, topics: IntArray) -> Self:
        """The chosen topics alone, in that order."""
        ...

    def with_components(self, components: Any) -> Self:
        """The same topics with ``components`` that were summed anew."""
        ...

    def gather_pairs(self, pairs: IntArray) -> Gathering:
        """Of ``pairs`` (n_pairs, 2) of topics joined, before any assignments were seen."""
        ...

    def merged(self, pairs: IntArray, joint: Self) -> Self:
        """With each pair in the place of its first, as ``joint`` has them; the second go."""
        ...

    def likeness(self) -> FloatArray:
        """How alike topics are, (n_topics, n_topics), the greater the more."""
        ...

    def pair_gains(self, pairs: IntArray) -> FloatArray:
        """log M(s_a + s_b) − log M(s_a) − log M(s_b), (n_pairs,)."""
        ...

    def families(
        self, samples: Mapping[int, Assignments], n_children: int, rng: np.random.Generator
    ) -> Families:
        """Children of the topics that are sampled, if the sample is large enough for them."""
        ...

    def focus(
        self, assignments: Assignments, reference: FloatArray, kept: IntArray, executor: Executor
    ) -> Focus:
        """On some documents, which are to be fitted anew with the topics ``kept`` (rising)."""
        ...


class Gathering(Protocol):
    """Evidence in the making: assignments are added in place, batch after batch."""

    def add(self, assignments: Assignments, reference: FloatArray) -> None: ...

    def done(self) -> Any:
        """The evidence."""
        ...


class Focus(Protocol):
    """The collection without some documents and some topics."""

    @property
    def batch(self) -> Any:
        """The documents, as the components below know them."""
        ...

    @property
    def before(self) -> Components:
        """The kept topics as they were, the documents still among them."""
        ...

    def holding(self, found: Responsibilities, executor: Executor) -> Components:
        """The kept topics with the documents as ``found`` says."""
        ...

    def refit(self, components: Any, found: Responsibilities, reference: FloatArray) -> Refitted:
        """What ``holding`` gave, as evidence."""
        ...


class Refitted(Protocol):
    """The collection with some documents fitted anew."""

    @property
    def by_topic(self) -> FloatArray:
        """As that of Evidence."""
        ...

    def whole(self) -> Any:
        """The evidence of all; costly, so only if the documents are to stay as they are now."""
        ...


def sum_anew(zero: Any, batches: Iterable[Assignments], executor: Executor) -> Any:
    """Components summed from assignments, free of what exchanging documents leaves.

    A batch's sums may be rounded, so parts that go out do not cancel what went in.
    """
    components = zero.zeros_like()
    for assignments in batches:
        components.add(components.sum_batch(*assignments, executor))
    return components
