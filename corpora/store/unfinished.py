"""What an interrupted ingest leaves, so that the same command can continue it.

In the workspace of its output (``transactions``):

    job.json         the options and source files; without it nothing is kept
    tokenizer.json   settings with the phrases that were learned
    spool/           documents that have been counted
    new/             the corpus while it is written
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from sparsetopics.base.errors import ClusterError, OptionError, OutputError
from sparsetopics.base.outputs import Output, claimed, output_folder, publish
from sparsetopics.base.own_folders import CORPUS
from sparsetopics.base.sealed_files import VERSION_KEY, Refusal, decoded, read_sealed, write_sealed
from sparsetopics.base.staging import put_in_place, refusing
from sparsetopics.base.transactions import JOB
from sparsetopics.corpora.sources.archives import ZipMember
from sparsetopics.corpora.sources.byte_stream import reading
from sparsetopics.corpora.sources.places import Place
from sparsetopics.corpora.sources.remote import RemoteFile, is_url
from sparsetopics.corpora.sources.sources import SourceFile
from sparsetopics.corpora.text.tokenizer import TokenizerOptions

_FORMAT_VERSION = 1  # of what is kept
_TOKENIZER_FILE, _SPOOL = "tokenizer.json", "spool"
_WAY_ON = "What was read is kept; the same command goes on."
Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class Job:
    """What to compare before going on: digests of what was said, and of what it means today."""

    command: str  # sources and options
    files: str  # the files found, with their sizes and times

    @property
    def text(self) -> str:
        return f"{self.command} {self.files}"


class WorkFolder(NamedTuple):
    """The workspace in which a corpus is made."""

    output: Output

    @property
    def folder(self) -> Path:
        return self.output.workspace.folder

    @property
    def corpus(self) -> Path:
        """What becomes the output."""
        return self.output.scratch

    @property
    def spool(self) -> Path:
        return self.folder / _SPOOL

    @property
    def has_blocks(self) -> bool:
        """Whether anything that was counted is here."""
        return any(self.spool.glob("*.arrow"))

    def keep_tokenizer(self, tokenizer: TokenizerOptions) -> None:
        self.write(_TOKENIZER_FILE, tokenizer.settings())

    def kept_tokenizer(self) -> TokenizerOptions | None:
        return self._read(_TOKENIZER_FILE, TokenizerOptions)

    @property
    def job(self) -> Job | None:
        """The job of an earlier process, if it left one."""
        return self._read(JOB, Job)

    def write(self, name: str, record: Mapping[str, Any]) -> None:
        scratch = self.folder / f"{name}.part"
        write_sealed(scratch, {VERSION_KEY: _FORMAT_VERSION, **record})
        put_in_place(scratch, self.folder / name)

    def _read(self, name: str, kind: type[Record]) -> Record | None:
        path = self.folder / name
        if not os.path.lexists(path):
            return None
        refusal = Refusal(OutputError, f"Remove {self.folder} to start over")
        content = read_sealed(path, _FORMAT_VERSION, refusal)
        try:
            return decoded(content, kind, str(path), refusal)
        except OptionError as error:
            raise refusal.of(path, found=str(error), wanted="what an ingest wrote") from error


def job_of(
    sources: Sequence[str | Path], options: Mapping[str, Any], files: Iterable[SourceFile]
) -> Job | None:
    """The job of ingesting ``files``; None where it cannot be told whether they have changed.

    ``options`` are all that the corpus depends on.
    """
    named = [str(s) if is_url(s) else os.path.abspath(s) for s in sources]
    said = {"release": version("sparsetopics"), "sources": named, "options": options}
    found = hashlib.sha256()
    for file in files:
        if isinstance(file.path, RemoteFile):
            return None
        with reading(file.path):
            found.update(f"{file.path}\0{file.name}\0{_stamp(file.path)}\0".encode())
    function = (options.get("tokenizer") or {}).get("function")
    if function is not None:
        found.update(_stamp_of_module(function).encode())
    command = json.dumps(said, default=_as_json, sort_keys=True)
    return Job(hashlib.sha256(command.encode()).hexdigest(), found.hexdigest())


def _stamp(place: Place) -> str:
    """What changes with the content of a file."""
    if isinstance(place, Path):
        stat = place.stat()
        return f"{stat.st_size} {stat.st_mtime_ns}"
    assert not isinstance(place, RemoteFile)  # the caller has looked
    return f"{place.info.file_size} {place.info.CRC}"


def _stamp_of_module(function: str) -> str:
    """Of the file of ``MODULE:NAME``, which has been imported."""
    origin = getattr(sys.modules[function.partition(":")[0]], "__file__", None)
    return "" if origin is None else _stamp(Path(origin))


def _as_json(value: object) -> Any:
    return sorted(value) if isinstance(value, frozenset) else str(value)


def corpus_output(
    out: str | Path, sources: Sequence[str | Path], other: Path | None, *, overwrite: bool
) -> Output:
    """The corpus folder to make from ``sources``, with the words or projection of the corpus
    ``other``; OutputError if it cannot be written there."""
    inputs = [Path(source) for source in sources if not is_url(source)]
    inputs += [] if other is None else [other]
    return output_folder(out, CORPUS, overwrite=overwrite, inputs=inputs)


def paths_of(files: Iterable[SourceFile]) -> list[Path]:
    """Where files on this machine are, archives for their members."""
    places = [f.path.archive.place if isinstance(f.path, ZipMember) else f.path for f in files]
    return [place for place in places if isinstance(place, Path)]


@contextmanager
def work_folder(
    output: Output, job: Job | None, *, say: Callable[[str], None]
) -> Iterator[WorkFolder]:
    """Yield where to make the corpus, which becomes ``output`` if the block succeeds.

    With a ``job``, its content stays if the process is stopped or its cluster is lost, so that the
    same job can continue; without one, and after any other error, all of it is removed. ``say``
    reports what happens to the work of an earlier process. Raises OutputError if another process is
    at work there, if another job left something and ``output`` may not be overwritten,
    or if the disk refuses.
    """
    place, out = WorkFolder(output), output.path
    is_kept = False
    with refusing(out), claimed([output]):
        _take_over(place, job, say)
        try:
            _prepare(place, job)
            yield place
            publish([output])
        except KeyboardInterrupt as stop:
            is_kept = job is not None and place.has_blocks
            stop.args = (f"interrupted. {_WAY_ON if is_kept else 'Nothing was written.'}",)
            raise
        except ClusterError:
            is_kept = job is not None and place.has_blocks
            if is_kept:
                say(f"{out}: {_WAY_ON}")
            raise
        finally:
            if not is_kept:
                output.workspace.remove()


def _take_over(place: WorkFolder, job: Job | None, say: Callable[[str], None]) -> None:
    """Clear what an earlier process left, unless this is the job to go on with."""
    out = place.output.path
    former = place.job
    if former is not None and former == job:
        say(f"{out}: going on with an ingest that was interrupted.")
        return
    is_other = former is not None and (job is None or former.command != job.command)
    if is_other and not place.output.overwrite:
        raise OutputError(
            str(out),
            found=f"an ingest of other sources or options, interrupted, in {place.folder}",
            wanted="the same ones",
            hint="Repeat the earlier command to continue it, or pass --overwrite to start over.",
        )
    if former is not None:
        why = "of something else" if is_other else "whose sources have changed since"
        say(f"{out}: starting anew after an ingest that was interrupted, {why}.")
    place.output.workspace.clear()


def _prepare(place: WorkFolder, job: Job | None) -> None:
    place.output.workspace.clear(keep=(JOB, _TOKENIZER_FILE, _SPOOL))
    place.corpus.mkdir(parents=True)
    place.spool.mkdir(exist_ok=True)
    if job is not None:
        place.write(JOB, asdict(job))
