"""Deletes: a topic goes, and its documents find other topics for their words.

Plan: the smallest topics that were not refused lately. Propose: the documents that use one of them
are fitted again without it. Accept: if the score rises. After a success two topics are tried at
once, then four, and so on; if several cannot go together, they are tried one by one again.
Documents that do not use these topics stay as they are, so that the score of a trial is exact: the
documents' old contributions are taken out of the statistics, and the new ones put in. A lap's
deletes end when refusals have cost ``REFUSED_SHARE`` of fitting the whole collection once. A topic
that too much of the collection uses is not tried at all, unless there are only a few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.inference.laps import fit_batch
from sparsetopics.inference.local_step import Globals
from sparsetopics.inference.moves.evidence import Evidence, Focus, numbered
from sparsetopics.inference.moves.standing import Made, MoveTally, Standing, TopicUse
from sparsetopics.model.allocations.allocation import MovableAllocation
from sparsetopics.model.assignments import Assignments, Patch, TopicChange, overlaid
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import B, C, P, T, added, renumbered, subtracted

NAME = "delete"
LARGEST_SHARE = 0.5  # of the topics may be tried in a lap,
FEWEST_TARGETS = 16  # or this number
LARGEST_TARGET = 0.3  # of the collection's tokens may be in documents that use the topic,
FEW_TOPICS = 30  # unless there are so few topics: a superfluous one may then be in most documents
FETCHED_SHARE = 0.1  # of the collection's tokens may be in the documents of all targets,
FETCHED_TOKENS = 2e6  # or this number
REFUSED_SHARE = 0.05  # of the collection's tokens, in documents of targets that were refused
TIE = 1e-12  # of the score; a topic that no document uses is worth nothing, and goes
ROUNDS = 2  # of local steps for the targets' documents


def delete_topics(standing: Standing[B, C, P, T]) -> Made[B, C, P, T]:
    """Try to do without the smallest topics."""
    targets, documents = choose_targets(standing)
    if len(targets) == 0:
        return standing, MoveTally(0, 0)
    trial, ledger = Trial.begun(standing, documents), standing.ledger
    use = TopicUse.of(trial.assignments, standing.n_topics)
    n_tokens, left, at_once = standing.terms.n_tokens, targets.tolist(), 1
    refused, n_tried = 0.0, 0
    while left and refused <= REFUSED_SHARE * n_tokens:
        group = left[: min(at_once, trial.n_topics - standing.tools.fewest)]
        if not group:
            break
        users = np.unique(use.documents[np.isin(use.topics, group)])
        better = trial.without(group, users)
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
    return trial.committed(standing) if n_made else standing, MoveTally(n_tried, n_made)


# --- which topics to try --------------------------------------------------------------------------
def choose_targets(standing: Standing[B, C, P, T]) -> tuple[IntArray, dict[int, IntArray]]:
    """Choose the topics to try, and find their documents in one pass over the assignments.

    Returns the topics, (n_targets,), the smallest first, and the positions of the documents that
    use them, by batch.
    """
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
    return targets, theirs


def _affordable(standing: Standing[B, C, P, T], candidates: IntArray, used: FloatArray) -> IntArray:
    """The first candidates whose documents together are not too large a part of the collection."""
    n_topics, n_tokens = standing.n_topics, standing.terms.n_tokens
    largest = LARGEST_TARGET if n_topics > FEW_TOPICS else 1.0
    targets = candidates[used[candidates] <= largest * n_tokens]
    most = max(FEWEST_TARGETS, int(LARGEST_SHARE * n_topics))
    targets = targets[: min(most, n_topics - 1)]
    room = max(FETCHED_SHARE * n_tokens, FETCHED_TOKENS)
    return targets[np.cumsum(used[targets]) <= room]


# --- fitting their documents again ----------------------------------------------------------------
class Trial(NamedTuple, Generic[B, C, P, T]):
    """The whole collection while topics are taken from it, one after the other.

    Their documents, from several batches, are one sample.
    """

    before: Standing[B, C, P, T]  # with all topics
    sample: Assignments[B]  # of the documents before
    batch_ids: IntArray  # (n_docs,)  of the documents
    positions: IntArray  # (n_docs,)  of the documents in their batch
    evidence: Evidence[B, C]  # with the topics before
    terms: T
    allocation: MovableAllocation[B, T]
    reference: FloatArray  # (n_topics,)  α_k that the terms were computed with
    found: Responsibilities  # of the sample, with the topics before
    is_refitted: NDArray[np.bool_]  # (n_docs,)  which documents of the sample have changed
    new_topics: IntArray  # (topics before,)  -1 for those that are gone
    score: float

    @classmethod
    def begun(cls, standing: Standing[B, C, P, T], wanted: Mapping[int, IntArray]) -> Self:
        """The collection before anything was tried.

        ``wanted`` has the positions of the documents in every batch in order, perhaps none.
        """
        parts = [own.take(wanted[batch_id]) for batch_id, own in standing.assignments()]
        sample, positions = Assignments.joined(parts), np.concatenate([*wanted.values()])
        return cls(
            standing,
            sample,
            np.repeat([*wanted], [*map(len, wanted.values())]),
            positions,
            standing.evidence,
            standing.terms,
            standing.allocation,
            standing.reference,
            sample.responsibilities,
            np.zeros(len(positions), bool),
            np.arange(standing.n_topics),
            standing.score,
        )

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
        return self.sample._replace(responsibilities=self.found)

    def renumbered(self, assignments: Assignments[B]) -> Assignments[B]:
        """The topics before become those that are left."""
        found = assignments.responsibilities.renumbered(self.new_topics)
        return assignments._replace(responsibilities=found)

    def without(self, group: Sequence[int], users: IntArray) -> Self | None:
        """The trial without the topics ``group`` of ``users``, if that raises the score."""
        kept = np.setdiff1d(np.arange(self.n_topics), self.new_topics[group])
        focus, refit = self.refit_without(kept, users)
        unused = TIE * abs(self.score) if len(users) == 0 else 0.0
        return refit._taken_over(users, focus) if refit.score > self.score - unused else None

    def refit_without(
        self,
        kept: IntArray,  # (n_kept,)  the other topics, rising
        documents: IntArray,  # (n_docs,)  positions in the sample of those that use one that goes
    ) -> tuple[Focus[B, C], Self]:
        """Fit the documents ``ROUNDS`` times with the topics ``kept``, then update the weights.

        Returns the documents as fitted, and the trial, which ``_taken_over`` completes.
        """
        likelihood, laps = self.before.likelihood, self.before.tools.laps
        local, executor = laps.local, laps.executor
        allocation, reference = self.allocation.restricted(kept), self.reference[kept]
        chosen = self.assignments.take(documents)
        taken = self.allocation.sum_terms(self.renumbered(chosen), self.reference, executor)
        rest = subtracted(self.terms, taken)
        rest = rest.with_topics(rest.by_topic[:, kept])
        focus = self.evidence.focus(chosen, self.topics[kept], reference)
        for _ in range(ROUNDS):
            current = Globals(focus.components, allocation, likelihood)
            found = fit_batch(focus.now.documents, current, local, executor).responsibilities
            focus.hold_in_place(found, executor)
        terms = added(rest, allocation.sum_terms(focus.now, reference, executor))
        allocation = allocation.updated(terms)
        score = self.before.tools.score(focus.by_topic, allocation, terms)
        new_topics = numbered(self.topics[kept], len(self.new_topics))
        after = self._replace(terms=terms, allocation=allocation, reference=reference)
        return focus, after._replace(new_topics=new_topics, score=score)

    def _taken_over(self, documents: IntArray, focus: Focus[B, C]) -> Self:
        """The trial with the documents of ``focus`` in the whole collection."""
        found = focus.now.responsibilities
        found = found._replace(topics=self.topics.astype(np.uint32)[found.topics])
        is_refitted = self.is_refitted.copy()
        is_refitted[documents] = True
        indptr = self.assignments.documents.indptr
        is_own = self.evidence is not self.before.evidence
        return self._replace(
            evidence=focus.written(in_place=is_own),
            found=overlaid(self.found, indptr, Patch(documents, found)),
            is_refitted=is_refitted,
        )

    def committed(self, standing: Standing[B, C, P, T]) -> Standing[B, C, P, T]:
        """What becomes of the ``standing`` before, whose ledger may be newer."""
        executor, patches = standing.executor, {}
        terms = standing.renumbered_terms(self.new_topics, self.n_topics)
        for batch_id in np.unique(self.batch_ids[self.is_refitted]).tolist():
            chosen = np.flatnonzero((self.batch_ids == batch_id) & self.is_refitted)
            old = self.sample.take(chosen)
            new = self.renumbered(self.assignments.take(chosen))
            taken = standing.allocation.sum_terms(old, standing.reference, executor)
            rest = subtracted(standing.state.per_batch[batch_id].terms, taken)
            put = self.allocation.sum_terms(new, self.reference, executor)
            terms[batch_id] = added(renumbered(rest, self.new_topics, self.n_topics), put)
            patches[batch_id] = Patch(self.positions[chosen], new.responsibilities)
        change = TopicChange(self.new_topics, patches, self.n_topics)
        evidence = self.evidence.take(self.topics)
        after = standing.committed(change, terms, self.allocation, self.reference, evidence)
        return after if after.evidence.components.is_exact else after.resummed()
