"""``sparsetopics quickstart``."""

from __future__ import annotations

from pathlib import Path

import click

from sparsetopics.base.wording import quantity
from sparsetopics.cli import shared_options as shared
from sparsetopics.cli.parameter_types import NEW_PATH
from sparsetopics.cli.printing import say, show


@click.command()
@click.option(
    "--out",
    type=NEW_PATH,
    default=Path("sparsetopics-quickstart"),
    show_default=True,
    help="Folder to write, with corpora, run and report.",
)
@shared.overwrite_option("Replace the folder if it exists.")
@shared.json_option("Print JSON instead of the topics.")
def command(out: Path, overwrite: bool) -> None:
    """Try all steps on bundled texts: ingest, train, evaluate and report.

    The texts are 300 short news stories that are installed with gensim; no network is needed. It
    takes a few seconds, or half a minute the first time, while code is compiled for this machine.

    \b
    Example:
        sparsetopics quickstart --out first-look
    """
    from sparsetopics.answers.topic_names import topic_rows
    from sparsetopics.cli.train_progress import show_progress
    from sparsetopics.evaluation.quickstart import REPORT, RUN, TRAINING, run_quickstart
    from sparsetopics.model.statistics import in_use
    from sparsetopics.runs.run import load_run

    with show_progress(TRAINING) as hooks:
        card = run_quickstart(out, overwrite=overwrite, say=say, hooks=hooks)
    run, report, score = out / RUN, out / REPORT, card.completion
    trained = load_run(run)
    record = {
        "run": str(run),
        "report": str(report),
        "n_topics": trained.model.n_topics,
        "log_likelihood_per_token": score.log_likelihood_per_token,
    }
    rows = [row for row in topic_rows(trained, 8) if in_use(trained.model.sizes)[row.topic]]
    width = max(len(row.name) for row in rows)
    lines = [
        f"{row.weight:>6.1%}  {row.name:<{width}}  {' '.join(word for word, _ in row.words)}"
        for row in rows
    ]
    stories = quantity(score.n_documents, "story", "stories")
    lines += [
        f"Found {quantity(len(rows), 'topic')}, starting from {TRAINING.n_topics}.",
        f"Held-out score on {stories}: {score.log_likelihood_per_token:.3f} nats "
        f"per token (without topics {score.unigram_log_likelihood_per_token:.3f}).",
        f"Open {report} in a browser.",
        "To use your own texts, start with `sparsetopics ingest --help`.",
    ]
    show(record, lines)
