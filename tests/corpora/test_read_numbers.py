"""Numeric columns of tables: the chosen ones, in order, or an error that says where."""

import csv
import gzip

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from sparsetopics.base.errors import SourceError
from sparsetopics.corpora.readers import blocks, number_tables
from worlds.vectors_on_disk import ingested, item_ids_of, labels_of, make_vectors, values_of

N_ITEMS = 60
VALUES = make_vectors(N_ITEMS, 2)
WHOLE = np.arange(N_ITEMS)
IDS = [f"item-{n}" for n in range(N_ITEMS)]
LABELS = [None if n % 5 == 0 else str(n % 3) for n in range(N_ITEMS)]


def table():
    return pa.table(
        {
            "id": IDS,
            "a": VALUES[:, 0].astype(np.float64),
            "label": LABELS,
            "b": VALUES[:, 1].astype(np.float64),
            "n": WHOLE,
            "word": ["x"] * N_ITEMS,
        }
    )


def write_csv(path, rows=None, names=None, delimiter=","):
    columns = table()
    names = names or columns.column_names
    rows = rows or list(zip(*columns.to_pydict().values(), strict=True))
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter=delimiter)
        writer.writerows([names, *rows])
    return path


def write_parquet(path):
    pq.write_table(table(), path, row_group_size=17)
    return path


def write_arrow(path):
    feather.write_feather(table(), path, chunksize=17)
    return path


@pytest.fixture(params=["a.csv", "a.csv.gz", "a.tsv", "a.parquet", "a.arrow"])
def source(request, tmp_path, monkeypatch):
    for module in (blocks, number_tables):
        monkeypatch.setattr(module, "BLOCK_BYTES", 500)
    path = tmp_path / request.param
    if ".csv" in path.name:
        return write_csv(path)
    if path.suffix == ".tsv":
        return write_csv(path, delimiter="\t")
    return write_parquet(path) if path.suffix == ".parquet" else write_arrow(path)


def test_all_numeric_columns_are_taken(source, tmp_path):
    corpus = ingested([source], tmp_path / "corpus")

    assert corpus.columns == ("a", "b", "n")
    np.testing.assert_array_equal(values_of(corpus), np.column_stack((VALUES, WHOLE)))
    assert item_ids_of(corpus) == IDS
    wanted = (
        LABELS if source.suffix in (".parquet", ".arrow") else [label or "" for label in LABELS]
    )
    assert labels_of(corpus) == wanted


def test_columns_are_taken_as_named(source, tmp_path):
    corpus = ingested(
        [source], tmp_path / "corpus", columns=("n", "a"), id_field="word", label_field="n"
    )

    assert corpus.columns == ("n", "a")
    np.testing.assert_array_equal(values_of(corpus), np.column_stack((WHOLE, VALUES[:, 0])))
    assert set(item_ids_of(corpus)) == {"x"}
    assert labels_of(corpus) == [str(n) for n in WHOLE]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"columns": ("a", "z")}, "expected a column 'z', but found 'id', "),
        ({"id_field": "z"}, "expected a column 'z'"),
        ({"label_field": "z"}, "'z', but found 'id', 'a', 'label', 'b', 'n', 'word'"),
        ({"columns": ("a", "word")}, "expected numbers in column 'word', but found strings"),
    ],
)
def test_columns_that_are_not_there_or_hold_words_are_refused(source, tmp_path, options, found):
    with pytest.raises(SourceError) as error:
        ingested([source], tmp_path / "corpus", **options)

    assert str(source) in str(error.value)
    assert found in str(error.value)


NOT_FINITE = "expected a finite number, but found"


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        ("", "item 40, column 'b': the value is missing"),
        ("nan", f"item 40, column 'b': {NOT_FINITE} nan"),
        ("-inf", f"item 40, column 'b': {NOT_FINITE} -inf"),
        ("1e600", f"item 40, column 'b': {NOT_FINITE} inf"),
        ("many", "record 42, column 'b': expected a number, but found 'many'"),
        ("two\nlines", "record 42, column 'b': expected a number, but found 'two\\nlines'"),
    ],
)
def test_a_cell_without_a_finite_number_is_placed(tmp_path, monkeypatch, cell, found):
    for module in (blocks, number_tables):
        monkeypatch.setattr(module, "BLOCK_BYTES", 100)
    rows = [[f"{a}", f"{b}"] for a, b in VALUES]
    rows[40][1] = cell
    path = write_csv(tmp_path / "a.csv", rows, ["a", "b"])

    with pytest.raises(SourceError) as error:
        ingested([path], tmp_path / "corpus")

    assert f"a.csv, {found}" in str(error.value)


