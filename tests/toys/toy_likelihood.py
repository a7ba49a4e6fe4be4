"""A likelihood as someone would add it: counts x_d ~ Poisson(λ_kd), λ_kd ~ Gamma(c m_d, c).

q(λ_kd) = Gamma(c m_d + Σ r x_d, c + N_k). What all components share, Σ log x!, is left out.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import gammaln, psi

from sparsetopics.base.batches import Batch, FloatArray, Source, Vectors
from sparsetopics.estimators.mixtures import VectorMixture
from sparsetopics.model.array_formats import COLUMNS, COMPONENTS, VECTORS, StoredAs
from sparsetopics.model.coordinates import Coordinates
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.likelihoods.normals import Normals
from sparsetopics.model.likelihoods.vector_likelihood import VectorLikelihood, coordinates_of
from sparsetopics.options.training import TrainingOptions


class GammaPosterior(NamedTuple):
    """q(λ_kd) = Gamma(shape, rate)."""

    shapes: FloatArray  # (n_topics, n_columns)
    rates: FloatArray  # (n_topics,)


class PoissonScorer(NamedTuple):
    """Σ_d x_d log_rate_kd − total_k."""

    log_rates: FloatArray  # (n_topics, n_columns)
    totals: FloatArray  # (n_topics,)

    def __call__(self, values: Vectors) -> FloatArray:
        logs: FloatArray = np.einsum("nd,kd->nk", values.astype(np.float64), self.log_rates)
        return logs - self.totals


class NegativeBinomialScorer(NamedTuple):
    """The next counts of a component, without Σ log x!."""

    shapes: FloatArray  # (n_topics, n_columns)
    rates: FloatArray  # (n_topics,)

    def __call__(self, values: Vectors) -> FloatArray:
        more = values.astype(np.float64)[:, None] + self.shapes
        logs = gammaln(more) - gammaln(self.shapes)
        rates = self.rates[:, None]
        logs += self.shapes * np.log(rates) - more * np.log1p(rates)
        found: FloatArray = logs.sum(axis=2)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Poisson(VectorLikelihood):
    """The Gamma prior."""

    mean: FloatArray  # (n_columns,)  m
    strength: float  # c, in items
    coordinates: Coordinates  # the columns as they are: counts cannot be turned
    has_steps = False

    stored = StoredAs(
        GammaPosterior,
        (VECTORS, COMPONENTS),
        {"mean": COLUMNS},
        ("strength",),
    )

    @classmethod
    def coordinates_for(cls, values: FloatArray) -> Coordinates:
        return Coordinates.shifted(np.zeros(values.shape[1]))

    @classmethod
    def in_coordinates(cls, coordinates: Coordinates) -> Self:
        return cls(np.ones(coordinates.n_axes), 0.1, coordinates)

    @classmethod
    def for_training(cls, sample: Vectors, source: Source[Batch], options: TrainingOptions) -> Self:
        own = cls.in_coordinates(coordinates_of(source))
        return replace(own, mean=sample.mean(axis=0, dtype=np.float64))

    def posterior(self, moments: Moments) -> GammaPosterior:
        return GammaPosterior(
            self.strength * self.mean + moments.sums, self.strength + moments.counts
        )

    def components_of(self, posterior: GammaPosterior) -> Moments:
        sums = posterior.shapes - self.strength * self.mean
        return Moments(posterior.rates - self.strength, sums, np.zeros_like(sums))

    def log_evidence(self, moments: Moments) -> FloatArray:
        """Σ_d [log Γ(a_kd) − log Γ(a_d) + a_d log c − a_kd log(c + N_k)], (n_topics,)."""
        shapes, rates = self.posterior(moments)
        before = self.strength * self.mean
        by_column = gammaln(shapes) - gammaln(before) + before * np.log(self.strength)
        evidence: FloatArray = by_column.sum(axis=1) - shapes.sum(axis=1) * np.log(rates)
        return evidence

    def expected_log_evidence(self, batch: Moments, components: Moments) -> float:
        log_rates, totals = self.prepare(components)
        return float((batch.sums * log_rates).sum() - (batch.counts * totals).sum())

    def prepare(self, moments: Moments) -> PoissonScorer:
        shapes, rates = self.posterior(moments)
        log_rates = psi(shapes) - np.log(rates)[:, None]
        return PoissonScorer(log_rates, shapes.sum(axis=1) / rates)

    def predictive(self, components: Moments) -> NegativeBinomialScorer:
        return NegativeBinomialScorer(*self.posterior(components))

    def standard_normals(self, posterior: GammaPosterior) -> Normals:
        rates = posterior.shapes / posterior.rates[:, None]
        return Normals(rates, rates)


@dataclass(repr=False, eq=False)
class Counts(VectorMixture):
    """A mixture of such counts as an estimator."""

    n_components: int = 3
    _: KW_ONLY
    likelihood: str = "poisson"

    _model_name: ClassVar[str] = "mixture"
