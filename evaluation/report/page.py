"""The page about models: one self-contained HTML file, for people who did not train them.

page.html is its template, page.css holds its colours and layout, and page.js is its topic browser.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from sparsetopics.base.outputs import Output, written
from sparsetopics.evaluation.report.figures import (
    N_COLOURS,
    Series,
    moves_figure,
    score_figure,
    trace_figure,
)
from sparsetopics.evaluation.report.subject import DASH, Fact, Subject, Trace
from sparsetopics.evaluation.report.topic_browser import browser_data
from sparsetopics.evaluation.report.topic_map import map_figure
from sparsetopics.options.registry import MOVE_COUNTS

ROW_WORDS = 10  # shown before a topic is opened
FEWEST_MAPPED = 3  # topics; a map of fewer says nothing
TRACES = {
    "elbo_per_token": "ELBO per training {datum}",
    "criterion_per_token": "collapsed criterion per training {datum}",
    "n_topics": "number of {noun}",
    "heldout_log_likelihood_per_token": "held-out log-likelihood per {datum}",
}


class Panel(NamedTuple):
    """Facts under a title."""

    title: str
    facts: Mapping[str, Fact]


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """The content of a page. Corpora are given by name, or "" if there is none."""

    title: str  # of a page about one model
    subjects: Sequence[Subject]
    scored_on: str = ""  # for example "30 held-out documents"
    heldout: str = ""  # corpus of the scores
    coherence_corpus: str = ""  # corpus in which NPMI was counted
    examples_corpus: str = ""
    panels: Sequence[Panel] = ()  # in addition to one for each model


class Shown(NamedTuple):
    """A model with what it has on this page: a number, a short name, a colour and figures."""

    number: int
    name: str
    colour: str
    subject: Subject
    topic_map: Markup | None
    moves: Markup | None


class Family(NamedTuple):
    """Models side by side whose numbers compare."""

    title: str
    noun: str
    heads: Sequence[str]
    rows: Sequence[tuple[Shown, Sequence[str]]]
    score_figure: Markup | None
    trace_figures: Sequence[Markup]


def write_page(output: Output, report: Report) -> None:
    """Write ``report`` as a page. Raises OutputError.

    A browser needs no network to show the page. Equal reports give equal bytes.
    """
    text = render_page(report)
    with written(output) as scratch:
        scratch.write_text(text, encoding="utf-8")


def render_page(report: Report) -> str:
    """Return the page as HTML text."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    names = _short_names([subject.path for subject in report.subjects])
    shown = [_shown(subject, n, names[n]) for n, subject in enumerate(report.subjects)]
    return environment.from_string(_packaged("page.html")).render(
        report=report,
        shown=shown,
        families=_families(shown),
        best=_best(shown),
        row_words=ROW_WORDS,
        style=Markup(_packaged("page.css")),
        script=Markup(_packaged("page.js")),
        data=browser_data(
            [(each.words, [topic.relevant for topic in each.topics]) for each in report.subjects]
        ),
        version=version("sparsetopics"),
        exp=math.exp,
    )


def _packaged(name: str) -> str:
    return (files("sparsetopics.evaluation.report") / name).read_text(encoding="utf-8")


def _short_names(names: Sequence[str]) -> list[str]:
    """Return the file names if they tell the runs apart, otherwise the whole paths."""
    short = [Path(name).name or name for name in names]
    return short if len(set(short)) == len(short) else list(names)


def _shown(subject: Subject, number: int, name: str) -> Shown:
    colour = f"var(--series-{number % N_COLOURS})"
    return Shown(number, name, colour, subject, _map(subject, number), _accepted_moves(subject))


def _map(subject: Subject, number: int) -> Markup | None:
    if subject.topic_map is None or subject.n_topics < FEWEST_MAPPED:
        return None
    weights = [1.0 if each.row.weight is None else each.row.weight for each in subject.topics]
    addresses = [f"#run-{number}-topic-{topic.row.topic}" for topic in subject.topics]
    words = [each.row.words[0][0] if each.row.words else "" for each in subject.topics]
    return Markup(map_figure(subject.topic_map.places, weights, words, addresses, number))


def _best(shown: Sequence[Shown]) -> Shown:
    """Return the model with the highest score in the first family, or its first model."""
    scores = {
        each.number: each.subject.score.score
        for each in shown
        if each.subject.family == shown[0].subject.family and each.subject.score is not None
    }
    return shown[max(scores, key=lambda number: scores[number])] if scores else shown[0]


def _families(shown: Sequence[Shown]) -> list[Family]:
    """Return the families in the order of their first models."""
    names = dict.fromkeys(each.subject.family for each in shown)
    return [_family([each for each in shown if each.subject.family == name]) for name in names]


def _family(members: Sequence[Shown]) -> Family:
    subjects = [each.subject for each in members]
    first = subjects[0]
    titles = list(dict.fromkeys(title for subject in subjects for title in subject.columns))
    heads = ["kind", first.noun, *titles]
    rows = [
        (each, [each.subject.kind, f"{each.subject.n_topics:,}",
                *(each.subject.columns.get(title, DASH) for title in titles)])
        for each in members
    ]  # fmt: skip
    # A model keeps its colour in all figures of the page.
    colours = [each.number for each in members]
    lines = [each.subject.score._replace(name=each.name) for each in members if each.subject.score]
    figure = score_figure(lines, first.datum, colours) if len(lines) == len(members) > 1 else None
    scores = None if figure is None else Markup(figure)
    traces = _trace_figures(subjects, colours)
    return Family(first.family, first.noun, heads, rows, scores, traces)


def _trace_figures(subjects: Sequence[Subject], colours: Sequence[int]) -> list[Markup]:
    """Return a figure for each number that changed over the laps, with a line for each model."""
    figures = []
    for key, label in TRACES.items():
        series = [_series(subject, key) for subject in subjects]
        if len({value for line in series for value in line.values}) > 1:  # not one level line
            title = label.format(datum=subjects[0].datum, noun=subjects[0].noun)
            figures.append(Markup(trace_figure(series, title, colours)))
    return figures


def _series(subject: Subject, key: str) -> Series:
    entries = [entry for entry in subject.trace if entry.get(key) is not None]
    values = [value for entry in entries if (value := entry[key]) is not None]
    return Series(subject.path, _laps(entries), values)


def _laps(entries: Trace) -> list[float]:
    """Return the lap of each entry, or its place if it does not say."""
    return [
        place if (lap := entry.get("lap")) is None else lap
        for place, entry in enumerate(entries, start=1)
    ]


def _accepted_moves(subject: Subject) -> Markup | None:
    """Return a figure of the moves accepted in each lap; None if there were none."""
    counts = {
        kind: [int(entry.get(f"{kind}_accepted") or 0) for entry in subject.trace]
        for kind in MOVE_COUNTS
    }
    made = {kind: own for kind, own in counts.items() if any(own)}
    return Markup(moves_figure(_laps(subject.trace), made)) if made else None
