"""``sparsetopics documents``."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap

import click

from sparsetopics.base.wording import excerpt
from sparsetopics.cli import shared_options as shared
from sparsetopics.cli.parameter_types import NAMED_PATH, TextType
from sparsetopics.cli.printing import WIDTH, is_json, show, show_marked
from sparsetopics.options.table import REPRESENTATIVES
from sparsetopics.options.workplace import Workplace

INDENT = 6 * " "


@click.command(cls=shared.TableCommand)
@click.argument("run", type=NAMED_PATH)
@click.argument("corpus", type=NAMED_PATH)
@shared.topics_option()
@shared.number_option("--n", REPRESENTATIVES, 10, "Number of documents to print for each topic.")
@click.option(
    "--by",
    type=TextType(),
    metavar="FIELD",
    default="label",
    show_default=True,
    help="Field with the groups that take turns: label, or a field that was kept.",
)
@shared.shown_topics_options
@shared.workplace_options
@shared.json_option("Print JSON, with whole texts.")
def command(
    run: Path,
    corpus: Path,
    topics: tuple[str, ...],
    n: int,
    by: str,
    names: Path | None,
    n_themes: int | None,
    where: Workplace,
) -> None:
    """Print the documents of CORPUS that represent topics of RUN, the best first.

    They are documents in which the topic has the largest share of all topics. Documents are ranked
    by the lower end of the 95 % interval of the share, so that short ones do not come first by
    chance. Groups take turns, so that one source does not have all places. Of documents that are
    almost the same, one is printed.

    If the corpus keeps texts (`sparsetopics ingest --keep text`), the beginning of each is printed,
    with the words that contribute most to the topic in bold on a terminal; NO_COLOR turns that off.
    Otherwise these words are printed.

    \b
    Example:
        sparsetopics documents run corpus --topic 3
        sparsetopics documents run corpus --topic 3 --topic 5 --n 4
        sparsetopics documents run corpus --json
    """
    from sparsetopics.answers.representatives import TopicsToShow, representatives
    from sparsetopics.answers.themes import opened
    from sparsetopics.answers.topic_names import labels_of
    from sparsetopics.execution.executors import open_crew
    from sparsetopics.runs.run import SWAPPED, refuse_run

    refuse_run(corpus, SWAPPED)
    with open_crew(where) as crew:
        trained = opened(run, names, n_themes)
        chosen = TopicsToShow.of_run(trained, topics, workers=crew.threads)
        searched = trained.documents_at(where.seen_from_there(corpus))
        found = representatives(chosen, searched, n, by=by, broadcast=crew.map)
    labels = labels_of(trained)
    if is_json():
        show(found.table(labels).to_pylist(), [])
        return
    for place, topic in enumerate(found.topics.chosen):
        topic_id, name = labels[topic]
        show_marked([*[""][:place], f"Topic {topic} ({topic_id}): {name}"], ())
        for document in found.of_topics[place]:
            groups = dict.fromkeys(filter(None, (document.label, document.group)))
            kinds = f" ({', '.join(groups)})" if groups else ""
            head = f"{document.share:>5.0%}  {document.doc_id}{kinds}"
            show_marked([f"{head}, {document.n_tokens:,.0f} tokens"], ())
            if document.text is None:
                show_marked([INDENT + " ".join(document.words)], ())
            else:
                lines = wrap(excerpt(document.text), WIDTH - len(INDENT))
                show_marked([INDENT + line for line in lines], document.words)
