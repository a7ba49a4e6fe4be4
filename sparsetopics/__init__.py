"""Topic models that learn from Parquet, repeat exactly and prove their quality held out.

Topic models:           LDA, HDP, TopicPath (LDA of many numbers of topics)
Mixtures of vectors:    GaussianMixture, DPGaussianMixture
Mixtures of documents:  MultinomialMixture, DPMultinomialMixture
Collections:            Corpus (documents), VectorCorpus (vectors)
Run folders:            load, infer_batches (a function for DuckDB, Polars, Spark and others)
Training in MLflow:     MLflowLaps
Errors:                 SparsetopicsError and its subclasses OptionError, ShapeError, UnfittedError,
                        OutputError, CorpusError, SourceError, CorpusFormatError, VocabularyError,
                        RunError, ClusterError

A name is imported when it is first used, so ``import sparsetopics`` itself takes no time.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sparsetopics.answers.record_batches import infer_batches
    from sparsetopics.base.errors import (
        ClusterError,
        CorpusError,
        CorpusFormatError,
        OptionError,
        OutputError,
        RunError,
        ShapeError,
        SourceError,
        SparsetopicsError,
        UnfittedError,
        VocabularyError,
    )
    from sparsetopics.corpora.corpus import Corpus, VectorCorpus
    from sparsetopics.estimators.loading import load
    from sparsetopics.estimators.mixtures import (
        DPGaussianMixture,
        DPMultinomialMixture,
        GaussianMixture,
        MultinomialMixture,
    )
    from sparsetopics.estimators.topic_path import TopicPath
    from sparsetopics.estimators.topics import HDP, LDA
    from sparsetopics.runs.callbacks import MLflowLaps

__all__ = [
    "HDP",
    "LDA",
    "ClusterError",
    "Corpus",
    "CorpusError",
    "CorpusFormatError",
    "DPGaussianMixture",
    "DPMultinomialMixture",
    "GaussianMixture",
    "MLflowLaps",
    "MultinomialMixture",
    "OptionError",
    "OutputError",
    "RunError",
    "ShapeError",
    "SourceError",
    "SparsetopicsError",
    "TopicPath",
    "UnfittedError",
    "VectorCorpus",
    "VocabularyError",
    "infer_batches",
    "load",
]
_HOMES = {
    "Corpus": "corpora.corpus",
    "DPGaussianMixture": "estimators.mixtures",
    "DPMultinomialMixture": "estimators.mixtures",
    "GaussianMixture": "estimators.mixtures",
    "HDP": "estimators.topics",
    "LDA": "estimators.topics",
    "MLflowLaps": "runs.callbacks",
    "MultinomialMixture": "estimators.mixtures",
    "TopicPath": "estimators.topic_path",
    "VectorCorpus": "corpora.corpus",
    "infer_batches": "answers.record_batches",
    "load": "estimators.loading",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES.get(name, "base.errors")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    """The public names and what modules have anyway, for ``dir``, ``help`` and completion."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
