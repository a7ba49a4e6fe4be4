"""The files of a run folder, whatever model it holds: written whole, read with suspicion."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from safetensors.numpy import save

from sparsetopics.base.array_files import read_tensors
from sparsetopics.base.batches import FloatArray
from sparsetopics.base.errors import RunError
from sparsetopics.base.sealed_files import (
    FileEntry,
    PositiveSize,
    Refusal,
    Size,
    decoded,
    parsed,
    read_sealed,
    read_text,
    write_sealed,
)
from sparsetopics.model.array_formats import ArrayFormat

FORMAT_VERSION = 2  # version 1 held no digests
SETTINGS_FILE = "model.json"
ARRAYS_FILE = "model.safetensors"
TRACE_FILE = "trace.jsonl"
CONFIG_FILE = "config.toml"
LISTED_FILES = (ARRAYS_FILE, TRACE_FILE, "vocabulary.parquet")  # users may edit config.toml
RUN_FILES = (SETTINGS_FILE, CONFIG_FILE, *LISTED_FILES)
LARGEST_NUMBER = 1e100  # beyond which, and below its inverse, products leave what floats can hold
PLAN_FILE = "plan.json"
PLAN_VERSION = 2
DAMAGE = Refusal(RunError, "Train again")
STATE_DAMAGE = Refusal(RunError, "Train again with --overwrite")
Told = str | int | float | bool | None | list[str]  # what an option may be
LIBRARIES = ("sparsetopics", "numpy", "scipy", "numba", "pyarrow")


class CorpusFacts(msgspec.Struct):
    """What a run says of the data it was trained on, as far as it is known."""

    path: str | None = None
    fingerprint: str | None = None
    n_documents: Size | None = None
    n_tokens: Size | Annotated[float, Meta(ge=0.0, le=LARGEST_NUMBER)] | None = None
    n_items: Size | None = None
    columns_fingerprint: str | None = None
    made: dict[str, Any] | None = None


class Versions(msgspec.Struct):
    """The release that wrote a run; the versions of libraries are beside it."""

    sparsetopics: str


class RunRecord(msgspec.Struct):
    """What ``model.json`` holds, whatever the model."""

    model: str
    n_topics: PositiveSize
    corpus: CorpusFacts
    versions: Versions
    files: tuple[FileEntry, ...]
    options: dict[str, Told | dict[str, Told]] = {}
    seed: Annotated[int, Meta(ge=0)] | None = None


class LapRecord(msgspec.Struct):
    """What ``trace.jsonl`` holds of a lap, as far as it is known; callers may add to it."""

    lap: Size = 1
    n_topics: Size = 0
    births_accepted: Size = 0
    merges_accepted: Size = 0
    deletes_accepted: Size = 0
    regroups_accepted: Size = 0
    elbo_per_token: float | None = None
    criterion_per_token: float | None = None
    heldout_log_likelihood_per_token: float | None = None


def write_run(
    folder: Path,
    arrays: Mapping[str, FloatArray],
    facts: Mapping[str, Any],
    settings: Mapping[str, Any],
    trace: Sequence[Mapping[str, Any]],
) -> None:
    """Write a run into ``folder``, where its vocabulary is, if it has one; equal arrays give equal
    bytes in ``model.safetensors``."""
    doubles = {name: np.ascontiguousarray(array, np.float64) for name, array in arrays.items()}
    (folder / ARRAYS_FILE).write_bytes(save(doubles))  # save_file would hide it from other users
    lines = [json.dumps(dict(entry)) + "\n" for entry in trace]
    (folder / TRACE_FILE).write_text("".join(lines), encoding="utf-8")
    listed = [FileEntry.of(folder / name) for name in LISTED_FILES if (folder / name).exists()]
    known = {
        "format_version": FORMAT_VERSION,
        **facts,
        "versions": _versions(),
        "files": [entry.to_json() for entry in listed],
    }
    content = known | dict(settings) | known  # facts come first and win
    write_sealed(folder / SETTINGS_FILE, content, indent=2)


def _versions() -> dict[str, str]:
    libraries = {library: version(library) for library in LIBRARIES}
    return {"python": platform.python_version()} | libraries


def read_settings(path: Path, record: type[RunRecord] = RunRecord) -> dict[str, Any]:
    """What ``model.json`` holds; RunError unless it is a sound ``record``."""
    settings = read_sealed(path, FORMAT_VERSION, DAMAGE)
    decoded(settings, record, str(path), DAMAGE)
    return settings


def load_settings(
    path: Path, kinds: Sequence[str], record: type[RunRecord] = RunRecord
) -> dict[str, Any]:
    """``read_settings`` of a run of one of ``kinds`` of models; RunError otherwise."""
    model = read_settings(path)["model"]
    if model not in kinds:
        wanted = f"one of {', '.join(kinds)}"
        raise RunError(str(path), found=f"model {model!r}", wanted=wanted)
    return read_settings(path, record)


def file_entry(path: Path, settings: Mapping[str, Any], name: str) -> FileEntry:
    """The entry in ``settings``, read from ``path``, for a file beside it.

    Raises RunError if there is none.
    """
    for entry in decoded(settings["files"], list[FileEntry], f"{path}, files", DAMAGE):
        if entry.file == name:
            return entry
    raise DAMAGE.of(f"{path}, files", found=f"no {name}", wanted="its digest")


def check_file(folder: Path, settings: Mapping[str, Any], name: str) -> Path:
    """The path of a file of a run; RunError unless it matches its entry in ``settings``."""
    file_entry(folder / SETTINGS_FILE, settings, name).check(folder, DAMAGE)
    return folder / name


def check_numbers(path: Path, settings: Mapping[str, Any], names: Sequence[str]) -> None:
    """RunError for the first entry that is no positive number."""
    for name in names:
        number = settings.get(name)
        if not (isinstance(number, float) and 1 / LARGEST_NUMBER < number < LARGEST_NUMBER):
            raise DAMAGE.of(f"{path}, {name}", found=repr(number), wanted="a positive number")


def load_arrays(
    folder: Path, formats: Mapping[str, ArrayFormat], settings: Mapping[str, Any]
) -> Mapping[str, FloatArray]:
    """The arrays of ``formats``, axes as long as ``settings`` say; RunError otherwise."""
    path = check_file(folder, settings, ARRAYS_FILE)
    arrays = read_tensors(path, tuple(formats), DAMAGE).arrays
    for name, wanted in formats.items():
        shape = tuple(settings[axis] for axis in wanted.axes)
        _check_array(f"{path}, {name}", arrays[name], shape, wanted)
    return arrays


def _check_array(
    where: str, array: FloatArray, shape: tuple[int, ...], wanted: ArrayFormat
) -> None:
    if array.shape != shape:
        raise DAMAGE.of(where, found=f"shape {array.shape}", wanted=f"shape {shape}")
    lower, upper = max(wanted.lower, -LARGEST_NUMBER), min(wanted.upper, LARGEST_NUMBER)
    bad = ~((array > (lower or 1 / LARGEST_NUMBER)) & (array < upper))
    if bad.any():
        found = f"{array[bad][0]} among {int(bad.sum()):,} bad values"
        raise DAMAGE.of(where, found=found, wanted=wanted.values)


def load_trace(folder: Path, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """An entry for each lap; RunError if one is damaged."""
    path = check_file(folder, settings, TRACE_FILE)
    trace = []
    for number, line in enumerate(read_text(path, DAMAGE).removesuffix("\n").split("\n"), start=1):
        if number == 1 and not line:  # no laps at all
            continue
        where = f"{path}, line {number}"
        entry = parsed(line, where, DAMAGE)
        decoded(entry, LapRecord, where, DAMAGE)
        trace.append(entry)
    return trace
