"""How often intervals of prevalence hold the truth, and what ten million documents take.

python benchmarks/prevalence.py coverage --keep    # in results/prevalence.json
python benchmarks/prevalence.py coverage --draws 50 --peer
python benchmarks/prevalence.py coverage --draws 100 --run news-run
python benchmarks/prevalence.py memory --keep      # in prevalence-memory.json
"""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import pyarrow as pa
from results import Cell, report

from sparsetopics.answers.prevalence import grouped_documents
from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.grouping import Grouping, GroupKey, LocalGroups, Over
from sparsetopics.corpora.store.manifest import Sizes
from sparsetopics.corpora.store.shards import AnyRowGroup, RowGroup
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.execution.executors import Crew
from sparsetopics.inference.document_step import topic_proportions
from sparsetopics.measures.prevalence import (
    GroupTotal,
    group_differences,
    group_means,
    sum_groups,
    unbiased_projection,
)
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import load_run

PEER_DRAWS = 25  # of each document's proportions; as many as stm's estimateEffect takes
COMMON_SHARE = 0.01  # of a group; rarer topics are in few documents


class Setting(NamedTuple):
    """What is drawn."""

    n_topics: int
    n_words: int
    word_concentration: float  # of topics; 0.05: distinct words, 0.5: most words in many topics
    doc_concentration: float  # of a group's documents, in total; low: few topics in each document
    n_tokens: tuple[int, int]
    n_documents: tuple[int, ...]  # of each group


SETTINGS = [
    Setting(10, 500, 0.05, 1.0, (50, 300), (100, 300, 2000)),
    Setting(10, 500, 0.05, 5.0, (50, 300), (100, 2000)),
    Setting(20, 2000, 0.1, 2.0, (50, 300), (100, 200, 400, 800, 1500, 2000)),
    Setting(30, 2000, 0.05, 3.0, (50, 100), (200, 2000)),
    Setting(30, 2000, 0.5, 3.0, (50, 100), (200, 2000)),
]
kept = click.option("--keep", "is_kept", is_flag=True, help="Write a file of results.")
OF_RUN = Setting(0, 0, 0.0, 1.0, (50, 300), (200, 1000, 2000))


@click.group()
def main() -> None:
    """Measure prevalence on drawn documents."""


# --- coverage -------------------------------------------------------------------------------------
@main.command()
@click.option("--draws", default=500)
@click.option("--inferred-draws", default=50, help="Draws in which documents are inferred too.")
@click.option("--alpha", default=0.5, help="Total α of the model that infers documents.")
@click.option("--run", type=click.Path(path_type=Path), help="Take the topics of this run instead.")
@click.option("--peer", is_flag=True, help="Let topica estimate differences from what is inferred.")
@kept
def coverage(
    draws: int, inferred_draws: int, alpha: float, run: Path | None, peer: bool, is_kept: bool
) -> None:
    """Print the share of 95 % intervals that hold the mean from which documents were drawn.

    A row is named by the number of topics, η and α of its setting.
    """
    rows = {}
    for number, setting in enumerate(SETTINGS if run is None else [OF_RUN]):
        rng = np.random.default_rng(number)
        if run is None:
            shape = (setting.n_topics, setting.n_words)
            topic_word = rng.dirichlet(np.full(shape[1], setting.word_concentration), shape[0])
            topic_word = (topic_word + 1e-9) / (topic_word + 1e-9).sum(axis=1, keepdims=True)
        else:
            topic_word = load_run(run).model.topic_word_mean
        began = time.perf_counter()
        held = _Coverage(setting, topic_word, alpha, rng, with_peer=peer)
        for draw in range(draws):
            held.draw(with_inference=draw < inferred_draws)
        eta = setting.word_concentration or "run"
        rows[f"{len(topic_word)}/{eta}/{setting.doc_concentration:g}"] = held.shares() | {
            "seconds": time.perf_counter() - began
        }
    report("prevalence", rows, is_kept, ("topica",) if peer else ())


