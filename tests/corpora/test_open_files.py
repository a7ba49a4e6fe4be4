"""No reader leaves a file open, whatever it finds in it."""

import gc
import gzip
import io
import json
import os
import warnings
import zipfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparsetopics.base.errors import SparsetopicsError
from sparsetopics.corpora.append import append
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.ingest_vectors import VectorOptions, ingest_vectors
from sparsetopics.corpora.readers import blocks, number_tables
from sparsetopics.corpora.readers.formats import FORMATS, VECTOR_FORMATS
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.sources import arrow_batches, byte_stream
from sparsetopics.corpora.store.shards import ShardWriter
from sparsetopics.evaluation.scoring.fixed_topics import read_topic_matrix
from sparsetopics.evaluation.scoring.tokenized_texts import TokenizedTexts
from sparsetopics.evaluation.scoring.weight_files import READERS
from sparsetopics.options.workplace import Workplace
from worlds.workbooks import workbook

pytest.importorskip("openpyxl")

DESCRIPTORS = Path("/proc/self/fd")
if not DESCRIPTORS.is_dir():
    pytest.skip("counts the files that Linux lists", allow_module_level=True)

TEXTS = [f"owl cat dog {'abcd'[n % 4] * 3}" for n in range(90)]
VECTORS = np.random.default_rng(0).normal(size=(90, 3))
INFINITE = np.where(np.arange(270).reshape(90, 3) == 200, np.inf, VECTORS)
WORDS = {"vocab.txt": b"owl\ncat\ndog\n"}
MIDDLE = 45  # a place amid the lines and rows


class Case(NamedTuple):
    """A file to read, and what lies beside it."""

    name: str
    data: bytes
    beside: dict[str, bytes] = {}  # noqa: RUF012  never changed


def written(write, *given, **options):
    stream = io.BytesIO()
    write(stream, *given, **options)
    return stream.getvalue()


def parquet(table):
    return written(lambda stream: pq.write_table(table, stream, row_group_size=10))


def arrow(table, make=pa.ipc.new_file):
    def write(stream):
        with make(stream, table.schema) as writer:
            writer.write_table(table, 10)

    return written(write)


def lines(rows, head=b""):
    return head + b"".join(row + b"\n" for row in rows)


def with_line(data, line, place=MIDDLE):
    found = data.splitlines(keepends=True)
    return b"".join([*found[:place], line, *found[place:]])


def damaged(data):
    return data[:100] + bytes(byte ^ 255 for byte in data[100:-100]) + data[-100:]


def table_of(values):
    return pa.table({f"x{n}": column for n, column in enumerate(values.T)})


ODD = pa.array([b"owl"] * MIDDLE + [b"\xff"] * MIDDLE).view(pa.string())
PLAIN = lines(text.encode() for text in TEXTS)
JSONL = lines(json.dumps({"text": text}).encode() for text in TEXTS)
CSV = lines([b"id,text", *(b"%d,%b" % (n, text.encode()) for n, text in enumerate(TEXTS))])
TRIPLES = [b"%d %d 2" % (doc, word) for doc in range(1, 91) for word in (1, 2, 3)]
MTX = lines(TRIPLES, b"%%MatrixMarket matrix coordinate integer general\n90 3 270\n")
UCI = lines(TRIPLES, b"90\n3\n270\n")
LDAC = lines([b"2 0:1 1:2"] * 90)
NUMBERS = lines([b"x,y", *[b"1,2"] * 90])
TABLE, OTHER = pa.table({"text": TEXTS}), pa.table({"text": range(90)})

