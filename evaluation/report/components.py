"""Components of a mixture of vectors as people read them: size, pictures, columns, items."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray, Vectors
from sparsetopics.corpora.corpus import VectorCorpus
from sparsetopics.corpora.lookup import spread_rows
from sparsetopics.corpora.projection import patch_basis
from sparsetopics.evaluation.denoising.denoising import as_pixels
from sparsetopics.evaluation.denoising.pictures import grey_png, signed_png
from sparsetopics.evaluation.denoising.restoration import side_of_patches
from sparsetopics.model.likelihoods.normals import Normals
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.model.statistics import in_use
from sparsetopics.options.registry import LIKELIHOODS
from sparsetopics.runs.run import MixtureRun

MOST_ROWS = 20_000  # items, or documents of topics, that a page searches
N_EXAMPLES = 3
N_COLUMNS = 5  # shown for each component
MOST_COMPONENTS = 200  # that get pictures and examples; the page counts the lighter ones
N_DIRECTIONS = 6  # eigenvectors shown of a covariance
N_DRAWN = 6  # patches drawn from a component
GAP = 1  # pixels between patches
PAPER = 1.0  # grey value of the gaps
WIDEST_MATRIX = 100  # columns of the largest correlation matrix that gets a picture
PIXEL = 5  # dots of the page for each pixel of a patch
MATRIX_DOTS = 96


class Example(NamedTuple):
    """An item of a component."""

    name: str  # its id
    label: str | None
    closeness: float  # the quantity that orders items
    values: FloatArray


class Column(NamedTuple):
    """How a component differs from the others in one column."""

    name: str
    mean: float
    deviation: float  # standard deviation within the component
    away: float  # distance from the mean of all items, in standard deviations of all items

    @property
    def shown_mean(self) -> str:
        """The mean in four digits, or in as many as a tenth of the deviation needs."""
        steps = abs(self.mean) / max(self.deviation, 1e-12 * abs(self.mean), 1e-300)
        return f"{self.mean:.{max(4, int(np.log10(max(steps, 1.0))) + 3)}g}"


class Picture(NamedTuple):
    """An image that is part of the page, and its width on the page in dots."""

    caption: str
    address: str  # a data: address
    width: int


class ComponentRow(NamedTuple):
    """One component of a mixture of vectors."""

    number: int
    weight: float
    n_items: float  # expected number of training items
    pictures: Sequence[Picture]
    columns: Sequence[Column]
    examples: Sequence[Example]


def component_table(
    run: MixtureRun,
    examples: Sequence[Sequence[Example]] | None = None,  # for each component
    names: Sequence[str] | None = None,  # column names
) -> list[ComponentRow]:
    """Return one row for each of the 200 heaviest components, by falling weight as in the model.

    Components without items are left out.
    """
    model = run.model
    n_rows = min(int(in_use(model.sizes).sum()), MOST_COMPONENTS)
    own_examples = [()] * n_rows if examples is None else examples[:n_rows]
    pictures = _pictures(run, own_examples)
    has_means = LIKELIHOODS[model.likelihood_name].has_means
    columns = _distinctive(model.normals, model.weights, names) if has_means else [[]] * n_rows
    weights, sizes = model.weights[:n_rows].tolist(), model.sizes[:n_rows].tolist()
    rows = zip(weights, sizes, pictures, columns[:n_rows], own_examples, strict=True)
    return [ComponentRow(k, *row) for k, row in enumerate(rows)]


def _distinctive(
    normals: Normals, weights: FloatArray, names: Sequence[str] | None
) -> list[list[Column]]:
    """Return the columns in which each component's mean is farthest from that of all items."""
    means, spread = normals.means, normals.covariances
    if spread.ndim == 3:  # matrices, whose diagonals are the variances
        spread = np.diagonal(spread, axis1=1, axis2=2)
    centre = weights @ means
    total = np.sqrt(weights @ (spread + (means - centre) ** 2))
    away = (means - centre) / np.maximum(total, np.finfo(float).tiny)
    order = np.argsort(-np.abs(away), axis=1, kind="stable")[:, :N_COLUMNS]
    labels = [f"column {n}" for n in range(means.shape[1])] if names is None else names
    return [
        [
            Column(labels[c], float(means[k, c]), float(np.sqrt(spread[k, c])), float(away[k, c]))
            for c in best
        ]
        for k, best in enumerate(order.tolist())
    ]


def _pictures(run: MixtureRun, examples: Sequence[Sequence[Example]]) -> list[list[Picture]]:
    """Return pictures of the first ``len(examples)`` components.

    For image patches these are the leading eigenvectors of each covariance, patches drawn from the
    component, and examples from the data. For other vectors of up to 100 columns it is the
    correlation matrix, if the likelihood has one. The same run gives the same pictures.
    """
    side = side_of_patches(run)
    if side is not None:
        return _patches(run, examples, patch_basis(side))
    covariances = run.model.normals.covariances
    if covariances.ndim == 2 or not 1 < covariances.shape[1] <= WIDEST_MATRIX:
        return [[] for _ in examples]
    return [[_correlations(covariances[k])] for k in range(len(examples))]


