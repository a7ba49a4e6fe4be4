"""Compare mixtures of vectors with two estimators of scikit-learn on data as people have them.

    OMP_NUM_THREADS=1 python benchmarks/real_vectors.py sets --keep    # in results/vectors.json
    OMP_NUM_THREADS=1 python benchmarks/real_vectors.py sets drawn-07 iris --scaled
    OMP_NUM_THREADS=1 python benchmarks/real_vectors.py affine --keep     # in vectors-affine.json
    OMP_NUM_THREADS=1 python benchmarks/real_vectors.py large --keep      # in vectors-large.json
    OMP_NUM_THREADS=1 python benchmarks/real_vectors.py cases ../shared/cases/vectors

"ours" is ``DPGaussianMixture()``, "dp" is ``BayesianGaussianMixture`` with 15 components, and "bic"
is the ``GaussianMixture`` with the lowest BIC of those with 1 to 15. All else is a default, but for
1,000 iterations. ``--scaled`` gives dp and bic columns of variance one, since their ``reg_covar``
has the unit of the data; densities are converted back. We always get the columns as they are.

Half of the rows of a set train, the others are scored: all, and all that are not bad ("good"). A
component counts if at least 1 % of the good rows, of both halves, most probably belong to it.
Densities are in nats; "lead" is ours less the better of the others, per value (a row's density
divided by the number of columns). A Boolean, a code or exact copies leave a density without an
upper bound: there the smallest variance that an estimator allows decides. Seconds are CPU seconds
of ``fit`` with one BLAS thread. An estimator that raises an error has lost; its message is printed.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import numpy.typing as npt
from results import report
from scipy.optimize import linear_sum_assignment
from sklearn import datasets, mixture
from threadpoolctl import threadpool_limits

from sparsetopics import DPGaussianMixture
from sparsetopics.base.batches import FloatArray, IntArray

MOST, N_ITER = 15, 1_000  # components of the two others, and their iterations
LEAST_SHARE = 0.01  # of the good rows, for a component to count
ALLOWED = 0.02  # nats a value below the better of the two others
SAME = 0.99  # of the rows in the same component, for a partition to count as the same
LEAST_WEIGHT = 0.05
CLASSES = {
    "iris": 3, "wine": 3, "breast_cancer": 2, "digits": 10, "diabetes": None, "linnerud": None,
}  # fmt: skip
N_DRAWN = 24
PACKAGES = ("scikit-learn",)
NAMES = (*(f"drawn-{number:02}" for number in range(N_DRAWN)), *CLASSES)

BoolArray = npt.NDArray[np.bool_]
Row = dict[str, Any]
Fit = Callable[[FloatArray], Any]
Peers = dict[str, Fit]


class Clusters(NamedTuple):
    """A mixture of Gaussians that data are drawn from."""

    weights: FloatArray  # (n_clusters,)
    means: FloatArray  # (n_clusters, n_columns)
    factors: FloatArray  # (n_clusters, n_columns, n_columns), of the covariances

    @classmethod
    def drawn(cls, n_clusters: int, n_columns: int, rng: np.random.Generator) -> Clusters:
        """Weights of 5 % at least, and clusters of which no two overlap.

        The squared Mahalanobis distance of two means under their mean covariance is at least 36:
        by the bound of Bhattacharyya, the Bayes error of the two is at most 0.56 %.
        """
        free = 1.0 - LEAST_WEIGHT * n_clusters
        weights = LEAST_WEIGHT + free * rng.dirichlet(np.full(n_clusters, 2.0))
        scales = 10.0 ** rng.uniform(-0.4, 0.4, (n_clusters, 1, n_columns))
        factors = scales * [rotation(n_columns, rng) for _ in range(n_clusters)]
        spread, means = 2.0, np.zeros((n_clusters, n_columns))
        while not are_apart(means, factors @ factors.transpose(0, 2, 1)):
            means = spread * rng.standard_normal(means.shape)
            spread *= 1.02
        return cls(weights, means, factors)

    def rows(self, n_rows: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """Values (n_rows, n_columns) and their clusters."""
        labels = rng.choice(len(self.weights), n_rows, p=self.weights)
        noise = rng.standard_normal((n_rows, self.means.shape[1]))
        return self.means[labels] + np.einsum("nij,nj->ni", self.factors[labels], noise), labels


def are_apart(means: FloatArray, covariances: FloatArray) -> bool:
    """Whether all pairs of clusters are as far apart as Clusters.drawn says."""
    first, second = np.triu_indices(len(means), 1)
    steps = (means[first] - means[second])[..., None]
    shared = (covariances[first] + covariances[second]) / 2.0
    return bool(np.all(steps.transpose(0, 2, 1) @ np.linalg.solve(shared, steps) >= 36.0))


def rotation(n_columns: int, rng: np.random.Generator) -> FloatArray:
    """A random orthogonal matrix."""
    return np.linalg.qr(rng.standard_normal((n_columns, n_columns)))[0]


def linear_map(n_columns: int, decades: float, rng: np.random.Generator) -> FloatArray:
    """A random matrix; its singular values are log-uniform, its condition is 10^decades."""
    logs = np.concatenate([[0.0, -decades], rng.uniform(-decades, 0.0, n_columns)])[:n_columns]
    return rotation(n_columns, rng) * 10.0**logs @ rotation(n_columns, rng)


class Set(NamedTuple):
    """Values, which of their rows are bad, and what is known of them."""

    values: FloatArray  # (n_rows, n_columns)
    bad: BoolArray  # (n_rows,)
    told: Row

    @classmethod
    def of(cls, name: str, seed: int) -> Set:
        """The set of this name."""
        if name not in CLASSES:
            return cls.designed(NAMES.index(name), seed)
        values = np.asarray(getattr(datasets, f"load_{name}")().data, float)
        return cls(values, np.zeros(len(values), bool), {"set": name, "true": CLASSES[name]})

    @classmethod
    def designed(cls, number: int, seed: int) -> Set:
        """A drawn set. Every factor has its levels equally often, in an order of its own.

        There are 1 to 8 clusters, in 1 to 10 columns, and 300 to 3,000 rows, of which half give
        the smallest cluster 5 (columns + 1) rows or more in expectation. Then come

        - a linear map: the condition of its square is 1, 1e2, 1e4 or 1e8,
        - in one set copies of 10 % of the rows, in two a copy of a column, both rounded,
        - a unit per column: a power of ten up to 1, 1e±3 or 1e±6,
        - an offset of 0, 1e3, 1e6 or 1e9 times this unit,
        - 0, 1 or 5 % bad rows, off by 30 to 10,000 standard deviations in one or more columns;
          in two of the sets they have the code 9999 or −999 in a column of unit 1, offset 0,
        - in three sets a Boolean column, which in two of them depends on the cluster.
        """
        rng = np.random.default_rng([seed, 0])
        n_columns = int(rng.permutation(np.arange(N_DRAWN) % 10 + 1)[number])
        offset = float(rng.permutation(np.repeat([0.0, 1e3, 1e6, 1e9], 6))[number])
        power = int(rng.permutation(np.repeat([0, 3, 6], 8))[number])
        decades = int(rng.permutation(np.repeat([0, 2, 4, 8], 6))[number])
        rates = rng.permutation(np.repeat([0.0, 0.01, 0.05], 8))
        some = ["rows", "column", "column", "boolean", "boolean", "coin"]
        kinds = rng.permutation(np.array(some + [""] * (N_DRAWN - len(some))))
        kind, plain = str(kinds[number]), np.flatnonzero((rates > 0.0) & (kinds == "")).tolist()
        code = dict(zip(plain, (9999.0, -999.0), strict=False)).get(number)
        offset, power = (offset, power) if code is None else (0.0, 0)
        rng = np.random.default_rng([seed, 1, number])
        clusters = Clusters.drawn(number % 8 + 1, n_columns, rng)
        least = max(300.0, 10.0 * (n_columns + 1) / clusters.weights.min())
        n_rows = int(np.exp(rng.uniform(np.log(least), np.log(3_000))))
        values, labels = clusters.rows(n_rows, rng)
        values = values @ linear_map(n_columns, decades / 2, rng)
        if kind == "column":
            copied = np.column_stack([values, values[:, -1] / 2.54])
            values = np.asarray(np.round(copied, 3), np.float64)
        if kind == "rows":
            again = rng.choice(n_rows, n_rows // 10, replace=False)
            values, labels = np.vstack([values, values[again]]), np.append(labels, labels[again])
        powers = rng.integers(-power, power + 1, values.shape[1])
        values = (values + offset) * np.power(10.0, powers, dtype=float)
        bad = rng.random(len(values)) < rates[number]
        spoil(values, bad, code, rng)
        if kind in ("boolean", "coin"):
            chances = rng.uniform(0.1, 0.9, len(clusters.weights) if kind == "boolean" else 1)
            is_true = rng.random(len(values)) < chances[labels % len(chances)]
            values = np.column_stack([values, is_true])
        told = {"set": NAMES[number], "true": number % 8 + 1, "offset": offset, "power": power}
        told |= {"decades": decades, "bad": float(rates[number]), "code": code, "kind": kind}
        return cls(values, bad, told)


def spoil(values: FloatArray, bad: BoolArray, code: float | None, rng: np.random.Generator) -> None:
    """Overwrite one or more columns of the bad rows."""
    if code is not None:
        values[bad, 0] = code
        return
    is_hit = rng.random(values.shape) < 0.5
    is_hit[np.arange(len(values)), rng.integers(0, values.shape[1], len(values))] = True
    far = 10.0 ** rng.uniform(1.5, 4.0, values.shape) * rng.choice([-1, 1], values.shape)
    wild = values.mean(axis=0) + far * values.std(axis=0)
    values[:] = np.where(is_hit & bad[:, None], wild, values)


def ours(values: FloatArray) -> Any:
    return DPGaussianMixture(random_state=0).fit(values)


def dp(values: FloatArray) -> Any:
    peer = mixture.BayesianGaussianMixture(
        n_components=min(MOST, len(values)), max_iter=N_ITER, random_state=0
    )
    return peer.fit(values)  # its prior is a Dirichlet process by default


def finite(n_components: int) -> Fit:
    """scikit-learn's mixture with this number of components."""
    fit: Fit = mixture.GaussianMixture(n_components, max_iter=N_ITER, random_state=0).fit
    return fit


