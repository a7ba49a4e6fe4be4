"""The local step of documents: from global parameters and a batch to a summary.

A batch is cut into blocks of whole documents, and its vocabulary into blocks of words, always at
the same places. Workers take blocks, and their results are joined in order, so the result has the
same bits for any number of workers. The step of documents that are new to a trained model is here
too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray, cut_blocks, worker_blocks
from sparsetopics.base.errors import ShapeError
from sparsetopics.execution.executors import Executor, open_executor
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
from sparsetopics.model.statistics import DocumentTerms, Summary
from sparsetopics.model.word_counts import SparseCounts, WordCounts, cut_rows, number_rows
from sparsetopics.options.table import LocalUpdate
from sparsetopics.options.training import LocalOptions

CHUNK_ENTRIES = 8_000_000  # responsibilities held at once: pairs × slots
RESTART_ITERATIONS = 2
LARGEST_PRUNED_SHARE = 0.02  # of a document; topics with a larger share are never pruned
DENSE_STEP = LocalOptions(update="mean-field", max_iterations=100, tolerance=0.01, restarts=0)

TopicGlobals = Globals[WordCounts, SparseCounts, DocumentTerms]
TopicSummary = Summary[SparseCounts, DocumentTerms]


def fit_documents(
    batch: DocumentBatch,
    current: TopicGlobals,
    options: LocalOptions,
    executor: Executor,
    former: DocumentTopics | None = None,
) -> LocalResult[SparseCounts, DocumentTerms]:
    """Make the local steps of all documents of ``batch`` under the ``current`` global parameters.

    Documents begin with the topics in ``former``, or cold if it has none for them. A batch whose
    responsibilities would take much memory is fitted in several chunks. Raises ShapeError if
    ``former`` has another number of documents.
    """
    n_slots = options.n_slots(current.components.n_topics)
    chunks = cut_blocks(batch.indptr, CHUNK_ENTRIES // n_slots)
    if former is None:
        former = DocumentTopics.unknown(batch.n_docs)
    if len(former.starts) != batch.n_docs + 1:  # kernels read one row per document
        known = f"those of {len(former.starts) - 1:,} documents"
        raise ShapeError("former topics", found=known, wanted=f"those of {batch.n_docs:,}")
    fitted = _joined(
        [
            _fit_chunk(batch[slice(*chunk)], former.rows(*chunk), current, options, executor)
            for chunk in chunks
        ]
    )
    summary = summarize(batch, fitted.responsibilities, current, executor)
    info = LocalInfo(*fitted.tallies.tolist())
    return LocalResult(summary, fitted.responsibilities, info, fitted.doc_topics)


def summarize(
    batch: DocumentBatch, found: Responsibilities, current: TopicGlobals, executor: Executor
) -> TopicSummary:
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


class _Fitted(NamedTuple):
    """Results of the local steps of some documents."""

    responsibilities: Responsibilities
    doc_topics: DocumentTopics
    tallies: IntArray  # (3,)  the fields of LocalInfo


def _joined(parts: list[_Fitted]) -> _Fitted:
    """The results of consecutive documents."""
    return _Fitted(
        Responsibilities.joined([part.responsibilities for part in parts]),
        DocumentTopics.joined([part.doc_topics for part in parts]),
        sum((part.tallies for part in parts), np.zeros(3, np.int64)),
    )


def _fit_chunk(
    batch: DocumentBatch,
    former: DocumentTopics,
    current: TopicGlobals,
    options: LocalOptions,
    executor: Executor,
) -> _Fitted:
    n_slots = options.n_slots(current.components.n_topics)
    rows = number_rows(batch, current.components.n_words)
    is_cold = (np.diff(former.starts) == 0) & (np.diff(batch.indptr) > 0)
    # Warm documents need only the largest weight of each word.
    n_first = n_slots if is_cold.any() else 1
    weights, first_topics = _weigh_words(rows.words, n_first, current, options.update, executor)
    counts = batch.word_counts.astype(np.float64)
    topics = np.empty((len(counts), n_slots), np.uint32)
    shares = np.empty((len(counts), n_slots))
    schedule = make_schedule(options)
    # Writable, however the model was loaded: otherwise numba compiles for another signature.
    prior = np.require(_of_documents(current.allocation).doc_concentration, requirements="W")

    def fit(block: tuple[int, int]) -> _Fitted:
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
        return _Fitted(found, doc_topics, tallies)

    return _joined(executor.map(fit, worker_blocks(batch.indptr)))


def _weigh_words(
    word_ids: Rows, n_first: int, current: TopicGlobals, update: LocalUpdate, executor: Executor
) -> tuple[Float32Array, TopicIds]:
    """The words' weights, (n_rows, n_topics), and the topics of each row's largest ``n_first``."""
    components, likelihood = current.components, current.likelihood
    assert isinstance(likelihood, Words), "documents have words"
    weights = np.empty((len(word_ids), components.n_topics), np.float32)
    first_topics = np.empty((len(word_ids), n_first), np.uint32)
    sizes = components.sizes

    def fill(part: slice) -> None:
        rows = components.rows(word_ids[part])
        weights[part] = likelihood.weights(rows, sizes, update)
        _choose_first_in_place(weights[part], first_topics[part])

    executor.map(fill, cut_rows(len(word_ids)))
    return weights, first_topics


def choose_first_topics(weights: Float32Array, n_slots: int, executor: Executor) -> TopicIds:
    """The topics of the largest ``n_slots`` weights of each row, (n_rows, n_slots)."""
    first_topics = np.empty((len(weights), n_slots), np.uint32)

    executor.map(
        lambda part: _choose_first_in_place(weights[part], first_topics[part]),
        cut_rows(len(weights)),
    )
    return first_topics


def _choose_first_in_place(weights: Float32Array, first_topics: TopicIds) -> None:
    """Overwrite ``first_topics``, (n_rows, n_slots); ties go to the lower topic."""
    if first_topics.shape[1] == 1:
        first_topics[:, 0] = weights.argmax(axis=1)
    else:
        word_kernels.top_topics(weights, first_topics)


def _of_documents(allocation: Allocation[DocumentTerms]) -> DocumentAllocation:
    assert isinstance(allocation, DocumentAllocation), "documents have proportions of their own"
    return allocation


# --- documents that a trained model has not seen --------------------------------------------------
def topic_proportions(
    batch: DocumentBatch,
    topic_word: FloatArray,  # (n_topics, n_words)  rows sum to one
    doc_concentration: FloatArray,  # (n_topics,)  α_k
    *,
    workers: int = 1,
) -> FloatArray:
    """Expected proportions E[π_d] of each document with the topics held fixed, (n_docs, n_topics).

    The dense mean-field step runs from a uniform start until no topic's count in the document moves
    by more than 0.01 tokens, or for 100 iterations. The result is deterministic, and a row depends
    on its own document alone.
    """
    n_topics, n_words = topic_word.shape
    rows = number_rows(batch, n_words)
    weights = np.ascontiguousarray(topic_word.T[rows.words])
    weights /= np.maximum(weights.max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    narrow = weights.astype(np.float32)
    counts = batch.word_counts.astype(np.float64)
    # Copied, hence writable: otherwise numba compiles for another signature.
    prior, indptr = np.array(doc_concentration, np.float64), batch.indptr.copy()
    doc_topic_counts = np.zeros((batch.n_docs, n_topics))
    with open_executor(workers) as executor:
        first_topics = choose_first_topics(narrow, n_topics, executor)

        def infer(block: tuple[int, int]) -> None:
            first, last = block
            document_kernels.infer_block(
                indptr[first : last + 1], rows.row_of_pair, counts, narrow, first_topics,
                prior, make_schedule(DENSE_STEP), doc_topic_counts[first:last],
            )  # fmt: skip

        executor.map(infer, worker_blocks(indptr))
    posterior = doc_topic_counts + prior
    posterior /= posterior.sum(axis=1, keepdims=True)
    return posterior
