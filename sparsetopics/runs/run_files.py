"""The files of a run folder, which are the same for all models, and the schema of ``model.json``.

Everything that is read is decoded to a type before it is used. Other programs read these files, so
names of files, entries and arrays may be added, but never changed or removed.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, NotRequired, TypedDict

import msgspec
import numpy as np
from msgspec import Meta
from safetensors.numpy import save_file

from sparsetopics.base.errors import RunError
from sparsetopics.base.sealed_files import (
    FileEntry,
    Json,
    Refusal,
    Size,
    decoded,
    parsed,
    read_sealed,
    read_text,
    write_sealed,
)
from sparsetopics.corpora.text.vocabulary import FILE_NAME as VOCABULARY_FILE
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.inference.theme_tree import Merge
from sparsetopics.model.array_formats import LARGEST_NUMBER, ModelSettings, Stored
from sparsetopics.options.guide import WordList
from sparsetopics.options.registry import MOVE_COUNTS
from sparsetopics.runs.callbacks import LapEntry
from sparsetopics.runs.found_in_runs import FoundInRuns
from sparsetopics.runs.topic_identity import TopicId, TopicIdentity
from sparsetopics.runs.topic_path_files import Scores
from sparsetopics.runs.topics_in_documents import FewDocuments

FORMAT_VERSION = 3  # 1 held no digests; 2 had other readers for topics than for mixtures
SETTINGS_FILE = "model.json"
ARRAYS_FILE = "model.safetensors"
TRACE_FILE = "trace.jsonl"
CONFIG_FILE = "config.toml"
EDITS_FILE = "edits.toml"  # what people did to the topics of a run
THEMES_FILE = "themes.json"  # the tree of its topics
LISTED_FILES = (ARRAYS_FILE, TRACE_FILE, THEMES_FILE, VOCABULARY_FILE)  # users may edit config.toml
RUN_FILES = (SETTINGS_FILE, CONFIG_FILE, EDITS_FILE, *LISTED_FILES)
PLAN_FILE = "plan.json"
PLAN_VERSION = 3  # 2 knew no topic paths
DAMAGE = Refusal(RunError, "Train again")
STATE_DAMAGE = Refusal(RunError, "Train again with --overwrite")

Plain = str | int | float | bool | None | list[str]
Nested = dict[str, Plain | dict[str, Plain]]  # options of training, or how vectors were made


class Versions(TypedDict):
    """Versions at training. Runs of today have no others: a new one must be ``NotRequired``."""

    python: str
    sparsetopics: str
    numpy: str
    scipy: str
    numba: str
    pyarrow: str


class CorpusFacts(TypedDict, total=False):
    """What a run says about its training data, as far as it is known."""

    path: str
    fingerprint: str
    n_documents: Size
    n_tokens: Size | Annotated[float, Meta(ge=0.0, le=LARGEST_NUMBER)]
    n_items: Size
    columns_fingerprint: str
    made: Nested


# The entries of a lap that readers count with, as far as it has them.
_COUNTED = ("lap", "n_topics", "active_topics", *(f"{name}_accepted" for name in MOVE_COUNTS))
LapNumbers = msgspec.defstruct("LapNumbers", [(name, Size, 0) for name in _COUNTED])


Number = Annotated[float, Meta(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)]
Numbers = tuple[Number, ...]


class SeenDocuments(msgspec.Struct, omit_defaults=True):
    """The documents that topics were learned from, as far as learning goes on from them."""

    n_documents: Number
    n_tokens: Number
    n_steps: Size  # that the stochastic learner made, or would have made
    sums: dict[str, Numbers]  # over documents: the arrays of ``DocumentTerms``
    # Numbers of tokens, and how many documents have as many; only of an HDP that learned α
    lengths: tuple[Numbers, Numbers] | None = None


class Origin(msgspec.Struct, frozen=True):
    """What a run is the update of."""

    run: str  # SHA-256 of its ``model.json``
    corpus: str  # fingerprint


class ThemesFile(TypedDict):
    """What ``THEMES_FILE`` holds."""

    merges: tuple[tuple[TopicId, TopicId, Number], ...]  # kept, absorbed, gain in nats


class KeptEntries(TypedDict, total=False):
    """What a model keeps, beside its arrays, when it is saved, loaded and saved again."""

    number_of_topics: Scores  # how an HDP was validated
    seen: SeenDocuments  # what learning goes on from; mixtures and rungs of paths have none
    topics: tuple[TopicIdentity, ...]  # where data are words; runs of before have none
    # By topic, None if many documents are needed; where the learner keeps what it knows of them
    few_documents: tuple[FewDocuments | None, ...]
    # By topic, between two halves of the training documents; where the learner keeps these
    likeness_of_halves: tuple[Annotated[float, Meta(ge=0.0, le=1.0 + 1e-9)], ...]
    found_in_runs: tuple[FoundInRuns | None, ...]  # by topic of a consensus of several runs
    themes: tuple[Merge, ...]  # in memory; folders have them in ``THEMES_FILE``
    guide: tuple[WordList, ...]  # that topics began with
    origin: Origin  # of an update
    told: tuple[tuple[str, str], ...]  # what updates said of topics and still holds


class Provenance(KeptEntries):
    """How a model was trained, which its arrays do not tell."""

    corpus: CorpusFacts
    options: NotRequired[Nested]
    seed: NotRequired[Annotated[int, Meta(ge=0)] | None]


class RunSettings(ModelSettings, Provenance):
    """What ``model.json`` holds, except most hyperparameters: the model has those."""

    versions: Versions
    files: tuple[FileEntry, ...]
    vocabulary_fingerprint: NotRequired[str]  # where data are words
    smoothing: NotRequired[float]  # of topics


def write_run(folder: Path, stored: Stored, facts: Provenance, trace: Sequence[LapEntry]) -> None:
    """Write the files of a run beside its vocabulary and themes, which the caller has written.

    Equal arrays give equal bytes in ``model.safetensors``. Entries of ``stored`` win over those of
    ``facts``.
    """
    arrays = stored.arrays.items()
    doubles = {name: np.ascontiguousarray(array, np.float64) for name, array in arrays}
    path = folder / ARRAYS_FILE
    path.touch()
    mode = path.stat().st_mode
    save_file(doubles, path)  # without a copy of the arrays in memory
    path.chmod(mode)  # other users cannot read what save_file leaves
    lines = [json.dumps(entry) + "\n" for entry in trace]
    (folder / TRACE_FILE).write_text("".join(lines), encoding="utf-8")
    listed = [FileEntry.of(folder / name) for name in LISTED_FILES if (folder / name).exists()]
    write_sealed(folder / SETTINGS_FILE, run_record(stored, facts, listed), indent=2)


def run_record(
    stored: Stored, provenance: Provenance, listed: Sequence[FileEntry] = ()
) -> dict[str, Json]:
    """Return the JSON of ``model.json`` beside the files that are ``listed``."""
    facts = {
        "format_version": FORMAT_VERSION,
        **stored.settings,
        "versions": {**_versions()},
        "files": [entry.to_json() for entry in listed],
    }
    # The facts decide both the order of entries and their values.
    record: dict[str, Json] = facts | msgspec.to_builtins(provenance) | facts
    return record


@cache  # looking them up takes longer than writing a small run
def _versions() -> dict[str, str]:
    python, *libraries = Versions.__annotations__
    return {python: platform.python_version()} | {name: version(name) for name in libraries}


def write_themes(folder: Path, topics: Sequence[TopicIdentity], merges: Sequence[Merge]) -> None:
    """Write the tree of topics, which it names by their ids, on a line for each merge."""
    ids = [topic.id for topic in topics]
    rows = (json.dumps([ids[kept], ids[absorbed], gain]) for kept, absorbed, gain in merges)
    text = '{"merges": [\n' + ",\n".join(rows) + "\n]}\n"
    (folder / THEMES_FILE).write_text(text, encoding="utf-8")


def read_themes(folder: Path, settings: RunSettings) -> tuple[Merge, ...]:
    """The tree of topics of a run, whose ids are in ``settings``; RunError if it is damaged."""
    path = check_file(folder, settings, THEMES_FILE)
    found = decoded(parsed(read_text(path, DAMAGE), str(path), DAMAGE), ThemesFile, path, DAMAGE)
    places = {topic.id: place for place, topic in enumerate(settings["topics"])}
    left, merges = {*places}, list[Merge]()
    for kept, absorbed, gain in found["merges"]:
        if not {kept, absorbed} <= left or places[kept] >= places[absorbed]:
            raise DAMAGE.of(path, f"{kept} and {absorbed} cannot be joined")
        left.remove(absorbed)
        merges.append(Merge(places[kept], places[absorbed], gain))
    if len(left) > 1:
        raise DAMAGE.of(path, "the merges do not end with one topic")
    return tuple(merges)


def read_content(folder: Path) -> dict[str, Json]:
    """The JSON in ``model.json``; RunError if it is damaged or of another format version."""
    return read_sealed(folder / SETTINGS_FILE, FORMAT_VERSION, DAMAGE)


def read_settings(folder: Path) -> RunSettings:
    """What ``model.json`` says; RunError if it is not as training writes it."""
    return decoded(read_content(folder), RunSettings, str(folder / SETTINGS_FILE), DAMAGE)


def check_file(folder: Path, settings: RunSettings, name: str) -> Path:
    """The path of a file of a run; RunError unless the file is as ``settings`` lists it."""
    for entry in settings["files"]:
        if entry.file == name:
            entry.check(folder, DAMAGE)
            return folder / name
    raise DAMAGE.of(f"{folder / SETTINGS_FILE}, files", f"the entry of {name} is missing")


def vocabulary_of(folder: Path) -> Vocabulary:
    """The vocabulary of a run, as its folder lists it; RunError if it is missing or damaged."""
    check_file(folder, read_settings(folder), VOCABULARY_FILE)
    return Vocabulary.read(folder)


def load_trace(folder: Path, settings: RunSettings) -> list[LapEntry]:
    """The entries of all laps; RunError if one is damaged."""
    path = check_file(folder, settings, TRACE_FILE)
    lines = read_text(path, DAMAGE).removesuffix("\n").split("\n")
    if lines == [""]:  # no laps at all
        return []
    return [_lap(line, f"{path}, line {number}") for number, line in enumerate(lines, start=1)]


def _lap(line: str, where: str) -> LapEntry:
    entry = parsed(line, where, DAMAGE)
    decoded(entry, LapNumbers, where, DAMAGE)
    return decoded(entry, dict[str, int | float | None], where, DAMAGE)
