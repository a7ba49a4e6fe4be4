"""Edits of a finished topic model: topics that are joined, divided or dropped.

Counts stay exact: those of joined topics are the sum of the old ones, and those of divided topics
add up to the old ones. The sum of α stays too, and so does the smoothing σ. Topics of the edited
model are in falling order of weight, and ``Parents`` tell where they come from. No edit visits
documents; a lap (``runs.relearning``) gives the words of a dropped topic to the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.inference.gradual_start import merged_counts
from sparsetopics.model.allocations.hdp import HDPAllocation
from sparsetopics.model.allocations.lda import LDAAllocation
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.option import refuse, shown

QUANTA = 2.0**20  # of a token, in which shares of words are whole

Parents = list[list[int]]  # the old topics that each new topic comes from, in rising order
Edited = tuple[TopicPosterior, Parents]


def with_joined_topics(model: TopicPosterior, groups: Sequence[Sequence[int]]) -> Edited:
    """The model with the topics of each group as one, which has the sum of their counts and α_k.

    Raises OptionError if a topic is not in the model or is named twice.
    """
    named = list(chain.from_iterable(groups))
    _check_topics("merge", named, model)
    if len(set(named)) < len(named):
        twice = next(topic for topic in named if named.count(topic) > 1)
        refuse("merge", f"topic {twice} is named twice", "Name all topics to join in one group.")
    numbers = np.arange(model.n_topics)
    for group in filter(None, groups):
        numbers[list(group)] = min(group)
    kept, new_topics = np.unique(numbers, return_inverse=True)
    counts, allocation = merged_counts(exact_counts(model), new_topics), allocation_of(model)
    if isinstance(allocation, HDPAllocation):
        allocation = allocation.joined(new_topics, len(kept))
    else:
        sums = np.bincount(new_topics, model.doc_concentration, len(kept))
        allocation = LDAAllocation(sums.astype(np.float64))
    parents = [np.flatnonzero(numbers == first).tolist() for first in kept]
    return _edited(model, counts, allocation, parents)


def with_divided_topic(model: TopicPosterior, topic: int, shares: FloatArray) -> Edited:
    """The model with two topics in place of one, each with half of its α_k.

    ``shares`` (n_words,) says which part of each word's tokens the first of them gets, from 0 to 1.
    Raises OptionError if the topic is not in the model, or if one of the two gets no token.
    """
    _check_topics("split", [topic], model)
    n_children = np.ones(model.n_topics, np.int64)
    n_children[topic] = 2
    parents = np.repeat(np.arange(model.n_topics), n_children)
    counts, allocation = exact_counts(model).take(parents, axis=1), allocation_of(model)
    first = np.floor(shares * counts[:, topic] * QUANTA) / QUANTA
    counts[:, topic], counts[:, topic + 1] = first, counts[:, topic] - first
    if not counts[:, topic : topic + 2].any(axis=0).all():
        refuse("split", f"topic {topic} cannot be divided: one part would have no words")
    if isinstance(allocation, HDPAllocation):
        allocation = allocation.branched(parents)
    else:
        allocation = LDAAllocation((model.doc_concentration / n_children)[parents])
    return _edited(model, counts, allocation, [[parent] for parent in parents.tolist()])


def without_topic(model: TopicPosterior, topic: int) -> Edited:
    """The model without a topic and its counts; the others share its α_k in proportion to theirs.

    Raises OptionError if the topic is not in the model, or is the only one.
    """
    _check_topics("drop", [topic], model)
    if model.n_topics == 1:
        refuse("drop", f"topic {topic} is the only topic of the model")
    kept, allocation = np.delete(np.arange(model.n_topics), topic), allocation_of(model)
    if isinstance(allocation, HDPAllocation):
        allocation = allocation.restricted(kept)
    else:
        others = model.doc_concentration[kept]
        allocation = LDAAllocation(others * (model.doc_concentration.sum() / others.sum()))
    counts = exact_counts(model).take(kept, axis=1)
    return _edited(model, counts, allocation, [[number] for number in kept.tolist()])


def exact_counts(model: TopicPosterior) -> FloatArray:
    """S = λ − η, (n_words, n_topics), as they were before λ was rounded.

    Counts of whole tokens are multiples of 2⁻²⁰. Other counts, such as those of the stochastic
    learner, stay as they are.
    """
    posterior = np.ascontiguousarray(model.topic_word_posterior.T)
    counts = posterior - model.word_concentration
    whole = np.rint(counts * QUANTA) / QUANTA
    # Adding η and subtracting it again rounds by half a unit in the last place each.
    np.copyto(counts, whole, where=np.abs(counts - whole) <= np.finfo(np.float64).eps * posterior)
    return np.maximum(counts, 0.0, out=counts)


def allocation_of(model: TopicPosterior) -> LDAAllocation | HDPAllocation:
    """How documents share the topics of a finished model."""
    if model.sticks is None:
        return LDAAllocation(model.doc_concentration)
    return HDPAllocation(model.sticks)


def _check_topics(option: str, topics: Iterable[int], model: TopicPosterior) -> None:
    """OptionError unless the model has these topics."""
    for topic in topics:
        if not 0 <= topic < model.n_topics:
            refuse(option, f"must name topics from 0 to {model.n_topics - 1}, not {shown(topic)}")


def _edited(
    model: TopicPosterior,
    counts: FloatArray,  # (n_words, n_topics)
    allocation: LDAAllocation | HDPAllocation,
    parents: Parents,
) -> Edited:
    """The model with these topics in falling order of weight, as after training."""
    order = np.argsort(-counts.sum(axis=0), kind="stable")
    allocation = allocation.reordered(order)
    edited = replace(
        model,
        topic_word_posterior=counts.T[order] + model.word_concentration,
        doc_concentration=allocation.doc_concentration,
        sticks=allocation.sticks,
    )
    return edited, [parents[topic] for topic in order.tolist()]
