"""Evidence of items: what components have been given, and what that is worth of each.

Nothing is remembered but the worth: components are few numbers beside the items.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.moves.families import Families, Sampling
from sparsetopics.inference.moves.item_families import divide_items
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.likelihoods.likelihood import ItemLikelihood
from sparsetopics.model.responsibilities import Responsibilities

SAMPLING = Sampling(n_documents=2_000, fewest_tokens=0.1)


class ItemGathering(NamedTuple):
    """Components say all that there is to know of items."""

    components: Any
    likelihood: ItemLikelihood[Any, Any, Any]

    def add(self, assignments: Assignments, reference: FloatArray) -> None:
        """Nothing more."""

    def done(self) -> ItemEvidence:
        return ItemEvidence.of(*self)


class ItemEvidence(NamedTuple):
    """Of all items."""

    components: Any
    by_topic: FloatArray  # (n_topics,)  log M(s_k)
    likelihood: ItemLikelihood[Any, Any, Any]

    @classmethod
    def of(cls, components: Any, likelihood: ItemLikelihood[Any, Any, Any]) -> ItemEvidence:
        return cls(components, likelihood.log_evidence(components), likelihood)

    @property
    def sampling(self) -> Sampling:
        return SAMPLING

    def fresh(self) -> ItemEvidence:
        return ItemEvidence.of(self.components, self.likelihood)

    def take(self, topics: IntArray) -> ItemEvidence:
        components = self.components.take(topics)
        return self._replace(components=components, by_topic=self.by_topic[topics])

    def with_components(self, components: Any) -> ItemEvidence:
        return ItemEvidence.of(components, self.likelihood)

    def gather_pairs(self, pairs: IntArray) -> ItemGathering:
        first, second = pairs.T
        joint = self.components.take(first).plus(self.components.take(second))
        return ItemGathering(joint, self.likelihood)

    def merged(self, pairs: IntArray, joint: ItemEvidence) -> ItemEvidence:
        left = np.setdiff1d(np.arange(self.components.n_topics), pairs[:, 1])
        place = np.full(self.components.n_topics, -1)
        place[left] = np.arange(len(left))
        place[pairs[:, 1]] = place[pairs[:, 0]]
        by_topic = self.by_topic[left]
        by_topic[place[pairs[:, 0]]] = joint.by_topic
        components = self.components.renumbered(place, len(left))
        return ItemEvidence(components, by_topic, self.likelihood)

    def likeness(self) -> FloatArray:
        """The cosine of what components tell of themselves."""
        features = self.components.features
        features /= np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-30)
        likeness: FloatArray = (features @ features.T).astype(np.float64)
        return likeness

    def pair_gains(self, pairs: IntArray) -> FloatArray:
        return self.likelihood.merge_gains(self.components, pairs)

    def families(
        self, samples: Mapping[int, Assignments], n_children: int, rng: np.random.Generator
    ) -> Families:
        return divide_items(self.components, self.likelihood, samples, n_children, rng)

    def focus(
        self, assignments: Assignments, reference: FloatArray, kept: IntArray, executor: Executor
    ) -> ItemFocus:
        rest = self.components.accumulator()
        rest.take_out(rest.sum_batch(*assignments, executor))
        before = self.components.take(kept)
        return ItemFocus(assignments.documents, before, rest.take(kept), self.likelihood)


class ItemFocus(NamedTuple):
    """The mixture without some items."""

    batch: Any  # of items
    before: Any  # Components, like the next
    rest: Any
    likelihood: ItemLikelihood[Any, Any, Any]

    def holding(self, found: Responsibilities, executor: Executor) -> Any:
        components = self.rest.accumulator()
        components.add(components.sum_batch(self.batch, found, executor))
        return components

    def refit(self, components: Any, found: Responsibilities, reference: FloatArray) -> ItemRefit:
        return ItemRefit(ItemEvidence.of(components, self.likelihood))


class ItemRefit(NamedTuple):
    """The items of a focus, fitted anew."""

    evidence: ItemEvidence

    @property
    def by_topic(self) -> FloatArray:
        return self.evidence.by_topic

    def whole(self) -> ItemEvidence:
        return self.evidence
