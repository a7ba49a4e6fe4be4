"""Which topics of a map have room for a word, a number or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from unicodedata import east_asian_width

from sparsetopics.base.batches import FloatArray

LETTER, WIDE_LETTER, LINE = 0.6, 1.0, 1.15  # sizes in ems
LONGEST_WORD = 14  # letters


class _Label(NamedTuple):
    x: float
    y: float
    half_width: float


def spaced_labels(
    points: FloatArray,  # (n_topics, 2)   where topics lie, in the units of ``size``
    words: Sequence[str],  # (n_topics,)   the best of each
    order: Iterable[int],  # topics, the most important first
    size: float,  # of the letters
) -> dict[int, str]:
    """Texts that do not lie upon each other: a topic's number and word, or its number alone.

    What comes first has its text first; a topic whose number has no room either is left out.
    """
    placed: list[_Label] = []
    texts = {}
    for topic in order:
        x, y = points[topic]
        for text in (f"{topic} {_shortened(words[topic])}", str(topic)):
            label = _Label(x, y, _width(text) * size / 2)
            if all(_are_apart(label, other, LINE * size) for other in placed):
                placed.append(label)
                texts[topic] = text
                break
    return texts


def _are_apart(one: _Label, other: _Label, height: float) -> bool:
    beside = abs(one.x - other.x) >= one.half_width + other.half_width
    return beside or abs(one.y - other.y) >= height


def _width(text: str) -> float:
    """In ems, about: which font the reader has is not known."""
    return sum(WIDE_LETTER if east_asian_width(letter) in "WF" else LETTER for letter in text)


def _shortened(word: str) -> str:
    return word if len(word) <= LONGEST_WORD else f"{word[: LONGEST_WORD - 1]}…"
