"""The smoothing σ of finished topics, φ_kv = (S_vk + σ) / (N_k + V σ).

The prior's η shapes topics while they form. In finished topics it is often too large: with η = 0.1,
up to a quarter of a topic's probability comes from the prior. Therefore σ is a separate number,
learned from training documents. Each document is left out of the counts in turn, S − x r. Its
topics are found from four fifths of its word types, and the best σ makes the other types most
probable.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import xlogy

from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray, Source, cut_blocks
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.document_step import proportions_under
from sparsetopics.inference.laps import fit_batch
from sparsetopics.inference.local_step import D, Globals
from sparsetopics.kernels.words import mixed
from sparsetopics.model.allocations.allocation import DocumentAllocation
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import C, P, T
from sparsetopics.model.word_counts import PairCounts, WordCounts
from sparsetopics.options.training import LocalOptions

LEFT_OUT = 400  # documents
FEW_LEFT_OUT = 100  # where many models are compared, each with its own σ
MOST_BATCHES = 10  # from which these documents are taken
MEAN_LENGTH = 150  # word types; if documents have more on average, fewer of them are used
SCORED_EVERY = 5  # one of this many words of a document is scored
SMOOTHINGS = np.array([0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5])
ENLARGED = 1.5  # this times the learned σ predicts new documents best
USUAL = 0.05  # suits most collections; proportions hardly depend on the σ they are found with
BLOCK_ENTRIES = 1_000_000  # counts that are copied at once: pairs × topics


def smoothing_of(learned: float, own_share: float = 0.0) -> float:
    """The σ for new documents, from the one that was ``learned`` from training documents.

    The topics of all other documents were found while the left-out document was part of the counts.
    It is therefore predicted too well, and the learned σ is too small. This effect is stronger if
    the last laps left out a share of own counts, ``own_share``.
    """
    return (ENLARGED + own_share) * learned


def learned_smoothing(
    current: Globals[C, P, T],
    source: Source[D],
    kept: Callable[[int], tuple[D, Responsibilities] | None],
    options: LocalOptions,
    executor: Executor,
    n_docs: int = LEFT_OUT,
) -> float | None:
    """The best of ``SMOOTHINGS`` for training documents; None if they have too few words.

    The documents are evenly spaced, so no random numbers are needed. ``kept`` returns a batch and
    what it put into the counts, or None if that is not known; the batch is then fitted once more.
    """
    ids = _evenly_spaced(source.n_batches, MOST_BATCHES).tolist()
    n_each = math.ceil(n_docs / len(ids))

    def sampled(batch_id: int) -> Assignments[DocumentBatch]:
        found, own = kept(batch_id) or (source.read(batch_id), None)
        assert isinstance(found, DocumentBatch), "topics are of documents"
        documents: DocumentBatch = found
        by_length = n_each * MEAN_LENGTH * documents.n_docs // max(documents.n_pairs, 1)
        few = _evenly_spaced(documents.n_docs, max(1, min(n_each, by_length)))
        if own is None:
            documents = documents.take(few)
            own, few = fit_batch(documents, current, options, executor)[1], np.arange(len(few))
        return Assignments(documents, own).take(few)

    sample = Assignments.joined([sampled(batch_id) for batch_id in ids])
    counts, allocation = current.components, current.allocation
    assert isinstance(counts, WordCounts), "topics have words"
    assert isinstance(allocation, DocumentAllocation), "documents have proportions of their own"
    counts = counts._replace(within=counts.sizes)  # or each block would sum them
    blocks = cut_blocks(sample.documents.indptr, BLOCK_ENTRIES // counts.n_topics)
    parts = (sample.take(np.arange(*block)) for block in blocks)
    prior = allocation.doc_concentration
    scores = sum(left_out_scores(part, counts, prior, executor) for part in parts)
    return float(SMOOTHINGS[np.argmax(scores)]) if np.any(scores) else None


def _evenly_spaced(n: int, most: int) -> IntArray:
    """At most ``most`` evenly spaced numbers below ``n``, including the first and the last."""
    return np.unique(np.linspace(0, n - 1, most).astype(np.int64))


def left_out_scores(
    sample: Assignments[DocumentBatch],
    counts: WordCounts,  # including the documents of the sample
    doc_concentration: FloatArray,
    executor: Executor,
) -> FloatArray:
    """Σ_d Σ_v x_dv log Σ_k E[π_dk] φ_kv of the scored words for each σ, (n_smoothings,).

    Document d is left out of φ, and its scored words are left out of its proportions.
    """
    documents, own = sample
    lengths, pairs = np.diff(documents.indptr), np.arange(documents.n_pairs, dtype=np.int32)
    document_of = np.repeat(np.arange(documents.n_docs, dtype=np.int32), lengths)
    # In a document of three words or more, some are scored, but at most a third.
    is_scored = (pairs - documents.indptr[document_of] + lengths[document_of]) % SCORED_EVERY == 0
    rest = counts.rows(documents.word_ids.astype(np.uint32))
    sizes = np.tile(counts.sizes, (documents.n_docs, 1))
    for table, rows in ((rest, pairs), (sizes, document_of)):
        WordCounts(table).add(PairCounts(rows, documents.word_counts, *own), -1.0)
        np.maximum(table, 0.0, out=table)  # refitted shares may differ from those in the counts
    seen, scored = documents.chosen(~is_scored), documents.chosen(is_scored)
    table, rows = rest[~is_scored], pairs[: seen.n_pairs]
    table += USUAL
    table /= (sizes + counts.n_columns * USUAL)[document_of[~is_scored]]
    proportions = proportions_under(seen, rows, table, doc_concentration, executor)
    rest, rows, scores = rest[is_scored], pairs[: scored.n_pairs], np.empty(len(SMOOTHINGS))
    for i, smoothing in enumerate(SMOOTHINGS):
        weights = proportions / (sizes + counts.n_columns * smoothing)
        probabilities = mixed(scored.indptr, rows, weights, rest)
        probabilities += smoothing * weights.sum(axis=1)[document_of[is_scored]]
        scores[i] = np.sum(scored.word_counts * xlogy(1.0, probabilities))
    return scores
