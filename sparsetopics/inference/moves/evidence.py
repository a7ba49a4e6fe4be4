"""What topics hold and what it is worth: the interface that moves have to all kinds of data.

Moves take topics away, join them, and fit some documents again. After each of these they need the
data's part of the score. How it is stored, and what must be computed again, depends on the data:
``word_evidence`` is for words of documents, ``item_evidence`` for items of mixtures.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, Self

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.execution.executors import Executor
from sparsetopics.kernels.types import Float32Array
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import B, C


class Evidence(Protocol[B, C]):
    """What all topics hold. No method changes the object."""

    @property
    def components(self) -> C: ...

    @property
    def by_topic(self) -> FloatArray:
        """log M(s_k) and what the criterion adds to it, (n_topics,), in nats."""

    @property
    def sampling(self) -> tuple[int, float]:
        """How many documents of each topic ``families`` needs, and of how many of its tokens."""

    def take(self, topics: IntArray) -> Self:
        """The chosen topics alone, in that order."""

    def with_components(self, components: C) -> Self:
        """The same topics with ``components`` summed again, their worth computed from scratch."""

    def joint(self, pairs: IntArray) -> C:
        """The components of joint topics, one for each of ``pairs`` (n_pairs, 2)."""

    def merged(self, pairs: IntArray, joint: Self) -> Self:
        """Put the topics of ``joint`` in the places of the pairs' first; the second ones go."""

    def likeness(self) -> FloatArray:
        """How alike topics are, (n_topics, n_topics), larger for topics that are more alike."""

    def families(
        self, samples: Mapping[int, Assignments[B]], n_children: int, rng: np.random.Generator
    ) -> tuple[C, IntArray]:
        """Split the topics that ``samples`` has enough documents of.

        Returns the components of all children, or of the topic itself if it was not split, and
        their parents, (n_children,), which rise.
        """

    def focus(
        self, assignments: Assignments[B], kept: IntArray, reference: FloatArray
    ) -> Focus[B, C]:
        """Look at some documents, to be fitted again with the topics ``kept`` (rising) alone.

        ``reference`` (n_kept,) is α_k of these topics.
        """


@dataclass
class Focus(ABC, Generic[B, C]):
    """Some documents, and what the topics that are kept hold of the collection with them."""

    now: Assignments[B]  # in the form that the components understand, with the kept topics alone
    components: C  # of all documents

    def hold_in_place(self, found: Responsibilities, executor: Executor) -> None:
        """Put the documents into the kept topics as ``found`` says, in place."""
        held, self.now = self.now, self.now._replace(responsibilities=found)
        new, old = (self.components.sum_batch(*each, executor) for each in (self.now, held))
        self.components.exchange(new, old, executor)
        self.__dict__.pop("_scored", None)  # what a subclass has remembered

    @property
    @abstractmethod
    def by_topic(self) -> FloatArray:
        """As ``Evidence.by_topic``, of the kept topics, with the documents as put in last."""

    @abstractmethod
    def written(self, *, in_place: bool = False) -> Evidence[B, C]:
        """The evidence it came from with this in place of the kept topics.

        The other topics are worthless; ``Evidence.take`` leaves them out. With ``in_place``, it
        takes the memory of the evidence it came from.
        """


def numbered(topics: IntArray, n_topics: int) -> IntArray:
    """The number of each of ``n_topics`` among ``topics``, -1 if it is not among them."""
    numbers = np.full(n_topics, -1)
    numbers[topics] = np.arange(len(topics))
    return numbers


def merged_numbers(pairs: IntArray, n_topics: int) -> tuple[IntArray, IntArray]:
    """The topics that are left when the second of each of ``pairs`` joins the first, rising.

    Also returns the new number of each of ``n_topics``. The pairs (n_pairs, 2) share no topic.
    """
    left = np.setdiff1d(np.arange(n_topics), pairs[:, 1])
    numbers = numbered(left, n_topics)
    numbers[pairs[:, 1]] = numbers[pairs[:, 0]]
    return left, numbers


def cosines(features: FloatArray | Float32Array) -> FloatArray:
    """The cosine of any two rows of ``features``, which are scaled in place."""
    features /= np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-30)
    return (features @ features.T).astype(np.float64)
