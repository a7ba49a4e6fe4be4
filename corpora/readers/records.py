"""Numba kernels that find and copy the fields of CSV records: arrays in, arrays out.

They accept what ``csv.reader`` accepts in strict mode, and leave the rest to it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsetopics.base.kernel_cache import choose_cache_folder, numba

choose_cache_folder(__file__)

Bytes = NDArray[np.uint8]
Spans = NDArray[np.int32]

MOST_LINES = 1_000  # of a record: more, and a quote is likely not to close where it should
_QUOTE, _LINE_FEED, _RETURN = np.uint8(34), np.uint8(10), np.uint8(13)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def find_fields_of_records(
    text: Bytes,  # whole lines
    delimiter: int,
    rows: NDArray[np.int64],  # (n_fields,) for each field of a record its row in ``spans``, or -1
    spans: Spans,  # (n_rows, at least the number of lines, 2) gets start and end inside quotes
) -> tuple[int, int, bool, int]:
    """Fill ``spans`` with the wanted fields of whole records.

    Returns ``(n_records, n_read, is_odd, n_before)``: the number of records and of their bytes;
    whether the next one has another number of fields, text after a closing quote, or too many
    lines; and the number of bytes before the last field that was looked at.
    """
    n_records = n_read = position = n_before = 0
    while position < len(text):
        if text[position] == _LINE_FEED or text[position] == _RETURN:  # a blank line
            position += 1
            n_read = position
            continue
        field, end = 0, np.uint8(delimiter)
        while end == delimiter:
            n_before = position
            is_quoted = text[position] == _QUOTE
            start = position + is_quoted
            position = _end_of_field(text, start, delimiter, is_quoted)
            if position == len(text):  # the record goes on in the lines that follow
                return n_records, n_read, False, n_before
            stop, position = position, position + is_quoted
            end = text[position]
            if field == len(rows) or not _ends_field(end, delimiter):
                return n_records, n_read, True, n_before
            if rows[field] >= 0:
                spans[rows[field], n_records] = start, stop
            field, position = field + 1, position + 1
        # Only long records are looked at again, which costs less than counting in all of them.
        has_many_lines = (
            position - n_read > MOST_LINES and count_line_breaks(text[n_read:position]) > MOST_LINES
        )
        if field < len(rows) or has_many_lines:
            return n_records, n_read, True, n_before
        n_records, n_read = n_records + 1, position
    return n_records, n_read, False, n_before


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _end_of_field(text: Bytes, position: int, delimiter: int, is_quoted: bool) -> int:
    """Where a field ends: at the closing quote, or at the delimiter or line break after it."""
    if is_quoted:
        while position < len(text):
            if text[position] == _QUOTE:
                if text[position + 1] != _QUOTE:
                    break
                position += 1
            position += 1
        return position
    while not _ends_field(text[position], delimiter):
        position += 1
    return position


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _ends_field(byte: np.uint8, delimiter: int) -> bool:
    is_break: bool = byte in (_LINE_FEED, _RETURN)
    return is_break or byte == delimiter


@numba.njit(cache=True, nogil=True, error_model="numpy")
def count_line_breaks(text: Bytes) -> int:
    """The number of line breaks of any kind."""
    n_breaks, previous = 0, np.uint8(0)
    for byte in text:
        n_breaks += (byte == _RETURN) | ((byte == _LINE_FEED) & (previous != _RETURN))
        previous = byte
    return n_breaks


@numba.njit(cache=True, nogil=True, error_model="numpy")
def copy_fields(text: Bytes, spans: Spans) -> tuple[NDArray[np.int32], Bytes]:
    """The fields at ``spans``, (n, 2), one after the other, with single quotes for doubled ones.

    Returns their borders, (n + 1,), and their bytes.
    """
    offsets = np.zeros(len(spans) + 1, np.int32)
    copied = np.empty((spans[:, 1] - spans[:, 0]).sum(), np.uint8)
    n_bytes = 0
    for i in range(len(spans)):
        start, stop = spans[i]
        is_quoted = start > 0 and text[start - 1] == _QUOTE
        is_second = False  # of two quotes
        for position in range(start, stop):
            copied[n_bytes] = text[position]
            is_second = is_quoted and text[position] == _QUOTE and not is_second
            n_bytes += not is_second  # or the next byte takes its place
        offsets[i + 1] = n_bytes
    return offsets, copied[:n_bytes]
