"""Settings files in our own folders: checked to be small regular files, then read whole."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

LARGEST_TEXT = 1 << 26  # bytes; the manifest of ten thousand million documents has that many


def read_small(path: Path) -> str:
    """The text of a file; OSError, or ValueError if it is too large, not UTF-8 or a link."""
    check_own(path)
    with path.open("rb") as file:
        data = file.read(min(path.stat().st_size, LARGEST_TEXT) + 1)
    if len(data) > LARGEST_TEXT:
        raise ValueError(f"more than {LARGEST_TEXT:,} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ValueError("bytes that are not UTF-8") from error


def check_own(path: Path) -> None:
    """OSError if there is no such file, ValueError if it is a link, a pipe or a device.

    The folder itself may be a link that the user made. A link inside one of our folders was made by
    somebody else and may point anywhere.
    """
    if not stat.S_ISREG(path.lstat().st_mode):
        raise ValueError("something that is not a regular file")


def parse_json(text: str | bytes) -> Any:
    """What JSON says; ValueError for anything that is none, or is nested too deeply."""
    try:
        parsed = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return parsed