GOOD = {  # of documents
    "text": Case("a.txt", PLAIN),
    "lines": Case("a.lines", PLAIN),
    "jsonl": Case("a.jsonl", JSONL),
    "json": Case("a.json", b"[" + JSONL.strip().replace(b"\n", b",\n") + b"]"),
    "csv": Case("a.csv", CSV),
    "xlsx": Case("a.xlsx", workbook([("text",), *((text,) for text in TEXTS)])),
    "parquet": Case("a.parquet", parquet(TABLE)),
    "arrow": Case("a.arrow", arrow(TABLE)),
    "lda-c": Case("a.ldac", LDAC, WORDS),
    "matrix-market": Case("a.mtx", MTX, WORDS),
    "uci": Case("docword.a.txt", UCI, WORDS),
}
BAD = {  # what is no text, what is wrong from the start, and what is found late
    "text": [b"\xff" + PLAIN, with_line(PLAIN, b"\xff\n")],
    "lines": [b"\xff" + PLAIN, with_line(PLAIN, b"\xff\n")],
    "jsonl": [
        JSONL.replace(b"text", b"word"),
        with_line(JSONL, b"{\n", 0),
        with_line(JSONL, b"{\n"),
        with_line(JSONL, b"\xff\n"),
    ],
    "json": [
        JSONL.replace(b"text", b"word"),
        with_line(JSONL, b"{\n", 0),
        with_line(JSONL, b"}\n"),
        with_line(JSONL, b"\xff\n"),
    ],
    "xlsx": [
        b"",
        GOOD["xlsx"].data[:900],
        damaged(GOOD["xlsx"].data),
        workbook([("word",), ("owl",)]),
        workbook([("text",), ("owl",)], "<c>"),
    ],
    "csv": [
        CSV.replace(b"text", b"word"),
        with_line(CSV, b'"a"b\n', 0),
        with_line(CSV, b'1,"a"b\n'),
        with_line(CSV, b"1\n", 1),
        with_line(CSV, b"1\n"),
        with_line(CSV, b"\xff\n"),
    ],
    "parquet": [
        b"",
        GOOD["parquet"].data[:300],
        damaged(GOOD["parquet"].data),
        parquet(OTHER),
        parquet(pa.table({"a": TEXTS})),
        parquet(pa.table({"text": ODD})),
    ],
    "arrow": [
        b"",
        GOOD["arrow"].data[:900],
        damaged(GOOD["arrow"].data),
        arrow(OTHER),
        arrow(OTHER, pa.ipc.new_stream),
        arrow(pa.table({"a": TEXTS})),
        arrow(pa.table({"text": ODD})),
    ],
    "lda-c": [with_line(LDAC, b"2 0:1\n"), with_line(LDAC, b"1 9:1\n", 0)],
    "matrix-market": [
        MTX[2:],
        MTX.replace(b"90 3 270", b"x"),
        MTX.replace(b"90 3 270", b"90 4 270"),
        with_line(MTX, b"x\n", 2),
        with_line(MTX, b"x\n"),
        with_line(MTX, b"\xff\n"),
        with_line(MTX, b"1 1 1\n"),
        with_line(MTX, b"90 9 1\n", 300),
        lines([*TRIPLES[::-1], b"1 9 1"], MTX[: MTX.index(b"1 1 2")]),
    ],
    "uci": [
        UCI[2:],
        UCI.replace(b"90\n3", b"90\n4"),
        UCI[:500],
        with_line(UCI, b"x\n", 3),
        with_line(UCI, b"x\n"),
        with_line(UCI, b"\xff\n"),
        with_line(UCI, b"1 1 1\n"),
        with_line(UCI, b"90 9 1\n", 300),
    ],
}
GREY = b"P5 9 9 255\n" + bytes(range(81))
GOOD_VECTORS = {
    "npy": Case("a.npy", written(np.save, VECTORS)),
    "npz": Case("a.npz", written(np.savez_compressed, values=VECTORS)),
    "csv": Case("a.csv", NUMBERS),
    "parquet": Case("a.parquet", parquet(table_of(VECTORS))),
    "arrow": Case("a.arrow", arrow(table_of(VECTORS))),
    "image": Case("a.png", GREY),
}
BAD_VECTORS = {
    "npy": [
        b"",
        GOOD_VECTORS["npy"].data[:500],
        written(np.save, INFINITE),
        written(np.save, np.asfortranarray(INFINITE)),
        written(np.save, np.array([None]), allow_pickle=True),
    ],
    "npz": [
        b"",
        damaged(GOOD_VECTORS["npz"].data),
        written(np.savez, values=INFINITE),
        written(np.savez_compressed, values=INFINITE),
        written(np.savez, a=VECTORS, b=VECTORS),
        written(np.savez, values=VECTORS, ids=VECTORS[:3, 0]),
    ],
    "csv": [
        b"",
        lines([b"x,y", *[b"a,b"] * 90]),
        with_line(NUMBERS, b"1,inf\n"),
        with_line(NUMBERS, b"1,owl\n", 80),
        with_line(NUMBERS, b"1\n"),
    ],
    "parquet": [
        b"",
        GOOD_VECTORS["parquet"].data[:300],
        parquet(table_of(INFINITE)),
        parquet(TABLE),
    ],
    "arrow": [
        b"",
        GOOD_VECTORS["arrow"].data[:900],
        arrow(table_of(INFINITE)),
        arrow(table_of(INFINITE), pa.ipc.new_stream),
        arrow(TABLE),
    ],
    "image": [b"", GREY[:50]],
}


