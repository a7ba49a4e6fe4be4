"""From files to a corpus of vectors, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparsetopics.base.errors import OptionError, SourceError
from sparsetopics.base.outputs import refuse_inputs
from sparsetopics.base.sealed_files import FileEntry
from sparsetopics.corpora.patch_basis import NAME as PATCH_BASIS
from sparsetopics.corpora.patch_basis import patch_projection
from sparsetopics.corpora.projection import FILE_NAME as PROJECTION_FILE
from sparsetopics.corpora.projection import PcaOptions, Projection, fit_projection, sample_rows
from sparsetopics.corpora.readers.blocks import with_running_numbers
from sparsetopics.corpora.readers.vector_blocks import (
    PendingVectors,
    VectorBlock,
    VectorReadOptions,
)
from sparsetopics.corpora.readers.vector_formats import IMAGE, VectorCollection, find_vectors
from sparsetopics.corpora.sources.sources import names_of
from sparsetopics.corpora.store.unfinished import corpus_output, paths_of, work_folder
from sparsetopics.corpora.store.vector_manifest import VectorManifest
from sparsetopics.corpora.store.vector_shards import VectorRows, table_of, vector_writer
from sparsetopics.corpora.vectors import VectorCorpus
from sparsetopics.execution.executors import OrderedMap, open_ordered_map
from sparsetopics.options.table import ExecutorName
from sparsetopics.options.training import Workplace


@dataclass(frozen=True, slots=True)
class VectorOptions:
    """How to make a corpus of vectors.

    Patches, which have lost their mean, become coordinates in ``patch_basis``, and ``pca`` is
    fitted on these. ``projection`` names a corpus of vectors whose projection is used as it is;
    columns and patches are then those of that corpus, unless given. The result does not depend on
    ``workers``, ``executor`` and ``scheduler``.
    """

    format: str | None = None  # by extension if None
    read: VectorReadOptions = field(default_factory=VectorReadOptions)
    pca: PcaOptions | None = None
    projection: Path | None = None
    workers: int = 1
    overwrite: bool = False
    executor: ExecutorName = "threads"
    scheduler: str | None = None  # of a Dask cluster
    follow_links: bool = False  # in folders, out of them and to other folders

    @property
    def workplace(self) -> Workplace:
        """Where the items are decoded."""
        return Workplace(self.executor, self.workers, self.scheduler)

    def __post_init__(self) -> None:
        _ = self.workplace  # which refuses what cannot be
        if self.pca is not None and self.projection is not None:
            raise OptionError("projection", found="a projection and pca", wanted="one or the other")


class VectorSummary(NamedTuple):
    """What an ingest of vectors made."""

    n_items: int
    n_columns: int
    n_shards: int
    n_skipped: int


class VectorProgress(NamedTuple):
    """How far an ingest is."""

    stage: str  # "fitting" or "writing"
    n_items: int

    def __str__(self) -> str:
        return f"{self.stage}: {self.n_items:,} items"


_OF_PROJECTIONS = ("basis", "pca")  # entries of ``made`` that say what a projection is

OnProgress = Callable[[VectorProgress], None]


class _Reading(NamedTuple):
    """What a pass over the items of all files needs."""

    collection: VectorCollection
    options: VectorReadOptions
    ordered_map: OrderedMap  # of where they are decoded
    on_progress: OnProgress


class _Projected(NamedTuple):
    """A projection and what it adds to the manifest's ``made``."""

    apply: Projection
    made: dict[str, Any]


def ingest_vectors(
    sources: Iterable[str | Path],
    out: str | Path,
    options: VectorOptions | None = None,
    on_progress: OnProgress = lambda _: None,
    say: Callable[[str], None] = lambda _: None,
) -> VectorSummary:
    """Make the corpus folder ``out`` of the rows of arrays and tables, or of images.

    Nothing is left out: what is not a finite number, or has another number of columns than the
    first item, is refused. Raises SourceError for input that cannot be used, OutputError if
    ``out`` cannot be written; nothing is left behind then. What is stopped starts anew the next
    time, of which ``say`` is told.
    """
    options = options or VectorOptions()
    sources = list(sources)
    output = corpus_output(out, sources, options.projection, overwrite=options.overwrite)
    with (
        open_ordered_map(options.workplace) as ordered_map,
        work_folder(output, None, say=say) as place,
    ):
        given = None if options.projection is None else VectorCorpus.open(options.projection)
        read = options.read if given is None else _like(given, options.read)
        collection = find_vectors(
            sources, options.format, read, follow_links=options.follow_links, say=say
        )
        refuse_inputs(output.path, paths_of(collection.files))
        reading = _Reading(collection, read, ordered_map, on_progress)
        projected = _projection(reading, options.pca, given)
        return _write_corpus(place.corpus, reading, projected)


