"""Where more topics stop to pay: the smallest of several models that predicts as well as the best.

All models are scored on the same documents. Their differences are paired, since a document that is
hard for one model is hard for the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.measures.paired import Estimate, HeldoutScores, mean_score, paired_difference

NEAR = 0.04  # nats below the best: the models whose scores are smoothed
RECOMMENDED_LOSS = 0.005  # nats that the recommended model may lose,
AS_GOOD_LOSS = 0.015  # and those that are said to predict as well: 1.5 percent of perplexity

MOST_THEMES = 24  # that colours and areas on a page tell apart; so few topics are all read
READING_SHARE = 0.8  # of what the recommended number gains over no topics: enough to read


class Knee(NamedTuple):
    """Places in a list of models from the largest to the smallest."""

    best: int  # by its own score
    recommended: int
    largest_as_good: int
    smallest_as_good: int
    differences: list[Estimate]  # of each model from the best; zero for the best itself


def find_knee(numbers: Sequence[int], scores: Sequence[HeldoutScores]) -> Knee:
    """Find the knee of models with these ``numbers`` of topics, the largest first.

    One step on a path hardly changes the score, but which optimum a model has reached does. The
    scores of the models around the best are therefore replaced by a parabola in log K.

    Recommended is the smallest model that loses at most ``RECOMMENDED_LOSS`` to the highest point
    of the parabola, and by its own score at most twice as much to the best. A standard error, as in
    the rule of Breiman, Friedman, Olshen & Stone (1984, §3.4.3), would be too much where few
    documents are scored: the curve has smoothed most of it away. Models that lose at most two
    standard errors or ``AS_GOOD_LOSS`` predict as well.
    """
    means = np.array([mean_score(each).mean for each in scores])
    best = int(means.argmax())
    differences = [paired_difference(each, scores[best]) for each in scores]
    near = _around(best, means)
    smooth = means[near]
    if len(smooth) > 3:  # a parabola goes through any three points
        log_numbers = np.log(np.asarray(numbers[near], np.float64))
        smooth = np.polynomial.Polynomial.fit(log_numbers, smooth, 2)(log_numbers)
    lost = smooth.max() - smooth
    errors = np.array([each.standard_error for each in differences[near]])
    good = (lost <= RECOMMENDED_LOSS) & (means[best] - means[near] <= 2.0 * RECOMMENDED_LOSS)
    recommended = near.start + int(np.flatnonzero(good)[-1]) if good.any() else best
    # The error of a single document is NaN.
    others = near.start + np.flatnonzero(lost <= np.fmax(2.0 * errors, AS_GOOD_LOSS))
    as_good = [recommended, *others.tolist()]
    return Knee(best, recommended, min(as_good), max(as_good), differences)


def settled_knee(settled: int, scores: Sequence[HeldoutScores]) -> Knee:
    """The knee at the model that training has ``settled`` on, with which all others are compared.

    It has been fitted further than they, so its own score counts, and not a curve through theirs.
    It was also chosen by these scores, so that chance favours it: models that lose at most
    ``AS_GOOD_LOSS`` and two standard errors, added up, predict as well.
    """
    best = int(np.argmax([mean_score(each).mean for each in scores]))
    gains = [paired_difference(each, scores[settled]) for each in scores]
    allowed = [AS_GOOD_LOSS + np.fmax(2.0 * gain.standard_error, 0.0) for gain in gains]
    as_good = [n for n, gain in enumerate(gains) if gain.mean >= -allowed[n]]
    differences = [paired_difference(each, scores[best]) for each in scores]
    return Knee(best, settled, min(as_good), max(as_good), differences)


def reading_number(numbers: Sequence[int], shares: Sequence[float]) -> int:
    """Return the fewest topics that reach ``READING_SHARE``, at most the last of ``numbers``.

    ``shares`` are those of the gain of the last number, which is the recommended one, the fewest
    topics first. If it is at most ``MOST_THEMES``, it is also the number to read: it is easy to
    read, and fewer topics would join what differs. Scores of single models vary, so a curve that
    never falls is drawn through the shares, with straight lines in log K.
    """
    if numbers[-1] <= MOST_THEMES:
        return numbers[-1]
    from scipy.optimize import isotonic_regression  # slow to import, and seldom needed

    rising = isotonic_regression(shares).x
    # Backwards, since of equal places ``interp`` takes the last, which must be the fewest topics.
    falling, logs = rising[::-1], np.log(numbers)[::-1]
    return round(float(np.exp(np.interp(-min(READING_SHARE, rising[-1]), -falling, logs))))


def _around(best: int, means: FloatArray) -> slice:
    """The models next to the best one that score at most ``NEAR`` less."""
    far = np.flatnonzero(means < means[best] - NEAR)
    first, end = np.array([-1, *far, len(means)])[np.searchsorted(far, best) + np.arange(2)]
    return slice(int(first) + 1, int(end))
