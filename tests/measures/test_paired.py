"""Paired differences of held-out scores, against plain numpy and the jackknife."""

import math

import numpy as np
import pytest

from sparsetopics.measures.paired import (
    HeldoutScores,
    differences_from_best,
    mean_score,
    paired_difference,
)


def draw_scores(n_rows, gains=(0.0, 0.2), seed=0):
    """Models on the same documents, some of which are hard for all."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 60, n_rows).astype(float)
    hardness = rng.normal(-7.0, 1.0, n_rows)
    return [
        HeldoutScores(sizes * (hardness + gain + rng.normal(0.0, 0.1, n_rows)), sizes)
        for gain in gains
    ]


def plain_difference(one, other):
    """The difference of the two ratios, and the error by the formula in the docstring."""
    n_tokens = one.sizes.sum()
    found = one.log_likelihoods.sum() / n_tokens - other.log_likelihoods.sum() / n_tokens
    squares = 0.0
    for s, t, n in zip(one.log_likelihoods, other.log_likelihoods, one.sizes, strict=True):
        squares += (s - t - found * n) ** 2
    n_docs = len(one.sizes)
    return found, np.sqrt(n_docs / (n_docs - 1) * squares) / n_tokens


def test_the_difference_is_that_of_the_scores_with_the_error_of_its_docstring():
    worse, better = draw_scores(300)

    found = paired_difference(worse, better)

    assert found == pytest.approx(plain_difference(worse, better))
    assert found.mean == pytest.approx(mean_score(worse).mean - mean_score(better).mean)
    assert paired_difference(better, worse) == pytest.approx((-found.mean, found.standard_error))


def test_the_error_is_close_to_the_jackknife():
    one, other = draw_scores(300)
    difference = one.log_likelihoods - other.log_likelihoods
    without = (difference.sum() - difference) / (one.sizes.sum() - one.sizes)
    jackknife = np.sqrt(299 / 300 * ((without - without.mean()) ** 2).sum())

    assert paired_difference(one, other).standard_error == pytest.approx(jackknife, rel=0.02)


def test_what_is_hard_for_both_models_does_not_blur_their_difference():
    one, other = draw_scores(300)

    assert paired_difference(one, other).standard_error < mean_score(one).standard_error / 5


def test_items_have_the_standard_error_of_a_mean():
    one, other = (HeldoutScores(each.log_likelihoods, np.ones(50)) for each in draw_scores(50))
    difference = one.log_likelihoods - other.log_likelihoods

    found = paired_difference(one, other)

    assert found == pytest.approx((difference.mean(), difference.std(ddof=1) / np.sqrt(50)))


def test_differences_are_from_the_best_model():
    scores = draw_scores(100, gains=(0.1, 0.3, -0.2))

    first, best, last = differences_from_best(scores)

    assert best is None
    assert first == paired_difference(scores[0], scores[1])
    assert last == paired_difference(scores[2], scores[1])
    assert last.mean < first.mean < 0


def test_a_model_alone_and_a_single_document_have_no_difference_or_error():
    (alone,) = draw_scores(5, gains=(0.0,))
    one, other = draw_scores(1)

    assert differences_from_best([]) == []
    assert differences_from_best([alone]) == [None]
    assert differences_from_best([alone, alone])[1] == (0.0, 0.0)
    assert math.isnan(paired_difference(one, other).standard_error)


def test_scores_of_different_tokens_have_no_differences():
    one, other = draw_scores(5)
    shorter = HeldoutScores(one.log_likelihoods[1:], one.sizes[1:])

    assert differences_from_best([one, shorter]) == [None, None]
    assert differences_from_best([one, other._replace(sizes=other.sizes + 1)]) == [None, None]
