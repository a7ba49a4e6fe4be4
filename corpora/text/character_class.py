"""Token patterns that are runs of one character class: recognised, and turned into a table."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

N_CODE_POINTS = 0x110000
_SURROGATES = range(0xD800, 0xE000)  # code points that are no characters

_CLASS = r"\[\^?\]?(?:\\.|[^\]\\])*\]|\\w"
_RUN = re.compile(
    rf"(?:\(\?u\))?(?P<edge>\\b)?(?P<first>{_CLASS})(?P<again>(?:(?P=first))*)"
    r"(?:\+|\{(?P<least>\d+),\})(?P<close>\\b)?"
)


class CharacterRun(NamedTuple):
    """A token is a longest run of ``in_token`` characters, of ``min_characters`` or more."""

    in_token: NDArray[np.bool_]  # (N_CODE_POINTS,)
    min_characters: int


@lru_cache(maxsize=4)
def character_run(pattern: str) -> CharacterRun | None:
    r"""The run that ``pattern`` means, such as ``[a-z]{3,}`` or ``\b\w\w+\b``; None for others.

    The table is filled by ``re`` itself, so the meaning of the class is Python's.
    """
    match = _RUN.fullmatch(pattern)
    if match is None:
        return None
    if (match["edge"] or match["close"]) and match["first"] != r"\w":
        return None  # there \b is a condition of its own
    n_before = len(match["again"]) // len(match["first"])  # classes before the repeated one
    least = 1 if match["least"] is None else int(match["least"])
    return CharacterRun(_members(match["first"]), max(n_before + least, 1))


def _members(character_class: str) -> NDArray[np.bool_]:
    """Which code points the class holds, (N_CODE_POINTS,)."""
    codes = np.delete(np.arange(N_CODE_POINTS), np.arange(_SURROGATES.start, _SURROGATES.stop))
    characters = codes.astype("<u4").tobytes().decode("utf-32-le")
    members = np.zeros(N_CODE_POINTS, np.bool_)
    for run in re.finditer(f"(?:{character_class})+", characters):
        members[codes[run.start() : run.end()]] = True
    return members
