"""The topics of a run that have any token, and which topics of other runs are like them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.inference.course import Model
from sparsetopics.measures.matched_topics import NONE, matched_topics
from sparsetopics.measures.prevalence import unbiased_projection
from sparsetopics.model.statistics import in_use
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.option import refuse
from sparsetopics.options.registry import MODELS
from sparsetopics.runs.run import AnyRun


class TopicsInUse(NamedTuple):
    """What estimates need of the topics of a model, and where each stands in another model."""

    numbers: IntArray  # (n_topics,)  in the model
    topic_word: FloatArray  # (n_topics, n_words)
    projection: FloatArray  # (n_words, n_topics)
    places: IntArray  # (n_topics of the other model,)  the topic like each of its own, or −1

    def placed(self, values: FloatArray) -> FloatArray:
        """Columns of values, (n, n_topics), in the order of the other model; NaN for none."""
        unknown = np.full((len(values), 1), np.nan)
        return np.hstack([values, unknown])[:, self.places]


def topics_in_use(model: Model, places: IntArray | None = None) -> TopicsInUse:
    """Return the topics of ``model``; those of a model of its own stand where they are."""
    numbers = np.flatnonzero(in_use(model.sizes))
    topic_word = model.topic_word_mean[numbers]
    projection = unbiased_projection(topic_word, model.weights[numbers])
    own = np.arange(len(numbers)) if places is None else places
    return TopicsInUse(numbers, topic_word, projection, own)


def topics_like(run: AnyRun, others: Sequence[AnyRun]) -> list[TopicsInUse]:
    """Return the topics of other runs, matched to those of ``run`` that are in use.

    They are matched as for a consensus. Raises OptionError for fewer than two runs, mixtures and
    runs with other words.
    """
    if len(others) < 2:
        refuse("runs", f"needs at least 2 runs, but there are {len(others)}")
    own, *models = (_topics_of(each) for each in (run, *others))
    numbers, found = np.flatnonzero(in_use(own.sizes)), []
    for other, model in zip(others, models, strict=True):
        if other.words.words != run.words.words:
            refuse("runs", f"{other.path} has other words than {run.path}")
        counts = [own.exact_counts[numbers], model.exact_counts]
        matched = matched_topics(counts, 0)[1]
        rank = np.cumsum(in_use(model.sizes)) - 1
        is_there = (matched != NONE) & in_use(model.sizes)[matched]
        found.append(topics_in_use(model, np.where(is_there, rank[matched], NONE)))
    return found


def _topics_of(run: AnyRun) -> TopicPosterior:
    refuse_mixture(run.model)
    assert isinstance(run.model, TopicPosterior), "mixtures are refused"
    return run.model


def refuse_mixture(model: Model) -> None:
    """Raise OptionError for a mixture."""
    if MODELS[model.name].of_items:
        hint = "`infer` writes the responsibilities of a mixture."
        refuse("run", "must have topics, but is a mixture", hint)
