"""A likelihood as someone would add it: counts x_d ~ Poisson(λ_kd), λ_kd ~ Gamma(c m_d, c).

q(λ_kd) = Gamma(c m_d + Σ r x_d, c + N_k). What all components share, Σ log x!, is left out.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import gammaln, psi

from sparsetopics.base.batches import FloatArray, Vectors
from sparsetopics.estimators.mixtures import VectorMixture
from sparsetopics.model.array_formats import COLUMNS, COMPONENTS, VECTORS, StoredAs
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.likelihoods.normals import Normals
from sparsetopics.model.likelihoods.vector_likelihood import VectorLikelihood


class GammaPosterior(NamedTuple):
    """q(λ_kd) = Gamma(shape, rate)."""

    shapes: FloatArray  # (n_topics, n_columns)
    rates: FloatArray  # (n_topics,)


class PoissonScorer(NamedTuple):
    """Σ_d x_d log_rate_kd − total_k."""

    log_rates: FloatArray  # (n_topics, n_columns)
    totals: FloatArray  # (n_topics,)

    def log_densities(self, values: Vectors) -> FloatArray:
        logs: FloatArray = np.einsum("nd,kd->nk", values.astype(np.float64), self.log_rates)
        return logs - self.totals


class Rates(NamedTuple):
    """Components with plain rates."""

    rates: FloatArray  # (n_topics, n_columns)

    def scorer(self) -> PoissonScorer:
        return PoissonScorer(np.log(self.rates), self.rates.sum(axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class Poisson(VectorLikelihood):
    """The Gamma prior."""

    mean: FloatArray  # (n_columns,)  m
    strength: float  # c, in items

    stored = StoredAs(
        GammaPosterior,
        (VECTORS, COMPONENTS),
        {"mean": COLUMNS},
        ("strength",),
    )

    @classmethod
    def from_data(cls, values: Vectors) -> Self:
        return cls(values.mean(axis=0, dtype=np.float64), 0.1)

    @property
    def n_columns(self) -> int:
        return len(self.mean)

    def zeros(self, n_topics: int) -> Moments:
        return Moments.zeros(n_topics, np.zeros(self.n_columns))

    def posterior(self, moments: Moments) -> GammaPosterior:
        return GammaPosterior(
            self.strength * self.mean + moments.sums, self.strength + moments.counts
        )

    def components_of(self, posterior: GammaPosterior) -> Moments:
        sums = posterior.shapes - self.strength * self.mean
        origin = np.zeros(self.n_columns)
        return Moments(posterior.rates - self.strength, sums, np.zeros_like(sums), origin)

    def log_evidence(self, moments: Moments) -> FloatArray:
        """Σ_d [log Γ(a_kd) − log Γ(a_d) + a_d log c − a_kd log(c + N_k)], (n_topics,)."""
        shapes, rates = self.posterior(moments)
        before = self.strength * self.mean
        by_column = gammaln(shapes) - gammaln(before) + before * np.log(self.strength)
        evidence: FloatArray = by_column.sum(axis=1) - shapes.sum(axis=1) * np.log(rates)
        return evidence

    def expected_log_likelihood(self, moments: Moments, posterior_moments: Moments) -> FloatArray:
        log_rates, totals = self.prepare(posterior_moments)
        expected: FloatArray = (moments.sums * log_rates).sum(axis=1) - moments.counts * totals
        return expected

    def prepare(self, moments: Moments) -> PoissonScorer:
        shapes, rates = self.posterior(moments)
        log_rates = psi(shapes) - np.log(rates)[:, None]
        return PoissonScorer(log_rates, shapes.sum(axis=1) / rates)

    def point_estimates(self, posterior: GammaPosterior) -> Rates:
        return Rates(posterior.shapes / posterior.rates[:, None])

    def normals(self, posterior: GammaPosterior) -> Normals:
        rates = self.point_estimates(posterior).rates
        return Normals(rates, rates)


@dataclass(repr=False, eq=False)
class Counts(VectorMixture):
    """A mixture of such counts as an estimator."""

    n_components: int = 3
    _: KW_ONLY
    likelihood: str = "poisson"

    _model_name: ClassVar[str] = "mixture"
