"""The scan finds what the modules re and regex find."""

import collections
import re

import numpy as np
import pyarrow as pa
import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reference_words import without_breaks
from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.readers.blocks import TextBlock
from sparsetopics.corpora.text.tokenizer import (
    FIRST_PATTERN,
    FIRST_RULE,
    RULE,
    TokenizerOptions,
    count_texts,
)
from sparsetopics.corpora.text.tokens import character_run
from worlds.collections_on_disk import histograms

RUNS = [
    FIRST_PATTERN,
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


@pytest.mark.parametrize(("rule", "module"), [(FIRST_RULE, re), (RULE, regex)])
@pytest.mark.parametrize("pattern", RUNS + NOT_RUNS)
@settings(max_examples=20)
@given(documents=texts)
@example(documents=["A-\nA"])
def test_tokens_are_those_of_the_module(pattern, rule, module, documents):
    found = histograms(documents, TokenizerOptions(pattern, lowercase=False, rule=rule))

    if rule == RULE:
        documents = [without_breaks(text) for text in documents]
    tokens = [[token for token in module.findall(pattern, text) if token] for text in documents]
    assert found == [dict(collections.Counter(row)) for row in tokens]


@pytest.mark.parametrize("pattern", RUNS)
def test_a_run_of_one_class_is_recognised(pattern):
    assert character_run(pattern, re.compile, lowercase=False) is not None


@pytest.mark.parametrize("pattern", NOT_RUNS)
def test_other_patterns_are_not(pattern):
    assert character_run(pattern, re.compile, lowercase=False) is None


@pytest.mark.parametrize("pattern", [FIRST_PATTERN, r"\w+|-"])
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
