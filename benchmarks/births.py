"""Measure whether births leave one topic on small collections of documents.

    OMP_NUM_THREADS=1 python benchmarks/births.py --data dblp,m10,reddit,acl --documents 800

Each collection is a random part of a prepared one, with the words that two of its documents have.
A tenth is held out. Lines tell the topics that an HDP ends with, from one topic, the collapsed
criterion and the held-out score, in nats per token; for LDA and an HDP of one or two topics, too.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import click
import numpy as np
from heldout import HeldOut
from prepared import SOURCES, prepare
from scipy import sparse

from sparsetopics.corpora.batching import plan_batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.measures.paired import mean_score

# Before this file's own folder, where ``bars`` is the benchmark.
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from worlds.collapsed_criterion import from_one_topic, trained_with_criterion, without_moves

OBSERVED_SHARE = 0.8  # of a held-out document's words
FIXED = [("hdp", 1), ("hdp", 2), ("lda", 2)]


def parts(counts: sparse.csr_array, n_docs: int) -> tuple[sparse.csr_array, HeldOut]:
    """Some documents to train on, and a ninth as many to score."""
    rng = np.random.default_rng(0)
    counts = counts[rng.permutation(counts.shape[0])[: n_docs * 10 // 9]]
    counts = counts[:, np.bincount(counts.indices, minlength=counts.shape[1]) >= 2]
    counts = counts[np.diff(counts.indptr) >= 5]
    first = counts.shape[0] // 10
    cuts = []
    for row in range(first):
        own = slice(counts.indptr[row], counts.indptr[row + 1])
        words, n = counts.indices[own], counts.data[own].astype(float)
        order = rng.permutation(len(words))
        observed, scored = np.split(order, [int(OBSERVED_SHARE * len(words))])
        observed, scored = np.sort(observed), np.sort(scored)
        cuts.append((words[observed], n[observed], words[scored], n[scored]))
    return counts[first:], HeldOut.of(cuts)


@click.command()
@click.option("--shared", type=click.Path(exists=True, path_type=Path), default=Path("../shared"))
@click.option("--folder", type=click.Path(path_type=Path), default=Path("bench-data"))
@click.option("--data", default="dblp,m10,reddit,acl", help=f"Some of {', '.join(SOURCES)}.")
@click.option("--documents", default=800)
@click.option("--seeds", default=8)
def main(shared: Path, folder: Path, data: str, documents: int, seeds: int) -> None:
    """Print a line for each collection and model."""
    for name in data.split(","):
        prepared = prepare(name, shared.resolve(), folder)
        counts, heldout = parts(prepared.train, documents)
        words = [f"w{word}" for word in range(counts.shape[1])]
        sizes = f"{counts.shape[0]} documents, {counts.sum()} tokens, {len(words)} words"
        click.echo(f"{name}: {sizes}")
        plans = [(f"{model} {k} fixed", without_moves(model, k)) for model, k in FIXED]
        for title, options in [*plans, ("hdp, moves", from_one_topic())]:
            numbers, values = [], []
            for seed in range(seeds):
                source = plan_batches(
                    Corpus.from_csr(counts, words), None, np.random.default_rng(seed)
                )
                began = time.process_time()
                with tempfile.TemporaryDirectory() as scratch:
                    model, value = trained_with_criterion(source, Path(scratch), options, seed)
                cpu = time.process_time() - began
                score = mean_score(heldout.scores(model.topic_word_mean)).mean
                numbers.append(model.n_topics)
                values.append((value, score, cpu))
            lowest, means = np.min(values, axis=0), np.mean(values, axis=0)
            highest = np.max(values, axis=0)[0]
            topics = " ".join(map(str, numbers))
            click.echo(
                f"  {title:<12}criterion {lowest[0]:.4f} to {highest:.4f}, "
                f"held out {means[1]:.4f}, {means[2]:.1f} CPU s, topics {topics}"
            )


if __name__ == "__main__":
    main()
