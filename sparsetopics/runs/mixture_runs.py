"""Run folders of mixtures: weights, the posterior of components, the prior; words of documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.errors import OptionError, RunError, ShapeError
from sparsetopics.base.sealed_files import PositiveSize, decoded
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.inference.mixtures import sharing_of
from sparsetopics.model.allocations.mixture_weights import DPModes
from sparsetopics.model.array_formats import COMPONENTS, N_WORDS, ArrayFormat, StoredAs
from sparsetopics.model.mixture_posterior import MixtureModel
from sparsetopics.options.registry import DOCUMENT_LIKELIHOODS, LIKELIHOODS, Registered, things_of
from sparsetopics.options.table import MIXTURES
from sparsetopics.runs.run_files import (
    ARRAYS_FILE,
    DAMAGE,
    SETTINGS_FILE,
    RunRecord,
    check_numbers,
    load_arrays,
    load_settings,
    load_trace,
    write_run,
)
from sparsetopics.runs.topic_runs import (
    check_folder,
    check_same_words,
    load_vocabulary,
    refuse_vectors,
)

AT_MODES = "at_modes"  # a setting of runs whose parameters are points; others do without
PRIOR = "prior_"  # before the names of the prior's own arrays and numbers

_COUNTS = ArrayFormat(COMPONENTS, lower=-np.finfo(float).tiny)

CLASSES: Mapping[str, type[Any]] = things_of(LIKELIHOODS)
MIXTURE_FORMATS: Mapping[str, StoredAs] = Registered(CLASSES, lambda likelihood: likelihood.stored)


class MixtureRecord(RunRecord, kw_only=True):
    """What ``model.json`` holds of a mixture."""

    n_columns: PositiveSize
    likelihood: str
    at_modes: bool = False


class WordMixtureRecord(MixtureRecord, kw_only=True):
    """What ``model.json`` holds of a mixture of documents."""

    n_words: PositiveSize
    vocabulary_fingerprint: str


@dataclass(frozen=True, slots=True, eq=False)
class MixtureRun:
    """A run folder, read whole."""

    path: Path
    model: MixtureModel
    settings: Mapping[str, Any]  # what model.json holds
    trace: Sequence[Mapping[str, Any]]  # one entry per lap
    vocabulary: Vocabulary | None = None  # of a mixture of documents

    @property
    def words(self) -> Vocabulary:
        """Of a mixture of documents; RunError where there are none."""
        if self.vocabulary is None:
            raise RunError(
                str(self.path),
                found=f"a mixture of vectors ({self.model.likelihood_name})",
                wanted="a run that was trained with documents",
            )
        return self.vocabulary

    def check_vocabulary(self, vocabulary: Vocabulary, where: str) -> None:
        """Refuse documents whose word ids mean other words than those of the training."""
        check_same_words(self.words, vocabulary, self.path, where)

    def check_columns(self, n_columns: int, fingerprint: str, where: str) -> None:
        """Refuse vectors of other columns, or projected otherwise, than those of the training."""
        if self.vocabulary is not None:
            refuse_vectors(self.path, where)
        if n_columns != self.model.n_columns:
            raise ShapeError(
                where,
                found=f"{n_columns:,} columns",
                wanted=f"the {self.model.n_columns:,} columns that {self.path} was trained with",
            )
        if fingerprint != self.settings["corpus"].get("columns_fingerprint"):
            raise ShapeError(
                where,
                found=f"columns of other names or another projection than those of {self.path}",
                wanted="vectors made like those of the training",
                hint="Ingest them again with --projection and the training corpus.",
            )


def save_mixture_run(
    folder: Path,
    model: MixtureModel,
    settings: Mapping[str, Any],
    trace: Sequence[Mapping[str, Any]],
    vocabulary: Vocabulary | None = None,
) -> None:
    """Write a run into ``folder``, which exists and is staged by the caller.

    ``settings`` holds what only the training knows: ``corpus``, ``options`` and ``seed``;
    ``vocabulary`` is that of documents.
    """
    arrays, numbers = _prior_of(model.likelihood)
    arrays |= {"component_counts": model.mixture.counts} | model.posterior._asdict()
    facts: dict[str, Any] = {
        "model": model.name,
        "likelihood": model.likelihood_name,
        "n_topics": model.n_topics,
        "n_columns": model.n_columns,
        "top_concentration": float(model.mixture.concentration),
        **numbers,
    }
    if isinstance(model.mixture, DPModes):
        facts[AT_MODES] = True
    if vocabulary is not None:
        vocabulary.save(folder)
        facts |= {"n_words": len(vocabulary), "vocabulary_fingerprint": vocabulary.fingerprint}
    write_run(folder, arrays, facts, settings, trace)


def load_mixture_run(path: Path) -> MixtureRun:
    """Read a run folder; RunError names the first thing that is missing or damaged."""
    check_folder(path)
    file = path / SETTINGS_FILE
    settings = load_settings(file, MIXTURES, MixtureRecord)
    name = settings["likelihood"]
    if name not in MIXTURE_FORMATS:
        wanted = f"one of {', '.join(MIXTURE_FORMATS)}"
        raise DAMAGE.of(f"{file}, likelihood", found=repr(name), wanted=wanted)
    stored = MIXTURE_FORMATS[name]
    check_numbers(file, settings, ("top_concentration", *stored.numbers))
    vocabulary = None
    if name in DOCUMENT_LIKELIHOODS:
        decoded(settings, WordMixtureRecord, str(file), DAMAGE)
        vocabulary = load_vocabulary(path, settings)
    formats = {"component_counts": _COUNTS, **stored.arrays}
    arrays = load_arrays(path, formats, settings)
    model = _model(path, arrays, settings)
    return MixtureRun(path, model, settings, load_trace(path, settings), vocabulary)


def _prior_of(likelihood: Any) -> tuple[dict[str, FloatArray], dict[str, float]]:
    names = [field.name for field in fields(likelihood) if field.name not in (N_WORDS, AT_MODES)]
    values = {PRIOR + name: getattr(likelihood, name) for name in names}
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    return arrays, {name: float(value) for name, value in values.items() if name not in arrays}


def _model(
    path: Path, arrays: Mapping[str, FloatArray], settings: Mapping[str, Any]
) -> MixtureModel:
    kind = CLASSES[settings["likelihood"]]
    own = {field.name: PRIOR + field.name for field in fields(kind)}
    if N_WORDS in own:
        own[N_WORDS] = N_WORDS
    at_modes = settings.get(AT_MODES, False)
    if AT_MODES in own:
        own[AT_MODES] = AT_MODES
    known = {AT_MODES: at_modes, **settings, **arrays}
    values = {name: known[full] for name, full in own.items()}
    mixture = sharing_of(settings["model"], at_modes=at_modes)
    posterior = kind.stored.posterior
    try:
        likelihood = kind(**values)
        model = MixtureModel(
            settings["model"],
            settings["likelihood"],
            likelihood,
            mixture(arrays["component_counts"], settings["top_concentration"]),
            posterior(**{name: arrays[name] for name in posterior._fields}),
        )
        _check_items(path, likelihood.components_of(model.posterior).counts)
        with np.errstate(over="raise"):
            _ = model.estimates.scorer()  # whether the matrices are what they must be
    except OptionError as error:
        raise RunError(str(path / ARRAYS_FILE), found=str(error), wanted="a sound model") from error
    except FloatingPointError as error:
        found = "components too narrow for float32"
        raise RunError(str(path / ARRAYS_FILE), found=found, wanted="a sound model") from error
    return model


def _check_items(path: Path, counts: FloatArray) -> None:
    """Of fewer items than none a component has no expected covariance, and no density."""
    if (counts < 0.0).any():
        found = f"a posterior of {counts.min():g} items"
        raise RunError(str(path / ARRAYS_FILE), found=found, wanted="0 items or more")
