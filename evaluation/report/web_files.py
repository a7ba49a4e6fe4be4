"""The templates, styles and scripts of pages, which are files of this package."""

from __future__ import annotations

from importlib.resources import files


def packaged(name: str) -> str:
    """Return the text of a file in ``web``."""
    return (files("sparsetopics.evaluation.report") / "web" / name).read_text(encoding="utf-8")
