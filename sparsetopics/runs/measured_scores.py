"""Scores of rungs with measures of their topics; numbers with empty topics are not recommended."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
from msgspec.structs import replace

from sparsetopics.base.batches import DocumentBatch
from sparsetopics.inference.theme_tree import Merge
from sparsetopics.measures import topic_quality
from sparsetopics.measures.knee import reading_number
from sparsetopics.measures.top_words import top_words
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.topic_path_files import Scores

LEAST_GAIN = 0.0025  # nats per token over no topics; shares of less would be chance


def shares_of_gain(gains: Sequence[float], recommended: int) -> list[float]:
    """Gains over no topics as shares of that of the recommended one; ones if it gains nothing."""
    best = gains[recommended]
    return [gain / best if best > LEAST_GAIN else 1.0 for gain in gains]


def rung_to_read(numbers: Sequence[int], shares: Sequence[float]) -> int:
    """The one of ``numbers`` that is enough to read; the recommended one is first, the largest."""
    found = reading_number(numbers[::-1], shares[::-1])
    return min(numbers, key=lambda number: abs(math.log(number / found)))


def path_scores(scores: Scores, measures: Sequence[topic_quality.Measures]) -> Scores:
    """The scores of a path with the measures of each rung.

    Numbers with empty topics are not recommended if one of those that predict as well has none.
    """
    scores = _with_entries(scores, measures)
    good, best = scores.as_good, scores.recommended
    used = [rung.n_topics for rung in good if not rung.empty_topics]
    if best is None or len(used) in (0, len(good)):
        return scores
    chosen = min(used, key=lambda number: abs(math.log(number / best)))
    numbers = [rung.n_topics for rung in scores.rungs]
    place = numbers.index(chosen)
    shares = shares_of_gain([rung.share_of_gain or 0.0 for rung in scores.rungs], place)
    return replace(
        _with_entries(scores, [{"share_of_gain": share} for share in shares]),
        recommended=chosen,
        as_good_from=min(used),
        as_good_to=max(used),
        to_read=rung_to_read(numbers[place:], shares[place:]),
    )


def themed_scores(
    scores: Scores, model: TopicPosterior, themes: Sequence[Merge], batches: Iterable[DocumentBatch]
) -> Scores:
    """The scores of an HDP with the measures of its themes, cut at each of the numbers tried.

    Numbers above that of its topics have none.
    """
    numbers = [rung.n_topics for rung in scores.rungs if rung.n_topics <= model.n_topics]
    cuts = _cuts(model, themes, numbers)
    measures = topic_quality.measure_topics(cuts, batches) if numbers else []
    return _with_entries(scores, [{}] * (len(scores.rungs) - len(numbers)) + measures)


def _cuts(
    model: TopicPosterior, themes: Sequence[Merge], numbers: Sequence[int]
) -> Iterator[topic_quality.BestWords]:
    """The best words of themes for each number of them; only new themes have others."""
    counts, merges = model.exact_counts, iter(themes)
    sizes, of_all = counts.sum(axis=1), counts.sum(axis=0)
    best = top_words(counts, topic_quality.DISTINCT_WORDS)
    left = np.arange(model.n_topics)
    for number in numbers:
        made = [merge[:2] for merge in islice(merges, len(left) - number)]
        for kept, absorbed in made:
            counts[kept] += counts[absorbed]
            sizes[kept] += sizes[absorbed]
        changed = np.array(made, np.int64).reshape(-1, 2)
        left = np.setdiff1d(left, changed[:, 1])
        new = np.intersect1d(left, changed[:, 0])
        best[new] = top_words(counts[new], topic_quality.DISTINCT_WORDS)
        own = counts[left[:, None], best[left, : topic_quality.COHERENT_WORDS]]
        yield topic_quality.BestWords(sizes[left], best[left], own, of_all)


def _with_entries(scores: Scores, entries: Sequence[topic_quality.Measures]) -> Scores:
    own = zip(scores.rungs, entries, strict=True)
    return replace(scores, rungs=tuple(replace(rung, **each) for rung, each in own))
