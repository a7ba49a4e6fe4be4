"""Images as grey values in [0, 1]: one item per patch, or per image."""

from __future__ import annotations

import io
import struct
import warnings
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.lib.stride_tricks import sliding_window_view

from sparsetopics.base.batches import IntArray, Vectors
from sparsetopics.base.errors import SourceError, needing, source_errors
from sparsetopics.corpora.readers.blocks import PendingVectors, VectorBlock, rows_per_block
from sparsetopics.corpora.readers.options import VectorReadOptions
from sparsetopics.corpora.sources.byte_stream import Place, SourceFile, read_whole

if TYPE_CHECKING:
    from PIL.Image import Image

_TO_GREY = ("1", "L", "P", "RGB", "CMYK", "YCbCr")  # modes of 8 bit and less, without alpha
LARGEST_IMAGE = 50_000_000  # pixels: a few float32 copies of them are a gigabyte
# Formats that Pillow decodes by itself; for others it may start programs, whatever the file name.
_FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF")
_WITH_ALPHA = ("LA", "PA", "RGBA")
_SIXTEEN_BIT = ("I;16", "I;16L", "I;16B")


def read_images(file: SourceFile, options: VectorReadOptions) -> Iterator[PendingVectors]:
    """The label is the folder that an image lies in; the id of a patch is image:row:column."""
    grey = read_grey(file.path)
    if options.patches is None:
        names = pa.array([file.name], pa.string()), _labels(file.name, 1)
        yield partial(VectorBlock, str(file.path), *names, grey.reshape(1, -1), None, {})
    else:
        yield from _patch_blocks(file, grey, options.patches, options.stride)


def read_grey(path: Place) -> Vectors:
    """An image as luminance (ITU-R 601-2) in [0, 1], (height, width).

    Images are grey, colour or palette of 8 bit, or grey of 16 bit; an alpha channel must be opaque.
    Raises SourceError for others and for files that cannot be decoded.
    """
    with needing("images", "images", "Pillow is not installed"):
        from PIL import Image as image_module
    data = read_whole(path)
    kinds = (
        OSError,
        ValueError,
        SyntaxError,  # what Pillow raises for a broken PNG
        EOFError,
        struct.error,
        image_module.DecompressionBombError,
    )
    with (
        source_errors(str(path), kinds, "the image cannot be decoded"),
        warnings.catch_warnings(action="ignore"),  # about odd metadata and large images
        image_module.open(io.BytesIO(data), formats=_FORMATS) as image,
    ):
        width, height = image.size
        if width * height > LARGEST_IMAGE:  # before any pixel is unpacked
            problem = f"expected at most {LARGEST_IMAGE:,} pixels, but found {width} x {height}"
            raise SourceError(str(path), problem, "Cut it into several images.")
        image.load()
        return _grey(image, str(path))


def _grey(image: Image, where: str) -> Vectors:
    if image.mode in _SIXTEEN_BIT:
        return np.asarray(image).astype(np.float32) / np.float32(2**16 - 1)
    if image.mode in _WITH_ALPHA or "transparency" in image.info:
        image = image.convert("RGBA")
        if image.getchannel("A").getextrema() != (255, 255):
            raise SourceError(where, "expected an opaque image, but found transparent pixels")
        image = image.convert("RGB")
    if image.mode not in _TO_GREY:
        expected = "grey or colour of 8 bit, or grey of 16 bit"
        raise SourceError(where, f"expected {expected}, but found pixels of mode {image.mode}")
    if image.mode in ("P", "CMYK"):
        image = image.convert("RGB")
    return np.asarray(image.convert("L"), dtype=np.float32) / np.float32(255)


def _patch_blocks(
    file: SourceFile, grey: Vectors, side: int, stride: int | None
) -> Iterator[PendingVectors]:
    """The patches of an image; a block holds several rows of them."""
    height, width = grey.shape
    if min(height, width) < side:
        expected = f"at least {side} x {side} pixels, the size of a patch"
        raise SourceError(str(file.path), f"expected {expected}, but found {width} x {height}")
    stride = stride or side
    n_across = (width - side) // stride + 1
    n_rows = rows_per_block(n_across * side * side * grey.itemsize)
    tops = np.arange(0, height - side + 1, stride)
    for start in range(0, len(tops), n_rows):
        some = tops[start : start + n_rows]
        strip = grey[some[0] : some[-1] + side]  # the part of the image that a worker needs
        yield partial(_patches, str(file.path), file.name, strip, side, stride, some)


def _patches(
    source: str, name: str, strip: Vectors, side: int, stride: int, tops: IntArray
) -> VectorBlock:
    windows = sliding_window_view(strip, (side, side))[tops - tops[0], ::stride]
    n_across = windows.shape[1]
    values = windows.reshape(-1, side * side)
    values = values - values.mean(axis=1, keepdims=True)
    rows = pa.array(np.repeat(tops, n_across)).cast(pa.string())
    lefts = pa.array(np.tile(np.arange(n_across) * stride, len(tops))).cast(pa.string())
    names = pc.binary_join_element_wise(name, rows, lefts, ":")
    return VectorBlock(source, names, _labels(name, len(values)), values, None, {})


def _labels(name: str, n_items: int) -> pa.StringArray:
    return pa.array([name.rpartition("/")[0] or None] * n_items, pa.string())
