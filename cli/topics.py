"""``sparsetopics topics``."""

from __future__ import annotations

from pathlib import Path

import click

from sparsetopics.base.wording import quantity
from sparsetopics.cli.parameter_types import NAMED_PATH, NumberType
from sparsetopics.cli.printing import show
from sparsetopics.options.option import counts_from


@click.command()
@click.argument("run", type=NAMED_PATH)
@click.option(
    "--words",
    "n_words",
    type=NumberType(counts_from(1)),
    default=10,
    show_default=True,
    help="Number of words to print for each topic.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def command(run: Path, n_words: int, as_json: bool) -> None:
    """Print the topics of RUN with their most probable words, the heaviest topic first.

    For a mixture of documents, the topics are its components. A topic's weight is its share of the
    training data. Topics without a token, and components without a document, are left out of the
    table but not of --json.

    \b
    Example:
        sparsetopics topics run --words 15
    """
    from sparsetopics.evaluation.scores.top_words import topic_table
    from sparsetopics.model.statistics import in_use
    from sparsetopics.runs.run import load_run

    trained = load_run(run)
    words = trained.words.words  # before the topics, because a mixture of vectors has neither
    rows = topic_table(trained.model.topic_word_mean, trained.model.weights, words, n_words)
    shown = in_use(trained.model.sizes)
    lines = ["topic  weight  words"]
    for row in (row for row in rows if shown[row.topic]):
        best = " ".join(word for word, _ in row.words)
        lines.append(f"{row.topic:>5}  {row.weight:>6.2%}  {best}")
    if n_empty := int((~shown).sum()):
        lines.append(f"Left out {quantity(n_empty, 'empty topic')}; --json lists all topics.")
    show([row._asdict() for row in rows], lines, as_json=as_json)
