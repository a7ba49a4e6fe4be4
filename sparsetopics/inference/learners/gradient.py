"""Stochastic gradient ascent of a DP mixture of spheres with hard assignments (Lim 2020).

E[μ_k] and E[v_k] are points that climb the log posterior ln q(μ) + ln q(v), batch by batch. With
the assignments z_nk of a batch of M among N items, the gradient of 1/N of it is estimated by

    g(μ_k) = 1/M Σ_n z_nk (x_n − μ_k)/σ² − 1/N λ (μ_k − m)/σ²
    g(v_k) = 1/M Σ_n (z_nk / v_k − Σ_{j>k} z_nj / (1 − v_k)) − 1/N (γ − 1)/(1 − v_k).

Equations 12 and 14 of the paper put the prior's term into the gradient of every item, so that their
mean contains it N times too often; here each item has one N-th of it. Steps of means are scaled by
σ², as if items were measured in units of σ, so that a step size means the same in all units.

SGA+F divides by the mean of the items' squared gradients, element by element (equation 16). Near an
optimum that is the square of the gradient itself, and steps would grow without bound. Therefore the
step size η is added to the squared residuals of means, (x − μ)²/σ². The new mean of a column then
never lies beyond the mean of the batch's items; a smaller addend does not ensure this.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple, cast

import numpy as np

from sparsetopics.base.batches import Batch, FloatArray, Source, VectorBatch
from sparsetopics.base.soundness import check_like, require
from sparsetopics.inference.learners.accelerated import MomentGlobals, MomentStatistics
from sparsetopics.inference.learners.learner import Learner, LearnerInputs, Visit
from sparsetopics.model.allocations.mixture import ItemTerms
from sparsetopics.model.allocations.mixture_weights import later, log_weights_of, sticks_of
from sparsetopics.model.likelihoods.diagonal_gaussian import IsotropicGaussian
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.statistics import Summary, added
from sparsetopics.options.training import GradientOptions

EDGE = 1e-9  # distance that sticks keep from 0 and 1

MomentSummary = Summary[Moments, ItemTerms]


class Ascent(NamedTuple):
    """One number for each parameter: its value, gradient, Fisher information or velocity."""

    means: FloatArray  # (n_topics, n_columns)  of μ_k
    sticks: FloatArray  # (n_topics,)  of v_k


class GradientState(NamedTuple):
    """All that survives between two steps."""

    points: Ascent
    velocity: Ascent  # γ of the paper, which momentum carries on
    sizes: FloatArray  # (n_topics,)  items of each component in the last lap, or at the start
    lap: MomentStatistics  # of the assignments since the lap began


@dataclass(frozen=True, slots=True)
class GradientLearner(Learner[GradientState, VectorBatch, Moments, Moments, ItemTerms]):
    """Takes a round of batches a step."""

    prior: IsotropicGaussian
    concentration: float  # γ
    n_items: int
    options: GradientOptions
    batches_per_round: int = 1

    def init(self, start: MomentStatistics) -> GradientState:
        """Begin at the modes of the start's components."""
        components = start.components
        means = self.prior.posterior(components).means
        sticks = sticks_of(components.counts, self.concentration)
        points = Ascent(means, np.clip(sticks, EDGE, 1.0 - EDGE))
        still = Ascent(np.zeros_like(means), np.zeros_like(sticks))
        return GradientState(points, still, components.counts, start.zeros_like())

    def step_in_place(
        self,
        state: GradientState,
        visits: Iterable[Visit[VectorBatch, Moments, ItemTerms]],
        current: MomentGlobals,
    ) -> tuple[GradientState, bool]:
        summary = reduce(_together, (visit.summary for visit in visits))
        velocity = self._velocity(state, summary)
        state = state._replace(
            points=moved(state.points, velocity),
            velocity=velocity,
            lap=state.lap.add_in_place(summary),
        )
        return state, False

    def _velocity(self, state: GradientState, batch: MomentSummary) -> Ascent:
        """What the step adds to the points."""
        step, rule = self.options.step_size, self.options.rule
        ascent = self.gradient(state.points, batch)
        ascent = ascent._replace(means=ascent.means * self.prior.standard_variance)
        if rule == "fisher":
            ascent = _divided(ascent, self.fisher(state.points, batch))
        kept = self.options.momentum if rule == "momentum" else 0.0
        pairs = zip(state.velocity, ascent, strict=True)
        return Ascent(*(kept * old + step * new for old, new in pairs))

    def gradient(self, points: Ascent, batch: MomentSummary) -> Ascent:
        """Estimate the gradient of 1/N of the log posterior from a batch."""
        components, n_here = batch.components, batch.terms.n_docs
        residuals = components.sums - components.counts[:, None] * points.means
        pull = self.prior.mean_precision / self.n_items * points.means
        taken, left = _shares(components.counts, n_here)
        spare = left + (self.concentration - 1.0) / self.n_items
        return Ascent(
            (residuals / n_here - pull) / self.prior.standard_variance,
            taken / points.sticks - spare / (1.0 - points.sticks),
        )

    def fisher(self, points: Ascent, batch: MomentSummary) -> Ascent:
        """Mean squared gradients of a batch's items, in units of σ; those of means with η added.

        The prior's part, one N-th, is left out.
        """
        components, n_here = batch.components, batch.terms.n_docs
        counts, scatter = components.counts[:, None], components.scatter(points.means)
        squares = np.maximum(scatter, 0.0) / self.prior.standard_variance
        taken, left = _shares(components.counts, n_here)
        return Ascent(
            (squares + self.options.step_size * counts) / n_here,
            taken / points.sticks**2 + left / (1.0 - points.sticks) ** 2,
        )

    def start_lap(self, state: GradientState) -> GradientState:
        return state._replace(lap=state.lap.zeros_like())

    def end_lap(self, state: GradientState) -> GradientState:
        return state._replace(sizes=state.lap.components.counts)

    def check(self, state: GradientState, nothing: MomentStatistics, source: Source[Batch]) -> None:
        state.lap.check(nothing, source.n_docs)
        counts, sums = nothing.components.counts, nothing.components.sums
        check_like(state.points, Ascent(sums, counts), "points")
        check_like(state.velocity, state.points, "velocity")
        check_like(state.sizes, counts, "sizes")
        sticks = state.points.sticks
        require(sticks.min() >= EDGE and sticks.max() <= 1.0 - EDGE, "sticks out of range")
        require(state.sizes.min() >= 0.0, "sizes below zero")

    def components(self, state: GradientState) -> Moments:
        """Components of the last lap's sizes whose modes would be the means."""
        sums = (self.prior.mean_precision + state.sizes)[:, None] * state.points.means
        return Moments(state.sizes, sums, np.zeros_like(sums))

    def terms(self, state: GradientState) -> ItemTerms:
        """Items shared out in the proportions of the sticks, the rest of the process left out."""
        logs = log_weights_of(state.points.sticks)
        weights = np.exp(logs - logs.max())
        counts = self.n_items * weights / weights.sum()
        return ItemTerms(float(self.n_items), float(self.n_items), counts, np.zeros(len(counts)))

    def statistics(self, state: GradientState) -> MomentStatistics:
        return state.lap


