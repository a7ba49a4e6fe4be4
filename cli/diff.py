"""``sparsetopics diff``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparsetopics.base.outputs import output_file
from sparsetopics.cli import shared_options as shared
from sparsetopics.cli.parameter_types import NAMED_PATH, NEW_PATH
from sparsetopics.cli.printing import show
from sparsetopics.options.option import check_extension
from sparsetopics.options.table import PAGE_EXTENSIONS

if TYPE_CHECKING:  # --help does not need it
    from sparsetopics.answers.changes import Change


@click.command()
@click.argument("run", type=NAMED_PATH)
@click.argument("later", type=NAMED_PATH, metavar="RUN2")
@click.option(
    "--corpus",
    type=NAMED_PATH,
    help="Documents of RUN2, which begin with those of RUN. The new ones tell about topics, too.",
)
@click.option("--out", type=NEW_PATH, help="Write a page about RUN2 that begins with the changes.")
@shared.overwrite_option("Replace the page if it exists.")
@click.option("--exit-code", is_flag=True, help="End with status 3 if there is something to tell.")
@shared.threads_option
@shared.json_option()
def command(
    run: Path,
    later: Path,
    corpus: Path | None,
    out: Path | None,
    overwrite: bool,
    exit_code: bool,
    workers: int,
) -> None:
    """Say what happened to the topics of RUN on the way to RUN2.

    A topic is the same, has moved (other words have joined), is taken over (most of its words are
    others), split, merged, new or gone. Topics are compared by their ids, or if no id is in both
    runs, by their words; those without a counterpart are not forced to one.

    With --corpus, the documents that are new in RUN2 are compared with old ones. Then topics are
    also taken over if the new documents use them for other words, and they are growing or fading
    if their share in the new documents is at least twice as large, or at most half as large, by
    more than chance. Documents that no topic fits are named, too. What `update` has told about RUN
    is not news as long as it lasts.

    The ending of --out says how the page is written: .html, .json or .md, as for `report`.

    \b
    Example:
        sparsetopics diff monday tuesday
        sparsetopics diff monday tuesday --corpus news --exit-code
        sparsetopics diff monday tuesday --corpus news --out changes.html
    """
    from sparsetopics.answers.changes import changes
    from sparsetopics.answers.new_documents import new_documents
    from sparsetopics.cli.main import TO_TELL
    from sparsetopics.corpora.corpus import Corpus
    from sparsetopics.model.topic_posterior import TopicPosterior
    from sparsetopics.runs.run import load_run

    shared.check_needs({"overwrite": "out", "workers": "corpus"})
    output = None
    if out is not None:
        output = output_file(out, overwrite=overwrite, inputs=[run, later, corpus])
        check_extension("out", out, PAGE_EXTENSIONS)
    before, after = load_run(run, TopicPosterior), load_run(later, TopicPosterior)
    documents = None if corpus is None else Corpus.open(corpus)
    new = None if documents is None else new_documents(before, documents, str(corpus), workers)
    found = changes(before, after, new)
    if output is not None:
        from sparsetopics.evaluation.report.page import write_page
        from sparsetopics.evaluation.report.report import run_report

        page = run_report([after], documents, str(corpus), workers=workers)
        write_page(output, replace(page, changes=found, title=f"From {run.name} to {later.name}"))
    show({"changes": change_records(found)}, change_lines(found))
    if exit_code and any(change.is_news for change in found):
        raise click.exceptions.Exit(TO_TELL)


def change_records(found: Sequence[Change]) -> list[dict[str, Any]]:  # as _asdict has it
    """The changes as JSON; ``is_news`` says whether somebody should be told."""
    return [change._asdict() | {"is_news": change.is_news} for change in found]


def change_lines(found: Sequence[Change]) -> Iterator[str]:
    """What is news, a line each, and in one line how many topics stay."""
    for change in found:
        if not change.is_news:
            continue
        words = ", ".join(change.words)
        shares = ""
        if change.share is not None and change.share_before is not None:
            shares = f"; {change.share_before:.1%} of old documents, {change.share:.1%} of new ones"
        former = [f"from {topic}" for topic in change.former if topic != change.topic]
        names = " ".join(filter(None, (change.topic, *former)))
        kind = change.kind.capitalize()
        yield f"{kind}: {change.name}{f' ({names})' if names else ''}{shares}. Words: {words}."
        if change.documents:
            yield f"    Documents: {', '.join(change.documents)}"
    n_same = sum(not change.is_news for change in found)
    yield f"Topics without news: {n_same}." if found else "There are no new documents."
