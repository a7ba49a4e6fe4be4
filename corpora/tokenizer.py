"""From text to word counts, each document once."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparsetopics.batches import IntArray
from sparsetopics.corpora.blocks import CountedBlock, TextBlock
from sparsetopics.corpora.character_class import CharacterRun, character_run
from sparsetopics.corpora.token_kernels import count_words, find_tokens, number_words
from sparsetopics.corpora.vocabulary import Vocabulary
from sparsetopics.errors import OptionError, VocabularyError

DEFAULT_PATTERN = r"[^\W\d_]{3,}"  # three letters or more, of any script


@dataclass(frozen=True, slots=True)
class TokenizerOptions:
    """What counts as a token.

    ``token_pattern`` is a regular expression in the syntax of Python's ``re``; with one group, the
    group is the token. A run of one character class (``[a-z]{2,}``, ``\\w+``) is found by a
    compiled scan, about ten times faster than any other pattern. Lower case is Unicode's simple
    mapping, one character to one.
    """

    token_pattern: str = DEFAULT_PATTERN
    lowercase: bool = True

    def __post_init__(self) -> None:
        try:
            pattern = re.compile(self.token_pattern)
        except re.error as error:
            raise OptionError(
                "token_pattern", found=f"{self.token_pattern!r} ({error})", wanted="a pattern of re"
            ) from error
        if pattern.groups > 1:
            raise OptionError(
                "token_pattern",
                found=f"{pattern.groups} groups in {self.token_pattern!r}",
                wanted="at most one",
                hint="Write (?:...) for a group that is not the token.",
            )


def options_for(vocabulary: Vocabulary | None, chosen: TokenizerOptions | None) -> TokenizerOptions:
    """The settings that were chosen, else those the vocabulary was made with, else the default.

    Raises VocabularyError if the vocabulary was made with settings this release does not know.
    """
    if chosen is not None:
        return chosen
    if vocabulary is None or vocabulary.tokenizer is None:
        return TokenizerOptions()
    try:
        return TokenizerOptions(**vocabulary.tokenizer)
    except TypeError as error:
        raise VocabularyError(
            "vocabulary",
            found=f"tokeniser settings {dict(vocabulary.tokenizer)}",
            wanted="token_pattern and lowercase",
            hint="Say how to tokenise with --token-pattern.",
        ) from error


def count_texts(block: TextBlock, options: TokenizerOptions) -> CountedBlock:
    """Tokenise and count the documents of a block."""
    texts = block.texts.fill_null("")
    if options.lowercase:
        texts = pc.utf8_lower(texts)
    run = character_run(options.token_pattern)
    if run is None:
        words, indptr, word_of = _match_tokens(texts, re.compile(options.token_pattern))
    else:
        words, indptr, word_of = _scan_tokens(texts, run)
    counted = count_words(indptr, word_of, len(words))
    return CountedBlock(block.doc_ids, block.labels, words, *counted)


def _scan_tokens(
    texts: pa.StringArray, run: CharacterRun
) -> tuple[pa.StringArray, IntArray, NDArray[np.int32]]:
    """Distinct words, documents as rows of tokens, and the word of each token."""
    _, offset_buffer, data = texts.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    text = np.frombuffer(data or b"", np.uint8)
    starts, lengths, hashes, indptr = find_tokens(text, offsets, run.in_token, run.min_characters)
    word_of, firsts = number_words(text, starts, lengths, hashes)
    return _strings_at(text, starts[firsts], lengths[firsts]), indptr, word_of


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


def _match_tokens(
    texts: pa.StringArray, pattern: re.Pattern[str]
) -> tuple[pa.StringArray, IntArray, NDArray[np.int32]]:
    """As ``_scan_tokens``, for a pattern that only ``re`` understands."""
    found = [[token for token in pattern.findall(text) if token] for text in texts.to_pylist()]
    indptr = np.cumsum([0, *map(len, found)], dtype=np.int64)
    tokens = pa.array([token for document in found for token in document], pa.string())
    encoded = tokens.dictionary_encode()
    return encoded.dictionary, indptr, np.array(encoded.indices)
