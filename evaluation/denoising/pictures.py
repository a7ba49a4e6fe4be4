"""Images as PNG bytes: one of them, or noisy and denoised ones side by side."""

from __future__ import annotations

import io
import math

import numpy as np
from numpy.typing import ArrayLike

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.errors import ShapeError
from sparsetopics.evaluation.denoising.denoising import check_grey, psnr

NARROWEST = 280  # dots of a panel, so that its title fits
GAP, TITLE = 8, 28  # dots between panels, and above them
DOTS_PER_INCH = 100


def grey_png(image: ArrayLike) -> bytes:
    """A grey image, 0 black and 1 white, clipped and rounded to 8 bits, as a PNG file."""
    from PIL import Image  # matplotlib, which we depend on, depends on it

    values = check_grey(image, "image")
    buffer = io.BytesIO()
    Image.fromarray(np.rint(255.0 * np.clip(values, 0.0, 1.0)).astype(np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def signed_png(
    values: ArrayLike,  # (height, width)
) -> bytes:
    """Numbers from −1, blue, over 0, white, to 1, red, as a PNG file of a dot for each."""
    from matplotlib import colormaps  # slow to import
    from PIL import Image

    shares = (1.0 + np.clip(np.asarray(values, float), -1.0, 1.0)) / 2
    colours = np.rint(255.0 * colormaps["RdBu_r"](shares)[..., :3]).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(colours).save(buffer, "PNG")
    return buffer.getvalue()


def before_after_png(
    noisy: ArrayLike,  # (height, width)
    denoised: ArrayLike,  # (height, width)
    clean: ArrayLike | None = None,  # (height, width)  the truth, where it is known
) -> bytes:
    """Panels side by side with their PSNR, as a PNG file of the same bytes every time.

    A pixel is a square of one dot or, in small images, of several. Raises ShapeError for images of
    different shapes.
    """
    truth = None if clean is None else check_grey(clean, "clean image")
    panels = {"noisy": check_grey(noisy, "noisy image"), "denoised": check_grey(denoised, "image")}
    titles = [
        name if truth is None else f"{name}, {psnr(truth, panel):.2f} dB"
        for name, panel in panels.items()
    ]
    if panels["noisy"].shape != panels["denoised"].shape:
        raise ShapeError(
            "denoised image",
            found=f"{panels['denoised'].shape}",
            wanted=f"{panels['noisy'].shape}, as the noisy one",
        )
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
