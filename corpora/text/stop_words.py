"""Words to leave out: our own list of English function words, or a file."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from sparsetopics.corpora.sources.byte_stream import read_utf8


def english_stop_words() -> frozenset[str]:
    """Articles, pronouns, prepositions, auxiliaries and the like, and the stems of contractions."""
    text = files("sparsetopics.corpora.text").joinpath("english.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


def read_stop_words(path: Path) -> frozenset[str]:
    """Words of a file, separated by white space; SourceError if it cannot be read."""
    return frozenset(read_utf8(path, "strict").split())
