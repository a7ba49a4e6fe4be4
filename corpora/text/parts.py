"""Parts of texts that are no words: web and e-mail addresses, mentions and hashtags."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import regex

# In the order in which they are removed, because one kind may be part of another.
_PATTERNS = {
    "urls": r"\b(?:[A-Za-z][A-Za-z0-9+.-]*://|[Ww][Ww][Ww]\.)[^\s<>\"]+",
    "emails": r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    "mentions": r"(?<![\w@])@\w+",
    "hashtags": r"(?<![\w&])[#＃]\w+",
}


def without_parts(texts: pa.StringArray, names: Sequence[str]) -> pa.StringArray:
    """Texts with a space instead of each part of the kinds that are named."""
    chosen = [pattern for name, pattern in _PATTERNS.items() if name in names]
    part = regex.compile("|".join(chosen))
    return pa.array([part.sub(" ", text) for text in texts.to_pylist()], pa.string())
