"""Standard coordinates of vectors: shifted, scaled and rotated so that most items are like N(0, I).

Mixtures are learned in these coordinates. So a model depends neither on the units of columns nor on
where their zero is, and, where the axes are rotated too, not on correlations of all items either.
Numbers of any size lose no digits when they are rounded to float32 there.

The items that most others are far from must not decide what is standard. They are those that lie
more than ``FAR`` robust standard deviations from the median along an invariant coordinate. These
are the directions in which the kurtosis of the items is extreme (Tyler, Critchley, Dümbgen & Oja
2009): along them a few wild items stand out however many columns there are, and they are the same
directions after any affine map of the items.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from sparsetopics.base.batches import FloatArray, Vectors
from sparsetopics.base.showing import short_repr
from sparsetopics.kernels import items as item_kernels

FAR = 20.0  # robust standard deviations; a cluster as far away as that has no say either
NARROW = 1e-3  # standard deviation in directions in which items do not differ, in column widths
RANK = 1e-10  # relative length of a direction in which items do not differ
FINE = 1e-3  # of a standard deviation: a finer step does not matter
ROUNDS = 20  # of leaving out far items
FEWEST_PER_COLUMN = 3  # items, for coordinates that are not columns
SD_OF_MAD = 1.4826  # standard deviation of a normal distribution in median absolute deviations,
SD_OF_MEAN = 1.2533  # and in mean absolute deviations
LARGEST = 1e5  # length of an item in training: sums of its squares leave digits for the others
LARGEST_SCORED = 1e15  # and elsewhere: its square is within float32
LOG_NARROW = float(np.log(NARROW) + 0.5 * np.log(3.0 * np.pi) + gammaln(1.5))
Numbers = NDArray[np.float32] | NDArray[np.float64]
Kept = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Coordinates:
    """x = m + s · (V z): ``z`` are the standard coordinates of an item ``x``.

    Axes without a width are those in which items do not differ. They are left out of ``z``, which
    may so have fewer axes than there are columns.
    """

    origin: FloatArray  # (n_columns,)  m
    scales: FloatArray  # (n_columns,)  s, positive
    widths: FloatArray  # (n_columns,)  of the axes, in scaled columns; 0 where items do not differ
    directions: FloatArray | None = None  # (n_columns, n_columns)  orthonormal axes, one a column
    steps: FloatArray | None = (
        None  # (n_columns,)  between values of columns; 0: too fine to matter
    )

    def __repr__(self) -> str:
        return short_repr(self, "n_columns", "n_axes")

    @classmethod
    def shifted(cls, origin: FloatArray) -> Coordinates:
        """Columns measured from ``origin`` (n_columns,), as wide as they are."""
        return cls(origin, np.ones(len(origin)), np.ones(len(origin)))

    @property
    def problem(self) -> str:
        """What is wrong with axes from a file, whose numbers are finite; empty if nothing is."""
        if not (self.widths > 0.0).any():
            return "expected at least one axis with a width"
        turned = self.directions
        if turned is not None and np.abs(turned.T @ turned - np.eye(len(turned))).max() > 1e-6:
            return "expected orthonormal directions"
        return ""

    def equals(self, other: Coordinates) -> bool:
        """Whether both give the same numbers for any item."""
        pairs = ((getattr(each, field.name) for each in (self, other)) for field in fields(self))
        return all(np.array_equal(mine, theirs) for mine, theirs in pairs)

    @property
    def n_columns(self) -> int:
        return len(self.origin)

    @property
    def n_axes(self) -> int:
        """The length of ``z``."""
        return int((self.widths > 0.0).sum())

    @property
    def log_volume(self) -> float:
        """log p(z) − log p(x), in nats, of an item that differs from others along axes only."""
        is_axis = self.widths > 0.0
        logs = np.log(self.scales).sum() + np.log(self.widths[is_axis]).sum()
        return float(logs + (~is_axis).sum() * LOG_NARROW)

    def __call__(self, values: Vectors, largest: float = LARGEST) -> Vectors:
        """The standard coordinates of items, (n_items, n_axes) float32.

        Items (n_items, n_columns) farther than ``largest`` from the origin are moved there.
        """
        found = self._along(values, self.widths > 0.0)
        lengths = np.sqrt(np.einsum("nd,nd->n", found, found))
        if (lengths > largest).any():
            found *= (largest / np.maximum(lengths, largest))[:, None]
        return found.astype(np.float32)

    def misfits(self, values: Vectors) -> FloatArray:
        """How much less dense items are where all others are alike, (n_items,), in nats.

        There, densities are Student-t with 3 degrees of freedom, as those of single items are.
        """
        left_out = self._along(values, self.widths <= 0.0)
        lost: FloatArray = 2.0 * np.log1p(left_out**2 / 3.0).sum(axis=1)
        return lost

    def between_steps(self, values: Vectors, rng: np.random.Generator) -> FloatArray:
        """Items (n_items, n_columns) at random places within the steps of their values.

        A component of items that share a value would become narrower with every item, and the gain
        of that would decide which components are joined. So a value stands for its step.
        """
        found = values.astype(np.float64)
        if self.steps is not None:
            coarse = np.flatnonzero(self.steps)
            found[:, coarse] += self.steps[coarse] * (rng.random((len(found), len(coarse))) - 0.5)
        return found

    def _along(self, values: Vectors, axes: Kept) -> FloatArray:
        widths = np.where(self.widths > 0.0, self.widths, NARROW)
        scaled = (np.asarray(values, np.float64) - self.origin) / self.scales
        if self.directions is None:
            # A choice of columns lies column by column, and sums over them would be rounded otherwise
            own: FloatArray = np.ascontiguousarray(scaled[:, axes] / widths[axes])
            return own
        found = np.empty((len(scaled), int(axes.sum())))
        item_kernels.multiply(
            scaled, np.ascontiguousarray((self.directions / widths)[:, axes]), found
        )
        return found

    def points_of(self, standard: FloatArray) -> FloatArray:
        """Points with standard coordinates ``standard``, (.., n_axes), as (.., n_columns)."""
        along = np.zeros((*standard.shape[:-1], self.n_columns))
        along[..., self.widths > 0.0] = standard
        along *= self.widths
        turned = along if self.directions is None else along @ self.directions.T
        points: FloatArray = self.origin + self.scales * turned
        return points

    def variances_of(self, standard: FloatArray) -> FloatArray:
        """Variances of columns from those along axes that are not rotated, likewise."""
        variances = np.full((*standard.shape[:-1], self.n_columns), NARROW**2)
        variances[..., self.widths > 0.0] = standard
        variances *= np.where(self.widths > 0.0, self.widths * self.scales, self.scales) ** 2
        return variances

    def covariances_of(self, standard: FloatArray) -> FloatArray:
        """Covariances of columns, (.., n_columns, n_columns), from (.., n_axes, n_axes)."""
        axes = np.flatnonzero(self.widths > 0.0)
        along = np.zeros((*standard.shape[:-2], self.n_columns, self.n_columns))
        along[..., axes[:, None], axes] = standard
        widths = np.where(self.widths > 0.0, self.widths, NARROW)
        others = np.flatnonzero(self.widths <= 0.0)
        along[..., others, others] = 1.0
        turned = np.diag(widths) if self.directions is None else self.directions * widths
        turned = self.scales[:, None] * turned
        covariances: FloatArray = turned @ along @ turned.T
        return covariances


def steps_of(values: FloatArray) -> FloatArray:
    """The least difference of two values of each column, (n_columns,); 0 where it is negligible."""
    gaps = np.diff(np.sort(values, axis=0), axis=0, prepend=np.inf)
    steps: FloatArray = np.where(gaps > 0.0, gaps, np.inf).min(axis=0)
    steps[(steps < FINE * values.std(axis=0)) | np.isinf(steps)] = 0.0
    return steps


class Spread(NamedTuple):
    """Where some items lie, and how far they spread along their principal axes."""

    mean: FloatArray  # (n_columns,)
    scales: FloatArray  # (n_columns,)  standard deviations; 1 for columns without any
    widths: FloatArray  # (n_columns,)  of the axes, in scaled columns, falling
    directions: FloatArray  # (n_columns, n_columns)  the axes, one a column

    @property
    def rank(self) -> int:
        return int((self.widths > 0.0).sum())

    def of(self, values: FloatArray) -> FloatArray:
        """Items along the axes that have a width, in widths, (n_items, rank)."""
        axes = (self.directions / np.maximum(self.widths, RANK))[:, : self.rank]
        along: FloatArray = (values - self.mean) / self.scales @ axes
        return along


def spread_of(values: FloatArray, *, has_mean: bool = True) -> Spread:
    """The spread of items (n_items, n_columns); about zero without ``has_mean``.

    Triangular factors keep directions apart whose widths differ by a factor of 10⁸; a covariance
    matrix would lose half of these digits.
    """
    mean = values.mean(axis=0) if has_mean else np.zeros(values.shape[1])
    centred = values - mean
    scales = np.sqrt(np.mean(centred**2, axis=0))
    scales[scales == 0.0] = 1.0
    factor = np.linalg.qr(centred / scales, mode="r")
    _, lengths, axes = np.linalg.svd(factor)
    widths = np.zeros(values.shape[1])
    widths[: len(lengths)] = lengths / np.sqrt(len(values))
    widths[widths <= RANK * widths[0]] = 0.0
    return Spread(mean, scales, widths, axes.T)


def usual_items(values: FloatArray, *, has_mean: bool = True) -> tuple[Kept, Spread]:
    """Which items (n_items, n_columns) are not far from most others, and their spread."""
    kept = np.ones(len(values), bool)
    spread = spread_of(values, has_mean=has_mean)
    for _ in range(ROUNDS):
        if not spread.rank:
            break
        distances = _robust_distances(_invariant(values, kept, spread), kept, has_mean)
        found: Kept = np.logical_not((distances > FAR).any(axis=1))
        if 2 * found.sum() < len(found) or np.array_equal(found, kept):
            break
        kept, spread = found, spread_of(values[found], has_mean=has_mean)
    return kept, spread


def _invariant(values: FloatArray, kept: Kept, spread: Spread) -> FloatArray:
    """Items along invariant coordinates, (n_items, rank); too few items have columns instead."""
    if len(values) < FEWEST_PER_COLUMN * values.shape[1]:
        return (values - spread.mean) / spread.scales
    along = spread.of(values)
    squares = np.einsum("nd,nd->n", along[kept], along[kept])
    fourth = (along[kept] * squares[:, None]).T @ along[kept]
    turned: FloatArray = along @ np.linalg.eigh(fourth)[1]
    return turned


def _robust_distances(along: FloatArray, kept: Kept, has_mean: bool) -> FloatArray:
    """How far items are from the median of those that are kept, in robust standard deviations."""
    middle = np.median(along[kept], axis=0) if has_mean else np.zeros(along.shape[1])
    away = np.abs(along - middle)
    deviations = SD_OF_MAD * np.median(away[kept], axis=0)
    deviations = np.where(deviations > 0.0, deviations, SD_OF_MEAN * away[kept].mean(axis=0))
    return away / np.maximum(deviations, np.finfo(float).tiny)


def far_from_most(values: FloatArray) -> Kept:
    """Which values (n_items, n_columns) are far from the others of their column.

    They are more than ``FAR`` robust standard deviations from the median, and more than the width
    of all other values from these.
    """
    is_far = _robust_distances(values, np.ones(len(values), bool), has_mean=True) > FAR
    low = np.where(is_far, np.inf, values).min(axis=0)
    high = np.where(is_far, -np.inf, values).max(axis=0)
    beyond = np.maximum(low - values, values - high)
    found: Kept = is_far & (beyond > high - low)
    return found
