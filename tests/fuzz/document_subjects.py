"""Readers of documents, packed or not."""

import bz2
import gzip
import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.mutation import Change, mutate
from fuzz.structure import change_json, change_json_lines, change_members
from fuzz.subject import Subject
from fuzz.tables import change_ipc, change_parquet, change_stream
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.readers.blocks import CountedBlock
from sparsetopics.corpora.readers.fields import FieldTypes
from sparsetopics.corpora.readers.formats import TextCollection, find_collection
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.store.document_rows import encode
from sparsetopics.corpora.text.stop_words import read_stop_words
from sparsetopics.corpora.text.tokenizer import TokenizerOptions, count_texts
from sparsetopics.corpora.validate import validate
from worlds.workbooks import workbook

WORDS = ("owl", "cat", "dog", "newt", "élan")
TEXTS = ("An owl, a cat; and the dog.", 'newt "owl" owl', "élan élan newt\tcat", "dog dog dog cat")
TEXT_TOKENS = (b"text", b"id", b"label", b"owl", b'"', b",", b"\t", b"\n")
JSON_TOKENS = (
    *(b'"text"', b'"id"', b'"label"', b"null", b"NaN", b"-Infinity", b"1e999", b'"\\ud83d"'),
    *(b'"\\u0000"', b'{"text": 3}', b'{"text": "a", "text": "b"}', b"\n\n"),
)
DELIMITERS = (*TEXT_TOKENS, b"sep=;\n", b"sep=|\r\n", b"sep=\t\n", b'"sep=,"\n', b";", b"sep=")
XML_TOKENS = (
    *(b'<c r="XFD1048576"><v>1</v></c>', b'<c t="s"><v>', b'r="A0"', b'r="ZZZZZZZ9"', b"<row>"),
    *(b"</row>", b't="s"', b"t='s'", b"<si>", b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"&b;", b"<v>"),
    *(b"<v>99999999999</v>", b"<v>-1</v>", b's="9"', b"numFmtId=", b"Target=", b"/xl/../", b"<!--"),
)
NESTED = {"text_field": "post.more.text", "id_field": "user.name", "label_field": "post.more.label"}
LABELLED = "\n".join(f"d{n}\t{n % 2} {text}" for n, text in enumerate(TEXTS)).encode()
SHEET = (
    ("id", "text", "date", "label"),
    *(
        (f"d{n}", text.replace('"', ""), datetime(2024, 5, n + 1), n)
        for n, text in enumerate(TEXTS)
    ),
)
COUNT_TOKENS = (b"1 1 1\n", b" ", b":", b"-", b"%", b"\t", b"0:0", b"3 0:1", b"4 4 4\n", b"1.0")
ZIP_TOKENS = (b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07")
BANNER = b"%%MatrixMarket matrix coordinate integer general\n"


def read_documents(
    name: str, folder: Path, format_name: str | None = None, more: Mapping[str, str] = {}
) -> None:
    """Read, count and number what a source holds, as ingest does."""
    words = pa.array(WORDS, pa.string())
    collection, read = _collection(name, folder, format_name, more)
    told = FieldTypes(read.kept)
    for pending in collection.format.read(collection.files, read):
        block = pending()
        if not isinstance(block, CountedBlock):
            block = count_texts(block, TokenizerOptions(), keep_texts=True)
        for counted in told.watch([block]):
            encode(counted, words, told.types)


def ingest_documents(
    name: str, folder: Path, format_name: str | None = None, more: Mapping[str, str] = {}
) -> None:
    """What is ingested is a sound corpus."""
    with TemporaryDirectory() as out:
        _, read = _collection(name, folder, format_name, more)
        options = IngestOptions(read=read, format=format_name)
        ingest([folder / name], Path(out) / "corpus", options)
        assert validate(Path(out) / "corpus") == []
        Corpus.open(Path(out) / "corpus")


def _collection(
    name: str, folder: Path, format_name: str | None, more: Mapping[str, str]
) -> tuple[TextCollection, ReadOptions]:
    """The files, and how they are read; all is kept, unless ``more`` names the fields."""
    collection = find_collection([folder / name], format_name)
    is_text = "text_field" in collection.format.options
    keep = ("all",) if is_text and not more else () if collection.format.counted else ("text",)
    return collection, ReadOptions(keep=keep, **more)


def _source(
    name: str,
    files: Mapping[str, bytes],
    *,
    tokens: tuple[bytes, ...] = (),
    change: Change | None = None,
    format_name: str | None = None,
    more: Mapping[str, str] = {},
) -> Subject:
    own = {"format_name": format_name, "more": more}
    return Subject(
        files,
        partial(read_documents, name, **own),
        changes={} if change is None else {name: change},
        tokens=tokens,
        read_rarely=partial(ingest_documents, name, **own),
    )


def _jsonl(texts: Sequence[str | list[str | None]] = TEXTS, initial: str = "d") -> bytes:
    rows = [
        {
            "id": f"{initial}{n}",
            "text": text,
            "label": n % 2,
            "date": f"2020-01-0{n + 1}",
            "score": n / 2,
        }
        for n, text in enumerate(texts)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _json(*, nested: bool = False) -> bytes:
    rows = [json.loads(line) for line in _jsonl().splitlines()]
    if nested:
        rows = [{"user": {"name": row["id"]}, "post": {"more": row}} for row in rows]
    return json.dumps(rows, indent=1).encode()


def bytes_in_structs() -> pa.Table:
    """Texts as bytes in structs of structs."""
    rows = [
        {"user": {"name": row["id"]}, "post": {"more": row | {"text": row["text"].encode()}}}
        for row in map(json.loads, _jsonl().splitlines())
    ]
    return pa.Table.from_pylist([*rows, {"user": None, "post": None}])


def _xml(data: bytes, rng: np.random.Generator) -> bytes:
    return mutate(data, rng, XML_TOKENS)


def _csv() -> bytes:
    lines = [
        f'd{n},"{text.replace(chr(34), chr(34) * 2)}",{n},2020-0{n + 1}'
        for n, text in enumerate(TEXTS)
    ]
    return ("id,text,label,date\n" + "\n".join(lines) + "\n").encode()


def table() -> pa.Table:
    ids, labels = [f"d{n}" for n in range(len(TEXTS))], pa.array([1, None, 2, 1])
    dates = pa.array([f"2020-01-0{n + 1}" for n in range(len(TEXTS))])
    scores = pa.array([0.5, None, float("nan"), 2.0])
    return pa.table({"id": ids, "text": TEXTS, "label": labels, "date": dates, "score": scores})


def _lists() -> pa.Table:
    """The table with a list of words in place of each text."""
    lists = pa.array([*(text.split() for text in TEXTS[:-1]), ["owl", None, ""]])
    return table().set_column(1, "text", lists)


def _written(written: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(written, file)
    return file.getvalue()


def _zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        # A name alone would stand for a member of today, and each day would try other cases.
        for name, packing in (("a", zipfile.ZIP_DEFLATED), ("b", zipfile.ZIP_STORED)):
            archive.writestr(zipfile.ZipInfo(f"deep/{name}.jsonl"), _jsonl(initial=name), packing)
    return file.getvalue()


def _words() -> bytes:
    return "".join(f"{word}\n" for word in WORDS).encode()


def _dictionary() -> bytes:
    return ("4\n" + "".join(f"{n}\t{word}\t3\n" for n, word in enumerate(WORDS))).encode()


def _damaged_inside(pack: Callable[[bytes], bytes]) -> Change:
    return lambda data, rng: pack(mutate(_jsonl(), rng, JSON_TOKENS))


def _zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, "zstd", asbytes=True))


def _gzip(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def _stop_words(folder: Path) -> None:
    read_stop_words(folder / "stop.txt")


UCI = b"4\n5\n6\n1 1 2\n1 3 1\n2 2 1\n3 5 4\n3 4 1\n4 1 9\n"
LDA_C = b"2 0:2 2:1\n1 1:1\n2 4:4 3:1\n1 0:9\n"
MATRIX = BANNER + b"% counts\n4 5 6\n1 1 2\n1 3 1\n2 2 1\n3 5 4\n3 4 1\n4 1 9\n"

SUBJECTS: Mapping[str, Callable[[Path], Subject]] = {
    "text": lambda scratch: _source("a.txt", {"a.txt": TEXTS[0].encode()}, tokens=TEXT_TOKENS),
    "lines": lambda scratch: _source("a.lines", {"a.lines": "\n".join(TEXTS).encode()}),
    "jsonl": lambda scratch: _source(
        "a.jsonl", {"a.jsonl": _jsonl()}, tokens=JSON_TOKENS, change=change_json_lines
    ),
    "jsonl-lists": lambda scratch: _source(
        *("a.jsonl", {"a.jsonl": _jsonl(_lists()["text"].to_pylist())}),
        tokens=(*JSON_TOKENS, b'["owl"]', b"[3]", b'{"text": [[]]}', b'{"text": ["\\ud83d"]}'),
        change=change_json_lines,
    ),
    "parquet-lists": lambda scratch: _source(
        "a.parquet", {"a.parquet": _written(_lists())}, change=change_parquet
    ),
    "arrow-lists": lambda scratch: _source(
        "a.arrow", {"a.arrow": change_ipc(_lists())}, change=change_ipc.damaged
    ),
    "csv": lambda scratch: _source("a.csv", {"a.csv": _csv()}, tokens=TEXT_TOKENS),
    "csv-sep": lambda scratch: _source(
        "a.csv", {"a.csv": b"sep=;\n" + _csv().replace(b",", b";")}, tokens=DELIMITERS
    ),
    "mallet": lambda scratch: _source(
        "a.txt", {"a.txt": LABELLED}, tokens=TEXT_TOKENS, format_name="mallet"
    ),
    "json": lambda scratch: _source(
        "a.json", {"a.json": _json()}, tokens=JSON_TOKENS, change=change_json
    ),
    "json-nested": lambda scratch: _source(
        "a.json",
        {"a.json": _json(nested=True)},
        tokens=JSON_TOKENS,
        change=change_json,
        more=NESTED,
    ),
    "xlsx": lambda scratch: _source(
        "a.xlsx", {"a.xlsx": workbook(SHEET)}, tokens=ZIP_TOKENS, change=change_members(_xml)
    ),
    "parquet-bytes": lambda scratch: _source(
        "a.parquet",
        {"a.parquet": _written(bytes_in_structs())},
        change=change_parquet,
        more=NESTED,
    ),
    "arrow-bytes": lambda scratch: _source(
        "a.arrow",
        {"a.arrow": change_ipc(bytes_in_structs())},
        change=change_ipc.damaged,
        more=NESTED,
    ),
    "parquet": lambda scratch: _source(
        "a.parquet", {"a.parquet": _written(table())}, change=change_parquet
    ),
    "arrow": lambda scratch: _source(
        "a.arrow", {"a.arrow": change_ipc(table())}, change=change_ipc.damaged
    ),
    "arrow-stream": lambda scratch: _source(
        "a.arrows", {"a.arrows": change_stream(table())}, change=change_stream.damaged
    ),
    "ldac": lambda scratch: _source(
        "a.ldac", {"a.ldac": LDA_C, "a.vocab": _words()}, tokens=COUNT_TOKENS
    ),
    "uci-suffix": lambda scratch: _source(
        "a.uci", {"a.uci": UCI, "a.vocab": _words()}, tokens=COUNT_TOKENS
    ),
    "uci": lambda scratch: _source(
        "docword.a.txt", {"docword.a.txt": UCI, "vocab.a.txt": _words()}, tokens=COUNT_TOKENS
    ),
    "matrix-market": lambda scratch: _source(
        "a.mtx", {"a.mtx": MATRIX, "a.vocab": _dictionary()}, tokens=COUNT_TOKENS
    ),
    "gzip": lambda scratch: _source(
        "a.jsonl.gz", {"a.jsonl.gz": _gzip(_jsonl())}, change=_damaged_inside(_gzip)
    ),
    "zstd": lambda scratch: _source(
        "a.jsonl.zst", {"a.jsonl.zst": _zstd(_jsonl())}, change=_damaged_inside(_zstd)
    ),
    "bzip2": lambda scratch: _source(
        "a.jsonl.bz2", {"a.jsonl.bz2": bz2.compress(_jsonl())}, change=_damaged_inside(bz2.compress)
    ),
    "zip": lambda scratch: _source(
        "a.zip", {"a.zip": _zip()}, tokens=ZIP_TOKENS, change=change_members(change_json_lines)
    ),
    "stop-words": lambda scratch: Subject({"stop.txt": _words()}, _stop_words),
}
