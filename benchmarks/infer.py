"""Measure how fast topic proportions of documents are inferred with fixed topics.

    sparsetopics ingest ../shared/data/reddit1m/*.jsonl.gz --out reddit
    sparsetopics train reddit --model lda --topics 100 --laps 2 --out run
    OMP_NUM_THREADS=1 python benchmarks/infer.py --corpus reddit --run run

The corpus is read one row group at a time, as by ``sparsetopics infer``. Only inference is timed:
reading is measured apart, and writing is left out. Of several rounds over the corpus, the median
is printed, with the fastest and the slowest. Kernels are compiled before.
"""

from __future__ import annotations

import resource
import statistics
import time
from pathlib import Path
from typing import NamedTuple

import click

from sparsetopics.corpora.corpus import Corpus
from sparsetopics.inference.document_step import topic_proportions
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import load_run

N_WARMUP = 10  # documents to compile with


class Round(NamedTuple):
    """All documents of the corpus, once."""

    cpu: float  # seconds of inference
    wall: float
    reading: float  # CPU seconds
    largest_shares: float  # sum over documents: equal for equal results


def one_round(corpus: Corpus, model: TopicPosterior, workers: int) -> Round:
    """Infer the proportions of every document."""
    topics, prior = model.topic_word_mean, model.doc_concentration
    cpu = wall = reading = largest = 0.0
    for group in corpus.row_groups:
        began_reading = time.process_time()
        batch = group.read()
        began, began_wall = time.process_time(), time.perf_counter()
        shares = topic_proportions(batch, topics, prior, workers=workers)
        cpu += time.process_time() - began
        wall += time.perf_counter() - began_wall
        reading += began - began_reading
        largest += float(shares.max(axis=1).sum())
    return Round(cpu, wall, reading, largest)


@click.command()
@click.option("--corpus", "folder", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--run", "path", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--rounds", default=3)
@click.option("--workers", default=1)
def main(folder: Path, path: Path, rounds: int, workers: int) -> None:
    """Print CPU seconds of inference and documents per second."""
    run, corpus = load_run(path, TopicPosterior), Corpus.open(folder)
    run.check_corpus(corpus, str(folder))
    model, n_docs = run.model, corpus.n_docs
    few = corpus.row_groups[0].read()[:N_WARMUP]
    topic_proportions(few, model.topic_word_mean, model.doc_concentration, workers=workers)
    done = [one_round(corpus, model, workers) for _ in range(rounds)]
    cpu, wall = (statistics.median(values) for values in list(zip(*done, strict=True))[:2])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    click.echo(
        f"{n_docs:,} documents, {corpus.n_tokens:,.0f} tokens, K = {model.n_topics}, "
        f"{workers} worker(s)"
    )
    click.echo(
        f"inference {cpu:.2f} CPU s ({min(done).cpu:.2f} to {max(done).cpu:.2f}), {wall:.2f} s; "
        f"{n_docs / cpu:,.0f} documents per CPU s, {n_docs / wall:,.0f} per s"
    )
    click.echo(
        f"reading {min(each.reading for each in done):.2f} CPU s; peak {peak:.2f} GB; "
        f"mean of the largest shares {done[0].largest_shares / n_docs:.6f}"
    )


if __name__ == "__main__":
    main()
