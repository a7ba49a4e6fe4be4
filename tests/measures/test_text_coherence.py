"""Coherence in windows of text: what is read, and what gensim makes of it."""

import json
from dataclasses import replace

import numpy as np
import pytest
from gensim.corpora import Dictionary
from gensim.models import CoherenceModel

from sparsetopics.base.errors import SourceError, VocabularyError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.ingest_options import IngestOptions
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.text.tokenizer import TokenizerOptions
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.evaluation.scoring.tokenized_texts import TokenizedTexts
from sparsetopics.measures.coherence import text_coherence
from worlds.collections_on_disk import make_texts, plain_counts, write_jsonl

pytestmark = pytest.mark.filterwarnings("ignore:Skipped")
SENTENCES = ["Cats and dogs.", "Dogs, bones", "", "42!", "cats AND bones and dogs"]


def npmi_in_windows(first, second, texts, width):
    """Bouma (2009) by brute force over every window, smoothed as gensim does."""
    windows = [
        set(text[start : start + width])
        for text in texts
        for start in range(max(1, len(text) - width + 1))
    ]
    shares = [
        np.mean([words <= window for window in windows])
        for words in ({first}, {second}, {first, second})
    ]
    joint = shares[2] + 1e-12
    return np.log(joint / (shares[0] * shares[1])) / -np.log(joint)


def test_c_npmi_equals_brute_force():
    rng = np.random.default_rng(0)
    letters = list("abcdefghijklmnopqrstuvwxyz")
    texts = [list(rng.permutation(letters)[: rng.integers(2, 27)]) for _ in range(30)]

    _, found = text_coherence([["a", "b", "c"], ["d", "e", "a"]], texts)

    for words, score in zip(("abc", "dea"), found, strict=True):
        pairs = [(i, j) for place, i in enumerate(words) for j in words[:place]]
        expected = np.mean([npmi_in_windows(i, j, texts, 10) for i, j in pairs])
        assert score == pytest.approx(expected, abs=1e-9)


def test_both_are_what_a_gensim_user_gets():
    rng = np.random.default_rng(1)
    texts = [list(rng.choice(list("abcdefgh"), rng.integers(1, 200))) for _ in range(20)]
    topics = [list("abcd"), list("hgfe")]

    found = text_coherence(topics, texts)

    for measure, scores in zip(("c_v", "c_npmi"), found, strict=True):
        model = CoherenceModel(
            topics=topics, texts=texts, dictionary=Dictionary(texts), coherence=measure, processes=1
        )
        np.testing.assert_allclose(scores, model.get_coherence_per_topic())


def test_a_word_that_does_not_occur_leaves_its_topic_undefined():
    texts = [["a", "b"], ["b", "c"], ["a", "c"], ["b"]]

    found = text_coherence([["a", "b"], ["a", "unseen"], ["unheard", "unseen"]], texts)

    for scores in found:
        assert np.isnan(scores).tolist() == [False, True, True]


def test_texts_are_cut_as_those_of_the_corpus_were(tmp_path):
    corpus = Corpus.from_texts(SENTENCES, token_pattern=r"[a-z]{3,}")
    source = write_jsonl(tmp_path / "texts.jsonl.gz", [*SENTENCES, "unheard cats"])

    texts = TokenizedTexts.find([source], corpus.vocabulary, IngestOptions())

    lines = ("cats and dogs", "dogs bones", "cats and bones and dogs", "cats")
    expected = [line.split() for line in lines]
    assert list(texts) == expected
    assert list(texts) == expected  # read anew


def test_upper_case_is_kept_where_the_corpus_kept_it(tmp_path):
    corpus = Corpus.from_texts(SENTENCES, token_pattern=r"[A-Za-z]{3,}", lowercase=False)
    source = write_jsonl(tmp_path / "texts.jsonl", SENTENCES)

    texts = TokenizedTexts.find([source], corpus.vocabulary, IngestOptions())

    assert list(texts)[-1] == ["cats", "AND", "bones", "and", "dogs"]


def test_words_are_those_that_a_corpus_counts(tmp_path):
    sources = make_texts(40, seed=2)
    corpus = Corpus.from_texts(sources)

    read = list(
        TokenizedTexts.find(
            [write_jsonl(tmp_path / "texts.jsonl", sources)], corpus.vocabulary, IngestOptions()
        )
    )

    known = set(corpus.vocabulary.words)
    counts = [{w: c for w, c in each.items() if w in known} for each in plain_counts(sources)]
    assert [{w: text.count(w) for w in text} for text in read] == [each for each in counts if each]


def test_counts_are_no_text(tmp_path):
    (tmp_path / "docword.x.txt").write_text("1\n1\n1\n1 1 1\n")
    vocabulary = Corpus.from_texts(SENTENCES).vocabulary

    with pytest.raises(SourceError, match=r"expected running text, .* found word counts"):
        TokenizedTexts.find([tmp_path / "docword.x.txt"], vocabulary, IngestOptions())


def test_another_field_holds_the_text(tmp_path):
    (tmp_path / "x.jsonl").write_text(json.dumps({"body": "cats dogs"}) + "\n")
    vocabulary = Corpus.from_texts(SENTENCES).vocabulary

    texts = TokenizedTexts.find(
        [tmp_path / "x.jsonl"], vocabulary, IngestOptions(read=ReadOptions(text_field="body"))
    )

    assert list(texts) == [["cats", "dogs"]]


def test_phrases_are_joined_as_the_corpus_joined_them(tmp_path):
    joined = TokenizerOptions(r"[a-z]{3,}", phrases=(("cats", "and"),))
    words = Vocabulary(("cats_and", "dogs", "and"), np.ones(3, int), np.ones(3, int))
    corpus = Corpus.from_texts(SENTENCES, vocabulary=replace(words, tokenizer=joined.settings()))
    source = write_jsonl(tmp_path / "texts.jsonl", ["cats and dogs", "dogs and cats"])

    texts = TokenizedTexts.find([source], corpus.vocabulary, IngestOptions())

    assert list(texts) == [["cats_and", "dogs"], ["dogs", "and"]]  # cats alone are no word there


def test_ngrams_are_no_words_one_after_the_other(tmp_path):
    corpus = Corpus.from_texts(SENTENCES, token_pattern=r"[a-z]{3,}", ngrams=2)
    source = write_jsonl(tmp_path / "texts.jsonl", SENTENCES)

    with pytest.raises(VocabularyError, match=r"expected tokens or phrases .* found n-grams"):
        TokenizedTexts.find([source], corpus.vocabulary, IngestOptions())
