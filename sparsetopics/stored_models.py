"""Run folders of any kind of model."""

from __future__ import annotations

from pathlib import Path

from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.vectors import VectorCorpus
from sparsetopics.mixture_runs import MixtureRun, load_mixture_run
from sparsetopics.options import MIXTURES
from sparsetopics.run_files import SETTINGS_FILE, load_settings
from sparsetopics.runs import MODEL_NAMES, Run, check_folder, load_run


def load_any_run(path: Path) -> Run | MixtureRun:
    """Read a run folder; RunError names the first thing that is missing or damaged."""
    check_folder(path)
    settings = load_settings(path / SETTINGS_FILE, (*MODEL_NAMES, *MIXTURES))
    return load_mixture_run(path) if settings["model"] in MIXTURES else load_run(path)


def check_data(run: Run | MixtureRun, corpus: Corpus | VectorCorpus, where: str) -> None:
    """Refuse documents or vectors, found at ``where``, that are not like those of the training.

    Raises VocabularyError, ShapeError, or RunError for documents where the run has no words.
    """
    if isinstance(corpus, Corpus):
        run.check_vocabulary(corpus.vocabulary, where)
    else:
        run.check_columns(corpus.n_columns, corpus.fingerprint, where)
