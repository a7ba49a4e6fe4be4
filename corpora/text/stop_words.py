"""Lists of stop words: English, of 58 languages, or from a file."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import regex
from numpy.typing import NDArray

from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.sources.byte_stream import BYTE_ORDER_MARK, read_whole
from sparsetopics.corpora.text.letters import Form, in_form
from sparsetopics.corpora.text.segmenting import SEGMENTED
from sparsetopics.options.option import shown

ENGLISH = "english"
_LETTERS = regex.compile(r"[\p{L}\p{M}\u200C\u200D]+")
_FORMS: tuple[Form, Form] = ("NFC", "NFKC")


def stop_words_of(language: str) -> frozenset[str]:
    """The stop words of ``english`` or of a language by its code in ISO 639-1, such as ``de``.

    The lists by code are those of https://github.com/stopwords-iso. Of ``aujourd'hui``, both parts
    are stop words too, because most token patterns cut it there. Raises OptionError for a language
    without a list.
    """
    if language == ENGLISH:
        text = files("sparsetopics.corpora.text").joinpath("english.txt").read_text("utf-8")
        return frozenset(text.split())
    import stopwordsiso  # reads all lists when it is imported

    if language not in language_codes():
        problem = f"must be english or the code of a language, but is {shown(language)}"
        raise OptionError("stop_words", problem, f"Codes: {', '.join(sorted(language_codes()))}.")
    words = stopwordsiso.stopwords(language)
    parts = {part for word in words if " " not in word for part in _LETTERS.findall(word)}
    return frozenset(words | parts)


def stop_words_of_language(language: str) -> frozenset[str]:
    """The stop words of a language by its code; OptionError for one that this release does not
    know. English has the bundled list, and a language may have none.
    """
    if language == "en":
        return stop_words_of(ENGLISH)
    if language in language_codes():
        return stop_words_of(language)
    if language not in SEGMENTED:
        codes = ", ".join(sorted({*language_codes(), *SEGMENTED}))
        problem = f"must be the code of a language, but is {shown(language)}"
        raise OptionError("language", problem, f"Codes: {codes}.")
    return frozenset()


def language_codes() -> frozenset[str]:
    """The languages that have a list, by their codes in ISO 639-1."""
    import stopwordsiso

    return frozenset(stopwordsiso.langs())


def read_stop_words(path: Path) -> frozenset[str]:
    """The words of a file, separated by white space.

    Raises SourceError if it cannot be read, and OptionError if it is not UTF-8.
    """
    try:
        text = read_whole(path).removeprefix(BYTE_ORDER_MARK).decode()
    except UnicodeDecodeError as error:
        raise OptionError("stop_words", f"{path} is not UTF-8 text") from error
    return frozenset(text.split())


def are_stop_words(words: pa.StringArray, stop_words: Collection[str]) -> NDArray[np.bool_]:
    """Which words are stop words, in whatever case and normal form either is, (n_words,)."""
    if not stop_words:
        return np.zeros(len(words), np.bool_)
    found: NDArray[np.bool_] = np.asarray(
        pc.is_in(pc.utf8_lower(words), value_set=_all_forms(frozenset(stop_words)))
    )
    return found


@lru_cache(maxsize=4)  # once for all blocks
def _all_forms(stop_words: frozenset[str]) -> pa.StringArray:
    given = pa.array(sorted(stop_words), pa.string())
    return pc.utf8_lower(pa.concat_arrays([given, *(in_form(given, form) for form in _FORMS)]))
