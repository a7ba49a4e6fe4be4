"""Held-out document completion: how well topics predict one part of a document from the rest.

The score is that of Wallach, Murray, Salakhutdinov & Mimno (2009) and Wang, Paisley & Blei (2011);
the split by word type is that of Hughes & Sudderth (2016), appendix E.
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray
from sparsetopics.base.errors import CorpusError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.store.shards import RowGroup
from sparsetopics.execution.executors import BroadcastMap, broadcast_map_here
from sparsetopics.inference.document_step import topic_proportions

SCORED_SHARE = 0.2  # of the word types of a document
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


class _Part(NamedTuple):
    """Consecutive documents, and the number of pairs in the collection before them."""

    group: RowGroup[DocumentBatch]
    n_pairs_before: int


class _Scoring(NamedTuple):
    """The fixed topics that documents are scored with, and the settings."""

    word_topic: FloatArray  # (n_words, n_topics)  columns sum to one
    doc_concentration: FloatArray  # (n_topics,)
    log_unigram: FloatArray  # (n_words,)
    seed: int
    workers: int


class SplitBatch(NamedTuple):
    """Documents of at least two word types, cut in two; row d of both parts is one document."""

    observed: DocumentBatch  # A
    scored: DocumentBatch  # B
    n_skipped: int


def document_completion(
    heldout: Corpus,
    topic_word: FloatArray,  # (n_topics, n_words)   rows sum to one, entries positive
    doc_concentration: FloatArray,  # (n_topics,)
    unigram: FloatArray,  # (n_words,)   sums to one
    *,
    seed: int = 0,
    workers: int = 1,
    broadcast: BroadcastMap = broadcast_map_here,
) -> CompletionScore:
    """Score topics on held-out documents, one row group at a time.

    Each document's word types are split at random, 80 % to A and 20 % (at least one) to B.
    The dense local step infers topic proportions from A, and the score is

        R = Σ_d Σ_{v∈B_d} x_dv log Σ_k E[π_dk] φ_kv / Σ_d n_d,    n_d = Σ_{v∈B_d} x_dv.

    R is a ratio of two sums over documents. For D documents, of which document d contributes s_d
    to the numerator, the delta method gives the standard error

        se² = D / (D − 1) · Σ_d (s_d − R n_d)² / (Σ_d n_d)².

    The split depends on ``seed`` and the order of the documents, not on batches or workers.
    Raises CorpusError if there is no document to score.
    """
    word_topic = np.ascontiguousarray(topic_word.T)
    scoring = _Scoring(word_topic, doc_concentration, np.log(unigram), seed, workers)
    before = accumulate((group.n_pairs for group in heldout.row_groups), initial=0)
    parts = [_Part(*part) for part in zip(heldout.row_groups, before, strict=False)]
    sums = [np.empty((3, 0))]
    n_skipped = heldout.n_skipped
    for own, skipped in broadcast(_score_part, parts, scoring):
        sums.append(own)
        n_skipped += skipped
    return _summarize(np.hstack(sums), n_skipped, heldout.n_unknown_tokens)


def _score_part(part: _Part, scoring: _Scoring) -> tuple[FloatArray, int]:
    """Return the (3, n_docs) sums for ``_summarize`` and the number of skipped documents."""
    word_topic, doc_concentration, all_log_unigram, seed, workers = scoring
    # The split draws one number per pair: skip those of the documents before this part.
    numbers = np.random.PCG64(seed).advance(part.n_pairs_before)
    observed, scored, skipped = split_by_type(part.group.read(), np.random.Generator(numbers))
    proportions = topic_proportions(observed, word_topic.T, doc_concentration, workers=workers)
    log_probability = predicted_log_probability(scored, proportions, word_topic)
    log_unigram = all_log_unigram[scored.word_ids]
    values = np.stack([log_probability, log_unigram, np.ones(scored.n_pairs)])
    return _document_sums(scored, values), skipped


def unigram_probabilities(term_frequency: IntArray) -> FloatArray:
    """Return smoothed word frequencies, p_v = (n_v + 0.1) / Σ_w (n_w + 0.1), (n_words,).

    The pseudo-count gives every vocabulary word a probability, used in training or not.
    """
    smoothed = term_frequency + UNIGRAM_PSEUDO_COUNT
    probabilities: FloatArray = smoothed / smoothed.sum()
    return probabilities


def split_by_type(batch: DocumentBatch, rng: np.random.Generator) -> SplitBatch:
    """Cut each document's word types in two at random.

    One random number is drawn per (document, word type) pair, in order, so that the division of a
    collection into batches does not matter.
    """
    n_types = np.diff(batch.indptr)
    document_of_pair = np.repeat(np.arange(batch.n_docs), n_types)
    # Adding less than 1/2 shuffles pairs within a document but never across documents.
    shuffled = np.argsort(document_of_pair + rng.random(batch.n_pairs) / 2)
    place = np.arange(batch.n_pairs) - batch.indptr[document_of_pair]
    n_scored = np.maximum(1, np.rint(SCORED_SHARE * n_types))
    is_scored = np.empty(batch.n_pairs, dtype=bool)
    is_scored[shuffled] = place < n_scored[document_of_pair]
    kept = np.flatnonzero(n_types >= 2)
    return SplitBatch(
        observed=_chosen(batch, ~is_scored).take(kept),
        scored=_chosen(batch, is_scored).take(kept),
        n_skipped=batch.n_docs - len(kept),
    )


def _chosen(batch: DocumentBatch, pairs: NDArray[np.bool_]) -> DocumentBatch:
    """Return the same documents with only the chosen pairs."""
    indptr = np.concatenate(([0], np.cumsum(pairs)))[batch.indptr]
    return DocumentBatch(indptr, batch.word_ids[pairs], batch.word_counts[pairs])


def predicted_log_probability(
    scored: DocumentBatch,
    proportions: FloatArray,  # (n_docs, n_topics)
    word_topic: FloatArray,  # (n_words, n_topics)
) -> FloatArray:
    """Return log Σ_k π_dk φ_kv for each (document, word type) pair of ``scored``, (n_pairs,)."""
    probability = np.empty(scored.n_pairs)
    for document in range(scored.n_docs):
        pairs = slice(scored.indptr[document], scored.indptr[document + 1])
        probability[pairs] = word_topic[scored.word_ids[pairs]] @ proportions[document]
    return np.log(probability)


def _document_sums(batch: DocumentBatch, values: FloatArray) -> FloatArray:
    """Sum count · value over each document, (len(values), n_docs); no document may be empty."""
    sums: FloatArray = np.add.reduceat(batch.word_counts * values, batch.indptr[:-1], axis=1)
    return sums


def _summarize(sums: FloatArray, n_skipped: int, n_unknown_tokens: int) -> CompletionScore:
    """Return the score; ``sums`` is (3, n_docs): score, unigram score and tokens per document."""
    n_docs = sums.shape[1]
    if n_docs == 0:
        raise CorpusError(
            "held-out documents",
            found=f"none with two known word types among {n_skipped:,}",
            wanted="at least one to score",
            hint="Were they tokenized like the training corpus, and are they in its language?",
        )
    scores, _, tokens = sums
    total, unigram_total, n_tokens = sums.sum(axis=1).tolist()
    mean = total / n_tokens
    residual = float(np.sum((scores - mean * tokens) ** 2))
    return CompletionScore(
        log_likelihood_per_token=mean,
        standard_error=(
            math.sqrt(n_docs / (n_docs - 1) * residual) / n_tokens if n_docs > 1 else math.nan
        ),
        perplexity=math.exp(-mean),
        unigram_log_likelihood_per_token=unigram_total / n_tokens,
        n_documents=n_docs,
        n_tokens=n_tokens,
        n_skipped_documents=n_skipped,
        n_unknown_tokens=n_unknown_tokens,
    )
