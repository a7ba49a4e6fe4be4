"""Gaussians of uncorrelated columns: λ_kd ~ Gamma(a, b_d), μ_kd ~ N(m_d, 1/(κλ_kd)).

a_k = a + N_k/2, κ_k = κ + N_k and, with x and m_k measured from the prior's mean m,
m_k = Σ r x / κ_k, b_k = b + ½ (Σ r x² − κ_k m_k²), column by column (Murphy 2007, §3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from scipy.special import gammaln, psi

from sparsetopics.base.batches import FloatArray, Vectors
from sparsetopics.base.errors import OptionError
from sparsetopics.base.showing import short_repr
from sparsetopics.model.array_formats import COLUMNS, COMPONENTS, MEAN, MEANS, VECTORS, StoredAs
from sparsetopics.model.likelihoods import scorers
from sparsetopics.model.likelihoods.likelihood import Posterior
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.likelihoods.normals import LOG_TWO_PI, Normals
from sparsetopics.model.likelihoods.vector_likelihood import (
    MEAN_PRECISION,
    VectorLikelihood,
    check_mean,
    origin_of,
    variances_of,
)

SHAPE = 1.5  # of a weak prior: in one column, the ν = D + 2 of full covariances


class NormalGammaPosterior(NamedTuple):
    """q(λ_kd) = Gamma(a_k, b_kd), q(μ_kd|λ_kd) = N(m_kd, 1/(κ_k λ_kd))."""

    shapes: FloatArray  # (n_topics,)  a_k
    rates: FloatArray  # (n_topics, n_columns)  b_kd
    means: FloatArray  # (n_topics, n_columns)  m_kd
    mean_precisions: FloatArray  # (n_topics,)  κ_k

    def __repr__(self) -> str:
        return short_repr(self, "shapes", "rates", "means", "mean_precisions")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DiagonalGaussian(VectorLikelihood):
    """The Normal-Gamma prior; raises ``OptionError`` unless a > 1, all b_d > 0 and κ > 0."""

    shape: float  # a
    rates: FloatArray  # (n_columns,)  b
    mean: FloatArray  # (n_columns,)  m, rounded to float32 where it is used
    mean_precision: float  # κ

    stored = StoredAs(
        NormalGammaPosterior,
        (COMPONENTS, VECTORS, MEANS, COMPONENTS),
        {"rates": COLUMNS, "mean": MEAN},
        ("shape", "mean_precision"),
    )

    def __post_init__(self) -> None:
        if not self.shape > 1.0:
            hint = "Otherwise, the prior has no expected variance."
            raise OptionError("shape", f"must be more than 1, but is {self.shape:g}", hint)
        if not np.all(self.rates > 0.0):
            raise OptionError("rates", f"must be positive, but one is {self.rates.min():g}")
        check_mean(self.mean, self.mean_precision, self.n_columns)

    @classmethod
    def from_data(cls, values: Vectors) -> Self:
        """Expected variances: those of the sample; m: its mean; κ leaves means free."""
        mean = values.mean(axis=0, dtype=np.float64)
        return cls(SHAPE, (SHAPE - 1.0) * variances_of(values, mean), mean, MEAN_PRECISION)

    @property
    def n_columns(self) -> int:
        return len(self.rates)

    def zeros(self, n_topics: int) -> Moments:
        return Moments.zeros(n_topics, origin_of(self.mean))

    def posterior(self, moments: Moments) -> NormalGammaPosterior:
        centred = self._centred_posterior(moments)
        return centred._replace(means=centred.means + origin_of(self.mean))

    def _centred_posterior(self, moments: Moments) -> NormalGammaPosterior:
        """The posterior with m_k measured from the prior's mean, like moments."""
        mean_precisions = self.mean_precision + moments.counts
        means = moments.sums / mean_precisions[:, None]
        squares = moments.squares - mean_precisions[:, None] * means**2
        shapes, rates = self.shape + 0.5 * moments.counts, self.rates + 0.5 * squares
        if not rates.min(initial=np.inf) > 0.0:
            hint = "Scale columns of very large values."
            raise OptionError("rates", "must be positive, but not all are", hint)
        return NormalGammaPosterior(shapes, rates, means, mean_precisions)

    def components_of(self, posterior: Posterior) -> Moments:
        shapes, rates, means, mean_precisions = posterior
        origin = origin_of(self.mean)
        means = means - origin
        squares = 2.0 * (rates - self.rates) + mean_precisions[:, None] * means**2
        sums = mean_precisions[:, None] * means
        return Moments(2.0 * (shapes - self.shape), sums, squares, origin)

    def log_evidence(self, moments: Moments) -> FloatArray:
        """log M(s_k), (n_topics,), a sum over columns d of

        −N/2 log 2π + ½ log(κ/κ_k) + lnΓ(a_k) − lnΓ(a) + a log b_d − a_k log b_kd.
        """
        shapes, rates, _, mean_precisions = self._centred_posterior(moments)
        alike = 0.5 * np.log(self.mean_precision / mean_precisions)
        alike += gammaln(shapes) - gammaln(self.shape) - 0.5 * LOG_TWO_PI * moments.counts
        logs = self.shape * np.log(self.rates) - shapes[:, None] * np.log(rates)
        evidence: FloatArray = self.n_columns * alike + logs.sum(axis=1)
        return evidence

    def expected_log_likelihood(self, moments: Moments, posterior_moments: Moments) -> FloatArray:
        posterior = self._centred_posterior(posterior_moments)
        shapes, rates, means, _ = posterior
        scatter = moments.squares - 2.0 * means * moments.sums
        scatter += moments.counts[:, None] * means**2
        distances = (shapes[:, None] / rates * scatter).sum(axis=1)
        expected: FloatArray = moments.counts * self._constants(posterior) - 0.5 * distances
        return expected

    def prepare(self, moments: Moments) -> scorers.DiagonalScorer:
        posterior = self._centred_posterior(moments)
        precisions = posterior.shapes[:, None] / posterior.rates
        constants = self._constants(posterior)
        return scorers.diagonal_scorer(origin_of(self.mean), posterior.means, precisions, constants)

    def prepare_nodes(self, moments: Moments) -> scorers.NodeScorer:
        posterior = self._centred_posterior(moments)
        precisions = posterior.shapes[:, None] / posterior.rates
        linear = precisions * posterior.means
        constants = self._constants(posterior) - 0.5 * (linear * posterior.means).sum(axis=1)
        return scorers.node_scorer(linear, -0.5 * precisions, constants)

    def _constants(self, posterior: NormalGammaPosterior) -> FloatArray:
        """½ Σ_d (E[log λ_kd] − 1/κ_k − log 2π), (n_topics,)."""
        shapes, rates, _, mean_precisions = posterior
        alike = psi(shapes) - 1.0 / mean_precisions - LOG_TWO_PI
        constants: FloatArray = 0.5 * (self.n_columns * alike - np.log(rates).sum(axis=1))
        return constants

    def point_estimates(self, posterior: Posterior) -> Normals:
        """m_k and E[1/λ_kd] = b_kd / (a_k − 1)."""
        shapes, rates, means, _ = posterior
        return Normals(means, rates / (shapes - 1.0)[:, None])
