"""Forms of a word become one word, here, in held-out texts and on pages."""

import json
import sys

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from reference_words import are_names
from sparsetopics import LDA, Corpus
from sparsetopics.base.errors import OptionError
from sparsetopics.cli.main import main
from sparsetopics.corpora.text.letters import (
    LEAST_WEIGHT,
    bytes_and_offsets,
    letter_kinds,
    letter_weights,
)
from sparsetopics.corpora.text.token_kernels import find_names, find_strings, known_strings
from sparsetopics.corpora.text.tokens import scan_tokens
from sparsetopics.corpora.text.vocabulary import Vocabulary
from worlds.collections_on_disk import write_jsonl

TEXTS = ["The owl saw houses", "owls went by many houses", "An owl and the house", "houses of OWLS"]
OPTIONS = {"lemmas": "en", "stop_words": "english"}


def run(*words):
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("es", "Las casas de los niños en Madrid", "casa niño madrid"),
        ("nl", "De huizen en boeken van Amsterdam", "huis boek van amsterdam"),
        ("en", "Owls went through houses in Texas with Jones", "owl go through house texas jones"),
    ],
)
def test_words_become_their_lemmas_and_names_stay(language, text, words):
    found = Corpus.from_texts([text], lemmas=language).vocabulary.words

    assert set(words.split()) <= set(found)


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("en", "They met Mr. Brooks at the\nWaters. Brooks flow", "brooks waters brook"),
        ("en", "He saw Brooks and Waters at the brooks. WATERS RISE", "brooks waters brook water"),
        ("es", "Vino Dolores. Dolores fuertes, y las casas de Dolores", "dolores dolor casa"),
        ("de", "Die Häuser der Weber sah ich schön; er webte", "haus weber weben schön"),
    ],
)
def test_capitals_inside_a_sentence_tell_names_from_words(language, text, words):
    found = Corpus.from_texts([text], lemmas=language).vocabulary.words

    assert set(words.split()) <= set(found)


@example(
    "Mr. Owl and Ms.\nOwl É. Owl, Abcd. Owl Abcde. Owl\r\nOwl. \nOwl é.\n\nOwl\n\nOwl A. . Owl"
)
@example("The Owls, Jean Paul’s 3 Owls. And Él Álamo, ÉL")
@given(text=st.lists(st.sampled_from(["Owl", "owl", "ÉL", "É", "ǅa", *" ,.3\n"])).map("".join))
def test_a_twin_in_plain_python_finds_the_same_names(text):
    run = letter_weights(are_words_divided=False), LEAST_WEIGHT

    texts = pa.array(["Before.", text])
    tokens = scan_tokens(texts, run, lowercase=True)
    places = tokens.indptr, tokens.starts, tokens.word_of

    found = [
        find_names(*bytes_and_offsets(texts), *places, are_wanted, letter_kinds()).tolist()
        for are_wanted in (
            np.ones(len(tokens.words), np.bool_),
            np.zeros(len(tokens.words), np.bool_),
        )
    ]

    assert found == [[False, *are_names(text)], [False] * len(tokens.word_of)]


@given(
    known=st.lists(st.text("aé", max_size=12), unique=True),
    texts=st.lists(st.text("aé", max_size=12)),
)
def test_strings_are_found_by_their_bytes(known, texts):
    def packed(strings):
        return bytes_and_offsets(pa.array(strings, pa.string()))

    found = find_strings(*packed(texts), known_strings(*packed(known)))

    assert found.tolist() == [known.index(text) if text in known else -1 for text in texts]


def test_capitals_stay_where_they_are_kept():
    words = Corpus.from_texts(["Häuser Houses gingen"], lemmas="de", lowercase=False).vocabulary

    assert set(words.words) == {"Haus", "Houses", "gehen"}


def test_stop_words_go_first_and_are_no_lemmas_either():
    corpus = Corpus.from_texts(["owls owl went home"], lemmas="en", stop_words=["go", "owls"])

    assert set(corpus.vocabulary.words) == {"owl", "home"}
    assert corpus.n_tokens == 2


