"""Hughes & Sudderth (2013), "Memoized online variational inference for DP mixture models".

Figure 4 is missing: the tiny images of SUN-397 are not in the shared folder.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from accelerated import mnist
from denoising import SIDE, images_of, measured, stored_prior
from numpy.lib.stride_tricks import sliding_window_view
from scipy.optimize import linear_sum_assignment

from paper_figures.figure import Figure, Row, Setting
from paper_figures.mixtures import BASE, FIXED, fixed, moving, trained
from sparsetopics.base.batches import Vectors
from sparsetopics.corpora.projection import patch_basis, patch_projection
from sparsetopics.corpora.readers.images import read_grey
from sparsetopics.evaluation.denoising.denoising import as_pixels
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.options.training import MoveOptions

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from worlds.patches import N_EDGES, Patches, edge_patches

BIRTHS = "births"  # with merges and deletes, from one component
PATCH, DIGIT = "zero-mean-gaussian", "gaussian"  # likelihoods
TOO_MANY = 25  # components of methods that keep their number, for eight kinds
STRIDE = 16  # between patches; 4 in the paper, for 1.88 million
NEAR = 0.1  # relative Frobenius error of a covariance that is found


def toy(setting: Setting) -> Iterator[Row]:
    """Eight kinds of patches, by all methods and several seeds."""
    n_items, n_batches, n_seeds, laps = (
        (20_000, 20, 2, 15) if setting.is_quick else (100_000, 100, 10, 30)
    )
    methods = {
        method: replace(fixed(method, TOO_MANY, laps, PATCH), start="random") for method in FIXED
    }
    merging = replace(methods["memoized"], moves=MoveOptions(("merge",)))
    methods = {BIRTHS: moving(PATCH), **methods, "merges": merging}
    for seed in range(n_seeds):
        patches = edge_patches(np.random.default_rng(seed), n_items)
        for method, options in methods.items():
            run = trained(patches.values, options, n_batches, seed)
            yield {"method": method, "seed": seed, **run.row(), **kinds_of(run.model, patches)}
        alone = patches._replace(values=patches.values[:1000])
        run = trained(alone.values, merging, 1, seed)
        found = kinds_of(run.model, alone)
        yield {"method": "merges of one batch", "seed": seed, **run.row(), **found}


def kinds_of(model: MixturePosterior, patches: Patches) -> Row:
    """How many kinds have a component of their own with a near covariance."""
    gaps = np.linalg.norm(
        model.normals.covariances[:, None] - patches.covariances[None], axis=(2, 3)
    )
    relative = gaps / np.linalg.norm(patches.covariances, axis=(1, 2))
    components, kinds = linear_sum_assignment(relative)
    weights = model.weights[components]
    n_found = int((relative[components, kinds] <= NEAR).sum())
    return {
        "kinds_found": n_found,
        "all_found": n_found == N_EDGES,
        "covariance_error": float(relative[components, kinds].max()),
        "weight_error": float(np.abs(weights - 1 / N_EDGES).max()),
    }


def digits(setting: Setting) -> Iterator[Row]:
    """MNIST by all methods, with two numbers of batches and two kinds of starts."""
    values, labels = mnist(setting.shared)
    n_components, laps, batches = 100, 20, (20, 100)
    if setting.is_quick:
        values, labels = values[:3000], labels[:3000]
        n_components, laps, batches = 20, 8, (5, 15)
    growth = replace(BASE, learner="accelerated")
    runs = [(BIRTHS, moving(DIGIT), "1", n_batches) for n_batches in batches]
    runs.append(("growth", growth, "1", 1))
    for start in ("distant", "random"):
        for method in FIXED:
            options = replace(fixed(method, n_components, laps, DIGIT), start=start)
            some = (1,) if method == "full" else batches
            runs.extend((method, options, start, n_batches) for n_batches in some)
    for method, options, start, n_batches in runs:
        run = trained(values, options, n_batches, 0)
        shown = {"method": method, "start": start, "batches": n_batches}
        yield {**shown, **run.row(), "accuracy": run.accuracy(values, labels)}


def patches_of(archive: Path, n_images: int) -> Vectors:
    """Patches of evenly spread images, without their mean, in the basis of ``ingest --patches``."""
    with tempfile.TemporaryDirectory() as folder:
        paths = images_of(archive, Path(folder))
        chosen = np.linspace(0, len(paths) - 1, n_images).round().astype(int)
        parts = [
            sliding_window_view(read_grey(paths[number]), (SIDE, SIDE))[::STRIDE, ::STRIDE]
            for number in chosen.tolist()
        ]
    project = patch_projection(SIDE)
    patches = [part.reshape(-1, SIDE * SIDE) for part in parts]
    return np.concatenate([project(part - part.mean(axis=1, keepdims=True)) for part in patches])


def patch_runs(setting: Setting) -> Iterator[Row]:
    """Patches of photographs; the mixture with births is kept for denoising."""
    n_images, n_components, laps = (20, 20, 8) if setting.is_quick else (200, 100, 20)
    archive = setting.shared / "data" / "bsds500" / "bsds500-train.tar"
    values = patches_of(archive, n_images)
    methods = {
        BIRTHS: moving(PATCH, laps=laps),
        "memoized": fixed("memoized", n_components, laps, PATCH),
        "stochastic a": fixed("stochastic a", n_components, laps, PATCH),
    }
    for method, options in methods.items():
        run = trained(values, options, 20, 0)
        if method == BIRTHS:
            covariances = as_pixels(run.model.normals.covariances, patch_basis(SIDE))
            np.savez(prior_of(setting), weights=run.model.weights, covariances=covariances)
        yield {"method": method, "patches": len(values), **run.row()}


def prior_of(setting: Setting) -> Path:
    """Where the mixture of patches is kept."""
    return setting.folder / f"patches{'-quick' if setting.is_quick else ''}.npz"


def denoising(setting: Setting) -> Iterator[Row]:
    """The mixture of figure 5 on held-out images; it is trained if it is not there."""
    if not prior_of(setting).exists():
        next(patch_runs(setting))
    prior, n_images = stored_prior(prior_of(setting)), 3 if setting.is_quick else 30
    about: Row = {"sigma": 25, "components": len(prior.log_weights)}
    for name, result, _ in measured(prior, setting.shared / "data" / "bsds500", n_images, 25.0, 0):
        yield {**about, "image": name, **result._asdict()}


FIGURES = {
    "memo13-figure-2": Figure(
        "Births find 8 kinds of patches in all of 10 runs; fixed numbers of components do not.",
        toy,
        named_by=("method",),
    ),
    "memo13-figure-3": Figure(
        "On MNIST, births from 1 end highest; stochastic runs depend on start, rate and batches.",
        digits,
        named_by=("method", "start"),
        across=("batches",),
    ),
    "memo13-figure-5": Figure(
        "On patches of photographs, births from 1 end above 100 fixed components.",
        patch_runs,
        named_by=("method",),
    ),
    "memo13-denoising": Figure(
        "The mixture of patches denoises 30 images at sigma 25 to a mean of 28.537 dB.",
        denoising,
        named_by=("sigma",),
    ),
}
