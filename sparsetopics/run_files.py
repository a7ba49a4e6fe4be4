"""The files of a run folder, whatever model it holds: written whole, read with suspicion."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from sparsetopics.array_formats import ArrayFormat
from sparsetopics.batches import FloatArray
from sparsetopics.errors import RunError
from sparsetopics.small_files import parse_json, read_small

FORMAT_VERSION = 1
SETTINGS_FILE = "model.json"
ARRAYS_FILE = "model.safetensors"
TRACE_FILE = "trace.jsonl"
CONFIG_FILE = "config.toml"
RUN_FILES = (SETTINGS_FILE, ARRAYS_FILE, TRACE_FILE, CONFIG_FILE, "vocabulary.parquet")
LARGEST_NUMBER = 1e100  # beyond which, and below its inverse, products leave what floats can hold
LARGEST_SIZE = 2**53  # of what is counted: floats are exact up to there
TRACE_NUMBERS = ("elbo_per_token", "criterion_per_token", "heldout_log_likelihood_per_token")
TRACE_SIZES = (
    "lap",
    "n_topics",
    "births_accepted",
    "merges_accepted",
    "deletes_accepted",
    "regroups_accepted",
)
STATE_FOLDER = "state"  # of a run that is being trained (``training_folder``)
PLAN_FILE = "plan.json"
LIBRARIES = ("sparsetopics", "numpy", "scipy", "numba", "pyarrow")


def write_run(
    folder: Path,
    arrays: Mapping[str, FloatArray],
    facts: Mapping[str, Any],
    settings: Mapping[str, Any],
    trace: Sequence[Mapping[str, Any]],
) -> None:
    """Write a run into ``folder``; equal arrays give equal bytes in ``model.safetensors``."""
    doubles = {name: np.ascontiguousarray(array, np.float64) for name, array in arrays.items()}
    (folder / ARRAYS_FILE).write_bytes(save(doubles))  # save_file would hide it from other users
    known = {"format_version": FORMAT_VERSION, **facts, "versions": _versions()}
    text = json.dumps(known | dict(settings) | known, indent=2)  # facts stand first and win
    (folder / SETTINGS_FILE).write_text(text + "\n", encoding="utf-8")
    lines = [json.dumps(dict(entry)) + "\n" for entry in trace]
    (folder / TRACE_FILE).write_text("".join(lines), encoding="utf-8")


def _versions() -> dict[str, str]:
    libraries = {library: version(library) for library in LIBRARIES}
    return {"python": platform.python_version()} | libraries


def load_settings(path: Path, kinds: Sequence[str]) -> dict[str, Any]:
    """``model.json`` of a run of one of ``kinds`` of models; RunError otherwise."""
    settings = parse_object(read_text(path), str(path))
    _check_told(path, settings)
    found = settings.get("format_version")
    if found != FORMAT_VERSION:
        raise RunError(
            str(path),
            found=f"run format version {found!r}",
            wanted=f"version {FORMAT_VERSION}",
            hint="Read it with the sparsetopics version that wrote it.",
        )
    if settings.get("model") not in kinds:
        wanted = f"one of {', '.join(kinds)}"
        raise RunError(str(path), found=f"model {settings.get('model')!r}", wanted=wanted)
    return settings


def _check_told(path: Path, settings: Mapping[str, Any]) -> None:
    """RunError unless what pages tell of a run is of the types that training writes."""
    corpus, options = settings.get("corpus", {}), settings.get("options", {})
    versions: Any = settings.get("versions")
    for name, value in (("corpus", corpus), ("options", options), ("versions", versions)):
        if not isinstance(value, dict):
            raise RunError(str(path), found=f"{name} {value!r}", wanted="a JSON object")
    for name in ("n_documents", "n_items", "n_tokens"):
        size = corpus.get(name, 0)
        if not (_is_size(size) or (name == "n_tokens" and _is_finite(size))):
            raise RunError(str(path), found=f"{name} {size!r} of the corpus", wanted="a number")
    if not isinstance(corpus.get("path", ""), str):
        raise RunError(str(path), found=f"path {corpus['path']!r} of the corpus", wanted="a string")
    if not isinstance(versions.get("sparsetopics"), str):
        raise RunError(str(path), found="no version of sparsetopics", wanted="that which wrote it")


def _is_finite(value: Any) -> bool:
    return isinstance(value, float) and isfinite(value)


def check_entries(path: Path, settings: Mapping[str, Any], types: Mapping[str, type]) -> None:
    """RunError for the first entry that is not of its type."""
    for name, kind in types.items():
        value = settings.get(name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            found = f"{name} {value!r}"
            raise RunError(str(path), found=found, wanted="a value that training writes")


def check_numbers(path: Path, settings: Mapping[str, Any], names: Sequence[str]) -> None:
    """RunError for the first entry that is no positive number."""
    for name in names:
        number = settings.get(name)
        if not (isinstance(number, float) and 1 / LARGEST_NUMBER < number < LARGEST_NUMBER):
            raise RunError(str(path), found=f"{name} {number!r}", wanted="a positive number")


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LARGEST_SIZE


def load_arrays(
    path: Path, formats: Mapping[str, ArrayFormat], sizes: Mapping[str, Any]
) -> Mapping[str, FloatArray]:
    """The arrays of ``formats``, axes as long as ``sizes`` says; RunError otherwise."""
    try:
        arrays = load_file(path)
    except (OSError, SafetensorError) as error:
        raise RunError(str(path), found=str(error), wanted="the arrays of the model") from error
    for name, wanted in formats.items():
        shape = tuple(sizes[axis] for axis in wanted.axes)
        _check_array(f"{path}, {name}", arrays.get(name), shape, wanted)
    return {name: arrays[name] for name in formats}


def _check_array(where: str, array: Any, shape: tuple[int, ...], wanted: ArrayFormat) -> None:
    if array is None or array.shape != shape:
        found = "no such array" if array is None else f"shape {array.shape}"
        raise RunError(where, found=found, wanted=f"shape {shape}")
    if array.dtype != np.float64:
        raise RunError(where, found=f"{array.dtype} numbers", wanted="float64")
    lower, upper = max(wanted.lower, -LARGEST_NUMBER), min(wanted.upper, LARGEST_NUMBER)
    bad = ~((array > (lower or 1 / LARGEST_NUMBER)) & (array < upper))
    if bad.any():
        found = f"{array[bad][0]} among {int(bad.sum()):,} bad values"
        raise RunError(where, found=found, wanted=wanted.values)


def load_trace(path: Path) -> list[dict[str, Any]]:
    """An entry for each lap; RunError if one is damaged."""
    trace = []
    for number, line in enumerate(read_text(path).removesuffix("\n").split("\n"), start=1):
        if number == 1 and not line:  # no laps at all
            continue
        where = f"{path}, line {number}"
        entry = parse_object(line, where)
        _check_lap(where, entry)
        trace.append(entry)
    return trace


def _check_lap(where: str, entry: Mapping[str, Any]) -> None:
    for name in TRACE_SIZES:
        if not _is_size(size := entry.get(name, 0)):
            raise RunError(where, found=f"{name} {size!r}", wanted="a whole number")
    for name in TRACE_NUMBERS:
        if (value := entry.get(name)) is not None and not isinstance(value, float):
            raise RunError(where, found=f"{name} {value!r}", wanted="a number")


def read_text(path: Path) -> str:
    try:
        return read_small(path)
    except (OSError, ValueError) as error:
        found = getattr(error, "strerror", None) or str(error)
        raise RunError(str(path), found=found, wanted="a readable run file") from error


def parse_object(text: str, where: str) -> dict[str, Any]:
    try:
        parsed = parse_json(text)
    except ValueError as error:
        raise RunError(where, found=f"damaged JSON ({error})", wanted="a JSON object") from error
    if not isinstance(parsed, dict):
        raise RunError(where, found=f"JSON {type(parsed).__name__}", wanted="a JSON object")
    return parsed
