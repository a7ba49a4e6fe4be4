"""Adding documents to a corpus folder: new shards, and last a new manifest that lists them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import pairwise
from operator import call
from pathlib import Path

import msgspec

from sparsetopics.base.errors import OptionError, OutputError, SourceError, warn_user
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
from sparsetopics.corpora.repeated_ids import SKIP, Extended, GivenIds
from sparsetopics.corpora.sources.source_files import (
    FileAccount,
    local_paths,
    names_of,
    without_empty,
)
from sparsetopics.corpora.store.document_rows import DocumentManifest, save_vocabulary
from sparsetopics.corpora.store.manifest import FILE_NAME
from sparsetopics.corpora.store.unfinished import SPOOL, Spool
from sparsetopics.corpora.text.pruning import (
    PruningOptions,
    grown,
    read_candidates,
    save_candidates,
    tally_words,
    totals_of,
)
from sparsetopics.corpora.text.tokenizer import TokenizerOptions
from sparsetopics.execution.executors import open_cluster_map, open_local_map

_UNCHANGED = "which keeps the words of the corpus"
_N_NAMED = 10  # new words, in the summary


def append(
    sources: Iterable[str | Path],
    corpus: str | Path,
    options: IngestOptions | None = None,
    on_progress: OnProgress = lambda _: None,
    say: Callable[[str], None] = lambda _: None,
) -> tuple[int, IngestSummary]:
    """Add the documents of files, folders and patterns to a corpus, under its vocabulary.

    Return the number of documents that were added, and what the corpus holds now.

    Words, their numbers and frequencies and the tokeniser do not change; a tokeniser in ``options``
    must be that of the corpus. With ``options.grow_vocabulary``, words that pass the cuts of the
    corpus in old and new documents together follow. If anything fails, the corpus stays as it was.
    The same call adds documents once: if it is repeated and the files have not changed, it adds
    nothing, unless they are behind URLs. ``say`` gets a sentence about this, about skipped links,
    and if there are no documents to add. Raises SourceError for input that cannot be read, and
    OutputError if the folder cannot be written or another process changes it meanwhile.
    """
    options = options or IngestOptions()
    _check_options(options)
    folder, sources = Path(corpus), list(sources)
    refuse_inputs(folder, local_paths(sources))
    filled = without_empty(sources)
    collection = options.find(filled, say) if filled or not sources else None
    with (
        open_cluster_map(options.where) as cluster_map,
        _workspace_in(folder) as workspace,
        ExitStack() as opened,
        open_local_map(options.where) as here,
    ):
        before = DocumentManifest.load(folder)
        if collection is None:
            say(f"{folder}: there were no documents to add.")
            return 0, IngestSummary.of(before, FileAccount((), ()))
        job = job_of(filled, collection, options)
        job_hash = "" if job is None else hashlib.sha256(job.text.encode()).hexdigest()
        if job_hash in before.appended:
            say(f"{folder}: the same command has added these documents before; it adds nothing.")
            return 0, IngestSummary.of(before, FileAccount((), collection.account.left_out))
        workspace.clear()
        workspace.new.mkdir()
        options = _keeping(options, before, collection)
        reading = Reading(collection, options, cluster_map or here, here, on_progress, opened)
        longer, written, ids = _write(workspace, reading, folder, before, job_hash, say)
        if before.has_ids and (written.shards or written.skipped) and not ids.are_new:
            _tell_of_missing_ids(folder, collection, is_choosy=options.read.duplicate_ids == SKIP)
        if n_repeated := ids.n_skipped:
            say(f"{folder}: left out {quantity(n_repeated, 'document')} with an id that is taken.")
        if not written.shards:
            if written.n_unknown_tokens and not n_repeated:
                raise written.error
            say(f"{folder}: there were no documents to add.")
            words = Corpus.open(folder).vocabulary
            account = written.account_of(words, None) if written.skipped else None
            summary = IngestSummary.of(before, collection.account)
            return 0, summary._replace(n_repeated=n_repeated, account=account)
        if DocumentManifest.load(folder) != before:
            raise OutputError(str(folder), "the corpus has changed meanwhile", "Append again.")
        longer.save(workspace.new)
        # Only the first documents are read for the remark below, and before anything is added, as
        # they may be damaged.
        first = Corpus.open(folder).row_groups[0]
        lacks_labels = written.n_unlabelled and {*first.read_labels()} != {None}
        _commit(workspace, folder, before)
    n_added = longer.sizes.n_docs - before.sizes.n_docs
    extended = Corpus.open(folder)
    if lacks_labels:
        few = f"{written.n_unlabelled:,} of {quantity(n_added, 'new document')} without a label"
        hint = "--label-field names their field."
        warn_user(f"{folder}: {few}, but the corpus has labels. {hint}")
    new_words = extended.vocabulary.shown[before.n_words :]
    summary = IngestSummary.of(longer, collection.account)._replace(
        account=written.account_of(extended.vocabulary, None),
        n_repeated=n_repeated,
        n_new_words=len(new_words),
        new_words=new_words[:_N_NAMED],
    )
    return n_added, summary


def _commit(workspace: Workspace, folder: Path, before: DocumentManifest) -> None:
    """Move the new files into the corpus, the manifest last; OutputError if any would replace a
    file that the manifest of ``before`` does not list."""
    added = sorted({path.name for path in workspace.new.iterdir()} - {FILE_NAME})
    replaced = {file.file for file in (before.vocabulary, before.candidates) if file}
    for name in set(added) - replaced:
        if os.path.lexists(folder / name):
            problem = "a file that is not part of the corpus has the name of a new file"
            raise OutputError(str(folder / name), problem, "Move it away.")
    workspace.commit([*added, FILE_NAME])


def _write(
    workspace: Workspace,
    reading: Reading,
    folder: Path,
    before: DocumentManifest,
    job_hash: str,
    say: Callable[[str], None],
) -> tuple[DocumentManifest, WrittenShards, GivenIds]:
    """Write the new shards and the words; return the longer manifest, which names the job, what was
    written, and the ids of the new documents."""
    corpus = Corpus.open(folder)
    vocabulary = corpus.vocabulary
    tokenizer = settle_tokenizer(reading, vocabulary)
    _check_tokenizer(tokenizer, before, names_of(reading.collection.files))
    n_names = before.sizes.n_docs + before.n_skipped
    has_ids = before.has_ids or not _are_positions(corpus.row_groups[0].read_ids(), n_names)
    spool, is_choosy = None, reading.options.read.duplicate_ids == SKIP
    is_counted = reading.options.grow_vocabulary or before.candidates is not None
    # Words are counted, and repeated ids are known, only after a pass over all documents.
    if is_counted or is_choosy:
        spool = Spool(workspace.folder / SPOOL, "")
        spool.folder.mkdir()
    extended = Extended(str(folder), corpus.row_groups, n_names, has_ids)
    ids = reading.given_ids(workspace.folder, spool, extended)
    counted = counted_blocks(reading, tokenizer, ids, spool)
    candidates, entry = before.candidates, before.vocabulary
    if is_counted:
        if candidates is None:
            say(f"{folder}: words outside the vocabulary are counted from this append on.")
            totals, pruning = totals_of(vocabulary, before.sizes.n_docs), PruningOptions()
        else:
            totals, pruning = read_candidates(folder, candidates)
        tallied = tally_words(map(call, ids.named(counted)) if is_choosy else counted)
        totals = totals.plus(tallied)
        candidates = save_candidates(workspace.new, totals, pruning)
        if reading.options.grow_vocabulary:
            vocabulary = grown(vocabulary, totals, tallied, pruning)
    if len(vocabulary) > before.n_words:
        entry = save_vocabulary(workspace.new, vocabulary)
    blocks, of_corpus = ids.named(counted), (vocabulary, before.fields)
    written = write_shards(workspace.new, blocks, *of_corpus, ids, reading, len(before.shards))
    longer = msgspec.structs.replace(
        before,
        n_words=len(vocabulary),
        vocabulary=entry,
        candidates=candidates,
        appended=(*before.appended, *filter(None, [job_hash])),
        shards=before.shards + written.shards,
        n_skipped=before.n_skipped + len(written.skipped),
        n_unknown_tokens=before.n_unknown_tokens + written.n_unknown_tokens,
        has_ids=ids.are_given,
    )
    return longer, written, ids


def _tell_of_missing_ids(folder: Path, collection: TextCollection, *, is_choosy: bool) -> None:
    """Warn that no new document has an id, although those of the corpus do; SourceError if repeated
    ids are to be skipped, since nothing could be."""
    if not collection.format.gives_ids:
        return
    problem, hint = "no document has an id, but the corpus has ids", "--id-field names their field."
    if is_choosy:
        raise SourceError(names_of(collection.files), problem, hint)
    warn_user(f"{folder}: {problem}. {hint}")


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
        ("candidates", not options.candidates, "which counts words if the corpus does"),
        ("keep", options.read.keep, "which keeps the fields of the corpus"),
        ("date-format", options.read.date_format, "which uses the formats of the corpus"),
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
    settings = manifest.tokenizer, tokenizer.settings()
    own, given = (msgspec.json.encode(each, order="sorted") for each in settings)
    if own != given:
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
