"""Pairs of runs of which the second found the same topics again, in another order, or nearly.

Topics come in neighbours that share about half of their probability. In a tenth of the pairs, one
topic was not found again, and another neighbour of it stands in its place.
"""

from typing import NamedTuple

import numpy as np

from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import load_run, run_in_memory, save_run

N_TOPICS, N_WORDS, N_TOKENS = 20, 300, 3000
WORDS = tuple(f"w{number:03d}" for number in range(N_WORDS))


class Pair(NamedTuple):
    """Two runs of the same topics."""

    old: TopicPosterior
    new: TopicPosterior
    places: list[int]  # of each old topic in the new run; −1 for one that was not found again

    @property
    def lost(self):
        """The old topics that were not found again."""
        return [topic for topic, place in enumerate(self.places) if place < 0]


def draw_pair(seed, concentration=0.05):
    """The pair of a seed; each tenth one lacks a topic."""
    rng = np.random.default_rng(seed)
    prior = np.full(N_WORDS, concentration)
    topics = rng.dirichlet(prior, N_TOPICS)
    topics[1::2] = neighbours(rng, topics[::2], prior)
    later, order = topics.copy(), rng.permutation(N_TOPICS)
    places = np.argsort(order)
    if seed % 10 == 0:
        lost = rng.integers(N_TOPICS)
        later[lost] = neighbours(rng, topics[[lost]], prior)[0]
        places[lost] = -1
    return Pair(model_of(rng, topics), model_of(rng, later[order]), places.tolist())


def neighbours(rng, topics, prior):
    """Topics that share half of their probability with others, and three to seven of the ten best
    words: with more, nobody could tell them apart by these words."""
    found = []
    for topic in topics:
        shared = set()
        while not 3 <= len(shared) <= 7:
            found_one = 0.5 * topic + 0.5 * rng.dirichlet(prior)
            shared = best_words(topic) & best_words(found_one)
        found.append(found_one)
    return np.array(found)


def best_words(topic):
    return set(np.argsort(-topic)[:10].tolist())


def model_of(rng, topics):
    """A model that was learned from tokens of the topics."""
    counts = np.array([rng.multinomial(N_TOKENS, topic) for topic in topics])
    return TopicPosterior("lda", counts + 0.1, np.full(len(topics), 0.1), 0.1, smoothing=0.01)


def write_model(folder, model, words=WORDS, **provenance):
    """A run folder of the model."""
    folder.mkdir(exist_ok=True)
    frequencies = np.full(len(words), 100)
    facts = {"corpus": {"n_documents": 100}, "options": {}, **provenance}
    save_run(
        folder, run_in_memory("run", model, Vocabulary(words, frequencies, frequencies), facts, [])
    )
    return load_run(folder)
