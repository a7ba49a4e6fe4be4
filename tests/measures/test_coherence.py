"""Coherence counts and scores, against brute force and gensim."""

import numpy as np
import pytest
from gensim.corpora import Dictionary
from gensim.models import CoherenceModel

from sparsetopics.measures.coherence import count_cooccurrence, npmi, u_mass
from sparsetopics.measures.top_words import top_words
from worlds.heldout_documents import HeldoutDocuments

TOPICS = np.array([[4, 0, 7], [7, 19, 4]])


def gensim_coherence(batch, vocabulary, measure):
    words = vocabulary.words
    texts = [
        [words[word] for word in batch.word_ids[start:stop]]
        for start, stop in zip(batch.indptr[:-1], batch.indptr[1:], strict=True)
    ]
    topics = [[words[word] for word in topic] for topic in TOPICS]
    dictionary = Dictionary(texts)
    model = CoherenceModel(
        topics=topics,
        texts=texts,
        corpus=[dictionary.doc2bow(text) for text in texts],
        dictionary=dictionary,
        coherence=measure,
        window_size=10_000,  # the whole document
        processes=1,
    )
    return model.get_coherence_per_topic()


@pytest.mark.parametrize("batch_size", [1, 13, 60])
def test_counts_equal_brute_force_for_any_batches(training_batch, batch_size):
    dense = np.zeros((60, 30), dtype=bool)
    dense[np.repeat(np.arange(60), np.diff(training_batch.indptr)), training_batch.word_ids] = True
    expected = [
        [[np.sum(dense[:, i] & dense[:, j]) for j in topic] for i in topic] for topic in TOPICS
    ]

    counts = count_cooccurrence(HeldoutDocuments(training_batch, batch_size).batches(), TOPICS)

    np.testing.assert_array_equal(counts[0], expected)
    assert counts[1] == 60


def test_u_mass_equals_gensim(training_batch, vocabulary):
    counts = count_cooccurrence([training_batch], TOPICS)

    np.testing.assert_allclose(
        u_mass(*counts), gensim_coherence(training_batch, vocabulary, "u_mass"), rtol=1e-9
    )


def test_npmi_equals_gensim_with_the_document_as_window(training_batch, vocabulary):
    counts = count_cooccurrence([training_batch], TOPICS)

    np.testing.assert_allclose(
        npmi(*counts), gensim_coherence(training_batch, vocabulary, "c_npmi"), rtol=1e-9
    )


def counts_of_two_words(first, second, both, n_docs):
    return np.array([[[first, both], [both, second]]], dtype=float), n_docs


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (counts_of_two_words(5, 5, 0, 10), -1.0),  # never together
        (counts_of_two_words(0, 5, 0, 10), -1.0),  # one never seen
        (counts_of_two_words(5, 5, 5, 10), 1.0),  # only together
        (counts_of_two_words(10, 10, 10, 10), 1.0),  # everywhere
        (counts_of_two_words(5, 4, 2, 10), 0.0),  # independent
    ],
)
def test_npmi_of_known_cases(counts, expected):
    np.testing.assert_allclose(npmi(*counts), [expected], atol=1e-12)


def test_u_mass_survives_a_word_that_never_occurs():
    assert u_mass(*counts_of_two_words(0, 5, 0, 10)) == [0.0]


def test_a_single_top_word_has_no_coherence():
    counts = np.array([[[4.0]]]), 10

    assert np.isnan(npmi(*counts)).all()
    assert np.isnan(u_mass(*counts)).all()


def test_top_words_come_best_first_with_ties_by_id():
    topic_word = np.array([[0.2, 0.5, 0.1, 0.2], [0.25, 0.25, 0.25, 0.25]])

    np.testing.assert_array_equal(top_words(topic_word, 3), [[1, 0, 3], [0, 1, 2]])
    assert top_words(topic_word, 9).shape == (2, 4)
