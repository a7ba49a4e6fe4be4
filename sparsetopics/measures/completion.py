"""Held-out document completion: how well topics predict one part of a document from the rest.

The score is that of Wallach, Murray, Salakhutdinov & Mimno (2009) and Wang, Paisley & Blei (2011);
the split by word type is that of Hughes & Sudderth (2016), appendix E.
"""

from __future__ import annotations

import math
from functools import partial
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray
from sparsetopics.base.errors import CorpusError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.store.shards import RowGroup
from sparsetopics.execution.executors import OrderedMap, broadcast_map_here
from sparsetopics.inference.document_step import topic_proportions
from sparsetopics.kernels.words import mixed
from sparsetopics.measures.paired import HeldoutScores, mean_score

SCORED_SHARE = 0.2  # of the word types of a document
N_FOLDS = 5  # such shares make a document
UNIGRAM_PSEUDO_COUNT = 0.1


class CompletionScore(NamedTuple):
    """Document completion of one model on one held-out collection.

    Likelihoods are in nats per scored token.
    """

    log_likelihood_per_token: float
    standard_error: float  # over documents; NaN for a single document
    perplexity: float
    unigram_log_likelihood_per_token: float  # the baseline without topics
    n_documents: int  # scored
    n_tokens: float  # scored, of those documents
    n_skipped_documents: int  # with fewer than two known word types, some of them dropped by ingest
    n_unknown_tokens: int  # outside the vocabulary, dropped by ingest

    @property
    def gain(self) -> float:
        """Log-likelihood per token that the topics add to the baseline."""
        return self.log_likelihood_per_token - self.unigram_log_likelihood_per_token


def document_completion(
    heldout: Corpus,
    topic_word: FloatArray,  # (n_topics, n_words)   rows sum to one, entries positive
    doc_concentration: FloatArray,  # (n_topics,)
    unigram: FloatArray,  # (n_words,)   sums to one
    *,
    seed: int = 0,
    n_cuts: int = 1,
    workers: int = 1,
    broadcast: OrderedMap = broadcast_map_here,
) -> tuple[CompletionScore, HeldoutScores]:
    """Score topics on held-out documents, all together and each of them, by row groups.

    Each document's word types are split at random, 80 % to A and 20 % (at least one) to B.
    The dense local step infers topic proportions from A, and the score is

        R = Σ_d Σ_{v∈B_d} x_dv log Σ_k E[π_dk] φ_kv / Σ_d n_d,    n_d = Σ_{v∈B_d} x_dv.

    ``paired.mean_score`` has its standard error over documents.

    With several ``n_cuts``, each document is cut that often, and its scores are added up: five cuts
    score nearly every word type once, and the next five begin with another order.

    The split depends on ``seed`` and the order of the documents, not on batches or workers.
    Raises CorpusError if there is no document to score.
    """
    word_topic = np.ascontiguousarray(topic_word.T)
    log_unigram = xlogy(1.0, unigram)
    score = partial(_score_part, word_topic, doc_concentration, log_unigram, seed, n_cuts, workers)
    before = accumulate((group.n_pairs for group in heldout.row_groups), initial=0)
    parts = list(zip(heldout.row_groups, before, strict=False))
    sums = np.hstack([np.empty((3, 0)), *broadcast(score, parts)])
    n_skipped = heldout.n_skipped + heldout.n_docs - sums.shape[1]
    return _summarize(sums, n_skipped, heldout.n_unknown_tokens)


