"""Which formats there are, and the module that writes each; modules are imported when asked for.

A module has ``write_topics(path, topics)``, ``write_normals(path, model)`` or
``write_corpus(path, corpus)``, and may write files beside ``path`` whose names begin with it.
"""

from __future__ import annotations

import importlib
from typing import Any

RUN_TARGETS = {
    "gensim": "gensim_format",
    "mallet": "mallet",
    "matrix-market": "matrix_market",
    "csv": "csv_table",
    "parquet": "parquet_table",
    "pyldavis": "pyldavis",
}
CORPUS_TARGETS = {
    "gensim": "gensim_format",
    "matrix-market": "matrix_market",
    "lda-c": "lda_c",
}
NEED_DOCUMENTS = ("pyldavis",)  # of RUN_TARGETS; the others do with the run


def run_writer(target: str) -> Any:
    """The module that writes topics, and perhaps normals, in the format ``target``."""
    return _module(RUN_TARGETS[target])


def corpus_writer(target: str) -> Any:
    """The module that writes documents in the format ``target``."""
    return _module(CORPUS_TARGETS[target])


def _module(name: str) -> Any:
    return importlib.import_module(f"sparsetopics.exports.{name}")
