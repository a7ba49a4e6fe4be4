"""How training went, as figures."""

from __future__ import annotations

from collections.abc import Sequence

from sparsetopics.evaluation.report.figures import Series, moves_figure, trace_figure
from sparsetopics.evaluation.report.report_subject import Subject

TRACES = {
    "elbo_per_token": "ELBO per training {datum}",
    "criterion_per_token": "collapsed criterion per training {datum}",
    "n_topics": "number of {noun}",
    "heldout_log_likelihood_per_token": "held-out log-likelihood per {datum}",
}
MOVES = ("births", "merges", "deletes", "regroups")


def trace_figures(subjects: Sequence[Subject], colours: Sequence[int]) -> list[str]:
    """A figure for each number that changed over the laps, with a line for each model."""
    figures = []
    for key, label in TRACES.items():
        series = [_series(subject, key) for subject in subjects]
        if len({value for line in series for value in line.values}) > 1:  # not one level line
            first = subjects[0]
            title = label.format(datum=first.datum, noun=first.noun)
            figures.append(trace_figure(series, title, colours))
    return figures


def accepted_moves(subject: Subject) -> str | None:
    """Moves accepted lap by lap; None if none was."""
    laps = [float(entry.get("lap", number)) for number, entry in enumerate(subject.trace, start=1)]
    counts = {
        kind: [int(entry.get(f"{kind}_accepted") or 0) for entry in subject.trace] for kind in MOVES
    }
    made = {kind: own for kind, own in counts.items() if any(own)}
    return moves_figure(laps, made) if made else None


def _series(subject: Subject, key: str) -> Series:
    entries = [entry for entry in subject.trace if entry.get(key) is not None]
    laps = [entry.get("lap", number) for number, entry in enumerate(entries, start=1)]
    return Series(subject.path, laps, [entry[key] for entry in entries])
