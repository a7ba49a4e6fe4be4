"""The state of training between two laps, and checks of it.

Reading a checkpoint checks only types; the values must also fit the data and the options, which is
checked here and by the course (``Course.check_state``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from sparsetopics.base.batches import Arrays, Batch, FloatArray, IntArray, Source
from sparsetopics.base.soundness import check_ids, check_starts, require
from sparsetopics.inference.local_step import D, Parameters
from sparsetopics.inference.moves.rival import MOST_BORN
from sparsetopics.inference.moves.standing import MoveTally
from sparsetopics.model.allocations.mixture_weights import sharing_of
from sparsetopics.model.likelihoods.vector_likelihood import VectorLikelihood, coordinates_of
from sparsetopics.model.likelihoods.words import Words
from sparsetopics.model.memo import Memo, StoredArrays
from sparsetopics.model.statistics import C, P, T
from sparsetopics.options.registry import LIKELIHOODS, MOVE_COUNTS, imported
from sparsetopics.options.training import TrainingOptions

LONGEST = 1e10  # seconds of training
NO_TOPICS: IntArray = np.zeros(0, np.int64)  # the lineage before the first rung


class LapInfo(NamedTuple):
    """How training stands after a lap."""

    lap: int  # from 1
    seconds: float  # since training began
    elbo_per_token: float  # whole data, nats
    criterion_per_token: float | None  # the collapsed criterion, if moves followed it
    n_topics: int
    active_topics: int  # holding at least one token
    restarts_proposed: int
    restarts_accepted: int
    batches_kept_old: int  # whose former responsibilities were better
    local_iterations_per_document: float
    moves: Mapping[str, MoveTally]  # by what ``registry.MOVE_COUNTS`` counts
    reorders_accepted: int
    doc_concentration: float | None  # total α, of topic models
    word_concentration: float | None  # η, if the data are words
    top_concentration: float | None  # γ, of the HDP

    def entry(self) -> dict[str, float | None]:
        """The lap's entry in the trace, under the keys of ``trace.jsonl``."""
        entry: dict[str, float | None] = {}
        for name, value in self._asdict().items():
            if name != "moves":
                entry[name] = value
                continue
            for counted, tally in self.moves.items():
                entry[f"{counted}_proposed"] = tally.proposed
                entry[f"{counted}_accepted"] = tally.accepted
        return entry


class PathMemory(NamedTuple):
    """What training remembers of the rungs behind it."""

    # (n_topics of the last rung,): the present topic of each topic of that rung.
    lineage: IntArray = NO_TOPICS
    rungs: tuple[StoredArrays, ...] = ()  # their counts, if one of them will be chosen

    def kept(self, counts: FloatArray, memo: Memo) -> PathMemory:
        """The memory with one more rung, of ``counts`` (n_words, n_topics)."""
        rows = sparse.csr_array(counts.astype(np.float32))
        parts = {"starts": rows.indptr, "topics": rows.indices, "counts": rows.data}
        arrays = {**parts, "n_topics": np.array([counts.shape[1]])}
        return self._replace(rungs=(*self.rungs, memo.keep(arrays)))

    def counts(self, place: int, n_words: int) -> FloatArray:
        """The counts of a rung, (n_words, n_topics)."""
        arrays = self.rungs[place].load(lambda found: check_rung(found, n_words))
        parts = (arrays["counts"], arrays["topics"], arrays["starts"])
        rows = sparse.csr_array(parts, shape=(n_words, int(arrays["n_topics"][0])))
        table: FloatArray = rows.toarray().astype(np.float64)
        return table

    def check(self, n_topics: int, n_words: int) -> None:
        """ValueError, or another built-in error, unless the memory is sound."""
        check_ids(self.lineage, n_topics, "a lineage of topics")
        for stored in self.rungs:
            check_rung(stored.load(lambda found: check_rung(found, n_words)), n_words)

    def discard(self) -> None:
        """Free what the memo holds."""
        for stored in self.rungs:
            stored.discard()


