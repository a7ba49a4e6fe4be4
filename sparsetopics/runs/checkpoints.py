"""What training goes on from, as one file: JSON for its shape, ``.npy`` members for its arrays.

What flows through training is made of NamedTuples and frozen dataclasses of arrays, numbers, names
and more of the same. They are written as they are and read back bit by bit: numbers with their
types, arrays with the order of their axes in memory, on which the rounding of sums depends. Only
the kinds listed here, registered likelihoods and the states of registered learners are made when a
file is read. The file is a zip archive without compression, whose checksums tell damage.
"""

from __future__ import annotations

import importlib
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsetopics.base.array_files import ArchivedArrays, read_member
from sparsetopics.base.errors import RunError
from sparsetopics.base.safe_reading import parse_json
from sparsetopics.base.soundness import check_fields, require
from sparsetopics.inference.growth.grower import GrowerRecord
from sparsetopics.inference.laps import Prior
from sparsetopics.inference.learners.memoized import KeptBatch, MemoizedState
from sparsetopics.inference.local_step import Globals
from sparsetopics.inference.moves.ledger import Failure, Ledger
from sparsetopics.inference.moves.mover import MoverRecord
from sparsetopics.inference.moves.rival import Course, Rival
from sparsetopics.inference.training import LapInfo, Progress
from sparsetopics.model.allocations.hdp import HDPAllocation
from sparsetopics.model.allocations.lda import LDAAllocation
from sparsetopics.model.allocations.mixture import ItemAllocation, ItemTerms
from sparsetopics.model.allocations.mixture_weights import DPMixture, DPModes, FiniteMixture
from sparsetopics.model.allocations.nested import NestedAllocation
from sparsetopics.model.assignments import Patch, TopicChange
from sparsetopics.model.document_counts import DocumentCounts
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.likelihoods.words import Words
from sparsetopics.model.memo import InMemory, Memo, OnDisk, StoredArrays
from sparsetopics.model.node_batches import NodeRecord
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import DocumentLengths, DocumentTerms, Statistics
from sparsetopics.model.topic_posterior import Sticks
from sparsetopics.model.word_counts import WordCounts
from sparsetopics.options.registry import LEARNERS, LIKELIHOODS, things_of
from sparsetopics.options.training import (
    GradientOptions,
    LocalOptions,
    MoveOptions,
    StepSizes,
    TopicPrior,
    TrainingOptions,
)

FORMAT_VERSION = 2
TREE = "progress.json"
KINDS: Mapping[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        *(Progress, LapInfo, Prior, Globals, MoverRecord, Rival, Course, GrowerRecord, NodeRecord),
        *(MemoizedState, KeptBatch, Words),
        *(Statistics, WordCounts, DocumentCounts, Moments, DocumentTerms, ItemTerms),
        *(DocumentLengths, Responsibilities, TopicChange, Patch, Ledger, Failure),
        *(LDAAllocation, HDPAllocation, Sticks, ItemAllocation, NestedAllocation),
        *(DPMixture, DPModes, FiniteMixture),
        *(TrainingOptions, LocalOptions, TopicPrior, StepSizes, MoveOptions, GradientOptions),
    )
}

# Errors of decoding and checking a file that is well formed but has the wrong content.
UNSOUND = (
    *(ValueError, TypeError, LookupError, AttributeError, StopIteration, AssertionError),
    *(ArithmeticError, RuntimeError, MemoryError),
)
Arrays = dict[str, NDArray[Any]]
_Field = tuple[str, Any]


def write_checkpoint(path: Path, value: Any, tie: str) -> None:
    """Write ``value`` and all that it holds, except arrays that the memo has in files.

    ``tie`` is the one in the run's plan.
    """
    arrays: Arrays = {}
    tree = {
        "format_version": FORMAT_VERSION,
        "tie": tie,
        "value": encode(value, arrays),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        file.writestr(TREE, json.dumps(tree))
        for name, array in arrays.items():
            with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def read_checkpoint(path: Path, memo: Memo, tie: str) -> Any:
    """Read a checkpoint; RunError if it is damaged, of another version or of another run."""
    try:
        with zipfile.ZipFile(path) as file:
            tree = parse_json(read_member(file, TREE))
            if not isinstance(tree, dict):
                raise TypeError("no JSON object")
            _check_origin(path, tree, tie)
            return decode(tree["value"], ArchivedArrays(file), memo)
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error, struct.error, *UNSOUND) as error:
        raise damaged(path, error) from error


def _check_origin(path: Path, tree: Mapping[str, Any], tie: str) -> None:
    """RunError unless the file belongs to this run and has the current format."""
    version = tree.get("format_version")
    if version != FORMAT_VERSION:
        raise RunError(
            str(path),
            found=f"checkpoint format version {version!r}",
            wanted=f"version {FORMAT_VERSION}",
            hint="Resume with the sparsetopics version that wrote it.",
        )
    if tree.get("tie") != tie:
        raise RunError(
            str(path),
            found="the checkpoint of another run, or of other options",
            wanted="that of plan.json beside it",
            hint="Restore the state folder as a whole, or train again with --overwrite.",
        )


