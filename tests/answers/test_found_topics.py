"""``topics --find``: the topics in which given words stand out."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from sparsetopics.answers.found_topics import found_topics, word_ids
from sparsetopics.base.errors import OptionError, RunError
from sparsetopics.cli.main import main
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.text.tokenizer import TokenizerOptions
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import load_run, run_in_memory
from worlds.clumped_mixtures import draw_clumps, mixture_of

PROVENANCE = {"corpus": {"n_documents": 60, "fingerprint": "abc"}, "options": {}, "seed": 7}


def run_of(vocabulary, counts=None):
    """A run with some topics over the words."""
    if counts is None:
        counts = np.random.default_rng(1).gamma(0.3, 50.0, size=(4, len(vocabulary)))
    posterior = TopicPosterior("lda", counts + 0.1, np.full(len(counts), 0.1), 0.1)
    return run_in_memory("made", posterior, vocabulary, PROVENANCE, [])


def words_like(*words, **settings):
    """A vocabulary, with the settings of a tokeniser if there are any."""
    how = TokenizerOptions(**settings).settings() if settings else None
    ones = np.ones(len(words), np.int64)
    return Vocabulary(words, ones, ones, how)


def printed(*arguments):
    result = CliRunner().invoke(main, ["topics", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments):
    result = CliRunner().invoke(main, ["topics", *map(str, arguments)])
    assert (result.exit_code, result.stdout) == (1, "")
    return result.stderr


def shares_by_hand(run, words):
    """p(k | words) by loops over topics and words."""
    joint = []
    for weight, topic in zip(run.model.weights, run.model.topic_word_mean, strict=True):
        product = weight
        for word in words:
            product *= topic[run.words.words.index(word)]
        joint.append(product)
    return np.array(joint) / sum(joint)


@pytest.mark.parametrize(
    "words", [["wordaa"], ["wordab", "wordbc"], ["wordaa", "wordac", "wordad"]]
)
@pytest.mark.parametrize("folder", ["run_folder", "hdp_folder", "document_mixture_folder"])
def test_shares_are_those_of_the_topics_given_the_words(folder, words, request):
    run = load_run(request.getfixturevalue(folder))
    expected = shares_by_hand(run, words)

    found = found_topics(run, words)

    best = np.argsort(-expected, kind="stable").tolist()
    assert [*found] == best[: len(found)]
    np.testing.assert_allclose([*found.values()], expected[best][: len(found)], rtol=1e-12)
    total = np.cumsum(expected[best])
    assert total[len(found) - 1] >= 0.9
    assert len(found) == 1 or total[len(found) - 2] < 0.9


def test_ten_topics_are_listed_at_most_and_ties_go_to_the_lower():
    run = run_of(words_like("a", "b"), np.full((30, 2), 5.0))

    found = found_topics(run, ["a"])

    assert [*found] == [*range(10)]
    np.testing.assert_allclose([*found.values()], 1 / 30)


def test_many_rare_words_do_not_vanish():
    counts = np.zeros((2, 400))
    counts[0, :200] = counts[1, 200:] = 1e6
    run = run_of(words_like(*(f"w{n}" for n in range(400))), counts)

    found = found_topics(run, [f"w{n}" for n in range(200, 400)] + ["w0"])

    assert found == pytest.approx({1: 1.0})


def test_a_topic_without_data_has_no_share():
    run = run_of(words_like("a", "b", "c"), np.array([[9.0, 0, 0], [0, 0, 0], [0, 9.0, 0]]))

    assert set(found_topics(run, ["c"])) == {0, 2}


# --- which words are meant ------------------------------------------------------------------------
NGRAMS = words_like("new", "york", "new_york", "fire", lowercase=True, ngrams=2)
PHRASES = words_like("new", "york", "new_york", lowercase=True, phrases=(("new", "york"),))
CAPITALS = words_like("Fire", "fire", lowercase=False)
BY_FUNCTION = words_like("new york", "Fire", function="nowhere:cut")
OF_LISTS = words_like("new york", "new_york", "Fire", "york", from_lists=True)
COUNTED = words_like("new york", "new", "york", "the_end", "Fire")


@pytest.mark.parametrize(
    ("vocabulary", "texts", "words"),
    [
        (NGRAMS, ["New York"], ["new_york"]),
        (NGRAMS, ["new_york", "FIRE"], ["new_york", "fire"]),
        (NGRAMS, ["york new"], ["york", "new"]),
        (NGRAMS, ["fire", "new fire", "Fire"], ["fire", "new"]),
        (PHRASES, ["New York"], ["new_york"]),
        (PHRASES, ["new"], ["new"]),
        (CAPITALS, ["Fire"], ["Fire"]),
        (BY_FUNCTION, ["new york", "Fire"], ["new york", "Fire"]),
        (OF_LISTS, ["new york"], ["new_york"]),
        (OF_LISTS, ["york Fire"], ["york", "Fire"]),
        (COUNTED, ["new york"], ["new york"]),
        (COUNTED, ["the end", " york "], ["the_end", "york"]),
    ],
)
def test_words_are_cut_as_those_of_the_training(vocabulary, texts, words):
    found = word_ids(run_of(vocabulary), texts)

    assert [vocabulary.words[number] for number in found] == words


def test_lemmas_are_found_by_any_of_their_forms():
    pytest.importorskip("simplemma")
    texts = ["The dogs chased cats.", "A dog chases the cats.", "Dogs chase cats."] * 3
    corpus = Corpus.from_texts(texts, lemmas="en", min_df=1, max_df=1.0)
    run = run_of(corpus.vocabulary)

    for form in ("chased", "Chases", "chase"):
        assert [corpus.vocabulary.words[n] for n in word_ids(run, [form])] == ["chase"]
    for word, form in zip(corpus.vocabulary.words, corpus.vocabulary.shown, strict=True):
        assert [corpus.vocabulary.words[n] for n in word_ids(run, [form])] == [word]


@pytest.mark.parametrize(
    ("vocabulary", "texts", "problem"),
    [
        (NGRAMS, ["Fier"], "'fier' is not in the vocabulary of the run. Similar words: fire."),
        (NGRAMS, ["new zzz"], "'zzz' is not in the vocabulary of the run."),
        (COUNTED, ["fire"], "'fire' is not in the vocabulary of the run."),
        (COUNTED, [" "], "' ' is not in the vocabulary of the run."),
        (NGRAMS, "fire", "must be a list of strings"),
        (NGRAMS, [3], "must be a list of strings only"),
        (NGRAMS, ["\udcff"], "half of a surrogate pair"),
    ],
)
def test_words_that_are_not_known_are_refused(vocabulary, texts, problem):
    with pytest.raises(OptionError) as caught:
        found_topics(run_of(vocabulary), texts)

    assert str(caught.value).startswith("find: ")
    assert problem in str(caught.value)


def test_components_of_vectors_have_no_words():
    run = run_in_memory("made", mixture_of(draw_clumps(0), "gaussian"), None, PROVENANCE, [])

    with pytest.raises(RunError, match="a mixture of vectors"):
        found_topics(run, ["a"])


# --- the command ----------------------------------------------------------------------------------
def test_json_has_the_shares_of_the_topics_that_are_found(run_folder):
    rows = json.loads(printed(run_folder, "--json"))

    found = json.loads(printed(run_folder, "--find", "wordaa", "--find", "wordab", "--json"))

    expected = found_topics(load_run(run_folder), ["wordaa", "wordab"])
    assert found == [rows[topic] | {"share": share} for topic, share in expected.items()]
    assert found == json.loads(printed(run_folder, "--find", "wordaa wordab", "--json"))


@pytest.mark.filterwarnings("ignore:.*names topics by numbers")
def test_people_read_the_shares_in_a_column(run_folder, tmp_path):
    (tmp_path / "names.toml").write_text('0 = "a"\n1 = "b"\n2 = "c"\n3 = "d"\n')
    expected = found_topics(load_run(run_folder), ["wordab"])
    options = ("--relevance", 0.6, "--words", 3, "--names", tmp_path / "names.toml")

    head, *lines = printed(run_folder, "--find", "wordab", *options).splitlines()

    assert head.split() == ["topic", "id", "weight", "share", "name", "words"]
    cells = [line.split() for line in lines]
    assert [(row[0], row[3]) for row in cells] == [
        (str(k), f"{s:.2%}") for k, s in expected.items()
    ]
    by_topic = {
        line.split()[0]: line.split() for line in printed(run_folder, *options).splitlines()
    }
    for row in cells:
        assert row[:3] + row[4:] == by_topic[row[0]]
    assert len({line.index(" word") for line in [head, *lines]}) == 1


def test_the_command_says_which_words_are_near(run_folder):
    message = refused(run_folder, "--find", "wordaaa")

    problem = "'wordaaa' is not in the vocabulary of the run. Similar words: wordaa"
    assert message.startswith(f"Error: --find: {problem}")
