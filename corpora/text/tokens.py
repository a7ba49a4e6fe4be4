"""Text cut into tokens, in blocks: by a compiled scan, by ``re``, or by a user's function."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparsetopics.base.batches import IntArray
from sparsetopics.corpora.text.character_class import CharacterRun
from sparsetopics.corpora.text.token_kernels import find_tokens, number_words


class Tokens(NamedTuple):
    """Documents as rows of tokens, in the order of the text."""

    words: pa.StringArray  # (n_block_words,) distinct
    indptr: IntArray  # (n_docs + 1,)
    word_of: NDArray[np.int32]  # (n_tokens,) row of ``words``


def scan_tokens(texts: pa.StringArray, run: CharacterRun) -> Tokens:
    """The longest runs of one character class."""
    _, offset_buffer, data = texts.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    text = np.frombuffer(data or bytearray(), np.uint8)  # writable as others: one signature
    starts, lengths, hashes, indptr = find_tokens(text, offsets, run.in_token, run.min_characters)
    word_of, firsts = number_words(text, starts, lengths, hashes)
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
    """As ``scan_tokens``, for a pattern that only ``re`` understands."""
    return tokens_of_lists(
        [[token for token in pattern.findall(text) if token] for text in texts.to_pylist()]
    )


def tokens_of_lists(documents: Sequence[Sequence[str]]) -> Tokens:
    """Tokens that came as Python strings."""
    indptr = np.cumsum([0, *map(len, documents)], dtype=np.int64)
    tokens = pa.array([token for document in documents for token in document], pa.string())
    encoded = tokens.dictionary_encode()
    return Tokens(encoded.dictionary, indptr, np.array(encoded.indices, np.int32))


def without(tokens: Tokens, stop_words: Sequence[str]) -> Tokens:
    """The tokens that are not among ``stop_words``."""
    if not stop_words:
        return tokens
    is_stopped = pc.is_in(tokens.words, value_set=pa.array(stop_words, pa.string()))
    return kept(tokens, ~np.asarray(is_stopped)[tokens.word_of])


def kept(tokens: Tokens, mask: NDArray[np.bool_]) -> Tokens:
    """The tokens where ``mask``, (n_tokens,), holds."""
    indptr = np.concatenate(([0], np.cumsum(mask)))[tokens.indptr]
    return Tokens(tokens.words, indptr, tokens.word_of[mask])


def documents_of_tokens(tokens: Tokens) -> NDArray[np.int64]:
    """The document that each token stands in, (n_tokens,)."""
    return np.repeat(np.arange(len(tokens.indptr) - 1), np.diff(tokens.indptr))
