"""Document completion: the split, the score and its error, against a plain twin."""

from math import exp, isnan, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import reference_completion
from sparsetopics.base.batches import DocumentBatch
from sparsetopics.base.errors import CorpusError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.inference.document_step import topic_proportions
from sparsetopics.measures.completion import (
    document_completion,
    predicted_log_probability,
    split_by_type,
    unigram_probabilities,
)
from worlds.heldout_documents import HeldoutDocuments


def batch_of(lengths, n_words=200, seed=0):
    """Documents with the given numbers of word types, read-only."""
    rng = np.random.default_rng(seed)
    word_ids = [np.sort(rng.permutation(n_words)[:length]) for length in lengths]
    arrays = (
        np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        np.concatenate([*word_ids, []]).astype(np.int32),
        rng.integers(1, 9, size=sum(lengths)).astype(np.uint32),
    )
    for array in arrays:
        array.flags.writeable = False
    return DocumentBatch(*arrays)


def split(batch, seed):
    return split_by_type(batch, np.random.default_rng(seed))


def documents(batch):
    return [
        set(zip(words.tolist(), counts.tolist(), strict=True))
        for words, counts in reference_completion.documents(batch)
    ]


@given(lengths=st.lists(st.integers(0, 40), max_size=8), seed=st.integers(0, 2**32))
def test_the_split_cuts_word_types_four_to_one_and_loses_none(lengths, seed):
    batch = batch_of(lengths)

    observed_part, scored_part = split(batch, seed)

    kept = [document for document in documents(batch) if len(document) >= 2]
    assert observed_part.n_docs == len(kept)
    pieces = list(zip(documents(observed_part), documents(scored_part), strict=True))
    assert [observed | scored for observed, scored in pieces] == kept
    assert [len(scored) for _, scored in pieces] == [max(1, round(len(d) / 5)) for d in kept]
    assert not any(observed & scored for observed, scored in pieces)
    for part in (observed_part, scored_part):
        assert all((np.diff(words) > 0).all() for words, _ in reference_completion.documents(part))


@given(lengths=st.lists(st.integers(0, 40), max_size=8), seed=st.integers(0, 2**32))
def test_five_folds_score_other_word_types(lengths, seed):
    batch = batch_of(lengths)
    kept = [document for document in documents(batch) if len(document) >= 2]

    folds = [split_by_type(batch, np.random.default_rng(seed), fold) for fold in range(5)]

    pieces = [[documents(part) for part in parts] for parts in folds]
    for observed, scored in pieces:
        assert [a | b for a, b in zip(observed, scored, strict=True)] == kept
        assert not any(a & b for a, b in zip(observed, scored, strict=True))
    for number, document in enumerate(kept):
        parts = [scored[number] for _, scored in pieces]
        assert {len(part) for part in parts} == {max(1, round(len(document) / 5))}
        if len(document) % 5 == 0:
            assert set.union(*parts) == document


def test_scores_of_several_cuts_add_up():
    batch = batch_of([30, 1, 8, 2, 17])
    rng = np.random.default_rng(0)
    topics, alpha = rng.dirichlet(np.full(200, 0.3), 4), np.array([0.1, 0.2, 0.3, 0.4])
    counts = csr_array((batch.word_counts, batch.word_ids, batch.indptr), shape=(5, 200))
    corpus = Corpus.from_csr(counts, [f"w{n}" for n in range(200)])
    expected = []
    for seed, fold in [(3, 0), (3, 1), (3, 2), (3, 3), (3, 4), (4, 0), (4, 1)]:
        observed, scored = split_by_type(batch, np.random.default_rng(seed), fold)
        shares = topic_proportions(observed, topics, alpha)
        logs = predicted_log_probability(scored, shares, np.ascontiguousarray(topics.T))
        expected.append(np.add.reduceat(scored.word_counts * logs, scored.indptr[:-1]))

    _, found = document_completion(corpus, topics, alpha, np.full(200, 0.005), seed=3, n_cuts=7)

    np.testing.assert_allclose(found.log_likelihoods, np.sum(expected, axis=0), rtol=1e-9)


def test_the_split_follows_the_seed_and_not_the_batches():
    batch = batch_of([30, 0, 1, 7, 30, 4])
    rng = np.random.default_rng(5)

    parts = [split_by_type(batch.take(np.arange(*rows)), rng) for rows in ((0, 1), (1, 4), (4, 6))]

    whole = documents(split(batch, 5)[1])
    assert [document for _, scored in parts for document in documents(scored)] == whole
    assert documents(split(batch, 6)[1]) != whole


