"""Lists of stop words: English, of 58 languages, or from a file."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.sources.byte_stream import BYTE_ORDER_MARK, read_whole
from sparsetopics.options.option import shown

ENGLISH = "english"
_LETTERS = re.compile(r"[^\W\d_]+")


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
