"""Ids that repeat, found with digests on disk, and names for documents that have no id.

The digests take eight bytes a document, and a sorted copy takes eight more. Both are in temporary
files, which are written only once a document has an id. Memory does not grow with their number.
"""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparsetopics.base.batches import IntArray
from sparsetopics.base.errors import SourceError
from sparsetopics.corpora.readers.blocks import (
    NO_ID,
    CountedBlock,
    PendingCounted,
    TextBlock,
    chosen,
    given,
    numbered,
)
from sparsetopics.corpora.store.shards import AnyRowGroup
from sparsetopics.corpora.text.letters import bytes_and_offsets
from sparsetopics.corpora.text.token_kernels import key_strings
from sparsetopics.options.option import shown

REFUSE, SKIP, KEEP_ALL = "refuse", "skip", "keep"
_AT_ONCE = 1 << 20  # digests
_SPREAD = np.int64(-7046029254386353131)  # odd, so that no two of its multiples are equal
_LIKE_NAME = f"the id begins with {NO_ID}, as the names of documents without an id do"
_LATE = "the document has an id, but documents before it have none"
_LATE_HINT = "Name the sources with ids first, or use --duplicate-ids skip."
_HINT = "Correct it, or name another field with --id-field"
_WAYS = "--duplicate-ids skip leaves out such documents, and keep keeps them."
_STORED_HINT = "Use --duplicate-ids skip to leave such documents out, or keep to add them."

Repeat = tuple[int, int, str]  # a document, an earlier one of the same digest, and the id


class Extended(NamedTuple):
    """The corpus that documents are added to."""

    where: str = ""
    groups: Sequence[AnyRowGroup] = ()
    n_names: int = 0  # the positions that are in use
    has_ids: bool = False  # whether any of its documents was given an id