def _score_part(
    word_topic: FloatArray,  # (n_words, n_topics)  columns sum to one
    doc_concentration: FloatArray,
    log_unigram: FloatArray,
    seed: int,
    n_cuts: int,
    workers: int,
    part: tuple[RowGroup[DocumentBatch], int],
) -> FloatArray:
    """Return the (3, n_docs) sums for ``_summarize``, of the documents that are not skipped.

    ``part`` is a row group and the number of pairs in the collection before it.
    """
    (group, n_pairs_before), cuts = part, []
    batch = group.read()
    for cut in range(n_cuts):
        order, fold = divmod(cut, N_FOLDS)
        # The split draws one number per pair: skip those of the documents before this part.
        numbers = np.random.PCG64(seed + order).advance(n_pairs_before)
        cuts.append(split_by_type(batch, np.random.Generator(numbers), fold))
    # All cuts at once, which takes half the time of one after the other
    observed, scored = map(DocumentBatch.joined, zip(*cuts, strict=True))
    proportions = topic_proportions(observed, word_topic.T, doc_concentration, workers=workers)
    log_probability = predicted_log_probability(scored, proportions, word_topic)
    values = np.stack([log_probability, log_unigram[scored.word_ids], np.ones(scored.n_pairs)])
    # No document is empty, so each sum ends where the next begins.
    by_cut = np.add.reduceat(scored.word_counts * values, scored.indptr[:-1], axis=1)
    sums: FloatArray = by_cut.reshape(3, n_cuts, -1).sum(axis=1)
    return sums


def unigram_probabilities(term_frequency: IntArray) -> FloatArray:
    """Return smoothed word frequencies, p_v = (n_v + 0.1) / Σ_w (n_w + 0.1), (n_words,).

    The pseudo-count gives every vocabulary word a probability, used in training or not.
    """
    smoothed = term_frequency + UNIGRAM_PSEUDO_COUNT
    probabilities: FloatArray = smoothed / smoothed.sum()
    return probabilities


def split_by_type(
    batch: DocumentBatch, rng: np.random.Generator, fold: int = 0
) -> tuple[DocumentBatch, DocumentBatch]:
    """Cut each document's word types in two at random, A and B of ``document_completion``.

    Of the random order of types, B has the first fifth, or with ``fold`` a later one.
    Row d of both parts is one document; those of fewer than two word types are left out.
    One random number is drawn per (document, word type) pair, in order, so that the division of a
    collection into batches does not matter.
    """
    n_types = np.diff(batch.indptr)
    document_of_pair = batch.documents
    # Adding less than 1/2 shuffles pairs within a document but never across documents.
    shuffled = np.argsort(document_of_pair + rng.random(batch.n_pairs) / 2)
    place = np.arange(batch.n_pairs) - batch.indptr[document_of_pair]
    n_scored = np.maximum(1, np.rint(SCORED_SHARE * n_types))
    is_scored = np.empty(batch.n_pairs, dtype=bool)
    n_before = (fold * n_scored)[document_of_pair]
    is_scored[shuffled] = (place - n_before) % n_types[document_of_pair] < n_scored[
        document_of_pair
    ]
    kept = np.flatnonzero(n_types >= 2)
    return batch.chosen(~is_scored).take(kept), batch.chosen(is_scored).take(kept)


def predicted_log_probability(
    scored: DocumentBatch,
    proportions: FloatArray,  # (n_docs, n_topics)
    word_topic: FloatArray,  # (n_words, n_topics)
) -> FloatArray:
    """Return log Σ_k π_dk φ_kv for each (document, word type) pair of ``scored``, (n_pairs,)."""
    probability = mixed(scored.indptr, scored.word_ids, proportions, word_topic)
    logs: FloatArray = xlogy(1.0, probability)  # the last bit of np.log depends on the processor
    return logs


def _summarize(
    sums: FloatArray, n_skipped: int, n_unknown_tokens: int
) -> tuple[CompletionScore, HeldoutScores]:
    """Return the score; ``sums`` is (3, n_docs): score, unigram score and tokens per document."""
    n_docs = sums.shape[1]
    if n_docs == 0:
        problem = f"none of the {n_skipped:,} documents has two different known words to score"
        hint = "Were they tokenized like the training corpus, and are they in its language?"
        raise CorpusError("held-out documents", problem, hint)
    log_likelihoods, unigram_scores, tokens = sums
    documents = HeldoutScores(log_likelihoods, tokens)
    estimate, n_tokens = mean_score(documents), float(tokens.sum())
    score = CompletionScore(
        log_likelihood_per_token=estimate.mean,
        standard_error=estimate.standard_error,
        perplexity=math.exp(-estimate.mean),
        unigram_log_likelihood_per_token=float(unigram_scores.sum()) / n_tokens,
        n_documents=n_docs,
        n_tokens=n_tokens,
        n_skipped_documents=n_skipped,
        n_unknown_tokens=n_unknown_tokens,
    )
    return score, documents