def damaged(path: Path, error: Exception) -> RunError:
    """The error for a file that is not as training wrote it."""
    text = " ".join(str(error).split()) or type(error).__name__
    return RunError(
        str(path),
        found=f"a damaged checkpoint ({text})",
        wanted="one that training wrote",
        hint="Train anew with --overwrite.",
    )


def encode(value: Any, arrays: Arrays, name: str = "value") -> Any:
    """``value`` as JSON; arrays go into ``arrays``, named after where they are."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.ndarray):
        axes = np.argsort([-stride for stride in value.strides], kind="stable")
        arrays[name] = np.asarray(value.transpose(axes), order="C")
        return {"array": name, "axes": axes.tolist()}
    if isinstance(value, np.generic):
        return {"number": value.dtype.str, "value": value.item()}
    if isinstance(value, OnDisk):
        return {"file": value.path.name, **value.stamp()}
    if isinstance(value, InMemory):
        return {"kept": encode(dict(value.arrays), arrays, name)}
    if isinstance(value, Path):
        return {"path": str(value)}
    if isinstance(value, Mapping):
        return {
            "mapping": [
                [encode(key, arrays), encode(each, arrays, f"{name}.{_plain(key)}")]
                for key, each in value.items()
            ]
        }
    if type(value) is tuple:
        return {"tuple": [encode(each, arrays, f"{name}.{i}") for i, each in enumerate(value)]}
    if _kind_of(type(value).__name__) is type(value):
        parts = {key: encode(each, arrays, f"{name}.{key}") for key, each in _fields(value)}
        return {"kind": type(value).__name__, "fields": parts}
    raise TypeError(f"{name}: cannot write a {type(value).__name__}")


def _kind_of(name: str) -> type[Any] | None:
    """The class that a name stands for in a file, if it may be made."""
    return KINDS[name] if name in KINDS else _registered().get(name)


def _registered() -> dict[str, type[Any]]:
    """The classes of likelihoods, and those of learners' states."""
    learners = (importlib.import_module(kind.where) for kind in LEARNERS.values())
    states = (state for learner in learners for state in learner.STATES)
    return {kind.__name__: kind for kind in (*things_of(LIKELIHOODS).values(), *states)}


def _plain(key: Any) -> str:
    return "-".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _fields(value: Any) -> list[_Field]:
    if is_dataclass(value):
        return [(field.name, getattr(value, field.name)) for field in fields(value)]
    return list(value._asdict().items())


def decode(tree: Any, arrays: Mapping[str, Any], memo: Memo) -> Any:
    """The inverse of ``encode``; raises errors of many kinds for a tree that it did not write.

    The ``memo`` takes what a memo has kept.
    """
    if not isinstance(tree, dict):
        return tree
    read = _READERS[next(iter(tree))]
    return read(tree, arrays, memo)


def _read_array(tree: Any, arrays: Mapping[str, Any], memo: Memo) -> NDArray[Any]:
    array: NDArray[Any] = arrays[tree["array"]]
    return array.transpose(np.argsort(tree["axes"]))


def _read_kept(tree: Any, arrays: Mapping[str, Any], memo: Memo) -> StoredArrays:
    kept = decode(tree["kept"], arrays, memo)
    are_arrays = all(isinstance(each, np.ndarray) for each in kept.values())
    require(are_arrays and all(type(name) is str for name in kept), "no arrays of a batch")
    return memo.keep(kept)


def _read_number(tree: Any) -> Any:
    dtype = np.dtype(tree["number"])
    if dtype.kind not in "biuf":  # others take a number for their size
        raise TypeError(f"numbers of type {dtype}")
    return dtype.type(tree["value"])


def _read_kind(tree: Any, arrays: Mapping[str, Any], memo: Memo) -> Any:
    kind, parts = _kind_of(tree["kind"]), tree["fields"]
    if kind is None:
        raise KeyError(tree["kind"])
    known = [field.name for field in fields(kind)] if is_dataclass(kind) else kind._fields
    if list(parts) != list(known):
        raise TypeError(f"{tree['kind']} has other fields")
    values = {key: decode(each, arrays, memo) for key, each in parts.items()}
    check_fields(kind, values)
    return kind(**values)


def _read_mapping(tree: Any, arrays: Mapping[str, Any], memo: Memo) -> dict[Any, Any]:
    pairs = tree["mapping"]
    return {decode(key, arrays, memo): decode(each, arrays, memo) for key, each in pairs}


_READERS: Mapping[str, Callable[[Any, Mapping[str, Any], Memo], Any]] = {
    "array": _read_array,
    "number": lambda tree, arrays, memo: _read_number(tree),
    "file": lambda tree, arrays, memo: memo.adopt(tree["file"], tree["bytes"], tree["digest"]),
    "kept": _read_kept,
    "path": lambda tree, arrays, memo: Path(tree["path"]),
    "mapping": _read_mapping,
    "kind": _read_kind,
    "tuple": lambda tree, arrays, memo: tuple(decode(each, arrays, memo) for each in tree["tuple"]),
}
