"""The page about models: one self-contained HTML file, for people who did not train them.

``write_page`` also writes the other two faces of a report, as JSON and as Markdown.

page.html is its template, which includes the other .html files: scores.html, training.html, and
those of the parts that only some pages have. page.css holds its colours and layout, topics.js is
its topic browser, and tree.js draws and cuts the tree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from sparsetopics.base.outputs import Output, written
from sparsetopics.base.sealed_files import Json
from sparsetopics.base.wording import with_marks
from sparsetopics.evaluation.report import figures, page_data
from sparsetopics.evaluation.report.division import scale_end
from sparsetopics.evaluation.report.markdown import render_markdown
from sparsetopics.evaluation.report.report_content import Report, Subject, Trace, table_of
from sparsetopics.evaluation.report.report_record import render_json
from sparsetopics.evaluation.report.web_files import packaged, templates
from sparsetopics.measures.paired import Estimate
from sparsetopics.options.registry import MOVE_COUNTS

TRACES = {
    "elbo_per_token": "ELBO per training {datum}",
    "criterion_per_token": "collapsed criterion per training {datum}",
    "n_topics": "number of {noun}",
    "heldout_log_likelihood_per_token": "held-out log-likelihood per {datum}",
}


class Shown(NamedTuple):
    """A model on this page: its number, which chooses its colour, a short name and figures."""

    number: int
    name: str
    subject: Subject
    moves: Markup | None


def write_page(output: Output, report: Report) -> None:
    """Write ``report``; the ending of the file says how: HTML, JSON or Markdown.

    A browser needs no network to show the page. Equal reports give equal bytes. Raises OutputError.
    """
    text = FACES[output.path.suffix.lower()](report)
    with written(output) as scratch:
        scratch.write_text(text, encoding="utf-8")


def render_page(report: Report) -> str:
    """Return the page as HTML text."""
    subjects, names = report.subjects, report.names
    shown = [Shown(n, names[n], own, _accepted_moves(own)) for n, own in enumerate(subjects)]
    page = templates().get_template("page.html")
    return page.render(
        report=report,
        shown=shown,
        score_figures=_score_figures(report),
        training=table_of([subject.training for subject in subjects]),
        trace_figures=_trace_figures(subjects),
        best=_best(shown),
        n_colours=figures.N_COLOURS,
        heat_map=page_data.heat_map,
        packaged=lambda name: Markup(packaged(name)),
        data=_data(report),
        curve=lambda own: Markup(figures.curve_figure(own)),
        band=figures.band_path,
        scale_end=scale_end,
        exp=math.exp,
        with_marks=with_marks,
    )


def _data(report: Report) -> dict[str, Markup]:
    """Return what the scripts read, as JSON by the names of its elements."""
    runs = [
        page_data.browser_data(each.words, [topic.relevant for topic in each.topics])
        for each in report.subjects
    ]
    data: dict[str, dict[str, Json]] = {"report": {"runs": runs}}
    if report.overview is not None and report.overview.tree is not None:
        data["tree"] = page_data.tree_data(report.overview.tree)
    if report.division is not None:
        data["division"] = page_data.division_data(report.division)
    return {name: Markup(page_data.escaped_json(own)) for name, own in data.items()}


def _best(shown: Sequence[Shown]) -> Shown:
    """Return the model with the highest score, or the first without scores."""
    return max(shown, key=lambda each: score.mean if (score := each.subject.score) else -math.inf)


def _score_figures(report: Report) -> list[Markup]:
    """Return a figure of the scores and one of their differences; none without several scores."""
    from_best = [difference or Estimate(0.0, 0.0) for difference in report.differences]
    if not from_best:
        return []
    first, names = report.subjects[0], report.names
    datum = "token" if first.noun == "topics" else "item"
    scores = [score for each in report.subjects if (score := each.score) is not None]
    label, other = f"log-likelihood per held-out {datum}", f"difference from the best, per {datum}"
    return [
        Markup(figures.score_figure(names, scores, label, first.unigram)),
        Markup(figures.score_figure(names, from_best, other)),
    ]


def _trace_figures(subjects: Sequence[Subject]) -> list[Markup]:
    """Return a figure for each number that changed over the laps, with a line for each model."""
    traces = []
    for key, label in TRACES.items():
        series = [_series(subject, key) for subject in subjects]
        if len({value for _, values in series for value in values}) > 1:  # not one level line
            title = label.format(datum=subjects[0].datum, noun=subjects[0].noun)
            traces.append(Markup(figures.trace_figure(series, title)))
    return traces


def _series(subject: Subject, key: str) -> figures.Line:
    entries = [entry for entry in subject.trace if entry.get(key) is not None]
    values = [value for entry in entries if (value := entry[key]) is not None]
    return _laps(entries), values


def _laps(entries: Trace) -> list[float]:
    """Return the lap of each entry, or its place if it does not say."""
    return [entry.get("lap") or place for place, entry in enumerate(entries, start=1)]


def _accepted_moves(subject: Subject) -> Markup | None:
    """Return a figure of the moves accepted in each lap; None if there were none."""
    laps = subject.trace
    counts = {kind: [int(lap.get(f"{kind}_accepted") or 0) for lap in laps] for kind in MOVE_COUNTS}
    made = {kind: own for kind, own in counts.items() if any(own)}
    return Markup(figures.moves_figure(_laps(laps), made)) if made else None


FACES: Mapping[str, Callable[[Report], str]] = {  # by the endings of their files
    ".html": render_page,
    ".htm": render_page,
    ".json": render_json,
    ".md": render_markdown,
}
