"""Lists of words that a user names, for topics that begin with them: a TOML file or a mapping."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any

from sparsetopics.base.errors import OptionError
from sparsetopics.base.safe_reading import Toml, read_toml
from sparsetopics.base.wording import printable
from sparsetopics.options.option import check_strings, check_type, path_of, refuse, shown

LONGEST_LIST_NAME = 100  # characters


@dataclass(frozen=True, slots=True)
class WordList:
    """A name and the words, phrases and patterns that stand for it."""

    name: str
    words: tuple[str, ...]
    parent: str | None = None  # the name of what this is a part of

    def __post_init__(self) -> None:
        for name in (self.name, *([] if self.parent is None else [self.parent])):
            if not name or printable(name) != name.strip() or len(name) > LONGEST_LIST_NAME:
                most = f"1 to {LONGEST_LIST_NAME} printable characters"
                raise ValueError(f"a name must have {most}, but is {name!r}")
        if not self.words or not all(map(str.strip, self.words)):
            raise ValueError("must have words, none of them empty")


def guide(option: str, found: object) -> tuple[WordList, ...]:
    """Return names with their words; OptionError for all else.

    ``found`` is the path of a TOML file, or a mapping as such a file has it: each name has a list
    of words, or a table with ``words`` and ``parent``.
    """
    if isinstance(found, tuple) and all(isinstance(each, WordList) for each in found):
        return found
    if isinstance(found, str | Path):
        path = path_of(option, found)
        try:
            found = read_toml(path)
        except OptionError as error:
            refuse(option, f"{error.where}: {error.text.removesuffix('.')}")
    if not isinstance(found, Mapping) or not found:
        refuse(option, f"must be a TOML file, or names with their words, but is {shown(found)}")
    check_strings(option, [*found])
    return tuple(_list_of(f"{option}, list {shown(name)}", name, found[name]) for name in found)


def _list_of(where: str, name: str, given: Toml) -> WordList:
    given = given if isinstance(given, Mapping) else {"words": given}
    table: Mapping[str, Any] = given  # Any: checked below
    if strangers := sorted(map(str, table.keys() - {"words", "parent"})):
        hint = "A list has words and, optionally, a parent. Put a name with dots in quotes."
        refuse(where, f"has the unknown entry {shown(strangers[0])}", hint)
    words, parent = table.get("words", ()), table.get("parent")
    check_strings(where, words)
    check_type(where, parent, (str, NoneType), "a name for the parent")
    try:
        words = sorted(words) if isinstance(words, Set) else words
        return WordList(str(name), tuple(dict.fromkeys(map(str, words))), parent and str(parent))
    except ValueError as error:
        refuse(where, str(error))
