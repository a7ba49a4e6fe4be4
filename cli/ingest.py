"""``sparsetopics ingest``."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparsetopics.base.sealed_files import absence
from sparsetopics.base.showing import shortened
from sparsetopics.base.wording import quantity
from sparsetopics.cli import shared_options as shared
from sparsetopics.cli.config_file import config_option
from sparsetopics.cli.parameter_types import NAMED_PATH, NEW_PATH, NameType
from sparsetopics.cli.printing import has_bars, note, say, show
from sparsetopics.options.ingest_table import INGEST_OPTION, MOST_WORKERS
from sparsetopics.options.option import Given, Value, refuse

if TYPE_CHECKING:
    from rich.status import Status

    from sparsetopics.corpora.ingest import IngestSummary, OnProgress
    from sparsetopics.corpora.ingest_options import IngestOptions
    from sparsetopics.corpora.text.vocabulary import Vocabulary

Sources = tuple[str, ...]
KINDS = ("documents", "vectors")
_SECONDS_BETWEEN_LINES = 10.0
_LONGEST_WORD = 40  # characters


@click.command(name="ingest", cls=shared.TableCommand)
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option("--out", type=NEW_PATH, help="Corpus folder to make.")
@click.option(
    "--append",
    "extended",
    metavar="CORPUS",
    type=NAMED_PATH,
    help="Add the documents to this corpus instead, with its words and tokenizer settings. "
    "Repeating the command adds nothing.",
)
@shared.overwrite_option("Replace the corpus if it exists.", with_no=True)
@click.option(
    "--kind",
    type=NameType(KINDS),
    help="What the tables contain: documents or vectors. Default: vectors if an option for vectors "
    "is given, else documents. Arrays and images always hold vectors.",
)
@config_option("min-df = 5")
@shared.add_options(map(shared.row_option, INGEST_OPTION.values()))
@shared.json_option(with_no=True)
def command(
    sources: Sources,
    out: Path | None,
    extended: Path | None,
    overwrite: bool,
    kind: str | None,
    **values: Value | None,
) -> None:
    """Make a corpus of documents or vectors. A SOURCE is a file, a folder, a .zip archive, a URL or
    a pattern; files may be compressed (.gz, .zst, .bz2).

    Documents without a word of the vocabulary are skipped and counted. The corpus holds their word
    counts, ids and labels; --keep adds their texts, which may be private, and other fields. Vectors
    are the rows of arrays, the numeric columns of tables, or grey images or their patches. To
    continue an interrupted ingest of text, repeat the command.

    \b
    Example:
        sparsetopics ingest 'stories/*.jsonl.gz' --stop-words english --out news
        sparsetopics ingest articles.csv --keep text,section,date --out articles
        sparsetopics ingest new.jsonl --vocabulary news --out heldout
        sparsetopics ingest newer.jsonl --append news --grow-vocabulary
        sparsetopics ingest news.zip --phrases --stop-words english --out phrases
        sparsetopics ingest photos/ --patches 8 --stride 4 --out patches
        sparsetopics ingest digits.npz --pca 50 --out digits
    """
    if out is None and extended is None:
        click.get_current_context().fail("Give either --out or --append.")
    if out is not None and extended is not None:
        refuse("append", "cannot be combined with --out")
    rows = [row for row in INGEST_OPTION.values() if not shared.is_turned_off(row)]
    given = {row.name: values[row.key] for row in rows if shared.is_given(row.key)}
    kind = _checked_kind(sources, given, kind, may_be_empty=extended is not None)
    usual = 1 if given.get("executor") == "serial" else min(MOST_WORKERS, os.cpu_count() or 1)
    given.setdefault("workers", usual)
    with _showing_progress() as on_progress:
        if kind == "documents":
            options = _document_options(given, overwrite=overwrite)
            made, lines = _documents(sources, out, extended, options, on_progress)
        elif out is None:
            refuse("append", "is for documents, but the sources hold vectors")
        else:
            made, lines = _vectors(sources, out, given, on_progress, overwrite=overwrite)
    files = made.pop("files")
    if files.read or files.said_of_left_out:
        say(str(files))
    if account := made.get("account"):
        made["account"] = account._asdict()
        all_skipped = [] if account.n_kept else [account.said_of_skipped]
        for sentence in (*all_skipped, *account.doubts()):
            say(f"Warning: {sentence}", "WARNING")
    show({**made, **files.as_dict()}, lines)


def _checked_kind(sources: Sources, given: Given, kind: str | None, *, may_be_empty: bool) -> str:
    """The kind of corpus to make; raises OptionError if an option is for the other kind."""
    from sparsetopics.corpora.readers.formats import kind_of_sources
    from sparsetopics.corpora.sources.source_files import without_empty

    if may_be_empty and not (sources := tuple(map(str, without_empty(sources)))):
        return "documents"
    named = given.get("format")
    kind_if = partial(
        kind_of_sources, sources, None if named is None else str(named),
        follow_links=bool(given.get("follow-links")),
    )  # fmt: skip
    if kind is None:
        kind = kind_if(wants_vectors=any(not INGEST_OPTION[n].is_for("documents") for n in given))
    for name in given:
        if INGEST_OPTION[name].is_for(kind):
            continue
        is_open = kind_if(wants_vectors=True) != kind_if(wants_vectors=False)
        hint = "--kind says what tables hold." if is_open else "Leave it out."
        holding = f"{sources[0]} holds" if len(sources) == 1 else "the sources hold"
        (other,) = INGEST_OPTION[name].only_for
        refuse(name, f"is for {other}, but {holding} {kind}", hint)
    return kind


def _document_options(given: dict[str, Value | None], *, overwrite: bool) -> IngestOptions:
    """The options of the library; raises OptionError if they do not fit together."""
    from sparsetopics.corpora.ingest_options import document_options
    from sparsetopics.corpora.text.stop_words import stop_words_of_lists

    choices, folder = given.get("stop-words"), given.pop("vocabulary", None)
    if isinstance(choices, tuple):
        given["stop-words"] = stop_words_of_lists([str(choice) for choice in choices])
    vocabulary = _vocabulary(folder) if isinstance(folder, Path) else None
    return document_options(given, vocabulary=vocabulary, overwrite=overwrite)


def _vocabulary(folder: Path) -> Path | Vocabulary:
    """A corpus folder as it is, or the vocabulary of a run, because ingest knows corpora only."""
    from sparsetopics.runs.run_files import SETTINGS_FILE, vocabulary_of

    if os.path.isfile(folder):  # False for names that no file has
        refuse("vocabulary", f"must be the folder of a corpus or a run, but {folder} is a file")
    return folder if absence(folder / SETTINGS_FILE) else vocabulary_of(folder)


# --- what was made --------------------------------------------------------------------------------
def _documents(
    sources: Sources,
    out: Path | None,
    extended: Path | None,
    options: IngestOptions,
    on_progress: OnProgress,
) -> tuple[dict[str, Any], list[str]]:  # as ``show`` takes them
    from sparsetopics.corpora.append import append
    from sparsetopics.corpora.ingest import ingest

    if out is not None:
        summary = ingest(sources, out, options, on_progress, say)
        return summary._asdict(), _sentences(out, summary, "")
    assert extended is not None  # one of the two was given
    n_added, summary = append(sources, extended, options, on_progress, say)
    lines = _sentences(extended, summary, f", {n_added:,} of them new")
    return {"n_added": n_added, **summary._asdict()}, lines


def _vectors(
    sources: Sources, out: Path, given: Given, on_progress: OnProgress, *, overwrite: bool
) -> tuple[dict[str, Any], list[str]]:  # as ``show`` takes them
    from sparsetopics.corpora.ingest_options import vector_options
    from sparsetopics.corpora.ingest_vectors import ingest_vectors

    options = vector_options(given, overwrite=overwrite)
    summary = ingest_vectors(sources, out, options, on_progress, say)
    line = f"{out}: {quantity(summary.n_items, 'item')} of {quantity(summary.n_columns, 'column')}."
    return summary._asdict(), [line]


def _sentences(out: Path, summary: IngestSummary, added: str) -> list[str]:
    from sparsetopics.corpora.readers.fields import described, said_of_unkept

    sentences = [
        f"{out}: {quantity(summary.n_documents, 'document')}{added}, "
        f"{quantity(summary.n_tokens, 'token')}, {quantity(summary.n_words, 'word')}."
    ]
    if summary.n_new_words:
        more = ", …" if summary.n_new_words > len(summary.new_words) else ""
        new = quantity(summary.n_new_words, "new word")
        named = ", ".join(shortened(word, _LONGEST_WORD) for word in summary.new_words)
        sentences.append(f"Added {new} to the vocabulary: {named}{more}.")
    if summary.fields:
        sentences.append(f"Kept {described(summary.fields, summary.notes)}.")
        sentences += filter(None, [said_of_unkept(summary.fields, summary.notes)])
    if (account := summary.account) is not None:
        sentences += [account.said_of_skipped] if account.skipped and account.n_kept else []
        sentences.append(str(account))
    return sentences


# --- progress on stderr ---------------------------------------------------------------------------
@contextmanager
def _showing_progress() -> Iterator[OnProgress]:
    """Yield a callback that shows a moving line in a terminal, or else a line now and then."""
    last = time.monotonic()

    def tell(progress: str) -> None:
        nonlocal last
        if status is not None:
            status.update(progress)
        if time.monotonic() - last >= _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            (say if status is None else note)(progress)

    with _moving_line() if has_bars() else nullcontext() as status:
        yield tell


def _moving_line() -> Status:
    from rich.console import Console

    return Console(stderr=True).status("starting")
