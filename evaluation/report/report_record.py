"""A report as JSON: its structure under the names of its fields."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from sparsetopics.answers.representatives import RepresentativeDocument
from sparsetopics.base.wording import excerpt
from sparsetopics.evaluation.report.report_content import Report, Subject

DIGITS = 6  # that matter
# Attributes of dataclasses, structs and named tuples
NAMES_OF_FIELDS = ("__dataclass_fields__", "__struct_fields__", "_fields")
# The vocabulary and words at other values of λ, scores of single documents, and images.
LEFT_OUT = {"Subject.words", "Subject.heldout", "ReportTopic.relevant", "ComponentRow.pictures"}


def render_json(report: Report) -> str:
    """Return the report as one line of JSON."""
    content = {"version": version("sparsetopics"), **record_of(report)}
    return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"


def record_of(value: Any) -> Any:  # any part of a report, and what json.dumps takes
    """Return a value as objects, lists, numbers and texts; None for numbers that are not known."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(f"{value:z.{DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, Path | date):
        return str(value)
    if isinstance(value, np.ndarray | np.generic):
        return record_of(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): record_of(own) for key, own in value.items()}
    if isinstance(value, RepresentativeDocument) and value.text is not None:
        value = value._replace(text=excerpt(value.text))  # as much as pages hold
    names = next((getattr(value, each) for each in NAMES_OF_FIELDS if hasattr(value, each)), None)
    if names is None:
        return [record_of(own) for own in value]
    kept = [name for name in names if f"{type(value).__name__}.{name}" not in LEFT_OUT]
    record = {name: record_of(getattr(value, name)) for name in kept}
    return {**record, "score": record_of(value.score)} if isinstance(value, Subject) else record