def bic(values: FloatArray) -> Any:
    """The best of those that can be fitted."""
    found = []
    for n_components in range(1, min(MOST, len(values)) + 1):
        with suppress(ValueError):  # its covariances were not positive definite
            found.append(finite(n_components)(values))
    return min(found, key=lambda one: float(one.bic(values)))


PEERS: Peers = {"dp": dp, "bic": bic}


def measured(fit: Fit, parts: list[FloatArray], bad: BoolArray, log_scale: float) -> Row:
    """What an estimator finds in rows to train on, held-out rows and all good rows."""
    train, heldout, good = parts
    try:
        with threadpool_limits(1):
            began = time.process_time()
            fitted = fit(train)
            cpu = time.process_time() - began
        scores = fitted.score_samples(heldout) - log_scale
        counts = np.bincount(fitted.predict(good))
        if not np.all(np.isfinite(scores)):
            raise ValueError("a density is not finite")
    except Exception as failure:  # any error is a result here
        return {"error": f"{type(failure).__name__}: {str(failure).splitlines()[0][:150]}"}
    value, good_value = (float(part.mean()) / train.shape[1] for part in (scores, scores[~bad]))
    row: Row = {"found": int((counts >= LEAST_SHARE * len(good)).sum()), "cpu": cpu}
    return row | {"item": float(scores.mean()), "value": value, "good": good_value}


