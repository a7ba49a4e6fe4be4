"""Adding documents to a corpus folder: new shards, and last a new manifest that lists them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import msgspec

from sparsetopics.base.errors import OptionError, OutputError
from sparsetopics.base.outputs import refuse_inputs
from sparsetopics.base.staging import refusing
from sparsetopics.base.transactions import APPEND_FOLDER, Workspace
from sparsetopics.base.wording import listed, quantity
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.ingest import (
    IngestSummary,
    OnProgress,
    Reading,
    WrittenShards,
    counted_blocks,
    settle_tokenizer,
    write_shards,
)
from sparsetopics.corpora.ingest_options import IngestOptions, job_of
from sparsetopics.corpora.readers.fields import as_asked
from sparsetopics.corpora.readers.formats import TextCollection
from sparsetopics.corpora.readers.options import DATE_FORMAT, KEEP
from sparsetopics.corpora.repeated_ids import SKIP, Extended
from sparsetopics.corpora.sources.account import FileAccount
from sparsetopics.corpora.sources.source_files import local_paths, names_of
from sparsetopics.corpora.store.document_rows import DocumentManifest, settings_hash
from sparsetopics.corpora.store.manifest import FILE_NAME, files_of
from sparsetopics.corpora.store.unfinished import SPOOL, Spool
from sparsetopics.corpora.text.tokenizer import TokenizerOptions
from sparsetopics.execution.executors import open_cluster_map, open_local_map

_UNCHANGED = "which keeps the words of the corpus"


def append(
    sources: Iterable[str | Path],
    corpus: str | Path,
    options: IngestOptions | None = None,
    on_progress: OnProgress = lambda _: None,
    say: Callable[[str], None] = lambda _: None,
) -> tuple[int, IngestSummary]:
    """Add the documents of files, folders and patterns to a corpus, under its vocabulary.

    Return the number of documents that were added, and what the corpus holds now.

    Words, their frequencies and the tokeniser do not change; a tokeniser in ``options`` must be
    that of the corpus. If anything fails, the corpus stays as it was. If a process was killed after
    it had committed the documents, the same call completes that append and adds nothing. ``say``
    gets a sentence about this, about skipped links, and if there are no documents to add. Raises
    SourceError for input that cannot be read, and OutputError if the folder cannot be written or
    another process changes it meanwhile.
    """
    options = options or IngestOptions()
    _check_options(options)
    folder, sources = Path(corpus), list(sources)
    refuse_inputs(folder, local_paths(sources))
    collection = options.find(sources, say)
    job = job_of(sources, collection, options)
    with (
        open_cluster_map(options.where) as cluster_map,
        _workspace_in(folder) as workspace,
        ExitStack() as opened,
        open_local_map(options.where) as here,
    ):
        if job is not None and workspace.committed_job == job.text:
            say(f"{folder}: an append of the same documents was interrupted; it is complete now.")
            files = FileAccount((), collection.account.left_out)
            return 0, IngestSummary.of(DocumentManifest.load(folder), files)
        workspace.clear()
        workspace.new.mkdir()
        before = DocumentManifest.load(folder)
        options = _keeping(options, before, collection)
        reading = Reading(collection, options, cluster_map or here, here, on_progress, opened)
        longer, written, n_repeated = _write(workspace, reading, folder, before)
        if n_repeated:
            say(f"{folder}: left out {quantity(n_repeated, 'document')} with an id that is taken.")
        if not written.shards:
            if written.skipped and not n_repeated:
                raise written.error
            say(f"{folder}: there were no documents to add.")
            return 0, IngestSummary.of(before, collection.account)._replace(n_repeated=n_repeated)
        if DocumentManifest.load(folder) != before:
            raise OutputError(str(folder), "the corpus has changed meanwhile", "Append again.")
        added = [file.file for file in files_of(longer.shards[len(before.shards) :])]
        for name in added:
            if os.path.lexists(folder / name):
                problem = "a file that is not part of the corpus has the name of a new shard"
                raise OutputError(str(folder / name), problem, "Move it away.")
        workspace.commit([*added, FILE_NAME], job="" if job is None else job.text)
    n_added = longer.sizes.n_docs - before.sizes.n_docs
    # Only the first documents are read for this remark.
    if written.n_unlabelled and {*Corpus.open(folder).row_groups[0].read_labels()} != {None}:
        problem = f"{written.n_unlabelled:,} of {quantity(n_added, 'new document')} without a label"
        say(f"{folder}: {problem}, but the corpus has labels. --label-field names their field.")
    summary = IngestSummary.of(longer, collection.account)
    return n_added, summary._replace(account=written.account_of(None, None), n_repeated=n_repeated)


def _write(
    workspace: Workspace, reading: Reading, folder: Path, before: DocumentManifest
) -> tuple[DocumentManifest, WrittenShards, int]:
    """Write the new shards and the longer manifest; return it, what was written, and the number of
    documents that were left out because of their ids."""
    corpus = Corpus.open(folder)
    vocabulary = corpus.vocabulary
    tokenizer = settle_tokenizer(reading, vocabulary)
    _check_tokenizer(tokenizer, before, names_of(reading.collection.files))
    n_names = before.sizes.n_docs + before.n_skipped
    has_ids = before.has_ids or not _are_positions(corpus.row_groups[0].read_ids(), n_names)
    spool = None
    if reading.options.read.duplicate_ids == SKIP:
        spool = Spool(workspace.folder / SPOOL, "")
        spool.folder.mkdir()
    extended = Extended(str(folder), corpus.row_groups, n_names, has_ids)
    ids = reading.given_ids(workspace.folder, spool, extended)
    blocks = ids.named(counted_blocks(reading, tokenizer, ids, spool))
    of_corpus = vocabulary, before.fields
    written = write_shards(workspace.new, blocks, *of_corpus, ids, reading, len(before.shards))
    longer = msgspec.structs.replace(
        before,
        shards=before.shards + written.shards,
        n_skipped=before.n_skipped + len(written.skipped),
        n_unknown_tokens=before.n_unknown_tokens + written.n_unknown_tokens,
        has_ids=ids.are_given,
    )
    longer.save(workspace.new)
    return longer, written, ids.n_skipped


def _are_positions(ids: Sequence[str], n_names: int) -> bool:
    """Whether these, the first ids of a corpus, seem to be positions of documents, of which some
    were skipped. The manifests of earlier releases do not say."""
    numbers = [int(name) for name in ids if name.isascii() and name.isdecimal() and len(name) < 19]
    are_numbers = [*map(str, numbers)] == [*ids]
    return are_numbers and all(a < b for a, b in pairwise([-1, *numbers, n_names]))


def _check_options(options: IngestOptions) -> None:
    language = None if options.tokenizer is None else options.tokenizer.language
    for name, given, why in (
        ("vocabulary", options.vocabulary is not None, _UNCHANGED),
        ("phrases", options.phrases is not None, _UNCHANGED),
        ("language", language is not None, _UNCHANGED),
        ("overwrite", options.overwrite, _UNCHANGED),
        (KEEP, options.read.keep, "which keeps the fields of the corpus"),
        (DATE_FORMAT, options.read.date_format, "which uses the formats of the corpus"),
    ):
        if given:
            raise OptionError(name, f"cannot be combined with --append, {why}")
    options.pruning.refuse_beside("append", _UNCHANGED)


def _keeping(
    options: IngestOptions, manifest: DocumentManifest, collection: TextCollection
) -> IngestOptions:
    """The options with the fields of the corpus; OptionError if the sources have none."""
    rules = manifest.rules
    read = replace(
        options.read,
        keep=as_asked(manifest.fields),
        date_format=[f"{name}={how}" for name, how in rules.date_formats.items()],
        missing=options.read.missing.union(rules.missing),
    )
    if read.keep and not collection.format.has(read.kept):
        problem = f"the corpus keeps {listed(list(manifest.fields))}, but {collection.format_name}"
        raise OptionError("append", f"{problem} files do not have all of these")
    return replace(options, read=read)


def _check_tokenizer(
    tokenizer: TokenizerOptions | None, manifest: DocumentManifest, where: str
) -> None:
    if tokenizer is None:  # counts, which bring their words
        return
    if manifest.tokenizer is None:
        raise OptionError("append", f"the corpus was made from counts, but {where} holds text")
    if settings_hash(tokenizer.settings()) != settings_hash(manifest.tokenizer):
        hint = "Leave it out to use that of the corpus."
        raise OptionError("append", "the given tokeniser is not that of the corpus", hint)


@contextmanager
def _workspace_in(folder: Path) -> Iterator[Workspace]:
    """The workspace of the corpus, in which no other process appends.

    First completes an append that a killed process had committed.
    """
    workspace = Workspace.inside(folder, APPEND_FOLDER)
    with refusing(folder, "The corpus is as it was."):
        workspace.finish()
        DocumentManifest.load(folder)  # first, since the folder may not be a corpus
        with workspace.held("appends to it"):
            try:
                yield workspace
            finally:
                workspace.remove()
