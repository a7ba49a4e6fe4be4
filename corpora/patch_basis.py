"""An orthonormal basis of the square patches whose mean is zero.

Patches less their mean fill a subspace of one dimension fewer than they have pixels. As pixels they
would have a singular covariance: along the constant patch the density of a component of N items
would grow with N without bound, about ½ log N for each item, which rewards merging components
that have nothing else in common. Coordinates in the subspace have none of this, and distances and
white noise stay what they are.
"""

from __future__ import annotations

import math

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.projection import Projection

NAME = "dct"  # in manifests and runs
MOST_SIDE = 64  # pixels: the basis is a matrix, of 134 MB then
_DECIMALS = 12


def patch_basis(side: int) -> FloatArray:
    """The functions of the two-dimensional DCT-II but the constant one, (side² − 1, side²).

    A row is a function, over the pixels of a patch row by row: c_u(down) c_v(right) with
    c_u(x) = sqrt(2/side) cos(π (2x + 1) u / (2 side)), and c_0(x) = sqrt(1/side). Rows are ordered
    by the frequency u² + v², then by u. They are orthonormal to 1e-11, and the same bits anywhere:
    cosines are rounded to 12 decimals, because mathematical libraries differ in the last bits and
    fingerprints of corpora must not. Raises OptionError for a ``side`` above ``MOST_SIDE``.
    """
    if side > MOST_SIDE:
        raise OptionError("patches", found=f"{side}", wanted=f"at most {MOST_SIDE} pixels")
    lines = np.array([[_cosine(u, x, side) for x in range(side)] for u in range(side)])
    frequencies = sorted(
        ((u, v) for u in range(side) for v in range(side)), key=lambda f: (f[0] ** 2 + f[1] ** 2, f)
    )
    return np.array([np.outer(lines[u], lines[v]).ravel() for u, v in frequencies[1:]])


def _cosine(frequency: int, place: int, side: int) -> float:
    scale = math.sqrt((2.0 if frequency else 1.0) / side)
    angle = math.pi * ((2 * place + 1) * frequency % (4 * side)) / (2 * side)
    return round(scale * math.cos(angle), _DECIMALS)


def patch_projection(side: int) -> Projection:
    """From patches as pixels to their coordinates in ``patch_basis``."""
    basis = patch_basis(side)
    return Projection(np.zeros(side**2), basis, np.ones(len(basis)), whitened=False)
