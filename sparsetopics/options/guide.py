"""Lists of words that a user names, for topics that begin with them."""

from __future__ import annotations

from dataclasses import dataclass

from sparsetopics.base.wording import printable

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