def compared(
    train: FloatArray, heldout: Set, good: FloatArray, peers: Peers, *, is_scaled: bool = False
) -> Row:
    """The rows of all estimators, and by how much ours leads."""
    parts = [train, heldout.values, good]
    row: Row = {"ours": measured(ours, parts, heldout.bad, 0.0)}
    spread, log_scale = train.std(axis=0), 0.0
    if is_scaled:
        scale = np.where(spread > 0.0, spread, 1.0)
        parts = [(part - train.mean(axis=0)) / scale for part in parts]
        log_scale = float(np.log(scale).sum())
    row |= {name: measured(fit, parts, heldout.bad, log_scale) for name, fit in peers.items()}
    for key in ("value", "good"):
        best = max(row[name].get(key, -np.inf) for name in peers)
        row[f"lead_{key}"] = row["ours"].get(key, -np.inf) - best
    return row


def show(rows: list[Row], peers: Peers, path: Path | None) -> None:
    """Print a line for each row and each error; save the rows."""
    names = ("ours", *peers)
    three = ", ".join(names)
    click.echo(f"set, columns, rows, true | found, nats a row, nats a value, CPU s: {three} | lead")
    for row in rows:
        cells = [f"{row['set']:<20} {row['columns']:>3} {row['rows']:>6} {row['true'] or '-':>4}"]
        cells.append(" ".join(f"{row[name].get('found', '-'):>3}" for name in names))
        cells += [
            " ".join(f"{row[name].get(key, np.nan):>10.3f}" for name in names)
            for key in ("item", "value", "cpu")
        ]
        cells.append(f"all {row['lead_value']:+.3f}, good {row['lead_good']:+.3f}")
        click.echo(" | ".join(cells))
        for name in names:
            if "error" in row[name]:
                click.echo(f"    {name}: {row[name]['error']}")
    save(rows, path)


