"""Opening a corpus folder of either kind."""

from __future__ import annotations

from pathlib import Path

from sparsetopics.base.errors import OptionError, ShapeError, VocabularyError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.store.document_manifest import Manifest
from sparsetopics.corpora.store.manifest import VECTORS, HasTotals, kind_of
from sparsetopics.corpora.store.vector_manifest import VectorManifest
from sparsetopics.corpora.vectors import VectorCorpus


def open_corpus(path: str | Path) -> Corpus | VectorCorpus:
    """Open a corpus of documents or of vectors, as its manifest says.

    Raises CorpusFormatError if the folder is no sound corpus of either kind.
    """
    folder = Path(path)
    return VectorCorpus.open(folder) if kind_of(folder) == VECTORS else Corpus.open(folder)


def check_alike(
    training: Corpus | VectorCorpus, heldout: Corpus | VectorCorpus, path: Path, where: str
) -> None:
    """Refuse held-out data, found at ``where``, that are not like the training data at ``path``.

    Raises OptionError, VocabularyError or ShapeError: documents for vectors or vectors for
    documents, of other words, of other columns or projected otherwise.
    """
    if isinstance(training, Corpus) and isinstance(heldout, Corpus):
        if heldout.vocabulary.fingerprint != training.vocabulary.fingerprint:
            raise VocabularyError(
                where,
                found=f"another vocabulary ({heldout.n_words:,} words) than that of {path}",
                wanted=f"the {training.n_words:,} words of the training corpus",
                hint=f"Ingest the held-out documents with --vocabulary {path}.",
            )
    elif isinstance(training, Corpus):
        raise OptionError("heldout", found=f"vectors in {where}", wanted="documents")
    elif isinstance(heldout, Corpus):
        raise OptionError("heldout", found=f"documents in {where}", wanted="vectors")
    elif heldout.fingerprint != training.fingerprint:
        raise ShapeError(
            where,
            found=f"columns ({heldout.n_columns:,}) or a projection other than of {path}",
            wanted=f"the {training.n_columns:,} columns of the training corpus",
            hint=f"Ingest the held-out vectors with --projection {path}.",
        )


def load_any_manifest(folder: Path) -> HasTotals:
    """The manifest of a corpus of either kind; CorpusFormatError if there is no sound one."""
    return VectorManifest.load(folder) if kind_of(folder) == VECTORS else Manifest.load(folder)
