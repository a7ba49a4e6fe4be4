"""What the likelihoods of vectors offer beyond others, and what follows for all of them."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray, Vectors
from sparsetopics.model.likelihoods.likelihood import ItemLikelihood, Posterior
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.likelihoods.natural_parameters import NaturalParameters
from sparsetopics.model.likelihoods.normals import Normals

PAIRS_AT_ONCE = 256


@runtime_checkable
class VectorLikelihood(ItemLikelihood[Vectors, Moments, Moments], Protocol):
    """A conjugate prior of components whose statistics are ``Moments``."""

    def expected_log_likelihood(self, moments: Moments, posterior_moments: Moments) -> FloatArray:
        """Σ_n r_nk E[log p(x_n|φ_k)], (n_topics,), under the posterior of other moments."""
        ...

    def natural_parameters(self, moments: Moments) -> NaturalParameters:
        """E[log p(x|φ_k)] under the posterior of ``moments``, for means over many items."""
        ...

    def point_estimates(self, posterior: Posterior) -> Normals:
        """Posterior means of means and covariances."""
        ...


def elbo_items(likelihood: VectorLikelihood, moments: Moments, posterior_moments: Moments) -> float:
    """The data's part of the ELBO, Σ_k [E log p(x, φ_k) − E log q(φ_k)], in nats.

    ``moments`` are the items', ``posterior_moments`` those that q(φ) follows from. Where they are
    the same it is Σ_k log M(s_k).
    """
    bound = likelihood.log_evidence(posterior_moments).sum()
    if moments is not posterior_moments:
        difference = moments.minus(posterior_moments)
        bound += likelihood.expected_log_likelihood(difference, posterior_moments).sum()
    return float(bound)


def merge_gains(likelihood: VectorLikelihood, moments: Moments, pairs: IntArray) -> FloatArray:
    """log M(s_a + s_b) − log M(s_a) − log M(s_b) for ``pairs`` (n_pairs, 2), (n_pairs,).

    MEMO13, eq. 12; pairs are taken a few at a time, as each has a matrix of its own.
    """
    alone = likelihood.log_evidence(moments)
    gains = np.empty(len(pairs))
    for low in range(0, len(pairs), PAIRS_AT_ONCE):
        first, second = pairs[low : low + PAIRS_AT_ONCE].T
        joint = moments.take(first).plus(moments.take(second))
        together = likelihood.log_evidence(joint)
        gains[low : low + PAIRS_AT_ONCE] = together - alone[first] - alone[second]
    return gains