def cases(good, bad):
    """The files of each format that can be read, and then those that cannot."""
    sound = [pytest.param(case, True, id=name) for name, case in good.items()]
    return sound + [
        pytest.param(good[name]._replace(data=data), False, id=f"{name} {number}")
        for name, data_of_format in bad.items()
        for number, data in enumerate(data_of_format)
    ]


DOCUMENTS = pytest.mark.parametrize(("case", "is_sound"), cases(GOOD, BAD))
ITEMS = pytest.mark.parametrize(("case", "is_sound"), cases(GOOD_VECTORS, BAD_VECTORS))


def test_every_format_is_here():
    # MALLET's lines have no extension, and are read as other lines.
    without = (FORMATS.keys() - {"mallet"}) ^ (GOOD.keys() & BAD.keys())
    assert not without, "write a good and a bad file of each format in GOOD and BAD"
    without = VECTOR_FORMATS.keys() ^ (GOOD_VECTORS.keys() & BAD_VECTORS.keys())
    assert not without, "write a good and a bad file of each in GOOD_VECTORS and BAD_VECTORS"


@pytest.fixture(autouse=True)
def many_blocks(monkeypatch):
    """Blocks so small that a file is not at its end when something is found in it."""
    for module in (arrow_batches, blocks, byte_stream, number_tables):
        monkeypatch.setattr(module, "BLOCK_BYTES", 200)


def open_files():
    """How often each file is open, those without a name among them."""
    places = (os.path.realpath(path) for path in DESCRIPTORS.iterdir())
    return Counter(place for place in places if not place.startswith(("/proc/", "/dev/")))


def refusal_of(make):
    """The error of ``make``, whose traceback keeps all that its functions hold; or None."""
    try:
        make()
    except SparsetopicsError as error:
        return error
    return None


def leaves_none_open(make):
    """Whether ``make`` was refused; after it, no file is open that was not before."""
    before = open_files()
    error = refusal_of(make)
    assert open_files() <= before
    return error is not None


def put(folder, case, others=()):
    """The file, files of ``others`` that are read after it, and what lies beside."""
    folder.mkdir()
    names = [case.name, *(case.name.replace("a.", f"{letter}.") for letter in "bc")]
    data = [case.data, *others]
    for name, content in {**dict(zip(names, data, strict=False)), **case.beside}.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("workers", [1, 3])
@DOCUMENTS
def test_of_documents(case, is_sound, workers, tmp_path):
    others = [good.data for good in GOOD.values() if good.name == case.name] * 2
    source = put(tmp_path / "in", case, others)

    read = ReadOptions(duplicate_ids="keep" if case.name == "a.csv" else "refuse")

    def make():
        options = IngestOptions(read=read, where=Workplace(workers=workers))
        ingest([source], tmp_path / "out", options)

    assert leaves_none_open(make) == (not is_sound)


def test_of_repeated_ids(tmp_path):
    source = tmp_path / "a.csv"
    source.write_text("id,text\n" + "a,owl\n" * 3)

    assert leaves_none_open(lambda: ingest([source], tmp_path / "out"))
    assert leaves_none_open(lambda: Corpus.from_table(pa.table({"id": [1, 1], "text": ["a", "b"]})))


@pytest.mark.parametrize("workers", [1, 3])
@ITEMS
def test_of_items(case, is_sound, workers, tmp_path):
    if case.name.endswith(".png"):
        pytest.importorskip("PIL")
    source = put(tmp_path / "in", case)

    def make():
        ingest_vectors([source], tmp_path / "out", VectorOptions(where=Workplace(workers=workers)))

    assert leaves_none_open(make) == (not is_sound)


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("name", GOOD)
def test_of_packed_files(name, ending, tmp_path):
    case = GOOD[name]
    packed = gzip.compress(case.data) if ending == ".gz" else zstd(case.data)
    for n_lost in (0, 20):
        left = case._replace(name=case.name + ending, data=packed[: len(packed) - n_lost])
        source = put(tmp_path / f"in-{n_lost}", left)

        is_refused = leaves_none_open(lambda source=source: ingest([source], tmp_path / "out"))

        assert is_refused == (n_lost > 0)


def zstd(data):
    return pa.compress(data, "zstd", asbytes=True)


