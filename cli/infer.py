"""``sparsetopics infer``."""

from __future__ import annotations

from pathlib import Path

import click

from sparsetopics.cli.shared_options import NAMED_PATH, NEW_PATH, show, workplace_options
from sparsetopics.options.training import Workplace


@click.command()
@click.argument("run", type=NAMED_PATH)
@click.argument("corpus", type=NAMED_PATH)
@click.option("--out", type=NEW_PATH, required=True, help="Parquet file to write.")
@click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
@workplace_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    run: Path, corpus: Path, out: Path, overwrite: bool, where: Workplace, as_json: bool
) -> None:
    """Write the share of each topic of RUN in each document of CORPUS.

    OUT gets one row per document, in the order of the corpus, with two columns: doc_id, and
    proportions, a list with one number per topic that sums to one. For a mixture, the second column
    is responsibilities, with one number per component; for vectors, the first column is item_id.
    Repeated calls give the same numbers.

    \b
    Example:
        sparsetopics infer run corpus --out proportions.parquet
    """
    from sparsetopics.base.outputs import output_file
    from sparsetopics.corpora.corpus import Corpus, open_corpus
    from sparsetopics.execution.executors import open_broadcast_map
    from sparsetopics.runs.proportions import write_shares
    from sparsetopics.runs.run import load_run, refuse_run

    output = output_file(out, overwrite=overwrite, inputs=[run, corpus])
    refuse_run(corpus)
    corpus = where.seen_from_there(corpus)
    with open_broadcast_map(where) as broadcast:
        trained, data = load_run(run), open_corpus(corpus)
        trained.check_corpus(data, str(corpus))
        threads = where.threads
        n_rows = write_shares(output, trained.model, data, workers=threads, broadcast=broadcast)
    counted = "documents" if isinstance(data, Corpus) else "items"
    line = f"Wrote a row for each of {n_rows:,} {counted} to {out}."
    show({f"n_{counted}": n_rows, "path": str(out)}, [line], as_json=as_json)
