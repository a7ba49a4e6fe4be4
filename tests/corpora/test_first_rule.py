"""Corpora of the release before words had their marks are followed as they were written.

``data/first_rule`` has corpora that commit 9e0a217 made, new texts, and what it made of them.
"""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from sparsetopics import Corpus
from sparsetopics.cli.main import main
from sparsetopics.corpora.text.tokenizer import TokenizerOptions

DATA = Path(__file__).parent.parent / "data" / "first_rule"
EXPECTED = json.loads((DATA / "expected.json").read_text())
NEW = [json.loads(line)["text"] for line in (DATA / "new.jsonl").read_text().splitlines()]


def run(*words):
    result = CliRunner().invoke(main, ["ingest", *map(str, words), "--quiet"])
    assert result.exit_code == 0, result.output


def rows(corpus):
    words = corpus.vocabulary.words
    return [
        {words[n]: int(count) for n, count in enumerate(row) if count}
        for row in corpus.to_csr().toarray()
    ]


@pytest.mark.parametrize("name", EXPECTED)
def test_new_texts_have_the_same_words(tmp_path, name):
    run(DATA / "new.jsonl", "--vocabulary", DATA / name, "--out", tmp_path / "new")

    told = Corpus.open(tmp_path / "new")
    texts = Corpus.from_texts(NEW, vocabulary=Corpus.open(DATA / name).vocabulary)

    for corpus in (told, texts):
        assert rows(corpus) == EXPECTED[name]["new"]
        assert corpus.n_unknown_tokens == EXPECTED[name]["n_unknown_tokens"]
        settings = json.loads(json.dumps(corpus.vocabulary.tokenizer))
        assert settings == EXPECTED[name]["settings"]


@pytest.mark.parametrize("name", EXPECTED)
def test_documents_are_added_under_the_same_rule(tmp_path, name):
    shutil.copytree(DATA / name, tmp_path / "corpus")
    before = rows(Corpus.open(tmp_path / "corpus"))

    run(DATA / "new.jsonl", "--append", tmp_path / "corpus")

    assert rows(Corpus.open(tmp_path / "corpus")) == before + EXPECTED[name]["new"]


def test_the_same_pattern_may_be_given_again(tmp_path):
    shutil.copytree(DATA / "pattern", tmp_path / "corpus")

    run(DATA / "new.jsonl", "--append", tmp_path / "corpus", "--token-pattern", r"\w{2,}")

    assert Corpus.open(tmp_path / "corpus").n_docs == 5 + 3


def test_a_rule_of_a_later_release_is_refused():
    assert TokenizerOptions.from_settings({"lowercase": True, "rule": 2}) == TokenizerOptions()
    with pytest.raises(ValueError, match=r"^rule 3$"):
        TokenizerOptions.from_settings({"lowercase": True, "rule": 3})
