"""Edits of a finished topic model: topics that are joined, divided or dropped.

Counts stay exact: those of joined topics are the sum of the old ones, and those of divided topics
add up to the old ones. The sum of all α_k (for an HDP, of all weights) stays, and so does the
smoothing σ. Topics of the edited model are in falling order of weight. No edit visits documents; a
lap (``runs.relearning``) gives the words of a dropped topic to the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.model.allocations.sticks import reweighted
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.option import refuse, shown

QUANTA = 2.0**20  # of a token, in which shares of words are whole

# A model, and the old topics that each of its topics comes from, in rising order.
Edited = tuple[TopicPosterior, list[list[int]]]


def with_joined_topics(model: TopicPosterior, groups: Sequence[Sequence[int]]) -> Edited:
    """The model with each group of topics as one topic, which has the sum of their counts and α_k.

    Raises OptionError if a topic is not in the model or is named twice.
    """
    named = list(chain.from_iterable(groups))
    _check_topics("merge", named, model)
    others = [[topic] for topic in range(model.n_topics) if topic not in named]
    parents = sorted([*map(sorted, filter(len, groups)), *others])
    counts = model.exact_counts
    return _edited(model, np.array([counts[of].sum(axis=0) for of in parents]), parents)


def with_divided_topic(model: TopicPosterior, topic: int, shares: FloatArray) -> Edited:
    """The model with two topics in place of one, each with half of its α_k.

    ``shares`` (n_words,) says which part of each word's tokens the first of them gets, from 0 to 1.
    Raises OptionError if the topic is not in the model, or if one of the two gets no token.
    """
    _check_topics("split", [topic], model)
    numbers = np.insert(np.arange(model.n_topics), topic, topic)
    counts = model.exact_counts[numbers]
    counts[topic] = np.floor(shares * counts[topic] * QUANTA) / QUANTA
    counts[topic + 1] -= counts[topic]
    if not counts[topic : topic + 2].any(axis=1).all():
        refuse("split", f"topic {topic} cannot be divided, because one part would have no words")
    return _edited(model, counts, [[number] for number in numbers.tolist()])


def without_topic(model: TopicPosterior, topic: int) -> Edited:
    """The model without a topic and its counts; the others share its α_k in proportion to theirs.

    Raises OptionError if the topic is not in the model, or is the only one.
    """
    _check_topics("drop", [topic], model)
    if model.n_topics == 1:
        refuse("drop", f"topic {topic} is the only topic of the model")
    parents = [[number] for number in range(model.n_topics) if number != topic]
    return _edited(model, np.delete(model.exact_counts, topic, axis=0), parents)


def _check_topics(option: str, topics: list[int], model: TopicPosterior) -> None:
    """OptionError unless these are different topics of the model."""
    for i, topic in enumerate(topics):
        if not 0 <= topic < model.n_topics:
            refuse(option, f"must name topics from 0 to {model.n_topics - 1}, not {shown(topic)}")
        if topic in topics[:i]:
            refuse(option, f"names topic {topic} twice", "Name topics to join in one group.")


def _edited(model: TopicPosterior, counts: FloatArray, parents: list[list[int]]) -> Edited:
    """The model with these ``counts``, (n_topics, n_words), in falling order of weight."""
    order = np.argsort(-counts.sum(axis=1), kind="stable")
    parents, sticks = [parents[topic] for topic in order], model.sticks
    posterior = counts[order] + model.word_concentration
    if sticks is None:
        concentration = _shared(model.doc_concentration, parents)
    else:
        weights = _shared(sticks.global_topic_weights, parents)
        sticks = reweighted(weights, sticks.concentrations[[of[0] for of in parents]], sticks)
        concentration = sticks.doc_concentration * sticks.global_topic_weights
    edited = replace(
        model, topic_word_posterior=posterior, doc_concentration=concentration, sticks=sticks
    )
    return edited, parents


def _shared(weights: FloatArray, parents: list[list[int]]) -> FloatArray:
    """The new weights, with the same sum as the old ones; topics of one parent share it equally."""
    used, n_children = np.unique(list(chain.from_iterable(parents)), return_counts=True)
    parts = np.zeros_like(weights)
    parts[used] = weights[used] / n_children
    sums = np.array([parts[of].sum() for of in parents], np.float64)
    sums *= weights.sum() / weights[used].sum()
    return sums
