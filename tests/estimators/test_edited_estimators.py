"""``merge``, ``split``, ``drop``, ``rename`` and ``name_topics`` of LDA and HDP."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse

import sparsetopics
from sparsetopics import HDP, LDA, Corpus, MultinomialMixture
from sparsetopics.base.errors import OptionError, UnfittedError
from sparsetopics.cli.main import main

N_WORDS = 40


def documents(seed, n_docs):
    topics = np.random.default_rng(2).dirichlet(np.full(N_WORDS, 0.1), 4)
    rng = np.random.default_rng(seed)
    mixtures = rng.dirichlet(np.full(4, 0.2), n_docs)
    rows = np.array([rng.multinomial(40, mixture @ topics) for mixture in mixtures])
    return Corpus.from_csr(sparse.csr_array(rows), [f"word{v:02}" for v in range(N_WORDS)])


CORPUS = documents(0, 150)
EDITS = ("--merge {0},{1}", "--split {1}", "--drop {2}", "--rename {3}=News")


@pytest.fixture(scope="module", params=[LDA, HDP])
def fitted(request):
    return request.param(4, max_iter=3).fit(CORPUS)


def saved(model, folder):
    """The arrays of a model, and the identities of its topics."""
    model.save(folder, overwrite=True)
    settings = json.loads((folder / "model.json").read_text())
    return (folder / "model.safetensors").read_bytes(), settings["topics"]


def test_merged_counts_add_up_and_the_model_stays(fitted):
    ids, before = fitted.topic_ids_, fitted.model_

    merged = fitted.merge([1, ids[0]])

    assert fitted.model_ is before
    assert merged.n_components_ == merged.n_components == 3
    place, counts = merged.topic_ids_.index(ids[0]), before.exact_counts
    np.testing.assert_array_equal(merged.model_.exact_counts[place], counts[0] + counts[1])
    assert set(merged.topic_ids_) == set(ids) - {ids[1]}


@pytest.mark.parametrize("words", EDITS)
def test_an_estimator_edits_as_the_command_does(fitted, words, tmp_path):
    ids = fitted.topic_ids_
    model = {
        "--merge": lambda: fitted.merge(ids[:2]),
        "--split": lambda: fitted.split(ids[1], CORPUS),
        "--drop": lambda: fitted.drop(ids[2], CORPUS),
        "--rename": lambda: fitted.rename({ids[3]: "News"}),
    }[words.split()[0]]()
    fitted.save(tmp_path / "run")
    CORPUS.save(tmp_path / "corpus")
    given = ("--corpus", tmp_path / "corpus", "--out", tmp_path / "out", "--workers", 2, "--quiet")
    arguments = ("edit", tmp_path / "run", *words.format(*ids).split(), *given)

    made = CliRunner().invoke(main, [*map(str, arguments)])

    assert made.exit_code == 0, made.output
    loaded = sparsetopics.load(tmp_path / "out")
    assert saved(model, tmp_path / "mine") == saved(loaded, tmp_path / "theirs")
    more = documents(9, 30)
    assert saved(model.partial_fit(more), tmp_path / "mine") == saved(
        loaded.partial_fit(more), tmp_path / "theirs"
    )


def test_all_tokens_are_in_the_topics_after_laps(fitted):
    dropped, split = fitted.drop(0, CORPUS), fitted.split(0, CORPUS, laps=2)

    assert (dropped.n_components_, split.n_components_) == (3, 5)
    for model in (dropped, split):
        assert model.model_.exact_counts.sum() == CORPUS.n_tokens
    assert split.n_iter_ == dropped.n_iter_ + 1 == fitted.n_iter_ + 2
    assert set(fitted.topic_ids_[1:]) == set(dropped.topic_ids_)


def test_names_stay_with_their_topics(fitted):
    ids = fitted.topic_ids_
    named = fitted.rename({ids[2]: "News"})

    later = named.merge(ids[:2]).partial_fit(documents(7, 60))

    table = later.topics()
    names = dict(zip(table["id"].to_pylist(), table["name"].to_pylist(), strict=True))
    assert names[ids[2]] == "News"
    assert "News" not in fitted.topics()["name"].to_pylist()


def test_a_function_names_topics(fitted):
    asked = []

    def namer(words, telling, texts, theme):
        asked.append((len(words), len(telling), len(texts), theme))
        return words[0].upper()

    named = fitted.name_topics(namer, CORPUS)

    assert asked == [(10, 10, 3, None)] * 4
    best = [words[0].upper() for words in fitted.top_words(1)]
    assert named.topics()["name"].to_pylist() == best


@pytest.mark.parametrize("kind", [LDA, HDP])
def test_fewer_topics_than_a_word_may_use(kind, tmp_path):
    model = kind(4, max_iter=2, sparsity=4).fit(CORPUS)

    model.merge([0, 1]).drop(0, CORPUS).save(tmp_path / "run")

    assert sparsetopics.load(tmp_path / "run").merge([0, 1]).n_components_ == 1


def test_what_cannot_be_done_is_refused(fitted):
    for laps in (0, -1, 1.5):
        with pytest.raises(OptionError, match=r"^laps: must be "):
            fitted.drop(0, CORPUS, laps=laps)
    for topics in ([0], [1, 1], []):
        with pytest.raises(OptionError, match="merge: must name two or more different topics"):
            fitted.merge(topics)
    for topic in (4, -1, "zzzzzzzz"):
        with pytest.raises(OptionError, match="split: there is no topic"):
            fitted.split(topic, CORPUS)
    with pytest.raises(OptionError, match="drop: topic 0 is the only topic"):
        fitted.merge([0, 1, 2, 3]).drop(0, CORPUS)
    with pytest.raises(UnfittedError):
        LDA(4).merge([0, 1])
    assert not hasattr(MultinomialMixture(2), "merge")


class Named(str):
    """A string that model.json cannot hold as it is."""


def test_names_of_any_class_of_strings_are_kept(fitted, tmp_path):
    named = fitted.name_topics(lambda *given: Named("  News "))

    _, topics = saved(named.rename({0: Named("Sports")}), tmp_path / "run")

    assert [topic["name"] for topic in topics] == ["Sports", "News", "News", "News"]


def test_a_topic_is_not_split_without_documents(fitted):
    with pytest.raises(OptionError, match="split: needs at least 4 documents that use topic 0"):
        fitted.split(0, [])


# --- themes ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_themes_are_the_same_before_and_after_a_folder(fitted, n, tmp_path):
    themes = fitted.themes(n)

    fitted.save(tmp_path / "run")
    loaded = sparsetopics.load(tmp_path / "run")
    again = loaded.themes(n)
    loaded.save(tmp_path / "run", overwrite=True)
    twice = sparsetopics.load(tmp_path / "run").themes(n)

    assert themes.n_components_ == themes.n_components == n
    assert themes.model_.exact_counts.sum() == fitted.model_.exact_counts.sum()
    expected = saved(themes, tmp_path / "mine")
    for other in (again, twice):
        assert saved(other, tmp_path / "theirs") == expected
    assert all(own.startswith("theme-") for own in themes.topic_ids_)
    assert fitted.n_components_ == 4


def test_a_saved_model_of_themes_answers_as_in_memory(fitted, tmp_path):
    themes = fitted.themes(2)
    themes = themes.rename({themes.topic_ids_[1]: "A theme"})

    themes.save(tmp_path / "run")
    loaded = sparsetopics.load(tmp_path / "run")

    np.testing.assert_array_equal(loaded.transform(CORPUS), themes.transform(CORPUS))
    assert loaded.topics().equals(themes.topics())
    assert themes.topics()["name"].to_pylist()[1] == "A theme"
    assert themes.transform(CORPUS).shape == (CORPUS.n_docs, 2)


def test_a_theme_keeps_its_name_while_its_topic_learns(fitted):
    own = fitted.themes(2).topic_ids_[0]
    topic = own.removeprefix("theme-")
    named = fitted.rename({own: "A theme", topic: "A topic"})

    later = named.partial_fit(documents(7, 60))

    for model in (named, later):
        table = model.topics()
        names = dict(zip(table["id"].to_pylist(), table["name"].to_pylist(), strict=True))
        assert names[topic] == "A topic"
        table = model.themes(4).topics()
        names = dict(zip(table["id"].to_pylist(), table["name"].to_pylist(), strict=True))
        assert names[own] == "A theme"


def test_a_topic_that_learned_on_has_a_tree_of_its_own(fitted, tmp_path):
    later = sparsetopics.load(_written(fitted, tmp_path / "run")).partial_fit(documents(7, 60))

    later.save(tmp_path / "later")

    merges = json.loads((tmp_path / "later" / "themes.json").read_text())["merges"]
    assert {own for merge in merges for own in merge[:2]} == set(later.topic_ids_)
    assert sparsetopics.load(tmp_path / "later").themes(2).topic_ids_ == later.themes(2).topic_ids_


def _written(model, folder):
    model.save(folder)
    return folder


def test_numbers_of_themes_that_cannot_be_are_refused(fitted):
    with pytest.raises(OptionError, match="must be from 1 to 4, the number of topics"):
        fitted.themes(5)
    for n in (0, -1, 1.5, "2", None, True):
        with pytest.raises(OptionError, match="themes: must be "):
            fitted.themes(n)
    with pytest.raises(UnfittedError):
        LDA(4).themes(2)
    assert not hasattr(MultinomialMixture(2), "themes")