def test_every_word_type_is_scored_about_one_time_in_five():
    batch = batch_of([100] * 2000, n_words=100)

    frequency = np.bincount(split(batch, 0)[1].word_ids, minlength=100) / 2000

    assert abs(frequency - 0.2).max() < 5 * np.sqrt(0.2 * 0.8 / 2000)


def completion(batch, model, vocabulary, seed=0, batch_size=1000, workers=1):
    score, _ = document_completion(
        HeldoutDocuments(batch, batch_size, n_skipped=2, n_unknown_tokens=17),
        model.topic_word_mean,
        model.doc_concentration,
        unigram_probabilities(vocabulary.term_frequency),
        seed=seed,
        workers=workers,
    )
    return score


def test_the_score_equals_the_plain_twin(training_batch, model, vocabulary):
    observed, scored = split(training_batch, 11)
    expected, jackknife = reference_completion.log_likelihood_per_token(
        observed, scored, model.topic_word_mean, model.doc_concentration
    )

    score = completion(training_batch, model, vocabulary, seed=11)

    assert score.log_likelihood_per_token == pytest.approx(expected, abs=1e-3)
    assert score.standard_error == pytest.approx(jackknife, rel=0.02)
    assert score.perplexity == pytest.approx(exp(-score.log_likelihood_per_token))
    assert score.n_tokens == scored.n_tokens
    assert (score.n_documents, score.n_skipped_documents) == (60, 2)
    assert score.n_unknown_tokens == 17


def test_batches_and_workers_do_not_change_the_score(training_batch, model, vocabulary):
    whole = completion(training_batch, model, vocabulary)

    for batch_size, workers in ((7, 1), (60, 2), (7, 2)):
        parts = completion(training_batch, model, vocabulary, 0, batch_size, workers)
        assert parts == pytest.approx(whole, rel=1e-12)


def test_the_documents_add_up_to_the_score(training_batch, model, vocabulary):
    _, scored = split(training_batch, 0)

    score, documents = document_completion(
        HeldoutDocuments(training_batch, batch_size=7),
        model.topic_word_mean,
        model.doc_concentration,
        unigram_probabilities(vocabulary.term_frequency),
    )

    of_documents = [counts.sum() for _, counts in reference_completion.documents(scored)]
    np.testing.assert_array_equal(documents.sizes, of_documents)
    mean = documents.log_likelihoods.sum() / documents.sizes.sum()
    assert score.log_likelihood_per_token == pytest.approx(mean)


def test_one_topic_alone_is_the_unigram_score(training_batch, vocabulary):
    unigram = unigram_probabilities(vocabulary.term_frequency)

    score, _ = document_completion(
        HeldoutDocuments(training_batch), unigram[None, :], np.array([0.5]), unigram
    )

    assert score.log_likelihood_per_token == pytest.approx(score.unigram_log_likelihood_per_token)


def test_a_document_worked_by_hand():
    batch = DocumentBatch(np.array([0, 2]), np.array([0, 1], np.int32), np.array([3, 3], np.uint32))
    topic_word = np.array([[0.9, 0.1], [0.1, 0.9]])

    score, _ = document_completion(
        HeldoutDocuments(batch), topic_word, np.array([1e-6, 1e-6]), np.array([0.75, 0.25])
    )

    # Whichever word is seen, its topic takes all the weight and gives the other word 0.1.
    assert score.log_likelihood_per_token == pytest.approx(log(0.1), abs=1e-2)
    assert score.unigram_log_likelihood_per_token in (log(0.75), log(0.25))
    assert (score.n_documents, score.n_tokens) == (1, 3)
    assert isnan(score.standard_error)


def test_short_documents_are_skipped_and_counted(model, vocabulary):
    score = completion(batch_of([0, 1, 8, 1, 9], n_words=30), model, vocabulary, batch_size=2)

    assert (score.n_documents, score.n_skipped_documents) == (2, 5)


def test_nothing_to_score_is_an_error(model, vocabulary):
    with pytest.raises(CorpusError, match="none of the 5 documents has two different known words"):
        completion(batch_of([0, 1, 1], n_words=30), model, vocabulary)


def test_the_unigram_keeps_unused_words_possible():
    np.testing.assert_allclose(unigram_probabilities(np.array([3, 0])), [3.1 / 3.2, 0.1 / 3.2])
