"""PNG files: one image, a matrix in colours, or noisy and denoised images side by side."""

from __future__ import annotations

import io
import math

import numpy as np
from numpy.typing import ArrayLike

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.errors import ShapeError
from sparsetopics.evaluation.denoising.denoising import check_grey, psnr

NARROWEST = 280  # dots; the title fits a panel of this width
GAP, TITLE = 8, 28  # dots between panels and above them
DOTS_PER_INCH = 100


def grey_png(image: ArrayLike) -> bytes:
    """Return a grey image, 0 black and 1 white, as a PNG file; values are clipped to [0, 1]."""
    return _png(np.clip(check_grey(image, "image"), 0.0, 1.0))


def signed_png(
    values: ArrayLike,  # (height, width)
) -> bytes:
    """Return a PNG file of a dot for each number: −1 is blue, 0 is white and 1 is red."""
    from matplotlib import colormaps  # slow to import

    shares = (1.0 + np.clip(np.asarray(values, float), -1.0, 1.0)) / 2
    return _png(colormaps["RdBu_r"](shares)[..., :3])


def _png(
    fractions: FloatArray,  # (height, width) grey, or (height, width, 3) red, green, blue
) -> bytes:
    """Round fractions to 8 bits and return them as a PNG file."""
    from PIL import Image  # installed with matplotlib, which we depend on

    buffer = io.BytesIO()
    Image.fromarray(np.rint(255.0 * fractions).astype(np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def before_after_png(
    noisy: ArrayLike,  # (height, width)
    denoised: ArrayLike,  # (height, width)
    clean: ArrayLike | None = None,  # (height, width)  None if it is not known
) -> bytes:
    """Return the images side by side, with their PSNR, as a PNG file.

    Each pixel is one dot, or a square of several dots in small images. Equal images give equal
    bytes. Raises ShapeError for images of different shapes.
    """
    truth = None if clean is None else check_grey(clean, "clean image")
    panels = {"noisy": check_grey(noisy, "noisy image"), "denoised": check_grey(denoised, "image")}
    titles = [
        name if truth is None else f"{name}, {psnr(truth, panel):.2f} dB"
        for name, panel in panels.items()
    ]
    if panels["noisy"].shape != panels["denoised"].shape:
        noisy_shape, shape = panels["noisy"].shape, panels["denoised"].shape
        problem = f"must have the noisy image's shape {noisy_shape}, but has {shape}"
        raise ShapeError("denoised image", problem)
    images = list(panels.values())
    if truth is not None:
        images, titles = [*images, truth], [*titles, "clean"]
    return _side_by_side(images, titles)


def _side_by_side(images: list[FloatArray], titles: list[str]) -> bytes:
    from matplotlib.figure import Figure  # slow to import

    height, width = images[0].shape
    scale = max(1, math.ceil(NARROWEST / width))
    across, down = scale * width, scale * height
    total = np.array([len(images) * (across + GAP) - GAP, down + TITLE])
    figure = Figure(figsize=tuple(total / DOTS_PER_INCH), dpi=DOTS_PER_INCH, facecolor="white")
    for number, (image, title) in enumerate(zip(images, titles, strict=True)):
        left = number * (across + GAP) / total[0]
        axes = figure.add_axes((left, 0.0, across / total[0], down / total[1]))
        axes.imshow(image, cmap="gray", vmin=0.0, vmax=1.0, interpolation="nearest", aspect="auto")
        axes.set_title(title, fontsize=9, pad=6)
        axes.set_axis_off()
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})  # no version in the file
    return buffer.getvalue()
