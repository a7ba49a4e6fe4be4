"""Gaussians that lie apart, for growth: VDP06's c-separated ones, and an asterisk in the plane."""

from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import VectorBatch


class Cloud(NamedTuple):
    """Items, and the component that each was drawn from."""

    values: np.ndarray  # (n_items, n_columns) float32
    kinds: np.ndarray  # (n_items,)

    def source(self, n_batches=3):
        return CloudSource(self.values, n_batches)


class CloudSource:
    """Batches of consecutive items, in memory."""

    def __init__(self, values, n_batches):
        self._parts = np.array_split(values, n_batches)
        self.n_batches, self.n_docs, self.n_columns = n_batches, len(values), values.shape[1]
        self.n_tokens, self.is_resident = float(len(values)), True

    def read(self, batch_id):
        return VectorBatch(self._parts[batch_id])


def c_separated(rng, n_items, n_columns, separation, n_components=10):
    """|m_i − m_j|² ≥ c² D max λ (Dasgupta 1999), equality for the closest pair; equal weights."""
    roots = [_root(rng, n_columns) for _ in range(n_components)]
    widest = max(np.linalg.norm(root, 2) for root in roots)  # standard deviation
    means = rng.normal(size=(n_components, n_columns))
    distances = np.linalg.norm(means[:, None] - means[None], axis=2)
    closest = distances[np.triu_indices(n_components, 1)].min()
    means *= separation * np.sqrt(n_columns) * widest / closest
    return _drawn(rng, n_items, means, roots)


def asterisk(rng, n_items=5_000, n_arms=8):
    """Elongated components around the origin, pointing away from it."""
    angles = 2.0 * np.pi * np.arange(n_arms) / n_arms
    outward = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    across = np.stack([-np.sin(angles), np.cos(angles)], axis=1)
    roots = [np.stack([2.0 * u, 0.25 * v], axis=1) for u, v in zip(outward, across, strict=True)]
    return _drawn(rng, n_items, 6.0 * outward, roots)


def _root(rng, n_columns):
    """L with covariance L Lᵀ of random axes, variances between 0.1 and 1."""
    axes, _ = np.linalg.qr(rng.normal(size=(n_columns, n_columns)))
    return axes * np.sqrt(rng.uniform(0.1, 1.0, n_columns))


def _drawn(rng, n_items, means, roots):
    kinds = rng.integers(len(means), size=n_items)
    values = np.empty((n_items, means.shape[1]), np.float32)
    for kind, (mean, root) in enumerate(zip(means, roots, strict=True)):
        own = np.flatnonzero(kinds == kind)
        values[own] = mean + rng.normal(size=(len(own), root.shape[1])) @ root.T
    return Cloud(values, kinds)
