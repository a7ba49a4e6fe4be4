"""Numba kernels of ingest: arrays in, arrays out.

They call each other, so they share a file: a cached kernel does not notice changes in another.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsetopics.base.kernel_cache import choose_cache_folder, numba

choose_cache_folder(__file__)

Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]
Weights = NDArray[np.int8]
Offsets = NDArray[np.int32]
Ids = NDArray[np.int32]
Keys = NDArray[np.uint64]
Counts = NDArray[np.int64]
Known = tuple[Bytes, Offsets, Keys, Ids]  # strings, their keys and a hash table of their numbers

UNCUT = -2  # weight of a letter whose script does not divide words; it counts 2 where it is lost
FIRST_TABLE_SIZE = 1 << 15
_LONGEST_PACKED = 7  # bytes of a token that its key holds, after a one that marks the length
_KEY_START, _BITS_OF_BYTE = np.uint64(1), np.uint64(8)
_IS_HASH = np.uint64(1 << 63)  # set in the keys of longer tokens
_FNV_PRIME = np.uint64(0x100000001B3)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # of multiplicative hashing (Knuth, TAOCP 3, 6.4)
_HALF = np.uint64(32)
AS_IT_IS = np.arange(256, dtype=np.uint8)
IN_LOWER_CASE = AS_IT_IS + np.uint8(32) * ((AS_IT_IS >= 65) & (AS_IT_IS <= 90))
FOLDS = AS_IT_IS, IN_LOWER_CASE  # without lower case, and with it


@numba.njit(cache=True, nogil=True, inline="always")
def _longer_key(key: np.uint64, length: int, byte: np.uint8) -> np.uint64:
    """The key of a token of ``length`` bytes with one more: its bytes, or an FNV hash of many."""
    if length < _LONGEST_PACKED:
        return (key << _BITS_OF_BYTE) | np.uint64(byte)
    return ((key ^ np.uint64(byte)) * _FNV_PRIME) | _IS_HASH


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
def find_unusual(
    text: Bytes,  # valid UTF-8, documents end to end
    offsets: Offsets,  # (n_docs + 1,) byte positions
    unusual: Flags,  # (0x110000,)
) -> Flags:
    """Which documents have an ``unusual`` character, or a letter, a hyphen and the end of a line,
    (n_docs,)."""
    found = np.zeros(len(offsets) - 1, np.bool_)
    for d in range(len(found)):
        document = text[offsets[d] : offsets[d + 1]]
        together = broken = np.uint8(0)
        for byte in document:  # this loop and the next do not branch, so many bytes go at once
            together |= byte
        before, hyphen, end, after = document[:-3], document[1:-2], document[2:-1], document[3:]
        for i in range(np.uint64(len(after))):
            follows = (before[i] >= np.uint8(0x41)) & (hyphen[i] == np.uint8(0x2D))
            ends_line = (end[i] == np.uint8(0x0A)) | (end[i] == np.uint8(0x0D))
            goes_on = (after[i] >= np.uint8(0x41)) | (after[i] <= np.uint8(0x20))
            broken |= np.uint8(follows & ends_line & goes_on)
        found[d] = broken > 0
        if together >= 0x80:
            for position in range(offsets[d], offsets[d + 1]):
                if text[position] >= 0xC0 and unusual[_code_point(text, position)]:
                    found[d] = True
                    break
    return found


@numba.njit(cache=True, nogil=True, error_model="numpy")
def find_tokens(
    text: Bytes,  # valid UTF-8, documents end to end
    offsets: Offsets,  # (n_docs + 1,) byte positions
    weights: Weights,  # (0x110000,) of each code point in a token
    least: int,
    fold: Bytes,  # (256,) what each byte counts as in keys: itself, or a small letter of ASCII
) -> tuple[Ids, Ids, Keys, Counts, Counts]:
    """Longest runs of characters that begin with a weight above 0, go on with none below 0, and
    weigh ``least`` or more.

    Returns ``(starts, lengths, keys, indptr, letters)``: byte position, byte length and key of
    each token, the tokens of each document as rows, and the weight of all characters in tokens, of
    all others, and of those among these that are ``UNCUT``, (3,). Tokens of up to seven bytes are
    equal if their keys are.
    """
    n_docs = len(offsets) - 1
    # A token ends in a gap or a document end, and no character weighs more than its bytes.
    most = len(text) // (least + 1) + n_docs + 1
    starts = np.empty(most, np.int32)
    lengths = np.empty(most, np.int32)
    keys = np.empty(most, np.uint64)
    indptr = np.zeros(n_docs + 1, np.int64)
    n_tokens = 0
    n_read = n_kept = n_uncut = 0  # letters
    for d in range(n_docs):
        weight = 0
        length = 0
        excess = 0  # of the length of a run over its weight; ASCII letters have none
        key = _KEY_START
        for position in range(offsets[d], offsets[d + 1] + 1):
            byte = text[position] if position < offsets[d + 1] else np.uint8(0)
            if position == offsets[d + 1]:  # which ends a run, too
                weight = -1
            elif byte < 0x80:
                weight = int(weights[byte])
            elif byte >= 0xC0:  # otherwise a later byte of the same character
                weight = int(weights[_code_point(text, position)])
                if weight == UNCUT:
                    n_uncut += 2
                elif weight == 0 and length == 0:
                    weight = -1
                elif weight >= 0:
                    excess += (2 if byte < 0xE0 else (3 if byte < 0xF0 else 4)) - weight
            if weight >= 0:
                key = _longer_key(key, length, fold[byte])
                length += 1
            elif length > 0:
                n_read += length - excess
                if length - excess >= least:
                    starts[n_tokens] = position - length
                    lengths[n_tokens] = length
                    keys[n_tokens] = key
                    n_tokens += 1
                    n_kept += length - excess
                length = 0
                excess = 0
                key = _KEY_START
        indptr[d + 1] = n_tokens
    letters = np.array([n_kept, n_read - n_kept + n_uncut, n_uncut], np.int64)
    return starts[:n_tokens], lengths[:n_tokens], keys[:n_tokens], indptr, letters


@numba.njit(cache=True, nogil=True, error_model="numpy")
def weigh_texts(
    text: Bytes,  # valid UTF-8, texts end to end
    offsets: Offsets,  # (n_texts + 1,) byte positions
    weights: Weights,  # (0x110000,)
) -> Counts:
    """The weight of the letters of each text, (n_texts,)."""
    totals = np.zeros(len(offsets) - 1, np.int64)
    for n in range(len(totals)):
        for position in range(offsets[n], offsets[n + 1]):
            byte = text[position]
            if byte < 0x80:
                totals[n] += max(weights[byte], 0)
            elif byte >= 0xC0:
                totals[n] += max(weights[_code_point(text, position)], 0)
    return totals


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _same_bytes(
    text: Bytes, one: int, other_text: Bytes, other: int, length: int, fold: Bytes
) -> bool:
    for i in range(length):  # noqa: SIM110  all() over a generator does not compile
        if fold[text[one + i]] != fold[other_text[other + i]]:
            return False
    return True


@numba.njit(cache=True, nogil=True, inline="always")
def _slot(key: np.uint64, mask: np.uint64) -> np.uint64:
    return ((key * _SPREAD) >> _HALF) & mask


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _grown_table(table: Ids, word_keys: Keys) -> Ids:
    """A table of four times the size that holds the same words."""
    larger = np.full(4 * len(table), -1, np.int32)
    mask = np.uint64(len(larger) - 1)
    for word in range(len(word_keys)):
        slot = _slot(word_keys[word], mask)
        while larger[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        larger[slot] = word
    return larger


@numba.njit(cache=True, nogil=True, error_model="numpy")
def number_words(
    text: Bytes,
    starts: Ids,  # (n_tokens,)
    lengths: Ids,  # (n_tokens,)
    keys: Keys,  # (n_tokens,)
    fold: Bytes,  # (256,) as in the keys
) -> tuple[Ids, Ids]:
    """Number the distinct tokens in order of appearance, with a hash table of open addressing.

    Returns ``(word_of, firsts)``: the word of each token, the first token of each word.
    """
    table = np.full(FIRST_TABLE_SIZE, -1, np.int32)
    mask = np.uint64(len(table) - 1)
    word_of = np.empty(len(starts), np.int32)
    firsts = np.empty(len(starts), np.int32)
    word_keys = np.empty(len(starts), np.uint64)  # side by side: fewer places in memory to look at
    n_words = 0
    for token in range(len(starts)):
        key = keys[token]
        slot = _slot(key, mask)
        word = table[slot]
        while word >= 0:
            if word_keys[word] == key:
                first = firsts[word]
                if key < _IS_HASH or (
                    lengths[first] == lengths[token]
                    and _same_bytes(text, starts[first], text, starts[token], lengths[token], fold)
                ):
                    break
            slot = (slot + np.uint64(1)) & mask
            word = table[slot]
        if word < 0:
            word = n_words
            table[slot] = word
            firsts[word] = token
            word_keys[word] = key
            n_words += 1
            if 2 * n_words > len(table):
                table = _grown_table(table, word_keys[:n_words])
                mask = np.uint64(len(table) - 1)
        word_of[token] = word
    return word_of, firsts[:n_words].copy()


@numba.njit(cache=True, nogil=True, error_model="numpy")
def key_strings(text: Bytes, offsets: Offsets) -> Keys:
    """The key of each string, (n_strings,), of strings that are end to end in ``text``."""
    keys = np.full(len(offsets) - 1, _KEY_START)
    for n in range(len(keys)):
        for place in range(offsets[n], offsets[n + 1]):
            keys[n] = _longer_key(keys[n], place - offsets[n], text[place])
    return keys


@numba.njit(cache=True, nogil=True, error_model="numpy")
def known_strings(text: Bytes, offsets: Offsets) -> Known:
    """A hash table of distinct strings for ``find_strings``."""
    keys = key_strings(text, offsets)
    size = FIRST_TABLE_SIZE
    while size < 2 * len(keys):
        size *= 4
    return text, offsets, keys, _grown_table(np.empty(size // 4, np.int32), keys)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def find_strings(
    text: Bytes,  # strings to find, end to end
    offsets: Offsets,  # (n_strings + 1,)
    known: Known,
) -> Ids:
    """The number of each string among the known ones, (n_strings,); -1 for others."""
    known_text, known_offsets, known_keys, table = known
    mask = np.uint64(len(table) - 1)
    found = np.full(len(offsets) - 1, -1, np.int32)
    keys = key_strings(text, offsets)
    for n in range(len(found)):
        start, length = offsets[n], offsets[n + 1] - offsets[n]
        slot = _slot(keys[n], mask)
        while table[slot] >= 0:
            other = table[slot]
            first, stop = known_offsets[other], known_offsets[other + 1]
            if known_keys[other] == keys[n] and (
                keys[n] < _IS_HASH
                or (
                    stop - first == length
                    and _same_bytes(text, start, known_text, first, length, AS_IT_IS)
                )
            ):
                found[n] = other
                break
            slot = (slot + np.uint64(1)) & mask
    return found


@numba.njit(cache=True, nogil=True, error_model="numpy")
def find_names(
    text: Bytes,
    offsets: Offsets,  # (n_docs + 1,)
    indptr: Counts,  # (n_docs + 1,) documents as rows of tokens
    starts: Ids,  # (n_tokens,)
    word_of: Ids,  # (n_tokens,)
    are_wanted: Flags,  # (n_words,) words to look at
    kinds: Weights,  # (0x110000,) 2 for capitals, 1 for what may stand before one in a sentence
) -> Flags:
    """Which tokens of these words are written with one capital inside a sentence, (n_tokens,)."""
    found = np.zeros(len(starts), np.bool_)
    for d in range(len(indptr) - 1):
        begin, end = offsets[d], offsets[d + 1]
        for token in range(indptr[d], indptr[d + 1]):
            place = starts[token]
            if are_wanted[word_of[token]] and _kind_at(text, place, end, kinds) == 2:
                width = 1
                while place + width < end and (text[place + width] & 0xC0) == 0x80:
                    width += 1
                before, n_lines = place - 1, 0
                while before > begin and text[before] in (0x20, 0x0D, 0x0A):
                    n_lines += text[before] == 0x0A
                    before -= 1
                if before >= begin and text[before] == 0x2E:  # Mr. and others end no sentence
                    first = before - 1
                    while first > begin and before - first < 4 and 0x61 <= text[first] <= 0x7A:
                        first -= 1
                    first = _start_of_letter(text, first, begin)
                    if _kind_at(text, first, end, kinds) == 2:
                        before = first
                before = _start_of_letter(text, before, begin)
                found[token] = (
                    before >= begin
                    and n_lines < 2
                    and _kind_at(text, before, end, kinds) > 0
                    and _kind_at(text, place + width, end, kinds) != 2
                )
    return found


@numba.njit(cache=True, nogil=True, inline="always")
def _start_of_letter(text: Bytes, place: int, begin: int) -> int:
    while place > begin and (text[place] & 0xC0) == 0x80:
        place -= 1
    return place


@numba.njit(cache=True, nogil=True, inline="always")
def _kind_at(text: Bytes, place: int, end: int, kinds: Weights) -> int:
    if place >= end:
        return 0
    code = np.int64(text[place]) if text[place] < 0x80 else _code_point(text, place)
    return int(kinds[code])


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


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _transposed(
    indptr: Counts, columns: Ids, values: NDArray[np.uint32], n_columns: int
) -> tuple[Counts, Ids, NDArray[np.uint32]]:
    """A sparse matrix with rows and columns exchanged; negative columns are left out."""
    starts = np.zeros(n_columns + 1, np.int64)
    for column in columns:
        if column >= 0:
            starts[column + 1] += 1
    starts = np.cumsum(starts)
    rows = np.empty(starts[-1], np.int32)
    new_values = np.empty(starts[-1], np.uint32)
    ends = starts[:-1].copy()
    for row in range(len(indptr) - 1):
        for place in range(indptr[row], indptr[row + 1]):
            column = columns[place]
            if column >= 0:
                rows[ends[column]] = row
                new_values[ends[column]] = values[place]
                ends[column] += 1
    return starts, rows, new_values


@numba.njit(cache=True, nogil=True, error_model="numpy")
def renumber_words(
    indptr: Counts,  # (n_docs + 1,) documents as rows of pairs
    word_ids: Ids,  # (n_pairs,)
    word_counts: NDArray[np.uint32],  # (n_pairs,)
    new_ids: Ids,  # (n_words,) -1: leave the word out
    n_new: int,
) -> tuple[Counts, Ids, NDArray[np.uint32]]:
    """Give words other numbers, below ``n_new``, and sort each document by them in linear time.

    Returns ``(indptr, word_ids, word_counts)``.
    """
    by_word, documents, counts = _transposed(indptr, new_ids[word_ids], word_counts, n_new)
    return _transposed(by_word, documents, counts, len(indptr) - 1)
