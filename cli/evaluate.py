"""``sparsetopics evaluate``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from sparsetopics.cli.workplace_options import WorkplaceChoices, workplace_options
from sparsetopics.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sparsetopics.corpora.corpus import Corpus
    from sparsetopics.corpora.vectors import VectorCorpus
    from sparsetopics.evaluation.candidates import Candidate
    from sparsetopics.evaluation.mixture_scores import MixtureCard
    from sparsetopics.evaluation.scorecard import Scorecard
    from sparsetopics.executors import Spread


def _at_least_one(
    ctx: click.Context, param: click.Parameter, runs: tuple[Path, ...]
) -> tuple[Path, ...]:
    """Of a single path click would say that RUN is missing, where it is HELDOUT."""
    if not runs:
        raise click.UsageError("Say a run and, last, the held-out corpus.", ctx)
    return runs


@click.command()
@click.argument(
    "runs", metavar="RUN...", type=click.Path(path_type=Path), nargs=-1, callback=_at_least_one
)
@click.argument("heldout", type=click.Path(path_type=Path))
@click.option("--report", type=click.Path(path_type=Path), help="Also write an HTML page.")
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
    type=click.Path(path_type=Path),
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
    from sparsetopics.corpora.corpus import Corpus
    from sparsetopics.corpora.opening import open_corpus
    from sparsetopics.corpora.vectors import VectorCorpus
    from sparsetopics.evaluation.candidates import open_candidate
    from sparsetopics.evaluation.scorecard import score_candidate
    from sparsetopics.evaluation.tokenized_texts import TokenizedTexts
    from sparsetopics.executors import open_spread
    from sparsetopics.runs import refuse_run
    from sparsetopics.staging import check_output

    place = where.place
    if report:
        check_output(report, overwrite=overwrite)
    refuse_run(heldout)
    documents = open_corpus(where.seen_from_there(heldout))
    if not isinstance(documents, Corpus) or _are_mixtures(runs):
        given = {
            "alpha": alpha, "coherence-corpus": coherence_corpus, "texts": texts or None
        }  # fmt: skip
        what = "which holds vectors" if isinstance(documents, VectorCorpus) else "with mixtures"
        named = [name for name, value in given.items() if value is not None]
        _refuse_for_mixtures(f"{heldout}, {what}", named)
        with open_spread(place) as spread:
            mixtures = _score_mixtures(runs, documents, str(heldout), spread)
        if report:
            from sparsetopics.evaluation.report import scored_mixtures, write_page

            page = scored_mixtures(mixtures, documents, str(heldout))
            write_page(report, page, overwrite=overwrite)
        _print_mixtures(mixtures, as_json)
        return
    coherence_documents = Corpus.open(coherence_corpus) if coherence_corpus else documents
    candidates = [
        open_candidate(run, documents.vocabulary, str(heldout), alpha, unpickle=unpickle)
        for run in runs
    ]
    _tell_missing(candidates)
    tokenized = TokenizedTexts.find(texts, documents.vocabulary, text_field) if texts else None
    with open_spread(place) as spread:
        cards = [
            score_candidate(
                candidate, documents, coherence_documents, texts=tokenized, seed=seed,
                workers=place.threads, spread=spread,
            )
            for candidate in candidates
        ]  # fmt: skip
    _tell_undefined(cards)
    if report:
        from sparsetopics.evaluation.report import Setting, write_report

        setting = Setting(str(heldout), str(coherence_corpus or heldout), seed)
        write_report(
            report, cards, setting, overwrite=overwrite, examples=documents, workers=place.workers
        )
    if as_json:
        click.echo(json.dumps([card.as_dict() for card in cards]))
    else:
        _print_table(cards)


def _tell_missing(candidates: list[Candidate]) -> None:
    """Of words that other toolkits know nothing of, on stderr: each costs 27 nats a token."""
    for each in candidates:
        if each.n_missing_words:
            click.echo(
                f"{each.name} has no column for {each.n_missing_words:,} of the "
                f"{len(each.words):,} words: their probability is taken as 1e-12.",
                err=True,
            )


def _tell_undefined(cards: list[Scorecard]) -> None:
    """Of topics that the mean c_v and c_npmi leave out, on stderr."""
    for card in cards:
        if card.n_undefined:
            click.echo(
                f"{card.candidate.name}: c_v and c_npmi leave out {card.n_undefined:,} of "
                f"{card.n_topics:,} topics: a word of their ten best is not in the texts.",
                err=True,
            )


class Column(NamedTuple):
    """A column of the table; None is shown as a dash."""

    title: str
    digits: int
    value: Callable[[Scorecard], float | None]

    @property
    def width(self) -> int:
        return max(len(self.title), 7)

    def cell(self, card: Scorecard) -> str:
        value = self.value(card)
        return ("-" if value is None else f"{value:.{self.digits}f}").rjust(self.width)


COLUMNS = (
    Column("log-likelihood/token", 4, lambda card: card.completion.log_likelihood_per_token),
    Column("std.err", 4, lambda card: card.completion.standard_error),
    Column("perplexity", 1, lambda card: card.completion.perplexity),
    Column("unigram", 4, lambda card: card.completion.unigram_log_likelihood_per_token),
    Column("NPMI", 3, lambda card: card.npmi),
    Column("u_mass", 3, lambda card: card.u_mass),
    Column("c_v", 3, lambda card: card.c_v),
    Column("c_npmi", 3, lambda card: card.c_npmi),
    Column("diversity", 3, lambda card: card.diversity),
    Column("inv.RBO", 3, lambda card: card.inverted_rbo),
    Column("ELBO", 4, lambda card: card.elbo_per_token),
    Column("criterion", 4, lambda card: card.criterion_per_token),
    Column("topics", 0, lambda card: card.n_topics),
)


def _print_table(cards: list[Scorecard]) -> None:
    """A line per model; a column that none of them fills is left out."""
    columns = [each for each in COLUMNS if any(each.value(card) is not None for card in cards)]
    titles = [column.title.rjust(column.width) for column in columns]
    click.echo("  ".join([*titles, "model ", "run"]))
    for card in cards:
        cells = [column.cell(card) for column in columns]
        click.echo("  ".join([*cells, card.kind.ljust(6), card.candidate.name]))
    score = cards[0].completion
    click.echo(
        f"{score.n_documents:,} documents and {score.n_tokens:,.0f} tokens scored; "
        f"{score.n_skipped_documents:,} documents skipped; "
        f"{score.n_unknown_tokens:,} tokens outside the vocabulary"
    )


def _are_mixtures(runs: tuple[Path, ...]) -> bool:
    """Whether all are; OptionError if only some are."""
    from sparsetopics.stored_models import is_mixture_run

    mixtures = [run.is_dir() and is_mixture_run(run) for run in runs]
    if any(mixtures) and not all(mixtures):
        raise OptionError(
            "runs",
            found="mixtures and topic models",
            wanted="one or the other",
            hint="They are not scored alike.",
        )
    return all(mixtures)


def _refuse_for_mixtures(found: str, options: Sequence[str]) -> None:
    for option in options:
        raise OptionError(
            option,
            found=found,
            wanted="held-out documents and topic models",
            hint="Mixtures are scored without it.",
        )


def _score_mixtures(
    runs: tuple[Path, ...], items: Corpus | VectorCorpus, where: str, spread: Spread
) -> list[MixtureCard]:
    from sparsetopics.corpora.vectors import VectorCorpus
    from sparsetopics.evaluation.mixture_scores import score_mixture
    from sparsetopics.mixture_runs import load_mixture_run

    trained = [load_mixture_run(run) for run in runs]
    for run in trained:
        if isinstance(items, VectorCorpus):
            run.check_columns(items.n_columns, items.fingerprint, where)
        else:
            run.check_vocabulary(items.vocabulary, where)
    return [score_mixture(run, items, spread=spread) for run in trained]


def _print_mixtures(cards: list[MixtureCard], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([card.as_dict() for card in cards]))
        return
    agreement = ("nmi", "hungarian_accuracy", "majority_accuracy")
    of_words = cards[0].n_tokens is not None
    datum = "token" if of_words else "item"
    titles = ["log-likelihood/item", "std.err", f"ELBO/{datum}", "components", "used"]
    if of_words:
        titles.insert(2, "log-likelihood/token")
    if any(card.clustering for card in cards):
        titles += ["NMI", "accuracy", "majority"]
    click.echo("  ".join([*(title.rjust(10) for title in titles), "model       ", "run"]))
    for card in cards:
        elbo = "-" if card.elbo is None else f"{card.elbo:.4f}"
        cells = [
            f"{card.log_likelihood_per_item:.4f}".rjust(len(titles[0])),
            f"{card.standard_error:.4f}", elbo, f"{card.run.model.n_topics}",
            f"{card.n_used_components}",
        ]  # fmt: skip
        if card.log_likelihood_per_token is not None:
            cells.insert(2, f"{card.log_likelihood_per_token:.4f}".rjust(len(titles[2])))
        if card.clustering is not None:
            cells += [f"{getattr(card.clustering, name):.4f}" for name in agreement]
        name = card.run.model.name.ljust(12)
        click.echo("  ".join([*(cell.rjust(10) for cell in cells), name, str(card.run.path)]))
    tokens = "" if cards[0].n_tokens is None else f" ({cards[0].n_tokens:,.0f} tokens)"
    click.echo(f"{cards[0].n_items:,} items{tokens} scored")
