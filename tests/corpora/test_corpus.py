"""Opening, reading and making corpora; damage is found before it does harm."""

import hashlib
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from sparsetopics.base.errors import CorpusFormatError, ShapeError, SourceError
from sparsetopics.base.sealed_files import write_sealed
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.ingest import IngestOptions, ingest
from worlds.collections_on_disk import documents_of, make_texts, write_jsonl

TEXTS = make_texts(80)
SHARD = "shard-00000.parquet"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    ingest([write_jsonl(folder / "a.jsonl", TEXTS)], folder / "corpus")
    return folder / "corpus"


@pytest.fixture
def copy(folder, tmp_path):
    """A copy to damage."""
    (tmp_path / "copy").mkdir()
    for path in folder.iterdir():
        (tmp_path / "copy" / path.name).write_bytes(path.read_bytes())
    return tmp_path / "copy"


def edit_manifest(folder, **changes):
    path = folder / "manifest.json"
    write_sealed(path, json.loads(path.read_text()) | changes)


def test_batches_are_views_of_the_promised_types(folder):
    (batch,) = Corpus.open(folder).batches()

    assert batch.indptr.dtype == np.int64
    assert batch.word_ids.dtype == np.int32
    assert batch.word_counts.dtype == np.uint32
    assert batch.indptr[0] == 0
    assert batch.word_ids.base is not None
    assert not batch.word_ids.flags.owndata


def test_texts_in_memory_are_as_texts_from_files(folder):
    stored, made = Corpus.open(folder), Corpus.from_texts(TEXTS)

    assert made.vocabulary.words == stored.vocabulary.words
    assert (made.n_docs, made.n_pairs, made.n_tokens) == (
        stored.n_docs,
        stored.n_pairs,
        stored.n_tokens,
    )
    renamed = {f"doc-{doc_id}": row for doc_id, row in documents_of(made).items()}
    assert renamed == documents_of(stored)


def test_texts_under_a_given_vocabulary():
    train = Corpus.from_texts(["cat dog", "cat"])
    heldout = Corpus.from_texts(["dog owl owl", "owl"], vocabulary=train.vocabulary)

    assert documents_of(heldout) == {"0": {"dog": 1}}
    assert (heldout.n_skipped, heldout.n_unknown_tokens) == (1, 3)
    assert train.n_unknown_tokens == 0


def test_texts_take_options():
    corpus = Corpus.from_texts(
        iter(["A b", "A c"]),
        token_pattern=r"\w+",
        lowercase=False,
        min_df=2,
    )

    assert documents_of(corpus) == {"0": {"A": 1}, "1": {"A": 1}}


@pytest.mark.parametrize("texts", [[], ["", "--"]])
def test_texts_without_a_word_are_refused(texts):
    with pytest.raises(SourceError, match=r"no (words|documents)"):
        Corpus.from_texts(texts)


def test_one_string_is_no_list_of_texts():
    with pytest.raises(SourceError, match="texts: must be a list of texts or word lists, but is "):
        Corpus.from_texts("a text, not letters")


def test_a_text_that_is_no_text_is_named():
    with pytest.raises(SourceError, match=r"texts\[1\]: must be a string or None, but is 5"):
        Corpus.from_texts(["fine", 5])


@given(
    counts=st.lists(
        st.lists(st.sampled_from([0, 0, 1, 2, 7]), min_size=4, max_size=4), min_size=1, max_size=6
    ),
    kind=st.sampled_from([np.int64, np.uint8, np.float64, np.float32, np.bool_]),
)
def test_a_sparse_matrix_is_kept(counts, kind):
    matrix = np.array(counts).astype(kind)
    if not matrix.any():
        return

    corpus = Corpus.from_csr(scipy.sparse.csr_matrix(matrix), ["a", "b", "c", "d"])

    (batch,) = corpus.batches()
    rows = np.flatnonzero(matrix.any(axis=1))
    rebuilt = scipy.sparse.csr_array(
        (batch.word_counts, batch.word_ids, batch.indptr), (corpus.n_docs, 4)
    )
    np.testing.assert_array_equal(rebuilt.toarray(), matrix[rows].astype(np.int64))
    assert batch.word_counts.dtype == np.uint32
    assert next(corpus.doc_ids()) == [str(row) for row in rows]
    assert corpus.n_skipped == len(matrix) - len(rows)
    np.testing.assert_array_equal(corpus.vocabulary.term_frequency, matrix.sum(axis=0))