STATES = (GradientState, Ascent)


def make(inputs: LearnerInputs[VectorBatch, Moments, Moments]) -> GradientLearner:
    options = inputs.options
    return GradientLearner(
        cast(IsotropicGaussian, inputs.likelihood),
        options.prior.gamma,
        inputs.source.n_docs,
        options.gradient or GradientOptions(),
        options.batches_per_round,
    )


def moved(points: Ascent, step: Ascent) -> Ascent:
    """``points`` after a step; a stick goes at most half of its way to 0 or 1."""
    sticks = np.clip(points.sticks + step.sticks, 0.5 * points.sticks, 0.5 * (1.0 + points.sticks))
    return Ascent(points.means + step.means, np.clip(sticks, EDGE, 1.0 - EDGE))


def _together(one: MomentSummary, other: MomentSummary) -> MomentSummary:
    """The summary of two batches."""
    return Summary(one.components.plus(other.components), added(one.terms, other.terms))


def _shares(counts: FloatArray, n_items: float) -> tuple[FloatArray, FloatArray]:
    """The shares of items in each component, and in all later ones, (n_topics,) each."""
    return counts / n_items, later(counts) / n_items


def _divided(gradient: Ascent, fisher: Ascent) -> Ascent:
    """Divide by ``fisher``; parameters that no item of the batch depends on stay as they are."""
    pairs = zip(gradient, fisher, strict=True)
    quotients = (np.divide(a, b, out=np.zeros_like(a), where=b > 0.0) for a, b in pairs)
    return Ascent(*quotients)
