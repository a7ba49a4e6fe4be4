"""A command whose input files are damaged, one at a time: a flipped bit, the file of another folder
of the same kind, or contents that a stranger has forged, with the right digests."""

from __future__ import annotations

import bz2
import gzip
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa

from forked_commands import Ended, memory, run
from fuzz.checkpoint_changes import change_checkpoint, change_memo
from fuzz.mutation import Change, mutate
from fuzz.structure import (
    change_json,
    change_json_lines,
    change_members,
    change_npy,
    change_safetensors,
)
from fuzz.tables import change_ipc, change_parquet, change_stream, read_parquet
from resealing import LONG, SEALED, reseal, shared, with_column
from write_kills import Scenario, Trials, contents, differences, faults_in

ROOTS = ("manifest.json", "model.json", "path.json")  # of folders that sparsetopics makes
EDITABLE = ("config.toml", "edits.toml")  # by users
MEMORY = 1 << 29  # bytes that reading may add
TOO_LARGE = 64 << 30  # bytes of a file without data blocks, in which a number is its size
SEALED_TOO_LARGE = 5 << 27  # the same of a file whose digest must be computed
DEEP = b"a." * 40_000 + b"a = 1\n"  # TOML


def _packed_lines(pack: Callable[[bytes], bytes], unpack: Callable[[bytes], bytes]) -> Change:
    return lambda data, rng: pack(change_json_lines(unpack(data), rng))


def _zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, "zstd", asbytes=True))


def _unzstd(data: bytes) -> bytes:
    return pa.input_stream(pa.BufferReader(data), compression="zstd").read()


CHANGES: dict[str, Change] = {
    ".json": change_json,
    ".jsonl": change_json_lines,
    ".safetensors": change_safetensors,
    ".parquet": change_parquet,
    ".arrow": change_ipc.damaged,
    ".arrows": change_stream.damaged,
    ".npy": change_npy,
    ".npz": change_members(change_npy),
    ".zip": change_members(change_json_lines),
    ".xlsx": change_members(mutate),
    ".gz": _packed_lines(gzip.compress, gzip.decompress),
    ".bz2": _packed_lines(bz2.compress, bz2.decompress),
    ".zst": _packed_lines(_zstd, _unzstd),
}


def own_folder(path: Path) -> Path | None:
    """The outermost folder around a file that sparsetopics made, if there is one."""
    around = [folder for folder in path.parents if any((folder / name).exists() for name in ROOTS)]
    return around[-1] if around and path.name not in EDITABLE else None


def input_files(scenario: Scenario, given: Path, work: Path) -> list[Path]:
    """All files that a command may read: those it names, those in folders, those beside."""
    named = [Path(word) for word in scenario.command if word.startswith(f"{given}{os.sep}")]
    found: dict[Path, None] = {}
    for path in [*named, *(work / name for name in scenario.outputs)]:
        is_beside = path.is_file() and path.parent not in (given, work) and not own_folder(path)
        whole = path.parent if is_beside else path
        files = sorted(whole.rglob("*")) if whole.is_dir() else [whole]
        found |= dict.fromkeys(file for file in files if file.is_file() and file.name != "lock")
    return list(found)


