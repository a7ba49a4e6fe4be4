r"""What a letter is, and texts as words are read from them.

A word is a run of letters, with the marks and joiners that belong to them. A letter is what a
reader sees as one: marks do not count. One of a script whose letters stand for syllables or whole
words, such as Han or Devanagari, counts as two, because words have fewer of them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import regex
from numpy.typing import NDArray

from sparsetopics.corpora.text.token_kernels import UNCUT, find_unusual

Form = Literal["NFC", "NFKC"]
N_CODE_POINTS = 0x110000
LEAST_WEIGHT = 3  # of a word: three letters, or two that count as two

_UNSPACED = ("Han", "Hiragana", "Katakana", "Bopomofo", "Thai", "Lao", "Khmer", "Myanmar")
_SYLLABIC = (
    *_UNSPACED, "Hangul", "Yi", "Ethiopic", "Cherokee", "Canadian_Aboriginal", "Vai", "Devanagari",
    "Bengali", "Gurmukhi", "Gujarati", "Oriya", "Tamil", "Telugu", "Kannada", "Malayalam",
    "Sinhala", "Tibetan", "Balinese", "Javanese", "Sundanese",
)  # fmt: skip


def _of_scripts(names: tuple[str, ...]) -> str:
    """The letters and marks of scripts, as a class of ``regex``."""
    scripts = "".join(rf"\p{{scx={name}}}" for name in names)
    return rf"[[\p{{L}}\p{{M}}]&&[{scripts}]]"


_JOINERS = r"[\u200C\u200D]"
# Thai vowels that follow their letter and parts of Hangul syllables are letters for Unicode.
_MARKS = rf"[\p{{M}}{_JOINERS}[\p{{L}}&&[\p{{GCB=EX}}\p{{GCB=SM}}\p{{GCB=V}}\p{{GCB=T}}]]]"
UNSPACED = _of_scripts(_UNSPACED)
# Soft hyphens, zero-width spaces, variation selectors and others
_REMOVED = rf"[[\p{{Cf}}\p{{Mn}}]&&\p{{Default_Ignorable_Code_Point}}--{_JOINERS}]"


def _compiled(pattern: str) -> regex.Pattern[str]:
    return regex.compile(pattern, regex.V1)  # sets of sets


_HYPHEN_AT_LINE_END = _compiled(r"[\u2010\u00AD](?=\r?\n)")
_LONGEST_LETTER = 32  # characters, for a letter with its marks
_INSIDE_WORD = _compiled(r"(?<=[\p{L}\p{M}])-[\p{L}--\p{Lu}]|(?<=\p{Lu}\p{M}*)-\p{Lu}")
# Between two letters of these scripts, a space without width divides words.
_DIVIDING_SPACE = _compiled(rf"(?<={UNSPACED})\u200B++(?={UNSPACED})")
_REMOVED_ONES = _compiled(rf"{_REMOVED}+")
_STRAY_JOINERS = _compiled(
    rf"(?<!{_JOINERS}){_JOINERS}++(?:(?![\p{{L}}\p{{M}}])|(?<![\p{{L}}\p{{M}}]{_JOINERS}+))"
)


_CODES = np.r_[:0xD800, 0xE000:N_CODE_POINTS]  # without surrogates, which are no characters
_UTF_32 = "utf-32-le"


def _characters() -> str:
    return bytes(_CODES.astype("<u4")).decode(_UTF_32)


def members(pattern: regex.Pattern[str]) -> NDArray[np.bool_]:
    """Which code points are in runs that ``pattern`` matches, (N_CODE_POINTS,)."""
    found = np.zeros(N_CODE_POINTS, np.bool_)
    for run in pattern.finditer(_characters()):
        found[_CODES[run.start() : run.end()]] = True
    return found


@lru_cache(maxsize=1)
def small_letters() -> NDArray[np.uint32]:
    """The small letter of each code point, or itself, (N_CODE_POINTS,)."""
    found = np.arange(N_CODE_POINTS, dtype=np.uint32)
    lower = pc.utf8_lower(pa.scalar(_characters())).as_py()
    found[_CODES] = np.frombuffer(lower.encode(_UTF_32), np.uint32)
    return found


def _members(character_class: str) -> NDArray[np.bool_]:
    return members(_compiled(f"{character_class}+"))


@lru_cache(maxsize=1)
def are_unspaced() -> NDArray[np.bool_]:
    """Which code points are letters of scripts without spaces, (N_CODE_POINTS,)."""
    return _members(UNSPACED)


@lru_cache(maxsize=2)
def letter_weights(*, are_words_divided: bool) -> NDArray[np.int8]:
    """What each code point counts in a word, (N_CODE_POINTS,).

    Letters count 1 or 2, marks 0, others -1. Unless something divides the words of scripts without
    spaces, their letters are ``UNCUT``, and make no words.
    """
    weights = np.full(N_CODE_POINTS, -1, np.int8)
    weights[_members(r"\p{L}")] = 1
    weights[_members(rf"[\p{{L}}&&{_of_scripts(_SYLLABIC)}]")] = 2
    is_mark = _members(_MARKS)
    weights[is_mark] = 0
    if not are_words_divided:
        is_unspaced = are_unspaced()
        weights[is_unspaced] = np.where(is_mark[is_unspaced], -1, UNCUT)
    return weights


@lru_cache(maxsize=1)
def letter_kinds() -> NDArray[np.int8]:
    """What each code point means for ``find_names``, (N_CODE_POINTS,)."""
    kinds = _members(r"[\p{L}\p{M}\p{N},]").astype(np.int8)
    kinds[_members(r"[\p{Lu}\p{Lt}]")] = 2
    return kinds


@lru_cache(maxsize=2)
def _unusual(form: Form) -> NDArray[np.bool_]:
    """What changes under a normal form, and what ``_in_form`` changes or looks at."""
    changing = rf"\p{{{form}_QC=N}}\p{{{form}_QC=M}}\P{{ccc=0}}"
    return _members(rf"[{changing}{_REMOVED}{_JOINERS}\u2010]")


def bytes_and_offsets(texts: pa.StringArray) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """The bytes of all texts, and where each begins and ends in them, (n_texts + 1,)."""
    _, offsets, data = texts.buffers()
    found = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return np.frombuffer(data or bytearray(), np.uint8), found  # one type, so kernels compile once


def in_form(texts: pa.StringArray, form: Form) -> pa.StringArray:
    """Texts as words are read from them, in the normal form NFC or NFKC.

    What is invisible goes, and a word that a hyphen broke at the end of a line is joined.
    """
    return changed_where(texts, _unusual(form), partial(_in_form, form=form))


def changed_where(
    texts: pa.StringArray, unusual: NDArray[np.bool_], change: Callable[[str], str]
) -> pa.StringArray:
    """Texts with ``change`` applied to those that ``find_unusual`` finds; most stay as they are."""
    data, offsets = bytes_and_offsets(texts)
    numbers = np.flatnonzero(find_unusual(data, offsets, unusual))
    if not len(numbers):
        return texts
    lengths, done = np.diff(offsets).astype(np.int64), offsets[0]
    parts: list[bytes | memoryview] = []
    for number in numbers:  # parts of bytes, because most of a block is copied as it is
        start, stop = offsets[number], offsets[number + 1]
        changed = change(data[start:stop].tobytes().decode()).encode()
        lengths[number] = len(changed)
        parts += [data[done:start].data, changed]
        done = stop
    joined = pa.py_buffer(b"".join([*parts, data[done : offsets[-1]].data]))
    ends = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    return pa.StringArray.from_buffers(len(texts), pa.py_buffer(ends), joined)


def _in_form(text: str, form: Form) -> str:
    if not text.isascii():
        text = _HYPHEN_AT_LINE_END.sub("-", text)
    text = _without_breaks(text)
    if text.isascii():
        return text
    text = _REMOVED_ONES.sub("", _DIVIDING_SPACE.sub(" ", text))
    return unicodedata.normalize(form, _STRAY_JOINERS.sub("", text))


def _without_breaks(text: str) -> str:
    """The text with words joined that a hyphen breaks at the end of a line."""
    if "\r" in text:
        text = text.replace("-\r\n", "-\n")
    done, *rest = text.split("-\n")
    parts = [done]
    for line in rest:
        start, end = line.lstrip(" \t"), parts[-1][-_LONGEST_LETTER:]
        is_joined = _INSIDE_WORD.match(f"{end}-{start[:1]}", len(end))
        parts.append(start if is_joined else f"-\n{line}")
    return "".join(parts)
