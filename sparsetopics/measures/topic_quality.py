"""What counts tell about reading a model's topics: four measures, for several models at once."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray
from sparsetopics.measures.coherence import count_cooccurrence, npmi
from sparsetopics.measures.top_words import topic_diversity
from sparsetopics.model.statistics import in_use

COHERENT_WORDS, DISTINCT_WORDS = 10, 25  # best words of a topic, as is customary
DIGITS = 6  # processors may differ in later ones

Measures = dict[str, float | None]  # by name; None where topics have too few words


def measure_topics(
    models: Iterable[tuple[FloatArray, IntArray]], batches: Iterable[DocumentBatch]
) -> list[Measures]:
    """Measure each model, by its topics in use: those with a token.

    Of a model there are the counts of words, (n_topics, n_words), and the best words of each topic,
    (n_topics, ``DISTINCT_WORDS`` or more), best first. The results have names of entries of
    ``RungScore``. ``coherence`` is the mean NPMI of the ten best words of a topic, from the
    documents of ``batches``, which are read once for all models. ``exclusivity`` is the mean share
    that a topic has of all tokens of these words. ``diversity`` is the share of distinct words
    among the 25 best of all topics, and ``empty_topics`` is how many are not in use.
    """
    found: list[Measures] = []
    lists: list[IntArray] = []
    for counts, best_words in models:
        used = np.flatnonzero(in_use(counts.sum(axis=1)))
        best = best_words[used, :DISTINCT_WORDS]
        words = best[:, :COHERENT_WORDS]
        of_all = np.maximum(counts.sum(axis=0), np.finfo(np.float64).tiny)
        measures: Measures = {"exclusivity": _mean(counts[used[:, None], words] / of_all[words])}
        measures["diversity"] = round(topic_diversity(best), DIGITS) if len(used) else None
        found.append({**measures, "empty_topics": len(counts) - len(used)})
        lists.append(words)
    values = npmi(*count_cooccurrence(batches, np.concatenate(lists)))
    ends = np.cumsum([len(words) for words in lists])
    parts = np.split(values, ends[:-1])
    return [{"coherence": _mean(own), **each} for own, each in zip(parts, found, strict=True)]


def _mean(values: FloatArray) -> float | None:
    """The mean; None without values, or where they are not defined."""
    mean = float(values.mean()) if values.size else np.nan
    return None if np.isnan(mean) else round(mean, DIGITS)
