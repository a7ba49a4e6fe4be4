"""Images: grey as Pillow makes it, patches as a plain loop cuts them, errors for all else."""

import sys
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy.fft import dctn

from sparsetopics.base.errors import OptionError, SourceError
from sparsetopics.corpora.readers import blocks
from sparsetopics.corpora.readers.images import read_grey
from worlds.vectors_on_disk import ingested, item_ids_of, labels_of, make_grey, values_of

GREY = make_grey(20, 30)
COLOUR = np.stack([make_grey(20, 30, seed) for seed in range(3)], axis=2)


def saved(path, pixels, mode=None, **options):
    image = Image.fromarray(pixels) if isinstance(pixels, np.ndarray) else pixels
    (image if mode is None else image.convert(mode)).save(path, **options)
    return path


def plain_patches(grey, side, stride):
    """Coordinates and names, by loops."""
    frequencies = sorted(product(range(side), repeat=2), key=lambda f: (f[0] ** 2 + f[1] ** 2, f))
    order = [side * down + right for down, right in frequencies[1:]]
    values, names = [], []
    for row in range(0, grey.shape[0] - side + 1, stride):
        for column in range(0, grey.shape[1] - side + 1, stride):
            patch = grey[row : row + side, column : column + side].astype(np.float64) / 255
            values.append(dctn(patch, norm="ortho").ravel()[order])
            names.append(f"{row}:{column}")
    return np.array(values), names


@pytest.mark.parametrize(("side", "stride"), [(8, 3), (8, None), (5, 1), (20, 4), (2, 40)])
def test_patches_are_those_of_a_plain_loop(tmp_path, monkeypatch, side, stride):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 4_000)
    path = saved(tmp_path / "a.png", GREY)

    corpus = ingested([path], tmp_path / "corpus", patches=side, stride=stride)

    values, names = plain_patches(GREY, side, stride or side)
    np.testing.assert_allclose(values_of(corpus), values, atol=1e-6)
    assert item_ids_of(corpus) == [f"a.png:{name}" for name in names]
    assert labels_of(corpus) == [None] * len(names)
    assert corpus.made == {
        "format": "image",
        "patches": side,
        "stride": stride or side,
        "patch_mean_removed": True,
        "basis": "dct",
    }


def test_patches_lift_back_to_pixels_without_mean(tmp_path):
    corpus = ingested([saved(tmp_path / "a.png", GREY)], tmp_path / "corpus", patches=20)

    lifted = values_of(corpus) @ corpus.projection.components

    pixels = GREY[:, :20].ravel() / 255
    np.testing.assert_allclose(lifted, [pixels - pixels.mean()], atol=1e-6)


@settings(max_examples=20, deadline=None)
@given(height=st.integers(2, 17), width=st.integers(2, 17), stride=st.integers(1, 5))
def test_patches_cover_images_of_any_shape(tmp_path_factory, height, width, stride):
    folder = tmp_path_factory.mktemp("image")
    grey = make_grey(height, width)

    corpus = ingested([saved(folder / "a.bmp", grey)], folder / "corpus", patches=2, stride=stride)

    np.testing.assert_allclose(values_of(corpus), plain_patches(grey, 2, stride)[0], atol=1e-6)


def test_whole_images_are_items_labelled_by_their_folder(tmp_path):
    for name in ("cats/a.png", "cats/b.png", "dogs/a.png"):
        (tmp_path / "pets" / name).parent.mkdir(parents=True, exist_ok=True)
        saved(tmp_path / "pets" / name, GREY)

    corpus = ingested([tmp_path / "pets"], tmp_path / "corpus")

    np.testing.assert_array_equal(
        values_of(corpus), np.tile(GREY.ravel() / np.float32(255), (3, 1))
    )
    assert item_ids_of(corpus) == ["cats/a.png", "cats/b.png", "dogs/a.png"]
    assert labels_of(corpus) == ["cats", "cats", "dogs"]
    assert corpus.made["patch_mean_removed"] is False


