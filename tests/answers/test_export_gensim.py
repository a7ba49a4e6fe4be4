"""The export, used as a gensim user would."""

from dataclasses import replace

import numpy as np
import pytest
from gensim.corpora import Dictionary
from gensim.models import CoherenceModel, LdaModel

from sparsetopics.answers.exports.exporting import export_run
from sparsetopics.answers.exports.gensim_format import to_dictionary, to_gensim
from sparsetopics.base.errors import OptionError, OutputError


@pytest.fixture
def bag_of_words(training_batch):
    return [
        [
            (int(word), int(count))
            for word, count in zip(
                training_batch.word_ids[start:stop],
                training_batch.word_counts[start:stop],
                strict=True,
            )
        ]
        for start, stop in zip(training_batch.indptr[:-1], training_batch.indptr[1:], strict=True)
    ]


@pytest.fixture
def exported(model, vocabulary):
    return to_gensim(model, vocabulary, n_docs=60, n_passes=3)


def test_topics_have_our_probabilities_to_all_digits(exported, model):
    assert model.smoothing != model.word_concentration
    np.testing.assert_allclose(exported.get_topics(), model.topic_word_mean, rtol=1e-15)
    np.testing.assert_array_equal(exported.state.get_lambda(), model.topic_word_weights)
    np.testing.assert_allclose(exported.alpha, model.doc_concentration)
    assert exported.get_topics().dtype == np.float64


def test_an_hdp_becomes_topics_with_uneven_concentrations(hdp, vocabulary, bag_of_words):
    exported = to_gensim(hdp, vocabulary, n_docs=60)

    np.testing.assert_allclose(exported.get_topics(), hdp.topic_word_mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(exported.alpha, 0.5 * hdp.sticks.global_topic_weights, rtol=1e-12)
    empty = dict(exported.get_document_topics([], minimum_probability=0.0))
    expected = exported.alpha / exported.alpha.sum()  # what the tail held is left out
    np.testing.assert_allclose([empty[topic] for topic in range(4)], expected, atol=1e-6)
    assert np.isfinite(exported.log_perplexity(bag_of_words))


def test_an_hdp_of_very_light_topics_still_infers(hdp, vocabulary, bag_of_words):
    light = hdp.sticks._replace(means=np.array([0.999, 0.999, 0.999, 0.5]))
    concentration = light.doc_concentration * light.global_topic_weights
    model = replace(hdp, doc_concentration=concentration, sticks=light)

    exported = to_gensim(model, vocabulary, n_docs=60)

    shares = exported.get_document_topics(bag_of_words[0], minimum_probability=0.0)
    assert sum(share for _, share in shares) == pytest.approx(1.0, abs=1e-6)


def test_a_saved_hdp_loads_in_gensim(tmp_path, hdp_folder, hdp, bag_of_words):
    export_run(hdp_folder, "gensim", tmp_path / "hdp")

    loaded = LdaModel.load(str(tmp_path / "hdp"))

    np.testing.assert_allclose(loaded.alpha, hdp.doc_concentration, rtol=1e-12)
    np.testing.assert_allclose(loaded.get_topics(), hdp.topic_word_mean, rtol=0, atol=1e-8)
    loaded.update(bag_of_words)
    assert np.isfinite(loaded.get_topics()).all()


def test_show_topics_prints_our_words(exported, model, vocabulary):
    shown = dict(exported.show_topics(-1, 5, formatted=False))

    assert len(shown) == model.n_topics
    for topic, best in enumerate(np.argsort(-model.topic_word_mean, axis=1)[:, :5]):
        assert [word for word, _ in shown[topic]] == [vocabulary.words[word] for word in best]
        np.testing.assert_allclose(
            [probability for _, probability in shown[topic]], model.topic_word_mean[topic, best]
        )


def test_documents_get_the_topics_that_our_posterior_gives_them(exported, model, bag_of_words):
    word = int(np.argmax(model.topic_word_mean[2] / model.topic_word_mean.sum(axis=0)))

    (best, share), *_ = sorted(
        exported.get_document_topics([(word, 50)]), key=lambda pair: -pair[1]
    )

    assert best == 2
    assert share > 0.9
    complete = exported.get_document_topics(bag_of_words[0], minimum_probability=0.0)
    assert sum(share for _, share in complete) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("measure", ["u_mass", "c_npmi"])
def test_coherence_models_accept_it(exported, vocabulary, bag_of_words, measure):
    texts = [
        [vocabulary.words[word] for word, count in document for _ in range(count)]
        for document in bag_of_words
    ]

    coherence = CoherenceModel(
        model=exported, texts=texts, corpus=bag_of_words, coherence=measure, topn=5, processes=1
    )

    assert np.isfinite(coherence.get_coherence())


def test_the_dictionary_is_complete(vocabulary, bag_of_words):
    words = dict(enumerate(vocabulary.words))
    theirs = Dictionary.from_corpus(bag_of_words, words)

    ours = to_dictionary(vocabulary, n_docs=60)

    assert (ours.num_docs, ours.num_pos, ours.num_nnz) == (60, theirs.num_pos, theirs.num_nnz)
    assert ours.dfs == dict(theirs.dfs)
    assert ours.cfs == dict(enumerate(vocabulary.term_frequency.tolist()))
    assert ours.id2token == words
    ours.filter_extremes(no_below=20, no_above=1.0)
    assert len(ours) == int((vocabulary.document_frequency >= 20).sum())


def test_saved_files_load_and_training_goes_on(tmp_path, run_folder, exported, bag_of_words):
    path = tmp_path / "lda.model"
    before = exported.get_topics()

    export_run(run_folder, "gensim", path)

    loaded = LdaModel.load(str(path))
    np.testing.assert_array_equal(loaded.get_topics(), before)
    assert Dictionary.load(f"{path}.dictionary").token2id == loaded.id2word.token2id
    loaded.update(bag_of_words)
    after = loaded.get_topics()
    assert np.isfinite(after).all()
    assert not np.allclose(after, before, atol=1e-4)


def test_more_passes_make_an_update_gentler(model, vocabulary, bag_of_words):
    moves = []
    for n_passes in (1, 100):
        exported = to_gensim(model, vocabulary, 60, n_passes)
        exported.update(bag_of_words)
        moves.append(np.abs(exported.get_topics() - model.topic_word_mean).sum())

    assert moves[1] < 0.9 * moves[0]


@pytest.mark.parametrize("existing", ["lda", "lda.state"])
def test_no_file_is_replaced_unasked(tmp_path, run_folder, existing):
    (out := tmp_path / "out").mkdir()
    (out / existing).write_text("mine")

    with pytest.raises(OutputError, match=f"{existing}: the output already exists"):
        export_run(run_folder, "gensim", out / "lda")

    assert [file.name for file in out.iterdir()] == [existing]
    export_run(run_folder, "gensim", out / "lda", overwrite=True)
    assert (out / existing).read_bytes() != b"mine"


def test_a_folder_is_never_replaced(tmp_path, run_folder):
    with pytest.raises(OutputError, match="the output holds the input"):
        export_run(run_folder, "gensim", tmp_path, overwrite=True)


def test_a_mixture_of_documents_is_no_topic_model(tmp_path, document_mixture_folder):
    with pytest.raises(OptionError, match=r"takes topic models, but .* is a mixture of documents"):
        export_run(document_mixture_folder, "gensim", tmp_path / "lda")
