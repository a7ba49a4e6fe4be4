"""The rungs of a topic path: models of LDA that training keeps on its way to fewer topics.

Training on a path merges topics before some laps (``gradual_start.narrowed``). After the last lap
with the number of topics of a rung, the rung gets a model. Documents that were kept out until then,
to score the topics on, are taken in first: they are visited twice, while all other documents keep
their topics. Training itself then continues without them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from sparsetopics.base.batches import DocumentBatch, IntArray, Source
from sparsetopics.inference.document_step import TopicGlobals
from sparsetopics.inference.gradual_start import WordState, wanted_number
from sparsetopics.inference.laps import Laps
from sparsetopics.inference.local_step import elbo
from sparsetopics.inference.topics import TopicParameters, order_by_weight
from sparsetopics.model.statistics import DocumentTerms
from sparsetopics.model.word_counts import PairCounts, WordCounts
from sparsetopics.options.training import TrainingOptions

NO_TOPICS: IntArray = np.zeros(0, np.int64)  # the lineage before the first rung
VISITS = 2  # of documents that a rung takes in: one cold, one from the topics then found

WordLaps = Laps[WordState, DocumentBatch, WordCounts, PairCounts, DocumentTerms]
M_co = TypeVar("M_co", covariant=True)


class Rung(NamedTuple, Generic[M_co]):
    """A model that a path keeps, and how it came about."""

    model: M_co
    parents: IntArray  # (n_before,)  its topic for each topic of the rung before; empty at first
    elbo_per_token: float  # of all documents, nats


def is_rung(options: TrainingOptions, lap: int) -> bool:
    """Whether a model is kept after this lap, the last one with its number of topics."""
    if lap < options.first_laps or lap > options.last_path_lap:
        return False
    number = wanted_number(options, lap)
    is_last = lap == options.last_path_lap or wanted_number(options, lap + 1) < number
    return is_last and number in options.rungs


def reach_rung(
    laps: WordLaps,
    state: WordState,
    parameters: TopicParameters,
    lineage: IntArray,
    whole: Source[DocumentBatch],
    finish: Callable[[TopicGlobals], M_co],
) -> tuple[Rung[M_co], IntArray]:
    """The rung of the present topics, and their order in its model.

    Before its model is made by ``finish``, the batches that ``whole`` has beyond the source of
    ``laps`` are taken in. ``state`` itself does not change. ``lineage`` has the present number of
    each topic of the rung before.
    """
    new = np.arange(laps.source.n_batches, whole.n_batches)
    visits = replace(laps, source=whole, on_documents=lambda n_done, n_docs: None)
    for _ in range(VISITS if len(new) else 0):
        state, parameters, _ = visits.run(state, parameters, [new])
    current = parameters.with_components(laps.learner.components(state))
    bound = elbo(laps.learner.statistics(state), current) / whole.n_tokens
    order = order_by_weight(current.components.sizes)
    rung = Rung(finish(current), parents_of(lineage, order), bound)
    for batch_id in new.tolist():  # the memo frees what it keeps of them
        state.per_batch[batch_id].discard()
    return rung, order


def parents_of(lineage: IntArray, order: IntArray) -> IntArray:
    """The numbers of the topics ``lineage`` in a model that has the topics in this ``order``."""
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    return number[lineage]
