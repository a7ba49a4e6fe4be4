"""The collection without some topics, tried on the documents of a sample that use them.

All else stays as it is, so the score of the trial is exact: the documents' old contributions go out
of the statistics, their new ones come in.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparsetopics.base.batches import IntArray
from sparsetopics.inference.batch_steps import fit_batch
from sparsetopics.inference.local_step import Globals
from sparsetopics.inference.moves.evidence import Refitted
from sparsetopics.inference.moves.sample import Sample, Trial, with_documents
from sparsetopics.inference.moves.standing import Tools
from sparsetopics.model.allocations.allocation import MovableAllocation
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.likelihoods.likelihood import Likelihood
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import added, subtracted


class Refit(NamedTuple):
    """The collection with the documents fitted anew."""

    evidence: Refitted
    terms: Any
    allocation: MovableAllocation
    found: Responsibilities  # of the documents
    score: float


def refit_without(
    trial: Trial,
    sample: Sample,
    kept: IntArray,  # (n_kept,)  the other topics, rising
    documents: IntArray,  # (n_docs,)  positions in the sample of those that use one that goes
    likelihood: Likelihood,
    tools: Tools,
    *,
    rounds: int,
) -> Refit:
    """Local steps of the documents with the topics ``kept``, ``rounds`` times; new weights."""
    old = Assignments(sample.assignments.documents, trial.found).take(documents)
    focus = trial.evidence.focus(old, trial.reference, kept, tools.executor)
    allocation, reference = trial.allocation.restricted(kept), trial.reference[kept]
    components = focus.before
    for _ in range(rounds):
        current = Globals(components, allocation, likelihood)
        found = fit_batch(focus.batch, current, tools.local, tools.executor).responsibilities
        components = focus.holding(found, tools.executor)
    theirs = allocation.sum_terms(Assignments(focus.batch, found), reference, tools.executor)
    terms = added(_without(trial, old, kept, tools), theirs)
    allocation = allocation.updated(terms)
    evidence = focus.refit(components, found, reference)
    score = float(evidence.by_topic.sum()) + allocation.elbo(terms)
    return Refit(evidence, terms, allocation, found, score)


def _without(trial: Trial, old: Assignments, kept: IntArray, tools: Tools) -> Any:
    """Terms of all other documents, of the kept topics."""
    theirs = trial.allocation.sum_terms(old, trial.reference, tools.executor)
    rest = subtracted(trial.terms, theirs)
    return rest.with_topics(rest.by_topic[:, kept])


def accepted(
    trial: Trial, sample: Sample, kept: IntArray, documents: IntArray, refit: Refit
) -> Trial:
    """The trial with the refit written into the whole collection."""
    new_topics = np.full(trial.n_topics, -1)
    new_topics[kept] = np.arange(len(kept))
    renumbered = trial._replace(found=trial.found.renumbered(new_topics))
    return Trial(
        refit.evidence.whole(),
        refit.terms,
        refit.allocation,
        trial.reference[kept],
        with_documents(renumbered, sample, documents, refit.found),
        np.where(trial.new_topics >= 0, new_topics[trial.new_topics], -1),
        refit.score,
    )
