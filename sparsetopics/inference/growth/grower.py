"""Growth: between laps components are split and everything updated; splits are kept if they pay.

After the greedy algorithm of VDP06, section 7. Beginning with one component, laps run until the
ELBO hardly rises, and refine the tree on the way. Then every component is split on trial
(``splitting``). All splits that raise the ELBO are made at once and updated in full. They are kept
if the ELBO is higher than that of the components before them on the same tree, since refinement
alone raises the ELBO too. Otherwise half of them are tried, the best ones.

When no split pays any more, growth finds out what it cost that items share the responsibilities of
their node. If that is too much, the tree becomes finer. If the tree would become too large, growth
continues on all items.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple, cast

import numpy as np

from sparsetopics.base.batches import IntArray, Vectors, VectorSource
from sparsetopics.base.soundness import require
from sparsetopics.base.wording import quantity
from sparsetopics.inference.course import QUIET_GAIN, Course
from sparsetopics.inference.growth.refining import (
    MomentParameters,
    OuterSource,
    Worth,
    cost_of_nodes,
    families_of,
    node_worth,
    plan_refinement,
)
from sparsetopics.inference.growth.splitting import Split, largest_shares, try_splits, with_splits
from sparsetopics.inference.learners.accelerated import GrownState, Nodes
from sparsetopics.inference.local_step import elbo
from sparsetopics.inference.moves.evidence import numbered
from sparsetopics.inference.moves.standing import MoveTally
from sparsetopics.inference.training_state import TrainingState
from sparsetopics.model.allocations.mixture import ItemTerms
from sparsetopics.model.kd_tree import KdTree, LeafSource, NodeRecord, NodeSource, n_products
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.likelihoods.vector_likelihood import coordinates_of
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import Statistics, renumbered
from sparsetopics.options.table import DEFAULT_TREE_TOLERANCE

FIRST_NODES = 256  # outer nodes at most, before anything is known of components
FEWEST_NODES = 16  # outer nodes that a tree must be allowed
LARGEST_TREE = 0.25  # numbers in the sums of outer nodes, relative to the numbers of all items
FIRST_ENOUGH = 0.1  # of the tolerance: what a lap's refinement may leave to gain
FINER = 4.0  # by which that is divided when nodes cost more than the tolerance
MOST_FINER = 4  # such steps, if no node is worth dividing after the first
EMPTY = 1.0  # items; training first tries to do without smaller components
MOST_REFUSED = 3  # components that turn out to be needed, before no more are tried
LEVELS_BELOW = 3  # by which a component's nodes are divided before training tries to do without it
AXES = 2  # of a component, to cut across
GAIN = 1e-5  # nats per item that a split must add
SETTLED = 1e-4  # nats per value; a lap that adds less is the last
HOPE = 4.0  # laps that add as much as the last one did; if they do not suffice, a trial ends
LAPS_TO_REFINEMENT = 3
MOST_LAPS = 100  # between two splits


class Grown(NamedTuple):
    """A mixture and its ELBO in nats."""

    state: GrownState
    parameters: MomentParameters
    score: float


class GrowerRecord(NamedTuple):
    """A grower between two laps, as checkpoints hold it."""

    is_exhausted: bool
    enough: float  # nats that refinement may leave to gain
    nodes: NodeRecord | None  # of its tree; None on all items


class Grower(Course[GrownState, Nodes, Moments, Moments, ItemTerms]):
    """Adds components as long as that pays, by laps over the items of all batches."""

    is_exhausted = False

    def prepare(self, parameters: MomentParameters) -> None:
        super().prepare(parameters)
        self.items = cast(VectorSource, self.setting.source)
        per_value = self.options.tree_tolerance
        per_value = DEFAULT_TREE_TOLERANCE if per_value is None else per_value
        # Nats that the nodes of the tree may cost, and that refinement may leave to gain
        self.tolerance = per_value * self.items.n_docs * self.items.n_columns
        self.enough = FIRST_ENOUGH * self.tolerance
        # The sums of no vectors say what is summed.
        zero, say = parameters.likelihood.zeros(1), self.setting.hooks.say
        self.laps = replace(self.laps, source=outer_nodes(self.items, zero, per_value, say))
        tell = self.laps.on_documents
        # Laps within ``after_lap`` report the items of the lap as done.
        self.trials = replace(self.laps, on_documents=lambda n_done, n_docs: tell(n_docs, n_docs))

    def after_lap(self, lap: int) -> tuple[Mapping[str, MoveTally], None]:
        """Update everything until that hardly helps, then split components.

        Components are cut across their longest axis, or if none of those splits pays, across the
        second.
        """
        if self.is_exhausted:
            return {}, None
        before = self._trimmed(self._settled(self.state, self.parameters), EMPTY)
        after, tally = self._split(before)
        self.state, self.parameters = after.state, after.parameters
        return {"birth": tally}, None

    def _split(self, before: Grown) -> tuple[Grown, MoveTally]:
        """The mixture after the splits that pay, or with a finer tree, or at the end of growth."""
        n_tried, n_before = 0, before.parameters.allocation.n_topics
        for axis in range(min(AXES, self.items.n_columns)):
            enough = self.enough / self._source.n_tokens
            splits = try_splits(
                self._source, before.state, before.parameters, axis, enough, self.laps.executor
            )
            least = GAIN * self._source.n_tokens
            n_chosen = sum(split.gain > least for split in splits)
            if not n_chosen:  # the best one may pay once everything is updated, if by more than
                n_chosen, least = min(1, len(splits)), self._calm  # a lap without a split adds
            while n_chosen:
                n_tried += n_chosen
                after, before = self._grown(before, splits[:n_chosen])
                if after.score > before.score + least:
                    n_born = after.parameters.allocation.n_topics - n_before
                    return after, MoveTally(n_tried, n_born)
                n_chosen //= 2
        return self._finer(before) or self._ended(before), MoveTally(n_tried, 0)

    @property
    def quiet_gain(self) -> float:
        """Nats per item that a lap may add or lose once training has settled."""
        return max(QUIET_GAIN, self._calm / self._source.n_tokens)

    def record(self) -> GrowerRecord:
        return GrowerRecord(self.is_exhausted, self.enough, self._source.record())

    def resume(self, kept: TrainingState) -> None:
        super().resume(kept)
        self.is_exhausted, self.enough, nodes = kept.mover
        if isinstance(self._source, NodeSource):
            if nodes is None:
                self._leave_tree()
            else:
                self._source.restore(nodes)

    def check(self, kept: TrainingState) -> None:
        """Check the record, except for what only the rebuilt tree can tell."""
        record, state = kept.mover, kept.learner
        if not isinstance(record, GrowerRecord):
            raise ValueError("no record of growth")
        require(0.0 <= record.enough < np.inf, "a refinement that may leave no number of nats")
        may_have_tree = self.options.tree_tolerance != 0.0
        require(may_have_tree or record.nodes is None, "a tree, contrary to the options")
        if state.found is not None:
            n_docs = self.setting.source.n_docs
            n_rows = n_docs if record.nodes is None else len(record.nodes.outer)
            state.found.check(n_rows, state.total.components.n_topics)
            require(bool(np.diff(state.found.starts).all()), "nodes without a component")

    @property
    def _source(self) -> OuterSource:
        return cast(OuterSource, self.laps.source)

    @property
    def _calm(self) -> float:
        """Nats; a lap that adds less is the last."""
        return SETTLED * self._source.n_tokens * self.items.n_columns

    def _finer(self, grown: Grown) -> Grown | None:
        """The mixture on a finer tree or on all items; None if the nodes cost little.

        What they cost one component does not tell whether items would be more than one.
        """
        source, (state, parameters, _) = self._source, grown
        if not isinstance(source, NodeSource):
            return None
        if parameters.allocation.n_topics == 1:
            self.setting.hooks.say("All nodes of the kd-tree are alike: growth uses all items now.")
            self._leave_tree()
            return self._on_this_tree(grown, 0)
        cost = cost_of_nodes(source, self._worth(state, parameters))
        if cost <= self.tolerance:
            return None
        for _ in range(MOST_FINER):
            self.enough /= FINER
            if 2 * len(source.outer) <= source.most_nodes and self._refine(state, parameters):
                return self._settled(state, parameters)
        n_values = source.n_tokens * self.items.n_columns
        self.setting.hooks.say(
            f"Nodes of the kd-tree would cost {cost / n_values:.2g} nats per value, and "
            f"--tree-tolerance allows {self.tolerance / n_values:.2g}: growth uses all items now."
        )
        self._leave_tree()
        return self._on_this_tree(grown, 0)  # none of these nodes is left

    def _leave_tree(self) -> None:
        leaves = LeafSource(_all_items(self.items))
        self.laps = replace(self.laps, source=leaves)
        self.trials = replace(self.trials, source=leaves)

    def _ended(self, grown: Grown) -> Grown:
        """The mixture at the end of growth, without components that are not needed."""
        self.is_exhausted = True
        return self._trimmed(grown, np.inf, n_levels=LEVELS_BELOW)

    def _grown(self, before: Grown, splits: list[Split]) -> tuple[Grown, Grown]:
        """The mixture with splits, updated in full, and the one before them on the same tree."""
        n_nodes = self._source.read(0).n_docs
        nodes = np.concatenate([split.nodes for split in splits])
        if n_nodes + len(nodes) <= self._source.most_nodes:
            self._source.refine(nodes)
        total = with_splits(before.state.total, splits)
        parameters = before.parameters.updated(total.terms)
        after = self._settled(GrownState(total, None, False), parameters, before.score)
        return after, self._on_this_tree(before, n_nodes)

    def _on_this_tree(self, grown: Grown, n_nodes: int) -> Grown:
        """Update once if the tree has other outer nodes now than the ``n_nodes`` before."""
        if self._source.read(0).n_docs == n_nodes:
            return grown
        state, parameters, _ = self.trials.run(grown.state, grown.parameters)
        return Grown(state, parameters, self._score(state, parameters))

    def _settled(
        self, state: GrownState, parameters: MomentParameters, target: float = -np.inf
    ) -> Grown:
        """Run laps until they add next to nothing, with refinements in between.

        End sooner if there is little hope that the ELBO will reach the ``target``, in nats.
        """
        score = -np.inf
        for n_laps in range(1, MOST_LAPS + 1):
            state, parameters, _ = self.trials.run(state, parameters)
            state, parameters = reordered(state, parameters)
            former, score = score, self._score(state, parameters)
            rise = score - former
            is_calm = rise < self._calm
            if score + HOPE * rise < target:
                break
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
        n_refused, at_once = 0, 1  # twice as many after each success
        while n_refused < MOST_REFUSED:
            sizes = grown.state.total.components.sizes[:-1]
            rising = np.argsort(sizes, kind="stable")[:-1]  # the largest stays
            smallest = rising[n_refused : n_refused + at_once]
            smallest = smallest[sizes[smallest] < smaller_than]
            if len(smallest) == 0:
                break
            n_nodes = self._source.read(0).n_docs
            if n_levels:  # nodes that are mostly these components' are divided
                own = np.isin(largest_shares(_found(grown.state))[0], smallest)
                self._source.refine(self._source.outer[own], n_levels)
            fewer = self._without(grown, smallest)
            grown = self._on_this_tree(grown, n_nodes)
            if fewer.score > grown.score - GAIN * len(smallest) * self._source.n_tokens:
                grown, n_refused, at_once = fewer, 0, 2 * at_once
            else:
                n_refused, at_once = n_refused + (at_once == 1), 1
        return grown

    def _without(self, grown: Grown, dropped: IntArray) -> Grown:
        """Drop components and update the others."""
        components, terms = grown.state.total
        kept = np.delete(np.arange(components.n_topics), dropped)
        terms = renumbered(terms, numbered(kept, components.n_topics), len(kept))
        state = GrownState(Statistics(components.take(kept), terms), None, False)
        return self._settled(state, grown.parameters.updated(terms), grown.score)

    def _refine(self, state: GrownState, parameters: MomentParameters) -> int:
        """Divide the nodes that are worth it; return how many."""
        if not isinstance(self._source, NodeSource):
            return 0
        positions = plan_refinement(self._source, self._worth(state, parameters), self.enough)
        if len(positions):
            self._source.refine(self._source.outer[positions])
        return len(positions)

    def _worth(self, state: GrownState, parameters: MomentParameters) -> Worth:
        current = parameters.with_components(self.laps.learner.components(state))
        local, executor = self.laps.local, self.laps.executor
        return partial(node_worth, current=current, local=local, executor=executor)

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
    total = Statistics(components.take(order), renumbered(terms, number, n_topics))
    state = state._replace(total=total, found=_found(state).renumbered(number))
    allocation = families_of(parameters)[0].reordered(order).updated(total.terms)
    return state, parameters._replace(allocation=allocation)


def _found(state: GrownState) -> Responsibilities:
    assert state.found is not None, "after a lap"
    return state.found


def outer_nodes(
    items: VectorSource, zero: Moments, tolerance: float, say: Callable[[str], None]
) -> OuterSource:
    """The items of all batches in memory, in a tree if that can pay and the tolerance is not 0."""
    in_pairs, n_columns = zero.squares.ndim == 3, items.n_columns
    n_numbers = n_columns + n_products(n_columns, in_pairs=in_pairs)  # of a node
    most_nodes = int(LARGEST_TREE * items.n_docs * n_columns / n_numbers)
    if tolerance > 0.0 and most_nodes >= FEWEST_NODES:
        tree = KdTree(_all_items(items), coordinates_of(items).axis_widths, in_pairs=in_pairs)
        return NodeSource(tree, min(FIRST_NODES, most_nodes // 2), most_nodes)
    if tolerance > 0.0:
        say(
            f"{quantity(items.n_docs, 'item')} of {quantity(n_columns, 'value')} are too few for "
            "a kd-tree to pay: growth uses all items."
        )
    return LeafSource(_all_items(items))


def _all_items(source: VectorSource) -> Vectors:
    """A copy of all items in their order, (n_items, n_columns)."""
    values = np.empty((source.n_docs, source.n_columns), np.float32)
    filled = 0
    for batch_id in range(source.n_batches):
        batch = source.read(batch_id)
        values[filled : filled + batch.n_docs] = batch.values
        filled += batch.n_docs
    return values
