"""Corpora of vectors, opened and made; damage is found before it does harm."""

import json

import numpy as np
import pytest

from sparsetopics.base.errors import CorpusFormatError, ShapeError
from sparsetopics.base.sealed_files import write_sealed
from sparsetopics.corpora.corpus import Corpus, VectorCorpus, load_any_manifest, open_corpus
from sparsetopics.corpora.ingest import ingest
from sparsetopics.corpora.store import vector_rows
from worlds.collections_on_disk import make_texts, write_jsonl
from worlds.vectors_on_disk import ingested, item_ids_of, labels_of, make_vectors, values_of

SHARD = "shard-00000.parquet"
VECTORS = make_vectors(40, 3)


@pytest.fixture
def folder(tmp_path):
    np.save(tmp_path / "a.npy", VECTORS)
    ingested([tmp_path / "a.npy"], tmp_path / "vectors")
    return tmp_path / "vectors"


@pytest.fixture
def documents(tmp_path):
    ingest([write_jsonl(tmp_path / "a.jsonl", make_texts(20))], tmp_path / "documents")
    return tmp_path / "documents"


def test_a_stored_corpus_is_what_was_ingested(folder):
    corpus = VectorCorpus.open(folder)

    (batch,) = corpus.batches()
    np.testing.assert_array_equal(batch.values, VECTORS)
    assert batch.values.dtype == np.float32
    assert (corpus.n_items, corpus.n_columns) == (40, 3)
    assert item_ids_of(corpus) == [str(n) for n in range(40)]
    assert labels_of(corpus) == [None] * 40
    assert (corpus.columns, corpus.projection) == (None, None)


def test_an_array_is_a_corpus(monkeypatch):
    monkeypatch.setattr(vector_rows, "ROW_GROUP_BYTES", 16 * 12)

    corpus = VectorCorpus.from_array(
        VECTORS, labels=range(40), item_ids=[f"i{n}" for n in range(40)]
    )

    assert [group.n_docs for group in corpus.row_groups] == [16, 16, 8]
    np.testing.assert_array_equal(values_of(corpus), VECTORS)
    assert item_ids_of(corpus)[17] == "i17"
    assert labels_of(corpus)[17] == "17"
    assert np.shares_memory(corpus.row_groups[0].read().values, VECTORS)


@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        *((kind, np.float32) for kind in ("?", "u1", "i2", "u2", "f2", "f4", ">f4")),
        *((kind, np.float64) for kind in ("i4", "u4", "i8", "u8", "f8", ">f8", np.longdouble)),
    ],
)
def test_numbers_are_kept_exactly(kind, kept):
    array = np.array([[0, 1], [1, 0]], kind)

    corpus = VectorCorpus.from_array(array, labels=[None, "b"])

    assert values_of(corpus).dtype == kept
    assert corpus.kind.value_type == np.dtype(kept).name
    np.testing.assert_array_equal(values_of(corpus), array)
    assert labels_of(corpus) == [None, "b"]
    assert item_ids_of(corpus) == ["0", "1"]


def test_float64_is_neither_copied_nor_bounded_by_float32():
    array = np.array([[1e300, 1764000003.772], [1e-300, -1e9]])

    corpus = VectorCorpus.from_array(array)

    assert np.shares_memory(corpus.row_groups[0].read().values, array)
    np.testing.assert_array_equal(values_of(corpus), array)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([1.0, 2.0], "Expected 2D array, got 1D array"),
        (np.empty((0, 3)), "shape=(0, 3)"),
        (np.empty((3, 0)), "shape=(3, 0)"),
        ([["a"]], "found texts"),
        ([[1j]], "complex128"),
        (
            [[0, 1], [2, np.nan]],
            "item 1, column 1: expected a finite number, but found nan",
        ),
        (
            [[0, 1], [-np.inf, 2]],
            "item 1, column 0: expected a finite number, but found -inf",
        ),
    ],
)
def test_an_array_that_will_not_do_is_refused(values, found):
    with pytest.raises(ShapeError) as error:
        VectorCorpus.from_array(values)

    assert found in str(error.value)


@pytest.mark.parametrize("names", [{"labels": [1]}, {"item_ids": ["a", "b", "c"]}])
def test_names_that_do_not_fit_are_refused(names):
    with pytest.raises(ShapeError, match=r"expected 2, one for each row, but found [13]"):
        VectorCorpus.from_array(np.ones((2, 2)), **names)


