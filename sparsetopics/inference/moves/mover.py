"""What the training loop carries along for moves: the ledger and a rival."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sparsetopics.inference.laps import Laps, Prior
from sparsetopics.inference.learners.memoized import MemoizedState
from sparsetopics.inference.moves.ledger import Ledger
from sparsetopics.inference.moves.phase import is_exhausted, make_moves
from sparsetopics.inference.moves.rival import Rival
from sparsetopics.inference.moves.standing import MoveTally, Standing, Tools
from sparsetopics.options.table import DEFAULT_CRITERION, Criterion
from sparsetopics.options.training import MoveOptions


class Moved(NamedTuple):
    """A collection after a phase of moves."""

    state: Any  # the learner's
    prior: Prior
    tallies: Mapping[str, MoveTally]
    score: float | None  # the collapsed criterion in nats, where it was used


class MoverRecord(NamedTuple):
    """A mover between two laps, as checkpoints hold it."""

    ledger: Ledger
    rival: Rival | None


@dataclass(slots=True)
class Mover:
    """Makes moves after laps and remembers what they need to know of each other."""

    laps: Laps
    options: MoveOptions
    ledger: Ledger
    last_lap: float = inf
    rival: Rival | None = None
    first_lap: ClassVar[int] = 4  # topics must have formed

    def move(self, state: MemoizedState, prior: Prior, lap: int, rng: np.random.Generator) -> Moved:
        """One phase."""
        standing = Standing.of(state, prior, self.ledger._replace(lap=lap))
        quiet = replace(self.laps, on_documents=lambda n_done, n_docs: None)  # a rival's
        tools = Tools(quiet, rng, self.criterion, self.options.verify, self.last_lap)
        phase = make_moves(standing, self.rival, self.options.names, tools)
        standing, self.rival, self.ledger = phase.standing, phase.rival, phase.standing.ledger
        is_scored = self.criterion == "collapsed" and standing.known_evidence is not None
        score = standing.score if is_scored else None
        prior = Prior(standing.allocation, standing.likelihood)
        return Moved(standing.state, prior, phase.tallies, score)

    def record(self) -> MoverRecord:
        """What to go on from after this lap."""
        return MoverRecord(self.ledger, self.rival)

    def restore(self, record: MoverRecord) -> None:
        """Become what was recorded, in place."""
        self.ledger, self.rival = record

    @property
    def criterion(self) -> Criterion:
        """What moves must raise."""
        return self.options.criterion or DEFAULT_CRITERION

    @property
    def is_exhausted(self) -> bool:
        """Whether no kind of rival is left to try."""
        return self.rival is None and is_exhausted(self.ledger, self.options.names)
