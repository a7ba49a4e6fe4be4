"""Some documents of a memoized collection, fetched once, on which moves are tried one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.inference.moves.evidence import Evidence
from sparsetopics.inference.moves.standing import Standing, Tools, committed, resummed
from sparsetopics.kernels import summaries as summary_kernels
from sparsetopics.model.allocations.allocation import MovableAllocation
from sparsetopics.model.assignments import Assignments, Patch, TopicChange, overlaid
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import added, subtracted


class DocTopics(NamedTuple):
    """N_dk of some documents, entry by entry."""

    documents: IntArray  # (n_entries,)
    topics: IntArray  # (n_entries,)
    counts: FloatArray  # (n_entries,)
    lengths: FloatArray  # (n_docs,)  tokens of each document


class Sample(NamedTuple):
    """Documents of several batches as one, with where they come from."""

    assignments: Assignments
    batch_ids: IntArray  # (n_docs,)
    positions: IntArray  # (n_docs,)  in their batch


class Trial(NamedTuple):
    """The whole collection while moves are tried on a sample of it."""

    evidence: Evidence
    terms: Any
    allocation: MovableAllocation
    reference: FloatArray  # (n_topics,)  α_k of the terms
    found: Responsibilities  # of the sample
    new_topics: IntArray  # (topics before,)  -1 for those that are gone
    score: float

    @property
    def n_topics(self) -> int:
        return len(self.reference)


def doc_topics(assignments: Assignments, n_topics: int) -> DocTopics:
    """The topic counts of every document."""
    batch, found = assignments
    starts, topics, masses = summary_kernels.doc_topic_counts(
        batch.indptr, batch.weights, *found, n_topics
    )
    documents = np.repeat(np.arange(batch.n_docs), np.diff(starts))
    lengths: FloatArray = np.bincount(documents, masses, minlength=batch.n_docs).astype(np.float64)
    return DocTopics(documents, topics.astype(np.int64), masses, lengths)


def gather(standing: Standing, wanted: Mapping[int, IntArray]) -> Sample:
    """Fetch documents: positions in every batch, of which there may be none."""
    parts, batch_ids, positions = [], [], []
    for batch_id, assignments in standing.assignments():
        chosen = wanted[batch_id]
        parts.append(assignments.take(chosen))
        batch_ids.append(np.full(len(chosen), batch_id))
        positions.append(chosen)
    return Sample(Assignments.joined(parts), np.concatenate(batch_ids), np.concatenate(positions))


def first_trial(standing: Standing, sample: Sample) -> Trial:
    """The collection as it stands."""
    return Trial(
        standing.evidence,
        standing.terms,
        standing.allocation,
        standing.reference,
        sample.assignments.responsibilities,
        np.arange(standing.n_topics),
        standing.score,
    )


def commit(standing: Standing, trial: Trial, sample: Sample, tools: Tools) -> Standing:
    """Make what ``trial`` has become the standing; only the sample's documents have changed."""
    before = {batch_id: kept.terms for batch_id, kept in standing.state.per_batch.items()}
    terms = {
        batch_id: old.renumbered(trial.new_topics, trial.n_topics)
        for batch_id, old in before.items()
    }
    patches = {}
    for batch_id in np.unique(sample.batch_ids).tolist():
        chosen = np.flatnonzero(sample.batch_ids == batch_id)
        old = sample.assignments.take(chosen)
        new = sample.assignments._replace(responsibilities=trial.found).take(chosen)
        taken = standing.allocation.sum_terms(old, standing.reference, tools.executor)
        left = subtracted(before[batch_id], taken).renumbered(trial.new_topics, trial.n_topics)
        put = trial.allocation.sum_terms(new, trial.reference, tools.executor)
        terms[batch_id] = added(left, put)
        patches[batch_id] = Patch(sample.positions[chosen], new.responsibilities)
    change = TopicChange(trial.new_topics, patches, trial.n_topics)
    after = committed(standing, change, terms, trial.allocation, trial.reference, trial.evidence)
    return resummed(after, tools)


def with_documents(
    trial: Trial, sample: Sample, documents: IntArray, found: Responsibilities
) -> Responsibilities:
    """The sample's responsibilities with those of ``documents`` replaced."""
    indptr = sample.assignments.documents.indptr
    return overlaid(trial.found, indptr, Patch(documents, found))