def test_the_manifest_decides_what_is_opened(folder, documents):
    assert isinstance(open_corpus(folder), VectorCorpus)
    assert isinstance(open_corpus(documents), Corpus)
    assert load_any_manifest(folder).totals["n_items"] == 40
    assert load_any_manifest(documents).totals["n_documents"] == 20


def test_each_kind_is_refused_where_the_other_is_wanted(folder, documents):
    with pytest.raises(CorpusFormatError, match="corpus of documents, but found a corpus of vec"):
        Corpus.open(folder)
    with pytest.raises(CorpusFormatError, match="corpus of vectors, but found a corpus of doc"):
        VectorCorpus.open(documents)


def test_a_folder_of_neither_kind_is_refused(tmp_path):
    for content in ({"format_version": 2, "kind": "graphs"}, {"format_version": 9}, {}):
        write_sealed(tmp_path / "manifest.json", content)
        with pytest.raises(CorpusFormatError, match=r"(format version 2|'documents' or 'vectors')"):
            open_corpus(tmp_path)


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"format_version": 1}, "expected format version 2, but found 1. Ingest again"),
        ({"n_items": 3}, "totals"),
        ({"n_columns": 0}, "n_columns: expected a whole number >= 1, but found 0"),
        ({"n_columns": "3"}, "n_columns: expected a whole number, but found '3'"),
        ({"columns": ["a"]}, "3 columns have 1 names"),
        ({"shards": [{}]}, r"shards\[0\]: the field file is missing"),
        (
            {"projection": {"file": "../x", "bytes": 0, "sha256": ""}},
            "projection: expected a plain file name, but found '../x'",
        ),
        ({"projection": {"file": "x", "bytes": 0, "sha256": "0" * 64}}, "x: the file is missing"),
        ({"value_type": "float16"}, "value_type: "),
        ({"made": None}, "made: expected a JSON object, but found None"),
    ],
)
def test_another_manifest_is_refused(folder, changes, found):
    path = folder / "manifest.json"
    write_sealed(path, json.loads(path.read_text()) | changes)

    with pytest.raises(CorpusFormatError, match=found):
        VectorCorpus.open(folder)


@pytest.mark.parametrize("position", range(0, 900, 31))
def test_a_flipped_bit_of_a_shard_is_found(folder, position):
    data = bytearray((folder / SHARD).read_bytes())
    data[position % len(data)] ^= 1
    (folder / SHARD).write_bytes(data)

    with pytest.raises(CorpusFormatError, match=SHARD):
        next(VectorCorpus.open(folder).batches())


def test_a_truncated_shard_is_found_on_opening(folder):
    (folder / SHARD).write_bytes((folder / SHARD).read_bytes()[:-1])

    with pytest.raises(CorpusFormatError, match=rf"{SHARD}: expected [\d,]+ bytes, but found"):
        VectorCorpus.open(folder)


@pytest.mark.parametrize(
    ("change", "found"),
    [((1, 0), "41 rows|40 rows"), ((0, 1), "expected .* without nulls, but found type")],
)
def test_a_shard_that_does_not_fit_the_manifest(folder, change, found):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["shards"][0]["row_groups"][0] += change[0]
    manifest["n_items"] += change[0]
    manifest["n_columns"] += change[1]
    write_sealed(path, manifest)

    with pytest.raises(CorpusFormatError, match=found):
        next(VectorCorpus.open(folder).batches())


@pytest.mark.parametrize("name", ["row_groups", "texts"])
def test_a_shard_of_documents_is_refused(folder, name):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    shard = manifest["shards"][0]
    n_items, file = shard["row_groups"][0], {key: shard[key] for key in ("file", "bytes", "sha256")}
    shard[name] = {"row_groups": [[n_items] * 3, *shard["row_groups"][1:]], "texts": file}[name]
    write_sealed(path, manifest)

    with pytest.raises(CorpusFormatError, match=r"is no shard of vectors"):
        VectorCorpus.open(folder)


def test_a_shard_of_another_type_is_refused(folder):
    path = folder / "manifest.json"
    write_sealed(path, json.loads(path.read_text()) | {"value_type": "float64"})

    with pytest.raises(CorpusFormatError, match=r"expected fixed_size_list.*double.*, but found"):
        next(VectorCorpus.open(folder).batches())


def test_the_fingerprint_tells_what_the_columns_are(folder):
    stored = VectorCorpus.open(folder)

    assert stored.fingerprint == VectorCorpus.from_array(np.ones((5, 3))).fingerprint
    assert stored.fingerprint != VectorCorpus.from_array(np.ones((5, 4))).fingerprint
