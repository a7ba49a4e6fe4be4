"""UCI bag of words: counts as they stand, errors with a line number."""

import gzip

import numpy as np
import pytest

from sparsetopics.base.errors import SourceError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.sources import byte_stream
from sparsetopics.corpora.text.pruning import PruningOptions
from worlds.collections_on_disk import documents_of

WORDS = ["owl", "cat", "dog", "never"]
LINES = ["1 1 2", "1 3 1", "3 2 5", "3 1 1", "4 3 1"]  # document 2 is empty


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "vocab.pets.txt").write_text("\n".join(WORDS) + "\n")
    return tmp_path / "in"


def docword(folder, lines=LINES, header=(5, 4, None), name="docword.pets.txt"):
    header = [*header[:2], len(lines) if header[2] is None else header[2]]
    data = "\n".join([*map(str, header), *lines]).encode() + b"\n"
    path = folder / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def ingested(sources, tmp_path, options=None):
    ingest(sources, tmp_path / "corpus", options)
    return Corpus.open(tmp_path / "corpus")


EXPECTED = {"1": {"owl": 2, "dog": 1}, "3": {"cat": 5, "owl": 1}, "4": {"dog": 1}}


@pytest.mark.parametrize("name", ["docword.pets.txt", "docword.pets.txt.gz"])
@pytest.mark.parametrize("block_bytes", [byte_stream.BLOCK_BYTES, 10])
def test_counts_are_kept(folder, tmp_path, name, block_bytes, monkeypatch):
    monkeypatch.setattr(byte_stream, "BLOCK_BYTES", block_bytes)

    corpus = ingested([docword(folder, name=name)], tmp_path)

    assert documents_of(corpus) == EXPECTED
    assert corpus.vocabulary.words == ("cat", "owl", "dog")
    np.testing.assert_array_equal(corpus.vocabulary.document_frequency, [1, 2, 2])
    assert corpus.n_skipped == 2
    assert Corpus.open(tmp_path / "corpus").n_tokens == 10


def test_a_folder_of_several_files_shares_the_vocabulary(folder, tmp_path):
    docword(folder, name="docword.pets.a.txt")
    docword(folder, ["2 4 1"], (2, 4, None), "docword.pets.b.txt.gz")

    corpus = ingested([folder], tmp_path)

    assert documents_of(corpus) == EXPECTED | {"7": {"never": 1}}


def test_limits_apply_where_asked_for(folder, tmp_path):
    options = IngestOptions(pruning=PruningOptions(min_df=2))

    assert ingested([docword(folder)], tmp_path, options).vocabulary.words == ("owl", "dog")


def test_held_out_counts_under_a_training_vocabulary(folder, tmp_path):
    ingest([docword(folder)], tmp_path / "train")
    other = docword(folder, ["1 4 3", "2 2 1"], (2, 4, None), "docword.pets.more.txt")

    corpus = ingested([other], tmp_path, IngestOptions(vocabulary=tmp_path / "train"))

    assert documents_of(corpus) == {"2": {"cat": 1}}
    assert (corpus.n_skipped, corpus.n_unknown_tokens) == (1, 3)


def test_odd_white_space_and_repeated_words(folder, tmp_path):
    path = docword(folder, ["1  1\t2 ", "", "1 1 3"], (1, 4, 2))

    assert documents_of(ingested([path], tmp_path)) == {"1": {"owl": 5}}


TRIPLE = r"expected 3 whole numbers \(document, word, count\)"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("4 1 -2", "expected a count from 1 to 4294967295, but found -2"),
        ("4 1 0", "expected a count from 1 to 4294967295, but found 0"),
        ("4 1 1.5", f"{TRIPLE}, but found '4 1 1.5'"),
        ("4 1", f"{TRIPLE}, but found '4 1'"),
        ("4 one 1", f"{TRIPLE}, but found '4 one 1'"),
        ("4 5 1", "expected a word number from 1 to 4, but found 5"),
        ("4 0 1", "expected a word number from 1 to 4, but found 0"),
        ("6 1 1", "expected a document number from 1 to 5, but found 6"),
        ("2 1 1", "expected document numbers in ascending order, but found 2"),
        ("4 1 5000000000", "expected a count from 1 to 4294967295, but found 5000000000"),
    ],
)
@pytest.mark.parametrize("block_bytes", [byte_stream.BLOCK_BYTES, 10])
def test_a_bad_line_is_named(folder, tmp_path, line, problem, block_bytes, monkeypatch):
    monkeypatch.setattr(byte_stream, "BLOCK_BYTES", block_bytes)
    path = docword(folder, [*LINES, line])

    with pytest.raises(SourceError, match=f"line 9: {problem}"):
        ingest([path], tmp_path / "corpus")
    assert not (tmp_path / "corpus").exists()


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ((5, 3, None), "line 2: expected 4 words, as in .*vocab.pets.txt, but found 3"),
        ((5, 4, 7), "the header promises 7 pairs, but the file has 5"),
        ((5, "x", None), "line 2: expected a number in the header, but found 'x'"),
    ],
)
def test_a_header_that_does_not_fit(folder, tmp_path, header, problem):
    with pytest.raises(SourceError, match=problem):
        ingest([docword(folder, header=header)], tmp_path / "corpus")


def test_an_empty_file(folder, tmp_path):
    (folder / "docword.pets.txt").write_text("")

    with pytest.raises(SourceError, match=r"expected three header lines .* but found 0"):
        ingest([folder / "docword.pets.txt"], tmp_path / "corpus")


def test_a_missing_vocabulary(folder, tmp_path):
    path = docword(folder, name="docword.other.txt")

    with pytest.raises(
        SourceError, match=r"no vocab.other.txt or other.vocab or vocab.txt beside it"
    ):
        ingest([path], tmp_path / "corpus")

    options = IngestOptions(read=ReadOptions(vocabulary_file=folder / "vocab.pets.txt"))
    assert documents_of(ingested([path], tmp_path, options)) == EXPECTED


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("owl\ncat\nowl\ndog\n", "line 3: expected .* but found 'owl' again, as in line 1"),
        ("a\n\nb\nc\n", "line 2"),
    ],
)
def test_a_bad_vocabulary_is_named(folder, tmp_path, words, found):
    (folder / "vocab.pets.txt").write_text(words)

    with pytest.raises(SourceError, match=found):
        ingest([docword(folder)], tmp_path / "corpus")