@pytest.mark.parametrize("name", GOOD)
def test_of_a_file_system(name, tmp_path):
    """Files behind URLs; Arrow reads copies of them without a name."""
    pytest.importorskip("fsspec")
    url = put(tmp_path / "in", GOOD[name]._replace(data=BAD[name][-1])).as_uri()

    assert leaves_none_open(lambda: ingest([url], tmp_path / "out"))


@pytest.mark.parametrize("as_url", [False, True])
@pytest.mark.parametrize(
    ("data", "change"),
    [
        (JSONL, lambda packed: packed),
        (BAD["jsonl"][0], lambda packed: packed),
        (BAD["jsonl"][2], lambda packed: packed),
        (JSONL, lambda packed: packed[:-30]),
        (JSONL, lambda packed: packed.replace(b"a.jsonl", b"/.jsonl")),
        (JSONL, lambda packed: packed.replace(packed[50:60], bytes(10))),
    ],
    ids=["sound", "bad from the start", "bad later", "cut", "leads out", "damaged"],
)
def test_of_archives(data, change, as_url, tmp_path):
    """An archive stays open as long as its members are in use, and is then closed by itself."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.jsonl", data)
    whole = path.read_bytes()
    path.write_bytes(change(whole))
    if as_url:
        pytest.importorskip("fsspec")
    source = path.as_uri() if as_url else path
    before = open_files()
    gc.freeze()  # what was there before need not be looked at

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ResourceWarning)
        is_refused = refusal_of(lambda: ingest([source], tmp_path / "out")) is not None
        gc.collect()

    gc.unfreeze()
    assert is_refused == (path.read_bytes() != whole or data != JSONL)
    assert open_files() <= before
    assert [str(warning.message) for warning in warned] == []


def test_of_a_corpus_that_cannot_be_written(tmp_path, monkeypatch):
    texts = put(tmp_path / "texts", GOOD["lines"]) / "a.lines"
    items = put(tmp_path / "items", GOOD_VECTORS["npy"]) / "a.npy"
    ingest([texts], tmp_path / "corpus")

    def full(writer, rows):
        raise OSError("No space left on device")

    monkeypatch.setattr(ShardWriter, "append", full)
    known = IngestOptions(vocabulary=tmp_path / "corpus")

    assert leaves_none_open(lambda: ingest([texts], tmp_path / "out", known))
    assert leaves_none_open(lambda: append([texts], tmp_path / "corpus"))
    assert leaves_none_open(lambda: ingest_vectors([items], tmp_path / "out"))


def weights_of(path, data):
    path.write_bytes(data)
    return lambda: read_topic_matrix(path, ("owl", "cat", "dog"), READERS[path.suffix])


def test_of_topics(tmp_path):
    dense = lines([b"1"] * 6, b"%%MatrixMarket matrix array integer general\n2 3\n")
    rows = np.ones((2, 3))
    good = {
        ".npy": written(np.save, rows),
        ".npz": written(np.savez, topic_word=rows),
        ".mtx": dense,
        ".csv": b"1,1,1\n" * 2,
        ".parquet": parquet(pa.table({"owl": [1.0], "cat": [1.0], "dog": [1.0]})),
        ".txt": b"0\towl\t1\n",
        ".tsv": b"0\towl\t1\n",
    }
    heads = dense[2:], dense.replace(b"2 3", b"9 9")
    bad = {name: [data[:-2] + b"x\n", data[: len(data) // 2]] for name, data in good.items()}
    bad[".mtx"] += [*heads, with_line(dense * 40, b"\xff\n", 200), with_line(dense, b"x\n", 3)]
    assert good.keys() == READERS.keys()
    for suffix, data in good.items():
        assert not leaves_none_open(weights_of(tmp_path / f"a{suffix}", data))
    for suffix, several in bad.items():
        for data in several:
            leaves_none_open(weights_of(tmp_path / f"a{suffix}", data))


@pytest.mark.parametrize("name", ["text", "lines", "jsonl", "csv", "parquet", "arrow"])
def test_of_texts_that_topics_are_scored_on(name, tmp_path):
    ingest([put(tmp_path / "in", GOOD["lines"])], tmp_path / "corpus")
    vocabulary = Corpus.open(tmp_path / "corpus").vocabulary
    for number, data in enumerate(BAD[name]):
        source = put(tmp_path / f"in-{number}", GOOD[name]._replace(data=data))

        def read(source=source):
            return list(TokenizedTexts.find([source], vocabulary, IngestOptions()))

        assert leaves_none_open(read)