def test_a_matrix_is_put_in_order():
    matrix = scipy.sparse.csr_matrix(
        (np.array([0.5, 0.0, 2.0, 0.25]), np.array([2, 1, 0, 2]), np.array([0, 4])), (1, 3)
    )

    corpus = Corpus.from_csr(matrix, ["a", "b", "c"], ["only"])

    (batch,) = corpus.batches()
    np.testing.assert_array_equal(batch.word_ids, [0, 2])
    np.testing.assert_array_equal(batch.word_counts, np.array([2.0, 0.75], np.float32))
    assert batch.word_counts.dtype == np.float32
    assert next(corpus.doc_ids()) == ["only"]
    assert matrix.nnz == 4  # the caller's own is left alone


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_a_count_that_is_none_is_placed(bad):
    matrix = scipy.sparse.csr_matrix(np.array([[1.0, 0.0], [0.0, bad]]))

    with pytest.raises(ShapeError, match="row 1, column 1"):
        Corpus.from_csr(matrix, ["a", "b"])


@pytest.mark.parametrize(
    ("words", "doc_ids"), [(["a"], None), (["a", "a"], None), (["a", "b"], ["x", "y"])]
)
def test_names_that_do_not_fit_are_refused(words, doc_ids):
    with pytest.raises(ShapeError):
        Corpus.from_csr(scipy.sparse.csr_matrix(np.ones((1, 2))), words, doc_ids)


def test_a_matrix_of_zeros_is_refused():
    with pytest.raises(SourceError, match="counts: none is above zero"):
        Corpus.from_csr(scipy.sparse.csr_matrix((2, 2)), ["a", "b"])


@pytest.mark.parametrize("position", range(0, 1_000, 21))
def test_a_flipped_bit_of_a_shard_is_found(copy, position):
    path = copy / SHARD
    data = bytearray(path.read_bytes())
    data[position * len(data) // 1_000] ^= 1 << position % 8
    path.write_bytes(data)
    corpus = Corpus.open(copy)

    for read in (corpus.batches, corpus.doc_ids, corpus.labels):
        with pytest.raises(CorpusFormatError, match=rf"{SHARD}: expected SHA-256"):
            next(read())


def test_a_bit_that_flips_after_the_first_look_is_found(copy):
    corpus = Corpus.open(copy)
    next(corpus.batches())
    path = copy / SHARD
    data = bytearray(path.read_bytes())
    data[len(data) // 4] ^= 4
    path.write_bytes(data)

    with pytest.raises(CorpusFormatError, match=SHARD):
        [next(read()) for read in (corpus.batches, corpus.doc_ids, corpus.labels)]


@pytest.mark.parametrize("name", [SHARD, "vocabulary.parquet"])
def test_a_truncated_or_missing_file_is_found_on_opening(copy, name):
    path = copy / name
    path.write_bytes(path.read_bytes()[:-1])
    message = rf"{name}: expected [\d,]+ bytes, but found .* just been replaced, try again\)\. "
    with pytest.raises(CorpusFormatError, match=message):
        Corpus.open(copy)

    path.unlink()
    with pytest.raises(CorpusFormatError, match=f"{name}: the file is missing"):
        Corpus.open(copy)


def test_a_flipped_bit_of_the_vocabulary_is_found_on_opening(copy):
    path = copy / "vocabulary.parquet"
    data = bytearray(path.read_bytes())
    data[40] ^= 1
    path.write_bytes(data)

    with pytest.raises(CorpusFormatError, match=r"vocabulary.parquet: expected SHA-256"):
        Corpus.open(copy)


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"format_version": 1}, "expected format version 2, but found 1. Ingest again"),
        ({"kind": "vectors"}, "found a corpus of vectors"),
        ({"n_documents": 3}, "totals"),
        ({"n_words": -1}, "n_words: expected a whole number >= 0, but found -1"),
        ({"n_words": 1}, "expected 1 word with fingerprint .*, but found"),
        ({"shards": [{}]}, r"shards\[0\]: the field file is missing"),
        ({"vocabulary": None}, "vocabulary: expected a JSON object, but found None"),
    ],
)
def test_another_manifest_is_refused(copy, changes, found):
    edit_manifest(copy, **changes)

    with pytest.raises(CorpusFormatError, match=found):
        Corpus.open(copy)


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "a/b", "..", "", 5, "a\\b"])
def test_a_file_outside_the_folder_is_refused(copy, name):
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["shards"][0]["file"] = name
    write_sealed(copy / "manifest.json", manifest)

    with pytest.raises(
        CorpusFormatError, match=r"shards\[0\].*: expected a (plain file name|string), but found"
    ):
        Corpus.open(copy)


