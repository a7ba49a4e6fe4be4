"""Train another toolkit on prepared documents, and keep the counts of its topics.

    python benchmarks/peer_counts.py topica-cvb0 own kos.npz counts.npz --topics 50 --cpu 120

With the setting ``own`` a toolkit has the priors that are its defaults; with ``ours`` it has those
of sparsetopics. Probabilities of words contain a toolkit's own smoothing. Counts do not, so that
every toolkit can be smoothed by the same rule. Words that training lacks have counts of 0.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from scipy import sparse

Array = np.ndarray[Any, Any]
SETTINGS = ("own", "ours")
TOTAL_CONCENTRATION, WORD_CONCENTRATION = 0.5, 0.1  # α, of all topics, and η of ours
TRIAL_SWEEPS = 5  # which tell how many fit into the time
MOST_SWEEPS = 1000


class Peer(NamedTuple):
    """What a toolkit has learned."""

    counts: Array  # (n_topics, n_words)
    smoothing: float  # the toolkit's own
    cpu: float  # seconds
    n_sweeps: int


def train_topica(
    train: sparse.csr_array, n_topics: int, setting: str, cpu: float, seed: int, sampler: str
) -> Peer:
    """A running fit cannot be stopped, so a short one tells how many sweeps there is time for."""
    from topica import LDA

    ours = {"alpha_sum": TOTAL_CONCENTRATION, "beta": WORD_CONCENTRATION, "optimize_interval": 0}
    lists = _word_lists(train)

    def fit(n_sweeps: int) -> tuple[Any, float]:
        model = LDA(n_topics, **(ours if setting == "ours" else {}), sampler=sampler, seed=seed)
        start = time.process_time()
        model.fit(
            lists, iters=n_sweeps, num_samples=1, num_threads=1, keep_theta_draws=False,
            progress=False,
        )  # fmt: skip
        return model, time.process_time() - start

    _, trial = fit(TRIAL_SWEEPS)
    n_sweeps = int(min(MOST_SWEEPS, max(TRIAL_SWEEPS, cpu / trial * TRIAL_SWEEPS)))
    model, spent = fit(n_sweeps)
    alpha = np.asarray(model.alpha)
    lengths = np.asarray(model.doc_lengths)[:, None]
    sizes = (model.doc_topic * (lengths + alpha.sum()) - alpha).sum(axis=0)
    columns = np.array(model.vocabulary).astype(int)
    return _peer(train, model.topic_word, sizes, model.beta, columns, spent, n_sweeps)


def train_tomotopy(
    train: sparse.csr_array, n_topics: int, setting: str, cpu: float, seed: int
) -> Peer:
    """Train until the time is over."""
    import tomotopy

    alpha = TOTAL_CONCENTRATION / n_topics
    model = (
        tomotopy.LDAModel(k=n_topics, alpha=alpha, eta=WORD_CONCENTRATION, seed=seed)
        if setting == "ours"
        else tomotopy.LDAModel(k=n_topics, seed=seed)
    )
    if setting == "ours":
        model.optim_interval = 0
    for words in _word_lists(train):
        model.add_doc(words)
    start, n_sweeps = time.process_time(), 0
    while time.process_time() - start < cpu and n_sweeps < MOST_SWEEPS:
        model.train(TRIAL_SWEEPS, workers=1)
        n_sweeps += TRIAL_SWEEPS
    spent = time.process_time() - start
    topics = np.array([model.get_topic_word_dist(topic) for topic in range(n_topics)])
    sizes, columns = np.array(model.get_count_by_topics()), np.array(model.used_vocabs).astype(int)
    return _peer(train, topics, sizes, model.eta, columns, spent, n_sweeps)


def _word_lists(train: sparse.csr_array) -> list[list[str]]:
    bounds = zip(train.indptr[:-1], train.indptr[1:], strict=True)
    counts = train.data.astype(int)
    return [np.repeat(train.indices[a:b], counts[a:b]).astype(str).tolist() for a, b in bounds]


def _peer(
    train: sparse.csr_array, topics: Array, sizes: Array, smoothing: float, columns: Array,
    cpu: float, n_sweeps: int,
) -> Peer:  # fmt: skip
    """``topics`` (n_topics, n_columns) are (counts + smoothing) / (sizes + n_columns smoothing)."""
    totals = sizes[:, None] + len(columns) * smoothing
    counts = np.zeros((len(topics), train.shape[1]))
    counts[:, columns] = np.maximum(topics * totals - smoothing, 0.0)
    assert abs(counts.sum() / train.sum() - 1) < 1e-3, "not the toolkit's rule of smoothing"
    return Peer(counts, smoothing, cpu, n_sweeps)


PEERS: dict[str, Callable[..., Peer]] = {
    "topica-cvb0": lambda *given: train_topica(*given, sampler="cvb0"),
    "topica-sparse": lambda *given: train_topica(*given, sampler="sparse"),
    "tomotopy": train_tomotopy,
}


@click.command()
@click.argument("peer", type=click.Choice(list(PEERS)))
@click.argument("setting", type=click.Choice(SETTINGS))
@click.argument("documents", type=click.Path(exists=True, path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--topics", "n_topics", type=int, required=True)
@click.option("--cpu", type=float, required=True, help="Seconds.")
@click.option("--seed", default=1)
def main(
    peer: str, setting: str, documents: Path, out: Path, n_topics: int, cpu: float, seed: int
) -> None:
    """Train PEER with a SETTING on DOCUMENTS, and write its counts to OUT."""
    with np.load(documents, allow_pickle=False) as arrays:
        parts = (arrays["data"], arrays["indices"], arrays["indptr"])
        train = sparse.csr_array(parts, shape=tuple(arrays["shape"]))[arrays["train"]]
    np.savez(out, **PEERS[peer](train, n_topics, setting, cpu, seed)._asdict())


if __name__ == "__main__":
    main()
