"""``sparsetopics evaluate``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from textwrap import wrap

import click

from sparsetopics.cli import shared_options as shared
from sparsetopics.cli.parameter_types import NAMED_PATH, NEW_PATH, TEXT
from sparsetopics.cli.printing import WIDTH, say, score_lines, show
from sparsetopics.options.ingest_table import EVALUATE, INGEST_OPTION
from sparsetopics.options.option import Value, made
from sparsetopics.options.table import OPTION
from sparsetopics.options.workplace import Workplace

_OF_TEXTS = [row for row in INGEST_OPTION.values() if EVALUATE in row.doors]


def _at_least_one(
    ctx: click.Context, param: click.Parameter, runs: tuple[Path, ...]
) -> tuple[Path, ...]:
    """Say what is missing; given a single path, click would call RUN missing, not HELDOUT."""
    if not runs:
        raise click.UsageError("Give one or more runs, then the held-out corpus.", ctx)
    return runs


@click.command(cls=shared.TableCommand)
@click.argument("runs", metavar="RUN...", type=NAMED_PATH, nargs=-1, callback=_at_least_one)
@click.argument("heldout", type=NAMED_PATH)
@click.option(
    "--report", type=NEW_PATH, help="Also write a page with the scores: .html, .json or .md."
)
@shared.overwrite_option("With --report: replace the page if it exists.")
@shared.row_option(
    OPTION["alpha"],
    "Total document concentration (sum of alpha) to score every topic model with. Default: the "
    "run's own, or 0.5 for a plain matrix.",
)
@click.option(
    "--unpickle",
    is_flag=True,
    help="Open files without a known extension as gensim models. These are Python pickles, which "
    "can run any code, so use this only for files you trust.",
)
@shared.themes_option
@click.option(
    "--coherence-corpus",
    type=NAMED_PATH,
    help="Corpus in which to count how often words occur together, for NPMI and u_mass; for "
    "example the training corpus. Default: HELDOUT.",
)
@click.option(
    "--texts",
    type=TEXT,
    multiple=True,
    metavar="SOURCE",
    help="Text files, as for ingest, for the coherence scores c_v and c_npmi, which count words in "
    "a sliding window. The text is tokenised like HELDOUT. Can be repeated.",
)
@shared.add_options(shared.row_option(replace(row, section="With --texts")) for row in _OF_TEXTS)
@shared.seed_option("(topic models) Seed of the split of each document.", 2**63 - 1)
@shared.workplace_options
@shared.json_option("Print JSON instead of a table.")
def command(heldout: Path, seed: int, where: Workplace, **values: Value | None) -> None:
    """Score each RUN on the documents or items of the corpus HELDOUT.

    HELDOUT must have the vocabulary of the training corpus: make it with `sparsetopics corpus
    split`, or with `sparsetopics ingest --vocabulary`. The scores of a run on its own training
    corpus are called in-sample. With several runs, the table also shows how far each is from the
    best one, and the standard error of that paired difference.

    Topic models are scored by document completion: the model sees 80 % of the distinct words of
    each document and predicts the rest. The table also shows the ELBO per training token after the
    last lap, and the collapsed criterion if moves used it. The ELBO favours fewer topics than
    prediction does.

    NPMI and u_mass measure how often the 10 best words of a topic occur in the same documents.
    Inverted rank-biased overlap compares the 10 best words of all topics; it is 1 if topics share
    no word. Diversity is the share of distinct words among the 25 best.

    Mixtures of vectors or documents are scored by the mean log density of held-out items. If items
    have labels, the table also shows how well the components agree with them.

    RUN can also be a file with topics of another toolkit. It has one row per topic and one column
    per word, unless the list below says otherwise. Columns without names are those of HELDOUT's
    vocabulary.

    \b
    .npy .npz .mtx  a matrix (.npz: under the key topic_word); the words can be in
                    FILE.vocab, one per line
    .csv            the same, or a header of words, or columns topic,word,probability
    .parquet        a column for each word, or columns topic, word, probability
    .txt .tsv       MALLET's --topic-word-weights-file: topic, word and weight
    other           a gensim LdaModel; needs --unpickle

    \b
    Example:
        sparsetopics evaluate run heldout
        sparsetopics evaluate run-50 run-100 mallet.txt heldout --report scores.html
    """
    shared.check_needs({"overwrite": "report", **{row.key: "texts" for row in _OF_TEXTS}})
    from sparsetopics.corpora.ingest_options import document_options
    from sparsetopics.evaluation.evaluate import ScoringPlan, score_models, score_records

    reading = document_options({row.name: values.pop(row.key) for row in _OF_TEXTS})
    data = {"models": values.pop("runs"), "heldout": where.seen_from_there(heldout)}
    given_seed = seed if shared.is_given("seed") else None
    scoring = {"concentration": values.pop("alpha"), "seed": given_seed}
    plan = made(ScoringPlan, {**values, **data, **scoring, "place": where, "reading": reading})
    cards = score_models(plan, say)
    for card in cards:
        for remark in card.remarks:
            say(f"{card.name}{remark}")
    records = score_records(cards)
    names, kinds = [card.name for card in cards], [card.kind for card in cards]
    lines = [*score_lines(names, kinds, records), "", *wrap(cards[0].extent, WIDTH)]
    show(records, lines)
