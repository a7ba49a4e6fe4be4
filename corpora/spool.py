"""Counted blocks on disk, for the time until the vocabulary is known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from sparsetopics.corpora.blocks import CountedBlock


class Spool:
    """Blocks kept in files of a folder, in the order they came."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._n_blocks = 0

    def append(self, block: CountedBlock) -> None:
        with pa.OSFile(str(self._path(self._n_blocks)), "wb") as sink:
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
        self._n_blocks += 1

    def blocks(self) -> Iterator[CountedBlock]:
        """The blocks, each read once and its file removed."""
        for index in range(self._n_blocks):
            path = self._path(index)
            with pa.OSFile(str(path), "rb") as source:
                columns = [
                    pa.ipc.open_stream(source).read_all()["column"].combine_chunks()
                    for _ in CountedBlock._fields
                ]
            path.unlink()
            yield CountedBlock(*columns[:3], *(np.asarray(column) for column in columns[3:]))

    def _path(self, index: int) -> Path:
        return self._folder / f"block-{index:06d}.arrow"
