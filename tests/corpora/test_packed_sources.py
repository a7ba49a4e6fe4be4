"""Packed files and zip archives give what the plain files give, and say where they are broken."""

import io
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparsetopics.base.errors import SourceError
from sparsetopics.corpora.corpus import Corpus, VectorCorpus
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.ingest_vectors import ingest_vectors
from sparsetopics.corpora.readers import text_files
from sparsetopics.corpora.sources import byte_stream
from sparsetopics.corpora.sources.source_files import find_files
from sparsetopics.evaluation.scoring.fixed_topics import read_topic_matrix
from sparsetopics.evaluation.scoring.weight_files import READERS
from worlds.collections_on_disk import documents_of, make_texts, write_jsonl

TEXTS = make_texts(40)


def zipped(path, members, packing=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def zst(path):
    packed = path.with_name(path.name + ".zst")
    packed.write_bytes(pa.compress(path.read_bytes(), "zstd", asbytes=True))
    return packed


def ingested(source, tmp_path, **options):
    ingest([source], tmp_path / "corpus", IngestOptions(overwrite=True, **options))
    return documents_of(Corpus.open(tmp_path / "corpus"))


def table_file(path):
    names = [f"doc-{n}" for n in range(len(TEXTS))]
    table = pa.table({"id": names, "text": TEXTS})
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        kind = pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file
        with pa.OSFile(str(path), "wb") as sink, kind(sink, table.schema) as stream:
            stream.write_table(table)
    return path


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet", "a.arrows", "a.arrow"])
@pytest.mark.parametrize("pack", ["plain", "zst", "zip"])
def test_packing_changes_nothing(name, pack, tmp_path, monkeypatch):
    monkeypatch.setattr(byte_stream, "BLOCK_BYTES", 1_000)
    path = tmp_path / name
    path = write_jsonl(path, TEXTS) if path.suffix == ".jsonl" else table_file(path)
    expected = documents_of(Corpus.from_texts(TEXTS))
    if pack == "zst":
        path = zst(path)
    if pack == "zip":
        path = zipped(tmp_path / "a.zip", {f"deep/{name}": path.read_bytes()})

    found = ingested(path, tmp_path)

    assert {name.removeprefix("doc-"): row for name, row in found.items()} == expected


def test_members_are_sources_as_files_of_a_folder_are(tmp_path):
    members = {
        "b.txt": "owls and cats",
        "pets/a.txt": "dogs",
        "pets/": "",
        "__MACOSX/pets/a.txt": "no",
        ".hidden/x.txt": "no",
        "notes.md": "no",
    }
    folder = tmp_path / "in"
    folder.mkdir()
    path = zipped(folder / "a.zip", members)

    ingest([path], tmp_path / "one")
    ingest([folder], tmp_path / "two")

    corpus = Corpus.open(tmp_path / "one")
    assert documents_of(corpus) == {
        "b.txt": {"owls": 1, "and": 1, "cats": 1},
        "pets/a.txt": {"dogs": 1},
    }
    assert next(corpus.labels()) == [None, "pets"]
    assert list(documents_of(Corpus.open(tmp_path / "two"))) == ["a.zip/b.txt", "a.zip/pets/a.txt"]


def test_a_collection_of_counts_with_its_words_in_an_archive(tmp_path):
    members = {"docword.a.txt": "1\n2\n1\n1 2 3\n", "vocab.a.txt": "owl\ncat\n"}

    assert ingested(zipped(tmp_path / "a.zip", members), tmp_path) == {"1": {"cat": 3}}


def test_vectors_in_an_archive(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(3))
    np.savez(tmp_path / "b.npz", values=np.eye(3))
    members = {name: (tmp_path / name).read_bytes() for name in ("a.npy", "b.npz")}
    for name, data in members.items():
        source = zipped(tmp_path / f"{name}.zip", {name: data})
        ingest_vectors([source], tmp_path / name[0])
        (batch,) = VectorCorpus.open(tmp_path / name[0]).batches()
        np.testing.assert_array_equal(batch.values, np.eye(3))


@pytest.mark.parametrize(
    "name", ["../a.txt", "x/../../a.txt", "/etc/a.txt", "C:/a.txt", "..\\a.txt", "x//a.txt", "./a"]
)
def test_names_that_point_elsewhere_are_refused(name, tmp_path):
    path = zipped(tmp_path / "a.zip", {"fine.txt": "words", name: "words"})

    with pytest.raises(
        SourceError, match=r"a\.zip: a member (leads out of the archive|has no plain name): "
    ):
        ingest([path], tmp_path / "corpus")


def test_members_that_share_their_data_are_refused(tmp_path):
    path = zipped(tmp_path / "a.zip", {"a.txt": "one " * 500, "b.txt": "two"}, zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    second = data.rindex(b"PK\x01\x02")
    data[second + 20 : second + 24] = (3_000).to_bytes(4, "little")  # packed size of b.txt
    path.write_bytes(data)

    with pytest.raises(SourceError, match="cannot fit in a file of"):
        find_files([path], lambda _: True, or_all=False)


@pytest.mark.parametrize("name", ["a.txt", "deep/a.jsonl"])
def test_two_members_of_one_name_are_refused(name, tmp_path):
    path = zipped(tmp_path / "a.zip", {"fine.txt": "words", name: "first"})
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr(name, "second")

    with pytest.raises(SourceError, match=rf"a\.zip: two members have the same name: '{name}'"):
        ingest([path], tmp_path / "corpus")


def test_two_arrays_of_one_name_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, values=np.eye(3), topic_word=np.eye(3))
    again = io.BytesIO()
    np.save(again, np.eye(3))
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("values.npy", again.getvalue())

    with pytest.raises(SourceError, match=r"the same name: 'values\.npy'"):
        ingest_vectors([path], tmp_path / "corpus")
    with pytest.raises(SourceError, match=r"the same name: 'values\.npy'"):
        read_topic_matrix(path, ["a", "b", "c"], READERS[".npz"])


@pytest.mark.parametrize("members", [{}, {"notes.md": "no"}])
def test_an_archive_without_documents(members, tmp_path):
    with pytest.raises(
        SourceError, match=r"a\.zip: (holds no files|none of 1 file has a known format)"
    ):
        ingest([zipped(tmp_path / "a.zip", members)], tmp_path / "corpus")


def test_an_encrypted_member(tmp_path):
    path = zipped(tmp_path / "a.zip", {"a.txt": "words"})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)

    with pytest.raises(SourceError, match=r"a member is encrypted: 'a\.txt'"):
        ingest([path], tmp_path / "corpus")


