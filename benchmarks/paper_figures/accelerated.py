"""Kurihara, Welling & Vlassis (2006), "Accelerated variational Dirichlet process mixtures".

"All items" is growth without a tree by the same code, which stands for the paper's VDP.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from accelerated import c_separated, compared, grow, mnist
from prepared import Prepared, prepare

from paper_figures.figure import Figure, Row, Setting
from paper_figures.mixtures import BASE, fixed, trained
from sparsetopics import LDA
from sparsetopics.base.batches import FloatArray, Vectors
from sparsetopics.options.table import DEFAULT_TREE_TOLERANCE

N_STARTS = 20  # of the paper's BJ, with as many components


def growth(values: Vectors, seed: int) -> Row:
    """On the tree and on all items."""
    found = compared(values, DEFAULT_TREE_TOLERANCE, len(values), seed)
    return {
        "tree_components": found.tree.n_components,
        "all_components": found.plain.n_components,
        "coordinates_s": round(found.tree.coordinates, 3),
        "building_s": round(found.tree.building, 3),
        "tree_s": round(found.tree.training, 3),
        "all_s": round(found.plain_seconds, 3),
        "faster": round(found.faster, 2),
        "tree_elbo": found.tree.elbo,
        "all_elbo": found.plain.elbo,
        "free_energy_ratio": found.ratio,
    }


def compile_kernels() -> None:
    few = c_separated(np.random.default_rng(0), 2_000, 4, 2.0)
    for tolerance in (DEFAULT_TREE_TOLERANCE, 0.0):
        grow(few, tolerance, 0)


def starts(setting: Setting) -> Iterator[Row]:
    """Growth beside the best of several starts with a fixed number of components."""
    compile_kernels()
    options = fixed("full", N_STARTS, 100, "gaussian")
    for n_items in (1000,) if setting.is_quick else (1000, 2000, 5000):
        values = c_separated(np.random.default_rng(0), n_items, 16, 2.0)
        row = growth(values, 0)
        runs = [trained(values, options, 1, seed) for seed in range(N_STARTS)]
        best, cpu = max(run.laps[-1].elbo_per_token for run in runs), sum(run.cpu for run in runs)
        yield {"items": n_items, **row, "starts_elbo": best, "starts_s": round(cpu, 2)}


def separated(setting: Setting) -> Iterator[Row]:
    """Items, columns and separation, one varied at a time, around two numbers of items."""
    compile_kernels()
    items = (1000, 10_000, 30_000) if setting.is_quick else (1000, 10_000, 100_000, 1_000_000)
    bases = (10_000,) if setting.is_quick else (10_000, 100_000)
    columns = (16, 32) if setting.is_quick else (16, 32, 64, 128)
    cases = [(n_items, 16, 2.0) for n_items in items]
    cases += [(base, n_columns, 2.0) for base in bases for n_columns in columns]
    cases += [(base, 16, c) for base in bases for c in (1.0, 3.0)]
    for seed in range(1 if setting.is_quick else 3):
        for n_items, n_columns, c in dict.fromkeys(cases):
            values = c_separated(np.random.default_rng(seed), n_items, n_columns, c)
            case = {"items": n_items, "columns": n_columns, "c": c, "seed": seed}
            yield {**case, **growth(values, seed)}


def digits(setting: Setting) -> Iterator[Row]:
    """MNIST in 50 columns."""
    compile_kernels()
    values, _ = mnist(setting.shared)
    values = values[:5000] if setting.is_quick else values
    yield {"items": len(values), **growth(values, 0)}


def abstracts(setting: Setting) -> Iterator[Row]:
    """Topics of abstracts, their counts as vectors, growth, and the topics of each cluster."""
    data = prepare("acl", setting.shared, setting.folder)
    n_docs, n_topics, laps = (3000, 30, 5) if setting.is_quick else (data.train.shape[0], 200, 20)
    values, words = topic_counts(data, n_docs, n_topics, laps)
    compile_kernels()
    yield {"part": "growth", "documents": n_docs, **growth(values, 0)}
    model = trained(values, replace(BASE, learner="accelerated"), 1, 0).model
    clusters = model.responsibilities(values).argmax(axis=1)
    for cluster in np.unique(clusters).tolist():
        own = values[clusters == cluster]
        first = np.argsort(-np.expm1(own).sum(axis=0))[:3].tolist()
        yield {
            "part": f"cluster {cluster}",
            "documents": len(own),
            "topics": " ".join(map(str, first)),
            "words": words[first[0]],
        }


def topic_counts(
    data: Prepared, n_docs: int, n_topics: int, laps: int
) -> tuple[Vectors, list[str]]:
    """log(1 + y) of each topic's tokens y in each document, and the words of each topic."""
    counts = data.train[:n_docs]
    lda = LDA(n_topics, max_iter=laps, random_state=0)
    shares: FloatArray = lda.fit(counts).transform(counts)
    tokens = np.asarray(counts.sum(axis=1)).reshape(-1, 1)
    best = np.argsort(-lda.components_, axis=1)[:, :8]
    words = [" ".join(data.words[word] for word in row) for row in best.tolist()]
    return np.log1p(shares * tokens).astype(np.float32), words


FIGURES = {
    "vdp06-figure-1": Figure(
        "Growth is faster than 20 starts with a fixed number, and its free energy lower.",
        starts,
        named_by=("items",),
    ),
    "vdp06-figure-2": Figure(
        "The tree is faster by a factor linear in N (154 at 10^6); ratios stay near 1.",
        separated,
        named_by=("items", "c"),
        across=("columns",),
    ),
    "vdp06-figure-3": Figure(
        "On MNIST, the tree is 21 times faster at a ratio of 1.044, with 96 instead of 88.",
        digits,
        named_by=("items",),
    ),
    "vdp06-tables": Figure(
        "Tables 1 and 2: vectors of topic counts of abstracts, 6.7 times faster, ratio 1.040.",
        abstracts,
        named_by=("part",),
    ),
}
