"""Denoising of image files with the mixture in a run folder: what ``denoise`` does."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.errors import OptionError, RunError
from sparsetopics.base.outputs import Output, written
from sparsetopics.corpora.projection import PATCH_BASIS, patch_basis
from sparsetopics.corpora.readers.images import read_grey
from sparsetopics.evaluation.denoising.denoising import add_noise, denoise, psnr
from sparsetopics.evaluation.denoising.patch_prior import PatchPrior, as_pixels
from sparsetopics.evaluation.denoising.pictures import before_after_png, grey_png
from sparsetopics.execution.executors import open_executor
from sparsetopics.runs.run import MixtureRun

WHITE = 255.0  # brightest value on the scale in which σ is given


@dataclass(frozen=True, slots=True)
class RestorationPlan:
    """How to denoise each image."""

    sigma: float  # standard deviation of the noise, where white is 255
    clean: Path | None = None  # folder with clean images of the same names
    with_noise: bool = False  # the images are clean; add noise before removing it
    seed: int = 0  # of that noise
    workers: int = 1


class Restored(NamedTuple):
    """PSNR of an image in dB before and after; None if the clean image is not known."""

    image: str
    psnr_noisy: float | None
    psnr: float | None


def restore_images(
    run: MixtureRun,
    images: Sequence[Path],
    output: Output,  # of kind DENOISED
    plan: RestorationPlan,
    *,
    on_image: Callable[[int, int], None] = lambda n_done, n_images: None,
) -> list[Restored]:
    """Write each denoised image, with a picture of before and after, to a folder.

    Raises RunError for a run that is not a mixture of patches, OptionError for options that do not
    go together, and SourceError for images that cannot be read. In these cases nothing is written.
    """
    prior = patch_prior(run)
    _check(images, plan)
    found = []
    with written(output) as folder:
        for number, image in enumerate(images):
            found.append(_restore(prior, image, folder, plan, number))
            on_image(number + 1, len(images))
    return found


def patch_prior(run: MixtureRun) -> PatchPrior:
    """Return the mixture of a run as a prior; RunError if it was not trained on image patches."""
    side = side_of_patches(run)
    if side is None or run.model.likelihood_name != "zero-mean-gaussian":
        raise RunError(
            str(run.path),
            found=f"a mixture ({run.model.likelihood_name}) of {run.model.n_columns} columns",
            wanted="a zero-mean-gaussian mixture of image patches",
            hint="Ingest images with --patches and without --pca, and train on them with "
            "--likelihood zero-mean-gaussian.",
        )
    covariances = as_pixels(run.model.normals.covariances, patch_basis(side))
    return PatchPrior.from_mixture(run.model.weights, covariances)


def side_of_patches(run: MixtureRun) -> int | None:
    """Return the side of a patch in pixels; None if columns are not those of ``patch_basis``."""
    made = run.settings["corpus"].get("made")
    if not isinstance(made, dict) or made.get("basis") != PATCH_BASIS:
        return None
    side = math.isqrt(run.model.n_columns + 1)
    return side if side == made.get("patches") and side**2 == run.model.n_columns + 1 else None


def _check(images: Sequence[Path], plan: RestorationPlan) -> None:
    if not 0.0 < plan.sigma < np.inf:
        raise OptionError(
            "sigma", found=f"{plan.sigma:g}", wanted="a positive number, where white is 255"
        )
    if plan.with_noise and plan.clean is not None:
        raise OptionError(
            "clean", found="clean images with --add-noise", wanted="one of the two",
            hint="With --add-noise the images given are the clean ones.",
        )  # fmt: skip
    stems: dict[str, Path] = {}
    for image in images:
        other = stems.setdefault(image.stem, image)
        if other is not image:
            raise OptionError(
                "image", found=f"{other} and {image}", wanted="images of different names",
                hint="They would be written to the same file.",
            )  # fmt: skip


def _restore(
    prior: PatchPrior, image: Path, folder: Path, plan: RestorationPlan, number: int
) -> Restored:
    given, sigma = read_grey(image).astype(np.float64), plan.sigma / WHITE
    clean: FloatArray | None = None
    noisy = given
    if plan.with_noise:
        clean = given
        # The noise of an image depends on its place alone, not on the images before it.
        noisy = add_noise(clean, sigma, np.random.default_rng([plan.seed, number]))
    elif plan.clean is not None:
        clean = read_grey(plan.clean / image.name).astype(np.float64)
    with open_executor(plan.workers) as executor:
        restored = denoise(noisy, sigma, prior, executor=executor)
    (folder / f"{image.stem}.png").write_bytes(grey_png(restored))
    picture = before_after_png(noisy, restored, clean)
    (folder / f"{image.stem}-before-after.png").write_bytes(picture)
    if clean is None:
        return Restored(str(image), None, None)
    return Restored(str(image), psnr(clean, noisy), psnr(clean, restored))
