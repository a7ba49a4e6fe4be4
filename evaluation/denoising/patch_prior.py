"""A mixture of zero-mean Gaussians over square patches, as a prior for natural images."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sparsetopics.base.batches import FloatArray, Vectors
from sparsetopics.model.likelihoods.normals import LOG_TWO_PI, log_determinants
from sparsetopics.model.likelihoods.scorers import Scorer, triangular_scorer


@dataclass(frozen=True, slots=True, eq=False)
class PatchPrior:
    """Σ_k w_k N(z | 0, Σ_k), Σ_k = U_k diag(λ_k) U_kᵀ, of patches z less their mean.

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

    def observed_with(self, variance: float) -> NoisyPatches:
        """Return the model of noisy patches z + e, e ~ N(0, variance · I)."""
        spread = self.eigenvalues + variance
        # Triangular factors of roots lose no small variances, as those of covariances do.
        roots = np.sqrt(spread)[:, :, None] * self.eigenvectors.transpose(0, 2, 1)
        factors = np.asarray(np.linalg.qr(roots, mode="r")).transpose(0, 2, 1)
        factors = factors * np.sign(np.diagonal(factors, axis1=1, axis2=2))[:, None, :]
        constants = -0.5 * (log_determinants(factors) + spread.shape[1] * LOG_TWO_PI)
        scorer = triangular_scorer(np.zeros(spread.shape), factors, constants)
        shrunk = self.eigenvectors * (self.eigenvalues / spread)[:, None, :]
        filters = shrunk @ self.eigenvectors.transpose(0, 2, 1)
        return NoisyPatches(self.log_weights, scorer, filters)


class NoisyPatches(NamedTuple):
    """The mixture, observed with white noise."""

    log_weights: FloatArray  # (n_topics,)
    scorer: Scorer[Vectors]  # log N(z | 0, Σ_k + variance · I)
    filters: FloatArray  # (n_topics, side², side²)  Σ_k (Σ_k + variance · I)⁻¹, symmetric

    def restore(
        self,
        patches: FloatArray,  # (n_patches, side²)
    ) -> FloatArray:
        """Return the Wiener estimate under each patch's most probable component.

        The result is (n_patches, side²). As in EPLL, the mean of a patch is put back unchanged:
        averaging over patches and further iterations reduce the noise in it.
        """
        means = patches.mean(axis=1, keepdims=True)
        centred = patches - means
        # The most probable component is argmax_k log w_k + log N(z | 0, Σ_k + variance · I).
        # Scorers take single precision, which decides between components well enough.
        logs = self.scorer(centred.astype(np.float32))
        logs += self.log_weights.astype(np.float32)
        topics = logs.argmax(axis=1)
        # Sorted by component, the patches of each are filtered in one matrix product.
        order = np.argsort(topics, kind="stable")
        starts = np.searchsorted(topics[order], np.arange(len(self.filters) + 1))
        restored = np.empty(patches.shape)
        for k in np.flatnonzero(np.diff(starts)):
            own = order[starts[k] : starts[k + 1]]
            restored[own] = centred[own] @ self.filters[k]
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
