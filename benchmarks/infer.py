"""Measure how fast topic proportions of documents are inferred with fixed topics.

    sparsetopics ingest ../shared/data/reddit1m/*.jsonl.gz --out reddit
    sparsetopics train reddit --model lda --topics 100 --laps 2 --out run
    OMP_NUM_THREADS=1 python benchmarks/infer.py --corpus reddit --drawn 30000000 --run run --keep

The corpus is read one row group at a time, as by ``sparsetopics infer``. Only inference is timed:
reading is measured apart, and writing is left out. Of several rounds over the corpus, the median
is printed, with the fastest and the slowest. Kernels are compiled before.

With ``--drawn``, ``infer_batches`` answers that many posts in record batches. Beforehand, a million
different posts are drawn from the topics of the run; they are used in turn. Everything is timed:
cutting texts into words, inference, and the columns of the result.
"""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import pyarrow as pa
from results import Cell, report

from sparsetopics import infer_batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.inference.document_step import topic_proportions
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import Run, load_run

N_WARMUP = 10  # documents to compile with
N_DIFFERENT, AT_ONCE = 1 << 20, 1 << 16  # drawn posts, in all and in a batch
MEAN_TOKENS = 12.7  # of a post, as in the Reddit posts


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


def drawn_posts(run: Run[TopicPosterior]) -> list[pa.RecordBatch]:
    """Posts of two topics each."""
    rng, words = np.random.default_rng(0), np.array(run.words.words, object)
    sums = np.cumsum(run.model.topic_word_mean, axis=1)
    batches = []
    for _ in range(N_DIFFERENT // AT_ONCE):
        lengths = 1 + rng.poisson(MEAN_TOKENS - 1, AT_ONCE)
        ends, posts = np.cumsum(lengths), np.repeat(np.arange(AT_ONCE), lengths)
        topics = rng.integers(0, len(sums), (AT_ONCE, 2))[posts, rng.integers(0, 2, ends[-1])]
        chosen = np.empty(ends[-1], np.int64)
        for topic, own in enumerate(sums):
            places = np.flatnonzero(topics == topic)
            chosen[places] = np.searchsorted(own[:-1], rng.random(len(places)) * own[-1])
        tokens = np.split(words[chosen], ends[:-1])
        batches.append(pa.record_batch({"body": [" ".join(each) for each in tokens]}))
    return batches


def answer_posts(path: Path, n_posts: int, top: int | None) -> dict[str, Cell]:
    """The speed of ``infer_batches``, and peak memory after a tenth and at the end."""
    posts = drawn_posts(load_run(path, TopicPosterior))
    answer = infer_batches(path, "body", top=top)
    list(answer([posts[0][:N_WARMUP]]))

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, n_posts, AT_ONCE):
            yield posts[start // AT_ONCE % len(posts)][: n_posts - start]

    began, began_wall, n_answered, peaks = time.process_time(), time.perf_counter(), 0, []
    for batch in answer(batches()):
        n_answered += len(batch)
        if len(peaks) < 10 * n_answered // n_posts:
            peaks.append(peak_gb())
    cpu, wall = time.process_time() - began, time.perf_counter() - began_wall
    return {
        "documents": n_answered,
        **{"cpu": cpu, "wall": wall, "speed": n_answered / cpu},
        **{"peak_gb_after_a_tenth": peaks[0], "peak_gb": peaks[-1]},
    }


def peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def infer_corpus(folder: Path, path: Path, rounds: int, workers: int) -> dict[str, Cell]:
    """The speed of inference, the median of rounds."""
    run, corpus = load_run(path, TopicPosterior), Corpus.open(folder)
    run.reading(corpus, str(folder))
    model, n_docs = run.model, corpus.n_docs
    few = corpus.row_groups[0].read()[:N_WARMUP]
    topic_proportions(few, model.topic_word_mean, model.doc_concentration, workers=workers)
    done = [one_round(corpus, model, workers) for _ in range(rounds)]
    cpu, wall = (statistics.median(values) for values in list(zip(*done, strict=True))[:2])
    return {
        **{"documents": n_docs, "tokens": int(corpus.n_tokens), "topics": model.n_topics},
        **{"cpu": cpu, "cpu_least": min(done).cpu, "cpu_most": max(done).cpu, "wall": wall},
        **{"speed": n_docs / cpu, "speed_wall": n_docs / wall},
        **{"reading": min(each.reading for each in done), "peak_gb": peak_gb()},
        "largest_share": done[0].largest_shares / n_docs,
    }


@click.command()
@click.option("--corpus", "folder", type=click.Path(exists=True, path_type=Path))
@click.option("--drawn", type=int, help="Answer this many drawn posts by infer_batches.")
@click.option("--top", type=int, help="Topics to list for each drawn post. Default: proportions.")
@click.option("--run", "path", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--rounds", default=3)
@click.option("--workers", default=1)
@click.option("--keep", "is_kept", is_flag=True, help="Write results/infer.json.")
def main(
    folder: Path | None, drawn: int | None, top: int | None, path: Path, rounds: int,
    workers: int, is_kept: bool,
) -> None:  # fmt: skip
    """Print CPU seconds of inference and documents per CPU second."""
    if drawn is None and folder is None:
        raise click.UsageError("Give --corpus or --drawn.")
    rows: dict[str, dict[str, Cell]] = {}
    if folder is not None:
        rows[folder.name] = infer_corpus(folder, path, rounds, workers)
    if drawn is not None:
        rows["drawn"] = answer_posts(path, drawn, top)
    report("infer", rows, is_kept)


if __name__ == "__main__":
    main()