def test_pairs_and_phrases_are_of_lemmas():
    texts = ["the old trees grow", "an old tree grows", "old trees", "rivers flow"] * 9

    pairs = Corpus.from_texts(texts, lemmas="en", ngrams=2).vocabulary
    phrases = Corpus.from_texts(texts, lemmas="en", phrases=True, phrase_threshold=0.2).vocabulary

    assert "old_tree" in pairs.words
    assert "old_tree" in phrases.words
    assert pairs.shown[pairs.words.index("old_tree")] == "old_trees"
    assert phrases.shown[phrases.words.index("old_tree")] == "old_trees"


def test_the_commonest_form_is_shown():
    vocabulary = Corpus.from_texts(TEXTS, **OPTIONS).vocabulary

    assert dict(zip(vocabulary.words, vocabulary.shown, strict=True)) == {
        "house": "houses",
        "owl": "owl",
        "see": "saw",
        "go": "went",
    }


def test_a_form_that_is_a_word_stands_for_that_word():
    texts = ["We met Brooks by the brooks near the brooks"] * 3

    vocabulary = Corpus.from_texts(texts, **OPTIONS).vocabulary

    shown = dict(zip(vocabulary.words, vocabulary.shown, strict=True))
    assert (shown["brook"], shown["brooks"]) == ("brook", "brooks")


def test_files_and_texts_agree_and_held_out_texts_follow(tmp_path):
    source = write_jsonl(tmp_path / "a.jsonl", TEXTS)
    run("ingest", source, "--lemmas", "en", "--stop-words", "english", "--out", tmp_path / "c")
    corpus, texts = Corpus.open(tmp_path / "c"), Corpus.from_texts(TEXTS, **OPTIONS)

    held_out = Corpus.from_texts(["an owl seeing housed houses"], vocabulary=corpus.vocabulary)

    assert corpus.vocabulary.shown == texts.vocabulary.shown
    assert (corpus.to_csr().toarray() == texts.to_csr().toarray()).all()
    assert held_out.to_csr().toarray().sum() == held_out.n_tokens >= 3
    run("ingest", source, "--append", tmp_path / "c", "--duplicate-ids", "keep")
    assert Corpus.open(tmp_path / "c").vocabulary.shown == texts.vocabulary.shown


def test_infer_evaluate_and_pages_follow(tmp_path):
    source = write_jsonl(tmp_path / "a.jsonl", TEXTS * 5)
    run("ingest", source, "--lemmas", "en", "--stop-words", "english", "--out", tmp_path / "c")
    run("train", tmp_path / "c", "--topics", 2, "--laps", 2, "--quiet", "--out", tmp_path / "r")

    said = json.loads(run("infer", tmp_path / "r", "--text", "an owl saw houses", "--json").stdout)
    scored = run("evaluate", tmp_path / "r", tmp_path / "c", "--texts", source, "--json").stdout
    run("report", tmp_path / "r", "--out", tmp_path / "page.html")
    topics = json.loads(run("topics", tmp_path / "r", "--json").stdout)

    assert (said["n_tokens"], said["n_unknown_tokens"]) == (3, 0)
    assert json.loads(scored)[0]["c_v"] is not None
    assert "houses" in (tmp_path / "page.html").read_text()
    assert {word for topic in topics for word, _ in topic["words"]} == {
        "houses",
        "owl",
        "saw",
        "went",
    }


def test_a_fitted_model_keeps_the_forms(tmp_path):
    LDA(2, max_iter=1).fit(Corpus.from_texts(TEXTS, **OPTIONS)).save(tmp_path / "r")

    assert "houses" in Vocabulary.read(tmp_path / "r").shown


@pytest.mark.parametrize("language", ["xx", "english", ""])
def test_an_unknown_language_is_refused(language):
    with pytest.raises(OptionError, match=r"^lemmas: must be the code.*Codes: ar, ast, "):
        Corpus.from_texts(TEXTS, lemmas=language)


def test_a_missing_library_is_named(monkeypatch):
    name = "simplemma.strategies.dictionaries.dictionary_factory"
    monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(OptionError, match=r"^lemmas: needs simplemma, which is not installed"):
        Corpus.from_texts(TEXTS, lemmas="en")
