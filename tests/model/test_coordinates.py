"""Standard coordinates: maps and their inverses, and items that have no say in them."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsetopics.model.coordinates import (
    LARGEST,
    NARROW,
    Coordinates,
    far_from_most,
    principal_axes,
    steps_of,
    usual_items,
)
from sparsetopics.model.likelihoods.diagonal_gaussian import DiagonalGaussian, IsotropicGaussian
from sparsetopics.model.likelihoods.gaussian import Gaussian, ZeroMeanGaussian
from worlds.standard_worlds import bad_rows, random_map, two_clusters

SEEDS = st.integers(0, 2**32 - 1)
KINDS = (Gaussian, ZeroMeanGaussian, DiagonalGaussian, IsotropicGaussian)


def draw_values(rng, n_items, n_columns, rank):
    """Items that differ in ``rank`` directions, in columns of units from 1e-5 to 1e5."""
    values = rng.normal(size=(n_items, rank)) @ rng.normal(size=(rank, n_columns))
    return (values + rng.normal(size=n_columns)) * 10.0 ** rng.uniform(-5.0, 5.0, n_columns)


def axes_of(coordinates):
    """A with x = origin + A z, from three plain factors, with ``NARROW`` for axes without width."""
    turned = np.eye(coordinates.n_columns)
    if coordinates.directions is not None:
        turned = coordinates.directions
    widths = np.where(coordinates.widths > 0.0, coordinates.widths, NARROW)
    return np.diag(coordinates.scales) @ turned @ np.diag(widths)


# --- maps -----------------------------------------------------------------------------------------


@given(seed=SEEDS, n_columns=st.integers(1, 8), data=st.data())
def test_items_come_back_from_standard_coordinates(seed, n_columns, data):
    """To the digits of float32, whatever the units and the rank."""
    rank = data.draw(st.integers(1, n_columns))
    values = draw_values(np.random.default_rng(seed), 40, n_columns, rank)
    coordinates = principal_axes(values)

    standard = coordinates(values)
    back = coordinates.points_of(standard.astype(float))

    assert coordinates.n_axes == rank
    assert (standard.dtype, standard.shape) == (np.float32, (40, rank))
    assert np.abs((back - values) / coordinates.scales).max() < 1e-5
    np.testing.assert_allclose(standard.mean(axis=0), 0.0, atol=1e-5)
    np.testing.assert_allclose(standard.T @ standard / 40, np.eye(rank), atol=1e-5)


def test_fewer_items_than_columns_have_widths_alone():
    found = principal_axes(np.random.default_rng(0).normal(size=(7, 30)))

    assert (found.n_axes, found.n_columns) == (6, 30)
    assert found.directions is None


@given(seed=SEEDS, n_columns=st.integers(1, 6), data=st.data())
def test_means_and_covariances_are_those_of_the_plain_map(seed, n_columns, data):
    rank = data.draw(st.integers(1, n_columns))
    rng = np.random.default_rng(seed)
    coordinates = principal_axes(draw_values(rng, 40, n_columns, rank))
    points, roots = rng.normal(size=(3, rank)), rng.normal(size=(3, rank, rank))

    means = coordinates.points_of(points)
    covariances = coordinates.covariances_of(roots @ roots.transpose(0, 2, 1))

    axes, filled = axes_of(coordinates), np.tile(np.eye(n_columns), (3, 1, 1))
    filled[:, :rank, :rank] = roots @ roots.transpose(0, 2, 1)
    for k in range(3):
        expected = coordinates.origin + axes[:, :rank] @ points[k]
        units = coordinates.scales
        np.testing.assert_allclose(means[k] / units, expected / units, rtol=1e-9, atol=1e-9)
        found, expected = (each / np.outer(units, units) for each in (
            covariances[k], axes @ filled[k] @ axes.T
        ))  # fmt: skip
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@given(seed=SEEDS, n_columns=st.integers(1, 6), n_constant=st.integers(0, 3))
def test_variances_of_columns_are_those_of_plain_scales(seed, n_columns, n_constant):
    rng = np.random.default_rng(seed)
    values = np.hstack([draw_values(rng, 40, n_columns, n_columns), np.full((40, n_constant), 7.0)])
    coordinates = DiagonalGaussian.coordinates_for(values)

    found = coordinates.variances_of(np.full((2, n_columns), 0.3))

    expected = 0.3 * values.var(axis=0)[:n_columns]
    np.testing.assert_allclose(found[:, :n_columns], np.tile(expected, (2, 1)), rtol=1e-9)
    np.testing.assert_allclose(found[:, n_columns:], NARROW**2)


@given(seed=SEEDS, n_columns=st.integers(1, 6))
def test_the_volume_is_the_determinant_of_the_map(seed, n_columns):
    """As points along the axes show it."""
    values = draw_values(np.random.default_rng(seed), 40, n_columns, n_columns)
    coordinates = principal_axes(values)

    along = coordinates.points_of(np.eye(n_columns)) - coordinates.origin

    sign, logs = np.linalg.slogdet(along / coordinates.scales)
    assert sign != 0.0
    expected = logs + np.log(coordinates.scales).sum()
    assert coordinates.log_volume == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_items_far_away_are_moved_along_their_direction():
    coordinates = Coordinates.shifted(np.array([1.0, 2.0]))

    near, far = coordinates(np.array([[4.0, 6.0], [1.0 + 3e9, 2.0 + 4e9]]))

    np.testing.assert_array_equal(near, [3.0, 4.0])
    np.testing.assert_allclose(far, [0.6 * LARGEST, 0.8 * LARGEST], rtol=1e-6)
    (further,) = coordinates(np.array([[1.0 + 3e9, 2.0 + 4e9]]), largest=1e15)
    np.testing.assert_allclose(further, [3e9, 4e9], rtol=1e-6)


@pytest.mark.parametrize("rotated", [False, True])
def test_a_row_has_the_same_bits_wherever_it_stands(rotated):
    values = draw_values(np.random.default_rng(0), 300, 19, 19)
    kind = Gaussian if rotated else DiagonalGaussian
    coordinates = kind.coordinates_for(values)

    whole = coordinates(values)

    assert whole.flags.c_contiguous
    for size in (1, 7, 64):
        parts = [coordinates(values[low : low + size]) for low in range(0, 300, size)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)


# --- which items decide ---------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    seed=SEEDS,
    n_columns=st.integers(1, 12),
    log_condition=st.floats(0.0, 6.0),
    log_offset=st.sampled_from([-np.inf, 0.0, 5.0, 9.0]),
    n_bad=st.integers(0, 15),
)
def test_the_same_items_decide_after_any_affine_map(
    seed, n_columns, log_condition, log_offset, n_bad
):
    rng = np.random.default_rng(seed)
    values = two_clusters(rng, 300, n_columns)
    values[:n_bad] = bad_rows(rng, n_bad, n_columns)
    turn = random_map(rng, n_columns, 10.0**log_condition)

    kept, _ = usual_items(values)
    mapped, axes = usual_items(values @ turn + 10.0**log_offset)

    np.testing.assert_array_equal(mapped, kept)
    assert axes.n_axes == n_columns
    assert kept[n_bad:].all()
    assert not kept[:n_bad].any()


@settings(max_examples=30)
@given(seed=SEEDS, n_columns=st.integers(1, 6))
def test_standard_items_are_the_same_up_to_a_rotation(seed, n_columns):
    """So their distances are the same after any affine map."""
    rng = np.random.default_rng(seed)
    values = two_clusters(rng, 200, n_columns)
    values[0] = 1e6
    turned = values @ random_map(rng, n_columns, 1e4) - 1e3

    first, second = (Gaussian.coordinates_for(each)(each)[1:].astype(float) for each in (
        values, turned
    ))  # fmt: skip

    gaps = [np.linalg.norm(each[:, None] - each[None], axis=2) for each in (first, second)]
    np.testing.assert_allclose(*gaps, atol=1e-3)


MARKS = itertools.cycle((9999.0, -999.0, 1e20))  # in turn
COLUMNS = (1, 2, 3, 4, 5, 6, 8, 11, 14, 18, 24, 30)
SPOILT = [(*each, next(MARKS)) for each in itertools.product(COLUMNS, (False, True))]


@pytest.mark.parametrize(("n_columns", "are_many", "value"), SPOILT)
def test_bad_rows_have_no_say(n_columns, are_many, value):
    """One row, or many that are alike; in all columns, or in one."""
    rng = np.random.default_rng(n_columns)
    values = two_clusters(rng, 600, n_columns)
    n_bad = 30 if are_many else 1
    clean, _ = usual_items(values)
    whole, one = values.copy(), values.copy()
    whole[:n_bad] = value
    one[:n_bad, -1] = value

    for spoilt in (whole, one):
        kept, axes = usual_items(spoilt)
        assert not kept[:n_bad].any()
        assert kept[n_bad:].all()
        assert axes.n_axes == n_columns
        rest = values[n_bad:]
        np.testing.assert_allclose(axes.origin, rest.mean(axis=0), rtol=1e-9)
        np.testing.assert_allclose(axes.scales, rest.std(axis=0), rtol=1e-9)
    assert clean.all()


@pytest.mark.parametrize("kind", KINDS)
def test_no_bad_row_decides_for_any_likelihood(kind):
    """Diagonal and spherical coordinates are those of the good rows alone, too."""
    rng = np.random.default_rng(0)
    values = two_clusters(rng, 600, 4)
    spoilt = np.vstack([values, np.full((3, 4), 9999.0)])

    found, expected = (kind.coordinates_for(each) for each in (spoilt, values))

    np.testing.assert_allclose(found.origin, expected.origin, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.scales, expected.scales, rtol=1e-9)
    np.testing.assert_allclose(found.widths, expected.widths, rtol=1e-9)


@pytest.mark.parametrize("n_items", [2, 3, 7, 15, 25])
@pytest.mark.parametrize("kind", KINDS)
def test_few_items_have_coordinates(kind, n_items):
    """Fewer than columns, and not many more."""
    values = np.random.default_rng(n_items).normal(size=(n_items, 10))

    coordinates = kind.coordinates_for(values)

    standard = coordinates(values)
    assert np.isfinite(standard).all()
    n_axes = {Gaussian: min(n_items - 1, 10), ZeroMeanGaussian: min(n_items, 10)}
    assert standard.shape == (n_items, n_axes.get(kind, 10))
    assert np.isfinite(coordinates.log_volume)


@pytest.mark.parametrize("kind", KINDS)
def test_items_that_are_all_alike_have_no_axis(kind):
    values = np.zeros((9, 3)) if kind is ZeroMeanGaussian else np.full((9, 3), 5.0)

    assert kind.coordinates_for(values).n_axes == 0


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_that_follow_from_others_are_no_axes(dtype, offset):
    """Nor is the direction along which they differ by rounding: in float32, by much."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(500, 3)) + offset
    some = np.c_[values, values[:, 0], 2.54 * values[:, 1], values @ [1.0, -2.0, 0.5], np.ones(500)]
    rounded = some.astype(dtype).astype(float)
    if dtype is np.float32 and offset > 1e6:  # no digits are left
        return

    assert principal_axes(rounded).n_axes == 3
    assert usual_items(rounded)[1].n_axes == 3
    assert Gaussian.coordinates_for(rounded).n_axes == 3


