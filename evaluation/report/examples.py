"""Documents that stand for a topic, and items that stand for a component of a mixture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.vectors import VectorCorpus
from sparsetopics.inference.new_documents import topic_proportions
from sparsetopics.model.mixture_posterior import MixtureModel
from sparsetopics.options.registry import LIKELIHOODS

MOST_ROWS = 20_000  # documents or items that are looked at
MOST_GROUPS = 32  # row groups that are read for them; one may hold a single image
N_EXAMPLES = 3
N_EXAMPLE_WORDS = 8


class Example(NamedTuple):
    """A document or item of a topic."""

    name: str  # its id
    label: str | None
    closeness: float  # of documents the topic's share, else what examples are ordered by
    words: list[str]  # of a document, those that speak most for the topic
    values: FloatArray | None = None  # of a vector


class Examples(NamedTuple):
    """Of every topic, best first, and among how many documents or items they were looked for."""

    of_topics: list[list[Example]]
    n_seen: int
    n_rows: int


def example_documents(
    corpus: Corpus,
    topic_word: FloatArray,  # (n_topics, n_words)
    doc_concentration: FloatArray,  # (n_topics,)
    words: Sequence[str],
    *,
    workers: int = 1,
) -> Examples:
    """The documents in which each topic has the largest share E[π_dk], ties by their order.

    Of a large collection 20,000 documents at most are looked at, spread evenly over 32 row groups,
    and these over the collection.
    """

    def closeness(batch: DocumentBatch) -> FloatArray:
        return topic_proportions(batch, topic_word, doc_concentration, workers=workers)

    def describe(batch: DocumentBatch, row: int, topic: int, shares: FloatArray) -> _Described:
        return _Described(leading_words(batch, row, topic, shares, topic_word, words), None)

    return _collect(corpus, len(topic_word), closeness, describe)


def leading_words(
    batch: DocumentBatch,
    row: int,
    topic: int,
    shares: FloatArray,  # (n_topics,)  π_d
    topic_word: FloatArray,  # (n_topics, n_words)
    words: Sequence[str],
) -> list[str]:
    """The words of a document that owe most tokens to a topic, x_dv π_dk φ_kv / Σ_j π_dj φ_jv."""
    pairs = slice(batch.indptr[row], batch.indptr[row + 1])
    ids = batch.word_ids[pairs]
    joint = shares[:, None] * topic_word[:, ids]
    owed = batch.word_counts[pairs] * joint[topic] / joint.sum(axis=0)
    order = np.argsort(-owed, kind="stable")[:N_EXAMPLE_WORDS]
    return [words[word] for word in ids[order]]


def example_items(
    corpus: Corpus | VectorCorpus,
    model: MixtureModel,
    words: Sequence[str] | None = None,  # of documents
) -> Examples:
    """The items nearest to each component, among those that it most probably owns.

    Where components have means, the nearest are the densest, log p(x|k). Zero-mean components and
    those of documents are densest at what is flat or short; there the nearest are the surest,
    whose log w_k p(x|k) is farthest above that of the second-best component.
    """
    scorer = model.estimates.scorer()
    log_weights = np.log(np.maximum(model.weights, np.finfo(float).tiny))
    by_density = LIKELIHOODS[model.likelihood_name].has_means

    def closeness(batch: Any) -> FloatArray:
        densities = scorer.log_densities(batch.values).astype(np.float64)
        joint = densities + log_weights
        owners = joint.argmax(axis=1)
        rows = np.arange(len(joint))
        best = joint[rows, owners]
        joint[rows, owners] = -np.inf
        second = joint.max(axis=1) if joint.shape[1] > 1 else np.zeros(len(joint))
        nearness = np.full(joint.shape, -np.inf)
        nearness[rows, owners] = densities[rows, owners] if by_density else best - second
        return nearness

    def describe(batch: Any, row: int, topic: int, _: FloatArray) -> _Described:
        if words is None:
            return _Described([], np.asarray(batch.values[row], np.float64))
        alone = np.zeros(model.n_topics)
        alone[topic] = 1.0
        probabilities = model.topic_word_mean
        return _Described(leading_words(batch, row, topic, alone, probabilities, words), None)

    return _collect(corpus, model.n_topics, closeness, describe)


class _Described(NamedTuple):
    words: list[str]
    values: FloatArray | None


class _Best(NamedTuple):
    closeness: float
    place: int  # in the order of the corpus
    example: Example


def _collect(
    corpus: Corpus | VectorCorpus,
    n_topics: int,
    closeness: Callable[[Any], FloatArray],
    describe: Callable[[Any, int, int, FloatArray], _Described],
) -> Examples:
    """The N_EXAMPLES rows of greatest closeness for each topic, streaming."""
    best: list[list[_Best]] = [[] for _ in range(n_topics)]
    groups = _groups_of(corpus)
    chosen = [groups[place] for place in spread_evenly(len(groups), MOST_GROUPS)]
    share = min(1.0, MOST_ROWS / max(1, sum(group.n_rows for group in chosen)))
    n_seen = 0
    for group in chosen:
        rows = spread_evenly(group.n_rows, int(share * group.n_rows))
        batch, names, labels = group.read().take(rows), group.names(), group.labels()
        scores = closeness(batch)
        for topic in range(n_topics):
            for row in _leaders(scores[:, topic]):
                score = float(scores[row, topic])
                described = describe(batch, row, topic, scores[row])
                example = Example(names[rows[row]], labels[rows[row]], score, *described)
                best[topic].append(_Best(score, n_seen + row, example))
            best[topic].sort(key=lambda found: (-found.closeness, found.place))
            del best[topic][N_EXAMPLES:]
        n_seen += len(scores)
    n_rows = sum(group.n_rows for group in groups)
    return Examples([[found.example for found in own] for own in best], n_seen, n_rows)


def spread_evenly(n_places: int, most: int) -> IntArray:
    """Of places 0, 1, … as many as ``most``, one at least, in the middle of parts of one size."""
    n_chosen = min(n_places, max(1, most))
    return (2 * np.arange(n_chosen) + 1) * n_places // (2 * n_chosen)


class _Group(NamedTuple):
    """A row group of either kind of corpus."""

    n_rows: int
    read: Callable[[], Any]
    names: Callable[[], list[str]]
    labels: Callable[[], list[str | None]]


def _groups_of(corpus: Corpus | VectorCorpus) -> list[_Group]:
    if isinstance(corpus, VectorCorpus):
        return [
            _Group(group.n_items, group.read, group.read_item_ids, group.read_labels)
            for group in corpus.row_groups
        ]
    return [
        _Group(group.n_docs, group.read, group.read_doc_ids, group.read_labels)
        for group in corpus.row_groups
    ]


def _leaders(scores: FloatArray) -> Iterator[int]:
    """Rows of the greatest finite scores, ties in their order."""
    for row in np.argsort(-scores, kind="stable")[:N_EXAMPLES].tolist():
        if np.isfinite(scores[row]):
            yield row
