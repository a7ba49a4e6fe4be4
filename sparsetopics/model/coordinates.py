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

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from sparsetopics.base.batches import FloatArray, Vectors
from sparsetopics.base.showing import short_repr
from sparsetopics.kernels import items as item_kernels

FAR = 20.0  # robust standard deviations; a cluster as far away as that has no say either
NARROW = 1e-3  # standard deviation in directions in which items do not differ, in column widths
MOST_BAD = 0.1  # share of items that are far along a coordinate; more are a cluster
RANK = 1e-10  # relative length of a direction in which items do not differ, if not rounded more
ROUNDING = 1e-12  # relative to a value: closer ones are the same
SUMS = 4.0  # roundings of a column that is made of others
ROUNDS = 4  # of leaving out far items; bad ones are found in two, while heavy tails have no end
KURTOSIS_STEPS = 10  # towards axes of extreme kurtosis (Hyvärinen & Oja 1997)
SAME_UNIT = 100.0  # ratio of the scales of columns, up to which they seem to have the same unit
FEWEST_PER_COLUMN = 20  # items, for coordinates that are not columns
SD_OF_MAD = 1.4826  # standard deviation of a normal distribution in median absolute deviations,
SD_OF_MEAN = 1.2533  # and in mean absolute deviations
LARGEST = 1e5  # length of an item in training: sums of its squares leave digits for the others
LARGEST_SCORED = 1e15  # and elsewhere: its square is within float32
LOG_NARROW = float(np.log(NARROW) + 0.5 * np.log(3.0 * np.pi) + gammaln(1.5))
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
    steps: FloatArray  # (n_columns,)  between values of a column; 0 where they do not matter
    directions: FloatArray | None = None  # (n_columns, n_columns)  orthonormal axes, one a column

    def __repr__(self) -> str:
        return short_repr(self, "n_columns", "n_axes")

    @classmethod
    def shifted(cls, origin: FloatArray) -> Coordinates:
        """Columns measured from ``origin`` (n_columns,), as wide as they are."""
        return cls(origin, np.ones(len(origin)), np.ones(len(origin)), np.zeros(len(origin)))

    @property
    def problem(self) -> str:
        """What is wrong with axes from a file, whose numbers are finite; empty if nothing is."""
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
    def axis_widths(self) -> FloatArray:
        """How far items spread along the axes of ``z``, (n_axes,), if columns have one unit.

        If they seem to have several, columns are measured in their own widths.
        """
        return (self.widths * (self.scales if self._has_one_unit else 1.0))[self.widths > 0.0]

    @property
    def _has_one_unit(self) -> bool:
        scales = self.scales[self._vary]
        return bool(scales.max(initial=0.0) < SAME_UNIT * scales.min(initial=np.inf))

    @property
    def column_deviations(self) -> FloatArray:
        """Standard deviations of columns, (n_columns,), of items with variance 1 along the axes."""
        deviations: FloatArray = np.linalg.norm(self._axes[:, self.widths > 0.0], axis=1)
        return deviations

    @property
    def covariance_of_columns(self) -> FloatArray:
        """That of items in z if they spread as far along any direction of scaled columns."""
        deviations = np.maximum(self.column_deviations, np.finfo(float).tiny)
        axes = self._axes[:, self.widths > 0.0] / deviations[:, None]
        _, lengths, turned = np.linalg.svd(axes, full_matrices=False)
        covariance: FloatArray = turned.T / lengths**2 @ turned
        return covariance

    @property
    def log_volume(self) -> float:
        """log p(z) − log p(x), in nats, of an item that differs from others along axes only."""
        is_axis = self.widths > 0.0
        logs = np.log(self.scales).sum() + np.log(self.widths[is_axis]).sum()
        return float(logs + (~is_axis).sum() * LOG_NARROW)

    def in_one_unit(self) -> Coordinates:
        """The same up to a rotation, with the principal axes of columns instead of scaled ones.

        Where columns have one unit, those along which items spread most say most about clusters:
        growth cuts across them. Coordinates of columns with several units stay as they are.
        """
        if self.directions is None or not self.n_axes or not self._has_one_unit:
            return self
        unit = np.sqrt(np.mean(self.scales[self._vary] ** 2))
        scales = np.where(self._vary, unit, self.scales)
        turned, lengths, _ = np.linalg.svd(self._axes[:, self.widths > 0.0] / scales[:, None])
        widths = np.pad(lengths, (0, self.n_columns - len(lengths)))
        return replace(self, scales=scales, widths=widths, directions=turned)

    @property
    def _vary(self) -> Kept:
        """The columns, (n_columns,), in which items differ."""
        found: Kept = self.column_deviations > RANK * self.scales
        return found

    def __call__(self, values: Vectors, largest: float = LARGEST) -> Vectors:
        """The standard coordinates of items, (n_items, n_axes) float32.

        Items (n_items, n_columns) farther than ``largest`` from the origin are moved there.
        """
        found = self.along(values, self.widths > 0.0)
        lengths = np.sqrt(np.einsum("nd,nd->n", found, found))
        if (lengths > largest).any():
            found *= (largest / np.maximum(lengths, largest))[:, None]
        return found.astype(np.float32)

    def misfits(self, values: Vectors) -> FloatArray:
        """How much less dense items are where all others are alike, (n_items,), in nats.

        There, densities are Student-t with 3 degrees of freedom, as those of single items are.
        """
        left_out = self.along(values, self.widths <= 0.0)
        lost: FloatArray = 2.0 * np.log1p(left_out**2 / 3.0).sum(axis=1)
        return lost

    def between_steps(self, values: Vectors, rng: np.random.Generator) -> FloatArray:
        """Items (n_items, n_columns) at random places within the steps of their values.

        A component of items that share a value would become narrower with every item, and the gain
        of that would decide which components are joined. So a value stands for its step.
        """
        found = values.astype(np.float64)
        coarse = np.flatnonzero(self.steps)
        found[:, coarse] += self.steps[coarse] * (rng.random((len(found), len(coarse))) - 0.5)
        return found

    def along(self, values: Vectors, axes: Kept) -> FloatArray:
        """Items (n_items, n_columns) along some axes, in their widths or in ``NARROW``."""
        scaled = (np.asarray(values, np.float64) - self.origin) / self.scales
        if self.directions is None:
            # A choice of columns lies column by column, which changes how sums are rounded.
            return np.ascontiguousarray(scaled[:, axes] / self._filled_widths[axes])
        found, turned = np.empty((len(scaled), int(axes.sum()))), self.directions[:, axes]
        turned = np.ascontiguousarray(turned / self._filled_widths[axes])
        item_kernels.multiply(scaled, turned, found)
        return found

    def points_of(self, standard: FloatArray) -> FloatArray:
        """Points with standard coordinates ``standard``, (.., n_axes), as (.., n_columns)."""
        return self.origin + standard @ self._axes[:, self.widths > 0.0].T

    def variances_of(self, standard: FloatArray) -> FloatArray:
        """Variances of columns from those along axes that are not rotated, likewise."""
        variances = np.ones((*standard.shape[:-1], self.n_columns))
        variances[..., self.widths > 0.0] = standard
        return variances * np.diag(self._axes) ** 2

    def covariances_of(self, standard: FloatArray) -> FloatArray:
        """Covariances of columns, (.., n_columns, n_columns), from (.., n_axes, n_axes)."""
        own = np.flatnonzero(self.widths > 0.0)
        along = np.tile(np.eye(self.n_columns), (*standard.shape[:-2], 1, 1))
        along[..., own[:, None], own] = standard
        covariances: FloatArray = self._axes @ along @ self._axes.T
        # Rounding must not make them asymmetric: then they are no covariances for other programs.
        return 0.5 * (covariances + np.swapaxes(covariances, -1, -2))

    @property
    def _axes(self) -> FloatArray:
        """One standard deviation along each axis, (n_columns, n_columns), an axis a column."""
        turned = np.eye(self.n_columns) if self.directions is None else self.directions
        return self.scales[:, None] * turned * self._filled_widths

    @property
    def _filled_widths(self) -> FloatArray:
        return np.where(self.widths > 0.0, self.widths, NARROW)


