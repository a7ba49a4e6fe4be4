"""Deletes: a topic goes, and its documents find other topics for their words.

Plan: the smallest topics that were not refused lately. Propose: the documents that use one of them
are fitted again without it. Accept: if the score rises. After a success two topics are tried at
once, then four, and so on; if several cannot go together, they are tried one by one again.
Documents that do not use these topics stay as they are, so that the score of a trial is exact: the
documents' old contributions are taken out of the statistics, and the new ones put in. A lap's
deletes end when refusals have cost ``REFUSED_SHARE`` of fitting the whole collection once. A topic
that too much of the collection uses is not tried at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.inference.laps import fit_batch
from sparsetopics.inference.local_step import Globals
from sparsetopics.inference.moves.evidence import Evidence, Focus, Scored, numbered
from sparsetopics.inference.moves.standing import Made, MoveTally, Standing, TopicUse
from sparsetopics.model.allocations.allocation import MovableAllocation
from sparsetopics.model.assignments import Assignments, Patch, TopicChange, overlaid
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import B, C, P, T, added, subtracted

NAME = "delete"
LARGEST_SHARE = 0.5  # of the topics may be tried in a lap,
FEWEST_TARGETS = 16  # or this number
LARGEST_TARGET = 0.3  # of the collection's tokens may be in documents that use the topic
FETCHED_SHARE = 0.1  # of the collection's tokens may be in the documents of all targets,
FETCHED_TOKENS = 2e6  # or this number
REFUSED_SHARE = 0.05  # of the collection's tokens, in documents of targets that were refused
TIE = 1e-12  # of the score; a topic that no document uses is worth nothing, and goes
ROUNDS = 2  # of local steps for the targets' documents


def delete_topics(standing: Standing[B, C, P, T]) -> Made[B, C, P, T]:
    """Try to do without the smallest topics."""
    chosen = choose_targets(standing)
    if len(chosen.topics) == 0:
        return standing, MoveTally(0, 0)
    trial, ledger = first_trial(standing, fetch(standing, chosen.documents)), standing.ledger
    use = TopicUse.of(trial.assignments, standing.n_topics)
    n_tokens, left, at_once = standing.terms.n_tokens, chosen.topics.tolist(), 1
    refused, n_tried = 0.0, 0
    while left and refused <= REFUSED_SHARE * n_tokens:
        group = left[: min(at_once, trial.n_topics - standing.tools.fewest)]
        if not group:
            break
        users = np.unique(use.documents[np.isin(use.topics, group)])
        better = better_without(trial, group, users)
        if better is not None:
            trial, use = better, TopicUse.of(better.assignments, standing.n_topics)
            n_tried, left, at_once = n_tried + len(group), left[len(group) :], 2 * len(group)
            continue
        refused += use.lengths[users].sum()
        if len(group) == 1:
            ledger = ledger.refused(NAME, float(standing.sizes[left[0]]), left[0])
            n_tried, left = n_tried + 1, left[1:]
        at_once = 1
    standing = standing._replace(ledger=ledger)
    n_made = standing.n_topics - trial.n_topics
    if n_made:
        standing = commit(standing, trial)
    return standing, MoveTally(n_tried, n_made)


# --- which topics to try --------------------------------------------------------------------------
class Targets(NamedTuple):
    """Topics to try, and the documents that use them."""

    topics: IntArray  # (n_targets,)  the smallest first
    documents: dict[int, IntArray]  # positions, by batch


def choose_targets(standing: Standing[B, C, P, T]) -> Targets:
    """Choose the topics to try, and find their documents in one pass over the assignments."""
    eligible = standing.ledger.eligible(NAME, standing.sizes)  # not refused lately
    candidates = eligible[np.argsort(standing.sizes[eligible], kind="stable")]
    used = np.zeros(standing.n_topics)  # tokens of the documents that use a topic
    users = {}
    for batch_id, assignments in standing.assignments():
        use = TopicUse.of(assignments, standing.n_topics)
        chosen = np.isin(use.topics, candidates)
        topics, documents = use.topics[chosen], use.documents[chosen]
        used += np.bincount(topics, use.lengths[documents], minlength=len(used))
        users[batch_id] = topics, documents
    targets = _affordable(standing, candidates, used)
    theirs = {
        batch_id: np.unique(documents[np.isin(topics, targets)])
        for batch_id, (topics, documents) in users.items()
    }
    return Targets(targets, theirs)


def _affordable(standing: Standing[B, C, P, T], candidates: IntArray, used: FloatArray) -> IntArray:
    """The first candidates whose documents together are not too large a part of the collection."""
    n_topics, n_tokens = standing.n_topics, standing.terms.n_tokens
    targets = candidates[used[candidates] <= LARGEST_TARGET * n_tokens]
    most = max(FEWEST_TARGETS, int(LARGEST_SHARE * n_topics))
    targets = targets[: min(most, n_topics - 1)]
    room = max(FETCHED_SHARE * n_tokens, FETCHED_TOKENS)
    return targets[np.cumsum(used[targets]) <= room]


# --- their documents ------------------------------------------------------------------------------
class Sample(NamedTuple, Generic[B]):
    """Documents of several batches as one batch, and where they come from."""

    assignments: Assignments[B]
    batch_ids: IntArray  # (n_docs,)
    positions: IntArray  # (n_docs,)  in their batch


class Trial(NamedTuple, Generic[B, C, P, T]):
    """The whole collection while topics are taken from it, one after the other."""

    before: Standing[B, C, P, T]  # with all topics
    sample: Sample[B]
    evidence: Evidence[B, C]  # with the topics before
    terms: T
    allocation: MovableAllocation[B, T]
    reference: FloatArray  # (n_topics,)  α_k that the terms were computed with
    found: Responsibilities  # of the sample, with the topics before
    is_refitted: NDArray[np.bool_]  # (n_docs,)  which documents of the sample have changed
    new_topics: IntArray  # (topics before,)  -1 for those that are gone
    score: float

    @property
    def n_topics(self) -> int:
        return len(self.reference)

    @property
    def topics(self) -> IntArray:
        """The topics that are left, (n_topics,), rising, as they were numbered before."""
        return np.flatnonzero(self.new_topics >= 0)

    @property
    def assignments(self) -> Assignments[B]:
        """The sample's documents as they are assigned now, with the topics before."""
        return self.sample.assignments._replace(responsibilities=self.found)

    def renumbered(self, assignments: Assignments[B]) -> Assignments[B]:
        """The topics before become those that are left."""
        found = assignments.responsibilities.renumbered(self.new_topics)
        return assignments._replace(responsibilities=found)


