"""A report as Markdown, for readers on GitHub and in editors; page.md is its template."""

from __future__ import annotations

import math
import re

from markupsafe import Markup

from sparsetopics.base.wording import decimals, printable
from sparsetopics.evaluation.report.report_content import Report, minus
from sparsetopics.evaluation.report.web_files import templates

INTERVAL_ERRORS = 3.92  # standard errors that a 95 % interval is long
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}  # some renderers know no "\<"
_SPECIAL = re.compile(r"[\\`*_{}\[\]()#+\-.!|<>&~$:@=^]")
_NUMBER = re.compile(r"[−+]?[\d,]+(\.\d+)?( ?%)?")


def render_markdown(report: Report) -> str:
    """Return the report as Markdown text, in which no string of the data means anything."""
    named = list(zip(report.names, report.subjects, strict=True))
    page = templates(md).get_template("page.md")
    return page.render(report=report, named=named, change=_change, decimals=decimals)


def md(value: str | float) -> str:
    """Return a value as one line that neither Markdown nor HTML reads; numbers stay as they are."""
    if isinstance(value, Markup):  # of a macro, whose parts are inert
        return value
    text = printable(" ".join(str(value).split()))
    if _NUMBER.fullmatch(text):
        return text
    return _SPECIAL.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), text)


def _change(difference: float, low: float, high: float) -> Markup:
    """Return a difference of shares in percentage points, with its interval if that is known."""
    digits = decimals(100 * (high - low) / INTERVAL_ERRORS, 1)
    point, *ends = (minus(f"{100 * each:+z.{digits}f}") for each in (difference, low, high))
    return Markup(point if math.isnan(low) else f"{point} ({ends[0]} to {ends[1]})")
