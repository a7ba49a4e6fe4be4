"""Growth: after a lap a component is split and everything updated; the split is kept if it pays.

The greedy algorithm of VDP06, section 7. Beginning with one component, laps run until the ELBO
hardly rises, and refine the tree on the way. Then splits are tried (``splitting``), and the best of
them updated in full. A split is kept if its ELBO is higher than that of the components before it on
the same tree, since refinement alone raises the ELBO too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, cast

import numpy as np

from sparsetopics.base.batches import IntArray, Vectors, VectorSource
from sparsetopics.inference.growth.refining import (
    MomentParameters,
    OuterSource,
    nested_of,
    plan_refinement,
)
from sparsetopics.inference.growth.splitting import Split, owners, try_split
from sparsetopics.inference.laps import Laps
from sparsetopics.inference.learners.accelerated import GrownState, Nodes
from sparsetopics.inference.local_step import elbo
from sparsetopics.inference.moves.standing import Moved, MoveTally
from sparsetopics.model.allocations.mixture import ItemTerms
from sparsetopics.model.kd_tree import KdTree
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.node_batches import LeafSource, NodeRecord, NodeSource
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import Statistics
from sparsetopics.options.table import DEFAULT_TREE_TOLERANCE
from sparsetopics.options.training import TrainingOptions

FIRST_NODES = 256  # outer nodes, before anything is known of components
CANDIDATES = 10  # components that are split on trial at once (VDP06)
FULL_TRIALS = 3  # of those, at most, are updated in full
EMPTY = 1.0  # items; training first tries to do without smaller components
MOST_REFUSED = 3  # components that turn out to be needed, before no more are tried
LEVELS_BELOW = 3  # by which a component's nodes are divided before training tries to do without it
AXES = 2  # of a component, to cut across
GAIN = 1e-5  # nats per item that a split must add
SETTLED = 1e-4  # nats per item; a lap that adds less is the last
LAPS_TO_REFINEMENT = 3
MOST_LAPS = 100  # between two splits

GrowthLaps = Laps[GrownState, Nodes, Moments, Moments, ItemTerms]


class Grown(NamedTuple):
    """A mixture and its ELBO in nats."""

    state: GrownState
    parameters: MomentParameters
    score: float


class GrowerRecord(NamedTuple):
    """A grower between two laps, as checkpoints hold it."""

    is_exhausted: bool
    nodes: NodeRecord | None  # of its tree, if it has one


@dataclass(slots=True)
class Grower:
    """Adds components one by one."""

    laps: GrowthLaps
    trials: GrowthLaps  # the same within ``move``, which report the items of the lap as done
    enough: float  # nats that refinement may leave to gain
    is_exhausted: bool = False
    first_lap: ClassVar[int] = 1

    def move(
        self, state: GrownState, parameters: MomentParameters, lap: int
    ) -> Moved[GrownState, Moments, Moments, ItemTerms]:
        """Update everything until that hardly helps, then make one split.

        All components may be tried, first across their longest axis, then across the second.
        """
        if self.is_exhausted:
            return Moved(state, parameters, {}, None)
        before, n_tried = self._trimmed(self._settled(state, parameters), EMPTY), 0
        n_topics = before.parameters.allocation.n_topics
        for axis, candidates in self._rounds(before.state.total.components):
            for split in self._trials(before, candidates, axis):
                n_tried += 1
                after, before = self._grown(before, split)
                if after.score > before.score + GAIN * self._source.n_tokens:
                    tally = MoveTally(n_tried, after.parameters.allocation.n_topics - n_topics)
                    return Moved(after.state, after.parameters, {"birth": tally}, None)
        self.is_exhausted = True
        before = self._trimmed(before, np.inf, n_levels=LEVELS_BELOW)
        return Moved(before.state, before.parameters, {"birth": MoveTally(n_tried, 0)}, None)

    def record(self) -> GrowerRecord:
        """What a checkpoint must hold to continue after this lap."""
        return GrowerRecord(self.is_exhausted, self._source.record())

    def restore(self, record: GrowerRecord) -> None:
        """Continue from a record, in place."""
        self.is_exhausted = record.is_exhausted
        if record.nodes is not None:
            self._source.restore(record.nodes)

    @property
    def _source(self) -> OuterSource:
        return cast(OuterSource, self.laps.source)

    def _rounds(self, components: Moments) -> Iterator[tuple[int, IntArray]]:
        """An axis and the components to cut across it; larger components tend to come sooner."""
        for axis in range(min(AXES, components.n_columns)):
            left = np.arange(components.n_topics - 1)
            while len(left):
                sizes = components.sizes[left] + 1.0
                n_chosen = min(CANDIDATES, len(left))
                chosen = self.laps.rng.choice(left, n_chosen, replace=False, p=sizes / sizes.sum())
                left = np.setdiff1d(left, chosen)
                yield axis, np.sort(chosen)

    def _trials(self, grown: Grown, candidates: IntArray, axis: int) -> list[Split]:
        """Splits to update in full: the best one, and others that raise the ELBO as they are."""
        source, owner = self._source, owners(_found(grown.state))
        assert len(owner) == source.read(0).n_docs, "of the present outer nodes"

        def tried(component: int) -> Split | None:
            own = np.flatnonzero(owner == component)
            state, parameters, executor = grown.state, grown.parameters, self.laps.executor
            enough = self.enough / source.n_tokens
            return try_split(source, state, parameters, component, own, axis, enough, executor)

        splits = filter(None, map(tried, candidates.tolist()))
        ranked = sorted(splits, key=lambda split: -split.score)[:FULL_TRIALS]
        return ranked[:1] + [split for split in ranked[1:] if split.score > grown.score]

    def _grown(self, before: Grown, split: Split) -> tuple[Grown, Grown]:
        """The split updated in full, and the mixture before it on the same tree."""
        n_nodes = self._source.read(0).n_docs
        self._source.refine(split.nodes)
        parameters = before.parameters._replace(allocation=split.allocation)
        after = self._settled(GrownState(split.total, None, False), parameters)
        return after, self._on_this_tree(before, n_nodes)

    def _on_this_tree(self, grown: Grown, n_nodes: int) -> Grown:
        """Update once if the tree has other outer nodes now than the ``n_nodes`` before."""
        if self._source.read(0).n_docs == n_nodes:
            return grown
        state, parameters, _ = self.trials.run(grown.state, grown.parameters)
        return Grown(state, parameters, self._score(state, parameters))

    def _settled(self, state: GrownState, parameters: MomentParameters) -> Grown:
        """Run laps until they add next to nothing, with refinements in between."""
        score, calm = -np.inf, SETTLED * self._source.n_tokens
        for n_laps in range(1, MOST_LAPS + 1):
            state, parameters, _ = self.trials.run(state, parameters)
            state, parameters = reordered(state, parameters)
            former, score = score, self._score(state, parameters)
            is_calm = score - former < calm
            # No refinement after the last lap: responsibilities must be of the present nodes.
            is_last = n_laps == MOST_LAPS
            if is_last or (is_calm and self._refine(state, parameters) == 0):
                break
            if not is_calm and n_laps % LAPS_TO_REFINEMENT == 0:
                self._refine(state, parameters)
        return Grown(state, parameters, score)

    def _trimmed(self, grown: Grown, smaller_than: float, n_levels: int = 0) -> Grown:
        """Drop small components, the smallest first, as long as the ELBO hardly falls.

        Some components own nodes that lie across others, so that no half of such a node belongs to
        another component. Therefore their nodes are divided ``n_levels`` times first.
        """
        n_refused = 0
        while n_refused < MOST_REFUSED:
            sizes = grown.state.total.components.sizes[:-1]
            if len(sizes) <= max(1, n_refused):
                break
            smallest = int(np.argsort(sizes, kind="stable")[n_refused])
            if sizes[smallest] >= smaller_than:
                break
            n_nodes = self._source.read(0).n_docs
            if n_levels:  # nodes that are mostly the component's are divided
                own = owners(_found(grown.state)) == smallest
                self._source.refine(self._source.outer[own], n_levels)
            fewer = self._without(grown, smallest)
            grown = self._on_this_tree(grown, n_nodes)
            is_better = fewer.score > grown.score - GAIN * self._source.n_tokens
            grown, n_refused = (fewer, 0) if is_better else (grown, n_refused + 1)
        return grown

    def _without(self, grown: Grown, component: int) -> Grown:
        """Drop a component and update the others."""
        components, terms = grown.state.total
        kept = np.delete(np.arange(components.n_topics), component)
        number = np.full(components.n_topics, -1)
        number[kept] = np.arange(len(kept))
        terms = terms.renumbered(number, len(kept))
        state = GrownState(Statistics(components.take(kept), terms), None, False)
        allocation = grown.parameters.allocation.updated(terms)
        return self._settled(state, grown.parameters._replace(allocation=allocation))

    def _refine(self, state: GrownState, parameters: MomentParameters) -> int:
        """Divide the nodes that are worth it; return how many."""
        if not self._source.is_refinable:
            return 0
        current = parameters.with_components(self.laps.learner.components(state))
        local, executor = self.laps.local, self.laps.executor
        positions = plan_refinement(self._source, current, self.enough, local, executor)
        if len(positions):
            self._source.refine(self._source.outer[positions])
        return len(positions)

    def _score(self, state: GrownState, parameters: MomentParameters) -> float:
        return elbo(state.total, parameters.with_components(self.laps.learner.components(state)))


def reordered(
    state: GrownState, parameters: MomentParameters
) -> tuple[GrownState, MomentParameters]:
    """Sort components by falling size, the tail last: the best order for sticks."""
    components, terms = state.total
    n_topics = components.n_topics
    order = np.append(np.argsort(-components.sizes[:-1], kind="stable"), n_topics - 1)
    if np.array_equal(order, np.arange(n_topics)):
        return state, parameters
    number = np.argsort(order)
    total = Statistics(components.take(order), terms.renumbered(number, n_topics))
    state = state._replace(total=total, found=_found(state).renumbered(number))
    allocation = nested_of(parameters).reordered(order).updated(total.terms)
    return state, parameters._replace(allocation=allocation)


def _found(state: GrownState) -> Responsibilities:
    assert state.found is not None, "after a lap"
    return state.found


def begin_growth(laps: GrowthLaps, zero: Moments, options: TrainingOptions) -> Grower:
    """Make what grows a mixture by laps over the items of all batches.

    ``zero`` has the sums of no vectors, which say what is summed, and from which origin.
    """
    source = cast(VectorSource, laps.source)
    tolerance = options.tree_tolerance
    per_number = DEFAULT_TREE_TOLERANCE if tolerance is None else tolerance
    enough = per_number * source.n_docs * source.n_columns
    laps = replace(laps, source=outer_nodes(source, zero, options))
    tell = laps.on_documents
    trials = replace(laps, on_documents=lambda n_done, n_docs: tell(n_docs, n_docs))
    return Grower(laps, trials, enough)


def outer_nodes(source: VectorSource, zero: Moments, options: TrainingOptions) -> OuterSource:
    """The items of all batches in memory, in a tree unless its tolerance is 0."""
    values = _all_items(source)
    if options.tree_tolerance == 0.0:
        return LeafSource(values)
    tree = KdTree(values, zero.origin, in_pairs=zero.squares.ndim == 3)
    return NodeSource(tree, FIRST_NODES)


def _all_items(source: VectorSource) -> Vectors:
    """A copy of all items, (n_items, n_columns)."""
    values = np.empty((source.n_docs, source.n_columns), np.float32)
    filled = 0
    for batch_id in range(source.n_batches):
        batch = source.read(batch_id)
        values[filled : filled + batch.n_items] = batch.values
        filled += batch.n_items
    return values