def _patches(
    run: MixtureRun, examples: Sequence[Sequence[Example]], basis: FloatArray
) -> list[list[Picture]]:
    normals, n_shown = run.model.normals, len(examples)
    means, covariances = normals.means[:n_shown], normals.covariances[:n_shown]
    if covariances.ndim == 2:
        covariances = covariances[:, :, None] * np.eye(covariances.shape[1])
    # eigh returns eigenvalues in rising order, so the leading eigenvectors come last.
    values, vectors = np.linalg.eigh(as_pixels(covariances, basis))
    scales = np.sqrt(np.maximum(values, 0.0))
    rng = np.random.default_rng(0)  # the same run gives the same page
    pictures = []
    for k, own in enumerate(examples):
        leading = vectors[k, :, ::-1][:, :N_DIRECTIONS].T
        noise = rng.standard_normal((N_DRAWN, len(scales[k])))
        drawn = means[k] @ basis + (noise * scales[k]) @ vectors[k].T
        rows = {"covariance, leading eigenvectors": leading, "drawn from it": drawn}
        if own:
            rows["examples in the data"] = np.array([each.values for each in own]) @ basis
        pictures.append([_strip(caption, patches) for caption, patches in rows.items()])
    return pictures


def _strip(caption: str, patches: FloatArray) -> Picture:
    """Draw patches, (n_patches, side²), side by side, each scaled so that zero is mid-grey."""
    side = math.isqrt(patches.shape[1])
    # A patch of zeros has no largest value to divide by, and stays mid-grey.
    largest = np.maximum(np.abs(patches).max(axis=1, keepdims=True), np.finfo(float).tiny)
    greys = (0.5 + 0.5 * patches / largest).reshape(-1, side, side)
    spaced = np.pad(greys, ((0, 0), (0, 0), (0, GAP)), constant_values=PAPER)
    strip = np.hstack(list(spaced))[:, :-GAP]
    return Picture(caption, png_address(grey_png(strip)), PIXEL * strip.shape[1])


def _correlations(covariance: FloatArray) -> Picture:
    deviations = np.sqrt(np.diagonal(covariance))
    correlations = covariance / np.outer(deviations, deviations)
    return Picture("correlations of columns", png_address(signed_png(correlations)), MATRIX_DOTS)


def png_address(png: bytes) -> str:
    """Return the image as an address, so that a page needs no other file."""
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"


# --- items that exemplify a component -------------------------------------------------------------
def example_items(corpus: VectorCorpus, model: MixturePosterior) -> tuple[list[list[Example]], int]:
    """Return the items nearest to each component, among the items for which it is most probable.

    For each component there is a list, best first. The number is that of the items searched.
    If components have means, the nearest items are those of highest density, log p(x|k). The
    density of zero-mean components is highest for flat patches, so there the nearest are the
    surest: items whose log w_k p(x|k) is farthest above that of the second-best component. At most
    20,000 items are searched, spread evenly over the corpus.
    """
    best: list[list[Example]] = [[] for _ in range(model.n_topics)]
    searched = spread_rows(corpus.row_groups, MOST_ROWS)
    for number, rows in searched.items():
        group = corpus.row_groups[number]
        values, names, labels = group.read().values[rows], group.read_ids(), group.read_labels()
        nearness = _nearness(values, model)
        for component in range(model.n_topics):
            scores = nearness[:, component]
            leaders = np.argsort(-scores, kind="stable")[:N_EXAMPLES]  # ties in their order
            for row in leaders[np.isfinite(scores[leaders])].tolist():
                own = np.asarray(values[row], np.float64)
                example = Example(names[rows[row]], labels[rows[row]], float(scores[row]), own)
                best[component].append(example)
            best[component].sort(key=lambda own: -own.closeness)  # keeps the order of equal ones
            del best[component][N_EXAMPLES:]
    return best, sum(map(len, searched.values()))


def _nearness(values: Vectors, model: MixturePosterior) -> FloatArray:
    """How near each item is to its most probable component, (n_items, n_components); −∞ for the
    others."""
    log_weights = np.log(np.maximum(model.weights, np.finfo(float).tiny))
    densities = model.scorer(values).astype(np.float64)
    joint = densities + log_weights
    owners = joint.argmax(axis=1)
    rows = np.arange(len(joint))
    best = joint[rows, owners]
    joint[rows, owners] = -np.inf  # so that the next maximum is the second best
    second = joint.max(axis=1) if joint.shape[1] > 1 else np.zeros(len(joint))
    by_density = LIKELIHOODS[model.likelihood_name].has_means
    nearness = np.full(joint.shape, -np.inf)
    nearness[rows, owners] = densities[rows, owners] if by_density else best - second
    return nearness
