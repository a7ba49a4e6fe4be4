"""Compare known variances and numbers of batches of the learners of points.

    OMP_NUM_THREADS=1 python benchmarks/known_variance.py --data FOLDER --sets googlenet:dslr,wide
    OMP_NUM_THREADS=1 python benchmarks/known_variance.py --data FOLDER --sets googlenet:amazon/0 \
        --rules fisher --variances default --batches 2,4,8,0 --seeds 3

Sets are FEATURES:DOMAIN of Office-Caltech10, with /0 or /1 for a random half, scikit-learn's iris,
wine, breast_cancer and digits, or a drawn set: ``blobs``, ``plane`` (two columns), ``cube`` (60),
``wide`` (one column 100 × as wide, which alone has the clusters), ``all`` (all columns have them),
``empty`` (the wide one has none), ``two`` (two such columns) and ``ten`` (ten empty columns, 10 ×
as wide). Training is as by default: 50 components, at most 100 laps. Figures are means over seeds
of the number of clusters, NMI, its standard deviation, accuracy, the share of the largest cluster,
and laps.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import click
import numpy as np
from sklearn import datasets

from sparsetopics import DPGaussianMixture
from sparsetopics.base.batches import IntArray, Vectors
from sparsetopics.base.errors import SparsetopicsWarning
from sparsetopics.measures.clustering import score_clustering

FILES = {"googlenet": "googlenet1024.npz", "caffenet": "caffenet4096.npz", "surf": "surf.npz"}
SPHERES = "isotropic-gaussian"
HALVES = 7  # the seed of halves


def load(name: str, folder: Path) -> tuple[Vectors, IntArray]:
    """Items and labels."""
    name, _, half = name.partition("/")
    features, _, domain = name.partition(":")
    if features in FILES:
        with np.load(folder / "office_caltech10" / FILES[features]) as arrays:
            values, labels = arrays[f"X_{domain}"], arrays[f"y_{domain}"]
    elif hasattr(datasets, f"load_{name}"):
        values, labels = getattr(datasets, f"load_{name}")(return_X_y=True)
    else:
        values, labels = draw(name)
    if half:
        order = np.random.default_rng(HALVES).permutation(len(values))
        rows = np.array_split(order, 2)[int(half)]
        values, labels = values[rows], labels[rows]
    return values.astype(np.float32), labels.astype(np.int64)


def draw(name: str, n_items: int = 1000) -> tuple[Vectors, IntArray]:
    """Six clusters of unit variance, and columns that dominate."""
    rng = np.random.default_rng(0)
    n_columns = {"plane": 2, "cube": 60}.get(name, 10)
    centres = rng.normal(size=(6, n_columns)) * (15.0 if name == "plane" else 6.0)
    labels = rng.integers(6, size=n_items)
    values = rng.normal(size=(n_items, n_columns))
    if name == "wide":
        values[:, 0] += 8.0 * labels
        values[:, 0] *= 100.0
        return values, labels
    values += centres[labels]
    n_empty = {"empty": 1, "two": 2}.get(name, 0)
    values[:, :n_empty] = 100.0 * rng.normal(size=(n_items, n_empty))
    if name == "all":
        values[:, 0] *= 100.0
    if name == "ten":
        values = np.hstack([values, 10.0 * rng.normal(size=(n_items, 10))])
    return values, labels


def variances_of(values: Vectors) -> dict[str, float | None]:
    """The candidates: the mean variance, tr C² / tr C, and the default."""
    centred = values.astype(float) - values.mean(axis=0, dtype=float)
    is_wide = len(centred) < centred.shape[1]
    products = centred @ centred.T if is_wide else centred.T @ centred
    trace = float(np.trace(products))
    squares = float((products**2).sum())
    return {
        "mean": trace / values.size,
        "effective": squares / trace / len(values),
        "default": None,
    }


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--sets", required=True)
@click.option("--rules", default="alternating,plain,momentum,fisher")
@click.option("--variances", default="mean,effective,default")
@click.option("--batches", default="0", help="Numbers of batches; 0 for the default.")
@click.option("--seeds", default=2)
def main(data: Path, sets: str, rules: str, variances: str, batches: str, seeds: int) -> None:
    """Print a line for each combination."""
    warnings.simplefilter("ignore", SparsetopicsWarning)
    for name in sets.split(","):
        values, labels = load(name, data)
        candidates = variances_of(values)
        click.echo(f"{name}: {values.shape[0]} × {values.shape[1]}")
        for which in variances.split(","):
            for n_batches in map(int, batches.split(",")):
                for rule in rules.split(","):
                    found = []
                    for seed in range(seeds):
                        model = DPGaussianMixture(
                            50,
                            likelihood=SPHERES,
                            learner="alternating" if rule == "alternating" else "gradient",
                            gradient=None if rule == "alternating" else rule,  # type: ignore[arg-type]
                            variance=candidates[which],
                            n_batches=n_batches or None,
                            random_state=seed,
                        )
                        places = model.fit(values).predict(values)
                        score = score_clustering(labels, places)
                        largest = np.bincount(places).max() / len(places)
                        scores = score.n_components, score.nmi, score.hungarian_accuracy
                        found.append((*scores, largest, model.n_iter_))
                    mean, spread = np.mean(found, axis=0), np.std(found, axis=0)
                    click.echo(
                        f"  {which:<10}{n_batches or '':>3} {rule:<12}{mean[0]:5.1f}"
                        f" {mean[1]:.3f} ± {spread[1]:.3f} {mean[2]:.3f} {mean[3]:.2f}"
                        f" {mean[4]:4.0f}"
                    )


if __name__ == "__main__":
    main()
