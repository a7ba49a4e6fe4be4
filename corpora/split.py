"""Dividing a corpus at random into one to train on and one to score on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sparsetopics.base.errors import OptionError, ShapeError, VocabularyError
from sparsetopics.base.outputs import output_folder, refuse_inputs, written_together
from sparsetopics.base.own_folders import CORPUS
from sparsetopics.base.wording import quantity
from sparsetopics.corpora.corpus import AnyCorpus, Corpus, open_corpus
from sparsetopics.corpora.readers.blocks import DOCUMENTS, VECTORS
from sparsetopics.corpora.store.manifest import CorpusManifest


def split_corpus(
    path: str | Path,
    train: Path,
    held_out: Path,
    share: float,
    overwrite: bool,
    rng: np.random.Generator,
) -> tuple[CorpusManifest, CorpusManifest]:
    """Write two corpora with the vocabulary or projection of the corpus at ``path``.

    A ``share`` of the documents or items, rounded to whole ones, is held out. Both parts keep the
    order of the corpus and appear together or not at all. Returns the manifests of the training
    part and the held-out part. Raises OptionError if one part would be empty, and OutputError if
    one of the two cannot be written.
    """
    refuse_inputs(held_out, [train], "other output")
    outputs = [
        output_folder(out, CORPUS, overwrite=overwrite, inputs=[Path(path)])
        for out in (train, held_out)
    ]
    corpus = open_corpus(path)
    n_rows = corpus.sizes.n_docs
    n_held_out = round(share * n_rows)
    if not 0 < n_held_out < n_rows:
        problem = f"{share} would hold out {n_held_out} of {n_rows} {corpus.noun}"
        raise OptionError("held-out-share", problem, f"Leave {corpus.noun} on both sides.")
    is_held_out = np.zeros(n_rows, np.bool_)
    is_held_out[rng.permutation(n_rows)[:n_held_out]] = True
    with written_together(outputs) as (train_folder, held_out_folder):
        return (
            corpus.write_part(Path(path), ~is_held_out, train_folder),
            corpus.write_part(Path(path), is_held_out, held_out_folder),
        )


def check_alike(training: AnyCorpus, heldout: AnyCorpus, path: Path, where: str) -> None:
    """Refuse held-out data, found at ``where``, that differ from the training data at ``path``.

    Raises OptionError if one holds documents and the other vectors, VocabularyError for other
    words, and ShapeError for other columns or another projection.
    """
    kind, other = (DOCUMENTS if isinstance(c, Corpus) else VECTORS for c in (training, heldout))
    if other != kind:
        raise OptionError("heldout", f"expected {kind}, but found {other} in {where}")
    if heldout.fingerprint == training.fingerprint:
        return
    noun = "word" if isinstance(training, Corpus) else "column"
    expected, found = quantity(training.width, noun), quantity(heldout.width, noun)
    if isinstance(training, Corpus):
        problem = f"expected the {expected} of {path}, but found another vocabulary"
        hint = f"Ingest the held-out documents with --vocabulary {path}."
        raise VocabularyError(where, f"{problem} ({found})", hint)
    problem = f"its {found} or its projection are not those of {path} ({expected})"
    raise ShapeError(where, problem, f"Ingest the held-out vectors with --projection {path}.")
