"""Removal of white noise from grey images with a mixture of patches: EPLL.

Given a noisy image y, half-quadratic splitting finds the image x that maximises the expected patch
log-likelihood Σ_i log p(P_i x) over all overlapping patches (Zoran & Weiss 2011, "From learning
models of natural image patches to whole image restoration"). Pixels lie between 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.errors import ShapeError
from sparsetopics.evaluation.denoising.patch_prior import NoisyPatches, PatchPrior
from sparsetopics.execution.executors import Executor

BETAS = (1.0, 4.0, 8.0, 16.0, 32.0)  # β σ², the schedule of the paper
BLOCK_PATCHES = 8192  # restored at once


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
    variance 1/β (``NoisyPatches.restore``), and the overlapping estimates are averaged to x̂. With
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
        model = prior.observed_with(sigma**2 / beta)
        estimate = average_patches(image, prior.side, model, executor or Executor())
        image = (noisy + beta * estimate) / (1.0 + beta)
    return np.clip(image, 0.0, 1.0)


def average_patches(
    image: FloatArray,  # (height, width)
    side: int,
    model: NoisyPatches,
    executor: Executor,
) -> FloatArray:
    """Restore all overlapping patches; return the mean at each pixel over the patches it is in."""
    height, width = image.shape
    windows = sliding_window_view(image, (side, side))
    n_down, n_across = windows.shape[:2]
    n_rows = max(1, BLOCK_PATCHES // n_across)

    def restore_rows(top: int) -> FloatArray:
        block = windows[top : top + n_rows]
        restored = model.restore(block.reshape(-1, side * side))
        return _summed(restored.reshape(block.shape))

    tops = range(0, n_down, n_rows)
    total = np.zeros((height, width))
    # Strips overlap. They are added from top to bottom, so that sums do not depend on the executor.
    for top, strip in zip(tops, executor.map(restore_rows, tops), strict=True):
        total[top : top + len(strip)] += strip
    covered = np.outer(_cover(height, side), _cover(width, side))
    return total / covered


def _summed(
    patches: FloatArray,  # (n_down, n_across, side, side)
) -> FloatArray:
    """Add up overlapping patches where they lie, (n_down + side − 1, n_across + side − 1)."""
    n_down, n_across, side, _ = patches.shape
    total = np.zeros((n_down + side - 1, n_across + side - 1))
    for row in range(side):
        for column in range(side):
            total[row : row + n_down, column : column + n_across] += patches[:, :, row, column]
    return total


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
