"""How sure topics are: their similarity to those of several runs."""

import numpy as np
import pytest

from sparsetopics.measures.similar_topics import jensen_shannon_similarity, shared_probability
from sparsetopics.runs.found_in_runs import FoundInRuns, counted, found_in_runs, how_sure


def test_a_topic_is_compared_with_the_most_similar_one_of_each_run():
    topics, *runs = np.random.default_rng(0).dirichlet(np.full(30, 0.3), (3, 4))

    found = found_in_runs(topics, runs, np.ones(4, bool))

    for own, topic in zip(found, topics, strict=True):
        nearest = [
            max(run, key=lambda each: jensen_shannon_similarity(topic, each)) for run in runs
        ]
        alike = [jensen_shannon_similarity(topic, each) for each in nearest]
        assert own.similarities == pytest.approx(alike, abs=1e-6)
        shared = np.mean([shared_probability(topic, each) for each in nearest])
        assert own.shared == pytest.approx(shared, abs=1e-6)


def test_the_same_topics_are_in_every_run():
    topics = np.random.default_rng(0).dirichlet(np.full(30, 0.3), 4)

    found = found_in_runs(topics, [topics, topics[::-1]], np.arange(4) != 2)

    sure = FoundInRuns((1.0, 1.0), 1.0)
    assert found == (sure, sure, None, sure)  # one has no token
    assert how_sure(found) == "3 of 3 topics were found by all 2 runs."


def test_a_run_has_found_a_topic_from_a_similarity_of_0_8_on():
    found = FoundInRuns((0.8, 0.79, 0.95), 0.7)

    assert (found.n_found, found.n_runs) == (2, 3)
    assert found.similarity == pytest.approx(2.54 / 3)
    sure = FoundInRuns((0.8, 0.9, 0.95), 0.7)
    assert how_sure([found, sure, None]) == "1 of 2 topics was found by all 3 runs."


def test_nothing_is_said_of_topics_that_were_not_compared():
    assert how_sure([]) == how_sure([None, None]) == ""
    assert counted([None]) == (0, 0, 0)
