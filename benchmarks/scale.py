"""Measure whether the cost of a document and the memory stay the same in collections of any size.

    python benchmarks/scale.py --documents 100000,1000000,10000000,100000:100 --corpus reddit --keep

Documents are drawn from 100 topics over 50,000 words and written as shards, which are removed after
their run. They have 12 tokens on average, or as many as stand behind the size. ``--corpus`` names a
corpus folder. Collections of two lengths also tell what a document and a pair cost.

The model is memoized LDA, streamed: no documents are held in memory. Each size trains in its own
process. CPU seconds are those of the last lap, including reading and the global step, and those of
the global step alone. Peak memory is that of the process.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from results import Cell, keep

from sparsetopics.base.batches import DocumentBatch
from sparsetopics.corpora.batching import plan_batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.store.document_rows import DocumentKind, DocumentManifest, Documents
from sparsetopics.corpora.store.manifest import Sizes
from sparsetopics.corpora.store.shards import MemoryRowGroup, ShardWriter
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.execution.executors import Executor
from sparsetopics.inference import laps as lap_module
from sparsetopics.inference.course import Hooks
from sparsetopics.inference.laps import Laps
from sparsetopics.inference.training import train
from sparsetopics.options.training import LocalOptions, TrainingOptions

N_TOPICS = 100
DOCS_AT_ONCE = 65_536
OF_ALL = 0.3  # of the tokens: words that all topics share
STEPS = 7_919, 104_729  # topic k numbers the words 7919 k v + 104729 k: both are prime


class Shape(NamedTuple):
    """Of drawn documents."""

    n_words: int = 50_000
    mean_tokens: float = 12.0


class Speed(NamedTuple):
    """Of one run."""

    n_docs: int
    n_pairs: int
    n_batches: int
    lap: float  # CPU seconds
    global_step: float  # CPU seconds of that lap outside the local steps
    peak: float  # GB
    elbo: float  # nats per token


def draw_documents(
    rng: np.random.Generator, first: int, n_docs: int, shape: Shape
) -> MemoryRowGroup[DocumentBatch]:
    """Documents of two topics each, a topic's words in an order of its own, by Zipf's law."""
    n_words = shape.n_words
    lengths = 1 + rng.poisson(shape.mean_tokens - 1.0, n_docs)
    documents = np.repeat(np.arange(n_docs), lengths)
    own = rng.integers(1, N_TOPICS + 1, (n_docs, 2))
    topics = own[documents, rng.integers(0, 2, len(documents))]
    topics[rng.random(len(documents)) < OF_ALL] = 0
    ranks = _zipf_ranks(rng, len(documents), n_words)
    words = np.where(topics == 0, ranks, (STEPS[0] * topics * ranks + STEPS[1] * topics) % n_words)
    keys, counts = np.unique(documents * n_words + words, return_counts=True)
    indptr = np.searchsorted(keys, np.arange(n_docs + 1) * n_words).astype(np.int64)
    batch = DocumentBatch(indptr, (keys % n_words).astype(np.int32), counts.astype(np.uint32))
    names = pa.array([f"{first + d:09d}" for d in range(n_docs)], pa.string())
    return MemoryRowGroup(Sizes.of(batch), names, pa.nulls(n_docs, pa.string()), batch)


def _zipf_ranks(rng: np.random.Generator, n: int, n_words: int) -> NDArray[np.int64]:
    weights = np.cumsum(1.0 / np.arange(5.0, n_words + 5.0))
    found: NDArray[np.int64] = np.searchsorted(weights, rng.random(n) * weights[-1])
    return found


def write_corpus(folder: Path, n_docs: int, shape: Shape = Shape()) -> None:  # noqa: B008
    """A corpus folder of drawn documents."""
    rng = np.random.default_rng(n_docs)
    with closing(ShardWriter(folder, DocumentKind(shape.n_words))) as writer:
        for first in range(0, n_docs, DOCS_AT_ONCE):
            writer.append(draw_documents(rng, first, min(DOCS_AT_ONCE, n_docs - first), shape))
        shards = writer.finish()
    words = tuple(f"w{v:05d}" for v in range(shape.n_words))
    once = np.ones(shape.n_words, np.int64)
    DocumentManifest.write(folder, Documents(Vocabulary(words, once, once), ()), shards)


class _Outside:
    """CPU seconds between local steps: those of a lap that are not theirs."""

    def __init__(self) -> None:
        self.local = 0.0

    def visits(self, *given: Any) -> Any:
        """``Laps._visits``, timed."""
        visits = self.of_laps(*given)
        while True:
            began = time.process_time()
            visit = next(visits, None)
            self.local += time.process_time() - began
            if visit is None:
                return
            yield visit

    of_laps = staticmethod(Laps._visits)


def train_once(folder: str, n_topics: int, sparsity: int, laps: int, cold_every: int) -> Speed:
    """Train on a corpus folder; in a process of its own."""
    corpus = Corpus.open(folder)
    source = plan_batches(corpus, None, np.random.default_rng(0), resident_pairs=0)
    options = TrainingOptions(
        n_topics,
        local=LocalOptions("collapsed", sparsity=sparsity),
        laps=laps,
        cold_every=cold_every,
    )
    outside, marks, elbos = _Outside(), [(0.0, 0.0)], [0.0]
    lap_module.Laps._visits = lambda *given: outside.visits(*given)  # type: ignore[method-assign]

    def on_lap(info: Any, model: object) -> None:
        marks.append((time.process_time(), outside.local))
        elbos.append(info.elbo_per_token)

    with tempfile.TemporaryDirectory() as scratch:
        rng, hooks = np.random.default_rng(0), Hooks(on_lap=on_lap)
        train(source, options, Path(scratch), Executor(), rng, hooks=hooks)
    (before, local_before), (after, local_after) = marks[-2:]
    lap, local = after - before, local_after - local_before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return Speed(corpus.n_docs, corpus.n_pairs, source.n_batches, lap, lap - local, peak, elbos[-1])


def report(
    folder: Path, n_topics: int, sparsity: int, laps: int, cold_every: int, as_json: bool
) -> dict[str, Cell]:
    """Print one line, and return its row."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.apply(train_once, (str(folder), n_topics, sparsity, laps, cold_every))
    speed, share = found.n_docs / found.lap, found.global_step / found.lap
    row = {"documents": found.n_docs, "pairs": found.n_pairs, "batches": found.n_batches,
           "cpu": found.lap, "speed": speed, "global_step": share,
           "pair_us": 1e6 * (found.lap - found.global_step) / found.n_pairs,
           "peak_gb": found.peak, "elbo": found.elbo}  # fmt: skip
    if as_json:
        click.echo(json.dumps(found._asdict()))
        return row
    click.echo(
        f"{found.n_docs:>12,}{found.n_batches:>9,}{found.lap:>9.1f}{speed:>12,.0f}{share:>13.1%}"
        f"{found.peak:>9.2f}{found.elbo:>9.3f}"
    )
    return row


