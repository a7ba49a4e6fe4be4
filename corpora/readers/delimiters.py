"""What separates the columns of CSV files."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sparsetopics.base.errors import SourceError
from sparsetopics.corpora.sources.byte_stream import Place
from sparsetopics.corpora.sources.source_files import bare_suffix
from sparsetopics.options.option import refuse, shown

CSV_SUFFIXES = (".csv", ".tsv", ".tab", ".psv")
_TAB = ("tab", r"\t")  # as users may type it
_USUAL = {".tsv": "\t", ".tab": "\t", ".psv": "|"}  # delimiters by extension; others have commas
_DELIMITER = r"[\t -!#-/:-@\[-`{-~]"  # no letter, digit or double quote
# A first line that spreadsheets write and read.
_SAID = re.compile(rf'\ufeff?"?sep=({_DELIMITER})"?(?:\r\n|\r|\n|\Z)', re.IGNORECASE)
# How messages name what may separate columns.
_NAMES = {"\t": ("tabs", "tab"), ";": ("';'", "';'"), "|": ("'|'", "'|'"), ",": ("','", "','")}


def check_delimiter(value: str | None) -> None:
    """OptionError unless this may separate columns."""
    if value is not None and value not in _TAB and not re.fullmatch(_DELIMITER, value):
        expected = "a character such as ';' or '|', or tab"
        refuse("delimiter", f"must be {expected}, but is {shown(value)}")


def delimiter_of(path: Place, start: str, given: str | None) -> tuple[str, int]:
    """What separates the columns of a table that begins with ``start``, and how many characters a
    first line such as ``sep=;`` takes, which is not one of its records."""
    said = _SAID.match(start)
    usual = said[1] if said else _USUAL.get(bare_suffix(path), ",")
    delimiter = "\t" if given in _TAB else given or usual
    return delimiter, said.end() if said else 0


def check_separated(header: Sequence[str], delimiter: str, path: Place) -> None:
    """SourceError for a header of one field that seems to hold several, with another delimiter."""
    for other, (found, typed) in _NAMES.items() if len(header) == 1 else ():
        if other != delimiter and other in header[0]:
            wanted = _NAMES.get(delimiter, (repr(delimiter), ""))[0]
            problem = f"expected columns separated by {wanted}, but found {found}"
            raise SourceError(str(path), problem, f"Use --delimiter {typed}.")
