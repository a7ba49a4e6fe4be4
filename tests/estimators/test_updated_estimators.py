"""``update`` and ``changes`` of LDA and HDP: what the commands do, with estimators."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse

import sparsetopics
from sparsetopics import HDP, LDA, Corpus, MultinomialMixture
from sparsetopics.base.errors import CorpusError, OptionError, UnfittedError, VocabularyError
from sparsetopics.cli.main import main
from worlds.streams import around_event, corpora_of, draw_stream

N_FIRST = 300


@pytest.fixture(scope="module")
def corpora():
    """A collection, and the same with two nights in which a theme with words of its own arrived."""
    stream = around_event(draw_stream("arrives", 1, n_first=N_FIRST, n_nights=22), 0, 2)
    first, _, last = corpora_of(stream)
    return first, last


@pytest.fixture(scope="module", params=[LDA, HDP])
def fitted(request, corpora):
    return request.param(10, max_iter=8, random_state=0).fit(corpora[0])


@pytest.fixture(scope="module")
def updated(fitted, corpora):
    return fitted.update(corpora[1])


def told(*words):
    made = CliRunner().invoke(main, [*map(str, words), "--json", "--quiet"])
    assert made.exit_code == 0, made.output
    return json.loads(made.stdout)["changes"]


def records(changes):
    """As the command's JSON has them."""
    found = [change._asdict() | {"is_news": change.is_news} for change in changes]
    return json.loads(json.dumps(found))


def saved(model, folder):
    """The arrays of a model, and what its settings say of topics."""
    model.save(folder, overwrite=True)
    settings = json.loads((folder / "model.json").read_text())
    said = {name: settings.get(name) for name in ("topics", "told", "likeness_of_halves", "seen")}
    return (folder / "model.safetensors").read_bytes(), said


