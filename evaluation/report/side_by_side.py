"""Models side by side: their names, and their rows in tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sparsetopics.base.wording import decimals
from sparsetopics.evaluation.report.report_content import DASH, Subject, number
from sparsetopics.measures.paired import Estimate, differences_from_best

DIFFERENCE = "difference from best"  # head of a column


def short_names(subjects: Sequence[Subject]) -> list[str]:
    """Return the file names if they tell the runs apart, otherwise the whole paths."""
    paths = [subject.path for subject in subjects]
    short = [Path(path).name or path for path in paths]
    return short if len(set(short)) == len(short) else paths


def differences(subjects: Sequence[Subject]) -> list[Estimate | None]:
    """Return the paired difference of each model from the best; none without several scores."""
    scores = [subject.heldout for subject in subjects if subject.heldout is not None]
    found = differences_from_best(scores)
    return found if len(scores) == len(subjects) and any(found) else []


def score_columns(subjects: Sequence[Subject]) -> list[Mapping[str, str]]:
    """Return the row of each model, by the heads of columns."""
    columns = [
        {"kind": subject.kind, subject.noun: f"{subject.n_topics:,}", **subject.columns}
        for subject in subjects
    ]
    for own, apart in zip(columns, differences(subjects), strict=False):  # there may be none
        own[DIFFERENCE] = "best"
        if apart is not None:
            mean, error = (number(each, decimals(apart.standard_error)) for each in apart)
            own[DIFFERENCE] = f"{mean} ± {error}"
    return list(columns)


def table_of(columns: Sequence[Mapping[str, str]]) -> tuple[list[str], list[list[str]]]:
    """Return the heads that any of the rows has, and the cells of each row."""
    heads = list(dict.fromkeys(head for own in columns for head in own))
    return heads, [[own.get(head, DASH) for head in heads] for own in columns]
