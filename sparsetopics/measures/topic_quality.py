"""What counts tell about reading a model's topics: four measures, for several models at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray
from sparsetopics.measures.coherence import count_cooccurrence, npmi
from sparsetopics.measures.top_words import topic_diversity
from sparsetopics.model.statistics import in_use

COHERENT_WORDS, DISTINCT_WORDS = 10, 25  # best words of a topic, as is customary
DIGITS = 6  # processors may differ in later ones

Measures = dict[str, float | None]  # by name; None where topics have too few words


class BestWords(NamedTuple):
    """What is measured of a model, whose topics have ``n_best`` words each, best first."""

    sizes: FloatArray  # (n_topics,)  tokens
    words: IntArray  # (n_topics, n_best)  ``DISTINCT_WORDS`` or more
    counts: FloatArray  # (n_topics, ``COHERENT_WORDS``)  tokens of the first of them in the topic
    of_all: FloatArray  # (n_words,)  tokens of each word in all topics


def measure_topics(models: Iterable[BestWords], batches: Iterable[DocumentBatch]) -> list[Measures]:
    """Measure each model, by its topics in use: those with a token.

    The results have names of entries of ``RungScore``. ``coherence`` is the mean NPMI of the ten
    best words of a topic, from the documents of ``batches``, which are read once for all models.
    ``exclusivity`` is the mean share that a topic has of all tokens of these words. ``diversity``
    is the share of distinct words among the 25 best of all topics, and ``empty_topics`` is how many
    are not in use.
    """
    found: list[Measures] = []
    lists: list[IntArray] = []
    for sizes, words, counts, of_all in models:
        used = in_use(sizes)
        best = words[used, :DISTINCT_WORDS]
        lists.append(best[:, :COHERENT_WORDS])
        shares = counts[used] / np.maximum(of_all[lists[-1]], np.finfo(np.float64).tiny)
        diversity = round(topic_diversity(best), DIGITS) if used.any() else None
        empty = int((~used).sum())
        found.append({"exclusivity": _mean(shares), "diversity": diversity, "empty_topics": empty})
    # Most topics have the same words in several models.
    distinct, places = np.unique(np.concatenate(lists), axis=0, return_inverse=True)
    values = np.zeros(0)
    if len(distinct):
        values = npmi(*count_cooccurrence(batches, distinct))[places]
    parts = np.split(values, np.cumsum([len(words) for words in lists])[:-1])
    return [{"coherence": _mean(own), **each} for own, each in zip(parts, found, strict=True)]


def _mean(values: FloatArray) -> float | None:
    """The mean; None without values, or where they are not defined."""
    mean = float(values.mean()) if values.size else np.nan
    return None if np.isnan(mean) else round(mean, DIGITS)
