"""An output of one or more files that stand side by side, and lines of text in them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sparsetopics.errors import OutputError
from sparsetopics.staging import check_output

VOCABULARY_SUFFIX = ".vocab"  # as gensim names it; one word a line


@contextmanager
def staged_files(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a scratch path; what is written there, and beside it, moves to ``path`` in the end.

    The names of files beside it begin with its own. Raises OutputError if one exists and
    ``overwrite`` is false, or if the disk refuses; nothing is left behind then.
    """
    check_file_output(path, overwrite=overwrite)
    try:
        prefix = f".{path.name}.part-"
        with tempfile.TemporaryDirectory(prefix=prefix, dir=path.parent) as scratch:
            aside = Path(scratch) / path.name
            yield aside
            _move(aside, path, overwrite=overwrite)
    except OSError as error:
        raise OutputError(
            str(path), found=error.strerror or str(error), wanted="room and permission to write"
        ) from error


def check_file_output(path: Path, *, overwrite: bool) -> None:
    """Refuse an output that exists or has no parent folder; a folder is never replaced."""
    if path.is_dir():
        raise OutputError(str(path), found="a folder", wanted="a file name to write to")
    check_output(path, overwrite=overwrite)


def _move(aside: Path, path: Path, *, overwrite: bool) -> None:
    """Move all files of the export beside ``path``, the one that opens the others last."""
    files = sorted(aside.parent.iterdir(), key=lambda file: (file == aside, file.name))
    for file in files:
        check_file_output(path.parent / file.name, overwrite=overwrite)
    for file in files:
        os.replace(file, path.parent / file.name)


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
