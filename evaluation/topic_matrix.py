"""A plain topic-word matrix from any toolkit, read for scoring."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from sparsetopics.batches import FloatArray
from sparsetopics.errors import RunError, ShapeError

SUFFIXES = (".npy", ".npz", ".csv")
NPZ_KEY = "topic_word"
# Matrix factorisations give exact zeros, under which one unseen word would cost the whole score.
SMALLEST_PROBABILITY = 1e-12


def read_topic_matrix(path: Path, n_words: int) -> FloatArray:
    """Read (n_topics, n_words) non-negative weights and return rows that sum to one.

    Formats: ``.npy``, ``.npz`` (key ``topic_word``) and ``.csv`` without a header line. Entries
    below 1e-12 of their row are raised to it. Raises RunError for a file or a value that cannot be
    used and ShapeError where the columns are not the words of the held-out corpus.
    """
    try:
        matrix = np.asarray(_read(path), dtype=np.float64)
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        hint = f"An .npz file keeps it under the key {NPZ_KEY!r}."
        raise RunError(str(path), found=reason, wanted="a topic-word matrix", hint=hint) from error
    _check(path, matrix, n_words)
    floored = np.maximum(matrix / matrix.sum(axis=1, keepdims=True), SMALLEST_PROBABILITY)
    normalized: FloatArray = floored / floored.sum(axis=1, keepdims=True)
    return normalized


def _read(path: Path) -> Any:
    if path.suffix == ".csv":
        return np.loadtxt(path, delimiter=",", ndmin=2, comments=None)
    with path.open("rb") as file:  # numpy leaves a damaged archive open
        loaded = np.load(file, allow_pickle=False)
        return loaded[NPZ_KEY] if path.suffix == ".npz" else loaded


def _check(path: Path, matrix: FloatArray, n_words: int) -> None:
    if matrix.ndim != 2 or matrix.shape[1] != n_words or matrix.shape[0] == 0:
        raise ShapeError(
            str(path),
            found=f"shape {matrix.shape}",
            wanted=f"(topics, {n_words}), one column per word of the held-out corpus",
            hint="Ingest the held-out documents with --vocabulary and the training corpus.",
        )
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        bad = matrix[~np.isfinite(matrix) | (matrix < 0)][0]
        raise RunError(str(path), found=f"the entry {bad}", wanted="finite weights of at least 0")
    if not matrix.any(axis=1).all():
        topic = int(np.flatnonzero(~matrix.any(axis=1))[0])
        raise RunError(str(path), found=f"only zeros in row {topic}", wanted="some weight")
