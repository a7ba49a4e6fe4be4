"""Readers of vectors: arrays, tables of numbers, images."""

import io
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from fuzz.mutation import Change
from fuzz.structure import NPY_TOKENS, change_members, change_npy
from fuzz.subject import Subject
from fuzz.tables import change_ipc, change_parquet, write_parquet
from sparsetopics.corpora.ingest_vectors import VectorOptions, ingest_vectors
from sparsetopics.corpora.readers.formats import find_vectors
from sparsetopics.corpora.readers.options import VectorReadOptions
from sparsetopics.corpora.validate import validate

VALUES = np.arange(12.0).reshape(4, 3)
IMAGE_FORMATS = ("png", "jpeg", "bmp", "tiff")


def read_vectors(name: str, patches: int | None, folder: Path) -> None:
    options = VectorReadOptions(patches=patches)
    for pending in find_vectors([folder / name], None, options).read(options):
        pending()


def ingest_items(name: str, patches: int | None, folder: Path) -> None:
    """What is ingested is a sound corpus."""
    options = VectorOptions(read=VectorReadOptions(patches=patches))
    with TemporaryDirectory() as out:
        ingest_vectors([folder / name], Path(out) / "corpus", options)
        assert validate(Path(out) / "corpus") == []


def _source(
    name: str,
    data: bytes,
    *,
    tokens: tuple[bytes, ...] = (),
    change: Change | None = None,
    patches: int | None = None,
) -> Subject:
    return Subject(
        {name: data},
        partial(read_vectors, name, patches),
        changes={} if change is None else {name: change},
        tokens=tokens,
        read_rarely=partial(ingest_items, name, patches),
    )


def npy() -> bytes:
    file = io.BytesIO()
    np.save(file, VALUES)
    return file.getvalue()


def _npz() -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, values=VALUES, labels=np.arange(4), ids=np.array(list("abcd")))
    return file.getvalue()


def _csv() -> bytes:
    rows = [f"i{n},k,{','.join(map(str, row))}" for n, row in enumerate(VALUES)]
    return ("id,label,x,y,z\n" + "\n".join(rows) + "\n").encode()


def _table() -> pa.Table:
    return pa.table({"id": list("abcd"), "x": VALUES[:, 0], "y": VALUES[:, 1]})


def _image(kind: str) -> bytes:
    from PIL import Image

    pixels = (np.arange(20 * 18) % 251).astype(np.uint8).reshape(20, 18)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return file.getvalue()


def _pixels(kind: str, scratch: Path) -> Subject:
    return _source(f"a.{kind}", _image(kind), patches=8)


SUBJECTS: Mapping[str, Callable[[Path], Subject]] = {
    "npy": lambda scratch: _source("a.npy", npy(), tokens=NPY_TOKENS, change=change_npy),
    "npz": lambda scratch: _source("a.npz", _npz(), change=change_members(change_npy)),
    "csv-numbers": lambda scratch: _source("a.csv", _csv(), tokens=(b",", b"\n", b"x", b"1e99")),
    "parquet-numbers": lambda scratch: _source(
        "a.parquet", write_parquet(_table()), change=change_parquet
    ),
    "arrow-numbers": lambda scratch: _source(
        "a.arrow", change_ipc(_table()), change=change_ipc.damaged
    ),
    **{kind: partial(_pixels, kind) for kind in IMAGE_FORMATS},
}
