"""Coherence, exclusivity, diversity and empty topics of several models, against plain numpy."""

from itertools import combinations

import numpy as np
import pytest

from sparsetopics.base.batches import DocumentBatch
from sparsetopics.measures.top_words import top_words
from sparsetopics.measures.topic_quality import BestWords, measure_topics

N_WORDS = 40


def drawn_batch(rng, n_docs=30):
    present = rng.random((n_docs, N_WORDS)) < 0.3
    starts = np.concatenate(([0], np.cumsum(present.sum(axis=1))))
    words = np.nonzero(present)[1].astype(np.int32)
    return present, DocumentBatch(starts, words, np.ones(len(words), np.uint32))


def drawn_counts(rng, n_topics, n_empty):
    counts = np.floor(rng.exponential(4.0, (n_topics, N_WORDS)))
    counts[rng.permutation(n_topics)[:n_empty]] = 0.0
    return counts


def best_of(counts):
    words = top_words(counts, 25)
    own = np.take_along_axis(counts, words[:, :10], axis=1)
    return BestWords(counts.sum(axis=1), words, own, counts.sum(axis=0))


def twin(counts, present):
    """The measures from their definitions, topic by topic."""
    used = [topic for topic in range(len(counts)) if counts[topic].sum() >= 1]
    coherence, shares, all_words = [], [], []
    for topic in used:
        ranked = sorted(range(N_WORDS), key=lambda word: (-counts[topic, word], word))
        all_words += ranked[:25]
        shares += [counts[topic, w] / counts[:, w].sum() for w in ranked[:10] if counts[topic, w]]
        for a, b in combinations(ranked[:10], 2):
            both = (present[:, a] & present[:, b]).mean()
            alone = present[:, a].mean() * present[:, b].mean()
            coherence.append(np.log(both / alone) / -np.log(both) if both else -1.0)
    return {
        "coherence": np.mean(coherence),
        "exclusivity": np.sum(shares) / (10 * len(used)),
        "diversity": len(set(all_words)) / len(all_words),
        "empty_topics": len(counts) - len(used),
    }


@pytest.mark.parametrize("seed", range(3))
def test_all_models_are_measured_by_their_topics_in_use(seed):
    rng = np.random.default_rng(seed)
    parts = [drawn_batch(rng, n_docs) for n_docs in (30, 1, 20)]
    present = np.concatenate([part for part, _ in parts])
    models = [drawn_counts(rng, n, empty) for n, empty in ((9, 3), (5, 0), (1, 0))]
    models.append(models[0])  # whose topics are counted once

    found = measure_topics(map(best_of, models), (batch for _, batch in parts))

    for counts, measures in zip(models, found, strict=True):
        assert measures == pytest.approx(twin(counts, present), abs=1e-6)
    assert found[0] == found[3]


def test_a_model_without_tokens_has_no_measures():
    _, batch = drawn_batch(np.random.default_rng(0))

    (found,) = measure_topics([best_of(np.zeros((3, N_WORDS)))], [batch])

    nothing = dict.fromkeys(("coherence", "exclusivity", "diversity"))
    assert found == {**nothing, "empty_topics": 3}
