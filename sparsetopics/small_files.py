"""Files of settings, which are small: read whole, but not before a look at their size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

LARGEST_TEXT = 1 << 26  # bytes; the manifest of ten thousand million documents has that many


def read_small(path: Path) -> str:
    """The text of a file; OSError, or ValueError for what is too large or no UTF-8."""
    with path.open("rb") as file:
        data = file.read(min(path.stat().st_size, LARGEST_TEXT) + 1)
    if len(data) > LARGEST_TEXT:
        raise ValueError(f"more than {LARGEST_TEXT:,} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ValueError("bytes that are not UTF-8") from error


def parse_json(text: str | bytes) -> Any:
    """What JSON says; ValueError for anything that is none, or is nested too deeply."""
    try:
        parsed = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return parsed
