"""The local step of documents: from global parameters and a batch to a summary.

A batch is cut into blocks of whole documents and of words, always in the same places; workers take
blocks, and what they return is put together in order. So the result has the same bits for any
number of workers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import DocumentBatch, IntArray, cut_blocks, worker_blocks
from sparsetopics.base.errors import ShapeError
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.local_step import Globals, LocalInfo, LocalResult
from sparsetopics.kernels import documents as document_kernels
from sparsetopics.kernels import summaries as summary_kernels
from sparsetopics.kernels import words as word_kernels
from sparsetopics.kernels.types import Float32Array, Rows, Schedule, TopicIds
from sparsetopics.model.allocations.allocation import Allocation, DocumentAllocation
from sparsetopics.model.allocations.documents import sum_terms
from sparsetopics.model.document_topics import DocumentTopics
from sparsetopics.model.likelihoods.words import Words
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import Summary
from sparsetopics.model.word_counts import WordCounts, cut_rows, number_rows
from sparsetopics.options.table import LocalUpdate
from sparsetopics.options.training import LocalOptions

CHUNK_ENTRIES = 8_000_000  # responsibilities held at once: pairs × slots
RESTART_ITERATIONS = 2
LARGEST_PRUNED_SHARE = 0.02  # of a document: a topic that holds more stays, however few the tokens


def fit_documents(
    batch: DocumentBatch,
    current: Globals,
    options: LocalOptions,
    executor: Executor,
    former: DocumentTopics | None = None,
) -> LocalResult:
    """Local steps of all documents of ``batch`` under the ``current`` global parameters.

    They start cold, or from ``former`` where it knows of them. A batch whose responsibilities would
    take much memory goes through in several chunks.
    """
    n_slots = options.n_slots(current.components.n_topics)
    chunks = cut_blocks(batch.indptr, CHUNK_ENTRIES // n_slots)
    if former is None:
        former = DocumentTopics.unknown(batch.n_docs)
    if len(former.starts) != batch.n_docs + 1:  # kernels read one row per document
        known = f"those of {len(former.starts) - 1:,} documents"
        raise ShapeError("former topics", found=known, wanted=f"those of {batch.n_docs:,}")
    parts = [
        _fit_chunk(batch[slice(*chunk)], former.rows(*chunk), current, options, executor)
        for chunk in chunks
    ]
    found = Responsibilities.joined([part.responsibilities for part in parts])
    tallies = sum((part.tallies for part in parts), np.zeros(3, np.int64))
    summary = summarize(batch, found, current, executor)
    doc_topics = DocumentTopics.joined([part.doc_topics for part in parts])
    return LocalResult(summary, found, LocalInfo(*tallies.tolist()), doc_topics)


def summarize(
    batch: DocumentBatch, found: Responsibilities, current: Globals, executor: Executor
) -> Summary:
    """What responsibilities say about the global parameters, with θ_d at its optimum."""
    allocation = _of_documents(current.allocation)
    terms = sum_terms(batch, found, allocation.doc_concentration, allocation.tail, executor)
    return Summary(current.components.sum_batch(batch, found, executor), allocation.complete(terms))


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


def choose_first_topics(weights: Float32Array, n_slots: int, executor: Executor) -> TopicIds:
    """The largest ``n_slots`` weights of each row, (n_rows, n_slots)."""
    first_topics = np.empty((len(weights), n_slots), np.uint32)

    executor.map(
        lambda part: _choose_first(weights[part], first_topics[part]), cut_rows(len(weights))
    )
    return first_topics


def _choose_first(weights: Float32Array, first_topics: TopicIds) -> None:
    """Overwrite ``first_topics``, (n_rows, n_slots); ties go to the lower topic."""
    if first_topics.shape[1] == 1:
        first_topics[:, 0] = weights.argmax(axis=1)
    else:
        word_kernels.top_topics(weights, first_topics)


class _Part(NamedTuple):
    """What the local steps of some documents found."""

    responsibilities: Responsibilities
    doc_topics: DocumentTopics
    tallies: IntArray  # the fields of LocalInfo


def _fit_chunk(
    batch: DocumentBatch,
    former: DocumentTopics,
    current: Globals,
    options: LocalOptions,
    executor: Executor,
) -> _Part:
    n_slots = options.n_slots(current.components.n_topics)
    rows = number_rows(batch, current.components.n_words)
    is_cold = (np.diff(former.starts) == 0) & (np.diff(batch.indptr) > 0)
    # Of a word that occurs in warm documents alone, the largest weight is all that is asked for.
    n_first = n_slots if is_cold.any() else 1
    weights, first_topics = _weigh_words(rows.words, n_first, current, options.update, executor)
    counts = batch.word_counts.astype(np.float64)
    topics = np.empty((len(counts), n_slots), np.uint32)
    shares = np.empty((len(counts), n_slots))
    schedule = make_schedule(options)
    # Writable, however the model was loaded: one numba signature.
    prior = np.require(_of_documents(current.allocation).doc_concentration, requirements="W")

    def fit(block: tuple[int, int]) -> _Part:
        first, last = block
        indptr = batch.indptr[first : last + 1]
        tallies = np.zeros(3, np.int64)
        document_kernels.fit_block(
            indptr, rows.row_of_pair, counts, weights, first_topics, prior, schedule,
            *former.rows(first, last), topics, shares, tallies,
        )  # fmt: skip
        pairs = slice(indptr[0], indptr[-1])
        found = Responsibilities(*summary_kernels.compact(topics[pairs], shares[pairs]))
        doc_topics = DocumentTopics.of(indptr - indptr[0], counts[pairs], found, len(prior))
        return _Part(found, doc_topics, tallies)

    blocks = executor.map(fit, worker_blocks(batch.indptr))
    return _Part(
        Responsibilities.joined([part.responsibilities for part in blocks]),
        DocumentTopics.joined([part.doc_topics for part in blocks]),
        sum((part.tallies for part in blocks), np.zeros(3, np.int64)),
    )


def _weigh_words(
    word_ids: Rows, n_first: int, current: Globals, update: LocalUpdate, executor: Executor
) -> tuple[Float32Array, TopicIds]:
    """The words' weights, (n_rows, n_topics), and the topics of each row's largest ``n_first``."""
    components, likelihood = current.components, current.likelihood
    assert isinstance(components, WordCounts), "documents have words"
    assert isinstance(likelihood, Words), "documents have words"
    weights = np.empty((len(word_ids), components.n_topics), np.float32)
    first_topics = np.empty((len(word_ids), n_first), np.uint32)
    sizes = components.sizes

    def fill(part: slice) -> None:
        rows = components.rows(word_ids[part])
        weights[part] = likelihood.weights(rows, sizes, update)
        _choose_first(weights[part], first_topics[part])

    executor.map(fill, cut_rows(len(word_ids)))
    return weights, first_topics


def _of_documents(allocation: Allocation) -> DocumentAllocation:
    assert isinstance(allocation, DocumentAllocation), "documents have proportions of their own"
    return allocation
