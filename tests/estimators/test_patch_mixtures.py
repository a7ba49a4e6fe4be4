"""Mixtures of patches: kinds that differ stay apart, also as pixels without their mean."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from sparsetopics.estimators.mixtures import DPGaussianMixture
from sparsetopics.model.likelihoods.gaussian import ZeroMeanGaussian
from worlds.gaussian_worlds import sparse, standard, sum_items
from worlds.vectors_on_disk import ingested, labels_of, values_of

Image = pytest.importorskip("PIL.Image", reason="Pillow reads images")
each_seed = pytest.mark.parametrize("seed", range(2))


def textured_patches(folder, seed, width=1.0, contrast=1.0):
    """As many of fine noise as of one that is ``width`` as wide and of ``contrast`` as much."""
    rng = np.random.default_rng(seed)
    for name, across, strength in (("plain", 1.0, 30.0), ("other", width, 30.0 * contrast)):
        field = gaussian_filter(rng.standard_normal((300, 300)), (1.0, across))
        pixels = np.clip(128.0 + strength * field / field.std(), 0, 255).astype(np.uint8)
        (folder / "photos" / name).mkdir(parents=True)
        Image.fromarray(pixels).save(folder / "photos" / name / "a.png")
    return ingested([folder / "photos"], folder / "corpus", patches=4)


def as_pixels(corpus):
    """Less their mean, as they were cut."""
    return values_of(corpus) @ corpus.projection.components.astype(np.float32)


def gain_of_merging(values, labels):
    """The two textures, in nats for each item."""
    own = np.array([[label == "plain", label == "other"] for label in labels], float)
    likelihood, standard_values = standard(ZeroMeanGaussian, values)
    moments = sum_items(likelihood, standard_values, sparse(own), 2)
    (gain,) = likelihood.merge_gains(moments, np.array([[0, 1]]))
    return gain / len(values)


@each_seed
def test_merging_two_textures_loses_what_tells_them_apart(tmp_path, seed):
    corpus = textured_patches(tmp_path, seed, width=1.15)
    labels = labels_of(corpus)

    as_coordinates = gain_of_merging(values_of(corpus), labels)

    assert as_coordinates < -0.1, f"{as_coordinates} nats, seed {seed}"
    # The constant patch, along which nothing but rounding varies, says nothing.
    found = gain_of_merging(as_pixels(corpus), labels)
    np.testing.assert_allclose(found, as_coordinates, atol=0.02)


@pytest.mark.filterwarnings("ignore:The 16 columns vary in 15 directions only")
@each_seed
def test_a_dp_mixture_keeps_textures_apart(tmp_path, seed):
    corpus = textured_patches(tmp_path, seed, contrast=0.65)

    found, of_pixels = (
        DPGaussianMixture(2, likelihood="zero-mean-gaussian", random_state=seed).fit(data)
        for data in (corpus, as_pixels(corpus))
    )

    assert (found.n_components_, of_pixels.n_components_) == (2, 2), seed
