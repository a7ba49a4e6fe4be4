"""Denoising of image files with the mixture in a run folder: what ``denoise`` does."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sparsetopics.base.errors import OptionError, RunError, SourceError
from sparsetopics.base.outputs import Output, written
from sparsetopics.base.wording import quantity
from sparsetopics.corpora.projection import PATCH_BASIS, patch_basis
from sparsetopics.corpora.readers.formats import IMAGE, find_vectors
from sparsetopics.corpora.readers.images import read_grey
from sparsetopics.corpora.readers.options import VectorReadOptions
from sparsetopics.corpora.sources.byte_stream import SourceFile
from sparsetopics.evaluation.denoising.denoising import (
    PatchPrior,
    add_noise,
    as_pixels,
    denoise,
    psnr,
)
from sparsetopics.evaluation.denoising.pictures import before_after_png, grey_png
from sparsetopics.execution.executors import open_executor
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.runs.run import AnyRun, MixtureRun

WHITE = 255.0  # brightest value on the scale in which σ is given


class Restored(NamedTuple):
    """PSNR of an image in dB before and after; None if the clean image is not known."""

    image: str
    psnr_noisy: float | None
    psnr: float | None


def restore_images(
    run: AnyRun,
    sources: Iterable[str | Path],  # files, folders, archives, patterns and URLs, as for ``ingest``
    output: Output,  # of kind DENOISED
    *,
    sigma: float,  # above zero: standard deviation of the noise, where white is 255
    clean: Path | None,  # folder with clean images of the same names and subfolders
    with_noise: bool,  # the images are clean; add noise before removing it
    seed: int,  # of that noise
    workers: int,
    say: Callable[[str], None],
) -> list[Restored]:
    """Write each denoised image, with a picture of before and after, to a folder.

    Images of a folder keep their subfolders. ``say`` gets sentences about what is left out and
    done. Raises RunError for a run that is not a mixture of patches, OptionError for options that
    do not go together, and SourceError for images that are missing or cannot be read. In these
    cases nothing is written.
    """
    collection = find_vectors(sources, IMAGE, VectorReadOptions(), say=say)
    if left_out := collection.account.said_of_left_out:
        say(left_out)
    images, prior = collection.files, patch_prior(run)
    if with_noise and clean is not None:
        hint = "With --add-noise, the given images are the clean ones."
        raise OptionError("clean", "cannot be combined with --add-noise", hint)
    _check_outputs(images)
    found = []
    with written(output) as folder, open_executor(workers) as executor:
        for number, image in enumerate(images):
            noisy, truth = read_grey(image.path).astype(np.float64), None
            if with_noise:
                # The noise of an image depends on its place alone, not on the images before it.
                rng = np.random.default_rng([seed, number])
                truth, noisy = noisy, add_noise(noisy, sigma / WHITE, rng)
            elif clean is not None:
                truth = read_grey(clean / image.name).astype(np.float64)
            restored = denoise(noisy, sigma / WHITE, prior, executor=executor)
            pictures = grey_png(restored), before_after_png(noisy, restored, truth)
            for path, picture in zip(_outputs_of(image), pictures, strict=True):
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(picture)
            scores = (None, None) if truth is None else (psnr(truth, noisy), psnr(truth, restored))
            found.append(Restored(str(image.path), *scores))
            say(f"{number + 1} of {quantity(len(images), 'image')}")
    return found


def patch_prior(run: AnyRun) -> PatchPrior:
    """Return the mixture of a run as a prior; RunError if it was not trained on image patches."""
    mixture = run.of(MixturePosterior)
    side = None if mixture is None else side_of_patches(mixture)
    if mixture is None or side is None or mixture.model.likelihood_name != "zero-mean-gaussian":
        found = f"a run of --model {run.settings['model']}"
        if mixture is not None:
            n_columns = quantity(mixture.model.n_columns, "column")
            found = f"a {mixture.model.likelihood_name} mixture of {n_columns}"
        problem = f"expected a zero-mean-gaussian mixture of image patches, but found {found}"
        hint = "Ingest with --patches, without --pca; train with --likelihood zero-mean-gaussian."
        raise RunError(str(run.path), problem, hint)
    covariances = as_pixels(mixture.model.normals.covariances, patch_basis(side))
    return PatchPrior.from_mixture(mixture.model.weights, covariances)


def side_of_patches(run: MixtureRun) -> int | None:
    """Return the side of a patch in pixels; None if columns are not those of ``patch_basis``."""
    made = run.settings["corpus"].get("made")
    if not isinstance(made, dict) or made.get("basis") != PATCH_BASIS:
        return None
    side = math.isqrt(run.model.n_columns + 1)
    return side if side == made.get("patches") and side**2 == run.model.n_columns + 1 else None


def _check_outputs(images: Sequence[SourceFile]) -> None:
    writers: dict[Path, SourceFile] = {}
    for image in images:
        for path in _outputs_of(image):
            other = writers.setdefault(path, image)
            if other is not image:
                problem = f"{other.path} and {image.path} would be written to the same file"
                raise OptionError("image", problem, "Rename one of them.")


def _outputs_of(image: SourceFile) -> tuple[Path, Path]:
    """The restored image and the picture of before and after, below the output."""
    name = Path(image.name)
    if name.is_absolute() or ".." in name.parts:  # as a service may list it
        raise SourceError(str(image.path), "the name leads out of its folder", "Rename it.")
    return name.with_name(f"{name.stem}.png"), name.with_name(f"{name.stem}-before-after.png")
