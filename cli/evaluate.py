"""``sparsetopics evaluate``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from sparsetopics.cli.named_path import NAMED_PATH
from sparsetopics.cli.workplace_options import WorkplaceChoices, workplace_options


def _at_least_one(
    ctx: click.Context, param: click.Parameter, runs: tuple[Path, ...]
) -> tuple[Path, ...]:
    """Of a single path click would say that RUN is missing, where it is HELDOUT."""
    if not runs:
        raise click.UsageError("Say a run and, last, the held-out corpus.", ctx)
    return runs


@click.command()
@click.argument("runs", metavar="RUN...", type=NAMED_PATH, nargs=-1, callback=_at_least_one)
@click.argument("heldout", type=NAMED_PATH)
@click.option("--report", type=NAMED_PATH, help="Also write an HTML page.")
@click.option("--overwrite", is_flag=True, help="Replace the report if it exists.")
@click.option(
    "--alpha",
    type=click.FloatRange(min=0, min_open=True),
    help="Total document concentration to score every model with. "
    "Default: each run's own, and 0.5 for a matrix.",
)
@click.option(
    "--unpickle",
    is_flag=True,
    help="Open files of no known extension as gensim models. These are Python pickles, which can "
    "run any code: only for files that you trust.",
)
@click.option(
    "--coherence-corpus",
    type=NAMED_PATH,
    help="Count documents in which words meet, for NPMI and u_mass, here, for instance in the "
    "training corpus. Default: HELDOUT.",
)
@click.option(
    "--texts",
    multiple=True,
    metavar="SOURCE",
    help="Text files, as for ingest: also give c_v and c_npmi, by windows that slide over them. "
    "Cut as HELDOUT's documents were. May be given more than once.",
)
@click.option(
    "--text-field", default="text", show_default=True, help="Of CSV, JSONL ... in SOURCE."
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=0,
    show_default=True,
    help="Seed of the split.",
)
@workplace_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def command(
    runs: tuple[Path, ...],
    heldout: Path,
    report: Path | None,
    overwrite: bool,
    alpha: float | None,
    unpickle: bool,
    coherence_corpus: Path | None,
    texts: tuple[str, ...],
    text_field: str,
    seed: int,
    where: WorkplaceChoices,
    as_json: bool,
) -> None:
    """Score each RUN on the documents of HELDOUT, a corpus under the words of the training: the
    other part of a `sparsetopics corpus split`, or ingested with --vocabulary.

    Document completion: 80 % of a document's word types are seen, the rest is predicted. Beside
    the score stand the ELBO per token of the training documents after the last lap, and the
    collapsed criterion where topics were chosen by it: the bound prefers fewer topics than
    prediction does.

    Of the 10 best words of each topic: NPMI and u_mass, by documents in which they meet, and
    inverted rank-biased overlap, 1 where topics share no word; diversity is of the 25 best. Texts
    add c_v and c_npmi, as gensim computes them.

    Mixtures, of vectors or of documents, are scored by the mean log density of held-out items, and
    where they have labels, by how well components agree with them.

    RUN may also be a file of topics of another toolkit, one row per topic and one column per word
    unless said otherwise. Words are told by name; where none are named, columns are those of
    HELDOUT's vocabulary.

    \b
    .npy .npz .mtx  a matrix (.npz: with key topic_word), words in FILE.vocab, one a line
    .csv            the same, or with words for header, or topic,word,probability
    .parquet        columns of words, or topic, word, probability
    .txt .tsv       topic, word and weight as MALLET's --topic-word-weights-file
    no extension    or any other: a gensim LdaModel, with --unpickle

    \b
    Example:
        sparsetopics evaluate run heldout
        sparsetopics evaluate run-50 run-100 mallet.txt heldout --report scores.html
    """
    from sparsetopics.cli.score_table import score_lines
    from sparsetopics.evaluation.comparison.evaluate import ScoringPlan, score_models

    plan = ScoringPlan(
        runs, where.seen_from_there(heldout), where.place, alpha, unpickle, coherence_corpus,
        texts, text_field, seed, report, overwrite,
    )  # fmt: skip
    cards = score_models(plan, lambda sentence: click.echo(sentence, err=True))
    for card in cards:
        for remark in card.remarks:
            click.echo(f"{card.name}{remark}", err=True)
    records = [card.as_dict() for card in cards]
    if as_json:
        click.echo(json.dumps(records))
        return
    kinds = ["model", *(card.kind for card in cards)]
    names = ["run", *(card.name for card in cards)]
    kind_width = max(6, *map(len, kinds))
    for line, kind, name in zip(score_lines(records), kinds, names, strict=True):
        click.echo(f"{line}  {kind.ljust(kind_width)}  {name}")
    click.echo(cards[0].extent)
