"""Each broken promise of a corpus is found and placed."""

import json
from contextlib import closing

import numpy as np
import pyarrow as pa
import pytest

from sparsetopics.base.batches import DocumentBatch
from sparsetopics.base.errors import CorpusFormatError
from sparsetopics.base.sealed_files import write_sealed
from sparsetopics.corpora.ingest import ingest
from sparsetopics.corpora.store.document_rows import DocumentKind, DocumentManifest, Documents
from sparsetopics.corpora.store.manifest import Sizes
from sparsetopics.corpora.store.shards import MemoryRowGroup, ShardWriter
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.corpora.validate import validate
from worlds.collections_on_disk import make_texts, write_jsonl


def write_corpus(folder, indptr, word_ids, counts, terms=(3, 2, 2)):
    """A corpus folder whose checksums are right, whatever it holds."""
    folder.mkdir()
    batch = DocumentBatch(
        np.array(indptr, np.int64), np.array(word_ids, np.int32), np.array(counts, np.float32)
    )
    names = pa.array([f"d{n}" for n in range(batch.n_docs)])
    with closing(ShardWriter(folder, DocumentKind(3))) as writer:
        labels = pa.nulls(batch.n_docs, pa.string())
        writer.append(MemoryRowGroup(Sizes.of(batch), names, labels, batch))
        shards = writer.finish()
    vocabulary = Vocabulary(("a", "b", "c"), np.ones(3, np.int64), np.array(terms))
    DocumentManifest.write(folder, Documents(vocabulary, ()), shards)
    return folder


def test_a_sound_corpus_has_no_problems(tmp_path):
    assert validate(write_corpus(tmp_path / "c", [0, 2, 3], [0, 2, 1], [1, 0.5, 2])) == []
    ingest([write_jsonl(tmp_path / "a.jsonl", make_texts(50))], tmp_path / "d")
    assert validate(tmp_path / "d") == []


@pytest.mark.parametrize(
    ("indptr", "word_ids", "counts", "problem"),
    [
        (
            [0, 1, 3],
            [2, 1, 0],
            [1, 1, 1],
            "row 1: expected word ids sorted and unique, but found word 0 with count 1.0",
        ),
        (
            [0, 1, 3],
            [2, 1, 1],
            [1, 1, 1],
            "row 1: expected word ids sorted and unique, but found word 1 with count 1.0",
        ),
        (
            [0, 1, 2],
            [2, 1],
            [1, 0],
            "row 1: expected counts above zero, but found word 1 with count 0.0",
        ),
        (
            [0, 1, 2],
            [2, 1],
            [-1, 1],
            "row 0: expected counts above zero, but found word 2 with count -1.0",
        ),
        ([0, 1, 1], [2], [1], "row 1: the document has no words"),
        ([0, 1], [3], [1], "row group 0: word id 3 is beyond the vocabulary of 3 words"),
    ],
)
def test_a_broken_document_is_placed(tmp_path, indptr, word_ids, counts, problem):
    (found,) = validate(write_corpus(tmp_path / "c", indptr, word_ids, counts))

    assert "shard-00000.parquet" in found
    assert problem in found


@pytest.mark.parametrize("terms", [(1, 2, 0), (2, 2, 3)])
def test_a_vocabulary_out_of_order_is_placed(tmp_path, terms):
    (found,) = validate(write_corpus(tmp_path / "c", [0, 1], [0], [1], terms))

    assert "vocabulary.parquet, row" in found
    assert "expected falling term frequency" in found


def test_wrong_totals_are_placed(tmp_path):
    folder = write_corpus(tmp_path / "c", [0, 1], [0], [1])
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["shards"][0]["row_groups"][0][2] = manifest["n_tokens"] = 5
    write_sealed(folder / "manifest.json", manifest)

    (found,) = validate(folder)

    assert "expected 5 tokens, but found 1" in found


def test_a_flipped_bit_is_found(tmp_path):
    folder = write_corpus(tmp_path / "c", [0, 1], [0], [1])
    path = folder / "shard-00000.parquet"
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(data)

    (found,) = validate(folder)

    assert "shard-00000.parquet: expected SHA-256" in found


def test_a_folder_that_does_not_open_raises(tmp_path):
    with pytest.raises(CorpusFormatError):
        validate(tmp_path)
