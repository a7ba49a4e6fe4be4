"""What an ingest leaves when it is stopped, so that the same command goes on from there.

.NAME.ingest/job.json         what was asked for, of which files; without it nothing is kept
.NAME.ingest/tokenizer.json   settings with the phrases that were learned
.NAME.ingest/spool/           documents that have been counted
.NAME.ingest/corpus/          the corpus while it is written; renamed to NAME in the end
.NAME.ingest/lock             held by the process that ingests
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from sparsetopics.corpora.byte_stream import reading
from sparsetopics.corpora.places import Place
from sparsetopics.corpora.remote import RemoteFile, is_url
from sparsetopics.corpora.sources import SourceFile
from sparsetopics.corpora.tokenizer import TokenizerOptions
from sparsetopics.errors import ClusterError, OutputError
from sparsetopics.small_files import parse_json, read_small
from sparsetopics.staging import alone_at, publish_folder, put_in_place, refused

_JOB_FILE, _TOKENIZER_FILE, _LOCK_FILE = "job.json", "tokenizer.json", "lock"
_WAY_ON = "What was read is kept; the same command goes on."


class Job(NamedTuple):
    """What to compare before going on: digests of what was said, and of what it means today."""

    command: str  # sources and options
    files: str  # the files found, with their sizes and times


class WorkFolder(NamedTuple):
    """The folder in which a corpus is made."""

    folder: Path

    @property
    def corpus(self) -> Path:
        """What becomes the output."""
        return self.folder / "corpus"

    @property
    def spool(self) -> Path:
        return self.folder / "spool"

    @property
    def has_blocks(self) -> bool:
        """Whether anything that was counted is here."""
        return any(self.spool.glob("*.arrow"))

    def keep_tokenizer(self, tokenizer: TokenizerOptions) -> None:
        self.write(_TOKENIZER_FILE, tokenizer.settings())

    def kept_tokenizer(self) -> TokenizerOptions | None:
        settings = self.read(_TOKENIZER_FILE)
        try:
            return None if settings is None else TokenizerOptions.from_settings(settings)
        except (TypeError, ValueError) as error:
            raise self._damaged(_TOKENIZER_FILE, error) from error

    def write(self, name: str, record: Mapping[str, Any]) -> None:
        scratch = self.folder / f"{name}.part"
        scratch.write_text(json.dumps(record), encoding="utf-8")
        put_in_place(scratch, self.folder / name)

    def read(self, name: str) -> dict[str, Any] | None:
        path = self.folder / name
        if not path.exists():
            return None
        try:
            record = parse_json(read_small(path))
            if not isinstance(record, dict):
                raise ValueError("no JSON object")
        except ValueError as error:
            raise self._damaged(name, error) from error
        return record

    def _damaged(self, name: str, error: Exception) -> OutputError:
        return OutputError(
            str(self.folder / name),
            found=f"damage ({error})",
            wanted="what an ingest wrote",
            hint=f"Remove {self.folder} to start anew.",
        )


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


@contextmanager
def work_folder(
    out: Path, job: Job | None, *, overwrite: bool, say: Callable[[str], None]
) -> Iterator[WorkFolder]:
    """Yield where to make the corpus, which becomes ``out`` if the block succeeds.

    With a ``job``, what is in it stays if the process is stopped or its cluster is lost, and is
    there again when the same job comes back; without one, and after an error, all of it goes.
    ``say`` is told what becomes of what an earlier process left. Raises OutputError if another
    process is at work there, if another job left something and ``overwrite`` is false, or if the
    disk refuses.
    """
    place = WorkFolder(out.with_name(f".{out.name}.ingest"))
    is_kept = False
    try:
        was_there = place.folder.exists()
        place.folder.mkdir(exist_ok=True)
        with alone_at(out, place.folder / _LOCK_FILE, "makes it"):
            if was_there:
                _take_over(place, out, job, overwrite=overwrite, say=say)
            try:
                _prepare(place, job)
                yield place
                publish_folder(place.corpus, out)
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
                    shutil.rmtree(place.folder, ignore_errors=True)
    except OSError as error:
        raise refused(out, error) from error


def _take_over(
    place: WorkFolder, out: Path, job: Job | None, *, overwrite: bool, say: Callable[[str], None]
) -> None:
    """Clear what an earlier process left, unless this is the job to go on with."""
    left = place.read(_JOB_FILE)
    former = None if left is None or set(left) != set(Job._fields) else Job(**left)
    if former is not None and former == job:
        say(f"{out}: going on with an ingest that was interrupted.")
        return
    is_other = former is not None and (job is None or former.command != job.command)
    if is_other and not overwrite:
        raise OutputError(
            str(out),
            found=f"an ingest of other sources or options, interrupted, in {place.folder}",
            wanted="the same ones",
            hint="Give the command of then to go on with it, or --overwrite to start anew.",
        )
    if former is None:
        why = "of which nothing can be kept"
    else:
        why = "of something else" if is_other else "whose sources have changed since"
    say(f"{out}: starting anew after an ingest that was interrupted, {why}.")
    for path in place.folder.iterdir():
        if path.name != _LOCK_FILE:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _prepare(place: WorkFolder, job: Job | None) -> None:
    shutil.rmtree(place.corpus, ignore_errors=True)
    place.corpus.mkdir()
    place.spool.mkdir(exist_ok=True)
    if job is not None:
        place.write(_JOB_FILE, job._asdict())
