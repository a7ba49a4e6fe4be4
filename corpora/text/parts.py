"""Parts of texts that are no words: web and e-mail addresses, mentions and hashtags."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import regex

from sparsetopics.corpora.text.letters import UNSPACED

# Words of scripts without spaces may stand beside a part, and end it.
_LETTER = rf"[\w--{UNSPACED}]"
# In the order in which they are removed, because one kind may be part of another.
_PATTERNS = {
    "urls": rf"(?<!{_LETTER})(?:[A-Za-z][A-Za-z0-9+.-]{{0,20}}://|[Ww][Ww][Ww]\.)"
    rf"[^\s<>\"{UNSPACED}[\p{{P}}--\p{{ASCII}}]]+(?<![.,;:!?)'])",
    "emails": rf"(?<![{_LETTER}.+-])[{_LETTER}.+-]++@[{_LETTER}-]+(?:\.[{_LETTER}-]+)+",
    "mentions": rf"(?<![{_LETTER}@])@\w+",
    "hashtags": rf"(?<![{_LETTER}&])[#＃]\w+",
}


def without_parts(texts: pa.StringArray, names: Sequence[str]) -> pa.StringArray:
    """Texts with a space instead of each part of the kinds that are named."""
    chosen = [pattern for name, pattern in _PATTERNS.items() if name in names]
    part = regex.compile("|".join(chosen), regex.V1)
    return pa.array([part.sub(" ", text) for text in texts.to_pylist()], pa.string())
