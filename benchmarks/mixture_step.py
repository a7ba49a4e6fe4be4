"""Compare a step of a Gaussian mixture with the bare matrix product of its densities.

    OMP_NUM_THREADS=1 python benchmarks/mixture_step.py --components 200 --columns 64 --sparsity 4

The step computes E[log p(x|φ_k)] of all items under all components, the top-L responsibilities and
the moments. The product multiplies the items (n, D) with K full D × D factors (D, K·D) in float32,
in blocks of the best size, and discards the result. Both are timed in turns in one process, and
medians are printed. With ``--peer``, an iteration of scikit-learn's dense BayesianGaussianMixture
is timed too, on fewer items.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import click
import numpy as np

from sparsetopics.base.batches import Vectors
from sparsetopics.execution.executors import Executor
from sparsetopics.model.allocations.mixture_weights import DPMixture
from sparsetopics.model.item_assignment import assign
from sparsetopics.model.likelihoods.diagonal_gaussian import DiagonalGaussian
from sparsetopics.model.likelihoods.gaussian import Gaussian, ZeroMeanGaussian
from sparsetopics.model.likelihoods.normals import Normals
from sparsetopics.model.responsibilities import Responsibilities

LIKELIHOODS: Any = {
    "zero-mean-gaussian": ZeroMeanGaussian,
    "gaussian": Gaussian,
    "diagonal-gaussian": DiagonalGaussian,
}
PRODUCT_ROWS = 256


def simulate(
    n_items: int, n_components: int, n_columns: int, rng: np.random.Generator
) -> tuple[Vectors, Responsibilities]:
    """Items of components whose widths differ by a hundred between columns; the true ones."""
    scales = 10.0 ** rng.uniform(-1.0, 1.0, (n_components, n_columns))
    rotations = np.linalg.qr(rng.standard_normal((n_components, n_columns, n_columns)))[0]
    covariances = (rotations * scales[:, None, :]) @ rotations.transpose(0, 2, 1)
    components = Normals(np.zeros((n_components, n_columns)), covariances)
    weights = np.full(n_components, 1.0 / n_components)
    values, topics = components.sample(weights, n_items, rng)
    starts = np.arange(n_items + 1, dtype=np.int64)
    return values, Responsibilities(starts, topics.astype(np.uint32), np.ones(n_items, np.float32))


def bare_product(values: Vectors, factors: Vectors) -> Callable[[], None]:
    result = np.empty((PRODUCT_ROWS, factors.shape[1]), np.float32)

    def multiply() -> None:
        for low in range(0, len(values), PRODUCT_ROWS):
            rows = values[low : low + PRODUCT_ROWS]
            np.matmul(rows, factors, out=result[: len(rows)])

    return multiply


def medians(parts: list[Callable[[], object]], n_times: int) -> list[float]:
    """CPU seconds of each part, run in turns; the first round compiles and is not counted."""
    seconds = np.empty((n_times + 1, len(parts)))
    for row in seconds:
        for i, part in enumerate(parts):
            began = time.process_time()
            part()
            row[i] = time.process_time() - began
    return [float(value) for value in np.median(seconds[1:], axis=0)]


def peer_seconds(values: Vectors, n_components: int) -> float:
    """Of one E-step and M-step: what two more of them add to a fit."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import BayesianGaussianMixture

    def fit(n_iterations: int) -> float:
        model = BayesianGaussianMixture(
            n_components=n_components, max_iter=n_iterations, init_params="random_from_data",
            random_state=0,
        )  # fmt: skip
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(values)
        return time.perf_counter() - began

    return (fit(3) - fit(1)) / 2


@click.command()
@click.option("--items", "n_items", default=20_000)
@click.option("--components", "n_components", default=200)
@click.option("--columns", "n_columns", default=64)
@click.option("--sparsity", default=4)
@click.option("--likelihood", "name", type=click.Choice(list(LIKELIHOODS)),
              default="zero-mean-gaussian")  # fmt: skip
@click.option("--times", "n_times", default=5)
@click.option("--seed", default=0)
@click.option(
    "--peer", "n_peer_items", default=0, help="Number of items for scikit-learn; 0 leaves it out."
)
def main(
    n_items: int,
    n_components: int,
    n_columns: int,
    sparsity: int,
    name: str,
    n_times: int,
    seed: int,
    n_peer_items: int,
) -> None:
    """Print seconds of the product, of the local step and of the summary, and their ratio."""
    rng, serial = np.random.default_rng(seed), Executor()
    values, truth = simulate(n_items, n_components, n_columns, rng)
    coordinates = LIKELIHOODS[name].coordinates_for(values.astype(np.float64))
    likelihood, values = LIKELIHOODS[name].in_coordinates(coordinates), coordinates(values)
    moments = likelihood.zeros(n_components).sum_items(values, truth, serial)
    log_weights = DPMixture(moments.counts, 10.0).expected_log_weights
    scorer = likelihood.prepare(moments)
    found, _ = assign(values, scorer, log_weights, sparsity, serial)
    factors = rng.standard_normal((n_columns, n_components * n_columns), np.float32)
    product, densities, local, summary, ready = medians(
        [
            bare_product(values, factors),
            lambda: scorer(values),
            lambda: assign(values, scorer, log_weights, sparsity, serial),
            lambda: moments.sum_items(values, found, serial),
            lambda: likelihood.prepare(moments),
        ],
        n_times,
    )
    click.echo(f"{name}, {n_items} items, K={n_components}, D={n_columns}, L={sparsity}")
    click.echo(f"bare product        {product:8.3f} s")
    click.echo(f"local step          {local:8.3f} s, of which densities {densities:.3f}")
    click.echo(f"summary             {summary:8.3f} s")
    click.echo(f"step / product      {(local + summary) / product:8.2f}")
    click.echo(f"scorer made ready   {ready:8.3f} s, once for each global step")
    if n_peer_items:
        ours = n_items / (local + summary)
        theirs = n_peer_items / peer_seconds(values[:n_peer_items], n_components)
        click.echo(f"items per second    {ours:8.0f} here, {theirs:.0f} in scikit-learn: "
                   f"{ours / theirs:.1f} times")  # fmt: skip


if __name__ == "__main__":
    main()
