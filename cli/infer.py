"""``sparsetopics infer``."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("corpus", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="Parquet file to write."
)
@click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
@click.option(
    "--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Threads."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    run: Path, corpus: Path, out: Path, overwrite: bool, workers: int, as_json: bool
) -> None:
    """Write how much each document of CORPUS is about each topic of RUN.

    OUT gets a row per document, in the order of the corpus: doc_id, and proportions, which holds
    a number for every topic and sums to one. The same call gives the same numbers.

    \b
    Example:
        sparsetopics infer run corpus --out proportions.parquet
    """
    from sparsetopics.corpora.corpus import Corpus
    from sparsetopics.evaluation.proportions import write_proportions
    from sparsetopics.runs import load_run, refuse_run
    from sparsetopics.staging import check_output

    check_output(out, overwrite=overwrite)
    refuse_run(corpus)
    trained = load_run(run)
    documents = Corpus.open(corpus)
    trained.check_vocabulary(documents.vocabulary, str(corpus))
    n_documents = write_proportions(
        out, trained.model, documents, overwrite=overwrite, workers=workers
    )
    if as_json:
        click.echo(json.dumps({"n_documents": n_documents, "path": str(out)}))
    else:
        click.echo(f"Wrote the topic proportions of {n_documents:,} documents to {out}.")
