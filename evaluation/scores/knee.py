"""Where more topics stop to pay: the smallest of several models that predicts as well as the best.

All models are scored on the same documents. Their differences are paired, since a document that is
hard for one model is hard for the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sparsetopics.evaluation.scores.paired import (
    Estimate,
    HeldoutScores,
    mean_score,
    paired_difference,
)

RECOMMENDED_ERRORS = 1.0  # standard errors below the best that the recommended model may be
AS_GOOD_ERRORS = 2.0  # and those models that are said to predict as well
NEAR = 0.04  # nats below the best: the models whose scores are smoothed
LEAST_LOSS = 0.005  # nats that fewer topics may always lose: about half a percent of perplexity


class Knee(NamedTuple):
    """Places in a list of models from the largest to the smallest."""

    best: int
    recommended: int  # the smallest within one standard error of the best
    largest_as_good: int  # the first of those around the best within two standard errors of it
    smallest_as_good: int  # the last of them
    differences: list[Estimate]  # of each model from the best; zero for the best itself


def find_knee(scores: Sequence[HeldoutScores]) -> Knee:
    """Find the knee of models' scores on the same documents, the largest model first.

    This is the one-standard-error rule (Breiman, Friedman, Olshen & Stone 1984, §3.4.3), with the
    standard error of the paired difference.
    """
    best = int(np.argmax([mean_score(each).mean for each in scores]))
    differences = [paired_difference(each, scores[best]) for each in scores]
    recommended = max(_within(differences, RECOMMENDED_ERRORS), default=best)
    as_good = set(_within(differences, AS_GOOD_ERRORS)) | {best}
    first = last = best
    while first - 1 in as_good:
        first -= 1
    while last + 1 in as_good:
        last += 1
    return Knee(best, max(recommended, best), first, max(last, recommended), differences)


def find_smooth_knee(numbers: Sequence[int], scores: Sequence[HeldoutScores]) -> Knee:
    """Find the knee of models whose ``numbers`` of topics lie close together, the largest first.

    One step hardly changes the score, but which optimum a model has reached does. The scores of the
    models around the best are therefore replaced by a parabola in log K. Recommended is the
    smallest of them that loses at most one standard error or ``LEAST_LOSS`` to the highest point of
    the parabola, and, with its own score, at most twice as much to the best. Those within twice as
    much on the parabola predict as well.
    """
    raw = find_knee(scores)
    means = np.array([mean_score(each).mean for each in scores])
    first = last = raw.best
    while first > 0 and means[first - 1] >= means[raw.best] - NEAR:
        first -= 1
    while last + 1 < len(means) and means[last + 1] >= means[raw.best] - NEAR:
        last += 1
    near = slice(first, last + 1)
    smooth = means[near]
    if len(smooth) > 3:
        log_numbers = np.log(np.asarray(numbers[near], np.float64))
        smooth = np.polynomial.Polynomial.fit(log_numbers, smooth, 2)(log_numbers)
    errors = np.array([each.standard_error for each in raw.differences[near]])
    allowed = np.fmax(errors, LEAST_LOSS)  # the error of a single document is NaN
    lost = smooth.max() - smooth
    good = (lost <= allowed) & (means[raw.best] - means[near] <= 2.0 * allowed)
    recommended = first + int(np.flatnonzero(good)[-1]) if good.any() else raw.best
    as_good = [*(first + np.flatnonzero(lost <= 2.0 * allowed)), recommended]
    return raw._replace(
        recommended=recommended,
        largest_as_good=int(min(as_good)),
        smallest_as_good=int(max(as_good)),
    )


def _within(differences: Sequence[Estimate], n_errors: float) -> list[int]:
    """The places of models less than ``n_errors`` standard errors below the best."""
    return [
        place
        for place, (mean, error) in enumerate(differences)
        if mean >= -n_errors * error  # false for the error of a single document, which is NaN
    ]
