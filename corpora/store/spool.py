"""Counted blocks on disk, for the time until the vocabulary is known."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from sparsetopics.corpora.readers.blocks import CountedBlock

_SUM_BYTES = 4  # of the checksum that a file ends with


class Spool:
    """Blocks kept in files of a folder, in the order they came.

    A file is written aside and renamed, so that a process that is killed leaves whole ones; the
    checksum is for a machine that loses power, as nothing waits for the disk.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.n_blocks = 0

    def append(self, block: CountedBlock) -> None:
        data = _packed(block)
        path = self._path(self.n_blocks)
        scratch = path.with_suffix(".part")
        with scratch.open("wb") as file:
            file.write(data)
            file.write(zlib.crc32(data).to_bytes(_SUM_BYTES))
        os.replace(scratch, path)
        self.n_blocks += 1

    def recovered(self) -> Iterator[CountedBlock]:
        """The whole blocks that a former process left; they become the first of this one."""
        while (block := self._whole(self._path(self.n_blocks))) is not None:
            self.n_blocks += 1
            yield block

    def blocks(self) -> Iterator[CountedBlock]:
        """All blocks."""
        for index in range(self.n_blocks):
            with pa.OSFile(str(self._path(index)), "rb") as source:
                yield _unpacked(source)

    def _whole(self, path: Path) -> CountedBlock | None:
        if not path.exists():
            return None
        data = memoryview(path.read_bytes())
        packed, checksum = data[:-_SUM_BYTES], data[-_SUM_BYTES:]
        if zlib.crc32(packed).to_bytes(_SUM_BYTES) != checksum:
            return None
        return _unpacked(pa.BufferReader(packed))

    def _path(self, index: int) -> Path:
        return self._folder / f"block-{index:06d}.arrow"


def _packed(block: CountedBlock) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    for column in (
        block.doc_ids,
        block.labels,
        block.words,
        pa.array(block.indptr),
        pa.array(block.word_ids),
        pa.array(block.word_counts),
    ):
        batch = pa.record_batch([column], names=["column"])
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
    return sink.getvalue()


def _unpacked(source: pa.NativeFile) -> CountedBlock:
    columns = [
        pa.ipc.open_stream(source).read_all()["column"].combine_chunks()
        for _ in CountedBlock._fields
    ]
    return CountedBlock(*columns[:3], *(np.asarray(column) for column in columns[3:]))