def fetch(standing: Standing[B, C, P, T], wanted: Mapping[int, IntArray]) -> Sample[B]:
    """Fetch documents; ``wanted`` has their positions in every batch, perhaps none."""
    parts, batch_ids, positions = [], [], []
    for batch_id, assignments in standing.assignments():
        chosen = wanted[batch_id]
        parts.append(assignments.take(chosen))
        batch_ids.append(np.full(len(chosen), batch_id))
        positions.append(chosen)
    return Sample(Assignments.joined(parts), np.concatenate(batch_ids), np.concatenate(positions))


def first_trial(standing: Standing[B, C, P, T], sample: Sample[B]) -> Trial[B, C, P, T]:
    """The collection before anything was tried."""
    return Trial(
        standing,
        sample,
        standing.evidence,
        standing.terms,
        standing.allocation,
        standing.reference,
        sample.assignments.responsibilities,
        np.zeros(len(sample.positions), bool),
        np.arange(standing.n_topics),
        standing.score,
    )


def commit(standing: Standing[B, C, P, T], trial: Trial[B, C, P, T]) -> Standing[B, C, P, T]:
    """The standing that ``trial`` describes."""
    sample, executor = trial.sample, standing.executor
    terms = standing.renumbered_terms(trial.new_topics, trial.n_topics)
    patches = {}
    for batch_id in np.unique(sample.batch_ids[trial.is_refitted]).tolist():
        chosen = np.flatnonzero((sample.batch_ids == batch_id) & trial.is_refitted)
        old, new = sample.assignments.take(chosen), trial.renumbered(trial.assignments.take(chosen))
        taken = standing.allocation.sum_terms(old, standing.reference, executor)
        rest = subtracted(standing.state.per_batch[batch_id].terms, taken)
        put = trial.allocation.sum_terms(new, trial.reference, executor)
        terms[batch_id] = added(rest.renumbered(trial.new_topics, trial.n_topics), put)
        patches[batch_id] = Patch(sample.positions[chosen], new.responsibilities)
    change = TopicChange(trial.new_topics, patches, trial.n_topics)
    evidence = trial.evidence.take(trial.topics)
    after = standing.committed(change, terms, trial.allocation, trial.reference, evidence)
    return after if after.evidence.components.is_exact else after.resummed()