def test_the_changes_are_those_of_the_commands(fitted, updated, corpora, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fitted.save("run")
    corpora[1].save("grown")
    said = told("update", "run", "grown", "--out", "later")

    found = fitted.changes(updated, corpora[1])

    assert records(found) == said == told("diff", "run", "later", "--corpus", "grown")
    assert records(fitted.changes(updated)) == told("diff", "run", "later")
    assert any(change.is_news for change in found)
    loaded = sparsetopics.load("later")
    assert saved(updated, Path("mine")) == saved(loaded, Path("theirs"))
    assert records(sparsetopics.load("run").changes(loaded, corpora[1])) == said


def test_topics_keep_their_ids_and_the_model_stays(fitted, updated, corpora):
    assert {*fitted.topic_ids_} <= {*updated.topic_ids_}
    n_new = len(updated.topic_ids_) - len(fitted.topic_ids_)
    assert (n_new > 0) == isinstance(fitted, HDP)  # LDA keeps its number of topics
    before, arrays = fitted.model_, fitted.model_.topic_word_posterior.copy()

    fitted.update(corpora[1])

    assert fitted.model_ is before
    np.testing.assert_array_equal(before.topic_word_posterior, arrays)
    assert fitted.n_features_in_ == corpora[0].n_words


def test_an_updated_model_answers_for_the_grown_corpus(updated, corpora):
    first, last = corpora

    assert updated.n_features_in_ == last.n_words > first.n_words
    assert updated.vocabulary_.words == last.vocabulary.words
    assert updated.components_.shape == (updated.n_components_, last.n_words)
    assert updated.get_params()["n_components"] == updated.n_components_
    assert updated.transform(last).shape == (last.n_docs, updated.n_components_)
    assert updated.transform(first).shape == (first.n_docs, updated.n_components_)


def test_names_and_themes_travel(fitted, corpora):
    own = fitted.topic_ids_[2]
    theme = fitted.themes(3).topic_ids_[0]
    named = fitted.rename({own: "News", theme: "A theme"})

    later = named.update(corpora[1])

    names = dict(zip(later.topic_ids_, later.topics()["name"].to_pylist(), strict=True))
    assert names[own] == "News"
    (change,) = (each for each in named.changes(later) if each.topic == own)
    assert change.name == "News"
    assert "News" not in fitted.topics()["name"].to_pylist()
    themes = later.themes(later.n_components_).topics()
    assert "A theme" in themes["name"].to_pylist()


def test_what_was_told_is_no_news_a_night_later(updated, corpora):
    """The same documents once more, under other ids: the theme that arrived is there again."""
    rows, first = corpora[1].to_csr(), corpora[0].n_docs
    again = Corpus.from_csr(sparse.vstack([rows, rows[first:]]), corpora[1].vocabulary.words)
    assert updated._run().settings["told"]

    found = updated.changes(updated.update(again), again)

    was_told = [change for change in found if change.was_told]
    assert not any(change.is_news for change in was_told)
    assert {change.lasting for change in was_told} <= {*updated._run().settings["told"]}


def test_an_updated_model_is_updated_and_learns_on_after_a_folder(updated, corpora, tmp_path):
    rows = corpora[1].to_csr()
    more = Corpus.from_csr(sparse.vstack([rows, rows[:40]]), corpora[1].vocabulary.words)
    updated.save(tmp_path / "run")
    loaded = sparsetopics.load(tmp_path / "run")

    for act in (lambda model: model.update(more), lambda model: model.partial_fit(rows[:40])):
        assert saved(act(updated), tmp_path / "mine") == saved(act(loaded), tmp_path / "theirs")
        updated = sparsetopics.load(tmp_path / "run")
        loaded = sparsetopics.load(tmp_path / "run")


def test_the_number_of_threads_changes_no_bit(fitted, updated, corpora, tmp_path):
    fitted.save(tmp_path / "run")
    two = sparsetopics.load(tmp_path / "run").set_params(n_jobs=2)

    later = two.update(corpora[1])

    assert saved(later, tmp_path / "two") == saved(updated, tmp_path / "one")
    assert two.changes(later, corpora[1]) == fitted.changes(updated, corpora[1])


@pytest.mark.parametrize("n_more", [0, 2])
def test_without_new_documents_the_model_is_the_same(fitted, corpora, n_more):
    """Even if there are words that no document has: the topics do not learn them."""
    rows, words = corpora[0].to_csr(), corpora[0].vocabulary.words
    wide = sparse.hstack([rows, sparse.csr_array((rows.shape[0], n_more), dtype=rows.dtype)])
    same = Corpus.from_csr(wide, [*words, *(f"new{n}" for n in range(n_more))])

    later = fitted.update(same)

    assert later.topic_ids_ == fitted.topic_ids_
    np.testing.assert_array_equal(later.components_, fitted.components_)
    assert later.n_features_in_ == later.components_.shape[1] == len(words)
    np.testing.assert_array_equal(later.transform(rows), fitted.transform(rows))
    assert {change.kind for change in fitted.changes(later, same)} == {"same"}


def test_other_corpora_are_refused(fitted, updated, corpora):
    first, last = corpora
    rows, words = last.to_csr(), last.vocabulary.words
    others = {
        "order": Corpus.from_csr(rows[::-1], words),
        "fewer": Corpus.from_csr(rows[: N_FIRST - 1], words),
    }
    for corpus in others.values():
        for act in (fitted.update, lambda corpus: fitted.changes(updated, corpus)):
            with pytest.raises(CorpusError, match=f"the {N_FIRST} documents that .* trained with"):
                act(corpus)
    turned = Corpus.from_csr(rows, words[::-1])
    fewer = Corpus.from_csr(first.to_csr()[:, :50], words[:50])
    for corpus in (turned, fewer):
        for act in (fitted.update, lambda corpus: fitted.changes(updated, corpus)):
            with pytest.raises(VocabularyError):
                act(corpus)


def test_data_that_are_no_corpus_are_refused(fitted, updated):
    for act in (fitted.update, lambda lists: fitted.changes(updated, lists)):
        with pytest.raises(OptionError, match=r"^corpus: must be a Corpus of the old"):
            act([["owl", "cat"], ["dog"]])


def test_mixtures_and_models_before_fit_are_refused(fitted, corpora):
    assert not hasattr(MultinomialMixture(2), "update")
    assert not hasattr(MultinomialMixture(2), "changes")
    for act in (
        lambda: LDA(4).update(corpora[1]),
        lambda: LDA(4).changes(fitted),
        lambda: fitted.changes(LDA(4)),
    ):
        with pytest.raises(UnfittedError):
            act()
