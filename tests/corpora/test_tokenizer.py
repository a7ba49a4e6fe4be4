"""The scan finds what Python's re finds."""

import collections
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.readers.blocks import TextBlock
from sparsetopics.corpora.text.tokenizer import DEFAULT_PATTERN, TokenizerOptions, count_texts
from sparsetopics.corpora.text.tokens import character_run

RUNS = [
    DEFAULT_PATTERN,
    r"[a-z]+",
    r"\w+",
    r"(?u)\b\w\w+\b",
    r"\b\w{3,}",
    r"[^\s]{2,}",
    r"[a-zé\]\-]{2,}",
    r"[^]a]+",
    r"[ab][ab]{0,}",
    r"[ab]{0,}",
]
NOT_RUNS = [r"[a-z]+\d", r"\b[a-z]+\b", r"[a-z]{2,5}", r"#(\w+)", r"[a-z]+|[0-9]+", r"[a-z]*", "a+"]

texts = st.lists(
    st.text(alphabet=st.sampled_from("abAB zé]-_0ßмИ漢字\U0001d400\n\0#5²"), max_size=30),
    max_size=6,
)


def histograms(documents, options):
    """Word counts of each document, after ``count_texts``."""
    strings = pa.array(documents, pa.string())
    nothing = pa.nulls(len(documents), pa.string())
    block = count_texts(TextBlock(nothing, nothing, strings), options)
    words = block.words.to_pylist()
    assert len(set(words)) == len(words)
    rows = []
    for start, stop in zip(block.indptr[:-1], block.indptr[1:], strict=True):
        ids, counts = block.word_ids[start:stop], block.word_counts[start:stop]
        assert len(set(ids.tolist())) == len(ids)
        rows.append({words[n]: int(count) for n, count in zip(ids, counts, strict=True)})
    return rows


@pytest.mark.parametrize("pattern", RUNS + NOT_RUNS)
@settings(max_examples=40)
@given(documents=texts)
def test_tokens_are_those_of_re(pattern, documents):
    found = histograms(documents, TokenizerOptions(pattern, lowercase=False))

    tokens = [[token for token in re.findall(pattern, text) if token] for text in documents]
    assert found == [dict(collections.Counter(row)) for row in tokens]


@pytest.mark.parametrize("pattern", RUNS)
def test_a_run_of_one_class_is_recognised(pattern):
    assert character_run(pattern) is not None


@pytest.mark.parametrize("pattern", NOT_RUNS)
def test_other_patterns_are_not(pattern):
    assert character_run(pattern) is None


@pytest.mark.parametrize("pattern", [DEFAULT_PATTERN, r"\w+|-"])
@given(documents=texts)
def test_lower_case_comes_first(pattern, documents):
    found = histograms(documents, TokenizerOptions(pattern))

    assert found == histograms([text.lower() for text in documents], TokenizerOptions(pattern))


def test_tokens_do_not_cross_documents():
    assert histograms(["abc", "def", "", "abcdef"], TokenizerOptions()) == [
        {"abc": 1},
        {"def": 1},
        {},
        {"abcdef": 1},
    ]


def test_a_large_vocabulary_outgrows_the_first_table():
    words = [f"{n:x}" for n in range(100_000)]
    documents = [" ".join(words), " ".join(words[::-1] + words)]

    first, second = histograms(documents, TokenizerOptions(r"\w+"))

    assert first == dict.fromkeys(words, 1)
    assert second == dict.fromkeys(words, 2)


def test_a_slice_of_an_array_is_read_from_its_own_start():
    strings = pa.array(["zero zero", "one", "two"])[1:]
    nothing = pa.nulls(2, pa.string())

    block = count_texts(TextBlock(nothing, nothing, strings), TokenizerOptions())

    assert block.words.to_pylist() == ["one", "two"]
    np.testing.assert_array_equal(block.indptr, [0, 1, 2])


@pytest.mark.parametrize("pattern", ["[a-z", "(a)(b)"])
def test_a_bad_pattern_is_refused(pattern):
    with pytest.raises(OptionError, match="token_pattern"):
        TokenizerOptions(pattern)
