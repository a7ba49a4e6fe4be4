"""Figures about a run, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sparsetopics.corpora.corpus import AnyCorpus
from sparsetopics.evaluation.figures import DEFAULT_WIDTH, KINDS, WIDTHS
from sparsetopics.evaluation.figures.adjusted import adjusted
from sparsetopics.evaluation.figures.paper import PaperFigure, finished, styled
from sparsetopics.evaluation.report.report import divided, page_grouping, run_report, shown_themes
from sparsetopics.evaluation.report.report_content import Report
from sparsetopics.options.option import refuse
from sparsetopics.options.registry import imported
from sparsetopics.runs.run import AnyRun
from sparsetopics.runs.topic_path_files import TopicPathFolder


def run_figure(
    run: AnyRun,
    kind: str,
    corpus: AnyCorpus | None = None,
    corpus_name: str = "",
    topic_path: TopicPathFolder | None = None,
    *,
    by: str | None = None,
    over: str | None = None,
    formula: str | None = None,
    others: Sequence[AnyRun] = (),
    width: float = DEFAULT_WIDTH,
    workers: int = 1,
) -> PaperFigure:
    """Return a figure of a kind about a run, which may belong to a ``topic_path``.

    ``by`` and ``over`` divide the documents of ``corpus``, or with a ``formula`` name the fields at
    whose values shares are shown, with errors over ``others``, if there are any. ``width`` is in
    inches. Raises OptionError for components of vectors, for a figure that this run cannot have,
    and for an option that this kind of figure needs or does not take; VocabularyError for a corpus
    of other words.
    """
    WIDTHS.check("width", width)
    where, takes = KINDS[kind]
    given = {"by": by, "over": over, "corpus": corpus, "formula": formula}
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
    if corpus is not None and grouping is not None:
        documents = run.reading(corpus, corpus_name)
        if formula is None:
            found = divided(run, documents, grouping, topic_path, workers)
        else:
            themes = shown_themes(run, topic_path)
            found = adjusted(themes, documents, formula, grouping, others, workers=workers)
        report = replace(report, division=found)
    draw: Callable[[Report, float], PaperFigure] = imported(f"{__package__}.{where}")
    with styled():
        return finished(draw(report, width))
