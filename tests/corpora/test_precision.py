"""Corpora of vectors keep values as precisely as they came, and say where they cannot."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from sparsetopics.base.errors import SourceError
from sparsetopics.corpora import batching
from sparsetopics.corpora.corpus import VectorCorpus
from sparsetopics.corpora.ingest import ingest
from sparsetopics.corpora.ingest_options import VectorOptions
from sparsetopics.corpora.ingest_vectors import ingest_vectors
from sparsetopics.corpora.split import split_corpus
from sparsetopics.corpora.store import vector_rows
from sparsetopics.corpora.validate import validate
from sparsetopics.model.likelihoods.diagonal_gaussian import DiagonalGaussian
from sparsetopics.model.standard_source import standard_source
from worlds.vectors_on_disk import ingested, item_ids_of, make_vectors, values_of

# Seconds since 1970, UTM metres and a Julian date: all lose digits in float32.
FINE = np.array([1764000003.772, 4499999.961, 2461008.5]) + make_vectors(50, 3).astype(float)
NANOSECONDS = 1764000003772000123


def write(path, values):
    """A file of these values, whose type its name decides."""
    names = [f"c{n}" for n in range(values.shape[1])]
    if path.suffix == ".npy":
        np.save(path, values)
    elif path.suffix == ".csv":
        lines = [",".join(map(repr, row)) for row in values.tolist()]
        path.write_text("\n".join([",".join(names), *lines]) + "\n")
    else:
        table = pa.table(dict(zip(names, values.T, strict=True)))
        write_table = pq.write_table if path.suffix == ".parquet" else feather.write_feather
        write_table(table, path)
    return path


@pytest.mark.parametrize("name", ["a.npy", "a.csv", "a.parquet", "a.arrow"])
def test_float64_comes_back_from_files(tmp_path, monkeypatch, name):
    monkeypatch.setattr(vector_rows, "ROW_GROUP_BYTES", 16 * 24)

    corpus = ingested([write(tmp_path / name, FINE)], tmp_path / "corpus")

    assert values_of(corpus).dtype == np.float64
    np.testing.assert_array_equal(values_of(corpus), FINE)
    assert [group.n_docs for group in corpus.row_groups] == [16, 16, 16, 2]
    assert json.loads((tmp_path / "corpus" / "manifest.json").read_text())["value_type"] == (
        "float64"
    )
    assert validate(tmp_path / "corpus") == []


@pytest.mark.parametrize("name", ["a.npy", "a.parquet", "a.arrow"])
@pytest.mark.parametrize("kind", ["f4", "f2", "i2", "u1"])
def test_short_types_stay_float32(tmp_path, name, kind):
    values = (make_vectors(20, 2) * 10).astype(np.int8).astype(kind)

    corpus = ingested([write(tmp_path / name, values)], tmp_path / "corpus")

    assert values_of(corpus).dtype == np.float32
    np.testing.assert_array_equal(values_of(corpus), values)


def test_columns_of_several_types_are_kept_exactly(tmp_path):
    columns = {"a": pa.array([0.1, 0.2], pa.float32()), "b": pa.array([2**31, 1], pa.int64())}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")

    corpus = ingested([tmp_path / "a.parquet"], tmp_path / "corpus")

    np.testing.assert_array_equal(
        values_of(corpus), [[np.float32(0.1), 2**31], [np.float32(0.2), 1]]
    )


def test_a_corpus_of_float32_has_the_bytes_of_earlier_releases(tmp_path):
    values = (np.arange(60) % 7 - 3).astype(np.float32).reshape(20, 3) / 4
    ingested([write(tmp_path / "a.npy", values)], tmp_path / "corpus")

    manifest = (tmp_path / "corpus" / "manifest.json").read_bytes()
    assert b"value_type" not in manifest
    assert list(json.loads(manifest)) == [
        *("format_version", "kind", "n_items", "n_columns", "n_bytes", "columns", "made"),
        *("projection", "shards", "sha256"),
    ]


def test_a_split_keeps_the_type(tmp_path):
    whole = ingested([write(tmp_path / "a.npy", FINE)], tmp_path / "whole")
    parts = tmp_path / "train", tmp_path / "heldout"

    split_corpus(tmp_path / "whole", *parts, 0.2, False, np.random.default_rng(0))

    for part in map(VectorCorpus.open, parts):
        rows = [*map(int, item_ids_of(part))]
        np.testing.assert_array_equal(values_of(part), FINE[rows])
        assert part.fingerprint == whole.fingerprint
    assert [*map(validate, parts)] == [[], []]


def test_a_file_of_more_precise_values_is_refused(tmp_path):
    sources = [write(tmp_path / "a.npy", FINE.astype(np.float32)), write(tmp_path / "b.npy", FINE)]

    with pytest.raises(
        SourceError, match=r"b\.npy: expected .* float32, as in .*a\.npy, but found"
    ):
        ingested(sources, tmp_path / "corpus")


def test_less_precise_values_are_widened(tmp_path):
    short = FINE.astype(np.float32)
    sources = [write(tmp_path / "a.npy", FINE), write(tmp_path / "b.npy", short)]

    corpus = ingested(sources, tmp_path / "corpus")

    np.testing.assert_array_equal(values_of(corpus), np.concatenate((FINE, short)))


def test_principal_components_are_computed_in_float64(tmp_path):
    near = make_vectors(200, 3).astype(float)
    corpora = [
        ingested([write(tmp_path / f"{n}.npy", values)], tmp_path / f"{n}", pca=2)
        for n, values in enumerate((near, near + 1e9))
    ]

    assert all(values_of(corpus).dtype == np.float32 for corpus in corpora)
    np.testing.assert_allclose(*map(values_of, corpora), atol=1e-5)


def test_values_that_are_too_large_to_project_are_refused(tmp_path):
    ingested([write(tmp_path / "a.npy", FINE)], tmp_path / "train", pca=2)
    source = write(tmp_path / "b.npy", FINE * 1e290)

    with pytest.raises(SourceError, match="too large for principal components"):
        ingested([source], tmp_path / "b", pca=2)
    with pytest.raises(SourceError, match=r"b\.npy: a projected value is too large for float32"):
        ingested([source], tmp_path / "b", projection=tmp_path / "train")


@pytest.mark.parametrize("resident_bytes", [0, 1 << 30])
def test_training_reads_float32(tmp_path, resident_bytes):
    corpus = ingested([write(tmp_path / "a.npy", FINE)], tmp_path / "corpus")

    rng = np.random.default_rng(0)
    batches = batching.plan_vector_batches(corpus, 3, rng, resident_bytes=resident_bytes)
    names = [*map(str, range(corpus.n_columns))]
    source = standard_source(batches, DiagonalGaussian.coordinates_for, names, rng)

    assert {source.read(n).values.dtype for n in range(3)} == {np.dtype(np.float32)}


# --- what is said ---------------------------------------------------------------------------------
def said_of(source, out):
    said = []
    ingest_vectors([source], out, VectorOptions(), say=said.append)
    return said


@pytest.mark.parametrize("name", ["a.npy", "a.csv", "a.parquet", "a.arrow"])
def test_integers_that_lose_digits_are_named(tmp_path, name):
    values = np.array([[1, 2**53 + 2], [2, NANOSECONDS], [3, NANOSECONDS + 1]])

    (said,) = said_of(write(tmp_path / name, values), tmp_path / "corpus")

    column = "'1'" if name == "a.npy" else "'c1'"
    assert said == (
        f"{tmp_path / name}: values in {column} have more digits than are kept "
        "(1764000003772000123 becomes 1764000003772000000). Subtract an offset from them first."
    )


@pytest.mark.parametrize("values", [[[2**60, 2**53]], [[-(2**62), 1]], [[0.1, 1e300]]])
def test_numbers_that_are_kept_are_not_named(tmp_path, values):
    assert said_of(write(tmp_path / "a.npy", np.array(values)), tmp_path / "corpus") == []


def test_the_largest_integers_are_named(tmp_path):
    values = np.array([[2**63 - 1, 2**53 + 1]])

    (said,) = said_of(write(tmp_path / "a.npy", values), tmp_path / "corpus")

    assert "values in '0', '1' have more digits" in said


# --- numbers given as documents -------------------------------------------------------------------
HINT = "All columns hold numbers. To read them as vectors, use --kind vectors."


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.arrow"])
def test_a_table_of_numbers_may_hold_vectors(tmp_path, name):
    with pytest.raises(SourceError) as error:
        ingest([write(tmp_path / name, FINE)], tmp_path / "corpus")

    assert HINT in str(error.value)
    assert "'c0', 'c1', 'c2'" in str(error.value)


@pytest.mark.parametrize(
    ("text", "is_hinted"),
    [
        ("x,y\n1,-2.5\n", True),
        ("id,label,x\na,b,1e-3\n", True),
        ("x,y\n1,owl\n", False),
        ("x,y\n1.2.3,\n", False),
        ("x,y\n", False),
        ("id,label\n1,2\n", False),
    ],
)
def test_other_tables_are_not_taken_for_vectors(tmp_path, text, is_hinted):
    (tmp_path / "a.csv").write_text(text)

    with pytest.raises(SourceError) as error:
        ingest([tmp_path / "a.csv"], tmp_path / "corpus")

    assert (HINT in str(error.value)) == is_hinted
