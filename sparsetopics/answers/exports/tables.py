"""CSV and Parquet: topics or the components of a mixture as long tables, one number per row.

Those of a topic path are a table with a row for each topic.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from msgspec.structs import asdict

from sparsetopics.answers.table_files import LABELS, write_tables
from sparsetopics.answers.topic_names import labels_of
from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.runs.run import AnyRun
from sparsetopics.runs.topic_path_files import TopicPathFolder, TreeRung

WORDS = {"topic": pa.int64(), "word": pa.string(), "probability": pa.float64()}
TOPICS = pa.schema(WORDS | LABELS)
# Parameters are weight, mean, variance and covariance. Only the last has rows; a weight has no
# column.
PLACES = {"component": pa.int64(), "parameter": pa.string(), "row": pa.int64()}
NORMALS = pa.schema(PLACES | {"column": pa.int64(), "value": pa.float64()})
NUMBERS = ("n_topics", "topic", "parent_n_topics", "parent_topic")  # the last rung has no parents
WORD_LISTS = dict.fromkeys(("words", "telling_words"), pa.list_(pa.string()))
RUNG_TOPICS = pa.schema(
    dict.fromkeys(NUMBERS, pa.int64()) | {"weight": pa.float64(), "name": pa.string()} | WORD_LISTS
)


def write_csv(path: Path, run: AnyRun, spreadsheet_safe: bool = False) -> None:
    """Write the table of ``_long_table``; each number is the shortest that reads back the same.

    With ``spreadsheet_safe``, words that begin like a formula get an apostrophe in front.
    """
    write_tables(path, ".csv", *_long_table(run), spreadsheet_safe=spreadsheet_safe)


def write_parquet(path: Path, run: AnyRun) -> None:
    """Write the table of ``_long_table`` with numbers as float64."""
    write_tables(path, ".parquet", *_long_table(run))


def _long_table(run: AnyRun) -> tuple[pa.Schema, Iterator[pa.Table]]:
    """Schema and rows: ``TOPICS`` for a run over words, ``NORMALS`` for a mixture of vectors."""
    if run.vocabulary is None:
        assert isinstance(run.model, MixturePosterior), "topics have words"
        return NORMALS, _normal_rows(run.model)
    return TOPICS, _topic_rows(run)


def _topic_rows(run: AnyRun) -> Iterator[pa.Table]:
    """Yield all words of each topic, the most probable first, ties by word id."""
    words = pa.array(run.words.words, pa.string())
    labeled = zip(labels_of(run), run.model.topic_word_mean, strict=True)
    for topic, (label, probabilities) in enumerate(labeled):
        order = np.argsort(-probabilities, kind="stable")
        columns = [np.full(len(order), topic), words.take(pa.array(order)), probabilities[order]]
        yield pa.table([*columns, *(pa.repeat(own, len(order)) for own in label)], schema=TOPICS)


def _normal_rows(model: MixturePosterior) -> Iterator[pa.Table]:
    """Yield the weight, mean and covariance of each component.

    A component with uncorrelated columns has variances in place of a covariance.
    """
    means, covariances = model.normals
    rows, columns = np.divmod(np.arange(means.shape[1] ** 2), means.shape[1])
    every = np.arange(means.shape[1])
    for component, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        yield _parameter(component, "weight", model.weights[[component]], None, None)
        yield _parameter(component, "mean", mean, None, every)
        if covariance.ndim == 1:
            yield _parameter(component, "variance", covariance, None, every)
        else:
            yield _parameter(component, "covariance", covariance.ravel(), rows, columns)


def _parameter(
    component: int, name: str, values: FloatArray, rows: IntArray | None, columns: IntArray | None
) -> pa.Table:
    """Return one row for each of ``values``; ``None`` makes a column of nulls."""
    places = [pa.nulls(len(values)) if place is None else place for place in (rows, columns)]
    own = [np.full(len(values), component), pa.repeat(name, len(values)), *places, values]
    return pa.table(own, schema=NORMALS)


# --- topic paths ----------------------------------------------------------------------------------
def write_path_csv(path: Path, topic_path: TopicPathFolder, spreadsheet_safe: bool = False) -> None:
    """Write one row for each topic of each rung, the largest rung first.

    Words are separated by spaces. With ``spreadsheet_safe``, words that begin like a formula get an
    apostrophe in front.
    """
    sizes = [rung.n_topics for rung in topic_path.tree.rungs]
    tables = map(_rung_rows, topic_path.tree.rungs, [*sizes[1:], None])
    write_tables(path, ".csv", RUNG_TOPICS, tables, spreadsheet_safe=spreadsheet_safe)


def _rung_rows(rung: TreeRung, n_parents: int | None) -> pa.Table:
    """Return the topics of a rung; ``n_parents`` is the size of the next one, None for the last."""
    own = {"n_topics": rung.n_topics, "parent_n_topics": n_parents}
    rows = [
        {**own, "topic": number, "parent_topic": topic.parent, **asdict(topic)}
        for number, topic in enumerate(rung.topics)
    ]
    return pa.Table.from_pylist(rows, RUNG_TOPICS)
