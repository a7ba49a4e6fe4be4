"""Text made fit for a line that people read: from files, from other packages, from numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

LONGEST_REASON = 500  # characters of what another package says
MOST_DECIMALS = 15
EXCERPT = 400  # characters of a document's text
_JOINERS = "\u200c\u200d"  # belong inside words of Persian or Hindi, and inside emoji
_ADDRESS = re.compile(r":? ?<[^<>]* at 0x[0-9a-fA-F]+>")


def printable(text: str) -> str:
    """``text`` with those characters escaped that break a line, reorder it or control a terminal.

    Texts from files, such as words, names and ids, may hold any of them.
    """
    if text.isprintable():
        return text
    return "".join(c if _is_harmless(c) else ascii(c)[1:-1] for c in text)


def _is_harmless(character: str) -> bool:
    import unicodedata

    is_space = unicodedata.category(character) == "Zs"  # for example a no-break space
    return character.isprintable() or is_space or character in _JOINERS


def reason_of(error: BaseException) -> str:
    """What an error of another package says: its first line, without addresses of objects.

    The type of the error stands for it if it says nothing.
    """
    said = str(getattr(error, "strerror", None) or error)
    lines = (_ADDRESS.sub("", line).strip() for line in said.splitlines())
    reason = next(filter(None, lines), type(error).__name__).rstrip(".:")
    return reason if len(reason) <= LONGEST_REASON else f"{reason[:LONGEST_REASON]}…"


def kind_and_reason_of(error: BaseException) -> str:
    """``KeyError: 'a'``, for errors that may be of any type."""
    kind, reason = type(error).__name__, reason_of(error)
    return kind if reason == kind else f"{kind}: {reason}"


def plural(noun: str) -> str:
    """``topics``, ``responsibilities``."""
    return f"{noun.removesuffix('y')}ies" if noun.endswith("y") else f"{noun}s"


def quantity(number: float, noun: str, several: str = "") -> str:
    """``1 topic``, ``2,000 topics``; ``several`` is for nouns with another plural."""
    return f"{number:,} {noun if number == 1 else several or plural(noun)}"


def decimals(error: float, unknown: int = 4) -> int:
    """The decimals of a number that its standard error allows: two significant digits of the error.

    ``unknown`` is for an error that is not known, or zero.
    """
    if not 0.0 < error < math.inf:
        return unknown
    return min(max(1 - int(f"{error:.1e}".rpartition("e")[2]), 0), MOST_DECIMALS)


def listed(names: Sequence[str], last: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and c``; ``last`` may be another word than "and"."""
    *others, end = names
    return f"{', '.join(others)} {last} {end}" if others else end


def without_middle(text: str, length: int) -> str:
    """``text`` with its middle left out if it is longer than ``length`` characters."""
    if len(text) <= length:
        return text
    n_first = (length - 1) // 2
    return f"{text[:n_first]}…{text[len(text) - (length - 1 - n_first) :]}"


# --- beginnings of long texts ---------------------------------------------------------------------
def excerpt(text: str, longest: int = EXCERPT) -> str:
    """The beginning of a text as one printable line, with an ellipsis if there is more of it."""
    line = printable(" ".join(text[: 4 * longest].split()))  # a text may be huge
    is_whole = len(text) <= 4 * longest and len(line) <= longest
    return line if is_whole else f"{line[: longest - 1]}…"


def with_marks(text: str, words: Sequence[str]) -> list[tuple[str, bool]]:
    """``text`` in pieces, each with whether it is one of the ``words`` of a vocabulary.

    Case does not matter. A word of several tokens, such as ``new_york``, is found where other
    characters than letters and digits are between its tokens.
    """
    patterns = [_pattern(word) for word in sorted(words, key=len, reverse=True)]
    joined = "|".join(filter(None, patterns))
    if not joined:
        return [(text, False)]
    pieces = re.split(f"({joined})", text, flags=re.IGNORECASE)
    return [(piece, n % 2 == 1) for n, piece in enumerate(pieces) if piece]


def _pattern(word: str) -> str:
    parts = [re.escape(part) for part in word.split("_") if part]
    found = r"[\W_]+".join(parts)
    # Scripts without upper case are often written without spaces between words.
    return rf"(?<![^\W_]){found}(?![^\W_])" if parts and word.upper() != word.lower() else found