def save(rows: list[Row], path: Path | None) -> None:
    if path is not None:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@click.group()
def main() -> None:
    """Measure mixtures of vectors on data as people have them."""
    warnings.simplefilter("ignore")
    ours(np.random.default_rng(0).standard_normal((300, 2)))  # compiles the kernels


as_json = click.option("--json", "path", type=click.Path(path_type=Path), help="Save the rows.")
kept = click.option("--keep", "is_kept", is_flag=True, help="Write a file of results.")
scaled = click.option("--scaled", is_flag=True, help="Scale columns for scikit-learn.")


@main.command("sets")
@click.argument("names", nargs=-1, type=click.Choice(NAMES))
@click.option("--seed", default=0, show_default=True, help="Of the design and of the halves.")
@scaled
@as_json
@kept
def sets(names: tuple[str, ...], seed: int, scaled: bool, path: Path | None, is_kept: bool) -> None:
    """Compare densities of held-out halves, and numbers of components, on 30 sets."""
    rows = []
    for name in names or NAMES:
        data = Set.of(name, seed)
        order = np.random.default_rng([seed, 2]).permutation(len(data.values))
        train, rest = np.array_split(order, 2)
        heldout = Set(data.values[rest], data.bad[rest], data.told)
        row = data.told | {"rows": len(order), "columns": data.values.shape[1]}
        good = data.values[~data.bad]
        row |= compared(data.values[train], heldout, good, PEERS, is_scaled=scaled)
        rows.append(row)
    show(rows, PEERS, path)
    report("vectors", summary(rows), is_kept, PACKAGES)


def summary(rows: list[Row]) -> dict[str, Row]:
    """Sets with the true number, and CPU seconds in all; also with a lead of −0.02 or more."""
    drawn = [row for row in rows if row["set"] not in CLASSES]
    continuous = [row for row in drawn if row["kind"] not in ("boolean", "coin")]
    found: dict[str, Row] = {}
    for name in ("ours", *PEERS):
        some, true = (
            sum(row[name].get("found") == row["true"] for row in part)
            for part in (continuous, drawn)
        )
        seconds = sum(row[name].get("cpu", 0.0) for row in rows)
        found[name] = {"exact": true, "drawn": len(drawn), "exact_continuous": some}
        found[name] |= {"continuous": len(continuous), "cpu": seconds}
    lead, good = (sum(r[key] >= -ALLOWED for r in rows) for key in ("lead_value", "lead_good"))
    found["ours"] |= {"sets": len(rows), "lead": lead, "lead_good": good}
    return found


