"""The basis of patches without mean: against scipy's transform, by hand, and bit by bit."""

import hashlib

import numpy as np
import pytest
from scipy.fft import dctn

from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.projection import MOST_SIDE, patch_basis, patch_projection

SIDES = (2, 3, 5, 8, 13)


def patches_without_mean(side, n_patches=200, seed=0):
    patches = np.random.default_rng(seed).random((n_patches, side**2), np.float32)
    return patches - patches.mean(axis=1, keepdims=True)


@pytest.mark.parametrize("side", SIDES)
def test_rows_are_orthonormal_and_without_mean(side):
    basis = patch_basis(side)

    assert basis.shape == (side**2 - 1, side**2)
    np.testing.assert_allclose(basis @ basis.T, np.eye(side**2 - 1), atol=1e-11)
    np.testing.assert_allclose(basis.sum(axis=1), 0.0, atol=1e-11)


@pytest.mark.parametrize("side", SIDES)
def test_coordinates_are_those_of_the_cosine_transform_by_frequency(side):
    patches = patches_without_mean(side)

    found = patch_projection(side)(patches)

    transformed = dctn(patches.reshape(-1, side, side).astype(float), axes=(1, 2), norm="ortho")
    down, right = np.mgrid[0:side, 0:side]
    order = np.lexsort((down.ravel(), (down**2 + right**2).ravel()))
    expected = transformed.reshape(len(patches), -1)[:, order[1:]]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=2e-6)


def test_a_patch_of_four_pixels_by_hand():
    patch = np.array([[3.0, -1.0, 2.0, -4.0]], np.float32)  # 3 −1 above 2 −4

    found = patch_projection(2)(patch)

    # Left less right, top less bottom, one diagonal less the other, all over 2.
    np.testing.assert_allclose(found, [[5.0, 2.0, -1.0]], rtol=1e-6)


@pytest.mark.parametrize("side", SIDES)
def test_nothing_is_lost(side):
    patches, projection = patches_without_mean(side), patch_projection(side)

    coordinates = projection(patches)

    np.testing.assert_allclose(coordinates @ projection.components, patches, atol=1e-6)
    np.testing.assert_allclose(
        np.linalg.norm(coordinates, axis=1), np.linalg.norm(patches, axis=1), rtol=1e-5
    )


def test_it_is_the_same_basis_on_every_machine():
    """Else corpora made on two machines would be refused as being of different columns."""
    digest = hashlib.sha256(patch_basis(8).astype("<f8").tobytes()).hexdigest()

    assert digest.startswith("f5136054")


def test_patches_that_need_a_huge_basis_are_refused():
    with pytest.raises(OptionError, match="patches: must be at most 64 pixels, but is 65"):
        patch_basis(MOST_SIDE + 1)
