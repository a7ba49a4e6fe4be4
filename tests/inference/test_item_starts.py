"""Where mixtures start: seeds far apart, and components that all hold something."""

import numpy as np
import pytest

from sparsetopics.base.batches import VectorBatch
from sparsetopics.inference.item_step import components_of, sample_items
from worlds.clumped_mixtures import LIKELIHOOD_NAMES, LIKELIHOODS, draw_clumps
from worlds.gaussian_worlds import standard

WITH_MEANS = ("gaussian", "diagonal-gaussian", "isotropic-gaussian")
each_likelihood = pytest.mark.parametrize("name", LIKELIHOOD_NAMES)


class Batches:
    """A source of numbered items, (1,) each, in batches of seven."""

    n_batches, n_docs, n_tokens, n_columns = 10, 70, 70.0, 1

    def __init__(self):
        self.read_ids = []

    def read(self, batch_id):
        self.read_ids.append(batch_id)
        return VectorBatch(np.arange(7 * batch_id, 7 * batch_id + 7, dtype=np.float32)[:, None])


@pytest.mark.parametrize(("n_items", "n_read"), [(1, 1), (7, 1), (8, 2), (70, 10), (1000, 10)])
def test_a_sample_reads_no_more_batches_than_it_needs(n_items, n_read):
    source = Batches()

    sample = sample_items(source, n_items, np.random.default_rng(0)).values

    assert sample.shape == (min(n_items, 70), 1)
    assert len(np.unique(sample)) == len(sample)
    assert len(source.read_ids) == len(set(source.read_ids)) == n_read


def test_samples_differ_from_seed_to_seed_and_repeat_with_it():
    draws = [sample_items(Batches(), 5, np.random.default_rng(seed)).values for seed in (0, 0, 1)]

    np.testing.assert_array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])


def standard_items(name, values):
    """The weak prior in the coordinates of the values, and these in them."""
    return standard(LIKELIHOODS[name], values)


@pytest.mark.parametrize("name", WITH_MEANS)
@pytest.mark.parametrize("seed", range(3))
def test_distant_seeds_fall_into_all_clumps(name, seed):
    """Twelve apart, though seeds are drawn; drawn evenly they seldom would."""
    clumps = draw_clumps(seed, n_clumps=4)
    likelihood, values = standard_items(name, clumps.values)

    rng = np.random.default_rng(seed)
    hits, even_hits = [], []
    for _ in range(20):
        seeds = likelihood.distant_seeds(values, 4, rng)
        assert len(np.unique(seeds)) == 4
        hits.append(len(np.unique(clumps.kinds[seeds])))
        even_hits.append(len(np.unique(clumps.kinds[rng.permutation(240)[:4]])))

    assert np.mean(hits) > np.mean(even_hits) + 0.4, f"seed {seed}"
    assert np.mean(hits) > 3.4, f"seed {seed}"


@pytest.mark.parametrize("seed", range(3))
def test_of_mean_zero_other_directions_are_distant(seed):
    """And the same direction, whichever way it points, is not."""
    rng = np.random.default_rng(seed)
    axes = rng.permutation(np.arange(120) % 4)
    values = 0.05 * rng.standard_normal((120, 4)).astype(np.float32)
    values[np.arange(120), axes] += 10.0 * rng.choice([-1, 1], 120)
    likelihood, values = standard_items("zero-mean-gaussian", values)

    hits = [len(np.unique(axes[likelihood.distant_seeds(values, 4, rng)])) for _ in range(20)]

    assert np.mean(hits) > 3.8, f"seed {seed}"


@each_likelihood
def test_an_item_is_drawn_as_far_as_it_falls_short_of_its_own_component(name):
    """Two seeds of three items, often: shares are those of the divergences."""
    values = draw_clumps(2, n_items=3, n_clumps=3).values
    likelihood, values = standard_items(name, values)
    own = likelihood.alone(values, np.arange(len(values)))
    densities = likelihood.prepare(own)(values)  # of item by component
    divergences = np.maximum(np.diag(densities)[:, None] - densities, 0.0)
    rng, drawn = np.random.default_rng(0), np.zeros((3, 3))

    for _ in range(500):
        first, second = likelihood.distant_seeds(values, 2, rng)
        drawn[second, first] += 1

    expected = divergences / divergences.sum(axis=0)
    found = drawn / drawn.sum(axis=0)
    np.testing.assert_allclose(found, expected, atol=0.12)


