"""The ledger: permanent ids of topics, and the moves that were refused on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.base.soundness import check_ids, require

FIRST_PAUSE = 2  # laps without another try after a refused move; each refusal doubles it
LONGEST_PAUSE = 32
GROWN = 0.2  # relative change of size that ends the pause at once
MOST_IDS = 2**53
MOST_REFUSALS = 2**16  # of one move on a topic; bounds the exponent of the pause

WHOLE = -1  # in place of a topic's id, for moves that change all topics together


class Failure(NamedTuple):
    """The refusals of one move since it last succeeded."""

    lap: int  # of the last refusal
    n_refusals: int
    size: float  # tokens of the topic, or number of topics, at that time


class Ledger(NamedTuple):
    """What moves remember of topics.

    A topic's number changes with every move. Its id never does, and is never used again.
    """

    ids: IntArray  # (n_topics,)
    next_id: int
    lap: int
    failures: Mapping[tuple[str, int], Failure]  # by move and topic id
    preferred: str = ""  # the kind of rival to try first

    def check(self, n_topics: int) -> None:
        """ValueError unless the ledger fits ``n_topics`` topics."""
        require(0 <= self.next_id < MOST_IDS, f"the next id {self.next_id}")
        check_ids(self.ids, self.next_id, "ids of topics")
        require(len(np.unique(self.ids)) == n_topics == len(self.ids), "ids of other topics")
        for failure in self.failures.values():
            require(0 < failure.n_refusals <= MOST_REFUSALS, f"{failure.n_refusals} refusals")

    @classmethod
    def new(cls, n_topics: int, before: Ledger | None = None) -> Ledger:
        """A ledger of new topics; ``before`` is that of the topics they replace, if any."""
        first, lap = (0, 0) if before is None else (before.next_id, before.lap)
        return cls(np.arange(first, first + n_topics), first + n_topics, lap, {})

    def renumbered(self, new_topics: IntArray, n_topics: int) -> Ledger:
        """Topic k becomes ``new_topics[k]``, -1 removes it. Numbers that remain get new ids.

        If several topics become one, the first one's id lives on.
        """
        ids = np.full(n_topics, -1)
        # Backwards, so that the first of several topics writes last.
        for topic in np.flatnonzero(new_topics >= 0)[::-1]:
            ids[new_topics[topic]] = self.ids[topic]
        born = np.flatnonzero(ids < 0)
        ids[born] = np.arange(self.next_id, self.next_id + len(born))
        return self._replace(ids=ids, next_id=self.next_id + len(born))

    def refused(self, move: str, size: float, topic: int | None = None) -> Ledger:
        """Note that ``move`` was refused on ``topic``, or on all topics together."""
        key = (move, WHOLE if topic is None else int(self.ids[topic]))
        before = self.failures.get(key)
        failure = Failure(self.lap, 1 + (before.n_refusals if before else 0), size)
        return self._replace(failures={**self.failures, key: failure})

    def succeeded(self, move: str) -> Ledger:
        """Forget the refusals of ``move`` on all topics together."""
        failures = {key: failure for key, failure in self.failures.items() if key != (move, WHOLE)}
        return self._replace(failures=failures)

    def n_refusals(self, move: str) -> int:
        """How often ``move`` was refused on all topics together since it last succeeded."""
        failure = self.failures.get((move, WHOLE))
        return failure.n_refusals if failure else 0

    def may_try(self, move: str, size: float, topic: int | None = None) -> bool:
        """Whether the pause is over, or the ``size`` has changed enough to end it."""
        failure = self.failures.get((move, WHOLE if topic is None else int(self.ids[topic])))
        if failure is None:
            return True
        pause = min(FIRST_PAUSE * 2 ** (failure.n_refusals - 1), LONGEST_PAUSE)
        waited = self.lap - failure.lap > pause
        return waited or abs(size - failure.size) > GROWN * failure.size

    def eligible(self, move: str, sizes: FloatArray) -> IntArray:
        """Topics that ``move`` may be tried on, (n_eligible,), for ``sizes`` (n_topics,)."""
        topics = range(len(self.ids))
        return np.array([k for k in topics if self.may_try(move, float(sizes[k]), k)], np.int64)
