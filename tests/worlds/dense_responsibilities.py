"""Dense responsibilities (n_pairs, n_topics) and back; learners as the tests want them."""

import numpy as np

from sparsetopics.execution.executors import Executor
from sparsetopics.inference.document_step import fit_documents
from sparsetopics.inference.learners.learner import Visit
from sparsetopics.inference.learners.memoized import MemoizedLearner
from sparsetopics.model.allocations.documents import sum_terms
from sparsetopics.model.allocations.lda import LDAAllocation
from sparsetopics.model.memo import Memo
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import Summary
from sparsetopics.model.word_counts import PairCounts
from worlds.word_models import globals_of


def dense_of(responsibilities, n_topics):
    """Shares as float64, entries of the same topic added up."""
    dense = np.zeros((len(responsibilities.starts) - 1, n_topics))
    pairs = np.repeat(np.arange(len(dense)), np.diff(responsibilities.starts))
    np.add.at(dense, (pairs, responsibilities.topics), responsibilities.shares.astype(float))
    return dense


def sparse_of(dense, dtype=np.float32):
    """The positive entries; float64 shares where a test compares beyond float32."""
    dense = np.asarray(dense, dtype)
    pairs, topics = np.nonzero(dense)
    starts = np.searchsorted(pairs, np.arange(len(dense) + 1)).astype(np.int64)
    return Responsibilities(starts, topics.astype(np.uint32), dense[pairs, topics])


def lda_globals(counts, alpha, eta):
    return globals_of(counts, LDAAllocation(alpha), eta)


def summary_of_dense(batch, shares, allocation, n_words):
    """What the engine sums, in full precision: shares are not rounded."""
    found = sparse_of(shares, np.float64)
    concentration = allocation.doc_concentration
    terms = sum_terms(batch, found, concentration, allocation.tail, Executor())
    words = PairCounts(batch.word_ids, batch.word_counts, *found)
    return Summary(words, allocation.complete(terms))


def visit_of(batch_id, documents, current, options):
    """A batch after the engine's local steps."""
    found = fit_documents(documents, current, options, Executor())
    return Visit(batch_id, found.summary, documents, found.responsibilities)


def memoized(folder, keep_better, *, budget=None, keep_assignments=False):
    memo = Memo(folder) if budget is None else Memo(folder, budget)
    return MemoizedLearner(memo, Executor(), keep_better, keep_assignments)
