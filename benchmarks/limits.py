"""Compare the time of the document step with the least time that the machine allows.

    OMP_NUM_THREADS=1 python benchmarks/limits.py --data 20news --topics 100

Three things are measured in the same call: how fast memory is read and written (a sum of two
arrays that no cache holds); how fast one word follows another in a sweep (the arithmetic alone, on
a word whose numbers are in the first cache, without choosing or checking anything); and the
document step itself, cold and warm, on a sample of documents with the topics of a few laps.

A collapsed sweep is limited by latency, not by bytes. The weights of a word depend on the result
for the word before it, its L products are added one after the other, and a division follows. The
least time of a step is therefore the number of its word-iterations times the time of one word,
plus its bytes divided by the bandwidth. The bytes are the rows of weights that it gathers, and
what it writes.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import click
import numba
import numpy as np
from numpy.typing import NDArray
from prepared import SOURCES, prepare

from sparsetopics.base.batches import DocumentBatch
from sparsetopics.corpora.batching import plan_batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.execution.executors import SerialExecutor
from sparsetopics.inference.document_step import fit_documents
from sparsetopics.inference.local_step import Globals
from sparsetopics.inference.training import Hooks, train
from sparsetopics.model.document_topics import DocumentTopics
from sparsetopics.options.training import LocalOptions, TrainingOptions

SAMPLE = 2_000  # documents
REPEATS = 5
FAR = 20_000_000  # float64 numbers: more than any cache holds


class Machine(NamedTuple):
    """What there is at most."""

    bandwidth: float  # bytes a second, read and written
    word: float  # seconds of a word in a sweep of L slots


class Step(NamedTuple):
    """The document step of the sample."""

    seconds: float
    iterations: float  # of a document-word pair, in the mean


@numba.njit(nogil=True)
def _add(left: NDArray[np.float64], right: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    for i in range(len(out)):
        out[i] = left[i] + right[i]


@numba.njit(nogil=True)
def _words(
    weights: NDArray[np.float64],  # (n_slots,)  N_k + α_k
    likelihoods: NDArray[np.float32],  # (n_words, n_slots)
    shares: NDArray[np.float64],  # (n_words, n_slots)
    n_sweeps: int,
) -> None:
    """Sweeps over words that all have the same topics, in the order of their slots."""
    n_words, n_slots = shares.shape
    products = np.zeros(n_slots)
    for _ in range(n_sweeps):
        for u in range(n_words):
            total = 0.0
            for slot in range(n_slots):
                product = likelihoods[u, slot] * (weights[slot] - shares[u, slot])
                products[slot] = product
                total += product
            scale = 1.0 / total
            for slot in range(n_slots):
                share = products[slot] * scale
                weights[slot] += share - shares[u, slot]
                shares[u, slot] = share


def best_of(action: Callable[[], None]) -> float:
    """CPU seconds of the fastest of several calls, the first of which compiles."""
    spent = []
    for _ in range(REPEATS + 1):
        began = time.process_time()
        action()
        spent.append(time.process_time() - began)
    return min(spent[1:])


def measure_machine(n_slots: int) -> Machine:
    left, right, out = np.ones(FAR), np.ones(FAR), np.zeros(FAR)
    adding = best_of(lambda: _add(left, right, out))
    rng = np.random.default_rng(0)
    n_words, n_sweeps = 64, 5_000
    likelihoods = rng.random((n_words, n_slots)).astype(np.float32)
    shares = rng.dirichlet(np.ones(n_slots), n_words)
    weights = shares.sum(axis=0) + 0.1
    sweeping = best_of(lambda: _words(weights, likelihoods, shares, n_sweeps))
    return Machine(3 * 8 * FAR / adding, sweeping / (n_words * n_sweeps))


def topics_of(corpus: Corpus, options: TrainingOptions) -> Globals:
    """Global parameters after a few laps."""
    found: list[Globals] = []
    hooks = Hooks(on_end=lambda total, prior: found.append(prior.with_components(total.components)))
    with tempfile.TemporaryDirectory() as scratch:
        rng = np.random.default_rng(0)
        source = plan_batches(corpus, None, rng)
        train(source, options, Path(scratch), SerialExecutor(), rng, hooks=hooks)
    return found[0]


def measure_step(
    batch: DocumentBatch, current: Globals, local: LocalOptions, former: DocumentTopics | None
) -> Step:
    executor = SerialExecutor()

    def step() -> None:
        fit_documents(batch, current, local, executor, former)

    lengths, iterations = np.diff(batch.indptr), []
    for d in range(batch.n_docs):
        begin = None if former is None else former.rows(d, d + 1)
        info = fit_documents(batch[d : d + 1], current, local, executor, begin).info
        iterations.append(info.iterations)
    return Step(best_of(step), float(np.array(iterations) @ lengths) / batch.n_pairs)


def report(name: str, step: Step, machine: Machine, n_pairs: int, n_bytes: float) -> None:
    """The step beside the least that it could take."""
    sweeping = step.iterations * machine.word
    moving = n_bytes / machine.bandwidth
    taken = step.seconds / n_pairs
    click.echo(
        f"{name:>5}: {taken * 1e9:7.0f} ns a pair; {step.iterations:5.1f} sweeps are at least "
        f"{sweeping * 1e9:5.0f} ns, {n_bytes:,.0f} bytes {moving * 1e9:4.0f} ns: "
        f"{taken / (sweeping + moving):.1f} times the least"
    )


@click.command()
@click.option("--shared", type=click.Path(exists=True, path_type=Path), default=Path("../shared"))
@click.option("--folder", type=click.Path(path_type=Path), default=Path("bench-data"))
@click.option("--data", "name", type=click.Choice(list(SOURCES)), default="20news")
@click.option("--topics", default=100)
@click.option("--sparsity", default=4)
@click.option("--laps", default=6)
def main(shared: Path, folder: Path, name: str, topics: int, sparsity: int, laps: int) -> None:
    """Print what the machine gives, and the step from a cold and from a warm start."""
    machine = measure_machine(sparsity)
    click.echo(
        f"memory {machine.bandwidth / 1e9:.1f} GB/s; a word in a sweep of {sparsity} slots "
        f"{machine.word * 1e9:.1f} ns"
    )
    data, local = prepare(name, shared, folder), LocalOptions(sparsity=sparsity)
    corpus = Corpus.from_csr(data.train, data.words)
    current = topics_of(corpus, TrainingOptions(topics, laps, local=local))
    batch = plan_batches(corpus, corpus.n_docs // SAMPLE, np.random.default_rng(1)).read(0)
    # A pair's row of weights, its slots of topics (4 bytes) and shares (8), its sparse row (8).
    n_bytes = 4.0 * topics + (4 + 8 + 8) * sparsity
    found = fit_documents(batch, current, local, SerialExecutor())
    for start, former in (("cold", None), ("warm", found.doc_topics)):
        report(start, measure_step(batch, current, local, former), machine, batch.n_pairs, n_bytes)


if __name__ == "__main__":
    main()
