"""Compare growth on a kd-tree with growth on all items: speed-up, ratio of free energies (VDP06).

    OMP_NUM_THREADS=1 python benchmarks/accelerated.py --items 1000,10000,100000,1000000 --keep
    python benchmarks/accelerated.py --dimensions 16,32,64,128
    python benchmarks/accelerated.py --separations 1,2,3
    python benchmarks/accelerated.py --mnist --items ""
    python benchmarks/accelerated.py --items 8000000 --most-plain 0

The data are ten c-separated Gaussians of equal weight (by default 10,000 items, 16 columns and c =
2), or the 60,000 digits of MNIST in 50 principal components. Times are CPU seconds of this
process: for building the tree, and for training on it. Finding standard coordinates, the same for
both, is not part of them. With more than ``--most-plain``
items, growth on all items is timed on ``--most-plain`` items, and the time is multiplied by the
ratio of the numbers of items; with 0 it is left out. Peak memory is that of the process so far,
data included. Each call with ``--keep`` writes ``results/accelerated.json`` anew;
rows are named by items, columns, c and seed.
"""

from __future__ import annotations

import resource
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
from numpy.typing import NDArray
from results import Cell, keep

from sparsetopics.base.batches import IntArray, Vectors
from sparsetopics.corpora.corpus import VectorCorpus
from sparsetopics.execution.executors import Executor
from sparsetopics.inference import training
from sparsetopics.inference.growth import grower
from sparsetopics.inference.growth.grower import outer_nodes
from sparsetopics.options.table import DEFAULT_TREE_TOLERANCE
from sparsetopics.options.training import LocalOptions, TrainingOptions
from sparsetopics.runs.data import source_of

COMPONENTS = 10


class Run(NamedTuple):
    """Growth until no split is of use."""

    n_components: int
    elbo: float  # nats per item
    building: float  # CPU seconds
    training: float  # CPU seconds, without those of the tree and the coordinates
    coordinates: float  # CPU seconds in which standard coordinates are found


def c_separated(rng: np.random.Generator, n_items: int, n_columns: int, c: float) -> Vectors:
    """|m_i − m_j|² ≥ c² D max λ (Dasgupta 1999), equality for the closest pair of components."""
    axes = [np.linalg.qr(rng.normal(size=(n_columns, n_columns)))[0] for _ in range(COMPONENTS)]
    roots = [each * np.sqrt(rng.uniform(0.1, 1.0, n_columns)) for each in axes]
    widest = max(float(np.linalg.norm(root, 2)) for root in roots)
    means = rng.normal(size=(COMPONENTS, n_columns))
    distances = np.linalg.norm(means[:, None] - means[None], axis=2)
    means *= c * np.sqrt(n_columns) * widest / distances[np.triu_indices(COMPONENTS, 1)].min()
    kinds = rng.integers(COMPONENTS, size=n_items)
    values = np.empty((n_items, n_columns), np.float32)
    for kind, (mean, root) in enumerate(zip(means, roots, strict=True)):
        own = np.flatnonzero(kinds == kind)
        values[own] = mean + rng.normal(size=(len(own), n_columns)) @ root.T
    return values


def mnist(shared: Path) -> tuple[Vectors, IntArray]:
    """The training digits in 50 principal components, and their labels."""
    with np.load(shared / "data" / "mnist" / "mnist.npz") as arrays:
        pixels: NDArray[np.float64] = arrays["X_train"].reshape(-1, 784).astype(np.float64)
        labels = arrays["y_train"].astype(np.int64)
    pixels -= pixels.mean(axis=0)
    _, axes = np.linalg.eigh(pixels.T @ pixels)
    return (pixels @ axes[:, :-51:-1]).astype(np.float32), labels


def grow(values: Vectors, tolerance: float, seed: int) -> Run:
    """Train, with the time of building apart."""
    options = TrainingOptions(
        1, model="dp-mixture", learner="accelerated", local=LocalOptions("mean-field"),
        tree_tolerance=tolerance,
    )  # fmt: skip
    building: list[float] = []

    def timed(*given: object) -> object:
        began = time.process_time()
        source = outer_nodes(*given)  # type: ignore[arg-type]
        building.append(time.process_time() - began)
        return source

    course: list[training.LapInfo] = []
    hooks = training.Hooks(on_lap=lambda info, model: course.append(info))
    grower.outer_nodes = timed  # type: ignore[assignment]
    rng, began = np.random.default_rng(seed), time.process_time()
    source = source_of(VectorCorpus.from_array(values), options, 1, rng)
    coordinates = time.process_time() - began
    began = time.process_time()
    with tempfile.TemporaryDirectory() as scratch:
        model = training.train(source, options, Path(scratch), Executor(), rng, hooks=hooks)
    spent = time.process_time() - began - building[0]
    return Run(model.n_topics, course[-1].elbo_per_token, building[0], spent, coordinates)


