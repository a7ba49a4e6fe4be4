"""``sparsetopics ingest``."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from sparsetopics.base.errors import OptionError
from sparsetopics.cli.help_sections import command_with
from sparsetopics.cli.ingest_documents import DocumentChoices, document_options
from sparsetopics.cli.ingest_progress import showing_progress
from sparsetopics.cli.ingest_vectors import VectorChoices, vector_options
from sparsetopics.cli.named_path import NAMED_PATH
from sparsetopics.cli.option_groups import given_options, option_group
from sparsetopics.cli.workplace_options import EXECUTOR_OPTIONS, WORKERS_HELP
from sparsetopics.options.training import ExecutorName, Workplace

if TYPE_CHECKING:
    from sparsetopics.corpora.ingest import IngestOptions, IngestSummary
    from sparsetopics.corpora.ingest_vectors import VectorOptions

Sources = tuple[str, ...]

_MOST_WORKERS = 4  # by default: each adds some 150 MB
_DOCUMENTS, _VECTORS = "documents", "vectors"
_HELP_SECTIONS = {
    "Words": (
        "stop_words", "min_df", "max_df", "max_words", "ngrams", "phrases", "phrase_threshold",
        "token_pattern", "lowercase", "tokenizer",
    ),
    "Sources": (
        "format_name", "kind", "text_field", "id_field", "label_field", "vocabulary_file",
        "encoding_errors", "follow_links",
    ),
    "Vectors and images": (
        "columns", "values_field", "patches", "stride", "pca", "whiten", "seed", "projection",
    ),
    "Carrying it out": ("workers", "executor", "scheduler"),
}  # fmt: skip
_CHOICES = {_DOCUMENTS: DocumentChoices, _VECTORS: VectorChoices}


@dataclass(frozen=True)
class _WhereChoices:
    """What the user said of where work is done."""

    workers: int | None
    executor: ExecutorName
    scheduler: str | None

    @property
    def place(self) -> Workplace:
        """The same, checked; raises OptionError."""
        return Workplace(self.executor, self._n_workers, self.scheduler)

    @property
    def _n_workers(self) -> int:
        if self.workers is not None:
            return self.workers
        return 1 if self.executor == "serial" else min(_MOST_WORKERS, os.cpu_count() or 1)


_where_options = option_group(
    "where",
    _WhereChoices,
    [
        click.option(
            "--workers",
            type=int,
            help=f"{WORKERS_HELP} Default: one a core, at most {_MOST_WORKERS}.",
        ),
        *EXECUTOR_OPTIONS,
    ],
)


class _Common(NamedTuple):
    """What is said of both kinds."""

    format_name: str | None
    id_field: str | None
    label_field: str | None
    place: Workplace
    overwrite: bool
    follow_links: bool


@click.command(name="ingest", cls=command_with(_HELP_SECTIONS))
@click.pass_context
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option("--out", type=click.Path(path_type=Path), help="Corpus folder to make.")
@click.option(
    "--append",
    "extended",
    metavar="CORPUS",
    type=NAMED_PATH,
    help="Add the documents to this corpus instead, under its words and tokeniser settings.",
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
@click.option(
    "--id-field", help="Field that names a document or item. Default: id if there is one."
)
@click.option("--label-field", help="Field that holds a label. Default: label if there is one.")
@click.option(
    "--follow-links",
    is_flag=True,
    help="Also read links in folders that point outside the folder or to another folder.",
)
@document_options
@vector_options
@_where_options
@click.option("--overwrite", is_flag=True, help="Replace the corpus if it exists.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    ctx: click.Context,
    sources: Sources,
    out: Path | None,
    extended: Path | None,
    format_name: str | None,
    kind: str | None,
    id_field: str | None,
    label_field: str | None,
    follow_links: bool,
    documents: DocumentChoices,
    vectors: VectorChoices,
    where: _WhereChoices,
    overwrite: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Make a corpus of documents or of vectors: files, folders, .zip archives, patterns or URLs,
    each file also as .gz or .zst.

    Documents without a word of the vocabulary are left out and counted as skipped. Vectors are
    the rows of arrays, the numeric columns of tables, or patches of images in grey. If the ingest
    of text is interrupted, the same command goes on from there.

    \b
    Example:
        sparsetopics ingest 'stories/*.jsonl.gz' --stop-words english --out news
        sparsetopics ingest new.jsonl --vocabulary news --out heldout
        sparsetopics ingest newer.jsonl --append news
        sparsetopics ingest news.zip --phrases --stop-words english --out phrases
        sparsetopics ingest photos/ --patches 8 --stride 4 --out patches
        sparsetopics ingest digits.npz --pca 50 --out digits
    """
    if (out is None) == (extended is None):
        raise click.UsageError("Say one of --out and --append.", ctx)
    common = _Common(format_name, id_field, label_field, where.place, overwrite, follow_links)
    is_of_vectors = _checked_kind(ctx, sources, common, kind) == _VECTORS
    if out is None:
        assert extended is not None  # one of them is there
        if is_of_vectors:
            raise OptionError("--append", found="vectors", wanted="documents")
        result = _append(sources, extended, _document_options(common, documents), quiet=quiet)
    elif is_of_vectors:
        result = _ingest_vectors(sources, out, _vector_options(common, vectors), quiet=quiet)
    else:
        result = _ingest(sources, out, _document_options(common, documents), quiet=quiet)
    if as_json:
        click.echo(json.dumps(result.numbers))
    else:
        for line in result.lines:
            click.echo(line)


