"""Run folders: a trained model, its vocabulary, how it was trained and how training went."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from sparsetopics.corpora.vocabulary import Vocabulary
from sparsetopics.errors import CorpusFormatError, RunError, VocabularyError
from sparsetopics.model import TopicModel
from sparsetopics.run_formats import RUN_FORMATS, ArrayFormat, Arrays

FORMAT_VERSION = 1
SETTINGS_FILE = "model.json"
ARRAYS_FILE = "model.safetensors"
TRACE_FILE = "trace.jsonl"
MODEL_NAMES = tuple(RUN_FORMATS)
SETTING_TYPES = {
    "n_topics": int,
    "n_words": int,
    "vocabulary_fingerprint": str,
    "corpus": dict,
}
LIBRARIES = ("sparsetopics", "numpy", "scipy", "numba", "pyarrow")


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A run folder, read whole."""

    path: Path
    model: TopicModel
    vocabulary: Vocabulary
    settings: Mapping[str, Any]  # what model.json holds
    trace: Sequence[Mapping[str, Any]]  # one entry per lap or global update

    @property
    def n_training_documents(self) -> int:
        return int(self.settings["corpus"]["n_documents"])

    @property
    def n_laps(self) -> int:
        """Completed passes over the training documents, at least one."""
        return max([1, *(int(entry.get("lap", 1)) for entry in self.trace)])

    def check_vocabulary(self, vocabulary: Vocabulary, where: str) -> None:
        """Refuse documents whose word ids mean other words than the topics' columns do."""
        if vocabulary.fingerprint != self.vocabulary.fingerprint:
            raise VocabularyError(
                where,
                found=f"another vocabulary ({len(vocabulary):,} words) than that of {self.path}",
                wanted=f"the {len(self.vocabulary):,} words the run was trained with",
                hint="Ingest the documents again with --vocabulary and the training corpus.",
            )


def save_run(
    folder: Path,
    model: TopicModel,
    vocabulary: Vocabulary,
    settings: Mapping[str, Any],
    trace: Sequence[Mapping[str, Any]],
) -> None:
    """Write a run into ``folder``, which exists and is staged by the caller.

    ``settings`` holds what only the training knows: ``corpus`` (at least ``n_documents`` and
    ``fingerprint``), ``options`` and ``seed``. What the arrays say themselves (sizes,
    hyperparameters, vocabulary fingerprint) and the library versions are added here. Equal
    models give equal bytes in ``model.safetensors``.
    """
    arrays = {
        name: np.ascontiguousarray(array, np.float64)
        for name, array in RUN_FORMATS[model.name].arrays_of(model).items()
    }
    (folder / ARRAYS_FILE).write_bytes(save(arrays))  # save_file would hide it from other users
    vocabulary.save(folder)
    facts = _facts(model, vocabulary)
    text = json.dumps(facts | dict(settings) | facts, indent=2)  # facts stand first and win
    (folder / SETTINGS_FILE).write_text(text + "\n", encoding="utf-8")
    lines = [json.dumps(dict(entry)) + "\n" for entry in trace]
    (folder / TRACE_FILE).write_text("".join(lines), encoding="utf-8")


def _facts(model: TopicModel, vocabulary: Vocabulary) -> dict[str, Any]:
    return {
        "format_version": FORMAT_VERSION,
        "model": model.name,
        "n_topics": model.n_topics,
        "n_words": model.n_words,
        **RUN_FORMATS[model.name].numbers_of(model),
        "vocabulary_fingerprint": vocabulary.fingerprint,
        "versions": {"python": platform.python_version()}
        | {library: version(library) for library in LIBRARIES},
    }


def refuse_run(path: Path) -> None:
    """Refuse a run folder where a corpus is wanted; anything else is the corpus reader's matter."""
    if (path / SETTINGS_FILE).exists():
        swapped = "Are the run and the corpus swapped? The run comes first."
        raise RunError(str(path), found="a run folder", wanted="a corpus folder", hint=swapped)


def load_run(path: Path) -> Run:
    """Read a run folder; RunError names the first thing that is missing or damaged."""
    _check_folder(path)
    settings = _load_settings(path / SETTINGS_FILE)
    vocabulary = _load_vocabulary(path, settings)
    arrays = _load_arrays(path / ARRAYS_FILE, settings)
    model = RUN_FORMATS[settings["model"]].model_of(arrays, settings)
    return Run(path, model, vocabulary, settings, _load_trace(path / TRACE_FILE))


