"""Run folders of any kind of model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.corpora.vectors import VectorCorpus
from sparsetopics.model.mixture_posterior import MixtureModel
from sparsetopics.model.topic_posterior import TopicModel
from sparsetopics.options.registry import MODELS
from sparsetopics.options.table import MIXTURES
from sparsetopics.runs.mixture_runs import MixtureRun, load_mixture_run, save_mixture_run
from sparsetopics.runs.run_files import SETTINGS_FILE, load_settings
from sparsetopics.runs.topic_runs import Run, check_folder, load_run, save_run


def load_any_run(path: Path) -> Run | MixtureRun:
    """Read a run folder; RunError names the first thing that is missing or damaged."""
    check_folder(path)
    settings = load_settings(path / SETTINGS_FILE, tuple(MODELS))
    return load_mixture_run(path) if settings["model"] in MIXTURES else load_run(path)


def save_any_run(
    folder: Path,
    model: TopicModel | MixtureModel,
    vocabulary: Vocabulary | None,
    settings: Mapping[str, Any],
    trace: Sequence[Mapping[str, Any]],
) -> None:
    """As ``save_run`` and ``save_mixture_run``; ``vocabulary`` is that of documents."""
    if isinstance(model, MixtureModel):
        save_mixture_run(folder, model, settings, trace, vocabulary)
    else:
        assert vocabulary is not None, "topics have words"
        save_run(folder, model, vocabulary, settings, trace)


def facts_of(corpus: Corpus | VectorCorpus) -> dict[str, Any]:
    """What a run folder says of the data."""
    if isinstance(corpus, Corpus):
        return {"n_documents": corpus.n_docs, "n_tokens": corpus.n_tokens}
    fingerprint = {"columns_fingerprint": corpus.fingerprint, "made": dict(corpus.made)}
    return {"n_items": corpus.n_items} | fingerprint


def check_corpus(run: Run | MixtureRun, corpus: Corpus | VectorCorpus, where: str) -> None:
    """Refuse documents or vectors, found at ``where``, that are not like those of the training.

    Raises VocabularyError, ShapeError, or RunError for documents where the run has no words.
    """
    if isinstance(corpus, Corpus):
        run.check_vocabulary(corpus.vocabulary, where)
    else:
        run.check_columns(corpus.n_columns, corpus.fingerprint, where)
