"""Figures about a run, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from sparsetopics.answers.compared import Effects, compared_shares
from sparsetopics.answers.formula import written
from sparsetopics.answers.prevalence import places_of
from sparsetopics.base.batches import IntArray
from sparsetopics.base.wording import listed, quantity
from sparsetopics.corpora.corpus import AnyCorpus, Corpus
from sparsetopics.corpora.grouping import Grouping, Over
from sparsetopics.evaluation.figures import DEFAULT_WIDTH, KINDS
from sparsetopics.evaluation.figures.paper import PaperFigure, finished, styled
from sparsetopics.evaluation.report.division import Division
from sparsetopics.evaluation.report.overview import plain_overview, shown_themes
from sparsetopics.evaluation.report.report import divided, page_grouping, run_report
from sparsetopics.evaluation.report.report_content import Report
from sparsetopics.execution.executors import Crew
from sparsetopics.options.option import refuse
from sparsetopics.options.registry import imported
from sparsetopics.runs.run import AnyRun
from sparsetopics.runs.topic_path_files import TopicPathFolder


def drawn(report: Report, kind: str, width: float = DEFAULT_WIDTH) -> PaperFigure:
    """Draw a figure of a kind, ``width`` inches wide; OptionError if the run cannot have it."""
    draw: Callable[[Report, float], PaperFigure] = imported(f"{__package__}.kinds:draw_{kind}")
    with styled():
        return finished(draw(report, width))


def figure_report(
    run: AnyRun,
    kind: str,
    corpus: AnyCorpus | None = None,
    corpus_name: str = "",
    topic_path: TopicPathFolder | None = None,
    *,
    by: str | None = None,
    over: str | None = None,
    formula: str | None = None,
    topics: Sequence[int | str] = (),
    others: Sequence[AnyRun] = (),
    workers: int = 1,
) -> Report:
    """Return what a figure of a kind shows of a run, which may belong to a ``topic_path``.

    ``by`` and ``over`` divide the documents of ``corpus``, or with a ``formula`` name the fields at
    whose values shares are shown, with errors over ``others``, if there are any. Shares are those
    of themes, or of some ``topics``, given by their numbers or ids. Raises OptionError for
    components of vectors, for a topic that is not there, and for an option that this kind of figure
    needs or does not take; VocabularyError for a corpus of other words.
    """
    takes = KINDS[kind]
    given = {"by": by, "over": over, "corpus": corpus, "formula": formula, "topic": topics or None}
    for option, value in given.items():
        if value is None and option in takes[:1]:
            refuse(option, f"is needed for {kind}")
        if value is not None and option not in takes:
            refuse(option, f"is not for {kind}")
    if others and formula is None:
        refuse("runs", "needs --formula")
    grouping = page_grouping(by, over, has_corpus=corpus is not None)
    if run.vocabulary is None:
        refuse("run", "has components of vectors, which have no words", "Figures show topics.")
    report = run_report([run], topic_path=topic_path)
    places = places_of(run, topics) if topics else None  # first: it may refuse them
    if corpus is not None and grouping is not None:
        documents = run.reading(corpus, corpus_name)
        themes = run if places is not None else shown_themes(run, topic_path)
        if formula is None:
            found = divided(themes, documents, grouping, workers)
        else:
            found = _adjusted(themes, documents, formula, grouping, others, workers)
        report = replace(report, division=found)
        return report if places is None else _of_topics(report, found, places)
    return report


def _of_topics(report: Report, found: Division, places: IntArray) -> Report:
    """Return the report with some topics in place of its themes, whose colours they have.

    ``found`` is of all topics, and ``places`` are those of some among them.
    """
    (subject,) = report.subjects
    assert subject.overview is not None, "components of vectors were refused"
    every = plain_overview("topics", subject.topics).themes
    overview = replace(subject.overview, themes=[every[place] for place in places])
    mean, low, high = (shares[..., places] for shares in (found.mean, found.low, found.high))
    shown = replace(found, mean=mean, low=low, high=high)
    return replace(report, subjects=[replace(subject, overview=overview)], division=shown)


def _adjusted(
    themes: AnyRun,
    corpus: AnyCorpus,
    formula: str,
    grouping: Grouping,
    others: Sequence[AnyRun],
    workers: int,
) -> Division:
    """Return the shares at the values of one or two fields of a formula.

    Raises what ``compared_shares`` raises, and OptionError if the formula lacks a field, or does
    not multiply the two.
    """
    if grouping.over is not None and grouping.over != Over(grouping.over.column):
        refuse("over", "must be a field of the formula, without a unit")
    assert isinstance(corpus, Corpus), "components of vectors were refused"
    found = compared_shares(themes, corpus, formula=formula, others=others, crew=Crew(workers))
    assert isinstance(found, Effects), "there is a formula"
    fields = list(grouping.columns.values())
    chosen = [n for n, point in enumerate(found.design.points) if set(point) == set(fields)]
    if not chosen:
        use = "name" if len(fields) == 1 else "multiply"
        refuse("formula", f"does not {use} {listed(fields)}")
    points = [found.design.points[number] for number in chosen]
    levels = [list(dict.fromkeys(point[field] for point in points)) for field in fields]
    by = levels[0] if grouping.by is not None else []
    over = sorted(each for each in levels[-1] if grouping.over and not isinstance(each, str))
    if grouping.over is not None and not over:
        refuse("over", f"{fields[-1]} has texts, which have no order")
    shape = 1 + len(by), 1 + len(over), len(found.topics)
    shares = np.full((3, *shape), np.nan)
    values = np.stack([found.estimates.value, *found.estimates.interval(0.0, 1.0)])
    rows, columns = ({value: n for n, value in enumerate(own, 1)} for own in (by, over))
    for number, point in zip(chosen, points, strict=True):
        place = rows.get(point[fields[0]], 0), columns.get(point[fields[-1]], 0)
        shares[:, *place] = values[:, number]
    left_out = f"{quantity(found.n_left_out, 'document')} left out." if found.n_left_out else ""
    groups, periods = ([*map(written, own)] for own in (by, over))
    sizes, (mean, low, high) = np.zeros(shape[:2], np.int64), shares  # sizes are not known
    column = None if grouping.over is None else grouping.over.column
    return Division(grouping.by, column, groups, periods, over, sizes, mean, low, high, left_out)
