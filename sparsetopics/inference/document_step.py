"""The local step of documents: from global parameters and a batch to a summary.

A batch is cut into blocks of whole documents, and its vocabulary into blocks of words, always at
the same places. Workers take blocks, and their results are joined in order, so the result has the
same bits for any number of workers. The step of documents that are new to a trained model is here
too.
"""

from __future__ import annotations

import numpy as np

from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray, WordIds, cut_blocks
from sparsetopics.base.errors import ShapeError
from sparsetopics.execution.executors import Executor, open_executor
from sparsetopics.inference.local_step import NOTHING, Former, Globals, LocalInfo, LocalResult
from sparsetopics.kernels import documents as document_kernels
from sparsetopics.kernels import words as word_kernels
from sparsetopics.kernels.types import Lists, Schedule, SparseShares, Weights
from sparsetopics.model.allocations.allocation import DocumentAllocation, is_of_documents
from sparsetopics.model.allocations.documents import sum_terms
from sparsetopics.model.likelihoods.words import Words
from sparsetopics.model.responsibilities import DocumentTopics, Responsibilities
from sparsetopics.model.statistics import DocumentTerms, Summary
from sparsetopics.model.word_counts import PairCounts, WordCounts, cut_rows, number_rows
from sparsetopics.options.table import OWN_SHARES, LocalUpdate
from sparsetopics.options.training import LocalOptions

CHUNK_ENTRIES = 8_000_000  # responsibilities held at once: pairs × slots
RESTART_ITERATIONS = 2
MOMENTUM = 0.7  # of a collapsed step
COLUMN_SHARE = 0.02  # of a cold document, for a collapsed step
DENSE_COLUMN_SHARE = 1e-4  # for the dense step; the second sweep has ruled out most others
LARGEST_PRUNED_SHARE = 0.02  # of a document; topics with a larger share are never pruned
DENSE_STEP = LocalOptions(update="mean-field", max_iterations=100, tolerance=0.01, restarts=0)

TopicGlobals = Globals[WordCounts, PairCounts, DocumentTerms]


