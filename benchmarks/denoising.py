"""Measure how well a mixture of patches denoises the images of BSD68, and how long an image takes.

    OMP_NUM_THREADS=1 python benchmarks/denoising.py --mixture RUN --keep
    OMP_NUM_THREADS=1 python benchmarks/denoising.py --mixture prior.npz
    OMP_NUM_THREADS=1 python benchmarks/denoising.py --components 200 --laps 15 --save prior.npz
    python benchmarks/denoising.py --mixture prior.npz --images 20 --pictures pictures

``--mixture`` is a run folder of ``train``, or a file with the ``weights`` (K,) and ``covariances``
(K, side², side²) of patches in pixels, without their mean. Without it, a finite mixture is trained
on patches of the 200 training images of BSDS500, in the basis that ``ingest --patches`` uses. The
images are the 68 of the list ``bsd68.txt``, uncropped; ``--images`` takes fewer, evenly spread
over the list. The noise of an image depends on ``--seed`` and on the image's place in the list.
"""

from __future__ import annotations

import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from results import report

from sparsetopics.base.batches import FloatArray, Vectors
from sparsetopics.corpora.projection import patch_basis, patch_projection
from sparsetopics.corpora.readers.images import read_grey
from sparsetopics.estimators.mixtures import GaussianMixture
from sparsetopics.evaluation.denoising.denoising import (
    PatchPrior,
    add_noise,
    as_pixels,
    denoise,
    psnr,
)
from sparsetopics.evaluation.denoising.pictures import before_after_png
from sparsetopics.evaluation.denoising.restoration import patch_prior
from sparsetopics.execution.executors import Executor, open_executor
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.runs.run import load_run

SIDE = 8


class Mixture(NamedTuple):
    """What is learned of patches."""

    weights: FloatArray  # (n_topics,)
    covariances: FloatArray  # (n_topics, SIDE², SIDE²)


class Result(NamedTuple):
    """One image."""

    noisy: float  # dB
    denoised: float  # dB
    seconds: float  # of wall time


def images_of(archive: Path, folder: Path) -> list[Path]:
    """Unpack the images of a tar file, in the order of their names."""
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
        return sorted(folder / name for name in tar.getnames() if name.endswith(".jpg"))


def random_patches(image: Vectors, n_patches: int, rng: np.random.Generator) -> Vectors:
    """Patches of an image without their mean, no two of them the same one."""
    windows = sliding_window_view(image, (SIDE, SIDE))
    chosen = rng.choice(windows.shape[0] * windows.shape[1], n_patches, replace=False)
    patches = windows[np.unravel_index(chosen, windows.shape[:2])].reshape(n_patches, -1)
    centred: Vectors = patches - patches.mean(axis=1, keepdims=True)
    return centred


def patches_of(archive: Path, n_patches: int, rng: np.random.Generator) -> Vectors:
    """Patches in the basis of ``ingest --patches``, as many of each image."""
    with tempfile.TemporaryDirectory() as folder:
        paths = images_of(archive, Path(folder))
        share = n_patches // len(paths)
        patches = np.concatenate([random_patches(read_grey(path), share, rng) for path in paths])
    return patch_projection(SIDE)(patches)


def train(
    archive: Path, n_components: int, n_patches: int, laps: int, seed: int, workers: int
) -> Mixture:
    """A finite mixture of ``n_patches`` patches, as many of each image."""
    patches = patches_of(archive, n_patches, np.random.default_rng(seed))
    model = GaussianMixture(
        n_components,
        likelihood="zero-mean-gaussian",
        sparsity=4,
        max_iter=laps,
        n_jobs=workers,
        random_state=seed,
    ).fit(patches)
    return Mixture(model.weights_, as_pixels(model.covariances_, patch_basis(SIDE)))


def stored_prior(path: Path) -> PatchPrior:
    """Of a run folder or an npz file."""
    if path.is_dir():
        return patch_prior(load_run(path, MixturePosterior))
    with np.load(path, allow_pickle=False) as arrays:
        return PatchPrior.from_mixture(arrays["weights"], arrays["covariances"])