class DamageTrials:
    """A scenario in ``scratch``/work that reads files there and in ``scratch``/given."""

    def __init__(self, trials: Trials, scratch: Path) -> None:
        self.trials, self._given, self._work = trials, scratch / "given", scratch / "work"
        trials.fresh()
        self.files = input_files(trials.scenario, self._given, self._work)
        self._rng = np.random.default_rng(zlib.crc32(trials.scenario.name.encode()))
        self._most = memory() + MEMORY

    def flips(self, n_flips: int) -> Iterator[list[str]]:
        """The problems after each flip of a bit; files are hit as often as each other."""
        for number in range(n_flips if self.files else 0):
            path = self.files[number % len(self.files)]
            self.trials.fresh()
            data = path.read_bytes()
            if not data:
                continue
            place, bit = int(self._rng.integers(len(data))), int(self._rng.integers(8))
            flipped = data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]
            what = f"bit {bit} of byte {place} flipped"
            yield self._tried(path, flipped, what)

    def swaps(self, twin: Path) -> Iterator[list[str]]:
        """The problems with each file of a folder of ours that the folder in ``twin`` has too."""
        for path in self.files:
            self.trials.fresh()
            other = twin / path.relative_to(self._given.parent)
            if own_folder(path) and other.exists() and other.read_bytes() != path.read_bytes():
                yield self._tried(path, other.read_bytes(), "swapped")

    def forgeries(self, n_forgeries: int) -> Iterator[list[str]]:
        """The problems with each forgery; files are forged as often as each other."""
        for number in range(n_forgeries if self.files else 0):
            path = self.files[number % len(self.files)]
            self.trials.fresh()
            yield self._tried(path, self._forged(path), f"forgery {number}", is_sealed=True)
        for path in self.files:
            self.trials.fresh()
            for what, data in _bombs(path):
                yield self._tried(path, data, what, is_sealed=True)
        yield from self._too_large()

    def _forged(self, path: Path) -> bytes:
        change = CHANGES.get(path.suffix, mutate)
        if own_folder(path) and path.suffix == ".npz":
            change = change_checkpoint if path.name.startswith("checkpoint") else change_memo
        chosen = mutate if own_folder(path) is None and self._rng.random() < 0.3 else change
        return chosen(path.read_bytes(), self._rng)

    def _too_large(self) -> Iterator[list[str]]:
        """Each file that is read without a digest, and one of those that have one."""
        n_sealed = 0
        for path in self.files:
            is_sealed = own_folder(path) is not None and path.name not in ROOTS
            n_sealed += is_sealed
            if n_sealed <= 1 or not is_sealed:
                size = SEALED_TOO_LARGE if is_sealed else TOO_LARGE
                self.trials.fresh()
                yield self._tried(path, size, f"{size:,} bytes of zeros", is_sealed=is_sealed)

    def _tried(
        self, path: Path, data: bytes | int, what: str, *, is_sealed: bool = False
    ) -> list[str]:
        """Problems of the command with this file; ``data`` is a number of zeros, or the bytes."""
        folder = own_folder(path)
        with _restored(path):
            _write(path, data)
            if is_sealed and folder:
                for inner in sorted({each.parent for each in folder.rglob("model.json")}):
                    reseal(inner)
                reseal(folder)
            before, old = _stats(self._given), contents(self._work, self._sealing(path))
            ended = self.trials.run()
            has_digest = folder is not None and not is_sealed
            found = list(self._problems(ended, old, path, has_digest=has_digest))
            if _stats(self._given) != before:
                found.append("changed an input")
        return [f"{self.trials.scenario.name}: {path.name}, {what}: {each}" for each in found]

    def _problems(
        self, ended: Ended, old: dict[str, object], path: Path, *, has_digest: bool
    ) -> Iterator[str]:
        trials = self.trials
        is_told = trials.scenario.command[:2] == ["corpus", "validate"] and ended.printed
        if not (is_told and ended.status == 1 and not ended.said):
            yield from faults_in(ended, (0, 1, 2))
        if ended.peak > self._most:
            yield f"took {ended.peak - self._most + MEMORY:,} bytes of memory"
        found = contents(self._work, self._sealing(path))
        if ended.status != 0:  # after it may have moved what was committed
            yield from differences(found, found if trials.scenario.is_interrupted else old)
        elif has_digest:
            names = [str(each.relative_to(self._work)) for each in self._sealing(path)]
            wanted = {name: data for name, data in trials.wanted.items() if name not in names}
            yield from differences(found, wanted)
            if ended.printed != trials.ended.printed:
                yield f"printed {ended.printed[:300]!r}"
        elif trials.scenario.read:
            yield from faults_in(run(trials.scenario.read, self._work), (0, 1))

    def _sealing(self, path: Path) -> list[Path]:
        """The file, if it is in the folder of work, and those that have its digest."""
        if not path.is_relative_to(self._work):
            return []
        folder = own_folder(path)
        return [path, *(folder.rglob("*.json") if folder else ())]


def _write(path: Path, data: bytes | int) -> None:
    if isinstance(data, int):
        with path.open("wb") as file:
            file.truncate(data)
    else:
        path.write_bytes(data)


def _bombs(path: Path) -> Iterator[tuple[str, bytes]]:
    """Little that expands to much."""
    if path.suffix == ".toml":
        yield "deep keys", DEEP
    if path.suffix != ".parquet" or not own_folder(path):
        return
    data = path.read_bytes()
    table = read_parquet(data)
    for field in table.schema:
        if pa.types.is_string(field.type) or pa.types.is_dictionary(field.type):
            yield f"{field.name} expands", with_column(data, field.name, shared(LONG, len(table)))


@contextmanager
def _restored(path: Path) -> Iterator[None]:
    """Files that sealing changes, and ``path`` itself, are as before in the end."""
    folder = own_folder(path)
    inner = {each.parent for each in folder.rglob("model.json")} if folder else set()
    changed = [each / name for each in {*inner, *filter(None, [folder])} for name in SEALED]
    before = {each: (each.read_bytes(), each.stat()) for each in {path, *changed} if each.is_file()}
    try:
        yield
    finally:
        for each, (data, status) in before.items():
            if each.parent.is_dir():
                each.write_bytes(data)
                os.utime(each, ns=(status.st_atime_ns, status.st_mtime_ns))  # known to manifests


def _stats(folder: Path) -> dict[str, tuple[int, int]]:
    """Sizes and times of change."""
    return {
        str(path): (status.st_size, status.st_mtime_ns)
        for path in folder.rglob("*")
        if (status := path.lstat())
    }