class _Coverage:
    """Counts intervals that hold the truth."""

    def __init__(
        self,
        setting: Setting,
        topic_word: FloatArray,
        alpha: float,
        rng: np.random.Generator,
        *,
        with_peer: bool,
    ) -> None:
        n_topics = len(topic_word)
        base = rng.dirichlet(np.full(n_topics, 2.0))
        self.truth = rng.dirichlet(10.0 * base + 0.3, len(setting.n_documents))
        self.prior = alpha * np.average(self.truth, axis=0, weights=setting.n_documents)
        self.setting, self.topic_word, self.rng = setting, topic_word, rng
        self.with_peer = with_peer
        self.projection = unbiased_projection(topic_word, np.full(n_topics, 1.0 / n_topics))
        n_groups = len(self.truth)
        self.pairs = np.array([(a, b) for a in range(n_groups) for b in range(a)])
        self.means: list[IntArray] = []
        self.differences: list[IntArray] = []
        self.inferred: list[IntArray] = []
        self.of_peer: list[IntArray] = []

    def draw(self, *, with_inference: bool) -> None:
        totals = [GroupTotal(*self.topic_word.shape) for _ in self.setting.n_documents]
        dirichlets = []
        for group, n_documents in enumerate(self.setting.n_documents):
            batch = self._documents(group, n_documents)
            codes = np.zeros(n_documents, np.int64)
            totals[group].add(sum_groups(batch, codes, 1, self.projection), 0)
            if with_inference:
                dirichlets.append(self._infer(batch))
        if dirichlets:
            self.inferred.append(self._inferred_hold(dirichlets))
        if dirichlets and self.with_peer:
            self.of_peer.append(self._peer_holds(dirichlets))
        means = group_means(totals, self.topic_word)
        low, high = means.interval(0.0, 1.0)
        self.means.append((low <= self.truth) & (self.truth <= high))
        found = group_differences(means, self.pairs).tested()
        truth = self.truth[self.pairs[:, 0]] - self.truth[self.pairs[:, 1]]
        self.differences.append((found.low <= truth) & (truth <= found.high))

    def shares(self) -> dict[str, Cell]:
        """Of all means, of those of common topics (and the lowest of one), and so on."""
        means, common = np.mean(self.means, axis=0), self.truth >= COMMON_SHARE
        differences = np.mean(self.differences, axis=0)
        return {
            "means": float(means.mean()),
            "common": float(means[common].mean()),
            "lowest": float(means[common].min()),
            "differences": float(differences.mean()),
            "inferred": float(np.mean(self.inferred)) if self.inferred else None,
            "topica": float(np.mean(self.of_peer)) if self.of_peer else None,
        }

    def _documents(self, group: int, n_documents: int) -> DocumentBatch:
        proportions = self.rng.dirichlet(
            self.setting.doc_concentration * self.truth[group], n_documents
        )
        first, last = self.setting.n_tokens
        sizes = self.rng.integers(first, last + 1, n_documents)
        return draw_documents(self.rng, proportions, np.cumsum(self.topic_word, axis=1), sizes)

    def _infer(self, batch: DocumentBatch) -> FloatArray:
        """The Dirichlet of each document's proportions."""
        found = topic_proportions(batch, self.topic_word, self.prior)
        sizes = np.add.reduceat(batch.word_counts, batch.indptr[:-1]) + self.prior.sum()
        dirichlet: FloatArray = found * sizes[:, None]
        return dirichlet

    def _inferred_hold(self, dirichlets: list[FloatArray]) -> IntArray:
        """Whether means of inferred proportions, with the errors of Dirichlets, hold the truth."""
        held = []
        for dirichlet, truth in zip(dirichlets, self.truth, strict=True):
            sizes = dirichlet.sum(axis=1, keepdims=True)
            found = dirichlet / sizes
            own = (found * (1.0 - found) / (sizes + 1.0)).mean(axis=0)
            error = np.sqrt((found.var(axis=0, ddof=1) + own) / len(found))
            held.append(np.abs(found.mean(axis=0) - truth) <= 1.96 * error)
        return np.stack(held)

    def _peer_holds(self, dirichlets: list[FloatArray]) -> IntArray:
        """Whether topica's method of composition holds the difference of the first two groups."""
        import topica

        joined = np.concatenate(dirichlets[:2])
        draws = self.rng.standard_gamma(np.maximum(joined, 1e-8), (PEER_DRAWS, *joined.shape))
        draws /= draws.sum(axis=2, keepdims=True)
        second = np.repeat([0.0, 1.0], [len(each) for each in dirichlets[:2]])[:, None]
        found = topica.estimate_effect(draws, second, feature_names=["second"])
        truth = self.truth[1] - self.truth[0]
        ends = np.array([(each.ci_low[1], each.ci_high[1]) for each in found])
        return (ends[:, 0] <= truth) & (truth <= ends[:, 1])


def draw_documents(
    rng: np.random.Generator, proportions: FloatArray, cumulative: FloatArray, sizes: IntArray
) -> DocumentBatch:
    """Draw documents of ``sizes`` tokens; ``cumulative`` is (n_topics, n_words)."""
    n_words = cumulative.shape[1]
    documents = np.repeat(np.arange(len(sizes)), sizes)
    counts = rng.multinomial(sizes, proportions)
    topics = np.repeat(np.tile(np.arange(len(cumulative)), len(sizes)), counts.ravel())
    words = np.empty(len(topics), np.int64)
    uniform = rng.random(len(topics))
    for topic, shares in enumerate(cumulative):
        chosen = topics == topic
        words[chosen] = np.searchsorted(shares, uniform[chosen] * shares[-1], side="right")
    return counted(documents, np.minimum(words, n_words - 1), len(sizes), n_words)


