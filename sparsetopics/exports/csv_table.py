"""Topics, or the normals of a mixture of vectors, as a CSV table."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
from pyarrow.csv import CSVWriter

from sparsetopics.exports.long_tables import NORMALS, TOPICS, normal_rows, topic_rows
from sparsetopics.exports.word_topics import WordTopics
from sparsetopics.model.mixture_posterior import MixtureModel


def write_topics(path: Path, topics: WordTopics) -> None:
    """Columns topic, word and probability, all words of each topic, the best first.

    Numbers are the shortest that read back as the same float64.
    """
    _write(path, TOPICS, topic_rows(topics))


def write_normals(path: Path, model: MixtureModel) -> None:
    """Columns component, parameter, row, column and value, one number a row."""
    _write(path, NORMALS, normal_rows(model))


def _write(path: Path, schema: pa.Schema, tables: Iterable[pa.Table]) -> None:
    with CSVWriter(path, schema) as writer:
        for table in tables:
            writer.write_table(table)
