"""Functions of the user's that cut text."""

import sys

import pytest

from sparsetopics.base.errors import OptionError, VocabularyError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.text.tokenizer import TokenizerOptions
from sparsetopics.options.workplace import Workplace
from worlds.collections_on_disk import documents_of, write_jsonl

CODE = """
class Cutter:
    @staticmethod
    def cut(text):
        return (word for word in text.split("+"))

def fails(text):
    raise ValueError("no such\\nluck")

def fails_late(text):
    yield "a"
    raise KeyError("late")

def a_string(text):
    return text

def nothing(text):
    return None

def numbers(text):
    return ["a", 1]

def halves(text):
    return ["\\ud800"]

def with_empty_words(text):
    return ["", "word"]

NO_FUNCTION = 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module in the current folder, of a name that no other test uses."""
    name = f"my_words_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text(CODE)
    (tmp_path / f"{name}_broken.py").write_text("def f(:\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    yield name
    sys.modules.pop(name, None)


@pytest.fixture
def source(tmp_path):
    return write_jsonl(tmp_path / "a.jsonl", ["New York+Times", "a+a"])


def ingested(source, out, function, workers=1, **options):
    tokenizer = TokenizerOptions(function=function, lowercase=False)
    where = Workplace(workers=workers)
    ingest([source], out, IngestOptions(tokenizer=tokenizer, where=where, **options))
    return documents_of(Corpus.open(out))


def test_a_function_cuts_the_text(module, source, tmp_path):
    found = ingested(source, tmp_path / "corpus", f"{module}:Cutter.cut", workers=2)

    assert found == {"doc-0": {"New York": 1, "Times": 1}, "doc-1": {"a": 2}}
    vocabulary = Corpus.open(tmp_path / "corpus").vocabulary
    settings = {"lowercase": False, "function": f"{module}:Cutter.cut", "rule": 2}
    assert vocabulary.tokenizer == settings


def test_empty_words_are_left_out(module, source, tmp_path):
    found = ingested(source, tmp_path / "corpus", f"{module}:with_empty_words")

    assert found == {"doc-0": {"word": 1}, "doc-1": {"word": 1}}


def test_a_vocabulary_alone_runs_no_function(module, source, tmp_path):
    function = f"{module}:Cutter.cut"
    tokenizer = TokenizerOptions(function=function, lowercase=False, ngrams=2)
    ingest([source], tmp_path / "train", IngestOptions(tokenizer=tokenizer))

    with pytest.raises(VocabularyError, match=f"Pass --tokenizer {function}"):
        ingest([source], tmp_path / "no", IngestOptions(vocabulary=tmp_path / "train"))
    said = ingested(source, tmp_path / "same", function, vocabulary=tmp_path / "train")
    assert said == documents_of(Corpus.open(tmp_path / "train"))
    assert "a_a" in said["doc-1"]  # n-grams are the vocabulary's


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("no_module_of_this_name:f", r"cannot be imported \(ModuleNotFoundError"),
        ("MODULE:gone", r"cannot be imported \(AttributeError"),
        ("MODULE_broken:f", r"cannot be imported \(SyntaxError"),
        ("MODULE:NO_FUNCTION", "must be a function .* but is of type int"),
        ("MODULE", "expected MODULE:NAME, but found 'my_words"),
        (":f", "expected MODULE:NAME, but found ':f'"),
        ("MODULE:fails", "the function failed to return words: ValueError: no such"),
        ("MODULE:fails_late", "the function failed to return words: KeyError: 'late'"),
        ("MODULE:a_string", "expected a list of words, but found a str"),
        ("MODULE:nothing", "words: TypeError: 'NoneType' object is not iterable"),
        ("MODULE:numbers", "expected words as strings, but found 1"),
        ("MODULE:halves", "half of a surrogate pair"),
    ],
)
def test_what_is_wrong_with_a_function_is_one_line(module, source, tmp_path, name, found):
    with pytest.raises(OptionError, match=found) as caught:
        ingested(source, tmp_path / "corpus", name.replace("MODULE", module))

    assert "\n" not in str(caught.value)
    assert not (tmp_path / "corpus").exists()


def test_a_function_and_a_pattern_are_one_too_many():
    with pytest.raises(OptionError, match="function cannot be combined with a token pattern"):
        TokenizerOptions("[a-z]+", function="a:b")
