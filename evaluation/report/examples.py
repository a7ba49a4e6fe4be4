"""Documents that exemplify a topic, and items that exemplify a component of a mixture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray, VectorBatch
from sparsetopics.corpora.corpus import AnyCorpus, Corpus
from sparsetopics.corpora.store.shards import RowBatch, RowGroup
from sparsetopics.inference.document_step import topic_proportions
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.options.registry import LIKELIHOODS

MOST_ROWS = 20_000  # documents or items that are searched
MOST_GROUPS = 32  # row groups that are read for them; one may hold a single image
N_EXAMPLES = 3
N_EXAMPLE_WORDS = 8

Description = tuple[list[str], FloatArray | None]  # words of a document, or values of a vector


class Example(NamedTuple):
    """A document or item of a topic."""

    name: str  # its id
    label: str | None
    closeness: float  # a document's share of the topic, or the quantity that orders items
    words: list[str]  # of a document: those that owe most to the topic
    values: FloatArray | None = None  # of a vector


class Examples(NamedTuple):
    """Examples of every topic, best first, and the size of the search."""

    of_topics: list[list[Example]]
    n_seen: int  # documents or items that were searched
    n_rows: int  # in the corpus


def example_documents(
    corpus: Corpus,
    topic_word: FloatArray,  # (n_topics, n_words)
    doc_concentration: FloatArray,  # (n_topics,)
    words: Sequence[str],
    *,
    workers: int = 1,
) -> Examples:
    """Return the documents in which each topic has the largest share E[π_dk], ties in their order.

    At most 20,000 documents are searched. They are spread evenly over 32 row groups, and these
    groups over the corpus.
    """

    def closeness(batch: DocumentBatch) -> FloatArray:
        return topic_proportions(batch, topic_word, doc_concentration, workers=workers)

    def describe(batch: DocumentBatch, row: int, topic: int, shares: FloatArray) -> Description:
        return leading_words(batch, row, topic, shares, topic_word, words), None

    return _collect(corpus.row_groups, len(topic_word), closeness, describe)


def leading_words(
    batch: DocumentBatch,
    row: int,
    topic: int,
    shares: FloatArray,  # (n_topics,)  π_d
    topic_word: FloatArray,  # (n_topics, n_words)
    words: Sequence[str],
) -> list[str]:
    """Return the words of a document that give a topic most tokens.

    The tokens of word v in document d that belong to topic k are x_dv π_dk φ_kv / Σ_j π_dj φ_jv.
    """
    pairs = slice(batch.indptr[row], batch.indptr[row + 1])
    ids = batch.word_ids[pairs]
    joint = shares[:, None] * topic_word[:, ids]
    owed = batch.word_counts[pairs] * joint[topic] / joint.sum(axis=0)
    order = np.argsort(-owed, kind="stable")[:N_EXAMPLE_WORDS]
    return [words[word] for word in ids[order]]


def example_items(
    corpus: AnyCorpus,
    model: MixturePosterior,
    words: Sequence[str] = (),  # of documents
) -> Examples:
    """Return the items nearest to each component, among the items for which it is most probable.

    If components have means, the nearest items are those of highest density, log p(x|k). The
    density of zero-mean components is highest for flat patches and that of documents for short
    ones, so there the nearest are the surest: items whose log w_k p(x|k) is farthest above that of
    the second-best component.
    """
    scorer = model.estimates.scorer()
    log_weights = np.log(np.maximum(model.weights, np.finfo(float).tiny))
    by_density = LIKELIHOODS[model.likelihood_name].has_means

    def closeness(batch: DocumentBatch | VectorBatch) -> FloatArray:
        densities = scorer.log_densities(batch.values).astype(np.float64)
        joint = densities + log_weights
        owners = joint.argmax(axis=1)
        rows = np.arange(len(joint))
        best = joint[rows, owners]
        joint[rows, owners] = -np.inf  # so that the next maximum is the second best
        second = joint.max(axis=1) if joint.shape[1] > 1 else np.zeros(len(joint))
        nearness = np.full(joint.shape, -np.inf)
        nearness[rows, owners] = densities[rows, owners] if by_density else best - second
        return nearness

    def describe(
        batch: DocumentBatch | VectorBatch, row: int, topic: int, _: FloatArray
    ) -> Description:
        if isinstance(batch, VectorBatch):
            return [], np.asarray(batch.values[row], np.float64)
        alone = np.zeros(model.n_topics)
        alone[topic] = 1.0
        return leading_words(batch, row, topic, alone, model.topic_word_mean, words), None

    if isinstance(corpus, Corpus):
        return _collect(corpus.row_groups, model.n_topics, closeness, describe)
    return _collect(corpus.row_groups, model.n_topics, closeness, describe)


def _collect(
    groups: Sequence[RowGroup[RowBatch]],
    n_topics: int,
    closeness: Callable[[RowBatch], FloatArray],  # (n_rows, n_topics)
    describe: Callable[[RowBatch, int, int, FloatArray], Description],
) -> Examples:
    """Return the N_EXAMPLES rows of greatest closeness for each topic, reading group by group."""
    best: list[list[tuple[int, Example]]] = [[] for _ in range(n_topics)]
    chosen = [groups[place] for place in spread_evenly(len(groups), MOST_GROUPS).tolist()]
    share = min(1.0, MOST_ROWS / max(1, sum(group.n_docs for group in chosen)))
    n_seen = 0
    for group in chosen:
        rows = spread_evenly(group.n_docs, int(share * group.n_docs))
        batch, names, labels = group.read().take(rows), group.read_ids(), group.read_labels()
        scores = closeness(batch)
        for topic in range(n_topics):
            for row in _leaders(scores[:, topic]):
                described = describe(batch, row, topic, scores[row])
                score = float(scores[row, topic])
                example = Example(names[rows[row]], labels[rows[row]], score, *described)
                best[topic].append((n_seen + row, example))
            best[topic].sort(key=lambda found: (-found[1].closeness, found[0]))
            del best[topic][N_EXAMPLES:]
        n_seen += len(scores)
    n_rows = sum(group.n_docs for group in groups)
    return Examples([[example for _, example in own] for own in best], n_seen, n_rows)


def spread_evenly(n_places: int, most: int) -> IntArray:
    """Choose at most ``most`` of the places 0, 1, …, n_places − 1, but at least one.

    Each is the middle of one of equally long stretches.
    """
    n_chosen = min(n_places, max(1, most))
    return (2 * np.arange(n_chosen) + 1) * n_places // (2 * n_chosen)


def _leaders(scores: FloatArray) -> Iterator[int]:
    """Yield the rows of the greatest finite scores, ties in their order."""
    for row in np.argsort(-scores, kind="stable")[:N_EXAMPLES].tolist():
        if np.isfinite(scores[row]):
            yield row
