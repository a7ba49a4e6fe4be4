"""How sure a topic is: whether runs with other seeds have a topic like it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.wording import quantity
from sparsetopics.measures.similar_topics import most_similar, shared_probability

LEAST_FOUND = 0.8  # similarity of a topic that a run has found, as for names of other runs
DIGITS = 6  # processors may differ in later ones
Similarity = Annotated[float, Meta(ge=0.0, le=1.0)]


class FoundInRuns(msgspec.Struct, frozen=True):
    """A topic beside the most similar topic of each run."""

    similarities: Annotated[tuple[Similarity, ...], Meta(min_length=1)]  # Jensen–Shannon
    shared: Similarity  # mean probability that it shares with them

    @property
    def n_runs(self) -> int:
        return len(self.similarities)

    @property
    def n_found(self) -> int:
        """The number of runs that have found the topic."""
        return sum(each >= LEAST_FOUND for each in self.similarities)

    @property
    def similarity(self) -> float:
        """The mean over all runs."""
        return sum(self.similarities) / self.n_runs


Found = Sequence[FoundInRuns | None]  # by topic; None if it has no token, or is another one since


def found_in_runs(
    topics: FloatArray, runs: Iterable[FloatArray], is_used: NDArray[np.bool_]
) -> tuple[FoundInRuns | None, ...]:
    """Compare ``topics``, (n_topics, n_words), with the most similar ones of each run; all are
    probabilities. Topics that are not used are not compared."""
    similarity, shared = [], []
    for run in runs:
        nearest, found = most_similar(topics, run)
        similarity.append(found.round(DIGITS).tolist())
        shared.append([*map(shared_probability, topics, run[nearest])])
    means = np.mean(shared, axis=0).round(DIGITS).tolist()
    compared = map(FoundInRuns, zip(*similarity, strict=True), means)
    return tuple(own if used else None for own, used in zip(compared, is_used, strict=True))


def counted(found: Found) -> tuple[int, int, int]:
    """How many topics every run has found, how many were compared, and with how many runs."""
    known = [each for each in found if each is not None]
    n_sure = sum(each.n_found == each.n_runs for each in known)
    return n_sure, len(known), max((each.n_runs for each in known), default=0)


def how_sure(found: Found) -> str:
    """How many topics every run has found, as a sentence; empty if no topic was compared."""
    n_sure, n_topics, n_runs = counted(found)
    return found_by_all(n_sure, n_topics, n_runs) if n_runs else ""


def found_by_all(n_sure: int, n_topics: int, n_runs: int) -> str:
    """``61 of 100 topics were found by all 5 runs.``"""
    were = "was" if n_sure == 1 else "were"
    return f"{n_sure:,} of {quantity(n_topics, 'topic')} {were} found by all {n_runs:,} runs."
