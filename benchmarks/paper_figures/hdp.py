"""Sudderth, Hughes & Kim (2015), "Reliable variational learning for HDPs", a talk.

Its pictures of collections of documents have no axes in the text that we have, and its Gibbs
samplers are quoted only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from accelerated import mnist
from bars import one_run

from paper_figures.figure import Figure, Row, Setting
from paper_figures.mixtures import moving, trained
from worlds.bars import ten_bars

ALL_MOVES = ("merge", "delete", "birth")
MEAN_FIELD: dict[str, Any] = {"update": "mean-field"}
TALK = {**MEAN_FIELD, "criterion": "bound"}


def bars(setting: Setting) -> Iterator[Row]:
    """Ten bars, from several numbers of topics."""
    n_docs, seeds, starts = (
        (400, range(1), (1, 100)) if setting.is_quick else (1000, range(5), (1, 100, 200))
    )
    methods: dict[str, tuple[tuple[int, ...], tuple[str, ...] | None, dict[str, Any]]] = {
        "talk": (starts, ALL_MOVES, TALK),
        "talk, merges and deletes": (starts[1:], ("merge", "delete"), TALK),
        "moves, our criterion": (starts, ALL_MOVES, {}),
        "default": ((100,), None, {}),
        "fixed, mean-field": ((100,), (), MEAN_FIELD),
    }
    one_run(ten_bars(np.random.default_rng(0), n_docs=400), 30, 0, ALL_MOVES)  # compile
    for seed in seeds:
        for method, (some, moves, options) in methods.items():
            for start in some:
                world = ten_bars(np.random.default_rng(seed), n_docs=n_docs)
                found = one_run(world, start, seed, moves, **options)
                yield {"method": method, "start": start, "seed": seed, **found._asdict()}


def digits(setting: Setting) -> Iterator[Row]:
    """MNIST without correlations, from several numbers of components."""
    values, labels = mnist(setting.shared)
    starts: tuple[int, ...] = (1, 50, 300)
    if setting.is_quick:
        values, labels, starts = values[:5000], labels[:5000], (1, 50)
    for start in starts:
        run = trained(values, moving("diagonal-gaussian", start), 20, 0)
        yield {"start": start, **run.row(), "accuracy": run.accuracy(values, labels)}


FIGURES = {
    "hdp15-bars": Figure(
        "Merges and deletes lead from 100 topics to 10 true bars; fixed truncation and Gibbs do "
        "not.",
        bars,
        named_by=("method",),
        across=("start",),
    ),
    "hdp15-mnist": Figure(
        "Where Gibbs samplers end on MNIST depends on the start, unlike births and merges.",
        digits,
        named_by=("start",),
    ),
}
