"""Topic models that learn from Parquet, repeat exactly and prove their quality held out."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparsetopics.corpora.corpus import Corpus
    from sparsetopics.corpora.vectors import VectorCorpus
    from sparsetopics.document_mixture_estimators import DPMultinomialMixture, MultinomialMixture
    from sparsetopics.estimators import HDP, LDA
    from sparsetopics.loading import load
    from sparsetopics.mixture_estimators import DPGaussianMixture, GaussianMixture

_HOMES = {
    "Corpus": "sparsetopics.corpora.corpus",
    "DPGaussianMixture": "sparsetopics.mixture_estimators",
    "DPMultinomialMixture": "sparsetopics.document_mixture_estimators",
    "GaussianMixture": "sparsetopics.mixture_estimators",
    "HDP": "sparsetopics.estimators",
    "LDA": "sparsetopics.estimators",
    "MultinomialMixture": "sparsetopics.document_mixture_estimators",
    "VectorCorpus": "sparsetopics.corpora.vectors",
    "load": "sparsetopics.loading",
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
