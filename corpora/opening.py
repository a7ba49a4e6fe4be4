"""Opening a corpus folder of either kind."""

from __future__ import annotations

from pathlib import Path

from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.document_manifest import Manifest
from sparsetopics.corpora.manifest import VECTORS, HasTotals, kind_of
from sparsetopics.corpora.vector_manifest import VectorManifest
from sparsetopics.corpora.vectors import VectorCorpus


def open_corpus(path: str | Path) -> Corpus | VectorCorpus:
    """Open a corpus of documents or of vectors, as its manifest says.

    Raises CorpusFormatError if the folder is no sound corpus of either kind.
    """
    folder = Path(path)
    return VectorCorpus.open(folder) if kind_of(folder) == VECTORS else Corpus.open(folder)


def load_any_manifest(folder: Path) -> HasTotals:
    """The manifest of a corpus of either kind; CorpusFormatError if there is no sound one."""
    return VectorManifest.load(folder) if kind_of(folder) == VECTORS else Manifest.load(folder)
