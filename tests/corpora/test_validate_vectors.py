"""Each broken promise of a corpus of vectors is found and placed."""

import json
from contextlib import closing

import numpy as np
import pyarrow as pa
import pytest

from sparsetopics.base.batches import VectorBatch
from sparsetopics.base.errors import CorpusFormatError
from sparsetopics.base.sealed_files import write_sealed
from sparsetopics.corpora.store.manifest import Sizes
from sparsetopics.corpora.store.shards import MemoryRowGroup, ShardWriter
from sparsetopics.corpora.store.vector_rows import VectorKind, VectorManifest
from sparsetopics.corpora.validate import validate
from worlds.vectors_on_disk import ingested, make_vectors


def write_corpus(folder, values):
    """A corpus folder whose checksums are right, whatever it holds."""
    folder.mkdir()
    n_items, n_columns = values.shape
    names = pa.array([f"i{n}" for n in range(n_items)])
    with closing(ShardWriter(folder, VectorKind(n_columns))) as writer:
        labels, sizes = pa.nulls(n_items, pa.string()), Sizes.of_items(n_items)
        writer.append(MemoryRowGroup(sizes, names, labels, VectorBatch(values)))
        shards = writer.finish()
    VectorManifest(n_columns=n_columns, columns=None, made={}, projection=None, shards=shards).save(
        folder
    )
    return folder


@pytest.fixture
def projected(tmp_path):
    np.save(tmp_path / "a.npy", make_vectors(50, 4))
    ingested([tmp_path / "a.npy"], tmp_path / "corpus", pca=2)
    return tmp_path / "corpus"


def test_a_sound_corpus_has_no_problems(tmp_path, projected):
    assert validate(write_corpus(tmp_path / "c", make_vectors(5, 2))) == []
    assert validate(projected) == []


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_value_that_is_not_finite_is_placed(tmp_path, bad):
    values = make_vectors(5, 3)
    values[2, 1] = bad

    (found,) = validate(write_corpus(tmp_path / "c", values))

    assert f"row group 0, row 2, column 1: expected a finite number, but found {bad}." in found


def test_a_flipped_bit_is_found(tmp_path):
    folder = write_corpus(tmp_path / "c", make_vectors(5, 2))
    path = folder / "shard-00000.parquet"
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(data)

    (found,) = validate(folder)

    assert "shard-00000.parquet: expected SHA-256" in found


def test_a_row_group_of_another_size_is_found(tmp_path):
    folder = write_corpus(tmp_path / "c", make_vectors(5, 2))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["shards"][0]["row_groups"] = [6]
    manifest["n_items"] = 6
    write_sealed(folder / "manifest.json", manifest)

    (found,) = validate(folder)

    assert "shard-00000.parquet: cannot be read (expected 6 rows, but found 5)" in found


def test_a_projection_that_changed_does_not_open(projected):
    path = projected / "projection.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)

    with pytest.raises(CorpusFormatError, match=r"projection\.safetensors: expected SHA-256"):
        validate(projected)


def test_a_projection_to_other_columns_is_found(tmp_path, projected):
    folder = write_corpus(tmp_path / "c", make_vectors(5, 3))
    (folder / "projection.safetensors").write_bytes(
        (projected / "projection.safetensors").read_bytes()
    )
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["projection"] = json.loads((projected / "manifest.json").read_text())["projection"]
    write_sealed(folder / "manifest.json", manifest)

    (found,) = validate(folder)

    assert "expected 3 columns, but its projection has 2." in found
