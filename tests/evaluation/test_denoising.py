"""Denoising: against a plain twin, exact answers of Gaussian priors, and hopeless input."""

import tracemalloc

import numpy as np
import pytest

import reference_denoising
from sparsetopics.base.errors import ShapeError
from sparsetopics.corpora.projection import patch_basis
from sparsetopics.evaluation.denoising import denoising
from sparsetopics.evaluation.denoising.denoising import BETAS, PatchPrior, add_noise, denoise, psnr
from sparsetopics.execution.executors import open_executor

SIGMA = 25 / 255


def smooth_covariance(side, length, variance=0.02):
    """Of pixels on a grid whose correlation falls with the distance, (side², side²)."""
    place = np.stack(np.divmod(np.arange(side**2), side), axis=1)
    squares = ((place[:, None] - place[None]) ** 2).sum(axis=2)
    return variance * np.exp(-0.5 * squares / length**2) + 1e-9 * np.eye(side**2)


def some_mixture(side, rng, n_topics=4):
    roots = rng.normal(0.0, 0.1, (n_topics, side**2, side**2))
    scales = 10.0 ** rng.uniform(-1.5, 0.5, (n_topics, 1, 1))
    return rng.dirichlet(np.ones(n_topics)), scales * roots @ roots.transpose(0, 2, 1)


def some_image(shape, rng):
    """Of read-only pixels around grey."""
    image = rng.normal(0.5, 0.2, shape)
    image.flags.writeable = False
    return image


@pytest.mark.parametrize("betas", [BETAS, (2.0,)])
@pytest.mark.parametrize("seed", range(2))
def test_denoising_equals_the_plain_twin(seed, betas, monkeypatch):
    monkeypatch.setattr(denoising, "BLOCK_PATCHES", 20)  # several strips
    rng = np.random.default_rng(seed)
    weights, covariances = some_mixture(3, rng)
    noisy = some_image((9, 11), rng)
    prior = PatchPrior.from_mixture(weights, covariances)

    found = denoise(noisy, SIGMA, prior, betas=betas)

    expected = reference_denoising.denoise(noisy, SIGMA, weights, covariances, betas)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_patches_of_one_image_take_several_components():
    """Else the comparison with the twin would say nothing of their choice."""
    rng = np.random.default_rng(0)
    restore = PatchPrior.from_mixture(*some_mixture(3, rng)).restoring(SIGMA**2)
    log_weights, scorer, _ = restore.args

    patches = rng.normal(0.0, 0.2, (60, 9)).astype(np.float32)
    scores = scorer(patches) + log_weights
    assert len(set(scores.argmax(axis=1).tolist())) > 1


def test_one_patch_under_one_gaussian_has_its_posterior_mean():
    rng = np.random.default_rng(0)
    (covariance,) = some_mixture(4, rng, n_topics=1)[1]
    noisy = some_image((4, 4), rng)
    prior = PatchPrior.from_mixture([1.0], covariance[None])
    basis = patch_basis(4)  # of patches whose mean is zero
    # Of the coordinates of the clean patch, noisy known.
    precision = np.linalg.inv(basis @ covariance @ basis.T) + np.eye(15) / SIGMA**2

    found = prior.restoring(SIGMA**2)(noisy.reshape(1, -1))

    wiener = noisy.mean() + basis.T @ np.linalg.solve(precision, basis @ noisy.ravel() / SIGMA**2)
    np.testing.assert_allclose(found[0], wiener, rtol=1e-9, atol=1e-12)
    image = denoise(noisy, SIGMA, prior, betas=[3.0])
    kept = reference_denoising.restored(noisy.ravel(), [1.0], [covariance], SIGMA**2 / 3.0)
    np.testing.assert_allclose(image.ravel(), np.clip((noisy.ravel() + 3.0 * kept) / 4.0, 0, 1))


