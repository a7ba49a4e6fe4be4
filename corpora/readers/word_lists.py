"""The words behind the numbers of a collection of counts: a word a line, or gensim's dictionary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import pyarrow as pa

from sparsetopics.base.errors import SourceError
from sparsetopics.corpora.sources.byte_stream import read_utf8
from sparsetopics.corpora.sources.places import Place

_ENTRY = re.compile(r"([0-9]{1,9})\t([^\t]+)\t[0-9]+")  # of gensim: id, word, document frequency
_GZ = ("", ".gz", ".zst")


def read_words(path: Place) -> pa.StringArray:
    """The words in the order of their numbers.

    A file that begins with a number on a line of its own, and goes on with lines of id, word and
    document frequency, is what gensim's ``Dictionary.save_as_text`` writes; any other has a word
    on each line. Raises SourceError for a word or a number given twice, or one left out.
    """
    lines = read_utf8(path, "strict").rstrip().split("\n")
    if lines[0].strip().isdigit() and len(lines) > 1 and _ENTRY.fullmatch(lines[1].rstrip("\r")):
        return _of_dictionary(lines, path)
    words = [line.strip() for line in lines]
    seen: dict[str, int] = {}
    for line, word in enumerate(words, start=1):
        if not word or word in seen:
            raise SourceError(
                f"{path}, line {line}",
                found=f"{word!r} again, as in line {seen[word]}" if word else "an empty line",
                wanted="a different word on each line",
            )
        seen[word] = line
    return pa.array(words, pa.string())


def _of_dictionary(lines: Sequence[str], path: Place) -> pa.StringArray:
    words: dict[int, str] = {}
    for line, text in enumerate(lines[1:], start=2):
        entry = _ENTRY.fullmatch(text.rstrip("\r"))
        if entry is None or int(entry[1]) in words:
            raise SourceError(
                f"{path}, line {line}",
                found=repr(text)[:60],
                wanted="id, word and document frequency with tabs between them, each id once",
            )
        words[int(entry[1])] = entry[2]
    missing = next((n for n in range(len(words)) if n not in words), None)
    if missing is not None or len(set(words.values())) < len(words):
        found = "a word of two numbers" if missing is None else f"no word of number {missing}"
        raise SourceError(
            str(path),
            found=found,
            wanted="a different word for every number",
            hint="Dictionary.compactify() closes gaps.",
        )
    return pa.array([words[number] for number in range(len(words))], pa.string())


def words_beside(source: Place, names: Iterable[str]) -> Place:
    """The first of the files ``names``, packed or not, that lies beside ``source``.

    Raises SourceError if there is none.
    """
    names = list(dict.fromkeys(names))
    for name in names:
        for packed in _GZ:
            place = source.with_name(name + packed)
            if place.is_file():
                return place
    raise SourceError(
        str(source),
        found=f"no {' or '.join(names)} beside it",
        wanted="the vocabulary, one word a line",
        hint="Name it with --vocabulary-file.",
    )
