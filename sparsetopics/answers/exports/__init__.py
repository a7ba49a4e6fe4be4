"""Runs, topic paths and corpora in the formats of other toolkits.

To add a format, write its function in a module of this package and name it in one of the three
tables below. A writer may put further files beside the output if their names begin with its name.
Modules are imported only when their format is requested.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sparsetopics.options.registry import imported


class RunTarget(NamedTuple):
    """A format for the topics or components of a run, or for a topic path."""

    where: str  # module:function in this package; it takes a path, and a run or a TopicPathFolder
    takes_vectors: bool = False  # it also writes mixtures of vectors, not only runs over words
    needs_documents: bool = False  # the function also takes ``documents``, a Corpus
    is_for_spreadsheets: bool = False  # the function also takes ``spreadsheet_safe``
    takes_names: bool = False  # the function also takes ``names``, those that --names gives


RUN_TARGETS = {
    "gensim": RunTarget("gensim_format:write_topics"),
    "mallet": RunTarget("text_formats:write_mallet"),
    "matrix-market": RunTarget("text_formats:write_topic_matrix"),
    "csv": RunTarget(
        "tables:write_csv", takes_vectors=True, is_for_spreadsheets=True, takes_names=True
    ),
    "parquet": RunTarget("tables:write_parquet", takes_vectors=True, takes_names=True),
    "pyldavis": RunTarget("pyldavis:write_topics", needs_documents=True),
    "names": RunTarget("text_formats:write_names", takes_names=True),
}
PATH_TARGETS = {
    "newick": RunTarget("topic_trees:write_newick"),
    "csv": RunTarget("topic_trees:write_csv", is_for_spreadsheets=True),
}
CORPUS_TARGETS = {  # module:function in this package; the function takes a path and a Corpus
    "gensim": "gensim_format:write_corpus",
    "matrix-market": "text_formats:write_count_matrix",
    "lda-c": "text_formats:write_lda_c",
}
EXTENSIONS = {  # programs open by these
    "csv": ".csv",
    "parquet": ".parquet",
    "pyldavis": ".json",
    "newick": ".nwk",
    "names": ".toml",
}
OTHER_EXTENSIONS = (".arrow", ".htm", ".html", ".jsonl", ".npy", ".npz", ".pdf", ".xlsx")


def writer(where: str) -> Callable[..., None]:
    """Return the function that writes a format, ``module:function`` of a table above."""
    function: Callable[..., None] = imported(f"{__name__}.{where}")
    return function