def steps_of(values: FloatArray) -> FloatArray:
    """The least difference of two values of each column, (n_columns,); 0 if there is none."""
    ordered = np.sort(values, axis=0)
    gaps = np.diff(ordered, axis=0, prepend=np.inf)
    steps = np.where(gaps > ROUNDING * np.abs(ordered), gaps, np.inf).min(axis=0)
    return np.where(np.isinf(steps), 0.0, steps)


def principal_axes(values: FloatArray, *, has_mean: bool = True) -> Coordinates:
    """Axes along which items (n_items, n_columns) are uncorrelated, in order of falling width.

    Without ``has_mean``, they are so about zero. Triangular factors keep directions apart whose
    widths differ by a factor of 10⁸; a covariance matrix would lose half of these digits.
    """
    mean = values.mean(axis=0) if has_mean else np.zeros(values.shape[1])
    scales = np.sqrt(np.mean((values - mean) ** 2, axis=0))
    scales[scales == 0.0] = 1.0
    factor, axes = np.linalg.qr((values - mean) / scales, mode="r"), None
    if len(values) < values.shape[1]:  # no likelihood uses the axes of so few items
        lengths = np.linalg.svd(factor, compute_uv=False)
    else:
        _, lengths, axes = np.linalg.svd(factor)
    widths = np.zeros(values.shape[1])
    widths[: len(lengths)] = lengths / np.sqrt(len(values))
    widths[widths <= max(RANK * widths[0], _rounding(values, scales))] = 0.0
    directions = None if axes is None else axes.T
    return Coordinates(mean, scales, widths, np.zeros(len(mean)), directions)


