"""``sparsetopics infer``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparsetopics.cli.workplace_options import WorkplaceChoices, workplace_options

if TYPE_CHECKING:
    from sparsetopics.executors import Spread
    from sparsetopics.mixture_runs import MixtureRun
    from sparsetopics.runs import Run


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("corpus", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="Parquet file to write."
)
@click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
@workplace_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    run: Path, corpus: Path, out: Path, overwrite: bool, where: WorkplaceChoices, as_json: bool
) -> None:
    """Write how much each document of CORPUS is about each topic of RUN.

    OUT gets a row per document, in the order of the corpus: doc_id, and proportions, which holds
    a number for every topic and sums to one. Of a mixture it gets responsibilities of the
    components, and item_id in the place of doc_id for vectors. The same call gives the same
    numbers.

    \b
    Example:
        sparsetopics infer run corpus --out proportions.parquet
    """
    from sparsetopics.executors import open_spread
    from sparsetopics.mixture_runs import MixtureRun
    from sparsetopics.runs import refuse_run
    from sparsetopics.staging import check_output
    from sparsetopics.stored_models import load_any_run

    place = where.place
    check_output(out, overwrite=overwrite)
    refuse_run(corpus)
    corpus = where.seen_from_there(corpus)
    with open_spread(place) as spread:
        trained = load_any_run(run)
        if isinstance(trained, MixtureRun):
            n_rows, counted = _items(trained, corpus, out, overwrite, spread)
            what = "responsibilities"
        else:
            n_rows = _documents(trained, corpus, out, overwrite, place.threads, spread)
            counted, what = "documents", "topic proportions"
    if as_json:
        click.echo(json.dumps({f"n_{counted}": n_rows, "path": str(out)}))
    else:
        click.echo(f"Wrote the {what} of {n_rows:,} {counted} to {out}.")


def _documents(
    trained: Run, corpus: Path, out: Path, overwrite: bool, workers: int, spread: Spread
) -> int:
    from sparsetopics.corpora.corpus import Corpus
    from sparsetopics.evaluation.proportions import write_proportions

    documents = Corpus.open(corpus)
    trained.check_vocabulary(documents.vocabulary, str(corpus))
    return write_proportions(
        out, trained.model, documents, overwrite=overwrite, workers=workers, spread=spread
    )


def _items(
    trained: MixtureRun, corpus: Path, out: Path, overwrite: bool, spread: Spread
) -> tuple[int, str]:
    """How many there were, and what they are called."""
    from sparsetopics.corpora.corpus import Corpus
    from sparsetopics.corpora.vectors import VectorCorpus
    from sparsetopics.evaluation.proportions import (
        write_document_responsibilities,
        write_responsibilities,
    )

    model = trained.model
    if trained.vocabulary is not None:
        documents = Corpus.open(corpus)
        trained.check_vocabulary(documents.vocabulary, str(corpus))
        n_rows = write_document_responsibilities(
            out, model, documents, overwrite=overwrite, spread=spread
        )
        return n_rows, "documents"
    items = VectorCorpus.open(corpus)
    trained.check_columns(items.n_columns, items.fingerprint, str(corpus))
    return write_responsibilities(out, model, items, overwrite=overwrite, spread=spread), "items"