class GivenIds:
    """The ids that sources give to documents, which are numbered behind those of the corpus.

    ``policy`` says what happens to a document whose id an earlier one has. ``block_of`` reads a
    block of the sources again, and ``place_of`` says where a document of the sources lies. Names
    are ``late`` if all documents are read before one without an id gets its name.
    """

    n_skipped = 0

    def __init__(
        self,
        policy: str,
        folder: Path | None,  # for the digests
        block_of: Callable[[int], TextBlock | CountedBlock],
        place_of: Callable[[int], str],
        before: Extended = Extended(),  # noqa: B008
        *,
        late: bool = True,
    ) -> None:
        self._policy, self._folder, self._late = policy, folder, late
        self._block_of, self._place_of, self._before = block_of, place_of, before
        self._sizes = [group.n_docs for group in before.groups]  # then those of blocks
        self._n_before = sum(self._sizes)
        self._digests: IO[bytes] | None = None
        self._first_given: int | None = None  # the first part that was given an id

    def close(self) -> None:
        """Remove the digests."""
        if self._digests is not None:
            self._digests.close()

    @property
    def are_given(self) -> bool:
        """Whether any document has an id, in the sources that were read or in the corpus."""
        return self.are_new or self._before.has_ids

    @property
    def are_new(self) -> bool:
        """Whether any document of the sources that were read has an id."""
        return self._first_given is not None

    def watch(self, blocks: Iterable[CountedBlock]) -> Iterator[CountedBlock]:
        """The blocks, whose documents have no names yet. After the last one, raises SourceError for
        an id that must not repeat but does."""
        n_rows, refused = 0, None
        for block in blocks:
            ids = given(block.ids)
            self._sizes.append(len(ids))
            if not self.are_given and not self._late and n_rows and ids.null_count < len(ids):
                refused = n_rows + pc.index(ids.is_valid(), True).as_py(), _LATE, _LATE_HINT
            if self._first_given is None and ids.null_count < len(ids):
                self._first_given = len(self._sizes) - 1
                if self._policy != KEEP_ALL:
                    self._digests = TemporaryFile(dir=self._folder)  # noqa: SIM115
                    for part in range(self._first_given):
                        self._write(self._ids(part))
            if self._digests is not None:
                self._write(ids)
            if refused is None and (row := pc.index(pc.starts_with(ids, NO_ID), True).as_py()) >= 0:
                refused = n_rows + row, _LIKE_NAME, f"{_HINT}."
            n_rows += len(ids)
            yield block
        if refused is not None and self._policy != KEEP_ALL:
            row, problem, hint = refused
            raise SourceError(self._place_of(row), problem, hint)
        # An id may equal the position that names a document of the corpus: skipping would lose it.
        is_strict = self._policy == REFUSE
        if is_strict or (self._n_before and not self._before.has_ids):
            repeat = next((r for r in self.repeats() if is_strict or r[1] < self._n_before), None)
            if repeat is not None:
                raise self._error(*repeat)

    def named(self, watched: Iterable[CountedBlock]) -> Iterator[PendingCounted]:
        """Blocks in which all documents have names, without those to be skipped. If names are late,
        the rest of the blocks is watched first, and all are read again."""
        if not self._late:
            return numbered(watched, self._before.n_names, self._before.has_ids)
        deque(watched, maxlen=0)
        return self._chosen()

    def _chosen(self) -> Iterator[PendingCounted]:
        first, start, self.n_skipped = self._before.n_names, self._n_before, 0
        repeated = chain(self.skipped(), [-1])
        ahead = next(repeated)
        for number, n_rows in enumerate(self._sizes[len(self._before.groups) :]):
            rows = []
            while 0 <= ahead < start + n_rows:
                rows.append(ahead - start)
                ahead = next(repeated)
            block = partial(self._block_of, number)
            yield partial(chosen, block, rows, first, beside_ids=self.are_given)
            start, first = start + n_rows, first + n_rows - len(rows)
            self.n_skipped += len(rows)

    def place_of(self, row: int) -> str:
        """Where a document lies, given its row among those that were not skipped."""
        for number in self.skipped():
            row += number <= self._n_before + row
        return self._place_of(row)

    def skipped(self) -> Iterator[int]:
        """The documents that are left out, in order."""
        repeats = self.repeats() if self._policy == SKIP else ()
        return (number for number, *_ in repeats)

    def repeats(self) -> Iterator[Repeat]:
        """The documents of the sources that have the id of an earlier one, in order. Those of the
        corpus are earlier than all."""
        if self._digests is None:
            return
        with TemporaryFile(dir=self._folder) as copy:
            self._digests.seek(0)
            shutil.copyfileobj(self._digests, copy, _AT_ONCE)
            copy.flush()
            ordered = np.memmap(copy, np.int64, "r+")
            ordered.sort()
            n_repeated = _keep_repeated(ordered)
            if not n_repeated:
                return
            # Each occurs at least twice, so there is room for the first document that has it.
            repeated, firsts = ordered[:n_repeated], ordered[n_repeated : 2 * n_repeated]
            firsts[:] = -1
            others: dict[int, set[str]] = {}  # ids that share the digest of another, first one
            self._digests.seek(0)
            start = 0
            for n_rows in self._sizes:
                digests = np.frombuffer(self._digests.read(8 * n_rows), np.int64)
                places = np.minimum(np.searchsorted(repeated, digests), n_repeated - 1)
                rows = np.flatnonzero(repeated[places] == digests)
                own, first_rows = np.unique(places[rows], return_index=True)
                is_new = firsts[own] < 0
                firsts[own[is_new]] = start + rows[first_rows[is_new]]
                yield from self._compared(start + rows, places[rows], firsts, others)
                start += n_rows

    def _compared(
        self, numbers: IntArray, places: IntArray, firsts: IntArray, others: dict[int, set[str]]
    ) -> Iterator[Repeat]:
        """Those of the documents whose ids repeat, not only their digests."""
        former = firsts[places]
        ids = zip(self._ids_at(numbers), self._ids_at(former), strict=True)
        rows = zip(numbers.tolist(), former.tolist(), places.tolist(), ids, strict=True)
        for number, first, place, (name, first_name) in rows:
            if number == first or name is None:
                continue
            known = {name} if name == first_name else others.setdefault(place, set())
            if name in known and number >= self._n_before:
                yield number, first, name
            known.add(name)

    def _error(self, number: int, first: int, name: str) -> SourceError:
        where = self._place_of(number - self._n_before)
        if first >= self._n_before:
            other = self._place_of(first - self._n_before)
            problem = f"the id {shown(name)} is also that of {other}"
            return SourceError(where, problem, f"{_HINT}; {_WAYS}")
        problem = f"{self._before.where} already has a document with the id {shown(name)}"
        if self._before.has_ids:
            return SourceError(where, problem, _STORED_HINT)
        hint = "Give the documents other ids, or use --duplicate-ids keep."
        return SourceError(where, f"{problem}, which is its position", hint)

    def _write(self, ids: pa.StringArray) -> None:
        """Write the digests of the next part; no two documents without an id have the same."""
        assert self._digests is not None
        digests = key_strings(*bytes_and_offsets(ids)).view(np.int64)
        if ids.null_count:
            absent = ids.is_null().to_numpy(zero_copy_only=False)
            digests[absent] = (self._digests.tell() // 8 + np.flatnonzero(absent)) * _SPREAD
        self._digests.write(digests.tobytes())

    def _ids_at(self, numbers: IntArray) -> list[str | None]:
        """The ids of documents; None for those that have none."""
        starts = np.array([0, *accumulate(self._sizes)])
        parts = np.searchsorted(starts, numbers, side="right") - 1
        found = [
            self._ids(part).take(pa.array(numbers[parts == part] - starts[part]))
            for part in np.unique(parts).tolist()
        ]
        places = pa.array(np.argsort(np.argsort(parts, kind="stable")))  # among those by part
        names: list[str | None] = pa.chunked_array(found, pa.string()).take(places).to_pylist()
        return names

    def _ids(self, part: int) -> pa.StringArray:
        """The ids of a row group of the corpus or of a block, null for a document without one."""
        n_stored = len(self._before.groups)
        if part < n_stored:
            return pa.array(self._before.groups[part].read_ids(), pa.string())
        if self._first_given is None or part >= self._first_given:
            return given(self._block_of(part - n_stored).ids)
        return pa.nulls(self._sizes[part], pa.string())


def _keep_repeated(ordered: NDArray[np.int64]) -> int:
    """Move digests that occur several times to the front, each once; return their number."""
    n_repeated = 0
    for start in range(0, len(ordered), _AT_ONCE):
        window = ordered[max(0, start - 2) : start + _AT_ONCE].copy()
        is_second = np.zeros(len(window), np.bool_)
        is_second[1:] = window[1:] == window[:-1]
        is_second[2:] &= window[2:] != window[:-2]
        is_second[: min(start, 2)] = False  # those of the window before
        found = window[is_second]
        ordered[n_repeated : n_repeated + len(found)] = found
        n_repeated += len(found)
    return n_repeated
