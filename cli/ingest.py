"""``sparsetopics ingest``."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from sparsetopics.base.wording import quantity
from sparsetopics.cli.ingest_options import (
    HELP_SECTIONS,
    NEEDS,
    CommonChoices,
    DocumentChoices,
    VectorChoices,
    common_options,
    document_options,
    vector_options,
)
from sparsetopics.cli.parameter_types import NAMED_PATH, NEW_PATH, NameType
from sparsetopics.cli.printing import say, show
from sparsetopics.cli.shared_options import check_needs, command_with, given_options
from sparsetopics.options.option import refuse

if TYPE_CHECKING:
    from sparsetopics.corpora.ingest import IngestOptions, IngestProgress, IngestSummary, OnProgress
    from sparsetopics.corpora.ingest_vectors import VectorOptions, VectorSummary
    from sparsetopics.corpora.sources.account import FileAccount

Sources = tuple[str, ...]
_CHOICES = {"documents": DocumentChoices, "vectors": VectorChoices}
_SECONDS_BETWEEN_LINES = 10.0


@click.command(name="ingest", cls=command_with(HELP_SECTIONS))
@click.pass_context
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option("--out", type=NEW_PATH, help="Corpus folder to make.")
@click.option(
    "--append",
    "extended",
    metavar="CORPUS",
    type=NAMED_PATH,
    help="Add the documents to this corpus instead, with its words and tokenizer settings.",
)
@click.option(
    "--kind",
    type=NameType(list(_CHOICES)),
    help="What the tables contain: documents or vectors. Default: vectors if an option for vectors "
    "is given, else documents. Arrays and images always hold vectors.",
)
@document_options
@vector_options
@common_options
@click.option("--quiet", is_flag=True, help="Do not show progress.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    ctx: click.Context,
    sources: Sources,
    out: Path | None,
    extended: Path | None,
    kind: str | None,
    documents: DocumentChoices,
    vectors: VectorChoices,
    common: CommonChoices,
    quiet: bool,
    as_json: bool,
) -> None:
    """Make a corpus of documents or vectors. A SOURCE is a file, a folder, a .zip archive, a URL or
    a pattern; files may be compressed (.gz, .zst).

    Documents without a word of the vocabulary are skipped and counted. The corpus holds their word
    counts, ids and labels; --keep adds their texts, which may be private, and other fields. Vectors
    are the rows of arrays, the numeric columns of tables, or grey images or their patches. To
    continue an interrupted ingest of text, repeat the command.

    \b
    Example:
        sparsetopics ingest 'stories/*.jsonl.gz' --stop-words english --out news
        sparsetopics ingest articles.csv --keep text,section,date --out articles
        sparsetopics ingest new.jsonl --vocabulary news --out heldout
        sparsetopics ingest newer.jsonl --append news
        sparsetopics ingest news.zip --phrases --stop-words english --out phrases
        sparsetopics ingest photos/ --patches 8 --stride 4 --out patches
        sparsetopics ingest digits.npz --pca 50 --out digits
    """
    if out is None and extended is None:
        raise click.UsageError("Give either --out or --append.", ctx)
    if out is not None and extended is not None:
        refuse("append", "cannot be combined with --out")
    check_needs(ctx, NEEDS)
    kind = _checked_kind(ctx, sources, common, kind)
    with _showing_progress(quiet=quiet) as on_progress:
        if kind == "vectors":
            if out is None:
                refuse("append", "is for documents, but the sources hold vectors")
            made = _vectors(sources, out, vectors.resolved(common), on_progress)
        elif out is not None:
            made = _documents(sources, out, documents.resolved(common), on_progress)
        else:
            assert extended is not None  # one of the two was given
            made = _append(sources, extended, documents.resolved(common), on_progress)
    if not quiet or made.files.said_of_left_out:
        say(str(made.files))
    show({**made.numbers, **made.files.as_dict()}, made.lines, as_json=as_json)


def _checked_kind(
    ctx: click.Context, sources: Sources, common: CommonChoices, kind: str | None
) -> str:
    """The kind of corpus to make; raises OptionError if an option is for the other kind."""
    from sparsetopics.corpora.readers.formats import kind_of_sources

    def kind_if(*, wants_vectors: bool) -> str:
        return kind_of_sources(
            sources,
            common.format_name,
            wants_vectors=wants_vectors,
            follow_links=common.follow_links,
        )

    if kind is None:
        kind = kind_if(wants_vectors=bool(given_options(ctx, VectorChoices)))
    (other,) = _CHOICES.keys() - {kind}
    for name in given_options(ctx, _CHOICES[other]):
        is_open = kind_if(wants_vectors=True) != kind_if(wants_vectors=False)
        hint = "--kind says what tables hold." if is_open else "Leave it out."
        holding = f"{sources[0]} holds" if len(sources) == 1 else "the sources hold"
        refuse(name, f"is for {other}, but {holding} {kind}", hint)
    return kind


class _Result(NamedTuple):
    """What an ingest has made and read."""

    numbers: dict[str, int | Mapping[str, str]]  # by the names of --json; also the fields
    lines: list[str]
    files: FileAccount


def _documents(
    sources: Sources, out: Path, options: IngestOptions, on_progress: OnProgress
) -> _Result:
    from sparsetopics.corpora.ingest import ingest

    summary = ingest(sources, out, options, on_progress, say)
    return _Result(_numbers(summary), _sentences(out, summary, ""), summary.files)


def _append(
    sources: Sources, corpus: Path, options: IngestOptions, on_progress: OnProgress
) -> _Result:
    from sparsetopics.corpora.append import append

    n_added, summary = append(sources, corpus, options, on_progress, say)
    lines = _sentences(corpus, summary, f", {n_added:,} of them new")
    return _Result({"n_added": n_added, **_numbers(summary)}, lines, summary.files)


def _vectors(
    sources: Sources, out: Path, options: VectorOptions, on_progress: OnProgress
) -> _Result:
    from sparsetopics.corpora.ingest_vectors import ingest_vectors

    summary = ingest_vectors(sources, out, options, on_progress, say)
    line = f"{out}: {quantity(summary.n_items, 'item')} of {quantity(summary.n_columns, 'column')}."
    return _Result(_numbers(summary), [line], summary.files)


def _numbers(summary: IngestSummary | VectorSummary) -> dict[str, int | Mapping[str, str]]:
    numbers = summary._asdict()
    del numbers["files"]
    return numbers


def _sentences(out: Path, summary: IngestSummary, added: str) -> list[str]:
    from sparsetopics.corpora.readers.fields import described

    sentences = [
        f"{out}: {quantity(summary.n_documents, 'document')}{added}, "
        f"{quantity(summary.n_tokens, 'token')}, {quantity(summary.n_words, 'word')}."
    ]
    if summary.fields:
        sentences.append(f"Kept {described(summary.fields)}.")
    where = " (in the whole corpus)" if added else ""
    if summary.n_skipped:
        skipped = quantity(summary.n_skipped, "document")
        sentences.append(f"Skipped {skipped} without a known word{where}.")
    if summary.n_unknown_tokens:
        unknown = quantity(summary.n_unknown_tokens, "token")
        sentences.append(f"Left out {unknown} that the vocabulary does not have{where}.")
    return sentences


# --- progress on stderr ---------------------------------------------------------------------------
@contextmanager
def _showing_progress(*, quiet: bool) -> Iterator[OnProgress]:
    """Yield a callback that shows a moving line in a terminal, or else a line now and then."""
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with _spinner() as on_progress:
            yield on_progress
    else:
        yield _occasional_lines()


@contextmanager
def _spinner() -> Iterator[OnProgress]:
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield lambda progress: status.update(str(progress))


def _occasional_lines() -> OnProgress:
    last = time.monotonic()

    def on_progress(progress: IngestProgress) -> None:
        nonlocal last
        if time.monotonic() - last >= _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            say(str(progress))

    return on_progress