@pytest.mark.parametrize("suffix", [".png", ".bmp", ".tif", ".jpg", ".jpeg", ".tiff"])
def test_colour_becomes_luminance(tmp_path, suffix):
    path = saved(tmp_path / f"a{suffix}", COLOUR)

    grey = read_grey(path)

    assert grey.dtype == np.float32
    with Image.open(path) as image:
        decoded = np.asarray(image.convert("RGB"), dtype=np.float64)
    luminance = decoded @ [0.299, 0.587, 0.114] / 255
    np.testing.assert_allclose(grey, luminance, atol=0.51 / 255)


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "1", "CMYK"])
def test_other_modes_are_read_if_opaque(tmp_path, mode):
    path = saved(tmp_path / "a.tif", COLOUR, mode)
    with Image.open(path) as image:
        expected = np.asarray(image.convert("RGB").convert("L"))

    np.testing.assert_array_equal(np.rint(read_grey(path) * 255), expected)


def test_sixteen_bit_grey_keeps_its_depth(tmp_path):
    deep = np.arange(600, dtype=np.uint16).reshape(20, 30) * 100

    for name in ("a.png", "a.tif"):
        path = saved(tmp_path / name, deep)
        np.testing.assert_allclose(read_grey(path), deep / 65_535, rtol=1e-6)


def test_transparent_pixels_are_refused(tmp_path):
    image = Image.fromarray(COLOUR).convert("RGBA")
    image.putpixel((3, 3), (0, 0, 0, 100))
    palette = Image.fromarray(GREY).convert("P")

    for path in (
        saved(tmp_path / "a.png", image),
        saved(tmp_path / "b.png", palette, transparency=int(GREY[0, 0])),
    ):
        with pytest.raises(SourceError, match="expected an opaque image, but found transparent"):
            read_grey(path)


@pytest.mark.parametrize("mode", ["F", "I"])
def test_a_depth_that_has_no_range_is_refused(tmp_path, mode):
    with pytest.raises(
        SourceError, match=f"expected grey or colour .*, but found pixels of mode {mode}"
    ):
        read_grey(saved(tmp_path / "a.tif", GREY, mode))


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".bmp", ".tif"])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 0.9])
def test_a_truncated_image_is_refused(tmp_path, suffix, share):
    path = saved(tmp_path / f"a{suffix}", COLOUR)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])

    with pytest.raises(SourceError, match=r"a\.\w+: the image cannot be decoded"):
        ingested([path], tmp_path / "corpus", patches=8)

    assert sorted(tmp_path.iterdir()) == [path]


def test_a_huge_image_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)

    with pytest.raises(SourceError, match="the image cannot be decoded"):
        read_grey(saved(tmp_path / "a.png", GREY))


def test_an_image_smaller_than_a_patch_is_refused(tmp_path):
    saved(tmp_path / "a.png", GREY)
    small = saved(tmp_path / "b.png", GREY[:7])

    with pytest.raises(SourceError, match=r"expected at least 8 x 8 pixels, .* but found 30 x 7"):
        ingested([tmp_path / "a.png", small], tmp_path / "corpus", patches=8)


def test_whole_images_of_different_size_are_refused(tmp_path):
    paths = [saved(tmp_path / "a.png", GREY), saved(tmp_path / "b.png", GREY[:7])]

    with pytest.raises(
        SourceError, match=r"b\.png: expected 600 columns, as in .*a\.png, but found 210"
    ):
        ingested(paths, tmp_path / "corpus")


def test_without_pillow_the_way_to_it_is_named(tmp_path, monkeypatch):
    path = saved(tmp_path / "a.png", GREY)
    monkeypatch.setitem(sys.modules, "PIL", None)

    with pytest.raises(
        OptionError, match=r"Pillow is not .*: pip install 'sparsetopics\[images\]'"
    ):
        ingested([path], tmp_path / "corpus", patches=8)
