"""``sparsetopics update``."""

from __future__ import annotations

from pathlib import Path

import click

from sparsetopics.cli import shared_options as shared
from sparsetopics.cli.parameter_types import NAMED_PATH, NEW_PATH
from sparsetopics.cli.printing import show


@click.command()
@click.argument("run", type=NAMED_PATH)
@click.argument("corpus", type=NAMED_PATH)
@click.option("--out", type=NEW_PATH, required=True, help="Run folder to write.")
@shared.overwrite_option("Replace the run folder if it exists.")
@shared.threads_option
@shared.json_option()
def command(run: Path, corpus: Path, out: Path, overwrite: bool, workers: int) -> None:
    """Learn the documents by which CORPUS has grown since RUN, in one lap, and say what changed.

    CORPUS is that of RUN, to which `sparsetopics ingest --append` has added documents, and perhaps
    words with --grow-vocabulary. The lap begins with the topics of RUN, which keep their ids, and
    the names that you gave them; other names are their best words. An HDP gets new topics of
    documents that its topics explain badly, if these topics predict others of the new documents.
    LDA keeps its number of topics; documents that no topic fits are named. RUN stays as it is. If
    there are no new documents, OUT is the same as RUN.

    Repeating the command changes nothing: if OUT is the update of RUN to this CORPUS, it stays.

    \b
    Example:
        sparsetopics ingest today.jsonl --append news --grow-vocabulary
        sparsetopics update monday news --out tuesday
    """
    from sparsetopics.answers.updating import update_run
    from sparsetopics.cli.diff import change_lines, change_records
    from sparsetopics.cli.train_progress import show_progress
    from sparsetopics.options.training import TrainingOptions

    with show_progress(TrainingOptions(1)) as hooks:
        found = update_run(run, corpus, out, overwrite=overwrite, workers=workers, hooks=hooks)
    if found is None:
        show({"run": str(out), "is_new": False}, [f"{out} is up to date."])
        return
    record = {
        "run": str(out),
        "is_new": True,
        "n_topics": found.run.model.n_topics,
        "n_new_documents": found.n_new_documents,
        "n_new_words": found.n_new_words,
        "changes": change_records(found.changes),
    }
    n_documents, n_words = found.n_new_documents, found.n_new_words
    lines = [f"Learned {n_documents:,} new documents and {n_words:,} new words. Wrote {out}."]
    show(record, [*lines, *change_lines(found.changes)])
