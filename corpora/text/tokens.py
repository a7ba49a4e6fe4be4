"""Text cut into tokens, in blocks: by a compiled scan, by ``re``, or by a user's function."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparsetopics.base.batches import IntArray
from sparsetopics.corpora.text.token_kernels import find_tokens, number_words

N_CODE_POINTS = 0x110000

_CLASS = r"\[\^?\]?(?:\\.|[^\]\\])*\]|\\w"
_RUN = re.compile(
    rf"(?:\(\?u\))?(?P<edge>\\b)?(?P<first>{_CLASS})(?P<again>(?:(?P=first))*)"
    r"(?:\+|\{(?P<least>\d+),\})(?P<close>\\b)?"
)


# The characters of tokens, (N_CODE_POINTS,), and the fewest of them that make a token.
CharacterRun = tuple[NDArray[np.bool_], int]


@lru_cache(maxsize=4)
def character_run(pattern: str) -> CharacterRun | None:
    r"""The run that ``pattern`` describes, such as ``[a-z]{3,}`` or ``\b\w\w+\b``; None for others.

    The table is filled by ``re`` itself, so the meaning of the class is Python's.
    """
    match = _RUN.fullmatch(pattern)
    if match is None:
        return None
    if (match["edge"] or match["close"]) and match["first"] != r"\w":
        return None  # for other classes, \b is a further condition
    n_before = len(match["again"]) // len(match["first"])  # classes before the repeated one
    least = 1 if match["least"] is None else int(match["least"])
    return _members(match["first"]), max(n_before + least, 1)


def _members(character_class: str) -> NDArray[np.bool_]:
    """Which code points belong to the class, (N_CODE_POINTS,)."""
    codes = np.r_[:0xD800, 0xE000:N_CODE_POINTS]  # without surrogates, which are no characters
    characters = codes.astype("<u4").tobytes().decode("utf-32-le")
    members = np.zeros(N_CODE_POINTS, np.bool_)
    for run in re.finditer(f"(?:{character_class})+", characters):
        members[codes[run.start() : run.end()]] = True
    return members


class Tokens(NamedTuple):
    """Documents as rows of tokens, in the order of the text."""

    words: pa.StringArray  # (n_block_words,) distinct
    indptr: IntArray  # (n_docs + 1,)
    word_of: NDArray[np.int32]  # (n_tokens,) row of ``words``


def scan_tokens(texts: pa.StringArray, run: CharacterRun) -> Tokens:
    """Cut texts into the longest runs of one character class."""
    _, offset_buffer, data = texts.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    text = np.frombuffer(data or bytearray(), np.uint8)  # writable, so that kernels compile once
    starts, lengths, keys, indptr = find_tokens(text, offsets, *run)
    word_of, firsts = number_words(text, starts, lengths, keys)
    return Tokens(_strings_at(text, starts[firsts], lengths[firsts]), indptr, word_of)


def _strings_at(
    text: NDArray[np.uint8], starts: NDArray[np.int32], lengths: NDArray[np.int32]
) -> pa.StringArray:
    """The strings of ``lengths`` bytes that begin at ``starts``."""
    ends = np.cumsum(lengths)
    offsets = np.concatenate(([0], ends)).astype(np.int32)
    positions = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
    return pa.StringArray.from_buffers(
        len(starts), pa.py_buffer(offsets), pa.py_buffer(text[positions])
    )


def match_tokens(texts: pa.StringArray, pattern: re.Pattern[str]) -> Tokens:
    """Cut texts with a pattern that only ``re`` understands."""
    return tokens_of_lists(
        [[token for token in pattern.findall(text) if token] for text in texts.to_pylist()]
    )


def tokens_of_lists(documents: Sequence[Sequence[str]]) -> Tokens:
    """Tokens from Python strings, (n_docs,) lists of them."""
    indptr = np.cumsum([0, *map(len, documents)], dtype=np.int64)
    tokens = pa.array([token for document in documents for token in document], pa.string())
    encoded = tokens.dictionary_encode()
    return Tokens(encoded.dictionary, indptr, np.array(encoded.indices, np.int32))


def without(tokens: Tokens, stop_words: Sequence[str]) -> Tokens:
    """The tokens without ``stop_words``."""
    if not stop_words:
        return tokens
    is_stop_word = pc.is_in(tokens.words, value_set=pa.array(stop_words, pa.string()))
    kept = ~np.asarray(is_stop_word)[tokens.word_of]
    indptr = np.concatenate(([0], np.cumsum(kept)))[tokens.indptr]
    return Tokens(tokens.words, indptr, tokens.word_of[kept])


def documents_of_tokens(tokens: Tokens) -> NDArray[np.int64]:
    """The document of each token, (n_tokens,)."""
    return np.repeat(np.arange(len(tokens.indptr) - 1), np.diff(tokens.indptr))
