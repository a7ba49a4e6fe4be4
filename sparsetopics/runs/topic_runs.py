"""Run folders: a trained model, its vocabulary, how it was trained and how training went."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparsetopics.base.errors import CorpusFormatError, RunError, ShapeError, VocabularyError
from sparsetopics.base.sealed_files import PositiveSize, Size, absence
from sparsetopics.base.transactions import STATE_FOLDER, refuse_pending
from sparsetopics.corpora.text.vocabulary import FILE_NAME as VOCABULARY_FILE
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.model.topic_posterior import TopicModel
from sparsetopics.runs.run_files import (
    DAMAGE,
    PLAN_FILE,
    SETTINGS_FILE,
    CorpusFacts,
    RunRecord,
    check_file,
    check_numbers,
    load_arrays,
    load_settings,
    load_trace,
    write_run,
)
from sparsetopics.runs.run_formats import RUN_FORMATS

MODEL_NAMES = tuple(RUN_FORMATS)


class TopicFacts(CorpusFacts, kw_only=True):
    """The same of documents, whose number is needed."""

    n_documents: Size


class TopicRecord(RunRecord, kw_only=True):
    """What ``model.json`` holds of topics."""

    n_words: PositiveSize
    vocabulary_fingerprint: str
    corpus: TopicFacts


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A run folder, read whole."""

    path: Path
    model: TopicModel
    vocabulary: Vocabulary
    settings: Mapping[str, Any]  # what model.json holds
    trace: Sequence[Mapping[str, Any]]  # one entry per lap or global update

    @property
    def words(self) -> Vocabulary:
        """Of the topics; a mixture may have none."""
        return self.vocabulary

    @property
    def n_training_documents(self) -> int:
        return int(self.settings["corpus"]["n_documents"])

    @property
    def n_laps(self) -> int:
        """Completed passes over the training documents, at least one."""
        return max([1, *(int(entry.get("lap", 1)) for entry in self.trace)])

    def check_vocabulary(self, vocabulary: Vocabulary, where: str) -> None:
        """Refuse documents whose word ids mean other words than the topics' columns do."""
        check_same_words(self.vocabulary, vocabulary, self.path, where)

    def check_columns(self, n_columns: int, fingerprint: str, where: str) -> None:
        """Refuse vectors, whatever their columns are."""
        refuse_vectors(self.path, where)


def check_same_words(own: Vocabulary, found: Vocabulary, run: Path, where: str) -> None:
    """Raise VocabularyError unless ``found`` is the vocabulary that ``run`` was trained with."""
    if found.fingerprint != own.fingerprint:
        raise VocabularyError(
            where,
            found=f"another vocabulary ({len(found):,} words) than that of {run}",
            wanted=f"the {len(own):,} words the run was trained with",
            hint="Ingest the documents again with --vocabulary and the training corpus.",
        )


def refuse_vectors(run: Path, where: str) -> None:
    """Raise ShapeError: ``run`` was trained with documents."""
    raise ShapeError(where, found="vectors", wanted=f"documents, which {run} was trained with")


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
    vocabulary.save(folder)
    facts = _facts(model, vocabulary)
    write_run(folder, RUN_FORMATS[model.name].arrays_of(model), facts, settings, trace)


def _facts(model: TopicModel, vocabulary: Vocabulary) -> dict[str, Any]:
    return {
        "model": model.name,
        "n_topics": model.n_topics,
        "n_words": model.n_words,
        **RUN_FORMATS[model.name].numbers_of(model),
        "vocabulary_fingerprint": vocabulary.fingerprint,
    }


def refuse_run(path: Path) -> None:
    """Refuse a run folder where a corpus is wanted; anything else is the corpus reader's matter."""
    if os.path.lexists(path / SETTINGS_FILE):
        swapped = "Are the run and the corpus swapped? The run comes first."
        raise RunError(str(path), found="a run folder", wanted="a corpus folder", hint=swapped)


def load_run(path: Path) -> Run:
    """Read a run folder; RunError names the first thing that is missing or damaged."""
    check_folder(path)
    settings = load_settings(path / SETTINGS_FILE, MODEL_NAMES, TopicRecord)
    stored = RUN_FORMATS[settings["model"]]
    check_numbers(path / SETTINGS_FILE, settings, stored.numbers)
    vocabulary = load_vocabulary(path, settings)
    model = stored.model_of(load_arrays(path, stored.arrays, settings), settings)
    return Run(path, model, vocabulary, settings, load_trace(path, settings))


def check_folder(path: Path) -> None:
    """RunError unless ``path`` looks like a run folder."""
    wanted, hint = "a run folder", "Train one with `sparsetopics train`."
    refuse_pending(path, (STATE_FOLDER,))
    absent = absence(path / SETTINGS_FILE)
    if not absent:
        return
    if os.path.lexists(path / STATE_FOLDER / PLAN_FILE):
        hint = f"Go on with `sparsetopics resume {path}`."
        raise RunError(str(path), found="a training that is not done", wanted=wanted, hint=hint)
    if os.path.lexists(path / "manifest.json"):
        swapped = "Are the run and the corpus swapped? The run comes first."
        raise RunError(str(path), found="a corpus folder", wanted=wanted, hint=swapped)
    raise RunError(str(path), found=absent, wanted=wanted, hint=hint)


def load_vocabulary(folder: Path, settings: Mapping[str, Any]) -> Vocabulary:
    """The words of a run; RunError unless they are those of the training."""
    path = check_file(folder, settings, VOCABULARY_FILE)
    try:
        vocabulary = Vocabulary.read(folder)
    except CorpusFormatError as error:
        raise RunError(str(folder), found=f"no vocabulary ({error})", wanted="a run") from error
    if vocabulary.fingerprint != settings["vocabulary_fingerprint"]:
        raise DAMAGE.of(
            path,
            found=f"{len(vocabulary):,} words that are not those of the training",
            wanted=f"the {settings['n_words']:,} words whose fingerprint is in {SETTINGS_FILE}",
        )
    return vocabulary
