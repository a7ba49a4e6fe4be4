"""More documents for a corpus folder: new shards, and at last a new manifest that lists them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.document_manifest import Manifest, Sizes, settings_hash, total
from sparsetopics.corpora.formats import find_collection
from sparsetopics.corpora.ingest import (
    IngestOptions,
    IngestSummary,
    OnProgress,
    Reading,
    encoded_blocks,
    settle_tokenizer,
    write_shards,
)
from sparsetopics.corpora.manifest import FILE_NAME, ShardEntry
from sparsetopics.corpora.ordered_map import open_ordered_map
from sparsetopics.corpora.pruning import PruningOptions
from sparsetopics.corpora.sources import names_of
from sparsetopics.corpora.tokenizer import TokenizerOptions
from sparsetopics.errors import OptionError, OutputError
from sparsetopics.staging import alone_at, put_in_place

_LOCK_FILE = "lock"


class AppendSummary(NamedTuple):
    """What an append added, and what the corpus holds now."""

    n_added: int  # documents
    corpus: IngestSummary


def append(
    sources: Iterable[str | Path],
    corpus: str | Path,
    options: IngestOptions | None = None,
    on_progress: OnProgress = lambda _: None,
) -> AppendSummary:
    """Add the documents of files, folders and patterns to a corpus, under its vocabulary.

    Words, their frequencies and the tokeniser stay what they are; a tokeniser in ``options`` has
    to be that of the corpus. Whatever goes wrong, the corpus stays as it was. Raises SourceError
    for input that cannot be read, OutputError if the folder cannot be written or is changed by
    another meanwhile.
    """
    options = options or IngestOptions()
    _check_options(options)
    folder = Path(corpus)
    manifest = Manifest.load(folder)
    vocabulary = Corpus.open(folder).vocabulary
    collection = find_collection(sources, options.format)
    first_number = manifest.sizes.n_docs + manifest.n_skipped
    with open_ordered_map(options.workplace) as ordered_map, _scratch_in(folder) as scratch:
        reading = Reading(collection, options, ordered_map, on_progress)
        tokenizer = settle_tokenizer(reading, vocabulary)
        _check_tokenizer(tokenizer, manifest, names_of(collection.files))
        blocks = encoded_blocks(reading, tokenizer, vocabulary, first_number=first_number)
        written = write_shards(scratch, blocks, on_progress)
        shards = _renumbered(scratch, written.shards, len(manifest.shards))
        longer = replace(
            manifest,
            shards=manifest.shards + shards,
            n_skipped=manifest.n_skipped + written.n_skipped,
            n_unknown_tokens=manifest.n_unknown_tokens + written.n_unknown_tokens,
        )
        _commit(scratch, folder, shards, longer, manifest)
    n_added = total(sizes for shard in shards for sizes in shard.row_groups).n_docs
    return AppendSummary(n_added, IngestSummary.of(longer))


def _check_options(options: IngestOptions) -> None:
    for name, is_given in (
        ("vocabulary", options.vocabulary is not None),
        ("phrases", options.phrases is not None),
        ("overwrite", options.overwrite),
        ("stop words or frequency limits", options.pruning != PruningOptions()),
    ):
        if is_given:
            raise OptionError(
                "append", found=name, wanted="none: the vocabulary is that of the corpus"
            )


def _check_tokenizer(tokenizer: TokenizerOptions | None, manifest: Manifest, where: str) -> None:
    if tokenizer is None:  # counts go by their words
        return
    if manifest.tokenizer is None:
        raise OptionError(
            "append", found=f"text in {where}", wanted="counts, which the corpus was made of"
        )
    if settings_hash(tokenizer.settings()) != settings_hash(manifest.tokenizer):
        raise OptionError(
            "append",
            found="another tokeniser",
            wanted="that of the corpus, which is taken if none is given",
        )


@contextmanager
def _scratch_in(folder: Path) -> Iterator[Path]:
    """A folder beside the shards; whatever a process that was killed has left there goes."""
    own = folder / ".append"
    try:
        own.mkdir(exist_ok=True)
        with alone_at(folder, own / _LOCK_FILE, "appends to it"):
            for left in own.glob("new-*"):
                shutil.rmtree(left)
            try:
                yield Path(mkdtemp(prefix="new-", dir=own))
            finally:
                shutil.rmtree(own, ignore_errors=True)
    except OSError as error:
        raise OutputError(
            str(folder),
            found=error.strerror or str(error),
            wanted="room and permission to write",
            hint="The corpus is as it was.",
        ) from error


def _renumbered(
    scratch: Path, shards: Iterable[ShardEntry[Sizes]], first: int
) -> tuple[ShardEntry[Sizes], ...]:
    """The shards under the names that come next in the corpus."""
    renamed = []
    for number, shard in reversed(list(enumerate(shards, start=first))):  # from the end: no clash
        name = f"shard-{number:05d}.parquet"
        os.rename(scratch / shard.file.file, scratch / name)
        renamed.append(ShardEntry(replace(shard.file, file=name), shard.row_groups))
    return tuple(reversed(renamed))


def _commit(
    scratch: Path,
    folder: Path,
    shards: Iterable[ShardEntry[Sizes]],
    longer: Manifest,
    before: Manifest,
) -> None:
    """Move the shards in, then replace the manifest: until then nothing knows of them."""
    if Manifest.load(folder) != before:
        raise OutputError(
            str(folder),
            found="a corpus that has changed meanwhile",
            wanted="one append at a time",
            hint="Append again.",
        )
    moved: list[Path] = []
    try:
        for shard in shards:
            moved.append(folder / shard.file.file)
            put_in_place(scratch / shard.file.file, moved[-1])
        longer.save(scratch)
        put_in_place(scratch / FILE_NAME, folder / FILE_NAME)
    except BaseException:
        if Manifest.load(folder) == before:
            for shard_path in moved:
                shard_path.unlink(missing_ok=True)
        raise
