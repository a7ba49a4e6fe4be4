"""From files to a corpus of vectors, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import chain
from operator import call
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import VectorBatch
from sparsetopics.base.errors import OptionError, SourceError
from sparsetopics.base.outputs import refuse_inputs
from sparsetopics.base.wording import quantity
from sparsetopics.corpora.corpus import VectorCorpus
from sparsetopics.corpora.ingest import OnProgress, reported
from sparsetopics.corpora.ingest_options import VectorOptions
from sparsetopics.corpora.projection import (
    PATCH_BASIS,
    Projection,
    fit_projection,
    patch_projection,
    sample_rows,
)
from sparsetopics.corpora.readers.blocks import VectorBlock, kept_type, numbered
from sparsetopics.corpora.readers.formats import IMAGE, find_vectors
from sparsetopics.corpora.readers.options import VectorReadOptions, listed
from sparsetopics.corpora.sources.byte_stream import SourceFile
from sparsetopics.corpora.sources.source_files import FileAccount, names_of
from sparsetopics.corpora.store.manifest import Sizes
from sparsetopics.corpora.store.shards import MemoryRowGroup, ShardWriter
from sparsetopics.corpora.store.unfinished import corpus_output, paths_of, work_folder
from sparsetopics.corpora.store.vector_rows import Made, VectorKind, VectorManifest
from sparsetopics.execution.executors import open_cluster_map, open_local_map


class VectorSummary(NamedTuple):
    """What an ingest of vectors made."""

    n_items: int
    n_columns: int
    n_shards: int
    n_skipped: int
    files: FileAccount  # what was read as what, and what was left out


_Pass = Callable[[str], Iterator[VectorBlock]]  # over the items of all files, for a stage


def ingest_vectors(
    sources: Iterable[str | Path],
    out: str | Path,
    options: VectorOptions | None = None,
    on_progress: OnProgress = lambda _: None,
    say: Callable[[str], None] = lambda _: None,
) -> VectorSummary:
    """Make the corpus folder ``out`` from the rows of arrays and tables, or from images.

    No item is left out: a value that is not a finite number, or an item with another number of
    columns than the first, is refused. Raises SourceError for input that cannot be used, and
    OutputError if ``out`` cannot be written; nothing is left behind then. An interrupted ingest
    starts over the next time, and ``say`` gets a sentence about it, and about columns of whole
    numbers that float64 does not hold.
    """
    options = options or VectorOptions()
    sources = list(sources)
    output = corpus_output(out, sources, options.projection, overwrite=options.overwrite)
    with (
        open_cluster_map(options.where) as cluster_map,
        work_folder(output, None, say=say) as place,
        ExitStack() as opened,
        open_local_map(options.where) as here,
    ):
        given = None if options.projection is None else VectorCorpus.open(options.projection)
        read = options.read if given is None else _like(given, options.read)
        collection = find_vectors(
            sources, options.format, read, follow_links=options.follow_links, say=say
        )
        refuse_inputs(output.path, paths_of(collection.files))

        def blocks(stage: str) -> Iterator[VectorBlock]:
            pending = opened.enter_context(closing(collection.read(read)))
            decoded = _alike((cluster_map or here)(call, pending), collection.files)
            return reported(map(call, numbered(decoded)), stage, "item", on_progress)

        projection, how_projected = _projection(blocks, read.patches, options, given)
        made = _made(collection.format_name, read) | how_projected
        manifest = _write_corpus(place.corpus, _noted(blocks("writing"), say), projection, made)
        sizes = manifest.sizes.n_docs, manifest.n_columns, len(manifest.shards)
        return VectorSummary(*sizes, 0, collection.account)


def _like(given: VectorCorpus, read: VectorReadOptions) -> VectorReadOptions:
    """The options, with columns and patches of the corpus whose projection is used."""
    if given.projection is None:
        hint = "Give a corpus made with --pca or --patches."
        raise OptionError("projection", "the corpus has none", hint)
    patches, stride = given.made.get("patches"), given.made.get("stride")
    if read.patches is None and patches is not None:
        read = replace(read, patches=patches, stride=read.stride or stride)
    if read.columns is None and given.projection.inputs is not None:
        read = replace(read, columns=given.projection.inputs)
    return read


def _projection(
    blocks: _Pass, patches: int | None, options: VectorOptions, given: VectorCorpus | None
) -> tuple[Projection | None, Made]:
    """The given projection, that of patches, one fitted to the items, or the last two combined;
    None if none is wanted. Also what it adds to the manifest's ``made``."""
    if given is not None:
        assert given.projection is not None  # checked by _like
        made = Made()
        if "basis" in given.made:
            made["basis"] = given.made["basis"]
        if "pca" in given.made:
            made["pca"] = given.made["pca"]
        return given.projection, made
    basis = None if patches is None else patch_projection(patches)
    if options.pca is not None:
        return _fitted(blocks, options, options.pca, basis)
    return basis, Made() if basis is None else {"basis": PATCH_BASIS}