@pytest.mark.parametrize("content", ["", "{", "[]", "\xff"])
def test_a_damaged_manifest_is_refused(copy, content):
    (copy / "manifest.json").write_bytes(content.encode("latin-1"))

    with pytest.raises(
        CorpusFormatError, match=r"manifest.json: (the JSON is damaged|expected|the file is)"
    ):
        Corpus.open(copy)


def test_a_folder_that_is_no_corpus(tmp_path):
    for path in (tmp_path, tmp_path / "gone"):
        with pytest.raises(CorpusFormatError, match="a corpus folder made by"):
            Corpus.open(path)


def test_a_shard_that_does_not_fit_the_manifest(copy):
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["shards"][0]["row_groups"][0][0] += 1
    manifest["n_documents"] += 1
    write_sealed(copy / "manifest.json", manifest)

    with pytest.raises(
        CorpusFormatError, match=r"shard-00000\.parquet: .*expected \d+ rows, but found \d+"
    ):
        next(Corpus.open(copy).batches())


def test_a_row_group_of_documents_has_three_sizes(copy):
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["shards"][0]["row_groups"][0] = 1
    write_sealed(copy / "manifest.json", manifest)

    with pytest.raises(CorpusFormatError, match=r"manifest\.json.*a row group lacks sizes"):
        Corpus.open(copy)


def test_a_word_id_beyond_the_vocabulary(folder, tmp_path):
    ingest([write_jsonl(tmp_path / "a.jsonl", ["cat"])], tmp_path / "small", IngestOptions())
    manifest = json.loads((folder / "manifest.json").read_text())
    small = json.loads((tmp_path / "small" / "manifest.json").read_text())
    for name in ("vocabulary", "n_words"):
        manifest[name] = small[name]
    write_sealed(tmp_path / "small" / "manifest.json", manifest)
    (tmp_path / "small" / SHARD).write_bytes((folder / SHARD).read_bytes())

    with pytest.raises(CorpusFormatError, match=r"word id \d+ is beyond the vocabulary of 1 word"):
        next(Corpus.open(tmp_path / "small").batches())


def without_last(rows):
    return [*rows[:-1], rows[-1][:-1]]


def with_a_null(rows):
    return [[None, *rows[0][1:]], *rows[1:]]


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"counts": without_last}, "word ids and counts differ in length"),
        ({"counts": without_last, "word_ids": without_last}, "expected [0-9]+ pairs, but found"),
        ({"counts": with_a_null}, "some word ids or counts are null"),
        ({"word_ids": with_a_null}, "some word ids or counts are null"),
    ],
)
def test_a_shard_that_someone_else_wrote(copy, changes, found):
    """With the sums of its bytes."""
    table = pq.read_table(copy / SHARD)
    for name, change in changes.items():
        rows = pa.array(change(table[name].to_pylist()), table.schema.field(name).type)
        table = table.set_column(table.column_names.index(name), name, rows)
    pq.write_table(table, copy / SHARD)
    (shard,) = json.loads((copy / "manifest.json").read_text())["shards"]
    data = (copy / SHARD).read_bytes()
    shard |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    edit_manifest(copy, shards=[shard])

    with pytest.raises(CorpusFormatError, match=f"row group 0: {found}"):
        next(Corpus.open(copy).batches())
