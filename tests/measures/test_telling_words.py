"""The words that set topics apart from their siblings."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sparsetopics.measures.telling_words import telling_words
from sparsetopics.measures.top_words import top_words


def twin(posterior, parents, candidates, n_words):
    found = []
    for topic, words in enumerate(candidates):
        siblings = [
            other
            for other, parent in enumerate(parents)
            if parent == parents[topic] and other != topic
        ]
        if not siblings:
            found.append([])
            continue
        own, others = posterior[topic], posterior[siblings].sum(axis=0)
        scores = {}
        for word in words:
            odds = own[word] / (own.sum() - own[word])
            other_odds = others[word] / (others.sum() - others[word])
            error = np.sqrt(1 / own[word] + 1 / others[word])
            scores[word] = np.log(odds / other_odds) / error
        best = sorted(words, key=lambda word: -scores[word])
        found.append([word for word in best if scores[word] > 0][:n_words])
    return found


@given(seed=st.integers(0, 10_000), n_topics=st.integers(1, 7), n_parents=st.integers(1, 4))
def test_telling_words_are_those_of_the_twin(seed, n_topics, n_parents):
    rng = np.random.default_rng(seed)
    posterior = rng.gamma(0.5, 20, (n_topics, 15)) + 0.1
    parents = rng.integers(0, n_parents, n_topics)
    candidates = top_words(posterior, 10)

    found = telling_words(posterior, parents, candidates, 4)

    assert [own.tolist() for own in found] == twin(posterior, parents, candidates, 4)


def test_a_word_of_all_siblings_tells_nothing():
    posterior = np.array([[50.0, 30.0, 1.0, 1.0], [50.0, 1.0, 30.0, 1.0], [9.0, 9.0, 9.0, 9.0]])

    first, second, alone = telling_words(posterior, np.array([0, 0, 1]), top_words(posterior, 4), 2)

    assert (first[0], second[0]) == (1, 2)
    assert 0 not in (*first, *second)
    assert len(alone) == 0
