"""``sparsetopics report``."""

from __future__ import annotations

from pathlib import Path

import click

from sparsetopics.cli import shared_options as shared
from sparsetopics.cli.parameter_types import NAMED_PATH, NEW_PATH, TextType
from sparsetopics.cli.printing import show
from sparsetopics.options.option import refuse


@click.command()
@click.argument("runs", metavar="RUN...", type=NAMED_PATH, nargs=-1, required=True)
@click.option("--out", type=NEW_PATH, help="File to write: .html, .json or .md.")
@click.option(
    "--methods",
    is_flag=True,
    help="Print how RUN was made, in sentences for a paper, instead of writing a page. With "
    "--corpus, also what was left out of the documents and words.",
)
@click.option(
    "--corpus",
    type=NAMED_PATH,
    help="Corpus from which to take example documents or items, and in which to count NPMI. "
    "Default: the page has neither.",
)
@click.option(
    "--title",
    metavar="TEXT",
    type=TextType(),
    help="Title of the page. Default: the name of the corpus that RUN was trained on.",
)
@shared.grouping_options
@shared.shown_topics_options
@shared.overwrite_option("Replace the page if it exists.")
@shared.threads_option
@shared.json_option()
def command(
    runs: tuple[Path, ...],
    out: Path | None,
    methods: bool,
    corpus: Path | None,
    title: str | None,
    by: str | None,
    over: str | None,
    names: Path | None,
    n_themes: int | None,
    overwrite: bool,
    workers: int,
) -> None:
    """Write a page about RUN for people who did not train it.

    The page is one file that needs no network. It begins with what the collection is about: its
    themes, each with a colour, a weight and words. It also shows the tree of topics, which the
    reader can cut at any number of them, how similar topics are, all topics with their words,
    what was trained on which corpus, and how training went. With --corpus it also shows the
    coherence of topics and the documents in which each has its largest share. For a mixture of
    vectors it shows the components: sizes, distinctive columns or image patches, and the nearest
    items. Several runs are shown side by side; --names is then not available.

    The ending of --out says how the page is written: .html for browsers, .json for programs and
    .md for Markdown, with the same content.

    With --by and --over it compares the themes of one run between groups of the documents of
    CORPUS and over time, with the estimates of `sparsetopics prevalence` and 95 % intervals.

    RUN may also be the folder that `sparsetopics path` writes, alone. The page then begins with
    the recommended numbers of topics and the scores of all runs, and shows the topics of the
    recommended run.

    With --methods it prints paragraphs instead: the data, the training, and what identifies both.

    `sparsetopics evaluate --report` writes the same page with held-out scores, in the same three
    forms.

    \b
    Example:
        sparsetopics report run --corpus train --out run.html
        sparsetopics report run --corpus train --by label --out groups.html
        sparsetopics report run --names names.toml --title "News of 2020" --out named.html
        sparsetopics report run --out run.md
        sparsetopics report run --corpus train --methods
        sparsetopics report run-50 run-100 --out both.html
        sparsetopics report path --corpus train --out path.html
    """
    from sparsetopics.evaluation.report.report import write_run_report

    if methods:
        from sparsetopics.evaluation.report.methods import methods_text

        if len(runs) > 1:
            refuse("methods", f"are those of one run, but {len(runs)} runs are given")
        of_pages = ("out", "by", "over", "names", "n_themes", "title", "overwrite", "workers")
        for name in filter(shared.is_given, of_pages):
            refuse(name.removeprefix("n_"), "is for pages, not for --methods")
        text = methods_text(runs[0], corpus)
        show({"methods": text}, text.split("\n"))
        return
    if out is None:
        refuse("out", "is needed: where to write the page")
    write_run_report(
        out, runs, corpus, by=by, over=over, names=names, n_themes=n_themes, title=title,
        overwrite=overwrite, workers=workers,
    )  # fmt: skip
    show({"path": str(out)}, [f"Wrote {out}."])
