"""Evidence of vectors: moments, and what each component's are worth.

Components are few numbers beside the items, so nothing is remembered but their worth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sparsetopics.assignments import Assignments
from sparsetopics.batches import FloatArray, IntArray, VectorBatch
from sparsetopics.executors import Executor
from sparsetopics.likelihoods.moments import Moments
from sparsetopics.likelihoods.vectors import VectorLikelihood, merge_gains
from sparsetopics.moves.families import Families, Sampling
from sparsetopics.moves.item_families import divide_items
from sparsetopics.responsibilities import Responsibilities

SAMPLING = Sampling(n_documents=2_000, fewest_tokens=0.1)


class ItemGathering(NamedTuple):
    """Moments say all that there is to know of items."""

    moments: Moments
    likelihood: VectorLikelihood[Any]

    def add(self, assignments: Assignments, reference: FloatArray) -> None:
        """Nothing more."""

    def done(self) -> ItemEvidence:
        return ItemEvidence.of(*self)


class ItemEvidence(NamedTuple):
    """Of all items."""

    moments: Moments
    by_topic: FloatArray  # (n_topics,)  log M(s_k)
    likelihood: VectorLikelihood[Any]

    @classmethod
    def of(cls, moments: Moments, likelihood: VectorLikelihood[Any]) -> ItemEvidence:
        return cls(moments, likelihood.log_evidence(moments), likelihood)

    @property
    def components(self) -> Moments:
        return self.moments

    @property
    def sampling(self) -> Sampling:
        return SAMPLING

    def fresh(self) -> ItemEvidence:
        return ItemEvidence.of(self.moments, self.likelihood)

    def take(self, topics: IntArray) -> ItemEvidence:
        return self._replace(moments=self.moments.take(topics), by_topic=self.by_topic[topics])

    def with_components(self, components: Moments) -> ItemEvidence:
        return ItemEvidence.of(components, self.likelihood)

    def gather_pairs(self, pairs: IntArray) -> ItemGathering:
        first, second = pairs.T
        joint = self.moments.take(first).plus(self.moments.take(second))
        return ItemGathering(joint, self.likelihood)

    def merged(self, pairs: IntArray, joint: ItemEvidence) -> ItemEvidence:
        left = np.setdiff1d(np.arange(self.moments.n_topics), pairs[:, 1])
        place = np.full(self.moments.n_topics, -1)
        place[left] = np.arange(len(left))
        place[pairs[:, 1]] = place[pairs[:, 0]]
        by_topic = self.by_topic[left]
        by_topic[place[pairs[:, 0]]] = joint.by_topic
        moments = self.moments.renumbered(place, len(left))
        return ItemEvidence(moments, by_topic, self.likelihood)

    def likeness(self) -> FloatArray:
        """The cosine of mean second moments about the origin, with those about the mean."""
        sizes = np.maximum(self.moments.counts, 1e-30)
        squares = self.moments.squares.reshape(len(sizes), -1) / sizes[:, None]
        features = np.hstack([squares, self.moments.sums / sizes[:, None]])
        features /= np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-30)
        likeness: FloatArray = features @ features.T
        return likeness

    def pair_gains(self, pairs: IntArray) -> FloatArray:
        return merge_gains(self.likelihood, self.moments, pairs)

    def families(
        self, samples: Mapping[int, Assignments], n_children: int, rng: np.random.Generator
    ) -> Families:
        return divide_items(self.moments, self.likelihood, samples, n_children, rng)

    def focus(
        self, assignments: Assignments, reference: FloatArray, kept: IntArray, executor: Executor
    ) -> ItemFocus:
        rest = self.moments.copy()
        rest.add(rest.sum_batch(*assignments, executor), -1.0)
        rest.clip()
        batch: VectorBatch = assignments.documents
        return ItemFocus(batch, self.moments.take(kept), rest.take(kept), self.likelihood)


class ItemFocus(NamedTuple):
    """The mixture without some items."""

    batch: VectorBatch
    before: Moments
    rest: Moments
    likelihood: VectorLikelihood[Any]

    def holding(self, found: Responsibilities, executor: Executor) -> Moments:
        moments = self.rest.copy()
        moments.add(moments.sum_batch(self.batch, found, executor))
        return moments

    def refit(
        self, components: Moments, found: Responsibilities, reference: FloatArray
    ) -> ItemRefit:
        return ItemRefit(ItemEvidence.of(components, self.likelihood))


class ItemRefit(NamedTuple):
    """The items of a focus, fitted anew."""

    evidence: ItemEvidence

    @property
    def by_topic(self) -> FloatArray:
        return self.evidence.by_topic

    def whole(self) -> ItemEvidence:
        return self.evidence