def counted(documents: IntArray, words: IntArray, n_documents: int, n_words: int) -> DocumentBatch:
    """Tokens as a batch."""
    pairs, counts = np.unique(documents * n_words + words, return_counts=True)
    indptr = np.searchsorted(pairs, np.arange(n_documents + 1) * n_words)
    return DocumentBatch(
        indptr.astype(np.int64), (pairs % n_words).astype(np.int32), counts.astype(np.uint32)
    )


# --- memory ---------------------------------------------------------------------------------------
N_TOKENS = 60  # of a document
ROWS = 8_192
N_GROUPS, N_MONTHS = 50, 24
TOPICS_EACH = 3  # of a document


@main.command()
@click.option("--documents", default=10_000_000)
@click.option("--topics", default=100)
@click.option("--words", default=50_000)
@click.option("--workers", default=1)
@kept
def memory(documents: int, topics: int, words: int, workers: int, is_kept: bool) -> None:
    """Draw documents while they are read, by 50 groups and 24 months; print time and memory."""
    rng = np.random.default_rng(0)
    posterior = rng.gamma(0.05, 1e4, (topics, words)) + 0.1
    model = TopicPosterior("lda", posterior, np.full(topics, 0.5 / topics), 0.1)
    table = np.stack([rng.choice(words, 20_000, p=row / row.sum()) for row in posterior])
    sizes = Sizes(ROWS, ROWS * N_TOKENS, ROWS * N_TOKENS)
    words_of = table.astype(np.int32)
    groups = tuple(DrawnRows(sizes, n, words_of) for n in range(documents // ROWS))
    names = [f"w{number:05}" for number in range(words)]
    known = np.ones(words, np.int64)
    corpus = Corpus(Vocabulary(tuple(names), known, known), groups)
    before, began, began_cpu = _peak(), time.perf_counter(), time.process_time()
    grouping = DrawnGrouping("label", Over("label", "month"))
    found = grouped_documents(model, corpus, names, grouping, Crew(workers)).prevalence()
    seconds, cpu = time.perf_counter() - began, time.process_time() - began_cpu
    row: dict[str, Cell] = {
        "documents": corpus.n_docs,
        "groups": len(found.groups),
        "rows": found.table([("", "")] * model.n_topics).num_rows,
        "seconds": seconds,
        "cpu": cpu,
        "peak_gb": _peak(),
        "peak_before_gb": before,
    }
    report("prevalence-memory", {"drawn": row}, is_kept)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


@dataclass(frozen=True, slots=True, eq=False)
class DrawnRows(RowGroup[DocumentBatch]):
    """Documents that are drawn when they are read: each of some topics, more of its group's own."""

    number: int
    words_of: IntArray  # (n_topics, n_drawn)  words of each topic

    def read(self) -> DocumentBatch:
        rng = np.random.default_rng([1, self.number])
        n_topics, n_drawn = self.words_of.shape
        own = rng.integers(0, n_topics, (ROWS, TOPICS_EACH))
        own[:, 0] = self.codes() // N_MONTHS % n_topics
        topics = np.take_along_axis(own, rng.integers(0, TOPICS_EACH, (ROWS, N_TOKENS)), axis=1)
        words = self.words_of[topics.ravel(), rng.integers(0, n_drawn, ROWS * N_TOKENS)]
        documents = np.repeat(np.arange(ROWS), N_TOKENS)
        return counted(documents, words, ROWS, int(self.words_of.max()) + 1)

    def codes(self) -> IntArray:
        """The group and month of each document."""
        rng = np.random.default_rng([0, self.number])
        return rng.integers(0, N_GROUPS * N_MONTHS, ROWS)

    def read_ids(self) -> list[str]:
        raise NotImplementedError

    def read_labels(self) -> list[str | None]:
        raise NotImplementedError

    def read_fields(self, names: list[str]) -> pa.Table:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class DrawnGrouping(Grouping):
    """By the drawn groups and months."""

    def of(self, rows: AnyRowGroup) -> LocalGroups:
        assert isinstance(rows, DrawnRows)
        keys = [
            GroupKey(f"g{group:02}", date(2024 + month // 12, month % 12 + 1, 1))
            for group in range(N_GROUPS)
            for month in range(N_MONTHS)
        ]
        return LocalGroups(rows.codes(), keys, are_whole=False)


if __name__ == "__main__":
    main()
