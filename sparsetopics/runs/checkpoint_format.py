"""The state of training as JSON and arrays, for checkpoints and for the workers of a cluster.

The state is made of NamedTuples and frozen dataclasses, which hold arrays, numbers, names and more
of the same. They come back bit by bit: numbers with their types, and arrays with the order of their
axes in memory, because the rounding of sums depends on it.

The decoder makes objects only of the classes in ``stored_classes``. Files hold stored names, not
names of classes, so that renaming a class does not change the format.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.base.sealed_files import Json
from sparsetopics.base.soundness import check_fields, declared_types
from sparsetopics.inference.growth.grower import GrowerRecord
from sparsetopics.inference.local_step import Globals, Parameters
from sparsetopics.inference.mover import MoverRecord
from sparsetopics.inference.moves import ledger, rival, standing
from sparsetopics.inference.training_state import LapInfo, PathMemory, TrainingState
from sparsetopics.measures.paired import HeldoutScores
from sparsetopics.model.allocations import hdp, lda, mixture, mixture_weights
from sparsetopics.model.assignments import Patch, TopicChange
from sparsetopics.model.coordinates import Coordinates
from sparsetopics.model.document_counts import DocumentCounts
from sparsetopics.model.kd_tree import NodeRecord
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.likelihoods.words import Words
from sparsetopics.model.memo import InMemory, Memo, OnDisk
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.statistics import DocumentLengths, DocumentTerms, Statistics
from sparsetopics.model.topic_posterior import Sticks
from sparsetopics.model.word_counts import WordCounts
from sparsetopics.options import training
from sparsetopics.options.guide import WordList
from sparsetopics.options.registry import LEARNERS, LIKELIHOODS, MODELS, imported

# 3: a move of LDA; 4: no topic paths; 5: none of an HDP; 6: no own counts; 7: no purpose;
# 8: vectors measured from an origin; 9: no guide; 10: no consensus
FORMAT_VERSION = 11

K = TypeVar("K")
T = TypeVar("T")
Plain = None | bool | int | float | str  # what JSON holds as it is


class Rung(NamedTuple):
    """What a path remembers of a rung."""

    n_topics: int
    laps: int
    log_likelihoods: FloatArray  # (n_docs,)  of the documents it was scored on; empty without any
    sizes: FloatArray  # (n_docs,)  their scored tokens
    parents: IntArray  # (n_before,)  its topic for each topic of the rung before; empty at first

    @property
    def scores(self) -> HeldoutScores:
        """How well it predicts each document."""
        return HeldoutScores(self.log_likelihoods, self.sizes)


class Kept(NamedTuple):
    """What the checkpoint of a run holds."""

    progress: TrainingState
    scores: tuple[float | None, ...]  # held-out scores of all laps, nats per token or item
    rungs: tuple[Rung, ...]  # of a topic path


# To add a class, give it a new name. A name never changes and is never used for another class.
CLASSES: Mapping[str, type] = {
    **{"kept": Kept, "rung": Rung, "progress": TrainingState, "lap": LapInfo},
    **{"prior": Parameters, "globals": Globals, "path": PathMemory, "mover": MoverRecord},
    **{"tally": standing.MoveTally, "rival": rival.Rival, "course": rival.RivalRules},
    **{"ledger": ledger.Ledger, "failure": ledger.Failure, "grower": GrowerRecord},
    **{"topic-change": TopicChange, "patch": Patch, "nodes": NodeRecord},
    **{"responsibilities": Responsibilities, "statistics": Statistics, "words": Words},
    **{"word-counts": WordCounts, "moments": Moments, "coordinates": Coordinates},
    **{"document-counts": DocumentCounts, "document-terms": DocumentTerms},
    **{"document-lengths": DocumentLengths, "item-terms": mixture.ItemTerms, "sticks": Sticks},
    **{
        "lda": lda.LDAAllocation,
        "hdp": hdp.HDPAllocation,
        "nested": mixture_weights.NestedAllocation,
    },
    **{"dp-mixture": mixture_weights.DPMixture, "dp-modes": mixture_weights.DPModes},
    **{"finite-mixture": mixture_weights.FiniteMixture, "word-list": WordList},
    **{"topic-prior": training.TopicPrior, "training-options": training.TrainingOptions},
    **{"step-sizes": training.StepSizes, "local-options": training.LocalOptions},
    **{"move-options": training.MoveOptions, "gradient-options": training.GradientOptions},
}


def stored_classes() -> dict[str, type]:
    """All classes that may be stored, by their stored names.

    Registered likelihoods, states of learners and ways of sharing come with ``CLASSES``. A state is
    named by its position in ``STATES`` of the learner's module, which is part of the format.
    """
    sharing = {f"model {name}": imported(kind.sharing) for name, kind in MODELS.items()}
    added = {name: kind for name, kind in sharing.items() if kind not in CLASSES.values()}
    likelihoods = {f"likelihood {name}": imported(kind.where) for name, kind in LIKELIHOODS.items()}
    states = {
        f"state {name} {position}": state
        for name, learner in LEARNERS.items()
        for position, state in enumerate(importlib.import_module(learner.where).STATES)
    }
    return {**states, **likelihoods, **CLASSES, **added}


class Encoder:
    """Turns values into trees of JSON; ``arrays`` collects their arrays by name.

    An array is named by its place in the value. What JSON cannot hold as it is becomes a node: an
    object whose ``type`` says what it is.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[np.generic]] = {}
        # If two learners share a module, its states have the name of the first.
        self._names = {kind: name for name, kind in reversed(stored_classes().items())}

    def tree(self, value: T, name: str = "value") -> Json:
        """Encode ``value``, whose place is ``name``; TypeError for what cannot be stored."""
        # np.float64 is a float, too, but must keep its type.
        if isinstance(value, Plain) and not isinstance(value, np.generic):
            return value
        if isinstance(value, np.ndarray):
            return self._array(value, name)
        if isinstance(value, np.generic):
            return {"type": "number", "number": value.dtype.str, "value": value.item()}
        if isinstance(value, OnDisk):
            return {"type": "file", "file": value.path.name, **value.stamp()}
        if isinstance(value, InMemory):
            kept = {key: self._array(each, f"{name}.{key}") for key, each in value.arrays.items()}
            return {"type": "kept", "kept": kept}
        if isinstance(value, Mapping):
            pairs = [self._pair(key, value[key], name) for key in value]
            return {"type": "mapping", "pairs": pairs}
        if isinstance(value, tuple) and type(value) is tuple:
            items = [self.tree(each, f"{name}.{i}") for i, each in enumerate(value)]
            return {"type": "tuple", "items": items}
        return self._record(value, name)

    def _array(self, array: NDArray[np.generic], name: str) -> Json:
        # Stored in the order of its memory: npy knows no other orders than C and Fortran.
        axes = np.argsort([-stride for stride in array.strides], kind="stable")
        self.arrays[name] = np.asarray(array.transpose(axes), order="C")
        # From the slowest axis to the fastest in memory
        return {"type": "array", "array": name, "axes": axes.tolist()}

    def _pair(self, key: K, value: T, name: str) -> list[Json]:  # keys need not be strings
        plain = "-".join(map(str, key)) if isinstance(key, tuple) else str(key)
        return [self.tree(key, name), self.tree(value, f"{name}.{plain}")]

    def _record(self, value: T, name: str) -> Json:
        kind: type = type(value)
        if kind not in self._names:
            raise TypeError(f"{name}: cannot write a {kind.__name__}")
        names = declared_types(kind)
        parts = {each: self.tree(getattr(value, each), f"{name}.{each}") for each in names}
        return {"type": "record", "kind": self._names[kind], "fields": parts}