# --- fitting them again ---------------------------------------------------------------------------
class Refit(NamedTuple, Generic[B, C, T]):
    """The collection after some documents were fitted again."""

    scored: Scored[B, C]
    terms: T
    allocation: MovableAllocation[B, T]
    found: Responsibilities  # of the documents
    score: float


def better_without(
    trial: Trial[B, C, P, T], group: Sequence[int], users: IntArray
) -> Trial[B, C, P, T] | None:
    """The trial without the topics ``group``, which ``users`` have, if that raises the score."""
    kept = np.setdiff1d(np.arange(trial.n_topics), trial.new_topics[group])
    refit = refit_without(trial, kept, users)
    unused = TIE * abs(trial.score) if len(users) == 0 else 0.0
    return accepted(trial, kept, users, refit) if refit.score > trial.score - unused else None


def refit_without(
    trial: Trial[B, C, P, T],
    kept: IntArray,  # (n_kept,)  the other topics, rising
    documents: IntArray,  # (n_docs,)  positions in the sample of those that use a topic that goes
) -> Refit[B, C, T]:
    """Fit the documents ``ROUNDS`` times with the topics ``kept``, then update the weights."""
    likelihood, laps = trial.before.likelihood, trial.before.tools.laps
    local, executor = laps.local, laps.executor
    allocation, reference = trial.allocation.restricted(kept), trial.reference[kept]
    focus, rest = taken_out(trial, kept, documents)
    for _ in range(ROUNDS):
        current = Globals(focus.components, allocation, likelihood)
        found = fit_batch(focus.batch, current, local, executor).responsibilities
        focus.hold_in_place(found, executor)
    theirs = allocation.sum_terms(Assignments(focus.batch, found), reference, executor)
    terms = added(rest, theirs)
    allocation, scored = allocation.updated(terms), focus.scored()
    score = float(scored.by_topic.sum()) + allocation.elbo(terms)
    return Refit(scored, terms, allocation, found, score)


def taken_out(
    trial: Trial[B, C, P, T], kept: IntArray, documents: IntArray
) -> tuple[Focus[B, C], T]:
    """A focus on the documents, and the terms of all others with the topics ``kept``."""
    chosen = trial.assignments.take(documents)
    executor = trial.before.executor
    taken = trial.allocation.sum_terms(trial.renumbered(chosen), trial.reference, executor)
    rest = subtracted(trial.terms, taken)
    focus = trial.evidence.focus(chosen, trial.topics[kept], trial.reference[kept])
    return focus, rest.with_topics(rest.by_topic[:, kept])


def accepted(
    trial: Trial[B, C, P, T], kept: IntArray, documents: IntArray, refit: Refit[B, C, T]
) -> Trial[B, C, P, T]:
    """The trial with the refit taken over into the whole collection."""
    topics = trial.topics[kept]
    new_topics = numbered(topics, len(trial.new_topics))
    found = refit.found._replace(topics=topics.astype(np.uint32)[refit.found.topics])
    is_refitted = trial.is_refitted.copy()
    is_refitted[documents] = True
    indptr = trial.assignments.documents.indptr
    is_own = trial.evidence is not trial.before.evidence
    return trial._replace(
        evidence=refit.scored.written_in_place() if is_own else refit.scored.written(),
        terms=refit.terms,
        allocation=refit.allocation,
        reference=trial.reference[kept],
        found=overlaid(trial.found, indptr, Patch(documents, found)),
        is_refitted=is_refitted,
        new_topics=new_topics,
        score=refit.score,
    )
