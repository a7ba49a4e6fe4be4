"""``sparsetopics ingest``."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from sparsetopics.errors import OptionError

if TYPE_CHECKING:
    from sparsetopics.corpora.ingest import IngestSummary
    from sparsetopics.corpora.ingest_vectors import VectorSummary
    from sparsetopics.corpora.projection import PcaOptions
    from sparsetopics.corpora.tokenizer import TokenizerOptions

_MOST_WORKERS = 4  # by default: each adds some 150 MB
_DOCUMENTS, _VECTORS = "documents", "vectors"
_ONLY_FOR = {
    _DOCUMENTS: (
        *("text_field", "vocabulary_file", "encoding_errors", "token_pattern", "lowercase"),
        *("stop_words", "min_df", "max_df", "max_words", "vocabulary"),
    ),
    _VECTORS: (
        *("columns", "values_field", "patches", "stride", "pca", "whiten", "seed", "projection"),
    ),
}


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


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(name.strip() for name in value.split(","))


@click.command(name="ingest")
@click.pass_context
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="Corpus folder to make."
)
@click.option(
    "--format",
    "format_name",
    metavar="NAME",
    help="Documents: text (a file a document), lines (a line a document), jsonl, csv, parquet, "
    "arrow, uci, ldac or matrix-market. Vectors: npy, npz, csv, parquet, arrow or image. Default: "
    "by extension.",
)
@click.option(
    "--kind",
    type=click.Choice([_DOCUMENTS, _VECTORS]),
    help="What tables hold. Default: vectors for arrays and images, and for tables if an option "
    "for vectors is used; else documents.",
)
@click.option("--text-field", default="text", show_default=True, help="Field that holds the text.")
@click.option(
    "--id-field", help="Field that names a document or item. Default: id if there is one."
)
@click.option("--label-field", help="Field that holds a label. Default: label if there is one.")
@click.option(
    "--vocabulary-file",
    type=click.Path(path_type=Path),
    help="Words of a collection of counts (uci, ldac, matrix-market): one a line, or gensim's "
    "dictionary as text. Default: a file such as vocab.NAME.txt or NAME.vocab beside it.",
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
    help="Leave out words in fewer documents. Default: 2; 1 for counts and below 100 documents.",
)
@click.option(
    "--max-df",
    callback=_share_or_count,
    metavar="SHARE|COUNT",
    help="Leave out words in more documents. Default: 0.5; 1.0 for counts and below 100 documents.",
)
@click.option("--max-words", type=int, help="Keep only the most frequent words.")
@click.option(
    "--vocabulary",
    type=click.Path(path_type=Path),
    help="Use the words, and the tokeniser settings, of this corpus or run as they are.",
)
@click.option(
    "--columns",
    callback=_names,
    metavar="A,B,...",
    help="Vectors: columns of a table that hold the values. Default: all numeric ones.",
)
@click.option(
    "--values-field",
    help="Vectors: array of an .npz that holds the values. Default: values, or the only matrix.",
)
@click.option(
    "--patches",
    type=int,
    metavar="SIDE",
    help="Images: cut into squares of so many pixels, less their mean: SIDE² - 1 columns, the "
    "cosine transform without its constant. Default: whole images.",
)
@click.option("--stride", type=int, help="Images: pixels from patch to patch. Default: SIDE.")
@click.option(
    "--pca", type=int, metavar="D", help="Vectors: project onto the D leading components."
)
@click.option("--whiten", is_flag=True, help="With --pca: give each component unit variance.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="With --pca: seed of the sample that it is fitted on.",
)
@click.option(
    "--projection",
    type=click.Path(path_type=Path),
    help="Vectors: project as this corpus was, and read the same columns or patches.",
)
@click.option("--workers", type=int, help=f"Threads. Default: one a core, at most {_MOST_WORKERS}.")
@click.option("--overwrite", is_flag=True, help="Replace the corpus if it exists.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    ctx: click.Context,
    sources: tuple[str, ...],
    out: Path,
    format_name: str | None,
    kind: str | None,
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
    columns: tuple[str, ...] | None,
    values_field: str | None,
    patches: int | None,
    stride: int | None,
    pca: int | None,
    whiten: bool,
    seed: int,
    projection: Path | None,
    workers: int | None,
    overwrite: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Make a corpus of documents or of vectors: files, folders, .zip archives or patterns, each
    file also as .gz or .zst.

    Documents without a word of the vocabulary are left out and counted as skipped. Vectors are
    the rows of arrays, the numeric columns of tables, or patches of images in grey.

    \b
    Example:
        sparsetopics ingest 'news/*.jsonl.gz' --stop-words english --out news
        sparsetopics ingest new.jsonl --vocabulary news --out heldout
        sparsetopics ingest photos/ --patches 8 --stride 4 --out patches
        sparsetopics ingest digits.npz --pca 50 --out digits
    """
    from sparsetopics.cli.ingest_progress import showing_progress
    from sparsetopics.corpora.ingest import IngestOptions, ingest
    from sparsetopics.corpora.ingest_vectors import VectorOptions, ingest_vectors
    from sparsetopics.corpora.pruning import PruningOptions
    from sparsetopics.corpora.sources import ReadOptions
    from sparsetopics.corpora.vector_blocks import VectorReadOptions

    n_workers = _default_workers() if workers is None else workers
    summary: IngestSummary | VectorSummary
    if _checked_kind(ctx, sources, format_name, kind) == _VECTORS:
        vector_options = VectorOptions(
            format=format_name,
            read=VectorReadOptions(columns, values_field, id_field, label_field, patches, stride),
            pca=_pca(pca, whiten, seed),
            projection=projection,
            workers=n_workers,
            overwrite=overwrite,
        )
        with showing_progress(quiet=quiet) as on_progress:
            summary = ingest_vectors(sources, out, vector_options, on_progress)
    else:
        options = IngestOptions(
            format=format_name,
            read=ReadOptions(text_field, id_field, label_field, encoding_errors, vocabulary_file),
            tokenizer=_tokenizer(token_pattern, lowercase),
            pruning=PruningOptions(min_df, max_df, max_words, _stop_words(stop_words)),
            vocabulary=vocabulary,
            workers=n_workers,
            overwrite=overwrite,
        )
        with showing_progress(quiet=quiet) as on_progress:
            summary = ingest(sources, out, options, on_progress)
    if as_json:
        click.echo(json.dumps(summary._asdict()))
    else:
        _print_summary(out, summary)


