"""Runs, topic paths and corpora in the formats of other toolkits.

To add a format, write its function in a module of this package and name it in one of the three
tables below. A writer may put further files beside the output if their names begin with its name.
Modules are imported only when their format is requested.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sparsetopics.options.registry import imported

Facts = dict[str, float] | None  # what a writer has to say of what it wrote


class RunTarget(NamedTuple):
    """A format for the topics or components of a run, or for a topic path."""

    where: str  # module:function in this package; it takes a path, and a run or a TopicPathFolder
    # What else the function takes: "documents" (a Corpus, which it needs), "spreadsheet_safe",
    # and "vectors" (their mixtures, not only runs over words); "names" if it shows those of topics.
    takes: tuple[str, ...] = ()
    extension: str = ""  # that programs open the file by


RUN_TARGETS = {
    "gensim": RunTarget("gensim_format:write_topics"),
    "mallet": RunTarget("text_formats:write_mallet"),
    "matrix-market": RunTarget("text_formats:write_topic_matrix"),
    "csv": RunTarget("tables:write_csv", ("vectors", "spreadsheet_safe", "names"), ".csv"),
    "parquet": RunTarget("tables:write_parquet", ("vectors", "names"), ".parquet"),
    "pyldavis": RunTarget("text_formats:write_pyldavis", ("documents",), ".json"),
    "datamapplot": RunTarget("document_map:write_map", ("documents", "names"), ".parquet"),
    "names": RunTarget("text_formats:write_names", ("names",), ".toml"),
}
PATH_TARGETS = {
    "newick": RunTarget("text_formats:write_newick", extension=".nwk"),
    "csv": RunTarget("tables:write_path_csv", ("spreadsheet_safe",), ".csv"),
}
CORPUS_TARGETS = {  # module:function in this package; the function takes a path and a Corpus
    "gensim": "gensim_format:write_corpus",
    "matrix-market": "text_formats:write_count_matrix",
    "lda-c": "text_formats:write_lda_c",
}
# Of formats that are not in these tables
OTHER_EXTENSIONS = (".arrow", ".htm", ".html", ".jsonl", ".npy", ".npz", ".pdf", ".xlsx")


def writer(where: str) -> Callable[..., Facts]:
    """Return the function that writes a format, ``module:function`` of a table above."""
    function: Callable[..., Facts] = imported(f"{__name__}.{where}")
    return function
