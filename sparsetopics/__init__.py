"""Topic models that learn from Parquet, repeat exactly and prove their quality held out."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparsetopics.corpora.corpus import Corpus
    from sparsetopics.corpora.vectors import VectorCorpus
    from sparsetopics.estimators.loading import load
    from sparsetopics.estimators.mixtures import (
        DPGaussianMixture,
        DPMultinomialMixture,
        GaussianMixture,
        MultinomialMixture,
    )
    from sparsetopics.estimators.topics import HDP, LDA

_HOMES = {
    "Corpus": "sparsetopics.corpora.corpus",
    "DPGaussianMixture": "sparsetopics.estimators.mixtures",
    "DPMultinomialMixture": "sparsetopics.estimators.mixtures",
    "GaussianMixture": "sparsetopics.estimators.mixtures",
    "HDP": "sparsetopics.estimators.topics",
    "LDA": "sparsetopics.estimators.topics",
    "MultinomialMixture": "sparsetopics.estimators.mixtures",
    "VectorCorpus": "sparsetopics.corpora.vectors",
    "load": "sparsetopics.estimators.loading",
}
__all__ = [
    "HDP",
    "LDA",
    "Corpus",
    "DPGaussianMixture",
    "DPMultinomialMixture",
    "GaussianMixture",
    "MultinomialMixture",
    "VectorCorpus",
    "load",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: ``import sparsetopics`` itself stays light."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
