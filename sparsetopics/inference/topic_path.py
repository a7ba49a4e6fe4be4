"""The rungs of a topic path: models that training keeps on its way to fewer topics.

Training on a path merges topics before some laps (``gradual_start.narrowed``). After the last lap
with the number of topics of a rung, the rung gets a model. Documents that were kept out until then,
to score the topics on, are taken in first: they are visited twice, while all other documents keep
their topics. Training itself then continues without them.

An HDP goes down such a path to find its number of topics (``validated_number``). Its rungs take no
documents in; their counts are kept until one of them is chosen.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from sparsetopics.base.batches import DocumentBatch, Source
from sparsetopics.inference.course import Judge, make_model
from sparsetopics.inference.gradual_start import GradualStart, wanted_number
from sparsetopics.inference.local_step import elbo
from sparsetopics.inference.moves.evidence import numbered
from sparsetopics.inference.smoothing import FEW_LEFT_OUT, LEFT_OUT
from sparsetopics.inference.topics import falling
from sparsetopics.options.training import TrainingOptions

VISITS = 2  # of documents that a rung takes in: one cold, one from the topics then found


class Path(GradualStart):
    """The course of a topic path, which hands its rungs to the judge."""

    @property
    def judge(self) -> Judge:
        assert self.setting.judge is not None, "of a path"
        return self.setting.judge

    def left_out(self, lap: int) -> int:
        # A model that is only scored needs few. If no documents are kept out, it is also written.
        is_only_scored = self.setting.whole.n_batches > self.setting.source.n_batches
        on_path = lap <= self.options.last_path_lap
        return FEW_LEFT_OUT if on_path and is_only_scored else LEFT_OUT

    def after_report(self, lap: int) -> None:
        if is_rung(self.options, lap):
            self.reach(self.setting.whole)

    def reach(self, whole: Source[DocumentBatch]) -> None:
        """Hand out the model of a rung, and remember the present topics in the order of its own.

        The batches that ``whole`` has beyond those of laps are taken in before. The state itself
        does not change.
        """
        laps, state, parameters = self.laps, self.state, self.parameters
        new = np.arange(laps.source.n_batches, whole.n_batches)
        visits = replace(laps, source=whole, on_documents=lambda n_done, n_docs: None)
        for _ in range(VISITS if len(new) else 0):
            state, parameters, _ = visits.run(state, parameters, [new])
        current = parameters.with_components(laps.learner.components(state))
        bound = elbo(laps.learner.statistics(state), current) / whole.n_tokens
        order = falling(current.components.sizes)
        parents = numbered(order, len(order))[self.memory.lineage]
        self.memory = self.memory._replace(lineage=order)
        kept = partial(laps.learner.kept, state)
        snapshot = partial(make_model, current, self.options, whole, laps.executor, kept)
        self.judge.reached(snapshot, parents, bound)
        for batch_id in new.tolist():  # the memo frees what it keeps of them
            state.per_batch[batch_id].discard()


def is_rung(options: TrainingOptions, lap: int) -> bool:
    """Whether a model is kept after this lap, the last one with its number of topics."""
    if lap < options.first_laps or lap > options.last_path_lap:
        return False
    number = wanted_number(options, lap)
    is_last = lap == options.last_path_lap or wanted_number(options, lap + 1) < number
    return is_last and number in options.rungs
