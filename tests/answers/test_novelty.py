"""Novelty: against a plain twin, with documents taken out by hand, and its scale."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import reference_novelty
from sparsetopics import LDA, Corpus
from sparsetopics.answers import novelty
from sparsetopics.answers.novelty import LEAST_NOVELTY, UsualScores, explained, usual_scores
from sparsetopics.answers.quick_topics import QuickTopics, summed
from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.lookup import documents_at
from sparsetopics.model.topic_posterior import TopicPosterior
from worlds.streams import N_THEMES, around_event, corpora_of, draw_stream

SEEDS = st.integers(0, 2**32 - 1)
ETA = 0.1


def batch_of(counts):
    """The documents of a matrix, (n_docs, n_words), those without words too."""
    (group,) = Corpus.from_csr(
        sparse.csr_array(counts), [*map(str, range(counts.shape[1]))]
    ).row_groups
    batch, n_pairs = group.read(), (counts > 0).sum(axis=1)
    return replace(batch, indptr=np.concatenate(([0], np.cumsum(n_pairs))).astype(np.int64))


def draw(seed, smoothing):
    """A model and the counts of documents; the first of them are in the counts of its topics."""
    rng = np.random.default_rng(seed)
    n_topics, n_words, n_docs = (int(rng.integers(*ends)) for ends in ((1, 6), (2, 30), (1, 12)))
    counts = rng.poisson(rng.gamma(0.3, 3.0, n_words), (n_docs, n_words))
    counts[0, 0] += 1
    of_topics = rng.multinomial(counts.sum(axis=0), rng.dirichlet(np.ones(n_topics), n_words))
    of_topics = of_topics.T + rng.gamma(0.5, 2.0, (n_topics, n_words))
    alpha = rng.gamma(1.0, 0.3, n_topics) + 0.01
    model = TopicPosterior("lda", of_topics + ETA, alpha, ETA, smoothing=smoothing)
    return model, counts


@settings(max_examples=40)
@given(SEEDS, st.sampled_from([None, 0.02, ETA, 3.0]), st.booleans(), st.booleans())
def test_documents_are_explained_as_by_the_plain_twin(seed, smoothing, are_known, is_cut):
    model, counts = draw(seed, smoothing)
    with pytest.MonkeyPatch.context() as patch:
        if is_cut:  # into blocks of a document or two
            patch.setattr(novelty, "cut_blocks", lambda indptr: _pairs(len(indptr) - 1))
        found, n_tokens = explained(QuickTopics.of(model, 1), batch_of(counts), are_known=are_known)

    sigma = ETA if smoothing is None else smoothing
    scores = reference_novelty.explained(
        counts,
        tokens_of(model, counts),
        model.doc_concentration,
        model.topic_word_counts,
        sigma,
        are_known=are_known,
    )
    np.testing.assert_array_equal(n_tokens, counts.sum(axis=1))
    np.testing.assert_allclose(found, scores, rtol=1e-6, atol=1e-9)


def tokens_of(model, counts):
    """What topics have of the words of documents, (n_docs, n_topics, n_words)."""
    batch = batch_of(counts)
    found = np.zeros((*counts.shape, model.n_topics))
    found[batch.documents, batch.word_ids] = QuickTopics.of(model, 1).tokens(batch).toarray()
    return found.swapaxes(1, 2)


@settings(max_examples=40)
@given(SEEDS)
def test_the_local_step_gives_topics_all_tokens_of_the_documents(seed):
    model, counts = draw(seed, 0.02)
    batch = batch_of(counts)
    tokens = QuickTopics.of(model, 1).tokens(batch)

    of_words = summed(tokens, batch.word_ids, model.n_words).toarray()

    of_documents = tokens_of(model, counts)
    np.testing.assert_allclose(of_words.T, of_documents.sum(axis=0), rtol=1e-9)
    np.testing.assert_allclose(of_documents.sum(axis=1), counts, rtol=1e-6)
    shares, prior = QuickTopics.of(model, 1).proportions(batch), model.doc_concentration
    lengths = counts.sum(axis=1) + prior.sum()
    expected = shares * lengths[:, None] - prior
    np.testing.assert_allclose(of_documents.sum(axis=2), expected, rtol=1e-6, atol=1e-6)


def _pairs(n_docs):
    return [(first, min(first + 2, n_docs)) for first in range(0, n_docs, 2)]


@settings(max_examples=40)
@given(SEEDS)
def test_a_document_that_was_learned_is_taken_out_of_the_topics(seed):
    model, counts = draw(seed, 0.02)
    document = batch_of(counts[:1])
    tokens = QuickTopics.of(model, 1).tokens(document)
    # All that topics have of the document is in their counts, so that it can be taken out.
    of_words = summed(tokens, document.word_ids, model.n_words).toarray()
    learned = replace(model, topic_word_posterior=model.topic_word_posterior + of_words.T)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(QuickTopics, "tokens", lambda *_: tokens)
        found, _ = explained(QuickTopics.of(learned, 1), document, are_known=True)
        by_hand, _ = explained(QuickTopics.of(model, 1), document, are_known=False)
        as_new, _ = explained(QuickTopics.of(learned, 1), document, are_known=False)

    np.testing.assert_allclose(found, by_hand, rtol=1e-9)
    assert (found <= as_new + 1e-9).all()


@pytest.mark.parametrize("are_known", [False, True])
def test_a_small_topic_may_explain_more_of_a_document_than_it_has(are_known):
    of_topics = np.array([[20.0, 0, 0, 0, 0], [0, 50, 50, 50, 50]])
    model = TopicPosterior("lda", of_topics + ETA, np.full(2, 0.1), ETA, smoothing=0.01)
    counts = np.array([[30, 0, 0, 0, 0], [1, 1, 1, 0, 0]])

    scores, _ = explained(QuickTopics.of(model, 1), batch_of(counts), are_known=are_known)

    assert np.isfinite(scores).all()
    assert scores[0] < (-1.0 if are_known else 0.0)  # left out, its word is as good as unknown


def test_training_documents_may_all_be_the_same():
    same = np.full(100, -2.0) + np.tile([0.0, 1e-15], 50)
    usual = UsualScores.of(same, np.full(100, 9.0))

    found = usual.novelty(np.array([-2.0, -2.5]), np.full(2, 9.0))

    assert usual.novel_share == 0.0
    assert abs(found[0]) < 0.01
    assert found[1] > LEAST_NOVELTY


def test_documents_without_words_have_no_novelty():
    model, counts = draw(1, None)
    counts = np.vstack([counts, np.zeros((1, counts.shape[1]), int)])

    found = explained(QuickTopics.of(model, 1), batch_of(counts), are_known=False)

    usual = UsualScores(np.array([0.0, 3.0]), np.array([-1.0, -2.0]), np.array([0.5, 0.5]))
    assert found[0][-1] == 0.0
    assert np.isnan(usual.novelty(*found)).tolist() == [False] * (len(counts) - 1) + [True]


def test_scores_are_compared_with_those_of_documents_as_long():
    n_tokens = np.repeat([10.0, 100.0], 100)
    spread = np.tile([-1.0, 1.0], 100)
    scores = np.where(n_tokens == 10.0, -3.0 + 0.5 * spread, -5.0 + 0.1 * spread)
    usual = UsualScores.of(scores, n_tokens)

    middle = np.sqrt(1000.0)  # half way in logarithms
    lengths = np.array([1.0, 10.0, middle, 100.0, 1e6])
    below = np.array([-4.0, -4.0, -4.3, -5.2, -5.2])
    found = usual.novelty(below, lengths)

    np.testing.assert_allclose(found, [2.0, 2.0, 1.0, 2.0, 2.0], rtol=1e-9)
    assert usual.novel_share == 0.0


@pytest.mark.parametrize("seed", range(2))
def test_novelty_of_documents_of_the_same_kind_is_standard(seed):
    stream = draw_stream("quiet", seed, n_first=600, n_nights=1, n_each=400)
    before, after = corpora_of(stream)
    model = LDA(10, max_iter=10, random_state=seed).fit(before).model_.with_words(after.n_words)
    usual = usual_scores(QuickTopics.of(model, 1), after, before.n_docs)
    later = documents_at(after.row_groups, np.arange(before.n_docs, after.n_docs))

    found = usual.novelty(*explained(QuickTopics.of(model, 1), later, are_known=False))
    learned = usual.novelty(*explained(QuickTopics.of(model, 1), later, are_known=True))

    print(seed, found.mean(), found.std(), (found > LEAST_NOVELTY).mean(), learned.mean())
    assert abs(found.mean()) < 0.3
    assert 0.8 < found.std() < 1.25
    assert (found >= LEAST_NOVELTY).mean() < 0.06


@pytest.mark.parametrize("seed", range(2))
def test_documents_of_another_theme_are_novel(seed):
    stream = around_event(draw_stream("arrives", seed, n_first=600, n_nights=22), 0, 3)
    before, *_, after = corpora_of(stream)
    model = LDA(10, max_iter=10, random_state=seed).fit(before).model_.with_words(after.n_words)
    usual = usual_scores(QuickTopics.of(model, 1), after, before.n_docs)
    later = documents_at(after.row_groups, np.arange(before.n_docs, after.n_docs))

    found = (
        usual.novelty(*explained(QuickTopics.of(model, 1), later, are_known=False)) >= LEAST_NOVELTY
    )

    is_of_it = np.concatenate(stream.themes[1:]) == N_THEMES
    print(seed, found[is_of_it].mean(), found[~is_of_it].mean())
    assert found[is_of_it].mean() > 0.9
    assert found[~is_of_it].mean() < 0.2  # some of them mention it


def test_too_few_documents_are_refused():
    before, _ = corpora_of(draw_stream("quiet", 0, n_first=49, n_nights=1, n_each=5))
    model = TopicPosterior("lda", np.ones((1, before.n_words)), np.ones(1), 0.1)

    with pytest.raises(OptionError, match="needs at least 50 training documents"):
        usual_scores(QuickTopics.of(model, 1), before, 49)
