"""What moves work on: a memoized collection and the parameters that fit it, taken as one value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from math import inf
from typing import Any, NamedTuple, cast

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.laps import Laps, Prior
from sparsetopics.inference.learners.memoized import MemoizedState, assignments_of
from sparsetopics.inference.moves.evidence import Evidence, Gathering, sum_anew
from sparsetopics.inference.moves.item_evidence import ItemGathering
from sparsetopics.inference.moves.ledger import Ledger
from sparsetopics.inference.moves.word_evidence import WordGathering
from sparsetopics.model.allocations.allocation import MovableAllocation
from sparsetopics.model.assignments import Assignments, TopicChange
from sparsetopics.model.likelihoods.likelihood import ItemLikelihood, Likelihood
from sparsetopics.model.likelihoods.words import Words
from sparsetopics.model.statistics import Statistics, added
from sparsetopics.options.table import Criterion
from sparsetopics.options.training import LocalOptions


class Tools(NamedTuple):
    """What moves are made with."""

    laps: Laps
    rng: np.random.Generator
    criterion: Criterion
    verify: bool = False  # recompute everything after each move
    last_lap: float = inf  # of training

    @property
    def local(self) -> LocalOptions:
        return self.laps.local

    @property
    def executor(self) -> Executor:
        return self.laps.executor


class MoveTally(NamedTuple):
    """How often a move was tried, and how often it was made."""

    proposed: int
    accepted: int


class Standing(NamedTuple):
    """Every move takes one and returns one, or the same; nothing is changed in place.

    All data's terms are those of one ``reference``: what a move takes out of them is then known
    without keeping anything per document. They are a bound for any (``allocations.documents``).
    """

    state: MemoizedState
    allocation: MovableAllocation
    likelihood: Likelihood
    reference: FloatArray  # (n_topics,)  α_k of the terms
    ledger: Ledger
    known_evidence: Evidence | None = None  # once ``refreshed``

    @classmethod
    def of(cls, state: MemoizedState, prior: Prior, ledger: Ledger) -> Standing:
        """A collection after a lap; its terms are not yet those of one prior (``refreshed``)."""
        allocation, likelihood = prior
        assert isinstance(allocation, MovableAllocation), "of a model with moves"
        return cls(state, allocation, likelihood, allocation.reference, ledger)

    @property
    def n_topics(self) -> int:
        return len(self.reference)

    @property
    def evidence(self) -> Evidence:
        """What topics hold, and the data's part of the score."""
        assert self.known_evidence is not None, "moves begin with ``refreshed``"
        return self.known_evidence

    @property
    def elbo(self) -> float:
        """Whole-data ELBO in nats."""
        of_data = self.likelihood.log_evidence(self.state.total.components).sum()
        return float(of_data) + self.allocation.elbo(self.terms)

    @property
    def score(self) -> float:
        """What moves must raise, in nats: the ELBO or the collapsed criterion."""
        return float(self.evidence.by_topic.sum()) + self.allocation.elbo(self.terms)

    @property
    def terms(self) -> Any:
        return self.state.total.terms

    @property
    def sizes(self) -> FloatArray:
        """Tokens of each topic, (n_topics,)."""
        sizes: FloatArray = self.state.total.components.sizes
        return sizes

    def assignments(self) -> Iterator[tuple[int, Assignments]]:
        """Batch after batch, as they are now."""
        for batch_id in sorted(self.state.per_batch):
            yield batch_id, assignments_of(self.state, batch_id)


def refreshed(standing: Standing, tools: Tools) -> Standing:
    """All documents' θ_d at their optimum for the weights; this never lowers the bound."""
    reference = standing.allocation.reference
    components = standing.state.total.components
    gathering = gather(components, standing.likelihood, tools.criterion)
    terms = {}
    for batch_id, assignments in standing.assignments():
        terms[batch_id] = standing.allocation.sum_terms(assignments, reference, tools.executor)
        gathering.add(assignments, reference)
    state = with_terms(standing.state, terms, components)
    allocation = standing.allocation.updated(state.total.terms)
    return standing._replace(
        state=state, reference=reference, allocation=allocation, known_evidence=gathering.done()
    )


def gather(components: Any, likelihood: Likelihood, criterion: Criterion) -> Gathering:
    """Evidence of ``components``, before the assignments that they come from were seen."""
    if isinstance(likelihood, Words):
        return WordGathering.begin(components, likelihood, criterion == "collapsed")
    return ItemGathering(components, cast("ItemLikelihood[Any, Any, Any]", likelihood))


def resummed(standing: Standing, tools: Tools) -> Standing:
    """Components summed anew from the assignments."""
    batches = (assignments for _, assignments in standing.assignments())
    components = sum_anew(standing.state.total.components, batches, tools.executor)
    total = standing.state.total._replace(components=components)
    return standing._replace(
        state=standing.state._replace(total=total),
        known_evidence=standing.evidence.with_components(components),
    )


def with_terms(state: MemoizedState, terms: Mapping[int, Any], components: Any) -> MemoizedState:
    """New terms of all batches, and the collection's components."""
    per_batch = {
        batch_id: kept._replace(terms=terms[batch_id]) for batch_id, kept in state.per_batch.items()
    }
    first, *others = (terms[batch_id] for batch_id in sorted(terms))
    total = reduce(added, others, first)
    return state._replace(per_batch=per_batch, total=Statistics(components, total))


def committed(
    standing: Standing,
    change: TopicChange,
    terms: Mapping[int, Any],
    allocation: MovableAllocation,
    reference: FloatArray,
    evidence: Evidence,
) -> Standing:
    """The standing after ``change``, with what follows from it for the statistics."""
    state = with_terms(standing.state, terms, evidence.components)
    return standing._replace(
        state=state._replace(changes=(*state.changes, change)),
        allocation=allocation,
        reference=reference,
        known_evidence=evidence,
        ledger=standing.ledger.renumbered(change.new_topics, change.n_topics),
    )
