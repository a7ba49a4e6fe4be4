"""Vectors that are hard to standardise: maps of any condition, rows that stand for nothing."""

import numpy as np


def two_clusters(rng, n_items, n_columns):
    """Items of a correlated cluster, and of one six widths away."""
    values = rng.normal(size=(n_items, n_columns)) @ rng.normal(size=(n_columns, n_columns))
    values /= values.std(axis=0)
    values[: n_items // 3] += 6.0 / np.sqrt(n_columns)
    return values[rng.permutation(n_items)]


def bad_rows(rng, n_rows, n_columns):
    """Rows a thousand widths and more away, each in a direction of its own."""
    rows = rng.normal(size=(n_rows, n_columns))
    return 10.0 ** rng.uniform(3.5, 6.0, (n_rows, 1)) * rows / np.linalg.norm(rows, axis=1)[:, None]


def random_map(rng, n_columns, condition):
    """A matrix (n_columns, n_columns) whose singular values span ``condition``."""
    left, right = (np.linalg.qr(rng.normal(size=(n_columns, n_columns)))[0] for _ in range(2))
    return (left * np.geomspace(1.0, condition, n_columns)) @ right