def _like(given: VectorCorpus, read: VectorReadOptions) -> VectorReadOptions:
    """The options, with columns and patches of the corpus whose projection is taken over."""
    if given.projection is None:
        raise OptionError(
            "projection",
            found="a corpus without one",
            wanted="a corpus made with --pca or --patches",
        )
    made = given.made
    if read.patches is None and made.get("patches") is not None:
        read = replace(read, patches=made["patches"], stride=read.stride or made["stride"])
    if read.columns is None and given.projection.inputs is not None:
        read = replace(read, columns=given.projection.inputs)
    return read


def _projection(
    reading: _Reading, pca: PcaOptions | None, given: VectorCorpus | None
) -> _Projected | None:
    """The one that is given, that of patches, one fitted to the items, or the last two in a row;
    None if none is wanted.
    """
    if given is not None:
        assert given.projection is not None  # _like has looked
        made = {name: given.made[name] for name in _OF_PROJECTIONS if name in given.made}
        return _Projected(given.projection, made)
    patches = reading.options.patches
    basis = None if patches is None else patch_projection(patches)
    if pca is not None:
        return _fitted(reading, pca, basis)
    return None if basis is None else _Projected(basis, {"basis": PATCH_BASIS})


def _fitted(reading: _Reading, options: PcaOptions, basis: Projection | None) -> _Projected:
    """A PCA of a sample of the items, or of their coordinates in ``basis``."""
    columns: list[tuple[str, ...] | None] = []

    def values() -> Iterator[Any]:
        for block in _blocks(reading, "fitting"):
            columns[:] = [block.columns]
            yield block.values if basis is None else basis(block.values)

    sample = sample_rows(values(), np.random.default_rng(options.seed))
    if not len(sample):
        raise _no_items(reading.collection)
    projection, explained = fit_projection(sample, options, columns[0])
    made = {
        "n_components": projection.n_columns,
        "whitened": options.whiten,
        "seed": options.seed,
        "n_sampled": len(sample),
        "explained_variance": explained,
    }
    return _Projected(projection if basis is None else projection.after(basis), {"pca": made})


def _blocks(reading: _Reading, stage: str) -> Iterator[VectorBlock]:
    """The items of all files in order, each with an id, all of the same columns."""
    n_items = 0
    first: VectorBlock | None = None
    for block in reading.ordered_map(_decode, reading.collection.read(reading.options)):
        if not len(block.values):
            continue
        first = first or block
        _check_alike(first, block)
        item_ids = with_running_numbers(block.item_ids, n_items)
        n_items += len(item_ids)
        reading.on_progress(VectorProgress(stage, n_items))
        yield block._replace(item_ids=item_ids)


def _decode(pending: PendingVectors) -> VectorBlock:
    return pending()


def _check_alike(first: VectorBlock, block: VectorBlock) -> None:
    found, wanted = block.values.shape[1], first.values.shape[1]
    if found != wanted:
        raise SourceError(
            block.source,
            found=f"items of {found} columns",
            wanted=f"{wanted}, as in {first.source}",
        )
    if block.columns != first.columns:
        raise SourceError(
            block.source,
            found=f"columns {', '.join(block.columns or ())}",
            wanted=f"{', '.join(first.columns or ())}, as in {first.source}",
        )


def _write_corpus(folder: Path, reading: _Reading, projected: _Projected | None) -> VectorSummary:
    """Shards, projection and, last, the manifest."""
    blocks = _blocks(reading, "writing")
    first = next(blocks, None)
    if first is None:
        raise _no_items(reading.collection)
    columns = first.columns
    n_columns = first.values.shape[1]
    entry = None
    made = _made(reading.collection.format_name, reading.options)
    if projected is not None:
        _check_inputs(first, projected.apply)
        projected.apply.save(folder)
        entry = FileEntry.of(folder / PROJECTION_FILE)
        n_columns, columns = projected.apply.n_columns, None
        made |= projected.made
    with vector_writer(folder, n_columns) as writer:
        for block in chain([first], blocks):
            values = block.values if projected is None else projected.apply(block.values)
            writer.append(table_of(VectorRows(block.item_ids, block.labels, values)))
        shards = writer.finish()
    manifest = VectorManifest(n_columns, columns, made, entry, shards)
    manifest.save(folder)
    return VectorSummary(manifest.n_items, n_columns, len(shards), 0)


def _made(format_name: str, read: VectorReadOptions) -> dict[str, Any]:
    """How the values were made, for the manifest."""
    if format_name != IMAGE:
        return {"format": format_name}
    return {
        "format": IMAGE,
        "patches": read.patches,
        "stride": read.stride or read.patches,
        "patch_mean_removed": read.patches is not None,
    }


def _check_inputs(block: VectorBlock, projection: Projection) -> None:
    n_columns = block.values.shape[1]
    if n_columns != projection.n_inputs:
        raise SourceError(
            block.source,
            found=f"items of {n_columns} columns",
            wanted=f"{projection.n_inputs}, which the projection is of",
        )


def _no_items(collection: VectorCollection) -> SourceError:
    return SourceError(names_of(collection.files), found="no items", wanted="at least one")