def test_narrow_directions_are_axes():
    """Thin parallel groups, a part in 10⁸ as wide as long."""
    rng = np.random.default_rng(0)
    along, across = rng.normal(size=500), 1e-8 * rng.normal(size=500)
    values = np.c_[along + across, along - across]

    axes = principal_axes(values)

    assert axes.n_axes == 2
    assert axes.widths[1] / axes.widths[0] == pytest.approx(1e-8, rel=0.2)


# --- steps, and values apart ----------------------------------------------------------------------


@given(seed=SEEDS, step=st.sampled_from([1e-6, 0.5, 1.0, 1e5]), offset=st.integers(-50, 50))
def test_steps_are_the_least_differences(seed, step, offset):
    places = np.random.default_rng(seed).integers(0, 5, size=(40, 2))
    values = step * (places + offset)

    found = steps_of(values)

    for column in range(2):
        different = np.unique(places[:, column])
        expected = step * np.diff(different).min() if len(different) > 1 else 0.0
        assert found[column] == pytest.approx(expected, rel=1e-6)


def test_a_huge_value_hides_no_step():
    assert steps_of(np.array([[0.0], [0.25], [1.5], [1e20]])).tolist() == [0.25]
    assert steps_of(np.array([[3.0], [3.0]])).tolist() == [0.0]


def test_values_go_anywhere_within_their_step_and_no_further():
    own = replace(Coordinates.shifted(np.zeros(2)), steps=np.array([2.0, 0.0]))
    values = np.c_[2.0 * (np.arange(4000) % 3), np.linspace(0.0, 1.0, 4000)].astype(np.float32)

    found = own.between_steps(values, np.random.default_rng(0))

    away = found[:, 0] - values[:, 0]
    assert np.abs(away).max() <= 1.0
    assert away.var() == pytest.approx(4.0 / 12.0, rel=0.1)
    np.testing.assert_array_equal(found[:, 1], values[:, 1].astype(float))


def test_values_far_from_all_others_are_those_apart():
    rng = np.random.default_rng(0)
    values = np.c_[rng.normal(size=400), rng.normal(size=400), np.arange(400) % 2]
    values[:5, 0], values[5:9, 1] = 9999.0, -999.0

    found = far_from_most(values)

    expected = np.zeros((400, 3), bool)
    expected[:5, 0] = expected[5:9, 1] = True
    np.testing.assert_array_equal(found, expected)
