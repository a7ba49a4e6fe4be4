"""Pictures of mixture components: patches they make, or how their columns vary together."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.corpora.patch_basis import patch_basis
from sparsetopics.evaluation.denoising.patch_prior import as_pixels
from sparsetopics.evaluation.denoising.pictures import grey_png, signed_png
from sparsetopics.evaluation.denoising.restoration import side_of_patches
from sparsetopics.evaluation.report.examples import Example
from sparsetopics.runs.mixture_runs import MixtureRun

N_DIRECTIONS = 6  # eigenvectors shown of a covariance
N_DRAWN = 6  # patches drawn of a component
GAP = 1  # pixels between patches
PAPER = 1.0  # grey of the gaps
WIDEST_MATRIX = 100  # columns of a correlation matrix that is still worth a picture
PIXEL = 5  # dots of the page for each pixel of a patch
MATRIX_DOTS = 96


class Picture(NamedTuple):
    """An image that is part of the page, and how wide it is shown, in dots."""

    caption: str
    address: str  # a data: address
    width: int


def component_pictures(
    run: MixtureRun,
    examples: Sequence[Sequence[Example]],  # of each component that is to have pictures
) -> list[list[Picture]]:
    """Pictures of the first ``len(examples)`` components.

    Of image patches the leading eigenvectors of each covariance, patches drawn from the component
    and examples among the data; of other vectors of up to 100 columns the correlation matrix, if
    the likelihood has one. The same run gives the same pictures.
    """
    side = side_of_patches(run)
    if side is not None:
        return _patches(run, examples, patch_basis(side))
    covariances = run.model.normals.covariances
    if covariances.ndim == 2 or not 1 < covariances.shape[1] <= WIDEST_MATRIX:
        return [[] for _ in examples]
    return [[_correlations(covariances[k])] for k in range(len(examples))]


def _patches(
    run: MixtureRun, examples: Sequence[Sequence[Example]], basis: FloatArray
) -> list[list[Picture]]:
    normals, n_shown = run.model.normals, len(examples)
    means, covariances = normals.means[:n_shown], normals.covariances[:n_shown]
    if covariances.ndim == 2:
        covariances = covariances[:, :, None] * np.eye(covariances.shape[1])
    values, vectors = np.linalg.eigh(as_pixels(covariances, basis))
    scales = np.sqrt(np.maximum(values, 0.0))
    rng = np.random.default_rng(0)
    pictures = []
    for k, own in enumerate(examples):
        leading = vectors[k, :, ::-1][:, :N_DIRECTIONS].T
        noise = rng.standard_normal((N_DRAWN, len(scales[k])))
        drawn = means[k] @ basis + (noise * scales[k]) @ vectors[k].T
        rows = {"covariance, leading eigenvectors": leading, "drawn from it": drawn}
        if own:
            rows["examples in the data"] = np.array([each.values for each in own]) @ basis
        pictures.append([_strip(caption, patches) for caption, patches in rows.items()])
    return pictures


def _strip(
    caption: str,
    patches: FloatArray,  # (n_patches, side²)
) -> Picture:
    """Patches side by side, each from its darkest to its brightest with zero in the middle."""
    side = math.isqrt(patches.shape[1])
    largest = np.maximum(np.abs(patches).max(axis=1, keepdims=True), np.finfo(float).tiny)
    greys = (0.5 + 0.5 * patches / largest).reshape(-1, side, side)
    strip = np.full((side, len(greys) * (side + GAP) - GAP), PAPER)
    for place, grey in enumerate(greys):
        strip[:, place * (side + GAP) :][:, :side] = grey
    return Picture(caption, _address(grey_png(strip)), PIXEL * strip.shape[1])


def _correlations(covariance: FloatArray) -> Picture:
    deviations = np.sqrt(np.diagonal(covariance))
    correlations = covariance / np.outer(deviations, deviations)
    return Picture("correlations of columns", _address(signed_png(correlations)), MATRIX_DOTS)


def _address(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"