def check_rung(arrays: Arrays, n_words: int) -> None:
    """ValueError, or another built-in error, unless the arrays are the counts of a rung."""
    n_topics, counts = int(arrays["n_topics"][0]), arrays["counts"]
    require(0 < n_topics < 2**31, "a rung without topics")
    check_starts(arrays["starts"], n_words, len(counts), "counts of a rung")
    check_ids(arrays["topics"], n_topics, "topics of a rung")
    require(len(arrays["topics"]) == len(counts), "counts without topics")
    require(counts.dtype == np.float32, "counts of another type")
    is_sound = (counts > 0.0) & np.isfinite(counts)
    require(is_sound.all(), "counts that are not positive")


RngState = Mapping[str, Any]  # of numpy's bit generators, each of which has its own


class TrainingState(NamedTuple):
    """All that the next lap needs beside data and options. Checkpoints also have scores.

    Only the options say which learner and model it is of.
    """

    learner: Any  # its state
    parameters: Any  # the ``Parameters`` after the last lap
    mover: Any  # the record of the course; None if it needs none
    rng: RngState
    laps: tuple[LapInfo, ...]  # all laps so far
    memory: PathMemory  # of the rungs of a topic path; empty without one

    def check(self, n_columns: int, rng: np.random.Generator) -> None:
        """ValueError, or another built-in error, unless laps, memory and random state are sound.

        ``n_columns`` are those of the data, and ``rng`` is a generator as training uses it.
        """
        n_topics = self.parameters.allocation.n_topics
        _check_laps(self.laps, n_topics)
        self.memory.check(n_topics, n_columns)
        _check_rng(self.rng, rng)


class Keeper(Protocol):
    """Stores the state of training where a later process finds it."""

    def resume(
        self, source: Source[Batch], memo: Memo, check: Callable[[TrainingState], None]
    ) -> TrainingState | None:
        """The state that was stored last, if any; the memo takes over the arrays of batches.

        ``check`` raises ValueError, or another built-in error, if training cannot continue from it.
        """

    def keep(self, state: TrainingState, memo: Memo) -> None:
        """Called after every lap."""


def check_model(
    parameters: Parameters[C, P, T], source: Source[D], options: TrainingOptions, n_laps: int
) -> None:
    """ValueError, or another built-in error, unless parameters may be those after ``n_laps``."""
    allocation, likelihood = parameters
    of_items = options.model_kind.of_items
    wanted = imported(LIKELIHOODS[options.likelihood_name].where) if of_items else Words
    require(type(likelihood) is wanted, "the likelihood of another model")
    found, n_columns = likelihood.n_columns, source.n_columns
    require(found == n_columns, f"data of {found} words or columns, not {n_columns}")
    if isinstance(likelihood, VectorLikelihood):
        own = coordinates_of(source)
        require(likelihood.coordinates.equals(own), "items in other coordinates")
    concentration = likelihood.word_concentration
    require(concentration is None or concentration > 0.0, "a concentration of words below zero")
    learner = options.learner_kind
    ours: type = sharing_of(options.model, at_modes=learner.at_modes, grows=learner.grows)
    require(type(allocation) is ours, "the weights of another model")
    allocation.check()
    n_topics = allocation.n_topics
    # Moves cannot have added more; a file that says so would exhaust the memory.
    most = options.n_topics + (n_laps + 1) * max(MOST_BORN, options.n_topics)
    require(n_topics <= most, f"{n_topics:,} topics")


def _check_laps(laps: tuple[LapInfo, ...], n_topics: int) -> None:
    numbers = [info.lap for info in laps]
    require(numbers == list(range(1, len(laps) + 1)) != [], "laps that do not follow each other")
    require(all(0.0 <= info.seconds < LONGEST for info in laps), "laps without a time")
    require(all([*info.moves] == [*MOVE_COUNTS] for info in laps), "counts of other moves")
    require(laps[-1].n_topics == n_topics, "a number of topics other than that of the last lap")


def _check_rng(state: RngState, rng: np.random.Generator) -> None:
    """ValueError unless a generator like ``rng`` takes the state and does not repeat one draw."""
    own = type(rng.bit_generator)()
    own.state = dict(state)
    require(own.state == state, "another random generator")
    if isinstance(own, np.random.PCG64):
        # An even increment shortens the period; in a crafted file all draws could be the same.
        require(state["state"]["inc"] % 2 == 1, "a random generator with an even increment")
