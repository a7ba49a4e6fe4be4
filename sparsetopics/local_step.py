"""The local step of a batch: from global parameters and documents to a summary.

A batch is cut into blocks of whole documents and of words, always in the same places; workers take
blocks, and what they return is put together in order. So the result has the same bits for any
number of workers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsetopics import _kernels, _summary_kernels, _word_kernels
from sparsetopics._kernels import Float32Array, Rows, Schedule, TopicIds
from sparsetopics.allocations.allocation import Allocation
from sparsetopics.batches import DocumentBatch, FloatArray, IntArray
from sparsetopics.executors import Executor
from sparsetopics.likelihoods import words
from sparsetopics.options import LocalOptions
from sparsetopics.responsibilities import Responsibilities
from sparsetopics.statistics import TERMS_BY_TOPIC, DocumentTerms, SparseCounts, Summary

BLOCK_PAIRS = 8_192  # document-word pairs that one worker takes at a time
BLOCK_ROWS = 2_048  # words of a batch, likewise
CHUNK_ENTRIES = 8_000_000  # responsibilities held at once: pairs × slots
RESTART_ITERATIONS = 2
LARGEST_PRUNED_SHARE = 0.02  # of a document: a topic that holds more stays, however few the tokens


class TopicGlobals(NamedTuple):
    """All that a document needs to know of the collection."""

    word_topic_counts: FloatArray  # (n_words, n_topics)  λ − η, word-major
    topic_counts: FloatArray  # (n_topics,)  its sums
    allocation: Allocation
    word_concentration: float  # η
    vocabulary_size: int = 0  # where the counts are of some words only

    @property
    def n_words(self) -> int:
        """Words that a topic may use."""
        return self.vocabulary_size or len(self.word_topic_counts)

    @property
    def doc_concentration(self) -> FloatArray:
        """α_k, (n_topics,)."""
        return self.allocation.doc_concentration


class LocalInfo(NamedTuple):
    """What a local step tells people."""

    restarts_proposed: int
    restarts_accepted: int
    iterations: int


class BatchRows(NamedTuple):
    """The words of a batch numbered from 0, and the pairs of each."""

    words: Rows  # (n_rows,)  rising word ids
    row_of_pair: Rows  # (n_pairs,)
    pair_starts: IntArray  # (n_rows + 1,)
    pairs: IntArray  # (n_pairs,)  positions of each row's pairs


class LocalResult(NamedTuple):
    """Responsibilities of a batch, what follows from them, and how they were found."""

    summary: Summary
    responsibilities: Responsibilities
    info: LocalInfo


def fit_documents(
    batch: DocumentBatch, current: TopicGlobals, options: LocalOptions, executor: Executor
) -> LocalResult:
    """Local steps of all documents of ``batch`` under the ``current`` global parameters.

    A batch whose responsibilities would take much memory goes through in several chunks.
    """
    n_slots = options.n_slots(len(current.topic_counts))
    chunks = cut_blocks(batch.indptr, CHUNK_ENTRIES // n_slots)
    parts = [_fit_chunk(_documents(batch, *chunk), current, options, executor) for chunk in chunks]
    found = Responsibilities.joined([part for part, _ in parts])
    tallies = sum((tally for _, tally in parts), np.zeros(3, np.int64))
    summary = summarize(batch, found, current, executor)
    return LocalResult(summary, found, LocalInfo(*tallies.tolist()))


def summarize(
    batch: DocumentBatch, found: Responsibilities, current: TopicGlobals, executor: Executor
) -> Summary:
    """What responsibilities say about the global parameters, with θ_d at its optimum."""
    terms = sum_terms(batch, found, current.doc_concentration, current.allocation.tail, executor)
    return Summary(
        sum_words(batch, found, current.word_topic_counts.shape, executor),
        current.allocation.complete(terms),
    )


def sum_terms(
    batch: DocumentBatch,
    found: Responsibilities,
    doc_concentration: FloatArray,
    tail: float,
    executor: Executor,
) -> DocumentTerms:
    """Sums over the documents with θ_dk = N_dk + α_k; ``tail`` is α of topics none uses."""
    counts = batch.word_counts.astype(np.float64)

    def add(block: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
        first, last = block
        sums, totals = np.zeros((len(TERMS_BY_TOPIC), len(doc_concentration))), np.zeros(3)
        _summary_kernels.add_topic_terms(
            batch.indptr[first : last + 1], counts, *found, doc_concentration, sums, totals, tail
        )
        return sums, totals

    blocks = executor.map(add, cut_blocks(batch.indptr, BLOCK_PAIRS))
    by_topic = sum(
        (sums for sums, _ in blocks), np.zeros((len(TERMS_BY_TOPIC), len(doc_concentration)))
    )
    totals = sum((totals for _, totals in blocks), np.zeros(3))
    return DocumentTerms._make((float(batch.n_docs), float(counts.sum()), *by_topic, totals))


def sum_words(
    batch: DocumentBatch, found: Responsibilities, shape: tuple[int, int], executor: Executor
) -> SparseCounts:
    """Expected word-topic counts of a batch; ``shape`` is (n_words, n_topics)."""
    rows = number_rows(batch, shape[0])
    counts = batch.word_counts.astype(np.float64)

    def gather(part: slice) -> tuple[IntArray, TopicIds, Float32Array]:
        starts = rows.pair_starts[part.start : part.stop + 1]
        return _summary_kernels.sum_by_word(starts, rows.pairs, counts, *found, shape[1])

    parts = executor.map(gather, _slices(len(rows.words), BLOCK_ROWS))
    starts, topics, values = zip(*parts, strict=True)
    lengths = np.concatenate([np.diff(part) for part in starts])
    return SparseCounts(
        rows.words,
        np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        np.concatenate(topics),
        np.concatenate(values),
    )


def make_schedule(options: LocalOptions) -> Schedule:
    return Schedule(
        options.update == "collapsed",
        options.max_iterations,
        options.tolerance,
        options.n_restarts,
        RESTART_ITERATIONS,
        options.pruning_mass,
        LARGEST_PRUNED_SHARE,
    )


def number_rows(batch: DocumentBatch, n_words: int) -> BatchRows:
    """Number the words that occur in ``batch`` and list each one's pairs, in document order."""
    frequency = np.bincount(batch.word_ids, minlength=n_words)
    present = np.flatnonzero(frequency)
    row_of_word = np.zeros(n_words, np.uint32)
    row_of_word[present] = np.arange(len(present), dtype=np.uint32)
    row_of_pair = row_of_word[batch.word_ids]
    starts = np.concatenate(([0], np.cumsum(frequency[present]))).astype(np.int64)
    pairs = _word_kernels.group_pairs(row_of_pair, starts)
    return BatchRows(present.astype(np.uint32), row_of_pair, starts, pairs)


