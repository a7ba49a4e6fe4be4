"""Pictures of denoising, decoded again."""

import io

import matplotlib as mpl
import numpy as np
import pytest
from PIL import Image

from sparsetopics.base.errors import ShapeError
from sparsetopics.evaluation.denoising.pictures import GAP, TITLE, before_after_png, grey_png


def decoded(data):
    with Image.open(io.BytesIO(data)) as image:
        assert image.format == "PNG"
        return np.asarray(image.convert("L"))


def test_a_grey_image_comes_back_in_8_bits():
    image = np.array([[0.0, 0.5, 1.0], [-0.2, 1.7, 100.4 / 255]])

    np.testing.assert_array_equal(decoded(grey_png(image)), [[0, 128, 255], [0, 255, 100]])


def test_panels_stand_side_by_side_pixel_by_pixel():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (3, 120, 300))

    picture = decoded(before_after_png(*(images / 255.0)))

    assert picture.shape == (120 + TITLE, 3 * 300 + 2 * GAP)
    for number, image in enumerate(images):
        left = number * (300 + GAP)
        shown = picture[TITLE:, left : left + 300].astype(int)
        assert np.abs(shown - image).max() <= 1  # the colour map rounds down


def test_small_images_are_enlarged_and_the_truth_may_be_unknown():
    picture = decoded(before_after_png(np.full((20, 35), 0.2), np.full((20, 35), 0.8)))

    assert picture.shape == (8 * 20 + TITLE, 2 * 280 + GAP)
    assert (picture[TITLE:, :280] == 51).all()
    assert (picture[TITLE:, 280 : 280 + GAP] == 255).all()
    assert (picture[:TITLE] < 128).any()  # a title


def test_titles_tell_the_psnr():
    clean, noisy, good = np.full((10, 300), 0.5), np.full((10, 300), 0.7), np.full((10, 300), 0.6)

    picture, other = before_after_png(noisy, good, clean), before_after_png(noisy, noisy, clean)

    assert (decoded(picture)[:TITLE, 308:608] != decoded(other)[:TITLE, 308:608]).any()
    assert picture == before_after_png(noisy, good, clean)


def test_images_of_different_shapes():
    with pytest.raises(ShapeError, match=r"clean image's shape \(4, 4\), but has \(5, 4\)"):
        before_after_png(np.zeros((5, 4)), np.zeros((5, 4)), np.zeros((4, 4)))


def test_settings_of_the_user_or_the_current_folder_change_nothing():
    images = np.full((20, 35), 0.2), np.full((20, 35), 0.8)
    picture = before_after_png(*images)

    with mpl.rc_context({"text.usetex": True, "savefig.dpi": 5, "font.size": 30}):
        assert before_after_png(*images) == picture
