"""``merge``, ``split``, ``drop``, ``rename`` and ``name_topics`` of LDA and HDP."""

import json
import warnings

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse

import sparsetopics
from sparsetopics import HDP, LDA, Corpus, MultinomialMixture
from sparsetopics.base.errors import OptionError, RunError, SparsetopicsWarning, UnfittedError
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


def names_of(model):
    """The names of topics by their ids."""
    table = model.topics()
    return dict(zip(table["id"].to_pylist(), table["name"].to_pylist(), strict=True))


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

    assert names_of(later)[ids[2]] == "News"
    assert "News" not in fitted.topics()["name"].to_pylist()


@pytest.mark.parametrize(
    ("names", "expected"),
    [({2: "Small"}, "Small"), ({2: "Small", 1: "Large"}, "Large"), ({0: "Other"}, None)],
)
def test_a_merged_topic_has_the_name_of_the_heaviest_that_was_named(fitted, names, expected):
    heaviest, automatic = fitted.topic_ids_[1], names_of(fitted.merge([1, 2]))

    merged = fitted.rename(names).merge([1, 2])

    assert names_of(merged)[heaviest] == (expected or automatic[heaviest])


def test_a_merge_of_themes_keeps_the_name_that_was_given(fitted):
    themes = fitted.themes(3)
    first, *_, last = themes.topic_ids_

    merged = themes.rename({last: "Small"}).merge([first, last])

    assert names_of(merged)[first] == "Small"


def test_topics_of_the_same_name_are_said_once(fitted):
    with pytest.warns(SparsetopicsWarning, match="^Several topics have the same name: 'A'.$"):
        named = fitted.rename({0: "A", 1: "A", 2: "B"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named.rename({2: "C"}).rename({3: "D"})
    with pytest.warns(SparsetopicsWarning, match="same name: 'C'.$"):
        fitted.rename({2: "C"}).rename({3: "C"})
    with pytest.warns(SparsetopicsWarning, match="same name: 'D'.$"):
        fitted.name_topics(lambda *given: "D")


def test_what_is_wrong_with_all_names_is_said_once(fitted):
    with pytest.warns(SparsetopicsWarning) as caught:
        fitted.name_topics(lambda words, telling, texts: "A")
    (said,) = caught
    assert str(said.message).count("3 positional arguments") == 1
    assert "named 0 of 4 topics: raised TypeError: " in str(said.message)
    answers = iter([3, "A", "B", 3])
    with pytest.warns(SparsetopicsWarning, match=r" 2 of 4 topics: returned int, .* \(\w+, \w+\)"):
        fitted.name_topics(lambda *given: next(answers))


def test_a_function_names_topics(fitted):
    asked = []

    def namer(words, telling, texts, theme):
        asked.append((len(words), len(telling), len(texts), theme))
        return " ".join(words).upper()

    named = fitted.name_topics(namer, CORPUS)

    assert asked == [(10, 10, 3, None)] * 4
    best = [" ".join(words).upper() for words in fitted.top_words(10)]
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
        with pytest.raises(OptionError, match=r"topics, each once\.$"):
            fitted.merge(topics)
    with pytest.raises(OptionError, match=r"merge: takes one group.* Call merge once for each"):
        fitted.merge([[0, 1], [2, 3]])
    with pytest.raises(OptionError, match=r"topics\. Name it by its id, or by its number, from 0"):
        fitted.merge([0, 4])
    for topic in (4, -1, "zzzzzzzz"):
        with pytest.raises(OptionError, match="split: there is no topic"):
            fitted.split(topic, CORPUS)
    with pytest.raises(OptionError, match="drop: topic 0 is the only topic"):
        fitted.merge([0, 1, 2, 3]).drop(0, CORPUS)
    with pytest.raises(UnfittedError):
        LDA(4).merge([0, 1])
    assert not hasattr(MultinomialMixture(2), "merge")


def test_a_folder_that_is_not_there_says_what_makes_one(tmp_path):
    with pytest.raises(RunError, match="or a model's save makes one"):
        sparsetopics.load(tmp_path / "run")


class Named(str):
    """A string that model.json cannot hold as it is."""


def test_names_of_any_class_of_strings_are_kept(fitted, tmp_path):
    news = map("  News {} ".format, range(4))
    named = fitted.name_topics(lambda *given: Named(next(news)))

    _, topics = saved(named.rename({0: Named("Sports")}), tmp_path / "run")

    assert [topic["name"] for topic in topics] == ["Sports", "News 1", "News 2", "News 3"]


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
        assert names_of(model)[topic] == "A topic"
        assert names_of(model.themes(4))[own] == "A theme"


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
