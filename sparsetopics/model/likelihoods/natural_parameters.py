"""Expected log densities as linear functions of what items add up to.

E[log p(x|φ_k)] = E[η_k]ᵀ t(x) − E[a(η_k)] with t(x) of the numbers of x and their products: so the
mean over some items follows from the means of t(x), and no item need be looked at (VDP06, eq. 16).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray


class NaturalParameters(NamedTuple):
    """Of each component; x is measured from the moments' origin."""

    linear: FloatArray  # (n_topics, n_columns)
    quadratic: FloatArray  # (n_topics, n_columns, n_columns) of x xᵀ, symmetric; or (.., n_columns)
    constants: FloatArray  # (n_topics,)


class MeanRows(Protocol):
    """Means over the items of some nodes."""

    @property
    def means(self) -> FloatArray: ...

    @property
    def mean_products(self) -> FloatArray: ...


class NodeScorer(NamedTuple):
    """The mean over a node's items of E[log p(x|φ_k)]."""

    linear: FloatArray  # (n_columns, n_topics)
    products: FloatArray  # (n_products, n_topics)
    constants: FloatArray  # (n_topics,)

    def log_densities(self, values: MeanRows) -> FloatArray:
        """(n_nodes, n_topics)."""
        logs: FloatArray = values.means @ self.linear
        logs += values.mean_products @ self.products
        logs += self.constants
        return logs


def node_scorer(parameters: NaturalParameters) -> NodeScorer:
    linear, quadratic, constants = parameters
    return NodeScorer(linear.T.copy(), _packed(quadratic).T.copy(), constants)


def _packed(quadratic: FloatArray) -> FloatArray:
    """Coefficients of x_d x_e for d ≤ e, those beside the diagonal for both."""
    if quadratic.ndim == 2:
        return quadratic
    rows, columns = _upper(quadratic.shape[1])
    return quadratic[:, rows, columns] * np.where(rows == columns, 1.0, 2.0)


def unpacked(products: FloatArray, n_columns: int) -> FloatArray:
    """Symmetric matrices from sums of x_d x_e for d ≤ e, (.., n_columns, n_columns)."""
    rows, columns = _upper(n_columns)
    matrices = np.empty((len(products), n_columns, n_columns))
    matrices[:, rows, columns] = matrices[:, columns, rows] = products
    return matrices


@lru_cache(maxsize=4)
def _upper(n_columns: int) -> tuple[IntArray, IntArray]:
    """Rows and columns of the upper triangle; many small mixtures are fitted to as many columns."""
    return np.triu_indices(n_columns)
