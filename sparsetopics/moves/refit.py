"""The collection without some topics, tried on the documents of a sample that use them.

All else stays as it is, so the score of the trial is exact: the documents' old contributions go out
of the statistics, their new ones come in. Only rows of words that the documents have are touched;
the whole tables are written once, when the trial is accepted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsetopics.allocations.hdp import HDPAllocation
from sparsetopics.assignments import Assignments
from sparsetopics.batches import DocumentBatch, FloatArray, IntArray
from sparsetopics.document_step import sum_terms
from sparsetopics.likelihoods.words import Words
from sparsetopics.local_step import Globals
from sparsetopics.moves.sample import Sample, Trial, with_documents
from sparsetopics.moves.standing import Tools, score_of
from sparsetopics.moves.word_scores import WordScores
from sparsetopics.responsibilities import Responsibilities
from sparsetopics.spread import Spread
from sparsetopics.statistics import DocumentTerms, added, subtracted
from sparsetopics.word_counts import WordCounts, sum_words


class Rest(NamedTuple):
    """The collection without some documents, in the rows of their words, and without the topics."""

    batch: DocumentBatch  # the documents left out, their words numbered from 0
    words: IntArray  # (n_rows,)  the words' ids
    counts: FloatArray  # (n_rows, n_topics)
    elsewhere: FloatArray  # (n_topics,)  tokens of all other words
    terms: DocumentTerms
    spread: Spread | None  # its documents' part is that of the whole rest
    scores: WordScores  # of all other words


class Refit(NamedTuple):
    """The collection with the documents fitted anew; tables in the rows of their words."""

    words: IntArray  # (n_rows,)
    counts: FloatArray  # (n_rows, n_topics)
    terms: DocumentTerms
    allocation: HDPAllocation
    found: Responsibilities  # of the documents
    spread: Spread | None
    scores: WordScores  # of all words
    score: float


def refit_without(
    trial: Trial,
    sample: Sample,
    kept: IntArray,  # (n_kept,)  the other topics, rising
    documents: IntArray,  # (n_docs,)  positions in the sample of those that use one that goes
    likelihood: Words,
    tools: Tools,
    *,
    rounds: int,
) -> Refit:
    """Local steps of the documents with the topics ``kept``, ``rounds`` times; new weights."""
    rest = _without(trial, sample, kept, documents, likelihood.word_concentration, tools)
    allocation = trial.allocation.restricted(kept)
    reference = trial.reference[kept]
    tail = float(allocation.sticks.doc_concentration - reference.sum())
    counts = trial.counts[rest.words[:, None], kept]
    for _ in range(rounds):
        current = Globals(WordCounts(counts, rest.elsewhere), allocation, likelihood)
        found = allocation.fit(rest.batch, current, tools.local, tools.executor).responsibilities
        counts = rest.counts.copy()
        sum_words(rest.batch, found, counts.shape, tools.executor).add_to(counts)
    terms = added(rest.terms, sum_terms(rest.batch, found, reference, tail, tools.executor))
    allocation = allocation.updated(terms)
    spread = rest.spread
    if spread is not None:
        spread.add(Assignments(rest.batch, found), reference)
    concentration = likelihood.word_concentration
    scores = rest.scores.plus(WordScores.of(counts, spread, concentration))
    score = score_of(scores, likelihood.n_words, concentration, terms, allocation, spread)
    return Refit(rest.words, counts, terms, allocation, found, spread, scores, score)


def _without(
    trial: Trial,
    sample: Sample,
    kept: IntArray,
    documents: IntArray,
    word_concentration: float,
    tools: Tools,
) -> Rest:
    whole = Assignments(sample.assignments.documents, trial.found)
    batch, found = whole.take(documents)
    words, numbered = np.unique(batch.word_ids.astype(np.int64), return_inverse=True)
    batch = DocumentBatch(batch.indptr, numbered.astype(np.int32), batch.word_counts)
    before = trial.counts[words]
    spread = None if trial.spread is None else trial.spread.rows(words)
    scores = trial.word_scores.minus(WordScores.of(before, spread, word_concentration))
    counts = before.copy()
    shape = (len(words), trial.n_topics)
    sum_words(batch, found, shape, tools.executor).add_to(counts, -1.0)
    np.maximum(counts, 0.0, out=counts)
    terms = sum_terms(batch, found, trial.reference, trial.tail, tools.executor)
    if spread is not None and trial.spread is not None:
        spread = spread._replace(doc_corrections=trial.spread.doc_corrections.copy())
        spread.add(Assignments(batch, found), trial.reference, -1.0)
        spread = spread.take(kept.tolist())
    elsewhere = trial.word_scores.sizes - before.sum(axis=0)
    by_topic = subtracted(trial.terms, terms)
    return Rest(
        batch, words, counts[:, kept], elsewhere[kept],
        by_topic.with_topics(by_topic.by_topic[:, kept]), spread, scores.take(kept),
    )  # fmt: skip


def accepted(
    trial: Trial, sample: Sample, kept: IntArray, documents: IntArray, refit: Refit
) -> Trial:
    """The trial with the refit written into the tables of the whole collection."""
    new_topics = np.full(trial.n_topics, -1)
    new_topics[kept] = np.arange(len(kept))
    counts = np.ascontiguousarray(trial.counts[:, kept])
    counts[refit.words] = refit.counts
    spread = None
    if trial.spread is not None and refit.spread is not None:
        spread = trial.spread.take(kept.tolist())
        spread = spread._replace(doc_corrections=refit.spread.doc_corrections)
        spread.variances[refit.words] = refit.spread.variances
        spread.log_absent[refit.words] = refit.spread.log_absent
    renumbered = trial._replace(found=trial.found.renumbered(new_topics))
    return Trial(
        counts,
        refit.terms,
        refit.allocation,
        trial.reference[kept],
        with_documents(renumbered, sample, documents, refit.found),
        np.where(trial.new_topics >= 0, new_topics[trial.new_topics], -1),
        spread,
        refit.scores,
        refit.score,
    )