class Comparison(NamedTuple):
    """Growth on the tree beside growth on all items, or on some whose time is multiplied."""

    tree: Run
    plain: Run
    factor: float  # items over those that growth without a tree had

    @property
    def plain_seconds(self) -> float:
        return self.plain.training * self.factor

    @property
    def faster(self) -> float:
        """How much faster the tree is, its building included."""
        return self.plain_seconds / (self.tree.training + self.tree.building)

    @property
    def ratio(self) -> float:
        """Of free energies, 1 + (F_tree − F_plain) / |F_plain|; NaN for other items."""
        free, plain = -self.tree.elbo, -self.plain.elbo
        return 1.0 + (free - plain) / abs(plain) if self.factor == 1.0 else float("nan")


def compared(values: Vectors, tolerance: float, most_plain: int, seed: int) -> Comparison:
    """Train on the tree and without it."""
    fewer = values[:most_plain]
    factor = len(values) / len(fewer)
    return Comparison(grow(values, tolerance, seed), grow(fewer, 0.0, seed), factor)


def compare(
    values: Vectors, label: str, tolerance: float, most_plain: int, seed: int
) -> dict[str, Cell]:
    """Print one line of the table, and return its row."""
    found = compared(values, tolerance, most_plain, seed) if most_plain else None
    tree = found.tree if found else grow(values, tolerance, seed)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    click.echo(
        f"{label:<26}{tree.n_components:>5}{tree.building:>9.2f}{tree.training:>9.2f}{peak:>6.2f}",
        nl=found is None,
    )
    if found is not None:
        click.echo(
            f"{found.plain.n_components:>6}{found.plain_seconds:>10.2f}"
            f"{'*' if found.factor > 1.0 else ' '}"
            f"{found.plain_seconds / tree.training:>8.1f}{found.faster:>9.1f}{found.ratio:>8.4f}"
        )
    row: dict[str, Cell] = {"components": tree.n_components, "building": tree.building}
    row |= {"training": tree.training, "peak_gb": peak, "elbo": tree.elbo}
    if found is not None:
        row |= {"components_plain": found.plain.n_components, "plain": found.plain_seconds}
        row |= {"elbo_plain": found.plain.elbo, "factor": found.factor, "faster": found.faster}
        row |= {"ratio": None if found.factor > 1.0 else found.ratio}
    return row


def _numbers(context: click.Context, option: click.Parameter, text: str) -> list[float]:
    return [float(part) for part in text.split(",") if part]


@click.command()
@click.option("--items", default="10000", callback=_numbers)
@click.option("--dimensions", default="16", callback=_numbers)
@click.option("--separations", default="2", callback=_numbers)
@click.option("--mnist", "of_digits", is_flag=True, help="Measure MNIST, too.")
@click.option("--shared", type=click.Path(exists=True, path_type=Path), default=Path("../shared"))
@click.option(
    "--tolerance",
    default=DEFAULT_TREE_TOLERANCE,
    help="Nats per value that the tree may cost.",
)
@click.option("--most-plain", default=100_000, help="Most items for growth without a tree.")
@click.option("--seeds", default=1)
@click.option("--keep", "is_kept", is_flag=True, help="Write results/accelerated.json.")
def main(
    items: list[float],
    dimensions: list[float],
    separations: list[float],
    of_digits: bool,
    shared: Path,
    tolerance: float,
    most_plain: int,
    seeds: int,
    is_kept: bool,
) -> None:
    """Print a line for each combination and seed."""
    few = c_separated(np.random.default_rng(0), 2_000, 4, 2.0)
    for each in (tolerance, 0.0):  # compile
        grow(few, each, 0)
    click.echo(
        f"{'data':<26}{'K':>5}{'build s':>9}{'tree s':>9}{'GB':>6}{'plain':>6}{'plain s':>10} "
        f"{'faster':>8}{'+ build':>9}{'ratio':>8}"
    )
    rows = {}
    if of_digits:
        rows["mnist"] = compare(mnist(shared)[0], "mnist", tolerance, 60_000, 0)
    places = product(range(seeds), map(int, items), map(int, dimensions), separations)
    for seed, n_items, n_columns, c in places:
        values = c_separated(np.random.default_rng(seed), n_items, n_columns, c)
        label = f"{n_items}/{n_columns}/{c:g}/{seed}"
        rows[label] = compare(values, label, tolerance, most_plain, seed)
    if is_kept:
        keep("accelerated", rows)


if __name__ == "__main__":
    main()