def _fitted(
    blocks: _Pass, options: VectorOptions, n_components: int, basis: Projection | None
) -> tuple[Projection, Made]:
    """A PCA of a sample of the items, or of their coordinates in ``basis``."""
    found = blocks("fitting")
    first = next(found)  # all have its columns
    each = (block.values for block in chain([first], found))
    values = each if basis is None else map(basis, each)
    sample = sample_rows(values, np.random.default_rng(options.seed))
    columns = first.columns
    projection, explained = fit_projection(sample, n_components, columns, whiten=options.whiten)
    made: Made = {
        "pca": {
            "n_components": projection.n_columns,
            "whitened": options.whiten,
            "seed": options.seed,
            "n_sampled": len(sample),
            "explained_variance": explained,
        }
    }
    return projection if basis is None else projection.after(basis), made


def _alike(blocks: Iterable[VectorBlock], files: Sequence[SourceFile]) -> Iterator[VectorBlock]:
    """The blocks that have items, with values of the type of the first block; SourceError if none
    has, and at the first whose columns differ, or whose values that type does not hold."""
    first: VectorBlock | None = None
    for block in blocks:
        if not len(block.values):
            continue
        first = first or block
        _check_width(block, first.values.shape[1], f"as in {first.source}")
        if block.columns != first.columns:
            found, expected = (", ".join(b.columns or ()) for b in (block, first))
            problem = f"expected columns {expected}, as in {first.source}, but found {found}"
            raise SourceError(block.source, problem)
        kind, found = kept_type(first.values.dtype), kept_type(block.values.dtype)
        if (kind, found) == ("float32", "float64"):
            problem = f"expected values of {kind}, as in {first.source}, but found {found}"
            raise SourceError(block.source, problem, "Save the files with one type of numbers.")
        yield block._replace(values=block.values.astype(kind, copy=False))
    if first is None:
        raise SourceError(names_of(files), "there are no items")


def _check_width(block: VectorBlock, n_columns: int, why: str) -> None:
    found = block.values.shape[1]
    if found != n_columns:
        expected = f"{quantity(n_columns, 'column')}, {why}"
        raise SourceError(block.source, f"expected {expected}, but found {found}")


def _noted(blocks: Iterable[VectorBlock], say: Callable[[str], None]) -> Iterator[VectorBlock]:
    """The blocks; ``say`` gets a sentence about the first that lost digits."""
    is_said = False
    for block in blocks:
        if block.rounded and not is_said:
            is_said = True
            names, values = zip(*block.rounded.items(), strict=True)
            change = f"{values[0]} becomes {int(float(values[0]))}"
            lost = f"values in {listed(names[:5])} have more digits than are kept ({change})"
            say(f"{block.source}: {lost}. Subtract an offset from them first.")
        yield block


def _projected(block: VectorBlock, projection: Projection) -> VectorBlock:
    _check_width(block, projection.n_inputs, "which the projection takes")
    values = projection(block.values)
    if not np.isfinite(values).all():
        raise SourceError(block.source, "a projected value is too large for float32")
    return block._replace(values=values, columns=None)


def _write_corpus(
    folder: Path, blocks: Iterator[VectorBlock], projection: Projection | None, made: Made
) -> VectorManifest:
    """Shards, projection and, last, the manifest."""
    if projection is not None:
        blocks = (_projected(block, projection) for block in blocks)
    first = next(blocks)
    kind = VectorKind(first.values.shape[1], kept_type(first.values.dtype))
    with closing(ShardWriter(folder, kind)) as writer:
        for block in chain([first], blocks):
            batch = VectorBatch(block.values)
            writer.append(MemoryRowGroup(Sizes.of(batch), block.ids, block.labels, batch))
        shards = writer.finish()
    manifest = VectorManifest(
        n_columns=kind.n_columns,
        columns=first.columns,
        value_type=kind.value_type,
        made=made,
        projection=None if projection is None else projection.save(folder),
        shards=shards,
    )
    manifest.save(folder)
    return manifest


def _made(format_name: str, read: VectorReadOptions) -> Made:
    """How the values were made, for the manifest."""
    if format_name != IMAGE:
        return {"format": format_name}
    return {
        "format": IMAGE,
        "patches": read.patches,
        "stride": read.stride or read.patches,
        "patch_mean_removed": read.patches is not None,
    }
