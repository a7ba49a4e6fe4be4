"""Patches with a strong edge, as in section 4.1 of Hughes & Sudderth (2013): eight covariances."""

from typing import NamedTuple

import numpy as np

SIDE = 5
N_EDGES = 8


class Patches(NamedTuple):
    """Zero-mean patches of equally common kinds."""

    values: np.ndarray  # (n_items, 25)
    kinds: np.ndarray  # (n_items,)
    covariances: np.ndarray  # (8, 25, 25)


def edge_covariances():
    """White noise, and an edge through the middle whose contrast varies; one for each angle."""
    down, right = np.mgrid[0:SIDE, 0:SIDE] - SIDE // 2
    angles = np.pi * np.arange(N_EDGES) / N_EDGES
    edges = [np.sign(np.cos(a) * right + np.sin(a) * down + 1e-3).ravel() for a in angles]
    return np.array([0.1 * np.eye(SIDE**2) + np.outer(edge, edge) for edge in edges])


def edge_patches(rng, n_items):
    covariances = edge_covariances()
    kinds = rng.integers(N_EDGES, size=n_items)
    values = np.empty((n_items, SIDE**2), np.float32)
    for kind in range(N_EDGES):
        own = kinds == kind
        values[own] = rng.multivariate_normal(np.zeros(SIDE**2), covariances[kind], own.sum())
    return Patches(values, kinds, covariances)