def _checked_kind(
    ctx: click.Context, sources: tuple[str, ...], format_name: str | None, kind: str | None
) -> str:
    """Which corpus the sources make; OptionError for an option that is for the other kind."""
    from sparsetopics.corpora.vector_formats import kind_of_sources

    def given(names: tuple[str, ...]) -> list[str]:
        default = ParameterSource.DEFAULT
        return [name for name in names if ctx.get_parameter_source(name) is not default]

    if kind is None:
        wants_vectors = bool(given(_ONLY_FOR[_VECTORS]))
        kind = kind_of_sources(sources, format_name, wants_vectors=wants_vectors)
    other = _DOCUMENTS if kind == _VECTORS else _VECTORS
    for name in given(_ONLY_FOR[other]):
        raise OptionError(
            f"--{name.replace('_', '-')}",
            found=f"an option for {other} where the corpus is of {kind}",
            wanted="it left out",
            hint="--kind says what tables hold.",
        )
    return kind


def _pca(n_components: int | None, whiten: bool, seed: int) -> PcaOptions | None:
    from sparsetopics.corpora.projection import PcaOptions

    if n_components is None:
        if whiten:
            raise OptionError("--whiten", found="no --pca", wanted="both")
        return None
    return PcaOptions(n_components, whiten, seed)


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


def _print_summary(out: Path, summary: IngestSummary | VectorSummary) -> None:
    from sparsetopics.corpora.ingest import IngestSummary

    if not isinstance(summary, IngestSummary):
        click.echo(f"{out}: {summary.n_items:,} items of {summary.n_columns:,} columns.")
        return
    click.echo(
        f"{out}: {summary.n_documents:,} documents, {summary.n_tokens:,} tokens, "
        f"{summary.n_words:,} words."
    )
    if summary.n_skipped:
        click.echo(f"{summary.n_skipped:,} documents skipped: no word of the vocabulary in them.")
    if summary.n_unknown_tokens:
        click.echo(f"{summary.n_unknown_tokens:,} tokens left out: not in the vocabulary.")
