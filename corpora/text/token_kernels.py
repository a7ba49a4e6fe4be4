"""Numba kernels of ingest: arrays in, arrays out.

They call each other, so they share a file: a cached kernel does not notice changes in another.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]
Offsets = NDArray[np.int32]
Ids = NDArray[np.int32]
Hashes = NDArray[np.uint64]
Counts = NDArray[np.int64]

FIRST_TABLE_SIZE = 1 << 15
FNV_START = np.uint64(0xCBF29CE484222325)
FNV_PRIME = np.uint64(0x100000001B3)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _code_point(text: Bytes, position: int) -> np.int64:
    """The character of two to four bytes that starts at ``position``."""
    lead = np.int64(text[position])
    width = 2 if lead < 0xE0 else (3 if lead < 0xF0 else 4)
    code = lead & (0xFF >> (width + 1))
    for i in range(1, width):
        code = (code << 6) | (np.int64(text[position + i]) & 0x3F)
    return code


@numba.njit(cache=True, nogil=True, error_model="numpy")
def find_tokens(
    text: Bytes,  # valid UTF-8, documents end to end
    offsets: Offsets,  # (n_docs + 1,) byte positions
    in_token: Flags,  # (0x110000,) whether a code point belongs to tokens
    min_characters: int,
) -> tuple[Ids, Ids, Hashes, Counts]:
    """Longest runs of ``in_token`` characters that have ``min_characters`` or more.

    Returns ``(starts, lengths, hashes, indptr)``: byte position, byte length and 64-bit FNV-1a
    hash of each token, and the tokens of each document as rows.
    """
    n_docs = len(offsets) - 1
    most = len(text) // (min_characters + 1) + n_docs + 1  # a token ends in a gap or a document end
    starts = np.empty(most, np.int32)
    lengths = np.empty(most, np.int32)
    hashes = np.empty(most, np.uint64)
    indptr = np.zeros(n_docs + 1, np.int64)
    n_tokens = 0
    for d in range(n_docs):
        inside = False
        length = 0
        n_characters = 0
        hashed = FNV_START
        for position in range(offsets[d], offsets[d + 1]):
            byte = text[position]
            if byte < 0x80:
                inside = in_token[byte]
                n_characters += 1
            elif byte >= 0xC0:  # otherwise a later byte of the same character
                inside = in_token[_code_point(text, position)]
                n_characters += 1
            if inside:
                hashed = (hashed ^ np.uint64(byte)) * FNV_PRIME
                length += 1
            else:
                if n_characters > min_characters:  # the character after the run is counted too
                    starts[n_tokens] = position - length
                    lengths[n_tokens] = length
                    hashes[n_tokens] = hashed
                    n_tokens += 1
                length = 0
                n_characters = 0
                hashed = FNV_START
        if length > 0 and n_characters >= min_characters:
            starts[n_tokens] = offsets[d + 1] - length
            lengths[n_tokens] = length
            hashes[n_tokens] = hashed
            n_tokens += 1
        indptr[d + 1] = n_tokens
    return starts[:n_tokens], lengths[:n_tokens], hashes[:n_tokens], indptr


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _same_bytes(text: Bytes, one: int, other: int, length: int) -> bool:
    for i in range(length):  # noqa: SIM110  all() over a generator does not compile
        if text[one + i] != text[other + i]:
            return False
    return True


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _grown_table(table: Ids, hashes: Hashes, firsts: Ids) -> Ids:
    """A table of four times the size that holds the same words."""
    larger = np.full(4 * len(table), -1, np.int32)
    mask = np.uint64(len(larger) - 1)
    for word in range(len(firsts)):
        slot = hashes[firsts[word]] & mask
        while larger[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        larger[slot] = word
    return larger


@numba.njit(cache=True, nogil=True, error_model="numpy")
def number_words(
    text: Bytes,
    starts: Ids,  # (n_tokens,)
    lengths: Ids,  # (n_tokens,)
    hashes: Hashes,  # (n_tokens,)
) -> tuple[Ids, Ids]:
    """Number the distinct tokens in order of appearance, with a hash table of open addressing.

    Returns ``(word_of, firsts)``: the word of each token, the first token of each word.
    """
    table = np.full(FIRST_TABLE_SIZE, -1, np.int32)
    mask = np.uint64(len(table) - 1)
    word_of = np.empty(len(starts), np.int32)
    firsts = np.empty(len(starts), np.int32)
    n_words = 0
    for token in range(len(starts)):
        slot = hashes[token] & mask
        word = table[slot]
        while word >= 0:
            first = firsts[word]
            if (
                hashes[first] == hashes[token]
                and lengths[first] == lengths[token]
                and _same_bytes(text, starts[first], starts[token], lengths[token])
            ):
                break
            slot = (slot + np.uint64(1)) & mask
            word = table[slot]
        if word < 0:
            word = n_words
            table[slot] = word
            firsts[word] = token
            n_words += 1
            if 2 * n_words > len(table):
                table = _grown_table(table, hashes, firsts[:n_words])
                mask = np.uint64(len(table) - 1)
        word_of[token] = word
    return word_of, firsts[:n_words].copy()


@numba.njit(cache=True, nogil=True, error_model="numpy")
def count_words(
    indptr: Counts,  # (n_docs + 1,) documents as rows of tokens
    word_of: Ids,  # (n_tokens,)
    n_words: int,
) -> tuple[Counts, Ids, NDArray[np.uint32]]:
    """Count the words of each document, in order of appearance.

    Returns ``(indptr, word_ids, word_counts)``.
    """
    pair_of = np.full(n_words, -1, np.int32)  # the last pair made for a word
    word_ids = np.empty(len(word_of), np.int32)
    word_counts = np.empty(len(word_of), np.uint32)
    pairs_indptr = np.zeros(len(indptr), np.int64)
    n_pairs = 0
    for d in range(len(indptr) - 1):
        first = n_pairs
        for token in range(indptr[d], indptr[d + 1]):
            word = word_of[token]
            if pair_of[word] >= first:
                word_counts[pair_of[word]] += np.uint32(1)
            else:
                pair_of[word] = n_pairs
                word_ids[n_pairs] = word
                word_counts[n_pairs] = 1
                n_pairs += 1
        pairs_indptr[d + 1] = n_pairs
    return pairs_indptr, word_ids[:n_pairs].copy(), word_counts[:n_pairs].copy()
