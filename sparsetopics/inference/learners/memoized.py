"""Memoized variational learning: a batch's old statistics go out, its new ones come in.

Hughes & Sudderth (2013), section 3: every step is a full coordinate-ascent update of the whole
collection, at the cost of one batch. Batches are visited in a new random order each lap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Generic, NamedTuple, Self

import numpy as np

from sparsetopics.base.batches import Arrays, Batch, IntArray, Source, documents_in
from sparsetopics.base.soundness import check_close, require
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.learners.learner import Learner, LearnerInputs, Visit
from sparsetopics.inference.local_step import Globals, batch_bound
from sparsetopics.model.assignments import Assignments, TopicChange
from sparsetopics.model.memo import Memo, StoredArrays
from sparsetopics.model.responsibilities import DocumentTopics
from sparsetopics.model.statistics import B, C, P, Statistics, Summary, T, added, check_terms


class KeptBatch(NamedTuple, Generic[B, T]):
    """What is memoized of a batch."""

    stored: StoredArrays  # its assignments if moves may need them, otherwise its components
    documents: B | None  # the batch if it stays in memory; None: stored with the assignments
    terms: T  # up to date with all moves, unlike ``stored``
    n_changes: int  # how many of the state's changes ``stored`` contains
    doc_topics: StoredArrays | None = None  # its documents' topics, if the next lap is warm

    def discard(self) -> None:
        self.stored.discard()
        if self.doc_topics is not None:
            self.doc_topics.discard()


class MemoizedState(NamedTuple, Generic[B, C, T]):
    """All that survives between two steps. Invariant: ``total`` is the sum over ``per_batch``."""

    start: C | None  # stands for the data not seen so far
    total: Statistics[C, T]
    per_batch: Mapping[int, KeptBatch[B, T]]
    changes: tuple[TopicChange, ...] = ()  # by moves, oldest first
    # The sum of the batches of a lap so far, which becomes the total when the lap ends: in a total
    # that batches were added to and taken out of, rounding leaves traces of what is gone.
    renewed: Statistics[C, T] | None = None
    n_laps: int = 0  # completed

    def renew_in_place(self, batch: Summary[P, T]) -> Self:
        """The state with a batch added to the lap's own sum, if a lap is under way."""
        if self.renewed is None:
            return self
        return self._replace(renewed=self.renewed.add_in_place(batch))

    def with_terms(self, terms: Mapping[int, T], components: C) -> Self:
        """The state with new terms of all batches, and the collection's components."""
        per_batch = {
            batch_id: kept._replace(terms=terms[batch_id])
            for batch_id, kept in self.per_batch.items()
        }
        # Added in the order of batches: sums of floats depend on it.
        total = reduce(added, (terms[batch_id] for batch_id in sorted(terms)))
        return self._replace(per_batch=per_batch, total=Statistics(components, total))

    def with_documents(self, read: Callable[[int], B | None]) -> Self:
        """The state with the documents of batches as ``read`` gives them."""
        batches = self.per_batch.items()
        return self._replace(per_batch={n: kept._replace(documents=read(n)) for n, kept in batches})

    def pending(self, batch_id: int) -> tuple[TopicChange, ...]:
        """The changes that the stored arrays of a batch have missed."""
        return self.changes[self.per_batch[batch_id].n_changes :]

    def n_topics_then(self, batch_id: int) -> int:
        """The number of topics when the arrays of a batch were stored."""
        pending = self.pending(batch_id)
        return len(pending[0].new_topics) if pending else self.total.components.n_topics

    def doc_topics(self, batch_id: int) -> DocumentTopics | None:
        """The topics of a batch's documents at their last visit, under their present numbers."""
        stored = self.per_batch[batch_id].doc_topics
        if stored is None:
            return None
        found = DocumentTopics.from_arrays(stored.load(partial(self.check_topics, batch_id)))
        for change in self.pending(batch_id):
            found = found.renumbered(change.new_topics)
        return found

    def check_topics(self, batch_id: int, arrays: Arrays) -> None:
        """ValueError unless a file's arrays are sound for ``doc_topics``."""
        DocumentTopics.from_arrays(arrays).check_topics(self.n_topics_then(batch_id))

    def assignments(self, batch_id: int) -> Assignments[B]:
        """The assignments of a batch, with the moves that were made since its visit."""
        kept = self.per_batch[batch_id]
        arrays = kept.stored.load(partial(self.check_assignments, batch_id))
        found = Assignments.from_arrays(arrays, kept.documents)
        return found.changed(self.pending(batch_id), batch_id)

    def check_assignments(self, batch_id: int, arrays: Arrays) -> None:
        """ValueError or KeyError unless a file's arrays are sound for ``assignments``."""
        documents = self.per_batch[batch_id].documents
        if documents is None:
            documents_in(arrays).check(self.total.components.n_columns)
        found = Assignments.from_arrays(arrays, documents)
        found.check(self.n_topics_then(batch_id), self.pending(batch_id), batch_id)

    def discard(self) -> None:
        """Free what the memo holds of a collection that is no longer needed."""
        for kept in self.per_batch.values():
            kept.discard()


