"""Gaussians of uncorrelated columns: of variances that are learned, or of one known width.

Learned: λ_kd ~ Gamma(a, b_d), μ_kd ~ N(0, 1/(κλ_kd)). a_k = a + N_k/2, κ_k = κ + N_k,
m_k = Σ r x / κ_k and b_k = b + ½ (Σ r x² − κ_k m_k²), column by column (Murphy 2007, §3), where x
are standard coordinates. The next item of a component is Student-t in each column, with 2 a_k
degrees of freedom, location m_kd and squared scale (1 + 1/κ_k) b_kd / a_k.

Spheres: x ~ N(μ_k, σ²I), μ_k ~ N(0, σ²/λ I), as in Lim (2020). q(μ_k) = N(m_k, σ²/κ_k I) with
κ_k = λ + N_k and m_k = Σ r x / κ_k. The next item is normal, with variance σ² (1 + 1/κ_k). With
``at_modes``, means are points instead: the same m_k are the most probable means, their own variance
does not count, and bounds become log joint densities. The prior's density is then measured from its
peak, so that an empty component adds exactly zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from scipy.special import gammaln, psi

from sparsetopics.base.batches import Batch, FloatArray, Source, Vectors
from sparsetopics.base.errors import OptionError
from sparsetopics.base.showing import short_repr
from sparsetopics.model.array_formats import COLUMNS, COMPONENTS, MEANS, VECTORS, StoredAs
from sparsetopics.model.coordinates import Coordinates, usual_items
from sparsetopics.model.likelihoods import scorers
from sparsetopics.model.likelihoods.likelihood import Posterior
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.likelihoods.normals import LOG_TWO_PI, Normals
from sparsetopics.model.likelihoods.vector_likelihood import (
    MEAN_PRECISION,
    VectorLikelihood,
    check_mean_precision,
    coordinates_of,
)
from sparsetopics.model.standard_source import enough_items
from sparsetopics.options.training import TrainingOptions

SHAPE = 1.5  # of a weak prior: in one column, the ν = D + 2 of full covariances
SPREAD_ITEMS = 2_000  # about so many items determine the default variance of points
FEWEST_DIRECTIONS = 20  # that items vary in, by the same variance; measured on drawn and real sets


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
    mean_precision: float  # κ
    coordinates: Coordinates

    stored = StoredAs(
        NormalGammaPosterior,
        (COMPONENTS, VECTORS, MEANS, COMPONENTS),
        {"rates": COLUMNS},
        ("shape", "mean_precision"),
    )

    def __post_init__(self) -> None:
        if not self.shape > 1.0:
            hint = "Otherwise, the prior has no expected variance."
            raise OptionError("shape", f"must be more than 1, but is {self.shape:g}", hint)
        if not np.all(self.rates > 0.0):
            raise OptionError("rates", f"must be positive, but one is {self.rates.min():g}")
        check_mean_precision(self.mean_precision)

    @classmethod
    def in_coordinates(cls, coordinates: Coordinates) -> Self:
        """Expected variances like those of most items; κ leaves means free."""
        rates = np.full(coordinates.n_axes, SHAPE - 1.0)
        return cls(SHAPE, rates, MEAN_PRECISION, coordinates)

    @classmethod
    def coordinates_for(cls, values: FloatArray) -> Coordinates:
        """Columns from the mean of most items, in their standard deviations."""
        kept, axes = usual_items(values)
        differ = values[kept].min(axis=0) < values[kept].max(axis=0)
        return replace(axes, widths=differ.astype(np.float64), directions=None)

    def posterior(self, moments: Moments) -> NormalGammaPosterior:
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
        squares = 2.0 * (rates - self.rates) + mean_precisions[:, None] * means**2
        return Moments(2.0 * (shapes - self.shape), mean_precisions[:, None] * means, squares)

    def log_evidence(self, moments: Moments) -> FloatArray:
        """log M(s_k), (n_topics,), a sum over columns d of

        −N/2 log 2π + ½ log(κ/κ_k) + lnΓ(a_k) − lnΓ(a) + a log b_d − a_k log b_kd.
        """
        shapes, rates, _, mean_precisions = self.posterior(moments)
        alike = 0.5 * np.log(self.mean_precision / mean_precisions)
        alike += gammaln(shapes) - gammaln(self.shape) - 0.5 * LOG_TWO_PI * moments.counts
        logs = self.shape * np.log(self.rates) - shapes[:, None] * np.log(rates)
        evidence: FloatArray = self.n_columns * alike + logs.sum(axis=1)
        return evidence

    def expected_log_evidence(self, batch: Moments, components: Moments) -> float:
        posterior = self.posterior(components)
        shapes, rates, means, _ = posterior
        distances = (shapes[:, None] / rates * batch.scatter(means)).sum(axis=1)
        return float((batch.counts * self._constants(posterior) - 0.5 * distances).sum())

    def prepare(self, moments: Moments) -> scorers.Scorer[Vectors]:
        posterior = self.posterior(moments)
        precisions = posterior.shapes[:, None] / posterior.rates
        return scorers.diagonal_scorer(posterior.means, precisions, self._constants(posterior))

    def predictive(self, components: Moments) -> scorers.Scorer[Vectors]:
        shapes, rates, means, mean_precisions = self.posterior(components)
        wider = (1.0 + 1.0 / mean_precisions)[:, None]
        logs = gammaln(shapes + 0.5) - gammaln(shapes) - 0.5 * LOG_TWO_PI
        constants = self.n_columns * logs - 0.5 * np.log(wider * rates).sum(axis=1)
        student = scorers.column_student_log_densities
        return partial(student, means, 0.5 / (wider * rates), shapes, constants)

    def prepare_nodes(self, moments: Moments) -> scorers.NodeScorer:
        posterior = self.posterior(moments)
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

    def standard_normals(self, posterior: Posterior) -> Normals:
        """m_k and E[1/λ_kd] = b_kd / (a_k − 1)."""
        shapes, rates, means, _ = posterior
        return Normals(means, rates / (shapes - 1.0)[:, None])


class NormalPosterior(NamedTuple):
    """q(μ_k) = N(m_k, σ²/κ_k I)."""

    means: FloatArray  # (n_topics, n_columns)  m_k
    mean_precisions: FloatArray  # (n_topics,)  κ_k

    def __repr__(self) -> str:
        return short_repr(self, "means", "mean_precisions")


@dataclass(frozen=True, slots=True, eq=False)
class IsotropicGaussian(VectorLikelihood):
    """The prior of means; raises ``OptionError`` unless σ² and λ are positive."""

    variance: float  # σ², of columns
    mean_precision: float  # λ, in items
    coordinates: Coordinates
    at_modes: bool = False  # means are points

    stored = StoredAs(NormalPosterior, (MEANS, COMPONENTS), {}, ("variance", "mean_precision"))

    def __repr__(self) -> str:
        return short_repr(self, "n_columns", "variance", "mean_precision", "at_modes")

    def __post_init__(self) -> None:
        if not 0.0 < self.variance < np.inf:
            hint = "Items that are all alike, or very large, have no usable variance."
            raise OptionError("variance", f"must be positive, but is {self.variance:g}", hint)
        check_mean_precision(self.mean_precision)

    @classmethod
    def in_coordinates(cls, coordinates: Coordinates) -> Self:
        """The mean variance of most items; λ leaves means free."""
        return cls(float(coordinates.scales[0]) ** 2, MEAN_PRECISION, coordinates)

    @classmethod
    def coordinates_for(cls, values: FloatArray) -> Coordinates:
        """Columns from the mean of most items, in the same unit, so that spheres are spheres.

        The unit is a power of two, which rounds no variance.
        """
        kept, axes = usual_items(values)
        variance = float(values[kept].var(axis=0).mean())
        unit = np.exp2(np.round(0.5 * np.log2(variance))) if variance > 0.0 else 1.0
        scales, differ = np.full(len(axes.scales), unit), np.full(len(axes.scales), variance > 0.0)
        return replace(axes, scales=scales, widths=differ.astype(np.float64), directions=None)

    @classmethod
    def for_training(cls, sample: Vectors, source: Source[Batch], options: TrainingOptions) -> Self:
        """σ² is by default the mean variance of columns, or ``effective_variance`` for points."""
        variance, at_modes = options.variance, options.learner_kind.at_modes
        coordinates = coordinates_of(source)
        if variance is None:
            rows = sample[: enough_items(sample.shape[1])].astype(np.float64)
            rows = rows[usual_items(rows)[0]]
            variance = effective_variance(rows) if at_modes else float(rows.var(axis=0).mean())
            variance *= float(coordinates.scales[0]) ** 2
        return replace(cls.in_coordinates(coordinates), variance=variance, at_modes=at_modes)

    @property
    def standard_variance(self) -> float:
        """σ² in standard coordinates, whose unit all columns share."""
        return self.variance / float(self.coordinates.scales[0]) ** 2

    def posterior(self, moments: Moments) -> NormalPosterior:
        mean_precisions = self.mean_precision + moments.counts
        return NormalPosterior(moments.sums / mean_precisions[:, None], mean_precisions)

    def components_of(self, posterior: Posterior) -> Moments:
        """Moments without squares, on which the posterior does not depend."""
        means, mean_precisions = posterior
        sums = mean_precisions[:, None] * means
        return Moments(mean_precisions - self.mean_precision, sums, np.zeros_like(sums))

    def log_evidence(self, moments: Moments) -> FloatArray:
        """log M(s_k), (n_topics,): −N D/2 log 2πσ² + D/2 log(λ/κ_k) − (Σ r x² − κ_k m_k²)/2σ².

        With ``at_modes``, the second term is left out: the log joint density of items and mean.
        """
        means, mean_precisions = self.posterior(moments)
        distances = moments.squares.sum(axis=1) - mean_precisions * (means**2).sum(axis=1)
        distances = 0.5 * distances / self.standard_variance
        evidence: FloatArray = moments.counts * self._normaliser - distances
        if not self.at_modes:
            evidence += 0.5 * self.n_columns * np.log(self.mean_precision / mean_precisions)
        return evidence

    def expected_log_evidence(self, batch: Moments, components: Moments) -> float:
        posterior = self.posterior(components)
        distances = 0.5 * batch.scatter(posterior.means).sum(axis=1) / self.standard_variance
        return float((batch.counts * self._constants(posterior) - distances).sum())

    def prepare(self, moments: Moments) -> scorers.SphereScorer:
        posterior = self.posterior(moments)
        means, variance = posterior.means, self.standard_variance
        squares = np.einsum("kd,kd->k", means, means)
        constants = self._constants(posterior) - 0.5 * squares / variance
        return scorers.SphereScorer(means / variance, constants, 1.0 / variance)

    def predictive(self, components: Moments) -> scorers.Scorer[Vectors]:
        means, mean_precisions = self.posterior(components)
        is_point = (components.counts > 0.0) & self.at_modes
        variances = self.standard_variance * np.where(is_point, 1.0, 1.0 + 1.0 / mean_precisions)
        constants = -0.5 * self.n_columns * (LOG_TWO_PI + np.log(variances))
        precisions = np.broadcast_to(1.0 / variances[:, None], means.shape)
        return scorers.diagonal_scorer(means, precisions, constants)

    def prepare_nodes(self, moments: Moments) -> scorers.NodeScorer:
        posterior = self.posterior(moments)
        linear = posterior.means / self.standard_variance
        constants = self._constants(posterior) - 0.5 * (linear * posterior.means).sum(axis=1)
        quadratic = np.full_like(linear, -0.5 / self.standard_variance)
        return scorers.node_scorer(linear, quadratic, constants)

    @property
    def _normaliser(self) -> float:
        return -0.5 * self.n_columns * (LOG_TWO_PI + float(np.log(self.standard_variance)))

    def _constants(self, posterior: NormalPosterior) -> FloatArray:
        """−D/2 (log 2πσ² + 1/κ_k), (n_topics,); without 1/κ_k for points."""
        if self.at_modes:
            return np.full(len(posterior.means), self._normaliser)
        return self._normaliser - 0.5 * self.n_columns / posterior.mean_precisions

    def standard_normals(self, posterior: Posterior) -> Normals:
        """m_k and σ² in every column."""
        means, _ = posterior
        return Normals(means, np.full(means.shape, self.standard_variance))


def effective_variance(values: FloatArray) -> float:
    """tr C / max(D', 20) of a sample's covariance C, where D' = (tr C)² / tr C².

    D' is the number of independent columns of equal variance that would vary as much; with many of
    them, this is the variance of a direction, weighted by itself. Spheres treat columns as
    independent, so correlated columns count the same evidence several times. With the mean variance
    of D columns, an item's D columns would far outweigh the sizes of components, which alone can
    empty points. (With posteriors, the evidence also counts the D means of a component, so that
    columns weigh on both sides.) With few directions, however, all items would be within a few σ,
    and hence in one component.
    """
    rows = values[:: max(1, len(values) // SPREAD_ITEMS)] - values.mean(axis=0)
    wide = len(rows) < rows.shape[1]
    # Both products have the same eigenvalues apart from zeros; the smaller one is cheaper.
    products = rows @ rows.T if wide else rows.T @ rows
    trace = float(np.trace(products))
    if trace == 0.0:
        return 0.0
    n_directions = trace**2 / float((products**2).sum())
    return trace / len(rows) / max(n_directions, FEWEST_DIRECTIONS)
