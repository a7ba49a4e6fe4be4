"""``sparsetopics export``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from sparsetopics.cli.named_path import NAMED_PATH
from sparsetopics.exports import RUN_TARGETS


@click.command()
@click.argument("run", type=NAMED_PATH)
@click.option("--to", "target", type=click.Choice(list(RUN_TARGETS)), required=True, help="Format.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="File to write.")
@click.option(
    "--corpus",
    type=NAMED_PATH,
    help="With --to pyldavis: the documents to show, as a rule those of the training.",
)
@click.option("--overwrite", is_flag=True, help="Replace the files if they exist.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    run: Path, target: str, out: Path, corpus: Path | None, overwrite: bool, as_json: bool
) -> None:
    """Write the model of RUN in the format of another toolkit.

    Probabilities of words in topics are posterior means, in full precision. Mixtures of documents
    go as topics do, but not to gensim; mixtures of vectors to csv and parquet alone.

    \b
    gensim         a model for `LdaModel.load(OUT)`, with its side files OUT.state,
                   OUT.id2word and OUT.expElogbeta.npy, and its dictionary for
                   `Dictionary.load("OUT.dictionary")`. The weights of an HDP's topics
                   become its uneven alpha. These are Python pickles: load only those
                   that you trust.
    mallet         topic, word and weight (eta + count) in three columns, as
                   --topic-word-weights-file; OUT.keys as --output-topic-keys
    matrix-market  probabilities, topics by words; the words in OUT.vocab
    csv, parquet   columns topic, word, probability, the best words first; of vectors
                   component, parameter (weight, mean, variance or covariance), row,
                   column, value
    pyldavis       JSON for `pyLDAvis.prepare(**json.load(file))`; needs --corpus

    \b
    Example:
        sparsetopics export run --to gensim --out run.gensim
        sparsetopics export run --to parquet --out topics.parquet
        sparsetopics export run --to pyldavis --corpus train --out topics.json
    """
    from sparsetopics.exports.exporting import export_run

    export_run(run, target, out, documents=corpus, overwrite=overwrite)
    click.echo(json.dumps({"path": str(out)}) if as_json else f"Wrote {out} for {target}.")