@dataclass(frozen=True, slots=True)
class MemoizedLearner(Learner[MemoizedState[B, C, T], B, C, P, T], Generic[B, C, P, T]):
    """Takes a batch a step, or several that were fitted under the same parameters.

    A document that starts cold may find a worse local optimum than before. With ``keep_better``,
    the better of the batch's new and old summaries stays. The whole-data ELBO then rises from step
    to step, although nothing is stored per document. The first lap is then one round: all batches
    are fitted under the start's parameters, and one update follows. Otherwise the few documents of
    the first batches would decide what topics become; mean-field does not recover from that.

    Documents start cold in the first lap and in every ``cold_every``-th after it. In the other laps
    they begin with the topics of their last visit, and with no others. This takes a fraction of the
    time, and topics hardly change from one lap to the next.

    With ``keep_assignments`` batches keep their responsibilities instead of the sums that follow
    from them.
    """

    memo: Memo
    executor: Executor
    keep_better: bool
    keep_assignments: bool
    batches_per_round: int = 1
    cold_every: int = 1

    def init(self, start: Statistics[C, T]) -> MemoizedState[B, C, T]:
        return MemoizedState(start.components.accumulator(), start.zeros_like(), {})

    def rounds(
        self, state: MemoizedState[B, C, T], n_batches: int, rng: np.random.Generator
    ) -> list[IntArray]:
        if self.keep_better and state.start is not None:
            return [np.arange(n_batches)]
        return Learner.rounds(self, state, n_batches, rng)

    def start_lap(self, state: MemoizedState[B, C, T]) -> MemoizedState[B, C, T]:
        total = state.total.accumulator()
        renewed = None if total.components.is_exact else total.zeros_like()
        return state._replace(total=total, renewed=renewed)

    def step_in_place(
        self,
        state: MemoizedState[B, C, T],
        visits: Iterable[Visit[B, P, T]],
        current: Globals[C, P, T],
    ) -> tuple[MemoizedState[B, C, T], bool]:
        kept_old = False
        for visit in visits:
            former, new = state.per_batch.get(visit.batch_id), visit.summary
            old = None if former is None else self.recall(state, visit.batch_id)
            if old and self.keep_better and batch_bound(old, current) > batch_bound(new, current):
                kept_old, state = True, state.renew_in_place(old)
                continue
            kept = self._keep(visit, state)
            state = state._replace(
                total=state.total.exchange_in_place(new, old, self.executor),
                per_batch={**state.per_batch, visit.batch_id: kept},
            )
            state = state.renew_in_place(new)
            if former is not None:
                former.discard()
        return state, kept_old

    def end_lap(self, state: MemoizedState[B, C, T]) -> MemoizedState[B, C, T]:
        """Use the sum of the lap's batches as the total, so that rounding does not accumulate."""
        total = state.renewed
        if total is None:  # components are exact, but terms are rounded
            terms = {batch_id: kept.terms for batch_id, kept in state.per_batch.items()}
            total = state.with_terms(terms, state.total.components).total
        # Forget the changes that the stored arrays of all batches contain.
        seen = min((kept.n_changes for kept in state.per_batch.values()), default=0)
        per_batch = {
            batch_id: kept._replace(n_changes=kept.n_changes - seen)
            for batch_id, kept in state.per_batch.items()
        }
        n_laps, changes = state.n_laps + 1, state.changes[seen:]
        return MemoizedState(None, total, per_batch, changes, renewed=None, n_laps=n_laps)

    def recall(self, state: MemoizedState[B, C, T], batch_id: int) -> Summary[P, T]:
        """What a batch that was visited contributes to the total."""
        kept, components = state.per_batch[batch_id], state.total.components
        if not self.keep_assignments:
            arrays = kept.stored.load(components.check_batch)
            return Summary(components.restored(arrays), kept.terms)
        batch = components.sum_batch(*state.assignments(batch_id), self.executor)
        return Summary(batch, kept.terms)

    def former(self, state: MemoizedState[B, C, T], batch_id: int) -> DocumentTopics | None:
        if batch_id not in state.per_batch or not self._is_warm(state.n_laps):
            return None
        return state.doc_topics(batch_id)

    def kept(self, state: MemoizedState[B, C, T], batch_id: int) -> Assignments[B] | None:
        is_known = self.keep_assignments and batch_id in state.per_batch
        return state.assignments(batch_id) if is_known else None

    def _is_warm(self, n_laps: int) -> bool:
        """Whether documents begin with their former topics in the lap after ``n_laps``."""
        return n_laps % self.cold_every > 0

    def _keep(self, visit: Visit[B, P, T], state: MemoizedState[B, C, T]) -> KeptBatch[B, T]:
        documents = visit.documents if visit.is_resident else None
        doc_topics = None
        if visit.doc_topics is not None and self._is_warm(state.n_laps + 1):
            doc_topics = self.memo.keep(visit.doc_topics.to_arrays())
        arrays: Arrays
        if not self.keep_assignments:
            arrays = visit.summary.components._asdict()
        elif visit.is_resident:
            arrays = visit.responsibilities._asdict()
        else:
            arrays = Assignments(visit.documents, visit.responsibilities).to_arrays()
        stored, n_changes = self.memo.keep(arrays), len(state.changes)
        return KeptBatch(stored, documents, visit.summary.terms, n_changes, doc_topics)

    def check(
        self, state: MemoizedState[B, C, T], nothing: Statistics[C, T], source: Source[Batch]
    ) -> None:
        self.check_parts(state, nothing, source)
        check_close(state.total, self.added_up(state, nothing), "statistics")

    def check_parts(
        self, state: MemoizedState[B, C, T], nothing: Statistics[C, T], source: Source[Batch]
    ) -> None:
        """``check`` without the sum over batches, which takes the longest."""
        require(state.start is None and state.renewed is None, "a lap that is not done")
        state.total.check(nothing, source.n_docs)
        _check_changes(state.changes, nothing.components.n_topics, source.n_batches)
        require(set(state.per_batch) == set(range(source.n_batches)), "other batches than the data")
        for batch_id, kept in state.per_batch.items():
            require(0 <= kept.n_changes <= len(state.changes), "changes that were not made")
            check_terms(kept.terms, nothing.terms)
            self._check_arrays(state, batch_id)

    def _check_arrays(self, state: MemoizedState[B, C, T], batch_id: int) -> None:
        """Check a batch's arrays, even those in memory, which loading does not check."""
        kept = state.per_batch[batch_id]
        of_batch = state.total.components.check_batch
        check = partial(state.check_assignments, batch_id) if self.keep_assignments else of_batch
        check(kept.stored.load(check))
        if kept.doc_topics is not None:
            check = partial(state.check_topics, batch_id)
            check(kept.doc_topics.load(check))

    def added_up(
        self, state: MemoizedState[B, C, T], nothing: Statistics[C, T]
    ) -> Statistics[C, T]:
        """Sum the contributions of all batches again, on top of ``nothing``."""
        recalled = (self.recall(state, batch_id) for batch_id in sorted(state.per_batch))
        return Statistics.sum(recalled, nothing)

    def components(self, state: MemoizedState[B, C, T]) -> C:
        """The components of the data seen and, in the first lap, of the start for the rest."""
        is_first = state.start is not None
        components = state.total.components
        if self.batches_per_round > 1 or (is_first and self.keep_better):
            # A copy, since steps change the counts in place, unseen by the round's later batches.
            components = components.accumulator()
        if state.start is None:
            return components
        unseen = max(0.0, 1.0 - state.total.terms.n_tokens / float(state.start.sizes.sum()))
        return components.with_rest(state.start, unseen)

    def terms(self, state: MemoizedState[B, C, T]) -> T | None:
        return None if state.start is not None else state.total.terms

    def statistics(self, state: MemoizedState[B, C, T]) -> Statistics[C, T]:
        return state.total


def _check_changes(changes: Sequence[TopicChange], n_topics: int, n_batches: int) -> None:
    """ValueError unless the changes, applied in order, lead to ``n_topics`` topics."""
    n_before = len(changes[0].new_topics) if changes else n_topics
    for change in changes:
        change.check(n_before, n_batches)
        n_before = change.n_topics
    require(n_before == n_topics, f"changes to {n_before} topics, not {n_topics}")


STATES = (MemoizedState, KeptBatch)


def make(inputs: LearnerInputs[B, C, P]) -> MemoizedLearner[B, C, P, T]:
    options = inputs.options
    return MemoizedLearner(
        inputs.memo,
        inputs.executor,
        options.keeps_better,
        keep_assignments=options.keeps_assignments,
        batches_per_round=options.batches_per_round,
        cold_every=options.laps_per_cold,
    )