class _Result(NamedTuple):
    """What is printed in the end."""

    numbers: dict[str, int]
    lines: list[str]


def _ingest(sources: Sources, out: Path, options: IngestOptions, *, quiet: bool) -> _Result:
    from sparsetopics.corpora.ingest import ingest

    with showing_progress(quiet=quiet) as on_progress:
        summary = ingest(sources, out, options, on_progress, _say)
    return _Result(summary._asdict(), _sentences(out, summary, ""))


def _append(sources: Sources, corpus: Path, options: IngestOptions, *, quiet: bool) -> _Result:
    from sparsetopics.corpora.append import append

    with showing_progress(quiet=quiet) as on_progress:
        n_added, summary = append(sources, corpus, options, on_progress, _say)
    sentences = _sentences(corpus, summary, f", {n_added:,} of them new")
    return _Result({"n_added": n_added} | summary._asdict(), sentences)


def _ingest_vectors(sources: Sources, out: Path, options: VectorOptions, *, quiet: bool) -> _Result:
    from sparsetopics.corpora.ingest_vectors import ingest_vectors

    with showing_progress(quiet=quiet) as on_progress:
        summary = ingest_vectors(sources, out, options, on_progress, _say)
    sentence = f"{out}: {summary.n_items:,} items of {summary.n_columns:,} columns."
    return _Result(summary._asdict(), [sentence])


def _say(sentence: str) -> None:
    click.echo(sentence, err=True)


def _sentences(out: Path, summary: IngestSummary, added: str) -> list[str]:
    said = [
        f"{out}: {summary.n_documents:,} documents{added}, {summary.n_tokens:,} tokens, "
        f"{summary.n_words:,} words."
    ]
    if summary.n_skipped:
        said.append(f"{summary.n_skipped:,} documents skipped: no word of the vocabulary in them.")
    if summary.n_unknown_tokens:
        said.append(f"{summary.n_unknown_tokens:,} tokens left out: not in the vocabulary.")
    return said


def _checked_kind(ctx: click.Context, sources: Sources, common: _Common, kind: str | None) -> str:
    """Which corpus the sources make; OptionError for an option that is for the other kind."""
    from sparsetopics.corpora.readers.vector_formats import kind_of_sources

    if kind is None:
        wants_vectors = bool(given_options(ctx, VectorChoices))
        kind = kind_of_sources(
            sources,
            common.format_name,
            wants_vectors=wants_vectors,
            follow_links=common.follow_links,
        )
    other = _DOCUMENTS if kind == _VECTORS else _VECTORS
    for name in given_options(ctx, _CHOICES[other]):
        raise OptionError(
            name,
            found=f"an option for {other} where the corpus is of {kind}",
            wanted="it left out",
            hint="--kind says what tables hold.",
        )
    return kind


def _document_options(common: _Common, chosen: DocumentChoices) -> IngestOptions:
    from sparsetopics.corpora.ingest import IngestOptions
    from sparsetopics.corpora.sources.sources import ReadOptions

    return IngestOptions(
        format=common.format_name,
        read=ReadOptions(
            chosen.text_field,
            common.id_field,
            common.label_field,
            chosen.encoding_errors,
            chosen.vocabulary_file,
        ),
        tokenizer=chosen.tokenizer_options(),
        phrases=chosen.phrase_options(),
        pruning=chosen.pruning_options(),
        vocabulary=chosen.vocabulary,
        workers=common.place.workers,
        overwrite=common.overwrite,
        executor=common.place.executor,
        scheduler=common.place.scheduler,
        follow_links=common.follow_links,
    )


def _vector_options(common: _Common, chosen: VectorChoices) -> VectorOptions:
    from sparsetopics.corpora.ingest_vectors import VectorOptions
    from sparsetopics.corpora.readers.vector_blocks import VectorReadOptions

    return VectorOptions(
        format=common.format_name,
        read=VectorReadOptions(
            chosen.columns,
            chosen.values_field,
            common.id_field,
            common.label_field,
            chosen.patches,
            chosen.stride,
        ),
        pca=chosen.pca_options(),
        projection=chosen.projection,
        workers=common.place.workers,
        overwrite=common.overwrite,
        executor=common.place.executor,
        scheduler=common.place.scheduler,
        follow_links=common.follow_links,
    )
