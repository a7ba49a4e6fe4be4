"""``sparsetopics export``."""

from __future__ import annotations

from pathlib import Path

import click

from sparsetopics.answers.exports import PATH_TARGETS, RUN_TARGETS
from sparsetopics.cli import shared_options as shared
from sparsetopics.cli.parameter_types import NAMED_PATH, NEW_PATH, NameType
from sparsetopics.cli.printing import show

TARGETS = list(RUN_TARGETS | PATH_TARGETS)


@click.command()
@click.argument("run", type=NAMED_PATH)
@click.option("--to", "target", type=NameType(TARGETS), required=True, help="Format to write.")
@click.option("--out", type=NEW_PATH, required=True, help="File to write.")
@click.option(
    "--corpus",
    type=NAMED_PATH,
    help="(pyldavis, datamapplot) Corpus of the documents to show, usually the training corpus.",
)
@shared.spreadsheet_option("csv", "words")
@shared.shown_topics_options
@shared.overwrite_option("Replace the files if they exist.")
@shared.json_option()
def command(
    run: Path,
    target: str,
    out: Path,
    corpus: Path | None,
    spreadsheet_safe: bool,
    names: Path | None,
    n_themes: int | None,
    overwrite: bool,
) -> None:
    """Write the model of RUN, or the tree of a topic path, in the format of another toolkit.

    Word probabilities have the smoothing of the run and are in full precision. Mixtures of
    documents are exported like topics, but not to gensim. Mixtures of vectors can only be exported
    to csv and parquet.

    \b
    gensim         a model for `LdaModel.load(OUT)`, with its side files OUT.state,
                   OUT.id2word and OUT.expElogbeta.npy, and a dictionary for
                   `Dictionary.load("OUT.dictionary")`. The weights of an HDP's topics
                   become an uneven alpha. These files are Python pickles: load only
                   those that you trust.
    mallet         topic, word and weight (smoothing + count) in three columns, as
                   --topic-word-weights-file; also OUT.keys, as --output-topic-keys
    matrix-market  word probabilities, topics by words; also the words in OUT.vocab
    csv, parquet   columns topic, word, probability, id and name of the topic, the
                   best words of a topic first;
                   for vectors component, parameter (weight, mean, variance or
                   covariance), row, column, value
    pyldavis       JSON for `pyLDAvis.prepare(**json.load(file))`; needs --corpus
    datamapplot    Parquet with a row for each document of --corpus: id, x, y, topic
                   (its leading one), theme, share (of the topic). Similar documents
                   are close. Says how far that is so: the trustworthiness, at most 1
    names          TOML with the id, name and ten words of each topic; edit the
                   names and pass the file to --names

    Two formats take the folder that `sparsetopics path` writes. All of them take a run in it.

    \b
    newick         the tree of topics with labels such as '50-3 space nasa', for topic 3
                   of the run with 50 topics. A run with K topics lies ln K below the
                   root: cut the tree there to get its topics.
    csv            columns n_topics, topic, parent_n_topics, parent_topic, weight,
                   name, words, telling_words; one row for each topic of each run

    \b
    Example:
        sparsetopics export run --to gensim --out run.gensim
        sparsetopics export run --to parquet --out topics.parquet
        sparsetopics export run --to pyldavis --corpus train --out topics.json
        sparsetopics export run --to datamapplot --corpus train --out map.parquet
        sparsetopics export run --to names --out names.toml
        sparsetopics export path --to newick --out topics.nwk
    """
    from sparsetopics.answers.exports.exporting import export_run

    facts = export_run(
        run, target, out,
        documents=corpus, spreadsheet_safe=spreadsheet_safe, names=names,
        n_themes=n_themes, overwrite=overwrite,
    ) or {}  # fmt: skip
    lines = [f"Wrote {out}.", *(f"Its {name} is {value}." for name, value in facts.items())]
    show({"path": str(out), **facts}, lines)
