"""Evidence of items: the components of a mixture, and what each is worth.

Components are small beside the items, so only their worth is remembered; the rest is computed again
whenever a move needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, Self

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray, ItemBatch
from sparsetopics.inference.item_step import K, components_of
from sparsetopics.inference.moves.evidence import Focus, cosines, merged_numbers, numbered
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.likelihoods.likelihood import ItemLikelihood
from sparsetopics.model.likelihoods.scorers import V
from sparsetopics.model.statistics import P

SAMPLING = (2_000, 0.1)  # items at most, of each component; with so large a share in it each
FEWEST_ITEMS = 2  # of the sample for each child
SEED_CANDIDATES = 200  # items of a sample to choose seeds from; batches are random already
ROUNDS = 5  # of the small mixture that divides a component


class ItemEvidence(NamedTuple, Generic[V, K, P]):
    """What components hold of all items."""

    components: K
    by_topic: FloatArray  # (n_topics,)  log M(s_k)
    likelihood: ItemLikelihood[V, K, P]

    @classmethod
    def of(cls, components: K, likelihood: ItemLikelihood[V, K, P], spread: None = None) -> Self:
        """The evidence of components. Items have no spread: each has one component."""
        return cls(components, likelihood.log_evidence(components), likelihood)

    @property
    def sampling(self) -> tuple[int, float]:
        return SAMPLING

    def take(self, topics: IntArray) -> Self:
        components = self.components.take(topics)
        return self._replace(components=components, by_topic=self.by_topic[topics])

    def with_components(self, components: K) -> Self:
        return self.of(components, self.likelihood)

    def joint(self, pairs: IntArray) -> K:
        first, second = pairs.T
        return self.components.take(first).plus(self.components.take(second))

    def merged(self, pairs: IntArray, joint: Self) -> Self:
        left, place = merged_numbers(pairs, self.components.n_topics)
        by_topic = self.by_topic[left]
        by_topic[place[pairs[:, 0]]] = joint.by_topic
        components = self.components.renumbered(place, len(left))
        return self._replace(components=components, by_topic=by_topic)

    def likeness(self) -> FloatArray:
        """The cosine of the components' features."""
        return cosines(self.components.features)

    def families(
        self,
        samples: Mapping[int, Assignments[ItemBatch[V]]],
        n_children: int,
        rng: np.random.Generator,
    ) -> tuple[K, IntArray]:
        """See ``Evidence``; a component is split if its sample has enough items.

        The children are a small mixture of the component's own items, fitted with hard assignments.
        """
        parts, parents = [], []
        seeding = self.likelihood.seeding(self.components)
        for topic in range(self.components.n_topics):
            mine = self.components.take(np.array([topic]))
            if topic in samples and samples[topic].documents.n_docs >= FEWEST_ITEMS * n_children:
                values = samples[topic].documents.values
                seeds = seeding.distant_seeds(values[:SEED_CANDIDATES], n_children, rng)
                children = components_of(values, seeds, seeding, ROUNDS)
                mine = children.scaled(mine.sizes[0] / children.sizes.sum())
            parts.append(mine)
            parents.append(np.full(mine.n_topics, topic))
        return self.components.joined(parts), np.concatenate(parents)

    def focus(
        self, assignments: Assignments[ItemBatch[V]], kept: IntArray, reference: FloatArray
    ) -> ItemFocus[V, K, P]:
        found = assignments.responsibilities
        found = found.renumbered(numbered(kept, self.components.n_topics))
        now = Assignments(assignments.documents, found)
        return ItemFocus(now, self.components.take(kept), self, kept)


@dataclass
class ItemFocus(Focus[ItemBatch[V], K], Generic[V, K, P]):
    """Some items of a mixture."""

    whole: ItemEvidence[V, K, P]
    kept: IntArray  # (n_kept,)

    @property
    def by_topic(self) -> FloatArray:
        return self.whole.likelihood.log_evidence(self.components)

    def written(self, *, in_place: bool = False) -> ItemEvidence[V, K, P]:
        """See ``Focus``; components are small beside the items, and always copied."""
        by_topic = np.zeros_like(self.whole.by_topic)
        by_topic[self.kept] = self.by_topic
        components = self.components.renumbered(self.kept, len(by_topic))
        return self.whole._replace(components=components, by_topic=by_topic)