def test_a_mean_that_was_removed_comes_back_as_it_was():
    rng = np.random.default_rng(0)
    restore = PatchPrior.from_mixture(*some_mixture(3, rng)).restoring(SIGMA**2)
    patches = rng.normal(0.0, 0.2, (30, 9))

    restored = restore(patches)

    np.testing.assert_allclose(restored.mean(axis=1), patches.mean(axis=1), atol=1e-12)
    np.testing.assert_allclose(restore(patches + 0.25), restored + 0.25, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_a_smooth_image_comes_close_to_the_best_estimate_there_is(seed):
    rng = np.random.default_rng(seed)
    covariance = smooth_covariance(24, 4.0)
    clean = 0.5 + (np.linalg.cholesky(covariance) @ rng.standard_normal(576)).reshape(24, 24)
    noisy = add_noise(clean, SIGMA, rng)
    patches = np.stack([smooth_covariance(6, length) for length in (0.5, 4.0)])
    prior = PatchPrior.from_mixture([0.5, 0.5], patches)

    found = psnr(clean, denoise(noisy, SIGMA, prior))

    observed = covariance + SIGMA**2 * np.eye(576)
    best = 0.5 + covariance @ np.linalg.solve(observed, noisy.ravel() - 0.5)
    limit = psnr(clean, best.reshape(24, 24))
    assert psnr(clean, noisy) + 8.0 < found, f"{found} dB, seed {seed}"
    assert limit - 2.5 < found < limit, f"{found} dB, {limit} dB at best, seed {seed}"


def test_a_constant_image_stays_as_it_is():
    prior = PatchPrior.from_mixture(*some_mixture(3, np.random.default_rng(0)))

    np.testing.assert_allclose(denoise(np.full((5, 6), 0.3), SIGMA, prior), 0.3, rtol=1e-12)


def test_neither_threads_nor_a_second_run_change_a_bit(monkeypatch):
    monkeypatch.setattr(denoising, "BLOCK_PATCHES", 40)
    rng = np.random.default_rng(0)
    prior = PatchPrior.from_mixture(*some_mixture(3, rng))
    noisy = some_image((20, 15), rng)

    alone = denoise(noisy, SIGMA, prior)

    with open_executor(3) as executor:
        np.testing.assert_array_equal(denoise(noisy, SIGMA, prior, executor=executor), alone)
    np.testing.assert_array_equal(denoise(noisy, SIGMA, prior), alone)


def test_patches_are_never_held_all_at_once():
    rng = np.random.default_rng(0)
    prior = PatchPrior.from_mixture(*some_mixture(8, rng, n_topics=2))
    noisy = some_image((321, 481), rng)
    denoise(noisy[:9, :9], SIGMA, prior, betas=[1.0])  # compiles

    tracemalloc.start()
    denoise(noisy, SIGMA, prior, betas=[1.0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 314 * 474 * 64 * 4, "all patches in float32"


def test_neither_scale_nor_components_without_weight_matter():
    rng = np.random.default_rng(0)
    weights, covariances = some_mixture(3, rng)
    noisy = some_image((8, 8), rng)
    plain = denoise(noisy, SIGMA, PatchPrior.from_mixture(weights, covariances))

    longer = np.concatenate([covariances, np.eye(9)[None]])
    scaled = PatchPrior.from_mixture([*(3.0 * weights), 0.0], longer)

    assert len(scaled.log_weights) == len(weights)
    np.testing.assert_array_equal(denoise(noisy, SIGMA, scaled), plain)


def test_pixels_are_clipped_at_the_end_only():
    prior = PatchPrior.from_mixture(*some_mixture(3, np.random.default_rng(0)))
    noisy = np.where(np.arange(64).reshape(8, 8) % 3, 1.3, -0.2)

    found = denoise(noisy, 1e-3, prior)

    assert (found.min(), found.max()) == (0.0, 1.0)


def test_psnr_is_in_decibels():
    clean = np.full((3, 5), 0.5)

    assert psnr(clean, clean + 0.1) == pytest.approx(20.0)
    assert psnr(clean, clean) == np.inf
    with pytest.raises(
        ShapeError, match=r"image: .* clean image's shape \(3, 5\), but has \(5, 3\)"
    ):
        psnr(clean, clean.T)


def test_noise_is_white_and_from_the_generator_alone():
    clean = np.full((200, 200), 0.9)

    noisy = add_noise(clean, SIGMA, np.random.default_rng(5))

    assert noisy.std() == pytest.approx(SIGMA, rel=0.02)
    assert noisy.max() > 1.0
    np.testing.assert_array_equal(noisy, add_noise(clean, SIGMA, np.random.default_rng(5)))
    assert clean.min() == clean.max() == 0.9


@pytest.fixture(scope="module")
def prior():
    return PatchPrior.from_mixture([1.0], smooth_covariance(4, 1.0)[None])


def test_images_smaller_than_a_patch_cannot_be_denoised(prior):
    with pytest.raises(ShapeError, match="at least 4 x 4 pixels, one patch, but is 9 x 3"):
        denoise(np.zeros((3, 9)), SIGMA, prior)