def test_a_null_and_a_nan_of_parquet_are_placed(tmp_path):
    for value, found in ((None, "the value is missing"), (float("nan"), f"{NOT_FINITE} nan")):
        columns = {"a": [1.0, 2.0, 3.0], "b": pa.array([1.0, 2.0, value])}
        pq.write_table(pa.table(columns), tmp_path / "a.parquet")
        with pytest.raises(SourceError, match=rf"item 2, column 'b': {found}"):
            ingested([tmp_path / "a.parquet"], tmp_path / "corpus")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "not CSV with a header line"),
        ("a,b\n", "there is no numeric column"),
        ("x,y\nu,v\n", "there is no numeric column"),
        ("a,a\n1,2\n", "two columns are called 'a'"),
        ("a,,\n1,2,3\n", "two columns have no name"),
        ("a\n1\n2,3\n", "record 3: expected 1 column, as in the header, but found 2"),
        ("a,b\n1,2\n3,4,5\n", "record 3: expected 2 columns, as in the header, but found 3"),
        ("a,b\n1,2\n3\n", "record 3: expected 2 columns, as in the header, but found 1"),
    ],
)
def test_a_csv_that_will_not_do_is_refused(tmp_path, text, found):
    (tmp_path / "a.csv").write_text(text)

    with pytest.raises(SourceError) as error:
        ingested([tmp_path / "a.csv"], tmp_path / "corpus")

    assert found in str(error.value)


def test_a_header_alone_holds_no_items(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n")

    with pytest.raises(SourceError, match="expected numbers in column 'a', but found no values"):
        ingested([tmp_path / "a.csv"], tmp_path / "corpus", columns=("a",))
    pq.write_table(table().slice(0, 0), tmp_path / "a.parquet")
    with pytest.raises(SourceError, match="there are no items"):
        ingested([tmp_path / "a.parquet"], tmp_path / "corpus")


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
@pytest.mark.parametrize("write", [write_parquet, write_arrow])
def test_a_truncated_file_is_refused(tmp_path, write, share):
    path = write(tmp_path / f"a{'.parquet' if write is write_parquet else '.arrow'}")
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])

    with pytest.raises(SourceError, match=r"a\.(parquet|arrow): not a valid Parquet or Arrow"):
        ingested([path], tmp_path / "corpus")


def test_files_must_have_the_same_columns(tmp_path):
    for name, header in (("a.csv", "x,y"), ("b.csv", "y,x")):
        (tmp_path / name).write_text(f"{header}\n1,2\n")

    with pytest.raises(
        SourceError, match=r"b\.csv: expected columns x, y, as in .*a\.csv, but found y, x"
    ):
        ingested([tmp_path / "a.csv", tmp_path / "b.csv"], tmp_path / "corpus")

    corpus = ingested(
        [tmp_path / "a.csv", tmp_path / "b.csv"], tmp_path / "corpus", columns=("x", "y")
    )
    np.testing.assert_array_equal(values_of(corpus), [[1, 2], [2, 1]])


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float32()), pa.list_(pa.float32(), 2), pa.large_list(pa.float32())]
)
@pytest.mark.parametrize("columns", [None, ("embedding",)])
def test_a_column_of_lists_is_a_matrix(tmp_path, monkeypatch, kind, columns):
    for module in (blocks, number_tables):
        monkeypatch.setattr(module, "BLOCK_BYTES", 500)
    lists = pa.array(VALUES.tolist(), kind)
    pq.write_table(pa.table({"id": IDS, "embedding": lists}), tmp_path / "a.parquet")

    corpus = ingested([tmp_path / "a.parquet"], tmp_path / "corpus", columns=columns)

    np.testing.assert_array_equal(values_of(corpus), VALUES)
    assert item_ids_of(corpus) == IDS
    assert corpus.columns is None


@pytest.mark.parametrize(
    ("lists", "found"),
    [
        (
            [[1.0, 2.0], [3.0]],
            "item 1, column 'e': expected 2 numbers, as in the first list, but found 1",
        ),
        ([[1.0], None], "item 1, column 'e': the value is missing"),
        ([[1.0, 2.0], [3.0, None]], "item 1, column 'e': the value is missing"),
        ([[1.0, 2.0], [3.0, float("inf")]], f"item 1, column 1: {NOT_FINITE} inf"),
        ([[], []], "item 0, column 'e': expected at least one number, but found 0"),
    ],
)
def test_lists_that_are_no_matrix_are_refused(tmp_path, lists, found):
    pq.write_table(pa.table({"e": pa.array(lists, pa.list_(pa.float64()))}), tmp_path / "a.parquet")

    with pytest.raises(SourceError) as error:
        ingested([tmp_path / "a.parquet"], tmp_path / "corpus")

    assert found in str(error.value)


def test_lists_beside_other_columns_are_refused(tmp_path):
    pq.write_table(pa.table({"a": [1.0], "e": [[1.0]]}), tmp_path / "a.parquet")

    with pytest.raises(
        SourceError, match="expected numbers in column 'e', but found lists or objects"
    ):
        ingested([tmp_path / "a.parquet"], tmp_path / "corpus", columns=("a", "e"))


def test_names_of_columns_that_are_not_utf8_are_refused(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,\xff\n1,2\n")

    with pytest.raises(SourceError, match="names of columns are not UTF-8"):
        ingested([tmp_path / "a.csv"], tmp_path / "corpus")
