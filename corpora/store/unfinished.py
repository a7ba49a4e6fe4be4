"""What an interrupted ingest leaves, so that the same command can continue it.

In the workspace of its output (``transactions``):

    job.json         the options and source files; without it nothing is kept
    tokenizer.json   settings with the phrases that were learned
    spool/           documents that have been counted
    new/             the corpus while it is written
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from sparsetopics.base.errors import ClusterError, OptionError, OutputError
from sparsetopics.base.outputs import Output, claimed, output_folder, publish
from sparsetopics.base.own_folders import CORPUS
from sparsetopics.base.sealed_files import VERSION_KEY, Refusal, decoded, read_sealed, write_sealed
from sparsetopics.base.transactions import JOB
from sparsetopics.base.wording import reason_of
from sparsetopics.corpora.readers.blocks import CountedBlock
from sparsetopics.corpora.sources.archives import ZipMember
from sparsetopics.corpora.sources.byte_stream import SourceFile
from sparsetopics.corpora.sources.source_files import local_paths
from sparsetopics.corpora.text.tokenizer import TokenizerOptions
from sparsetopics.corpora.text.vocabulary import Setting
from sparsetopics.execution.executors import LocalMap

_FORMAT_VERSION = 2  # of what is kept
_TOKENIZER_FILE, SPOOL = "tokenizer.json", "spool"
_WAY_ON = "What was read is kept; repeat the command to continue."
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Job:
    """What to compare before continuing: digests of the command, and of the files it names."""

    command: str  # sources and options
    files: str  # the files found, with their sizes and times

    @property
    def text(self) -> str:
        return f"{self.command} {self.files}"


class WorkFolder(NamedTuple):
    """The workspace in which a corpus is made."""

    output: Output
    job: str  # what is made; files of other jobs are not taken over

    @property
    def folder(self) -> Path:
        return self.output.workspace.folder

    @property
    def corpus(self) -> Path:
        """The folder that becomes the output."""
        return self.output.scratch

    @property
    def spool(self) -> Path:
        return self.folder / SPOOL

    def keep_tokenizer(self, tokenizer: TokenizerOptions) -> None:
        self.write(_TOKENIZER_FILE, {**tokenizer.settings(), "job": self.job})

    def kept_tokenizer(self) -> TokenizerOptions | None:
        learned = self.read(_TOKENIZER_FILE, dict)
        is_own = learned is not None and learned.get("job", "") == self.job
        return self.read(_TOKENIZER_FILE, TokenizerOptions) if is_own else None

    def write(self, name: str, record: Mapping[str, Setting]) -> None:
        content = {VERSION_KEY: _FORMAT_VERSION, **record}
        self.output.workspace.put(name, lambda path: write_sealed(path, content))

    def read(self, name: str, kind: type[T]) -> T | None:
        """What an earlier process wrote under this name; None if it wrote nothing."""
        path = self.folder / name
        if not os.path.lexists(path):
            return None
        refusal = Refusal(OutputError, f"Remove {self.folder} to start over")
        content = read_sealed(path, _FORMAT_VERSION, refusal)
        try:
            return decoded(content, kind, str(path), refusal)
        except OptionError as error:
            raise refusal.of(path, reason_of(error)) from error


def corpus_output(
    out: str | Path, sources: Sequence[str | Path], other: Path | None, *, overwrite: bool
) -> Output:
    """The corpus folder to make from ``sources``, with the words or projection of the corpus
    ``other`` if there is one; OutputError if it cannot be written there."""
    return output_folder(out, CORPUS, overwrite=overwrite, inputs=[*local_paths(sources), other])


def paths_of(files: Iterable[SourceFile]) -> list[Path]:
    """The paths of the files on this disk; for members of archives, those of the archives."""
    places = [f.path.archive.place if isinstance(f.path, ZipMember) else f.path for f in files]
    return [place for place in places if isinstance(place, Path)]


@contextmanager
def work_folder(
    output: Output, job: Job | None, *, say: Callable[[str], None]
) -> Iterator[WorkFolder]:
    """Yield the folder in which to make the corpus; it becomes ``output`` if the block succeeds.

    With a ``job``, its content stays if the process is interrupted or its cluster is lost, so that
    the same job can continue. Without one, and after any other error, all of it is removed. ``say``
    gets a sentence about the work of an earlier process. Raises OutputError if another process is
    at work there, if another job left something and ``output`` may not be overwritten, or if the
    disk refuses.
    """
    place, out = WorkFolder(output, job.text if job else ""), output.path
    is_kept = False
    with claimed([output]):
        _take_over(place, job, say)
        try:
            output.workspace.clear(keep=(JOB, _TOKENIZER_FILE, SPOOL))
            place.corpus.mkdir(parents=True)
            place.spool.mkdir(exist_ok=True)
            if job is not None:
                place.write(JOB, asdict(job))
            yield place
            publish([output])
        except (KeyboardInterrupt, ClusterError) as stop:
            is_kept = job is not None and any(place.spool.glob("*.arrow"))
            if isinstance(stop, KeyboardInterrupt):
                stop.args = (f"interrupted. {_WAY_ON if is_kept else 'Nothing was written.'}",)
            elif is_kept:
                say(f"{out}: {_WAY_ON}")
            raise
        finally:
            if not is_kept:
                output.workspace.remove()


def _take_over(place: WorkFolder, job: Job | None, say: Callable[[str], None]) -> None:
    """Clear what an earlier process left, unless it was the same job."""
    out = place.output.path
    former = place.read(JOB, Job)
    if former is not None and former == job:
        say(f"{out}: continuing an ingest that was interrupted.")
        return
    is_other = former is not None and (job is None or former.command != job.command)
    if is_other and not place.output.overwrite:
        problem = f"an interrupted ingest of other sources or options is in {place.folder}"
        hint = "Repeat the earlier command to continue it, or pass --overwrite to start over."
        raise OutputError(str(out), problem, hint)
    if former is not None:
        changed = "the sources have changed since an ingest was interrupted"
        why = "an ingest of something else was interrupted" if is_other else changed
        say(f"{out}: starting over, because {why}.")
    place.output.workspace.clear()


_SUM_BYTES = 4  # of the checksum that a file ends with


class Spool:
    """Counted blocks on disk, in order, until the vocabulary is known.

    A file is written under another name and renamed, so that a process that is killed leaves whole
    files. The checksum detects what a loss of power damages, because nothing waits for the disk,
    and blocks of another ``job``.
    """

    def __init__(self, folder: Path, job: str) -> None:
        self.folder = folder
        self._start = zlib.crc32(job.encode())

    def keep(
        self, blocks_after: Callable[[int], Iterable[CountedBlock]], here: LocalMap
    ) -> Iterator[CountedBlock]:
        """The whole blocks that an earlier process left, and the ``blocks_after`` so many, each
        written after those before by the threads of ``here``."""
        n_blocks = 0
        while (block := self._whole(self._path(n_blocks))) is not None:
            n_blocks += 1
            yield block
        numbered = enumerate(blocks_after(n_blocks), n_blocks)
        yield from here(_write, ((block, self._path(n), self._start) for n, block in numbered))

    def block(self, number: int) -> CountedBlock:
        """One of the blocks, read again."""
        with pa.OSFile(str(self._path(number)), "rb") as source:
            return _unpacked(source)

    def _whole(self, path: Path) -> CountedBlock | None:
        if not path.exists():
            return None
        data = memoryview(path.read_bytes())
        packed, checksum = data[:-_SUM_BYTES], data[-_SUM_BYTES:]
        is_whole = zlib.crc32(packed, self._start).to_bytes(_SUM_BYTES) == checksum
        return _unpacked(pa.BufferReader(packed)) if is_whole else None

    def _path(self, index: int) -> Path:
        return self.folder / f"block-{index:06d}.arrow"


def _write(placed: tuple[CountedBlock, Path, int]) -> CountedBlock:
    block, path, start = placed
    data = _packed(block)
    scratch = path.with_suffix(".part")
    with scratch.open("wb") as file:
        file.write(data)
        file.write(zlib.crc32(data, start).to_bytes(_SUM_BYTES))
    os.replace(scratch, path)
    return block


def _packed(block: CountedBlock) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    *columns, forms, fields = block  # strings, then arrays of numpy
    named = [{"column": column} for column in (*columns[:3], *map(pa.array, columns[3:]))]
    for values in (*named, dict(forms), dict(fields)):
        batch = pa.record_batch(values)
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
    return sink.getvalue()


def _unpacked(source: pa.NativeFile) -> CountedBlock:
    *tables, forms, fields = (pa.ipc.open_stream(source).read_all() for _ in CountedBlock._fields)
    columns = [table["column"].combine_chunks() for table in tables]
    named = [{n: own[n].combine_chunks() for n in own.column_names} for own in (forms, fields)]
    ids, labels, words = columns[:3]
    indptr, word_ids, counts, account = (np.asarray(column) for column in columns[3:])
    return CountedBlock(ids, labels, words, indptr, word_ids, counts, account, *named)