def costs(rows: Sequence[Mapping[str, Any]]) -> dict[str, Cell]:
    """Microseconds of local steps for each document and pair, by the least relative errors."""
    sizes = np.array([[row["documents"], row["pairs"]] for row in rows], float)
    local = 1e6 * np.array([row["cpu"] * (1.0 - row["global_step"]) for row in rows])
    found = np.linalg.lstsq(sizes / local[:, None], np.ones(len(rows)), rcond=None)[0]
    return {"document_us": float(found[0]), "pair_us": float(found[1])}


@click.command()
@click.option("--documents", help="Sizes of drawn collections, with a mean length: 100000:12,...")
@click.option(
    "--corpus", type=click.Path(exists=True, path_type=Path), help="Train on this corpus, too."
)
@click.option("--scratch", type=click.Path(path_type=Path), help="Folder for the drawn shards.")
@click.option("--topics", default=100)
@click.option("--sparsity", default=4)
@click.option("--laps", default=2)
@click.option("--cold-every", default=1, help="2 makes the last of two laps warm.")
@click.option("--json", "as_json", is_flag=True)
@click.option("--keep", "is_kept", is_flag=True, help="Write results/scale.json.")
def main(
    documents: str | None,
    corpus: Path | None,
    scratch: Path | None,
    topics: int,
    sparsity: int,
    laps: int,
    cold_every: int,
    as_json: bool,
    is_kept: bool,
) -> None:
    """Print a line for each size."""
    rows = {}
    if not as_json:
        click.echo(
            f"{'documents':>12}{'batches':>9}{'CPU s':>9}{'docs/CPU s':>12}{'global step':>13}"
            f"{'peak GB':>9}{'ELBO':>9}"
        )
    if corpus is not None:
        rows[corpus.name] = report(corpus, topics, sparsity, laps, cold_every, as_json)
    for size in documents.split(",") if documents else ():
        n_docs, _, n_tokens = size.partition(":")
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            write_corpus(Path(folder), int(n_docs), Shape(mean_tokens=float(n_tokens or 12)))
            row = report(Path(folder), topics, sparsity, laps, cold_every, as_json)
        rows[size.replace(":", "/")] = row
    if is_kept:
        keep("scale", rows)
        keep("scale-costs", {"document and pair": costs(list(rows.values()))})


if __name__ == "__main__":
    main()
