"""``sparsetopics ingest``."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from sparsetopics.corpora.ingest import IngestSummary
    from sparsetopics.corpora.tokenizer import TokenizerOptions

_MOST_WORKERS = 4  # by default: each adds some 150 MB


def _share_or_count(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> int | float | None:
    """A share of the documents (0.5) or a number of them (5)."""
    if value is None:
        return None
    try:
        return float(value) if "." in value else int(value)
    except ValueError as error:
        raise click.BadParameter(
            f"{value!r} is no share such as 0.5 and no count such as 5", ctx, param
        ) from error


@click.command(name="ingest")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="Corpus folder to make."
)
@click.option(
    "--format",
    "format_name",
    metavar="NAME",
    help="text (a file a document), lines (a line a document), jsonl, csv, parquet, arrow or uci. "
    "Default: by extension.",
)
@click.option("--text-field", default="text", show_default=True, help="Field that holds the text.")
@click.option("--id-field", help="Field that names a document. Default: id if there is one.")
@click.option("--label-field", help="Field that holds a label. Default: label if there is one.")
@click.option(
    "--vocabulary-file",
    type=click.Path(path_type=Path),
    help="Words of a UCI collection. Default: vocab.NAME.txt beside docword.NAME.txt.",
)
@click.option(
    "--encoding-errors",
    type=click.Choice(["strict", "replace"]),
    default="strict",
    show_default=True,
    help="Stop at bytes that are not UTF-8, or replace them.",
)
@click.option(
    "--token-pattern",
    help=r"Regular expression of a token. Default: [^\W\d_]{3,}, three letters or more.",
)
@click.option("--lowercase/--no-lowercase", default=None, help="Default: lower case.")
@click.option(
    "--stop-words",
    default="none",
    show_default=True,
    metavar="english|none|FILE",
    help="Words to leave out.",
)
@click.option(
    "--min-df",
    callback=_share_or_count,
    metavar="SHARE|COUNT",
    help="Leave out words in fewer documents. Default: 2; 1 for UCI and below 100 documents.",
)
@click.option(
    "--max-df",
    callback=_share_or_count,
    metavar="SHARE|COUNT",
    help="Leave out words in more documents. Default: 0.5; 1.0 for UCI and below 100 documents.",
)
@click.option("--max-words", type=int, help="Keep only the most frequent words.")
@click.option(
    "--vocabulary",
    type=click.Path(path_type=Path),
    help="Use the words, and the tokeniser settings, of this corpus or run as they are.",
)
@click.option("--workers", type=int, help=f"Threads. Default: one a core, at most {_MOST_WORKERS}.")
@click.option("--overwrite", is_flag=True, help="Replace the corpus if it exists.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    sources: tuple[str, ...],
    out: Path,
    format_name: str | None,
    text_field: str,
    id_field: str | None,
    label_field: str | None,
    vocabulary_file: Path | None,
    encoding_errors: str,
    token_pattern: str | None,
    lowercase: bool | None,
    stop_words: str,
    min_df: int | float | None,
    max_df: int | float | None,
    max_words: int | None,
    vocabulary: Path | None,
    workers: int | None,
    overwrite: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Make a corpus of documents: files, folders or patterns, each also as .gz.

    Documents without a word of the vocabulary are left out and counted as skipped.

    \b
    Example:
        sparsetopics ingest 'news/*.jsonl.gz' --stop-words english --out news
        sparsetopics ingest new.jsonl --vocabulary news --out heldout
    """
    from sparsetopics.cli.ingest_progress import showing_progress
    from sparsetopics.corpora.ingest import IngestOptions, ingest
    from sparsetopics.corpora.pruning import PruningOptions
    from sparsetopics.corpora.sources import ReadOptions

    options = IngestOptions(
        format=format_name,
        read=ReadOptions(text_field, id_field, label_field, encoding_errors, vocabulary_file),
        tokenizer=_tokenizer(token_pattern, lowercase),
        pruning=PruningOptions(min_df, max_df, max_words, _stop_words(stop_words)),
        vocabulary=vocabulary,
        workers=_default_workers() if workers is None else workers,
        overwrite=overwrite,
    )
    with showing_progress(quiet=quiet) as on_progress:
        summary = ingest(sources, out, options, on_progress)
    if as_json:
        click.echo(json.dumps(summary._asdict()))
    else:
        _print_summary(out, summary)


def _tokenizer(token_pattern: str | None, lowercase: bool | None) -> TokenizerOptions | None:
    """The settings, or None where nothing was said, so that a vocabulary's own are used."""
    from sparsetopics.corpora.tokenizer import DEFAULT_PATTERN, TokenizerOptions

    if token_pattern is None and lowercase is None:
        return None
    return TokenizerOptions(
        DEFAULT_PATTERN if token_pattern is None else token_pattern, lowercase is not False
    )


def _stop_words(choice: str) -> frozenset[str]:
    from sparsetopics.corpora.stop_words import english_stop_words, read_stop_words

    if choice == "none":
        return frozenset()
    return english_stop_words() if choice == "english" else read_stop_words(Path(choice))


def _default_workers() -> int:
    return min(_MOST_WORKERS, os.cpu_count() or 1)


def _print_summary(out: Path, summary: IngestSummary) -> None:
    click.echo(
        f"{out}: {summary.n_documents:,} documents, {summary.n_tokens:,} tokens, "
        f"{summary.n_words:,} words."
    )
    if summary.n_skipped:
        click.echo(f"{summary.n_skipped:,} documents skipped: no word of the vocabulary in them.")
    if summary.n_unknown_tokens:
        click.echo(f"{summary.n_unknown_tokens:,} tokens left out: not in the vocabulary.")
