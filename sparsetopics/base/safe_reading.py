"""Read files that may be hostile: only regular files, no larger than expected, sound JSON.

A device or a pipe may never end, and a link in a folder that somebody else made may point anywhere.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import tomllib
from pathlib import Path
from typing import IO, Any

import regex

from sparsetopics.base.errors import OptionError
from sparsetopics.base.wording import reason_of

Toml = str | int | float | bool | list["Toml"] | dict[str, "Toml"]

LARGEST_TOML = 1 << 20  # bytes
_DEEPEST_TOML = 20  # no option and no name is nested at all
LARGEST_TEXT = 1 << 26  # bytes; enough for the manifest of ten thousand million documents

# Strings and comments of TOML as a whole, because brackets and dots mean nothing inside them.
# Before Python 3.11.5, re finds wrong ends where something in a possessive group may backtrack.
_TOML_MARKS = regex.compile(
    r'(?s)"""(?:[^"\\]|\\.|"{1,2}(?!"))*+(?:"{3,5}|\Z)|"(?:[^"\\\n]|\\.)*+"?'
    r"|'''(?:[^']|'{1,2}(?!'))*+(?:'{3,5}|\Z)|'[^'\n]*'?|#[^\n]*|[][{}.,=\n]"
)

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


# --- files that a user names: links are allowed ---------------------------------------------------
def open_regular(path: Path) -> IO[bytes]:
    """Open a file for reading; raises the errors of ``check_regular``."""
    check_regular(path)  # before opening, because opening a pipe waits for a writer
    return path.open("rb")


def is_utf8(path: str) -> bool:
    """Whether the bytes of a path are UTF-8; Arrow and JSON take no others."""
    return os.fsencode(path) == path.encode(errors="replace")


def check_regular(path: Path) -> None:
    """Raise OSError unless ``path`` is a regular file or a link to one."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "no file")
        raise OSError(errno.EINVAL, f"{kind} instead of a regular file", str(path))


def read_toml(path: Path) -> dict[str, Toml]:
    """Return the keys and values of a TOML file.

    Raises OptionError, with the path, for a file that cannot be read, is not TOML, has more than a
    mebibyte, or nests keys, arrays or tables more than 20 deep.
    """
    try:
        with open_regular(path) as file:
            data = file.read(LARGEST_TOML + 1)
        if len(data) > LARGEST_TOML:
            raise OSError(f"it has more than {LARGEST_TOML:,} bytes")
        text = data.decode("utf-8-sig")  # some editors begin files with a BOM
        _check_depth(text)
        return tomllib.loads(text)
    except IsADirectoryError as error:
        raise OptionError(str(path), "is a folder") from error
    except OSError as error:
        raise OptionError(str(path), f"cannot be read: {reason_of(error)}") from error
    except UnicodeDecodeError as error:
        raise OptionError(str(path), "is not UTF-8 text") from error
    except (ValueError, RecursionError) as error:  # bad TOML, brackets without end
        hint = "Strings stand in quotes: key = 'value'."
        if "overwrite" in str(error):
            hint = "A key may occur only once."
        raise OptionError(str(path), f"is not valid TOML ({reason_of(error)})", hint) from error


def _check_depth(text: str) -> None:
    """Raise OSError, with the line, for dotted keys, arrays and tables that are nested deeply:
    tomllib takes memory by the square of the depth."""
    n_open = n_dots = 0
    for found in _TOML_MARKS.finditer(text):
        mark = found[0]
        n_open += (mark in "[{") - (mark in "]}")
        n_dots = (n_dots + (mark == ".")) * (mark[0] in ".\"'")  # a part of a key may be quoted
        if n_open + n_dots > _DEEPEST_TOML:
            line = text.count("\n", 0, found.start()) + 1
            raise OSError(f"line {line} nests keys or brackets more than {_DEEPEST_TOML} deep")


def shown_toml(value: Toml) -> str:
    """Return a value roughly as TOML has it, for messages."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "an array"
    return repr(value)


# --- settings files in folders of ours: links are refused -----------------------------------------
def read_small(path: Path) -> str:
    """Return the text of a small file.

    Raises OSError, or ValueError if the file is too large, not UTF-8 or a link.
    """
    check_own(path)
    with path.open("rb") as file:
        # The file may grow after its size was read, so the limit is checked on what arrived.
        data = file.read(min(path.stat().st_size, LARGEST_TEXT) + 1)
    if len(data) > LARGEST_TEXT:
        raise ValueError(f"the file has more than {LARGEST_TEXT:,} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ValueError("the file is not UTF-8") from error


def check_own(path: Path) -> None:
    """Raise OSError if the file is missing, ValueError if it is a link, a pipe or a device.

    The folder itself may be a link that the user made.
    """
    if not stat.S_ISREG(path.lstat().st_mode):
        raise ValueError("this is not a regular file")


def parse_json(text: str | bytes) -> Any:  # callers decode it to a type
    """Return the value of JSON; raises ValueError if it is damaged or nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
