"""Log densities of items, each the same wherever in a batch an item stands.

BLAS has other code for the rows at the edge of a block than for those within, so the last bits of
a row depend on its neighbours. Training does not mind, as its batches are fixed; inference does. In
a fixed order of sums it takes about twice as long.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from sparsetopics.base.batches import FloatArray, Vectors
from sparsetopics.kernels import items as item_kernels
from sparsetopics.kernels import steady as steady_kernels
from sparsetopics.kernels.types import Float32Array
from sparsetopics.model.likelihoods.likelihood import V
from sparsetopics.model.likelihoods.scorers import Scorer, SphereScorer, TriangularScorer


def steady(scorer: Scorer[V]) -> Scorer[V]:
    """The same densities, but for rounding; the scorers that are not named here are steady."""
    if isinstance(scorer, TriangularScorer):
        return cast("Scorer[V]", SteadyTriangles(scorer))
    return cast("Scorer[V]", SteadySpheres(scorer)) if isinstance(scorer, SphereScorer) else scorer


class SteadyTriangles(NamedTuple):
    """``TriangularScorer`` without BLAS."""

    scorer: TriangularScorer

    def log_densities(self, values: Vectors) -> Float32Array:
        """(n_items, n_topics)."""
        scorer = self.scorer
        away = values - scorer.origin
        out = np.zeros((len(values), len(scorer.constants)), np.float32)
        for factors, offsets in zip(scorer.slices, scorer.offsets, strict=True):
            products = np.empty((len(values), len(offsets)), np.float32)
            steady_kernels.multiply(away, factors, products)
            item_kernels.add_squares(products, offsets, out)
        out *= np.float32(-0.5)
        out += scorer.constants
        return out


class SteadySpheres(NamedTuple):
    """``SphereScorer`` without BLAS."""

    scorer: SphereScorer

    def log_densities(self, values: Vectors) -> FloatArray:
        """(n_items, n_topics)."""
        scorer = self.scorer
        away: Any = (values - scorer.origin).astype(np.float64)
        out = np.empty((len(values), len(scorer.constants)))
        steady_kernels.multiply(away, np.ascontiguousarray(scorer.directions.T), out)
        out += scorer.constants
        out -= (0.5 * scorer.precision) * np.einsum("nd,nd->n", away, away)[:, None]
        return out
