"""``sparsetopics plot``."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import click

from sparsetopics.base.wording import quantity
from sparsetopics.cli import shared_options as shared
from sparsetopics.cli.parameter_types import NAMED_PATH, NEW_PATH, NameType
from sparsetopics.cli.printing import say, show
from sparsetopics.evaluation.figures import DEFAULT_WIDTH, FIGURE_EXTENSIONS, KINDS, WIDTHS
from sparsetopics.options.option import check_extension


@click.command()
@click.argument("run", type=NAMED_PATH)
@click.argument("kind", type=NameType(list(KINDS)))
@click.option("--out", type=NEW_PATH, required=True, help="File to write: .pdf, .svg or .png.")
@click.option(
    "--corpus", type=NAMED_PATH, help="(groups and time only) Corpus whose documents are divided."
)
@shared.topics_option("(groups and time only) ", "all topics, or their themes if there are over 24")
@shared.grouping_options
@shared.formula_option(
    "(groups and time only) Show shares by this formula, at the values of the fields of --by and "
    "--over: see `sparsetopics prevalence`."
)
@shared.other_runs_option("(with --formula only) ")
@shared.shown_topics_options
@shared.number_option("--width", WIDTHS, DEFAULT_WIDTH, "Width of the figure in inches.")
@shared.overwrite_option("Replace the figure if it exists.")
@shared.threads_option
@shared.json_option()
def command(
    run: Path,
    kind: str,
    out: Path,
    corpus: Path | None,
    topics: tuple[str, ...],
    by: str | None,
    over: str | None,
    formula: str | None,
    runs: Path | None,
    names: Path | None,
    n_themes: int | None,
    width: float,
    overwrite: bool,
    workers: int,
) -> None:
    """Draw a figure of RUN for a paper: what its page shows, with the same numbers and colours.

    \b
    KIND is one of
        themes   how much of each theme there is, and its words
        tree     which topics become one as their number falls
        groups   the share of each theme by group of documents (--corpus, --by)
        time     the share of each theme over time (--corpus, --over, perhaps --by)
        topics   the most probable words of each topic, or theme if there are many
        numbers  scores by number of topics, of a topic path or an HDP

    The ending of --out says how the figure is written. Files of .pdf have their fonts embedded, and
    the letters of .svg are outlines. The height follows from the content. Intervals are 95 % ones.

    RUN may also be the folder that `sparsetopics path` writes; the figure is then of the run that
    its page shows.

    \b
    Example:
        sparsetopics plot run themes --out themes.pdf
        sparsetopics plot run groups --corpus train --by section --out sections.pdf
        sparsetopics plot run time --corpus train --over date:month --out months.svg
        sparsetopics plot run time --corpus train --over date:year --topic 1 --out 1.svg
        sparsetopics plot run time --corpus train --formula '~ s(date)' --over date --out curves.pdf
        sparsetopics plot path numbers --width 3.3 --out numbers.pdf
    """
    from sparsetopics.base.outputs import output_file, written
    from sparsetopics.evaluation.figures.drawing import drawn, figure_report
    from sparsetopics.evaluation.report.report import shown_runs
    from sparsetopics.runs.run import corpus_at, runs_in

    output = output_file(out, overwrite=overwrite, inputs=[run, corpus, names, runs])
    check_extension("out", out, FIGURE_EXTENSIONS)
    documents = None if corpus is None else corpus_at(corpus)
    (shown,), topic_path = shown_runs([run], names, n_themes)
    report = figure_report(
        shown, kind, documents, str(corpus), topic_path,
        by=by, over=over, formula=formula, topics=topics,
        others=[] if runs is None else runs_in(runs), workers=workers,
    )  # fmt: skip
    image = BytesIO()  # matplotlib hides why a file cannot be written
    drawn(report, kind, width).savefig(image, format=out.suffix[1:].lower())
    joined = list(report.division.pooled) if report.division else []
    if joined:
        points = quantity(len(joined), "point")
        say(f"Joined periods with few documents to {points}, such as {joined[0]}.")
    if corpus is not None and runs is None:
        say(shared.KNOWN_TOPICS + shared.SEE_RUNS * (formula is not None and n_themes is None))
    with written(output) as scratch:
        scratch.write_bytes(image.getvalue())
    show({"path": str(out), "joined_periods": joined}, [f"Wrote {out}."])
