"""Growth: after a lap a component is split, everything updated, and the split kept if it pays.

The greedy algorithm of VDP06, section 7. From one component: updates until the ELBO hardly rises,
the tree refined on the way; then trial splits (``splitting``), the best of which are updated in
full. A split stays if the ELBO is higher than that of the components as they were, on the same
tree: refinement alone raises it too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, cast

import numpy as np

from sparsetopics.base.batches import IntArray
from sparsetopics.inference.bounds import elbo
from sparsetopics.inference.growth.outer_source import OuterSource
from sparsetopics.inference.growth.refining import plan_refinement
from sparsetopics.inference.growth.splitting import Split, owners, try_split
from sparsetopics.inference.laps import Laps, Prior
from sparsetopics.inference.learners.accelerated import GrownState
from sparsetopics.inference.moves.mover import Moved
from sparsetopics.inference.moves.standing import MoveTally
from sparsetopics.model.allocations.nested import NestedAllocation
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.node_batches import NodeRecord
from sparsetopics.model.statistics import Statistics

CANDIDATES = 10  # components that are split on trial at once (VDP06)
FULL_TRIALS = 3  # of those, updated in full at most
EMPTY = 1.0  # items: smaller components are tried to do without at once
MOST_REFUSED = 3  # components that cannot be done without, and no more are tried
LEVELS_BELOW = 3  # its nodes are divided to see whether a component can be done without
AXES = 2  # of a component, that it is cut across
GAIN = 1e-5  # nats per item that a split must add
SETTLED = 1e-4  # nats per item: a lap that adds less is the last
LAPS_TO_REFINEMENT = 3
MOST_LAPS = 100  # between two splits


class Grown(NamedTuple):
    """A mixture and its ELBO in nats."""

    state: GrownState
    prior: Prior
    score: float


class GrowerRecord(NamedTuple):
    """A grower between two laps, as checkpoints hold it."""

    is_exhausted: bool
    nodes: NodeRecord | None  # of its tree, if it has one


@dataclass(slots=True)
class Grower:
    """Adds components one by one; ``enough`` is what refinement may leave, in nats."""

    laps: Laps
    enough: float
    is_exhausted: bool = False
    first_lap: ClassVar[int] = 1

    def move(self, state: GrownState, prior: Prior, lap: int, rng: np.random.Generator) -> Moved:
        """Updates until they are of no use, then one split.

        All components may be tried, first across their longest axis, then across the second.
        """
        if self.is_exhausted:
            return Moved(state, prior, {}, None)
        self.laps = replace(self.laps, on_documents=lambda n_done, n_docs: None)
        before, n_tried = self._trimmed(self._settled(state, prior, rng), EMPTY, rng), 0
        n_topics = before.prior.allocation.n_topics
        for axis, candidates in self._rounds(before.state.total.components, rng):
            for split in self._trials(before, candidates, axis):
                n_tried += 1
                after, before = self._grown(before, split, rng)
                if after.score > before.score + GAIN * self._source.n_tokens:
                    tally = MoveTally(n_tried, after.prior.allocation.n_topics - n_topics)
                    return Moved(after.state, after.prior, {"birth": tally}, None)
        self.is_exhausted = True
        before = self._trimmed(before, np.inf, rng, n_levels=LEVELS_BELOW)
        return Moved(before.state, before.prior, {"birth": MoveTally(n_tried, 0)}, None)

    def record(self) -> GrowerRecord:
        """What to go on from after this lap."""
        return GrowerRecord(self.is_exhausted, self._source.record())

    def restore(self, record: GrowerRecord) -> None:
        """Become what was recorded, in place."""
        self.is_exhausted = record.is_exhausted
        if record.nodes is not None:
            self._source.restore(record.nodes)

    @property
    def _source(self) -> OuterSource:
        return cast(OuterSource, self.laps.source)

    def _rounds(
        self, components: Moments, rng: np.random.Generator
    ) -> Iterator[tuple[int, IntArray]]:
        """An axis and the components to cut across it, each once; the larger the sooner."""
        for axis in range(min(AXES, components.n_columns)):
            left = np.arange(components.n_topics - 1)
            while len(left):
                sizes = components.sizes[left] + 1.0
                n_chosen = min(CANDIDATES, len(left))
                chosen = rng.choice(left, n_chosen, replace=False, p=sizes / sizes.sum())
                left = np.setdiff1d(left, chosen)
                yield axis, np.sort(chosen)

    def _trials(self, grown: Grown, candidates: IntArray, axis: int) -> list[Split]:
        """Splits for a full update: the best, and others that are of use as they are."""
        found = grown.state.found
        assert found is not None, "after a lap"
        owner = owners(found)
        assert len(owner) == self._source.read(0).n_docs, "of the outer nodes as they are"

        def tried(component: int) -> Split | None:
            own = np.flatnonzero(owner == component)
            state, prior, executor = grown.state, grown.prior, self.laps.executor
            enough = self.enough / self._source.n_tokens
            return try_split(self._source, state, prior, component, own, axis, enough, executor)

        splits = filter(None, map(tried, candidates.tolist()))
        ranked = sorted(splits, key=lambda split: -split.score)[:FULL_TRIALS]
        return ranked[:1] + [split for split in ranked[1:] if split.score > grown.score]

    def _grown(self, before: Grown, split: Split, rng: np.random.Generator) -> tuple[Grown, Grown]:
        """The split updated in full, and what was there before on the same tree."""
        n_nodes = self._source.read(0).n_docs
        self._source.refine(split.nodes)
        prior = before.prior._replace(allocation=split.allocation)
        after = self._settled(GrownState(split.total, None, False), prior, rng)
        return after, self._on_this_tree(before, n_nodes, rng)

    def _on_this_tree(self, grown: Grown, n_nodes: int, rng: np.random.Generator) -> Grown:
        """Updated once if there are other outer nodes now than the ``n_nodes`` it knows."""
        if self._source.read(0).n_docs == n_nodes:
            return grown
        state, prior, _ = self.laps.run(grown.state, grown.prior, rng)
        return Grown(state, prior, self._score(state, prior))

    def _settled(self, state: GrownState, prior: Prior, rng: np.random.Generator) -> Grown:
        """Laps until they add next to nothing, with refinements in between."""
        score, calm = -np.inf, SETTLED * self._source.n_tokens
        for n_laps in range(1, MOST_LAPS + 1):
            state, prior, _ = self.laps.run(state, prior, rng)
            state, prior = reordered(state, prior)
            former, score = score, self._score(state, prior)
            is_calm = score - former < calm
            is_last = n_laps == MOST_LAPS  # responsibilities are those of the nodes as they are
            if is_last or (is_calm and self._refine(state, prior) == 0):
                break
            if not is_calm and n_laps % LAPS_TO_REFINEMENT == 0:
                self._refine(state, prior)
        return Grown(state, prior, score)

    def _trimmed(
        self, grown: Grown, smaller_than: float, rng: np.random.Generator, n_levels: int = 0
    ) -> Grown:
        """Without small components, the smallest first, as long as the ELBO is hardly lower.

        Some are of nodes that lie across others, so that no half of a node is of another component.
        Their nodes are divided ``n_levels`` times first.
        """
        n_refused = 0
        while n_refused < MOST_REFUSED:
            sizes = grown.state.total.components.sizes[:-1]
            smallest = np.argsort(sizes, kind="stable")[n_refused : n_refused + 1]
            if len(sizes) < 2 or len(smallest) == 0 or sizes[smallest[0]] >= smaller_than:
                break
            n_nodes = self._source.read(0).n_docs
            self._divide(grown.state, int(smallest[0]), n_levels)
            fewer = self._without(grown, int(smallest[0]), rng)
            grown = self._on_this_tree(grown, n_nodes, rng)
            is_better = fewer.score > grown.score - GAIN * self._source.n_tokens
            grown, n_refused = (fewer, 0) if is_better else (grown, n_refused + 1)
        return grown

    def _divide(self, state: GrownState, component: int, n_levels: int) -> None:
        """All nodes that are mostly the component's."""
        if n_levels == 0:
            return
        assert state.found is not None, "after a lap"
        self._source.refine(self._source.outer[owners(state.found) == component], n_levels)

    def _without(self, grown: Grown, component: int, rng: np.random.Generator) -> Grown:
        """Updates without a component."""
        components, terms = grown.state.total
        kept = np.delete(np.arange(components.n_topics), component)
        number = np.full(components.n_topics, -1)
        number[kept] = np.arange(len(kept))
        terms = terms.renumbered(number, len(kept))
        state = GrownState(Statistics(components.take(kept), terms), None, False)
        allocation = grown.prior.allocation.updated(terms)
        return self._settled(state, grown.prior._replace(allocation=allocation), rng)

    def _refine(self, state: GrownState, prior: Prior) -> int:
        """How many nodes were divided."""
        if not self._source.is_refinable:
            return 0
        current = prior.with_components(self.laps.learner.components(state))
        plan = plan_refinement(
            self._source, current, self.enough, self.laps.local, self.laps.executor
        )
        if len(plan.positions):
            self._source.refine(self._source.outer[plan.positions])
        return len(plan.positions)

    def _score(self, state: GrownState, prior: Prior) -> float:
        return elbo(state.total, prior.with_components(self.laps.learner.components(state)))


def reordered(state: GrownState, prior: Prior) -> tuple[GrownState, Prior]:
    """Components in falling order of size, the tail last: the best order for sticks."""
    components, terms = state.total
    n_topics = components.n_topics
    order = np.append(np.argsort(-components.sizes[:-1], kind="stable"), n_topics - 1)
    if np.array_equal(order, np.arange(n_topics)):
        return state, prior
    number = np.empty(n_topics, np.int64)
    number[order] = np.arange(n_topics)
    assert state.found is not None, "after a lap"
    total = Statistics(components.take(order), terms.renumbered(number, n_topics))
    state = state._replace(total=total, found=state.found.renumbered(number))
    allocation = cast(NestedAllocation, prior.allocation).reordered(order).updated(total.terms)
    return state, prior._replace(allocation=allocation)