def _rounding(values: FloatArray, scales: FloatArray) -> float:
    """The width, in scaled columns, of directions in which values differ by rounding alone."""
    with np.errstate(over="ignore"):
        are_single = (values == values.astype(np.float32)).all(axis=0)
    digits = np.where(are_single, np.finfo(np.float32).eps, np.finfo(np.float64).eps)
    return SUMS * float(np.linalg.norm(digits * np.abs(values).max(axis=0) / scales))


def usual_items(values: FloatArray, *, has_mean: bool = True) -> tuple[Kept, Coordinates]:
    """Which items (n_items, n_columns) are not far from most others, and their principal axes."""
    kept = np.ones(len(values), bool)
    axes = principal_axes(values, has_mean=has_mean)
    for _ in range(ROUNDS):
        invariant = _invariant(values, kept, axes, has_mean)
        is_far = _robust_distances(invariant, kept, has_mean) > FAR
        is_far[:, is_far.mean(axis=0) > MOST_BAD] = False
        found: Kept = np.logical_not(is_far.any(axis=1))
        if 2 * found.sum() < len(found) or np.array_equal(found, kept):
            break
        kept, axes = found, principal_axes(values[found], has_mean=has_mean)
    return kept, axes


def _invariant(values: FloatArray, kept: Kept, axes: Coordinates, has_mean: bool) -> FloatArray:
    """Items along invariant coordinates, (n_items, n_axes); too few items have columns instead."""
    # Distances from the mean would have no digits for most items if it is between huge ones.
    middle = np.median(values[kept], axis=0) if has_mean else axes.origin
    if len(values) < FEWEST_PER_COLUMN * values.shape[1]:
        return (values - middle) / axes.scales
    own = axes.along(values[kept], axes.widths > 0.0)
    along = replace(axes, origin=middle).along(values, axes.widths > 0.0)
    squares = np.einsum("nd,nd->n", own, own)
    extreme = turned = np.linalg.eigh((own * squares[:, None]).T @ own)[1]
    # Bad items can be as far from the mean as all others, but not along the axis where they differ.
    for _ in range(KURTOSIS_STEPS):
        cubes = own @ extreme
        cubes *= cubes * cubes
        extreme = own.T @ cubes / len(own) - 3.0 * extreme
        extreme /= np.maximum(np.linalg.norm(extreme, axis=0), np.finfo(float).tiny)
    coordinates: FloatArray = along @ np.hstack([turned, extreme])
    return coordinates


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
