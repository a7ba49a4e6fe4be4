"""Removal of white noise from grey images with a mixture of patches: EPLL.

Given a noisy image y, half-quadratic splitting finds the image x that maximises the expected patch
log-likelihood Σ_i log p(P_i x) over all overlapping patches (Zoran & Weiss 2011, "From learning
models of natural image patches to whole image restoration"). Pixels lie between 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike

from sparsetopics.base.batches import FloatArray, Vectors
from sparsetopics.base.errors import ShapeError
from sparsetopics.execution.executors import Executor
from sparsetopics.model.likelihoods.normals import LOG_TWO_PI, log_determinants
from sparsetopics.model.likelihoods.scorers import Scorer, triangular_scorer

BETAS = (1.0, 4.0, 8.0, 16.0, 32.0)  # β σ², the schedule of the paper
BLOCK_PATCHES = 8192  # restored at once
Restore = Callable[[FloatArray], FloatArray]  # of noisy patches, (n_patches, side²)


# --- the prior of patches -------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, eq=False)
class PatchPrior:
    """A prior for natural images: Σ_k w_k N(z | 0, Σ_k), Σ_k = U_k diag(λ_k) U_kᵀ, of square
    patches z less their mean.

    Make one with ``from_mixture``.
    """

    log_weights: FloatArray  # (n_topics,)  log w_k
    eigenvalues: FloatArray  # (n_topics, side²)  λ_k
    eigenvectors: FloatArray  # (n_topics, side², side²)  U_k, a vector in each column

    @classmethod
    def from_mixture(
        cls,
        weights: ArrayLike,  # (n_topics,)  need not add up to one
        covariances: ArrayLike,  # (n_topics, side², side²)
    ) -> PatchPrior:
        """Decompose the covariances, once for all images.

        The mixture describes patches minus their means. These lie in the complement of the constant
        patch, so the covariances are projected there; covariances from ``as_pixels`` lie there
        already. Components of weight zero are dropped. A run that was read has sound numbers.
        """
        shares, matrices = np.asarray(weights, float), np.asarray(covariances, float)
        numbers = np.flatnonzero(shares)
        # Rounding may have left the matrices slightly asymmetric; eigh reads one triangle only.
        matrices = 0.5 * (matrices[numbers] + matrices[numbers].transpose(0, 2, 1))
        matrices = matrices - matrices.mean(axis=1, keepdims=True)
        matrices -= matrices.mean(axis=2, keepdims=True)
        eigenvalues, eigenvectors = np.linalg.eigh(matrices)
        # Rounding may also have left eigenvalues slightly below zero.
        return cls(np.log(shares[numbers]), np.maximum(eigenvalues, 0.0), eigenvectors)

    @property
    def side(self) -> int:
        """Side of a patch in pixels."""
        return math.isqrt(self.eigenvalues.shape[1])

    def restoring(self, variance: float) -> Restore:
        """Return what restores noisy patches z + e, e ~ N(0, variance · I); see ``_restored``."""
        spread = self.eigenvalues + variance
        # Triangular factors of roots lose no small variances, as those of covariances do.
        roots = np.sqrt(spread)[:, :, None] * self.eigenvectors.transpose(0, 2, 1)
        factors = np.asarray(np.linalg.qr(roots, mode="r")).transpose(0, 2, 1)
        factors = factors * np.sign(np.diagonal(factors, axis1=1, axis2=2))[:, None, :]
        constants = -0.5 * (log_determinants(factors) + spread.shape[1] * LOG_TWO_PI)
        scorer = triangular_scorer(np.zeros(spread.shape), factors, constants)
        shrunk = self.eigenvectors * (self.eigenvalues / spread)[:, None, :]
        filters = shrunk @ self.eigenvectors.transpose(0, 2, 1)
        return partial(_restored, self.log_weights, scorer, filters)


def _restored(
    log_weights: FloatArray,  # (n_topics,)
    scorer: Scorer[Vectors],  # log N(z | 0, Σ_k + variance · I)
    filters: FloatArray,  # (n_topics, side², side²)  Σ_k (Σ_k + variance · I)⁻¹, symmetric
    patches: FloatArray,  # (n_patches, side²)
) -> FloatArray:
    """Return the Wiener estimate under each patch's most probable component, (n_patches, side²).

    As in EPLL, the mean of a patch is put back unchanged: averaging over patches and further
    iterations reduce the noise in it.
    """
    means = patches.mean(axis=1, keepdims=True)
    centred = patches - means
    # The most probable component is argmax_k log w_k + log N(z | 0, Σ_k + variance · I).
    # Scorers take single precision, which decides between components well enough.
    logs = scorer(centred.astype(np.float32))
    logs += log_weights.astype(np.float32)
    topics = logs.argmax(axis=1)
    # Sorted by component, the patches of each are filtered in one matrix product.
    order = np.argsort(topics, kind="stable")
    starts = np.searchsorted(topics[order], np.arange(len(filters) + 1))
    restored = np.empty(patches.shape)
    for k in np.flatnonzero(np.diff(starts)):
        own = order[starts[k] : starts[k + 1]]
        restored[own] = centred[own] @ filters[k]
    restored += means
    return restored


def as_pixels(
    covariances: FloatArray,  # (n_topics, side² − 1, side² − 1)
    basis: FloatArray,  # (side² − 1, side²)  ``corpora.projection.patch_basis``
) -> FloatArray:
    """Turn covariances of coordinates into those of pixels, Bᵀ Σ_k B, (n_topics, side², side²).

    The results have no variance along the constant patch. White noise stays white, because the rows
    of the basis are orthonormal.
    """
    return basis.T @ covariances @ basis


# --- images ---------------------------------------------------------------------------------------
def denoise(
    noisy: FloatArray,  # (height, width)  y, from 0 to 1 but for the noise
    sigma: float,  # above 0
    prior: PatchPrior,
    *,
    betas: Sequence[float] = BETAS,
    executor: Executor | None = None,
) -> FloatArray:
    """Restore x from y = x + e, e ~ N(0, σ²); return (height, width), clipped to [0, 1].

    For each β in turn, every patch of the current image is replaced by its estimate under noise of
    variance 1/β (``PatchPrior.restoring``), and the overlapping estimates are averaged to x̂. With
    the weight side²/σ² on y, as in the authors' code, the image that fits both best is

        x = (y + β σ² x̂) / (1 + β σ²).

    ``betas`` are the values of β σ². The result does not depend on ``executor``. Raises ShapeError
    for an image that is smaller than a patch.
    """
    height, width = noisy.shape
    if min(height, width) < (side := prior.side):
        problem = f"must be at least {side} x {side} pixels, one patch, but is {width} x {height}"
        raise ShapeError("noisy image", problem)
    image = noisy
    for beta in betas:
        restore = prior.restoring(sigma**2 / beta)
        estimate = average_patches(image, prior.side, restore, executor or Executor())
        image = (noisy + beta * estimate) / (1.0 + beta)
    return np.clip(image, 0.0, 1.0)


def average_patches(
    image: FloatArray,  # (height, width)
    side: int,
    restore: Restore,
    executor: Executor,
) -> FloatArray:
    """Restore all overlapping patches; return the mean at each pixel over the patches it is in."""
    height, width = image.shape
    windows = sliding_window_view(image, (side, side))
    n_down, n_across = windows.shape[:2]
    n_rows = max(1, BLOCK_PATCHES // n_across)

    def restored_strip(top: int) -> FloatArray:
        """Add up overlapping patches where they lie."""
        block = windows[top : top + n_rows]
        patches = restore(block.reshape(-1, side * side)).reshape(block.shape)
        strip = np.zeros((len(block) + side - 1, width))
        for row in range(side):
            for column in range(side):
                own = patches[:, :, row, column]
                strip[row : row + len(block), column : column + n_across] += own
        return strip

    tops = range(0, n_down, n_rows)
    total = np.zeros((height, width))
    # Strips overlap. They are added from top to bottom, so that sums do not depend on the executor.
    for top, strip in zip(tops, executor.map(restored_strip, tops), strict=True):
        total[top : top + len(strip)] += strip
    return total / np.outer(_cover(height, side), _cover(width, side))


def _cover(length: int, side: int) -> FloatArray:
    """Count, for each pixel of a line, the stretches of ``side`` pixels it is in, (length,)."""
    return np.convolve(np.ones(length - side + 1), np.ones(side))


def add_noise(clean: FloatArray, sigma: float, rng: np.random.Generator) -> FloatArray:
    """Add white Gaussian noise to a grey image; return (height, width), not clipped or rounded."""
    return clean + sigma * rng.standard_normal(clean.shape)


def psnr(clean: FloatArray, image: FloatArray) -> float:
    """Return the peak signal-to-noise ratio in dB, −10 log₁₀ of the mean squared error.

    It is infinite for equal images. Raises ShapeError for images of different shapes.
    """
    if clean.shape != image.shape:
        problem = f"must have the clean image's shape {clean.shape}, but has {image.shape}"
        raise ShapeError("image", problem)
    error = float(np.mean((clean - image) ** 2))
    return -10.0 * math.log10(error) if error else math.inf