@each_likelihood
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("n_copies", [1, 3, 40])
def test_there_are_no_more_seeds_than_different_items(name, seed, n_copies):
    """Though log densities of equal items are rounded each its own way."""
    rng = np.random.default_rng(seed)
    different = draw_clumps(seed, n_items=6, n_clumps=6).values
    values = np.repeat(different, n_copies, axis=0)[rng.permutation(6 * n_copies)]
    likelihood, values = standard_items(name, values)

    seeds = likelihood.distant_seeds(values, 11, rng)

    assert len(seeds) <= 6
    assert len(np.unique(values[seeds], axis=0)) == len(seeds)
    if name in WITH_MEANS:
        assert len(seeds) == 6


@each_likelihood
def test_fewer_seeds_are_the_first_of_more(name):
    clumps = draw_clumps(3)
    likelihood, values = standard_items(name, clumps.values)

    few, many = (likelihood.distant_seeds(values, n, np.random.default_rng(1)) for n in (3, 8))

    np.testing.assert_array_equal(few, many[:3])


@each_likelihood
@pytest.mark.parametrize("n_rounds", [1, 2, 5])
def test_every_component_holds_something(name, n_rounds):
    values = draw_clumps(4).values
    likelihood, values = standard_items(name, values)
    seeds = np.random.default_rng(0).permutation(len(values))[:30]

    components = components_of(values, seeds, likelihood, n_rounds)

    assert components.n_topics == 30
    assert (components.counts >= 1.0).all()
    n_kept = components.counts.sum() - len(values)  # seeds of components that none came to
    assert 0 <= n_kept < 30
    assert n_kept == int(n_kept)


@each_likelihood
def test_in_one_round_items_go_to_the_seed_whose_component_likes_them_best(name):
    values = draw_clumps(5).values
    likelihood, values = standard_items(name, values)
    seeds = np.arange(0, 240, 40)

    found = components_of(values, seeds, likelihood, 1)

    alone = likelihood.alone(values, seeds)
    best = likelihood.prepare(alone)(values).argmax(axis=1)
    np.testing.assert_array_equal(found.counts, np.bincount(best, minlength=6))
    if name in WITH_MEANS:
        for k in range(6):
            sums = values[best == k].astype(float).sum(axis=0)
            np.testing.assert_allclose(found.sums[k], sums, rtol=1e-6, atol=1e-3)


@pytest.mark.parametrize("name", WITH_MEANS)
def test_more_rounds_bring_seeds_of_clumps_to_the_clumps(name):
    clumps = draw_clumps(6)
    likelihood, values = standard_items(name, clumps.values)
    seeds = np.array([np.flatnonzero(clumps.kinds == kind)[0] for kind in range(4)])

    components = components_of(values, seeds, likelihood, 3)

    np.testing.assert_array_equal(components.counts, np.bincount(clumps.kinds))


@each_likelihood
def test_a_seed_like_another_keeps_itself(name):
    values = draw_clumps(7, n_items=50).values
    likelihood, values = standard_items(name, values)
    doubled = np.concatenate([values, values[:1]])

    components = components_of(doubled, np.array([0, 50]), likelihood, 1)

    np.testing.assert_array_equal(components.counts, [51, 1])
    alone = likelihood.alone(values, np.array([0]))
    np.testing.assert_array_equal(components.squares[1], alone.squares[0])


@each_likelihood
def test_each_item_makes_a_component_of_its_own(name):
    values = draw_clumps(8, n_items=9).values
    likelihood, values = standard_items(name, values)

    moments = likelihood.alone(values, np.arange(len(values)))

    wide = values.astype(float)
    np.testing.assert_array_equal(moments.counts, np.ones(9))
    squares = wide[:, :, None] * wide[:, None]
    if name in ("diagonal-gaussian", "isotropic-gaussian"):
        squares = wide**2
    np.testing.assert_allclose(moments.squares, squares, rtol=1e-5, atol=1e-5)
    assert moments.sums.shape == (9, 3 if name in WITH_MEANS else 0)
