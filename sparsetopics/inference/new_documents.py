"""What a trained model says about documents: deterministic, every topic, from a cold start."""

from __future__ import annotations

import numpy as np

from sparsetopics.base.batches import DocumentBatch, FloatArray, worker_blocks
from sparsetopics.execution.executors import open_executor
from sparsetopics.inference.document_step import (
    choose_first_topics,
    make_schedule,
)
from sparsetopics.kernels import documents as document_kernels
from sparsetopics.model.word_counts import number_rows
from sparsetopics.options.training import LocalOptions

DENSE_STEP = LocalOptions(update="mean-field", max_iterations=100, tolerance=0.01, restarts=0)


def topic_proportions(
    batch: DocumentBatch,
    topic_word: FloatArray,  # (n_topics, n_words)  rows sum to one
    doc_concentration: FloatArray,  # (n_topics,)  α_k
    *,
    workers: int = 1,
) -> FloatArray:
    """Expected proportions E[π_d] of each document with the topics held fixed, (n_docs, n_topics).

    The dense mean-field step from a uniform start, until no topic's count in the document moves
    by more than 0.01 tokens, 100 iterations at most. A row depends on its own document alone.
    """
    n_topics, n_words = topic_word.shape
    rows = number_rows(batch, n_words)
    weights = np.ascontiguousarray(topic_word.T[rows.words])
    weights /= np.maximum(weights.max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    narrow = weights.astype(np.float32)
    counts = batch.word_counts.astype(np.float64)
    # Writable, whatever the corpus gave and however the model is loaded: one numba signature.
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