def measure(
    clean: FloatArray,
    sigma: float,
    prior: PatchPrior,
    executor: Executor,
    rng: np.random.Generator,
) -> tuple[Result, bytes]:
    """Noise an image and denoise it; what came of it, and its picture."""
    noisy = add_noise(clean, sigma, rng)
    began = time.perf_counter()
    restored = denoise(noisy, sigma, prior, executor=executor)
    seconds = time.perf_counter() - began
    result = Result(psnr(clean, noisy), psnr(clean, restored), seconds)
    return result, before_after_png(noisy, restored, clean)


def measured(
    prior: PatchPrior, data: Path, n_images: int, sigma: float, seed: int, workers: int = 1
) -> Iterator[tuple[str, Result, bytes]]:
    """Name, result and picture of ``n_images`` images, evenly spread over the list of BSD68."""
    names = (data / "bsd68.txt").read_text().split()
    with tempfile.TemporaryDirectory() as folder, open_executor(workers) as executor:
        images_of(data / "bsds500-val.tar", Path(folder))
        for number in np.linspace(0, len(names) - 1, n_images).round().astype(int).tolist():
            rng = np.random.default_rng([seed, number])
            clean = read_grey(Path(folder) / names[number]).astype(np.float64)
            yield names[number], *measure(clean, sigma / 255.0, prior, executor, rng)


@click.command()
@click.option("--shared", type=click.Path(exists=True, path_type=Path), default=Path("../shared"))
@click.option("--mixture", "stored", type=click.Path(exists=True, path_type=Path),
              help="A run or an npz file. Default: train a mixture.")  # fmt: skip
@click.option("--components", "n_components", default=200)
@click.option("--patches", "n_patches", default=500_000)
@click.option("--laps", default=15)
@click.option("--save", type=click.Path(path_type=Path), help="File for the trained mixture.")
@click.option("--images", "n_images", type=click.IntRange(1, 68), default=68)
@click.option("--sigma", default=25.0, help="Standard deviation of the noise, where white is 255.")
@click.option("--seed", default=0)
@click.option("--workers", default=1)
@click.option(
    "--pictures", type=click.Path(path_type=Path), help="Folder for pictures of before and after."
)
@click.option("--keep", "is_kept", is_flag=True, help="Write results/denoising.json.")
def main(
    shared: Path,
    stored: Path | None,
    n_components: int,
    n_patches: int,
    laps: int,
    save: Path | None,
    n_images: int,
    sigma: float,
    seed: int,
    workers: int,
    pictures: Path | None,
    is_kept: bool,
) -> None:
    """Print PSNR of noisy and denoised images, seconds, and the means."""
    data = shared / "data" / "bsds500"
    if stored is not None:
        prior = stored_prior(stored)
    else:
        archive = data / "bsds500-train.tar"
        mixture = train(archive, n_components, n_patches, laps, seed, workers)
        if save is not None:
            np.savez(save, **mixture._asdict())
        prior = PatchPrior.from_mixture(*mixture)
    if pictures is not None:
        pictures.mkdir(parents=True, exist_ok=True)
    results = []
    click.echo(
        f"{len(prior.log_weights)} components, sigma {sigma:g}\n"
        "image              noisy  denoised    s"
    )
    for name, result, picture in measured(prior, data, n_images, sigma, seed, workers):
        results.append(result)
        click.echo(f"{name:<17}{result.noisy:7.3f}{result.denoised:10.3f}{result.seconds:6.1f}")
        if pictures is not None:
            (pictures / f"{Path(name).stem}.png").write_bytes(picture)
    means = Result(*np.mean(results, axis=0).tolist())._asdict()
    sizes = {"images": n_images, "components": len(prior.log_weights), "sigma": sigma}
    report("denoising", {"mean": means | sizes}, is_kept)


if __name__ == "__main__":
    main()