@main.command("affine")
@click.option("--n", "n_sets", default=200, show_default=True)
@as_json
@kept
def affine(n_sets: int, path: Path | None, is_kept: bool) -> None:
    """Compare the partitions of data before and after a map of the columns.

    Kept are shares of sets: those with the same partition, with 0.99 of their rows, and those with
    the true number before the map; and the mean share of rows that are in the same component.
    """
    rows, summaries = [], {}
    for likelihood in ("gaussian", "diagonal-gaussian"):
        found = [mapped(number, likelihood) for number in range(n_sets)]
        rows += found
        for row in found:
            if "error" in row:
                click.echo(str(row))
        same = np.array([row.get("same", 0.0) for row in found])
        n_true = sum(row.get("found") == row["true"] for row in found)
        summaries[likelihood] = {
            "sets": n_sets, "same": float((same >= SAME).mean()), "rows": float(same.mean()),
            "exact": n_true / n_sets,
        }  # fmt: skip
    report("vectors-affine", summaries, is_kept, PACKAGES)
    save(rows, path)


def mapped(number: int, likelihood: str) -> Row:
    """Draw a set, map it and compare; "gaussian": any affine map, else units and offsets."""
    rng = np.random.default_rng([number, 3])
    n_clusters, n_columns = int(rng.integers(2, 7)), int(rng.integers(2, 9))
    n_rows = int(rng.integers(400, 1_001))
    values, _ = Clusters.drawn(n_clusters, n_columns, rng).rows(n_rows, rng)
    units = np.diag(10.0 ** rng.uniform(-6.0, 6.0, n_columns))
    other = values @ (linear_map(n_columns, 6.0, rng) if likelihood == "gaussian" else units)
    shifts = rng.standard_normal(n_columns) * 10.0 ** rng.uniform(0.0, 3.0, n_columns)
    other = other + shifts * other.std(axis=0)
    row: Row = {"set": number, "likelihood": likelihood, "true": n_clusters, "columns": n_columns}
    try:
        with threadpool_limits(1):
            first, second = (
                DPGaussianMixture(likelihood=likelihood, random_state=0).fit_predict(each)
                for each in (values, other)
            )
    except Exception as failure:  # any error is a result here
        return row | {"error": f"{type(failure).__name__}: {failure}"}
    counts = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(counts, (first, second), 1.0)
    same = float(counts[linear_sum_assignment(-counts)].sum() / n_rows)
    return row | {"same": same, "found": len(set(first)), "mapped": len(set(second))}


@main.command("large")
@click.option("--rows", "n_rows", default=100_000, show_default=True)
@click.option("--components", default="8,10,12", show_default=True, help="Of GaussianMixture.")
@as_json
@kept
def large(n_rows: int, components: str, path: Path | None, is_kept: bool) -> None:
    """Compare seconds and densities on ten Gaussians in ten columns; a fifth more is scored."""
    peers = {"dp": dp} | {f"K={k}": finite(int(k)) for k in components.split(",") if k}
    rng = np.random.default_rng(4)
    clusters = Clusters.drawn(10, 10, rng)
    train, more = (clusters.rows(n, rng)[0] for n in (n_rows, n_rows // 5))
    row = {"set": "large", "true": 10, "rows": n_rows, "columns": 10}
    row |= compared(train, Set(more, np.zeros(len(more), bool), {}), more, peers)
    show([row], peers, path)
    found = {name.lower(): row[name] for name in ("ours", *peers)}
    report("vectors-large", found, is_kept, PACKAGES)


@main.command("cases")
@click.argument("folder", default="../shared/cases/vectors", type=click.Path(path_type=Path))
@scaled
@as_json
def cases(folder: Path, scaled: bool, path: Path | None) -> None:
    """Compare densities of all rows of tables of numbers, and numbers of components."""
    if not folder.is_dir():
        click.echo(f"{folder}: skipped, since there is no such folder.")
    rows = []
    for file in sorted(folder.glob("*.csv")):
        values = np.loadtxt(file, delimiter=",", skiprows=1, ndmin=2)
        row = {"set": file.stem, "true": None, "rows": len(values), "columns": values.shape[1]}
        whole = Set(values, np.zeros(len(values), bool), {})
        rows.append(row | compared(values, whole, values, PEERS, is_scaled=scaled))
    show(rows, PEERS, path)


if __name__ == "__main__":
    main()
