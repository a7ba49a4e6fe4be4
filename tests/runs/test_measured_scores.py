"""Measures of rungs and of an HDP's themes, and recommendations without empty topics."""

import msgspec
import numpy as np
import pytest

from sparsetopics import HDP
from sparsetopics.inference.theme_tree import groups_at, theme_tree
from sparsetopics.measures.top_words import top_words, topic_diversity
from sparsetopics.runs.measured_scores import path_scores, shares_of_gain
from sparsetopics.runs.topic_path_files import RungScore, Scores
from worlds.bars import ten_bars

MEASURES = ("coherence", "exclusivity", "diversity", "empty_topics")


def scores_with(recommended=60, low=40, high=80):
    shares = {80: 1.05, 60: 1.0, 40: 0.8, 20: 0.5}
    rungs = tuple(RungScore(n, 1, -2.0, share_of_gain=share) for n, share in shares.items())
    return Scores(rungs, "documents", 9, 90.0, recommended, low, high, 40)


@pytest.mark.parametrize(
    ("empty", "expected"),
    [
        ((0, 0, 0, 0), (60, 40, 80, 40)),
        ((5, 0, 0, 0), (60, 40, 60, 40)),  # nor do numbers with empty ones predict as well
        ((5, 1, 0, 0), (40, 40, 40, 20)),  # 20 topics gain more of what these gain
        ((5, 1, 1, 0), (60, 40, 80, 40)),  # the one without any predicts worse
        ((0, 1, 1, 0), (80, 80, 80, 40)),
    ],
)
def test_numbers_with_empty_topics_are_not_recommended_if_others_predict_as_well(empty, expected):
    found = path_scores(scores_with(), [{"empty_topics": number} for number in empty])

    assert (found.recommended, found.as_good_from, found.as_good_to, found.to_read) == expected
    assert [rung.empty_topics for rung in found.rungs] == list(empty)
    shares = {rung.n_topics: rung.share_of_gain for rung in found.rungs}
    assert shares[found.recommended] == 1.0
    assert shares[20] / shares[80] == pytest.approx(0.5 / 1.05)


def test_shares_of_hardly_any_gain_are_not_taken():
    assert shares_of_gain([0.2, 0.4, -0.1], 1) == [0.5, 1.0, -0.25]
    assert shares_of_gain([0.2, 1e-12, -0.1], 1) == [1.0, 1.0, 1.0]


def test_an_hdp_has_measures_of_its_themes():
    corpus = ten_bars(np.random.default_rng(0), 400, 60).corpus()
    found = HDP(12, validation_share=0.1, random_state=0).fit(corpus)

    model, rungs = found.model_, found.scores_.rungs
    counts = model.exact_counts
    merges = theme_tree(np.ascontiguousarray(counts.T), model.word_concentration)
    assert rungs[-1].n_topics < model.n_topics
    for rung in rungs:
        if rung.n_topics > model.n_topics:
            assert rung.coherence is None
            continue
        groups = groups_at(merges, rung.n_topics)
        themes = np.array([counts[groups == n].sum(axis=0) for n in range(rung.n_topics)])
        assert rung.diversity == pytest.approx(topic_diversity(top_words(themes, 25)), abs=1e-6)
        own = np.take_along_axis(themes, top_words(themes, 10), axis=1)
        of_all = counts.sum(axis=0)[top_words(themes, 10)]
        assert rung.exclusivity == pytest.approx((own / of_all).mean(), abs=1e-6)
        assert rung.empty_topics == 0
        assert -1.0 <= rung.coherence <= 1.0


def test_scores_of_earlier_releases_are_read():
    """They have no measures, no shares, and no number to read."""
    record = msgspec.to_builtins(scores_with())
    del record["to_read"]
    for rung in record["rungs"]:
        for name in ("share_of_gain", *MEASURES):
            del rung[name]

    found = msgspec.convert(record, Scores, strict=True)

    assert found.to_read is None
    assert found.rungs[0].empty_topics is None
    assert found.advice == "To predict: 60 topics; from 40 to 80 predict as well."