def fit_documents(
    batch: DocumentBatch,
    current: TopicGlobals,
    options: LocalOptions,
    executor: Executor,
    former: Former = NOTHING,
) -> LocalResult[PairCounts, DocumentTerms]:
    """Make the local steps of all documents of ``batch`` under the ``current`` global parameters.

    Documents begin with their topics in ``former``, or cold if it has none for them. If it also has
    what they put into the counts, a share of that is left out of these (``options.own_counts``),
    except where the topics of a cold start are chosen. A batch whose responsibilities would take
    much memory is fitted in several chunks. Raises ShapeError if ``former`` is of other documents.
    """
    n_slots = options.n_slots(current.components.n_topics)
    chunks = cut_blocks(batch.indptr, CHUNK_ENTRIES // n_slots)
    topics = DocumentTopics.unknown(batch.n_docs) if former[0] is None else former[0]
    own = Responsibilities.unknown(batch.n_pairs) if former[1] is None else former[1]
    _check_rows("documents", batch.n_docs, len(topics.starts) - 1)
    _check_rows("pairs", batch.n_pairs, len(own.starts) - 1)
    parts: list[_Fitted] = []
    for chunk in chunks:
        left = topics.rows(*chunk), own.rows(*batch.indptr[list(chunk)])
        parts += _fit_chunk(batch[slice(*chunk)], *left, current, options, executor)
    responsibilities = Responsibilities.joined([found for found, _, _ in parts])
    doc_topics = DocumentTopics.joined([topics for _, topics, _ in parts])
    summary = summarize(batch, responsibilities, current, executor)
    info = LocalInfo(*map(int, sum((tallies for _, _, tallies in parts), np.zeros(3, np.int64))))
    return LocalResult(summary, responsibilities, info, doc_topics)


def _check_rows(noun: str, wanted: int, found: int) -> None:
    """ShapeError unless the last visit left as many rows as kernels will read."""
    if found != wanted:
        raise ShapeError("former topics", f"expected {wanted:,} {noun}, but found {found:,}")


def summarize(
    batch: DocumentBatch, found: Responsibilities, current: TopicGlobals, executor: Executor
) -> Summary[PairCounts, DocumentTerms]:
    """What responsibilities say about the global parameters, with θ_d at its optimum."""
    allocation = _of_documents(current)
    terms = sum_terms(batch, found, allocation.doc_concentration, allocation.tail, executor)
    return Summary(current.components.sum_batch(batch, found, executor), allocation.complete(terms))


def make_schedule(options: LocalOptions) -> Schedule:
    collapsed = options.update == "collapsed"
    return Schedule(
        collapsed,
        options.max_iterations,
        options.tolerance,
        options.n_restarts,
        RESTART_ITERATIONS,
        options.pruning_mass,
        LARGEST_PRUNED_SHARE,
        MOMENTUM if collapsed else 0.0,
        COLUMN_SHARE if collapsed else 0.0,
        OWN_SHARES[options.own_counts],
    )


# Results of the local steps of some documents; the array (3,) has the fields of LocalInfo.
_Fitted = tuple[Responsibilities, DocumentTopics, IntArray]


def _fit_chunk(
    batch: DocumentBatch,
    former: DocumentTopics,
    own: Responsibilities,
    current: TopicGlobals,
    options: LocalOptions,
    executor: Executor,
) -> list[_Fitted]:
    n_slots = options.n_slots(current.components.n_topics)
    weights, words = _weights(batch, current, options.update, executor)
    is_cold = (np.diff(former.starts) == 0) & (np.diff(batch.indptr) > 0)
    # Documents that are all warm need no lists.
    lists = _lists(weights, words if is_cold.any() else words[:0], n_slots, executor)
    counts, schedule = batch.word_counts.astype(np.float64), make_schedule(options)
    # Kernels get writable arrays, however those were read: otherwise numba compiles anew.
    prior = np.require(_of_documents(current).doc_concentration, requirements="W")

    def fit(block: tuple[int, int]) -> _Fitted:
        first, last = block
        pairs, tallies = slice(*batch.indptr[[first, last]]), np.zeros(3, np.int64)
        indptr = batch.indptr[first : last + 1] - batch.indptr[first]
        found, topics = document_kernels.fit_block(
            indptr, np.require(words[pairs], requirements="W"), counts[pairs], weights, lists,
            prior, schedule, SparseShares(*former.rows(first, last)),
            SparseShares(*own.rows(pairs.start, pairs.stop)), n_slots, tallies, np.empty((0, 0)),
        )  # fmt: skip
        return Responsibilities(*found), DocumentTopics(*topics), tallies

    return executor.map(fit, cut_blocks(batch.indptr))


def _weights(
    batch: DocumentBatch, current: TopicGlobals, update: LocalUpdate, executor: Executor
) -> tuple[Weights, WordIds]:
    """The weights of a batch's words, and the row of each pair in their table."""
    components, likelihood = current.components, current.likelihood
    assert isinstance(likelihood, Words), "documents have words"
    if update == "collapsed" and components.start is None:
        return likelihood.collapsed_weights(components.seen, components.sizes), batch.word_ids
    words, rows = number_rows(batch, components.n_columns)
    sizes = components.sizes
    if update == "collapsed":
        return likelihood.collapsed_weights(components.rows(words), sizes), rows
    table = np.empty((len(words), components.n_topics))

    def fill(part: slice) -> None:
        table[part] = likelihood.mean_field_weights(components.rows(words[part]), sizes)

    executor.map(fill, cut_rows(len(table)))
    return _as_they_are(table), rows


def _as_they_are(table: FloatArray) -> Weights:
    """The numbers of a table, (n_rows, n_topics), as weights."""
    return Weights(table, 0.0, np.ones(table.shape[1]))


def _lists(weights: Weights, words: WordIds, n_slots: int, executor: Executor) -> Lists:
    """The best topics of the rows that ``words`` name; the other rows are not filled in."""
    shape = (len(weights.table) if len(words) else 0, n_slots)
    lists = Lists(np.empty(shape, np.uint32), np.empty(shape, np.float32))
    present = np.flatnonzero(np.bincount(words, minlength=shape[0])).astype(np.uint32)
    parts = cut_rows(len(present))
    executor.map(lambda part: word_kernels.fill_lists(present[part], weights, lists), parts)
    return lists


def _of_documents(current: TopicGlobals) -> DocumentAllocation:
    assert is_of_documents(current.allocation), "documents have proportions of their own"
    return current.allocation


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
    words, rows = number_rows(batch, topic_word.shape[1])
    with open_executor(workers) as executor:
        return proportions_under(
            batch, rows, np.ascontiguousarray(topic_word.T[words]), doc_concentration, executor
        )


def proportions_under(
    batch: DocumentBatch,
    rows: WordIds,  # (n_pairs,)  of the table
    table: FloatArray,  # (n_rows, n_topics)  φ_kv of some words, as the documents see them
    doc_concentration: FloatArray,  # (n_topics,)  α_k
    executor: Executor,
) -> FloatArray:
    """The same, if each pair of document and word has a row of the ``table``."""
    n_topics, weights = table.shape[1], _as_they_are(table)
    counts = batch.word_counts.astype(np.float64)
    # Copied, hence writable: otherwise numba compiles for another signature.
    prior, indptr = np.array(doc_concentration, np.float64), batch.indptr.copy()
    doc_topic_counts = np.zeros((batch.n_docs, n_topics))
    schedule = make_schedule(DENSE_STEP)._replace(column_share=DENSE_COLUMN_SHARE)
    former, own = DocumentTopics.unknown(batch.n_docs), SparseShares(*Responsibilities.unknown(0))
    lists = _lists(weights, rows, n_topics, executor)

    def infer(block: tuple[int, int]) -> None:
        first, last = block
        document_kernels.fit_block(
            indptr[first : last + 1], rows, counts, weights, lists, prior, schedule,
            SparseShares(*former.rows(first, last)), own, n_topics, np.zeros(3, np.int64),
            doc_topic_counts[first:last],
        )  # fmt: skip

    executor.map(infer, cut_blocks(indptr))
    posterior = doc_topic_counts + prior
    posterior /= posterior.sum(axis=1, keepdims=True)
    return posterior
