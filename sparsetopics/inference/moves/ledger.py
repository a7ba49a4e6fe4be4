"""Permanent names of topics, and which of them moves have failed on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.base.soundness import check_ids, require

FIRST_PAUSE = 2  # laps that a topic is left alone after a refused move, doubled at each refusal
LONGEST_PAUSE = 32
GROWN = 0.2  # relative change of size that makes a topic worth another try at once
MOST_IDS = 2**53
MOST_REFUSALS = 2**16  # of one move on a topic; each doubles the pause

WHOLE = -1  # stands for the topics as a whole where a move is about all of them


class Failure(NamedTuple):
    """The last refusals of one move."""

    lap: int
    n_refusals: int
    size: float  # tokens of the topic, or number of topics, at the time


class Ledger(NamedTuple):
    """A topic's number changes with every move; its id never does, and is never used again."""

    ids: IntArray  # (n_topics,)
    next_id: int
    lap: int
    failures: Mapping[tuple[str, int], Failure]  # by move and topic id
    preferred: str = ""  # the move about the whole that was last right

    def check(self, n_topics: int) -> None:
        """ValueError unless it fits ``n_topics`` topics."""
        require(0 <= self.next_id < MOST_IDS, f"the next id {self.next_id}")
        check_ids(self.ids, self.next_id, "ids of topics")
        require(len(np.unique(self.ids)) == n_topics == len(self.ids), "ids of other topics")
        for failure in self.failures.values():
            require(0 < failure.n_refusals <= MOST_REFUSALS, f"{failure.n_refusals} refusals")

    @classmethod
    def new(cls, n_topics: int, before: Ledger | None = None) -> Ledger:
        """All topics new; ``before`` is the ledger of others that came before them."""
        first, lap = (0, 0) if before is None else (before.next_id, before.lap)
        return cls(np.arange(first, first + n_topics), first + n_topics, lap, {})

    def renumbered(self, new_topics: IntArray, n_topics: int) -> Ledger:
        """Topics as ``new_topics`` says, the first of equals living on; new ones fill the rest."""
        ids = np.full(n_topics, -1)
        for topic in np.flatnonzero(new_topics >= 0)[::-1]:
            ids[new_topics[topic]] = self.ids[topic]
        born = np.flatnonzero(ids < 0)
        ids[born] = np.arange(self.next_id, self.next_id + len(born))
        return self._replace(ids=ids, next_id=self.next_id + len(born))

    def refused(self, move: str, size: float, topic: int | None = None) -> Ledger:
        """Note that ``move`` was in vain, on ``topic`` or on the whole."""
        key = (move, WHOLE if topic is None else int(self.ids[topic]))
        before = self.failures.get(key)
        failure = Failure(self.lap, 1 + (before.n_refusals if before else 0), size)
        return self._replace(failures={**self.failures, key: failure})

    def succeeded(self, move: str) -> Ledger:
        """Note that ``move`` was not in vain on the whole: what was before is forgotten."""
        failures = {key: failure for key, failure in self.failures.items() if key != (move, WHOLE)}
        return self._replace(failures=failures)

    def preferring(self, move: str) -> Ledger:
        return self._replace(preferred=move)

    def n_refusals(self, move: str) -> int:
        """How often ``move`` was in vain on the whole since it last was not."""
        failure = self.failures.get((move, WHOLE))
        return failure.n_refusals if failure else 0

    def may_try(self, move: str, size: float, topic: int | None = None) -> bool:
        """Whether it is time to try again, or the ``size`` is another."""
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