def _check_folder(path: Path) -> None:
    wanted, hint = "a run folder", "Train one with `sparsetopics train`."
    if not path.exists():
        raise RunError(str(path), found="nothing", wanted=wanted, hint=hint)
    if not path.is_dir():
        raise RunError(str(path), found="a file", wanted=wanted, hint=hint)
    if (path / SETTINGS_FILE).exists():
        return
    if (path / "manifest.json").exists():
        swapped = "Are the run and the corpus swapped? The run comes first."
        raise RunError(str(path), found="a corpus folder", wanted=wanted, hint=swapped)
    raise RunError(str(path), found=f"no {SETTINGS_FILE}", wanted=wanted, hint=hint)


def _load_settings(path: Path) -> dict[str, Any]:
    settings = _parse_object(_read_text(path), str(path))
    found = settings.get("format_version")
    if found != FORMAT_VERSION:
        raise RunError(
            str(path),
            found=f"run format version {found!r}",
            wanted=f"version {FORMAT_VERSION}",
            hint="Read it with the sparsetopics version that wrote it.",
        )
    if settings.get("model") not in MODEL_NAMES:
        wanted = f"one of {', '.join(MODEL_NAMES)}"
        raise RunError(str(path), found=f"model {settings.get('model')!r}", wanted=wanted)
    for name, kind in SETTING_TYPES.items():
        if not isinstance(settings.get(name), kind):
            found = f"{name} {settings.get(name)!r}"
            raise RunError(str(path), found=found, wanted="a value that training writes")
    for name in RUN_FORMATS[settings["model"]].numbers:
        number = settings.get(name)
        if not (isinstance(number, float) and 0 < number < math.inf):
            raise RunError(str(path), found=f"{name} {number!r}", wanted="a positive number")
    if not isinstance(settings["corpus"].get("n_documents"), int):
        raise RunError(str(path), found="no n_documents of the corpus", wanted="their number")
    return settings


def _load_vocabulary(folder: Path, settings: Mapping[str, Any]) -> Vocabulary:
    try:
        vocabulary = Vocabulary.load(folder)
    except CorpusFormatError as error:
        raise RunError(str(folder), found=f"no vocabulary ({error})", wanted="a run") from error
    if vocabulary.fingerprint != settings["vocabulary_fingerprint"]:
        raise RunError(
            str(folder / "vocabulary.parquet"),
            found=f"{len(vocabulary):,} words that are not those of the training",
            wanted=f"the {settings['n_words']:,} words whose fingerprint is in {SETTINGS_FILE}",
        )
    return vocabulary


def _load_arrays(path: Path, settings: Mapping[str, Any]) -> Arrays:
    try:
        arrays = load_file(path)
    except (OSError, SafetensorError) as error:
        raise RunError(str(path), found=str(error), wanted="the arrays of the model") from error
    formats = RUN_FORMATS[settings["model"]].arrays
    for name, wanted in formats.items():
        shape = tuple(settings[axis] for axis in wanted.axes)
        _check_array(f"{path}, {name}", arrays.get(name), shape, wanted)
    return {name: arrays[name] for name in formats}


def _check_array(where: str, array: Any, shape: tuple[int, ...], wanted: ArrayFormat) -> None:
    if array is None or array.shape != shape:
        found = "no such array" if array is None else f"shape {array.shape}"
        raise RunError(where, found=found, wanted=f"shape {shape}")
    if array.dtype != np.float64:
        raise RunError(where, found=f"{array.dtype} numbers", wanted="float64")
    bad = ~((array > 0) & (array < wanted.upper))
    if bad.any():
        found = f"{array[bad][0]} among {int(bad.sum()):,} bad values"
        raise RunError(where, found=found, wanted=wanted.values)


def _load_trace(path: Path) -> list[dict[str, Any]]:
    lines = _read_text(path).splitlines()
    return [
        _parse_object(line, f"{path}, line {number}") for number, line in enumerate(lines, start=1)
    ]


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        found = getattr(error, "strerror", None) or "bytes that are not UTF-8"
        raise RunError(str(path), found=found, wanted="a readable run file") from error


def _parse_object(text: str, where: str) -> dict[str, Any]:
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError as error:
        raise RunError(where, found=f"damaged JSON ({error})", wanted="a JSON object") from error
    if not isinstance(parsed, dict):
        raise RunError(where, found=f"JSON {type(parsed).__name__}", wanted="a JSON object")
    return parsed