@pytest.mark.parametrize("damage", ["cut", "flip", "other"])
@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_damaged_archive_is_named(damage, packing, tmp_path):
    path = zipped(tmp_path / "a.zip", {"a.txt": "".join(TEXTS)}, packing)
    data = bytearray(path.read_bytes())
    if damage == "flip":
        data[200] ^= 0xFF  # in the member
    path.write_bytes({"cut": data[:-30], "flip": data, "other": b"plain"}[damage])

    with pytest.raises(SourceError, match=r"a\.zip.*: damaged or (unreadable|truncated) zip data"):
        ingest([path], tmp_path / "corpus")


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
@pytest.mark.parametrize("damage", ["cut", "other"])
def test_damaged_zstd_is_named(name, damage, tmp_path):
    path = zst(write_jsonl(tmp_path / name, TEXTS))
    data = path.read_bytes()
    path.write_bytes(data[:-20] if damage == "cut" else b"plain")

    with pytest.raises(SourceError, match=rf"{name}\.zst: damaged or truncated zstd data"):
        ingest([path], tmp_path / "corpus")


@pytest.mark.parametrize(("name", "what"), [("a.txt", "file"), ("a.lines", "line")])
def test_what_unpacks_without_end_is_refused_before_it_fills_memory(
    name, what, tmp_path, monkeypatch
):
    monkeypatch.setattr(byte_stream, "LONGEST_TEXT", 1_000)
    monkeypatch.setattr(byte_stream, "BLOCK_BYTES", 100)
    monkeypatch.setattr(text_files, "_FIRST_BYTES", 100)
    read = []
    stream_read = zipfile.ZipExtFile.read
    monkeypatch.setattr(
        zipfile.ZipExtFile, "read", lambda s, n=-1: read.append(n) or stream_read(s, n)
    )
    path = zipped(tmp_path / "a.zip", {name: "a" * 1_000_000})

    with pytest.raises(SourceError, match=f"a {what} may have at most 1,000 bytes"):
        ingest([path], tmp_path / "corpus")

    assert 0 < sum(read) < 3_000
    assert min(read) > 0
