"""How growth begins: all items in memory, in a tree or each for itself."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from sparsetopics.base.batches import Vectors, VectorSource
from sparsetopics.inference.growth.grower import Grower
from sparsetopics.inference.growth.outer_source import OuterSource
from sparsetopics.inference.laps import Laps
from sparsetopics.model.kd_tree import KdTree
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.node_batches import LeafSource, NodeSource
from sparsetopics.options.table import DEFAULT_TREE_TOLERANCE
from sparsetopics.options.training import TrainingOptions

FIRST_NODES = 256  # outer ones, before anything is known of components


def begin_growth(laps: Laps, zero: Moments, options: TrainingOptions) -> Grower:
    """What grows a mixture by laps over the items of all batches as outer nodes.

    ``zero`` are the sums of no vectors: where they are measured from, and which.
    """
    source = cast(VectorSource, laps.source)
    enough = _tree_tolerance(source, options)
    return Grower(replace(laps, source=outer_nodes(source, zero, options)), enough)


def outer_nodes(source: VectorSource, zero: Moments, options: TrainingOptions) -> OuterSource:
    """The items of all batches, in a tree unless its tolerance is 0."""
    values = _all_items(source)
    if options.tree_tolerance == 0.0:
        return LeafSource(values)
    tree = KdTree(values, zero.origin, in_pairs=zero.squares.ndim == 3)
    return NodeSource(tree, FIRST_NODES)


def _tree_tolerance(source: VectorSource, options: TrainingOptions) -> float:
    """Nats of the whole ELBO that dividing all outer nodes once more may be worth."""
    tolerance = options.tree_tolerance
    per_number = DEFAULT_TREE_TOLERANCE if tolerance is None else tolerance
    return per_number * source.n_docs * source.n_columns


def _all_items(source: VectorSource) -> Vectors:
    """A copy of its own, (n_items, n_columns)."""
    values = np.empty((source.n_docs, source.n_columns), np.float32)
    filled = 0
    for batch_id in range(source.n_batches):
        batch = source.read(batch_id)
        values[filled : filled + batch.n_items] = batch.values
        filled += batch.n_items
    return values
