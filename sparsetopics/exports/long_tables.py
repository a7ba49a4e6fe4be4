"""Topics and components as long tables, one number a row, a topic at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.exports.word_topics import WordTopics
from sparsetopics.model.mixture_posterior import MixtureModel

TOPICS = pa.schema([("topic", pa.int64()), ("word", pa.string()), ("probability", pa.float64())])
NORMALS = pa.schema(
    [
        ("component", pa.int64()),
        ("parameter", pa.string()),  # weight, mean, variance or covariance
        ("row", pa.int64()),  # of a covariance; null elsewhere
        ("column", pa.int64()),  # null for a weight
        ("value", pa.float64()),
    ]
)


def topic_rows(topics: WordTopics) -> Iterator[pa.Table]:
    """All words of each topic, the most probable first, ties by word id."""
    words = pa.array(topics.vocabulary.words, pa.string())
    for topic, probabilities in enumerate(topics.topic_word):
        order = np.argsort(-probabilities, kind="stable")
        columns = [np.full(len(order), topic), words.take(pa.array(order)), probabilities[order]]
        yield pa.table(columns, schema=TOPICS)


def normal_rows(model: MixtureModel) -> Iterator[pa.Table]:
    """Weight, mean and covariance (of uncorrelated columns variances) of each component."""
    means, covariances = model.normals
    rows, columns = np.divmod(np.arange(means.shape[1] ** 2), means.shape[1])
    every = np.arange(means.shape[1])
    for component, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        yield _parameter(component, "weight", model.weights[[component]], None, None)
        yield _parameter(component, "mean", mean, None, every)
        if covariance.ndim == 1:
            yield _parameter(component, "variance", covariance, None, every)
        else:
            yield _parameter(component, "covariance", covariance.ravel(), rows, columns)


def _parameter(
    component: int,
    name: str,
    values: FloatArray,
    rows: IntArray | None,
    columns: IntArray | None,
) -> pa.Table:
    places = [pa.nulls(len(values)) if place is None else place for place in (rows, columns)]
    own = [np.full(len(values), component), pa.repeat(name, len(values)), *places, values]
    return pa.table(own, schema=NORMALS)
