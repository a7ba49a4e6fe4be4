"""Corpus folders: manifests, shards, vocabularies and projections, their checksums made true."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from fuzz.document_subjects import TEXTS
from fuzz.mutation import Change
from fuzz.structure import change_json, change_safetensors
from fuzz.subject import Subject, files_of
from fuzz.tables import change_parquet
from resealing import reseal
from sparsetopics.base.errors import CorpusFormatError
from sparsetopics.base.wording import printable
from sparsetopics.corpora.corpus import load_any_manifest, open_corpus
from sparsetopics.corpora.ingest import ingest
from sparsetopics.corpora.ingest_vectors import VectorOptions, ingest_vectors
from sparsetopics.corpora.projection import FILE_NAME as PROJECTION
from sparsetopics.corpora.store.manifest import FILE_NAME as MANIFEST
from sparsetopics.corpora.text.vocabulary import FILE_NAME as VOCABULARY
from sparsetopics.corpora.validate import validate

SHARD = "shard-00000.parquet"
WRONG_ROWS = {SHARD: change_parquet}


def read_corpus(folder: Path) -> None:
    """Every byte; what is wrong with rows is listed, not raised."""
    problems = validate(folder)
    assert all(problem == printable(problem) for problem in problems)
    if problems:
        raise CorpusFormatError(str(folder), problems[0])


def read_batches(folder: Path) -> None:
    """As training does, which raises what is wrong."""
    assert load_any_manifest(folder).totals
    corpus = open_corpus(folder)
    for _ in zip(corpus.batches(), corpus.labels(), strict=True):
        pass


def _documents(scratch: Path) -> dict[str, bytes]:
    (scratch / "a.lines").write_text("\n".join(TEXTS))
    ingest([scratch / "a.lines"], scratch / "documents")
    return files_of(scratch / "documents")


def _vectors(scratch: Path) -> dict[str, bytes]:
    np.save(scratch / "a.npy", np.random.default_rng(0).normal(size=(20, 4)))
    ingest_vectors([scratch / "a.npy"], scratch / "vectors", VectorOptions(pca=2))
    return files_of(scratch / "vectors")


def _corpus(
    make: Callable[[Path], dict[str, bytes]],
    target: str,
    changes: Mapping[str, Change],
    scratch: Path,
) -> Subject:
    return Subject(
        make(scratch), read_corpus, (target,), changes, seal=reseal, read_rarely=read_batches
    )


SUBJECTS: Mapping[str, Callable[[Path], Subject]] = {
    "manifest": partial(_corpus, _documents, MANIFEST, {MANIFEST: change_json}),
    "vector-manifest": partial(_corpus, _vectors, MANIFEST, {MANIFEST: change_json}),
    "shard": partial(_corpus, _documents, SHARD, WRONG_ROWS),
    "vector-shard": partial(_corpus, _vectors, SHARD, WRONG_ROWS),
    "vocabulary": partial(_corpus, _documents, VOCABULARY, {VOCABULARY: change_parquet}),
    "projection": partial(_corpus, _vectors, PROJECTION, {PROJECTION: change_safetensors}),
}
