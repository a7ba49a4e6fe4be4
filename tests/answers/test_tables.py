"""Corpora of tables in memory: pyarrow, pandas, Hugging Face and whoever else speaks Arrow."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparsetopics.base.errors import SourceError
from sparsetopics.corpora.corpus import Corpus, VectorCorpus
from sparsetopics.corpora.ingest import ingest
from sparsetopics.corpora.readers import blocks
from sparsetopics.corpora.sources import arrow_batches
from worlds.collections_on_disk import documents_of, make_texts

TEXTS = make_texts(50)
IDS = [f"doc-{n}" for n in range(50)]
LABELS = [None if n % 5 == 0 else "xyz"[n % 3] for n in range(50)]
TABLE = pa.table({"id": IDS, "text": TEXTS, "label": LABELS, "other": [[1.0]] * 50})


class Array:
    """What a library may hand out that has all rows in one piece."""

    def __init__(self, table):
        self._batch = table.combine_chunks().to_batches()[0]

    def __arrow_c_array__(self, requested_schema=None):
        return self._batch.__arrow_c_array__(requested_schema)


class Stream:
    """What any library may hand out."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


class Dataset:
    """As much of a Hugging Face dataset as is used: its rows are in an order of their own."""

    def __init__(self, table, order, kind="python"):
        self._table, self._order, self._kind = table, order, kind

    def with_format(self, kind):
        return Dataset(self._table, self._order, kind)

    def iter(self, batch_size):
        assert self._kind == "arrow"
        for at in range(0, len(self._order), batch_size):
            yield self._table.take(self._order[at : at + batch_size])


def data_frame(table):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({name: table[name].to_pylist() for name in table.column_names})


KINDS = {
    "table": lambda table: table,
    "batch": lambda table: table.to_batches()[0],
    "reader": lambda table: table.to_reader(),
    "array": Array,
    "stream": Stream,
    "pandas": data_frame,
    "hugging face": lambda table: Dataset(table, list(range(len(table)))),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block_bytes", [blocks.BLOCK_BYTES, 500])
def test_every_table_gives_the_documents_of_its_texts(kind, block_bytes, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(arrow_batches, "BLOCK_BYTES", block_bytes)
    expected = documents_of(Corpus.from_texts(TEXTS))

    corpus = Corpus.from_table(KINDS[kind](TABLE))

    assert documents_of(corpus) == {f"doc-{n}": row for n, row in expected.items()}
    labels = [label for group in corpus.labels() for label in group]
    assert labels == [LABELS[int(n)] for n in expected]


def test_a_dataset_keeps_its_own_order():
    corpus = Corpus.from_table(Dataset(TABLE, [3, 1]), max_df=1.0)

    assert next(corpus.doc_ids()) == ["doc-3", "doc-1"]


def test_a_real_dataset():
    datasets = pytest.importorskip("datasets")
    whole = datasets.Dataset(TABLE)

    corpus = Corpus.from_table(whole.select([3, 1]))

    assert next(corpus.doc_ids()) == ["doc-3", "doc-1"]
    stream = Corpus.from_table(whole.to_iterable_dataset())
    assert documents_of(stream) == documents_of(Corpus.from_table(TABLE))


@pytest.mark.filterwarnings("ignore:Skipped")
def test_named_fields_options_and_a_vocabulary(tmp_path):
    table = pa.table({"key": [7, None], "body": ["One two", None], "topic": ["a", "b"]})
    fields = {"text_field": "body", "id_field": "key", "label_field": "topic"}

    corpus = Corpus.from_table(table, **fields, token_pattern="[A-Za-z]+", lowercase=False)

    assert documents_of(corpus) == {"7": {"One": 1, "two": 1}}
    assert (next(corpus.labels()), corpus.n_skipped) == (["a"], 1)
    held_out = Corpus.from_table(
        pa.table({"text": ["two owls", "One"]}), vocabulary=corpus.vocabulary
    )
    assert documents_of(held_out) == {"0": {"two": 1}, "1": {"One": 1}}
    assert held_out.n_unknown_tokens == 1


@pytest.mark.parametrize(
    ("table", "found"),
    [
        (["a text"], "an object of type list does not provide Arrow data"),
        (VectorCorpus.from_array(np.eye(3)), "of type VectorCorpus does not provide Arrow data"),
        (pa.table({"body": ["x"]}), "expected a field 'text', but found 'body'"),
        (pa.table({"text": [1]}), "lists of strings in field 'text', but found numbers"),
        (pa.table({"text": ["word"], "label": [["x"]]}), "in field 'label', but found lists"),
        (pa.table({"text": pa.array([], pa.string())}), "there are no documents"),
        (pa.table({"text": ["1 2"]}), "no words in 1 document"),
        (Dataset(TABLE, []), "there are no documents"),
    ],
)
def test_what_is_no_table_of_texts(table, found):
    with pytest.raises(SourceError, match=found):
        Corpus.from_table(table)


def test_a_stream_that_breaks_off():
    def batches():
        yield from pa.table({"text": ["word"]}).to_batches()
        raise pa.ArrowInvalid("said by Arrow")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"text": pa.string()}), batches())

    with pytest.raises(
        SourceError, match=r"table: Arrow cannot read its columns\. Leave out columns"
    ):
        Corpus.from_table(reader)


def test_a_label_that_is_a_list_in_a_file(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["word"], "label": [["x"]]}), path)

    with pytest.raises(
        SourceError,
        match=r"a\.parquet: expected strings or numbers in field 'label', but found lists",
    ):
        ingest([path], tmp_path / "corpus")
