"""Topics that begin with lists of words: found, named, kept, refused."""

import numpy as np
import pytest

from sparsetopics import HDP, LDA, Corpus, TopicPath, load
from sparsetopics.base.errors import OptionError
from worlds.themes_with_lists import GUIDE, THEMES, texts


@pytest.fixture(scope="module")
def corpus():
    return Corpus.from_texts(texts())


def best(model, n=4):
    return {row["name"]: {*row["words"][:n]} for row in model.topics().to_pylist()}


@pytest.mark.parametrize("seed", range(2))
def test_topics_of_lists_have_their_names_and_words(corpus, seed):
    model = LDA(5, guide=GUIDE, random_state=seed).fit(corpus)

    found = best(model)
    assert found["shipping"] <= {*THEMES["sea"]}
    assert found["justice"] <= {*THEMES["court"]}
    rows = {row["list_name"]: row["keyword_rate"] for row in model.topics().to_pylist()}
    assert 0.2 < rows["shipping"] < 0.5  # two of six words
    assert rows.keys() == {None, "shipping", "justice"}


def test_an_hdp_keeps_lists_whatever_its_number(corpus):
    model = HDP(guide=GUIDE, random_state=0).fit(corpus)

    assert all(each.topics for each in model._run().lists)


def test_rungs_of_a_path_know_their_lists(corpus):
    path = TopicPath(rungs=(12, 5, 3), guide=GUIDE, random_state=0).fit(corpus)

    for run in (path._run(), path.fit(corpus)._run()):
        assert all(each.topics for each in run.lists)


def test_lists_stay_when_a_model_is_saved_or_learns_on(corpus, tmp_path):
    model = LDA(5, guide=GUIDE, random_state=0).fit(corpus)
    model.save(tmp_path / "run")

    loaded = load(tmp_path / "run")

    assert best(loaded) == best(model)
    corpus_after = Corpus.from_texts(texts(n_docs=620), vocabulary=corpus.vocabulary)
    assert {"shipping", "justice"} <= {*best(loaded.update(corpus_after))}


def test_the_same_bits_for_any_number_of_threads(corpus):
    one, two = (LDA(5, guide=GUIDE, n_jobs=n).fit(corpus) for n in (1, 2))

    np.testing.assert_array_equal(one.components_, two.components_)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"guide": {"sea": []}}, "must have words, none of them empty"),
        ({"guide": {"sea": "ship"}}, "must be a list of strings, but is 'ship'"),
        ({"guide": {"sea": {"word": ["ship"]}}}, "has the unknown entry 'word'"),
        ({"guide": ["ship"]}, "must be a TOML file, or names with their words"),
        ({"guide": {"": ["ship"]}}, "a name must have 1 to 100 printable characters"),
        ({"guide": {"nonsense": ["qwxyz"]}}, "has no word that is in the vocabulary"),
        (
            {"guide": {**GUIDE, "x": ["oil"]}, "n_components": 2},
            "has 3 lists for only 2 topics",
        ),
        ({"guide": GUIDE, "learner": "stochastic"}, "needs the memoized learner"),
        ({"guide": GUIDE, "local_update": "mean-field"}, "needs the memoized learner"),
    ],
)
@pytest.mark.filterwarnings("ignore:List nonsense")
def test_what_cannot_be_guided_is_refused(corpus, arguments, message):
    with pytest.raises(OptionError, match=message):
        LDA(**{"n_components": 5, **arguments}).fit(corpus)


def test_partial_fit_and_small_hdps_are_not_guided(corpus):
    with pytest.raises(OptionError, match="works only with fit"):
        LDA(5, guide=GUIDE).partial_fit(corpus)
    with pytest.raises(OptionError, match="needs documents that choose the number"):
        HDP(guide=GUIDE).fit(Corpus.from_texts(texts(n_docs=100)))


def test_what_training_found_stays_when_the_file_goes(corpus, tmp_path):
    guide = tmp_path / "guide.toml"
    guide.write_text('shipping = ["ship", "harbour"]', encoding="utf-8")
    model = LDA(8, guide=str(guide), random_state=0).fit(corpus)
    before = best(model)
    guide.unlink()

    assert best(model) == before
    model.save(tmp_path / "run")
    assert best(load(tmp_path / "run")) == before


def test_themes_have_the_names_of_lists_but_no_lists(corpus, tmp_path):
    model = LDA(8, guide=GUIDE, random_state=0).fit(corpus)

    themes = model.themes(5)

    assert "list_name" not in themes.topics().column_names
    themes.save(tmp_path / "themes")
    assert load(tmp_path / "themes")._run().lists == []


def test_learning_on_keeps_lists(corpus, tmp_path):
    model = LDA(8, guide=GUIDE, random_state=0).fit(corpus)
    model.save(tmp_path / "run")

    loaded = load(tmp_path / "run")
    assert loaded.get_params()["guide"]["shipping"]["words"] == ["ship", "harbour"]
    for each in (model, loaded):
        each.partial_fit(corpus)
        assert [found.name for found in each._run().lists] == [*GUIDE]
        assert all(found.topics for found in each._run().lists)


def test_words_of_numpy_and_sets_are_texts(corpus, tmp_path):
    words = {*np.array(["ship", "harbour"])}

    model = LDA(8, guide={"shipping": words}, random_state=0).fit(corpus)

    model.save(tmp_path / "run")
    (found,) = load(tmp_path / "run")._run().lists
    assert [word.text for word in found.words] == ["harbour", "ship"]


@pytest.mark.filterwarnings("ignore:The path begins with")
def test_a_path_of_few_documents_has_fewer_topics_than_lists():
    few = Corpus.from_texts(texts(n_docs=30))
    guide = {f"{name} {word}": [word] for name in THEMES for word in THEMES[name]}

    with pytest.raises(OptionError, match="lists for only 10 topics"):
        TopicPath(rungs=(100, 5), guide=guide, validation_share=0).fit(few)