class Decoder:
    """The inverse of ``Encoder``; the ``memo`` takes over what another memo kept.

    Trees and arrays that no encoder made raise built-in errors of many kinds.
    """

    def __init__(self, arrays: Mapping[str, NDArray[np.generic]], memo: Memo) -> None:
        self._arrays, self._memo = arrays, memo
        self._classes = stored_classes()

    def value(self, tree: Json, kind: type[T]) -> T:
        """Decode ``tree``; TypeError unless it holds a ``kind``."""
        found = self._value(tree)
        if not isinstance(found, kind):
            raise TypeError(f"no {kind.__name__}")
        return found

    def _value(self, node: Json) -> Any:  # ``check_fields`` compares it with what is declared
        match node:
            case {"type": "array", "array": str(name), "axes": list(axes)}:
                return self._arrays[name].transpose(np.argsort(axes))
            case {"type": "number", "number": str(dtype), "value": int() | float() as value}:
                return _number(np.dtype(dtype), value)
            case {"type": "file", "file": str(file), "bytes": int(n_bytes), "digest": str(digest)}:
                return self._memo.adopt(file, n_bytes, digest)
            case {"type": "kept", "kept": dict(kept)}:
                arrays = {name: self.value(each, np.ndarray) for name, each in kept.items()}
                return self._memo.keep(arrays)
            case {"type": "mapping", "pairs": list(pairs)}:
                return {self._value(key): self._value(each) for key, each in pairs}
            case {"type": "tuple", "items": list(items)}:
                return tuple(map(self._value, items))
            case {"type": "record", "kind": str(kind), "fields": dict(fields)}:
                return self._record(kind, fields)
            case None | bool() | int() | float() | str():
                return node
        raise TypeError("a node is of no known type")

    def _record(self, stored_name: str, fields: Mapping[str, Json]) -> Any:  # of any known class
        kind = self._classes[stored_name]
        if list(fields) != list(declared_types(kind)):
            raise TypeError(f"{stored_name} has other fields")
        values = {name: self._value(each) for name, each in fields.items()}
        check_fields(kind, values)  # before any code of the class sees the values
        return kind(**values)


def _number(dtype: np.dtype[np.generic], value: float) -> np.generic:
    if dtype.kind not in "biuf":  # other types would allocate as many bytes as the number says
        raise TypeError(f"numbers of type {dtype}")
    return dtype.type(value)
