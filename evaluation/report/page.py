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
from sparsetopics.base.wording import with_marks
from sparsetopics.evaluation.report import figures, page_data, side_by_side
from sparsetopics.evaluation.report.division import scale_end
from sparsetopics.evaluation.report.markdown import render_markdown
from sparsetopics.evaluation.report.report_content import Report, Subject, Trace
from sparsetopics.evaluation.report.report_record import render_json
from sparsetopics.evaluation.report.web_files import packaged, templates
from sparsetopics.measures.paired import Estimate
from sparsetopics.options.registry import MOVE_COUNTS

STYLES = ("page.css", "overview.css", "division.css", "tree.css")
SCRIPTS = ("overview", "division", "tree", "map", "topics")
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


# Models with their cells, one under each head.
Table = Mapping[str, Sequence[str] | Sequence[tuple[Shown, Sequence[str]]]]


def write_page(output: Output, report: Report) -> None:
    """Write ``report``; the ending of the file says how: HTML, JSON or Markdown.

    A browser needs no network to show the page. Equal reports give equal bytes. Raises OutputError.
    """
    text = FACES[output.path.suffix.lower()](report)
    with written(output) as scratch:
        scratch.write_text(text, encoding="utf-8")


def render_page(report: Report) -> str:
    """Return the page as HTML text."""
    subjects, overview = report.subjects, report.overview
    names, similar = side_by_side.short_names(subjects), subjects[0].similarity
    shown = [Shown(n, names[n], own, _accepted_moves(own)) for n, own in enumerate(subjects)]
    return (
        templates()
        .get_template("page.html")
        .render(
            report=report,
            shown=shown,
            overview=overview,
            n_places=0 if overview is None else len(set(overview.colours)),
            scores=_table(shown, side_by_side.score_columns(subjects)),
            score_figures=_score_figures(shown),
            training=_table(shown, [subject.training for subject in subjects]),
            trace_figures=_trace_figures(subjects),
            best=_best(shown),
            contents=_contents(report),
            n_colours=figures.N_COLOURS,
            heat=overview and overview.tree and similar and page_data.heat_map(similar.values),
            style=Markup("".join(map(packaged, STYLES))),
            scripts=[Markup(packaged(f"{name}.js")) for name in SCRIPTS],
            data=_data(report),
            curve=lambda own: Markup(figures.curve_figure(*own)),
            band=figures.band_path,
            scale_end=scale_end,
            exp=math.exp,
            with_marks=with_marks,
        )
    )


def _contents(report: Report) -> list[tuple[str, str]]:
    """Return the sections of the page, in order: the id of each and what the contents call it."""
    overview, division = report.overview, report.division
    has_topics = bool(report.subjects[0].topics)
    scores = {"scores": "How good they are"}
    tree = {"tree": "Tree" if overview and overview.tree else ""}
    sections = {
        "changes": "What has changed" if report.changes else "",
        "path": "Number of topics" if report.topic_path else "",
        **({} if overview else scores),
        **(tree if report.topic_path else {}),
        "themes": overview.noun.capitalize() if overview else "",
        **(scores if overview and report.scored_on else {}),
        "time": f"Over {division.over}" if division and division.over else "",
        "groups": f"By {division.by}" if division and division.by else "",
        **tree,
        "lists": "Lists of words" if report.subjects[0].lists else "",
        "topics": "Topics in detail" if has_topics else "",
        "map": "Map" if any(subject.similarity for subject in report.subjects) else "",
        "components": "" if has_topics else "Components",
        **scores,
        "training": "Training",
    }
    return [(name, title) for name, title in sections.items() if title]


def _data(report: Report) -> dict[str, Markup]:
    """Return what the scripts read, as JSON by the names of its elements."""
    runs = [
        page_data.browser_data(each.words, [topic.relevant for topic in each.topics])
        for each in report.subjects
    ]
    data: dict[str, dict[str, page_data.Json]] = {"report": {"runs": runs}}
    if report.overview is not None and report.overview.tree is not None:
        data["tree"] = page_data.tree_data(report.overview.tree)
    if report.division is not None:
        data["division"] = page_data.division_data(report.division)
    return {name: Markup(page_data.escaped_json(own)) for name, own in data.items()}


def _best(shown: Sequence[Shown]) -> Shown:
    """Return the model with the highest score, or the first without scores."""
    return max(shown, key=lambda each: score.mean if (score := each.subject.score) else -math.inf)


def _table(shown: Sequence[Shown], columns: Sequence[Mapping[str, str]]) -> Table:
    heads, cells = side_by_side.table_of(columns)
    return {"heads": heads, "rows": list(zip(shown, cells, strict=True))}


def _score_figures(shown: Sequence[Shown]) -> list[Markup]:
    """Return a figure of the scores and one of their differences; none without several scores."""
    apart = side_by_side.differences([each.subject for each in shown])
    if not apart:
        return []
    first, names = shown[0].subject, [each.name for each in shown]
    datum = "token" if first.noun == "topics" else "item"
    scores = [score for each in shown if (score := each.subject.score) is not None]
    from_best = [difference or Estimate(0.0, 0.0) for difference in apart]
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
