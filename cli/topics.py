"""``sparsetopics topics``."""

from __future__ import annotations

from pathlib import Path

import click

from sparsetopics.cli.shared_options import NAMED_PATH, show


@click.command()
@click.argument("run", type=NAMED_PATH)
@click.option(
    "--words",
    "n_words",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Number of words to print for each topic.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def command(run: Path, n_words: int, as_json: bool) -> None:
    """Print the topics of RUN with their most probable words, the heaviest topic first.

    For a mixture of documents, the topics are its components. A topic's weight is its share of the
    training data.

    \b
    Example:
        sparsetopics topics run --words 15
    """
    from sparsetopics.evaluation.scores.top_words import topic_table
    from sparsetopics.runs.run import load_run

    trained = load_run(run)
    words = trained.words.words  # before the topics, because a mixture of vectors has neither
    rows = topic_table(trained.model.topic_word_mean, trained.model.weights, words, n_words)
    lines = ["topic  weight  words"]
    for row in rows:
        best = " ".join(word for word, _ in row.words)
        lines.append(f"{row.topic:>5}  {row.weight:>6.2%}  {best}")
    show([row._asdict() for row in rows], lines, as_json=as_json)
