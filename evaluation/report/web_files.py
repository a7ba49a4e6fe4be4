"""The templates, styles and scripts of pages, which are files of this package."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined

from sparsetopics.base.wording import excerpt
from sparsetopics.evaluation.report.report_content import minus, number

ROW_WORDS = 10  # of a topic in a table


def packaged(name: str) -> str:
    """Return the text of a file in ``web``."""
    return (files("sparsetopics.evaluation.report") / "web" / name).read_text(encoding="utf-8")


@cache  # the code of a template takes as long to make as a page does
def templates(escape: Callable[[str | float], str] | None = None) -> Environment:
    """Return the templates, with the names that those of all forms use.

    ``escape`` makes a value inert; without it, values are escaped as HTML.
    """
    is_html = escape is None
    environment = Environment(
        loader=FunctionLoader(packaged), autoescape=is_html, finalize=escape,
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=not is_html,
    )  # fmt: skip
    names = {"row_words": ROW_WORDS, "version": version("sparsetopics")}
    environment.globals |= {**names, "minus": minus, "number": number, "excerpt": excerpt}
    return environment
