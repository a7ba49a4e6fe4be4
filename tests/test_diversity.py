"""How different topics are, on lists with known answers."""

import numpy as np

from sparsetopics.evaluation.scores.diversity import topic_diversity


def test_diversity_counts_distinct_words():
    assert topic_diversity(np.array([[0, 1], [2, 3]])) == 1.0
    assert topic_diversity(np.array([[0, 1], [1, 0]])) == 0.5
    assert topic_diversity(np.array([[0, 1], [1, 2]])) == 0.75
