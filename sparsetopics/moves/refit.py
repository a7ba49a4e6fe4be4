"""Another set of topics, tried on those documents of a sample that it is about.

All else of the collection stays as it is, so the whole-data ELBO of the trial is exact: the
documents' old contributions go out of the statistics, their new ones come in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsetopics.allocations.hdp import HDPAllocation
from sparsetopics.assignments import Assignments
from sparsetopics.batches import DocumentBatch, FloatArray, IntArray
from sparsetopics.local_step import TopicGlobals, fit_documents, sum_terms, sum_words
from sparsetopics.moves.sample import Sample, Trial, with_documents
from sparsetopics.moves.standing import Tools, corrections_of, elbo_of
from sparsetopics.spread import Spread
from sparsetopics.statistics import DocumentTerms, added, subtracted


class Rest(NamedTuple):
    """The collection without some documents of the sample."""

    documents: IntArray  # (n_docs,)  the positions in the sample of those left out
    batch: DocumentBatch  # those left out
    counts: FloatArray  # (n_words, n_topics)
    terms: DocumentTerms
    spread: Spread | None


class Proposal(NamedTuple):
    """Topics to begin with."""

    counts: FloatArray  # (n_words, n_topics)
    allocation: HDPAllocation
    reference: FloatArray  # (n_topics,)
    new_topics: IntArray  # (topics of the trial,)  -1 for those that go


def without_documents(trial: Trial, sample: Sample, documents: IntArray, tools: Tools) -> Rest:
    """Take what ``documents`` contribute out of the trial's statistics."""
    whole = Assignments(sample.assignments.documents, trial.found)
    batch, found = whole.take(documents)
    shape = (trial.counts.shape[0], trial.n_topics)
    counts = trial.counts.copy()
    sum_words(batch, found, shape, tools.executor).add_to(counts, -1.0)
    np.maximum(counts, 0.0, out=counts)
    terms = sum_terms(batch, found, trial.reference, trial.tail, tools.executor)
    spread = None
    if trial.spread is not None:
        spread = trial.spread.copy()
        spread.add(Assignments(batch, found), trial.reference, -1.0)
    return Rest(documents, batch, counts, subtracted(trial.terms, terms), spread)


def refitted(
    trial: Trial,
    sample: Sample,
    rest: Rest,
    proposal: Proposal,
    word_concentration: float,
    tools: Tools,
    *,
    rounds: int,
) -> Trial:
    """Local steps of the documents left out of ``rest``, and the global step after each round."""
    n_topics = len(proposal.reference)
    tail = float(proposal.allocation.sticks.doc_concentration - proposal.reference.sum())
    others = np.zeros((len(rest.counts), n_topics))
    kept = proposal.new_topics >= 0
    others[:, proposal.new_topics[kept]] = rest.counts[:, kept]
    rest_terms = rest.terms.renumbered(proposal.new_topics, n_topics)
    counts, allocation = proposal.counts, proposal.allocation
    for _ in range(rounds):
        current = TopicGlobals(counts, counts.sum(axis=0), allocation, word_concentration)
        fit = fit_documents(rest.batch, current, tools.local, tools.executor)
        counts = others.copy()
        fit.summary.word_counts.add_to(counts)
        found = fit.responsibilities
        terms = sum_terms(rest.batch, found, proposal.reference, tail, tools.executor)
        terms = added(rest_terms, terms)
        allocation = allocation.updated(terms)
    spread = None
    if rest.spread is not None:
        spread = rest.spread.renumbered(proposal.new_topics, n_topics)
        spread.add(Assignments(rest.batch, found), proposal.reference)
    added_by_criterion = corrections_of(spread, counts, word_concentration).sum()
    everywhere = trial.found.renumbered(proposal.new_topics)
    renumbered = trial._replace(found=everywhere)
    return Trial(
        counts,
        terms,
        allocation,
        proposal.reference,
        with_documents(renumbered, sample, rest.documents, found),
        _composed(trial.new_topics, proposal.new_topics),
        spread,
        elbo_of(counts, word_concentration, terms, allocation) + float(added_by_criterion),
    )


def _composed(first: IntArray, second: IntArray) -> IntArray:
    return np.where(first >= 0, second[first], -1)
