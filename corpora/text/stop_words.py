"""Lists of stop words: English, of 58 languages, or from a file."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import chain
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
from sparsetopics.options.option import NO_NAMES, refuse, shown

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


def stop_words_of_lists(choices: Sequence[str]) -> frozenset[str]:
    """The words of lists, each named by ``english``, by the code of a language or by its file; one
    string may name several, divided by commas, and ``none`` is no list.

    Raises OptionError for others, and what ``read_stop_words`` raises.
    """
    # The name of a file may have a comma.
    split = ([each] if os.path.exists(each) else each.split(",") for each in choices)
    names = [name.strip() for name in chain.from_iterable(split)]
    if NO_NAMES in names and len(set(names)) > 1:
        refuse("stop-words", f"{NO_NAMES} cannot be combined with others")
    return frozenset[str]().union(*(_list_of(name) for name in names if name != NO_NAMES))


def _list_of(name: str) -> frozenset[str]:
    if are_languages([name]):
        return stop_words_of(name)
    if not os.path.exists(name):  # which is False, too, for names that no file can have
        hint = "A code is de for German, for example; a file has one word per line."
        expected = "english, none, the code of a language or a file"
        refuse("stop-words", f"must be {expected}, but is {shown(name)}", hint)
    return read_stop_words(Path(name))


def are_languages(words: Sequence[str]) -> bool:
    """Whether all of one or more words are names of languages that have lists."""
    return len(words) > 0 and all(word == ENGLISH or word in language_codes() for word in words)


def stop_words_of_language(language: str) -> frozenset[str]:
    """The stop words of a language by its code; OptionError for one that this release does not
    know. English has the bundled list, and a language may have none.
    """
    if language in language_codes():
        return stop_words_of(ENGLISH if language == "en" else language)
    if language not in SEGMENTED:
        codes = ", ".join(sorted({*language_codes(), *SEGMENTED}))
        problem = f"must be the code of a language, but is {shown(language)}"
        raise OptionError("language", problem, f"Codes: {codes}.")
    return frozenset()


def language_codes() -> frozenset[str]:
    """The languages that have a list, by their codes in ISO 639-1."""
    import stopwordsiso

    return frozenset(stopwordsiso.langs())


def list_named(words: Collection[str]) -> str:
    """What people call a list: ``a list of 620, that of the language de``."""
    own = frozenset(words)
    known = (name for name in (ENGLISH, *sorted(language_codes())) if stop_words_of(name) == own)
    return f"a list of {len(own):,}" + next(
        (f", that of the language {name}" for name in known), ""
    )


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
    """Which words are stop words, in whatever case and normal form either is, (n_words,).

    A word with apostrophes, such as *don't*, is one if all its parts are.
    """
    if not stop_words:
        return np.zeros(len(words), np.bool_)
    known = _all_forms(frozenset(stop_words))
    found = np.array(pc.is_in(pc.utf8_lower(words), value_set=known))
    joined = np.flatnonzero(np.asarray(pc.match_substring_regex(words, "['’]")) & ~found)
    if len(joined):
        parts = pc.split_pattern_regex(words.take(pa.array(joined)), "['’]")
        is_part = np.asarray(pc.is_in(pc.utf8_lower(parts.flatten()), value_set=known))
        found[joined] = np.minimum.reduceat(is_part, parts.offsets.to_numpy()[:-1])
    return found


@lru_cache(maxsize=4)  # once for all blocks
def _all_forms(stop_words: frozenset[str]) -> pa.StringArray:
    given = pa.array(sorted(stop_words), pa.string())
    return pc.utf8_lower(pa.concat_arrays([given, *(in_form(given, form) for form in _FORMS)]))
