"""PNG files: one image, a matrix in colours, or noisy and denoised images side by side."""

from __future__ import annotations

import io
import math

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.evaluation.denoising.denoising import psnr

NARROWEST = 280  # dots; the title fits a panel of this width
GAP, TITLE = 8, 28  # dots between panels and above them
DOTS_PER_INCH = 100


def grey_png(image: FloatArray) -> bytes:
    """Return a grey image, 0 black and 1 white, as a PNG file; values are clipped to [0, 1]."""
    return _png(np.clip(image, 0.0, 1.0))


def signed_png(
    values: FloatArray,  # (height, width)
) -> bytes:
    """Return a PNG file of a dot for each number: −1 is blue, 0 is white and 1 is red."""
    from matplotlib import colormaps  # slow to import

    shares = (1.0 + np.clip(values, -1.0, 1.0)) / 2
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
    noisy: FloatArray,  # (height, width)
    denoised: FloatArray,  # (height, width)
    clean: FloatArray | None = None,  # (height, width)  None if it is not known
) -> bytes:
    """Return the images side by side, with their PSNR, as a PNG file.

    Each pixel is one dot, or a square of several dots in small images. Equal images give equal
    bytes. Raises ShapeError if the clean image has another shape.
    """
    from matplotlib import style  # slow to import
    from matplotlib.figure import Figure

    panels = {"noisy": noisy, "denoised": denoised}
    if clean is not None:
        panels = {f"{name}, {psnr(clean, own):.2f} dB": own for name, own in panels.items()}
        panels["clean"] = clean
    height, width = noisy.shape
    scale = max(1, math.ceil(NARROWEST / width))
    across, down = scale * width, scale * height
    total = np.array([len(panels) * (across + GAP) - GAP, down + TITLE])
    buffer = io.BytesIO()
    with style.context("default"):  # whatever a matplotlibrc in the current folder says
        figure = Figure(figsize=tuple(total / DOTS_PER_INCH), dpi=DOTS_PER_INCH, facecolor="white")
        for number, (title, image) in enumerate(panels.items()):
            left = number * (across + GAP) / total[0]
            axes = figure.add_axes((left, 0.0, across / total[0], down / total[1]))
            axes.imshow(image, "gray", vmin=0.0, vmax=1.0, interpolation="nearest", aspect="auto")
            axes.set_title(title, fontsize=9, pad=6)
            axes.set_axis_off()
        figure.savefig(buffer, format="png", metadata={"Software": None})  # no version in the file
    return buffer.getvalue()
