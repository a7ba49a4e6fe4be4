"""Split text in scripts that put no spaces between words, with the dictionaries of libraries.

Chinese in simplified writing is cut by jieba, all else by ICU: their dictionaries have the words
that readers expect, and they cut 16 to 47 MB a second.
"""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import regex

from sparsetopics.base.errors import SourceError, needing
from sparsetopics.base.wording import listed
from sparsetopics.corpora.text.letters import UNSPACED, are_unspaced, changed_where

SEGMENTED = ("ja", "km", "lo", "my", "th", "zh")  # languages by their codes in ISO 639-1
_OTHER = rf"[[\p{{L}}\p{{M}}]--{UNSPACED}]"
_SCRIPT_CHANGE = regex.compile(
    rf"(?<={UNSPACED})(?={_OTHER})|(?<={_OTHER})(?={UNSPACED})", regex.V1
)
_HAN = regex.compile(r"\p{Han}+")
_SEPARATOR = "\x1f"  # of the information in a line, by ASCII; no word has it
_AT_UNSPACED = regex.compile(rf"(?<={UNSPACED}){_SEPARATOR}|{_SEPARATOR}(?={UNSPACED})", regex.V1)


def check_segmenter(language: str | None) -> None:
    """OptionError if the words of the language of texts cannot be found, because a library is
    missing."""
    if language in SEGMENTED:
        with needing("languages", "language", f"{language} needs {{}}, which is not installed"):
            import icu4py.breakers  # noqa: F401
            import rjieba  # noqa: F401


def with_words_divided(texts: pa.StringArray, language: str) -> pa.StringArray:
    """Texts with spaces between the words of scripts without spaces, whatever the script."""
    return changed_where(texts, are_unspaced(), partial(_divided, language=language))


def _divided(text: str, language: str) -> str:
    import rjieba
    from icu4py.breakers import WordBreaker

    text = _SCRIPT_CHANGE.sub(" ", text.replace(_SEPARATOR, " "))
    is_simplified = language == "zh" and not _is_traditional(text)
    pieces = rjieba.cut(text) if is_simplified else WordBreaker(text, language)
    marked: str = _AT_UNSPACED.sub(" ", _SEPARATOR.join(pieces))
    return marked.replace(_SEPARATOR, "")


def _is_traditional(text: str) -> bool:
    """Whether over a tenth of the Chinese characters are not in GB 2312, the simplified set."""
    characters = "".join(_HAN.findall(text))
    n_simplified = len(characters.encode("gb2312", "ignore")) // 2
    return 10 * n_simplified < 9 * len(characters)


def check_divided(n_letters: int, n_uncut: int) -> None:
    """SourceError if most letters of a collection are of scripts whose words were not divided."""
    if 2 * n_uncut > n_letters:
        problem = "most letters are of a script that writes no spaces between words"
        codes = listed(SEGMENTED, "or")
        hint = f"Pass --language {codes}, or --token-pattern '\\w+' if spaces divide the words."
        raise SourceError("documents", problem, hint)
