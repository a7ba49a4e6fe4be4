"""Lines of text in exported files, and the vocabulary that stands beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sparsetopics.base.errors import OutputError

VOCABULARY_SUFFIX = ".vocab"  # as gensim names it; one word a line


def write_vocabulary(path: Path, words: Sequence[str]) -> None:
    """Write ``path.vocab``, one word a line; OutputError for a word that would be two lines."""
    check_words(path, words, "\n\r")
    with Path(f"{path}{VOCABULARY_SUFFIX}").open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"{word}\n" for word in words)


def check_words(path: Path, words: Sequence[str], forbidden: str) -> None:
    """OutputError if a word holds a character that a text format keeps for itself."""
    for word in words:
        if any(character in word for character in forbidden):
            raise OutputError(
                path.name,
                found=f"the word {word!r}",
                wanted="words without tabs and line breaks in a text format",
                hint="Parquet takes any.",
            )