def choose_first_topics(weights: Float32Array, n_slots: int, executor: Executor) -> TopicIds:
    """The largest ``n_slots`` weights of each row, (n_rows, n_slots)."""
    first_topics = np.empty((len(weights), n_slots), np.uint32)

    def choose(part: slice) -> None:
        _word_kernels.top_topics(weights[part], first_topics[part])

    executor.map(choose, _slices(len(weights), BLOCK_ROWS))
    return first_topics


def cut_blocks(indptr: IntArray, pairs_per_block: int) -> list[tuple[int, int]]:
    """Consecutive document ranges of about ``pairs_per_block`` pairs, never empty."""
    n_docs = len(indptr) - 1
    blocks = []
    first = 0
    while first < n_docs:
        last = int(np.searchsorted(indptr, indptr[first] + pairs_per_block, side="right")) - 1
        last = min(max(last, first + 1), n_docs)
        blocks.append((first, last))
        first = last
    return blocks


def _fit_chunk(
    batch: DocumentBatch, current: TopicGlobals, options: LocalOptions, executor: Executor
) -> tuple[Responsibilities, IntArray]:
    """Responsibilities, and the fields of LocalInfo as an array."""
    n_slots = options.n_slots(len(current.topic_counts))
    rows = number_rows(batch, current.word_topic_counts.shape[0])
    weights = _word_weights(rows.words, current, options.update, executor)
    first_topics = choose_first_topics(weights, n_slots, executor)
    counts = batch.word_counts.astype(np.float64)
    topics = np.empty((len(counts), n_slots), np.uint32)
    shares = np.empty((len(counts), n_slots))
    schedule, prior = make_schedule(options), current.doc_concentration

    def fit(block: tuple[int, int]) -> tuple[Responsibilities, IntArray]:
        first, last = block
        tallies = np.zeros(3, np.int64)
        _kernels.fit_block(
            batch.indptr[first : last + 1], rows.row_of_pair, counts, weights, first_topics,
            prior, schedule, topics, shares, tallies,
        )  # fmt: skip
        pairs = slice(batch.indptr[first], batch.indptr[last])
        return Responsibilities(*_summary_kernels.compact(topics[pairs], shares[pairs])), tallies

    blocks = executor.map(fit, cut_blocks(batch.indptr, BLOCK_PAIRS))
    found = Responsibilities.joined([part for part, _ in blocks])
    return found, sum((tally for _, tally in blocks), np.zeros(3, np.int64))


def _word_weights(
    word_ids: Rows, current: TopicGlobals, update: str, executor: Executor
) -> Float32Array:
    weigh = words.collapsed_weights if update == "collapsed" else words.mean_field_weights
    weights = np.empty((len(word_ids), len(current.topic_counts)), np.float32)

    def fill(part: slice) -> None:
        counts = current.word_topic_counts[word_ids[part]]
        weights[part] = weigh(
            counts, current.topic_counts, current.n_words, current.word_concentration
        )

    executor.map(fill, _slices(len(word_ids), BLOCK_ROWS))
    return weights


def _documents(batch: DocumentBatch, first: int, last: int) -> DocumentBatch:
    """Documents ``first`` to ``last`` of a batch, without copying their pairs."""
    lo, hi = batch.indptr[first], batch.indptr[last]
    return DocumentBatch(
        batch.indptr[first : last + 1] - lo, batch.word_ids[lo:hi], batch.word_counts[lo:hi]
    )


def _slices(n: int, size: int) -> list[slice]:
    """Consecutive ranges that cover 0 to n; one empty range if n is 0."""
    return [slice(lo, min(lo + size, n)) for lo in range(0, max(n, 1), size)]
