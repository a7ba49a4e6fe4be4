"""Random tables of all types, with gaps, quotes and line breaks, written by several libraries.

What a corpus keeps of such a table is compared with what was written. Every value must come back
equal, or the file must be refused with its place.
"""

import csv
import datetime
import importlib.util
import io
import json
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from sparsetopics import Corpus
from sparsetopics.base.errors import SourceError, SparsetopicsWarning
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.text.pruning import PruningOptions

_FIRST, _LAST = datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1)
_LETTERS = st.sampled_from("abz 019,;\t\n\"'|\\#%$éßü€-.:/")
_WORDS = st.sampled_from(
    ["NA", "nan", "null", "None", "n/a", "2024-05-03", "007", "1,000", '"', " "]
)
STRINGS = st.text(_LETTERS, max_size=8) | _WORDS
VALUES = {
    "string": STRINGS,
    "whole": st.integers(-(10**15) + 1, 10**15 - 1),
    "real": st.floats(allow_nan=False, allow_infinity=False),
    "day": st.dates(_FIRST.date(), _LAST.date()),
    "time": st.datetimes(_FIRST, _LAST),
    "truth": st.booleans(),
}
NUMBERS, DATES = ("whole", "real"), ("day", "time")
ENCODINGS = ("utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252")
Rows = list[dict[str, object]]
Writer = Callable[[Rows, str], bytes]


@st.composite
def tables(draw):
    """The type of each column, and rows, in which any value may be missing."""
    kinds = draw(st.lists(st.sampled_from([*VALUES]), min_size=1, max_size=4))
    columns = {f"c{n}": kind for n, kind in enumerate(kinds)}
    cells = {name: st.none() | VALUES[kind] for name, kind in columns.items()}
    record = st.fixed_dictionaries({"text": STRINGS.map("owl {}".format), **cells})
    return columns, draw(st.lists(record, min_size=1, max_size=6))


# --- writers: each returns the bytes of a file ----------------------------------------------------
def _as_text(value):
    return "" if value is None else value


def by_csv(rows, encoding, quoting=csv.QUOTE_MINIMAL):
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, rows[0], quoting=quoting)
    writer.writeheader()
    writer.writerows({name: _as_text(value) for name, value in row.items()} for row in rows)
    return file.getvalue().encode(encoding)


def by_csv_with_all_quotes(rows, encoding):
    return by_csv(rows, encoding, csv.QUOTE_ALL)


def by_json(rows, encoding):
    lines = [json.dumps(row, default=str, ensure_ascii=len(rows) % 2 == 0) for row in rows]
    return "".join(f"{line}\n" for line in lines).encode(encoding)


def by_arrow(rows, encoding):
    return _of_parquet(lambda file: pq.write_table(pa.Table.from_pylist(rows), file))


def by_pandas_csv(rows, encoding):
    return pd.DataFrame(rows).to_csv(index=False, lineterminator="\n").encode(encoding)


def by_pandas_json(rows, encoding):
    frame = pd.DataFrame(rows)
    options = {"date_format": "iso", "date_unit": "us", "double_precision": 15}
    return frame.to_json(orient="records", lines=True, **options).encode(encoding)


def by_pandas_parquet(rows, encoding):
    return _of_parquet(pd.DataFrame(rows).to_parquet)


def by_polars_csv(rows, encoding):
    import polars

    return polars.from_arrow(pa.Table.from_pylist(rows)).write_csv().encode(encoding)


def by_polars_parquet(rows, encoding):
    import polars

    return _of_parquet(polars.from_arrow(pa.Table.from_pylist(rows)).write_parquet)


def by_duckdb(rows, encoding):
    return _of_duckdb(rows, "write_csv").decode().encode(encoding)


def by_duckdb_parquet(rows, encoding):
    return _of_duckdb(rows, "write_parquet")


def _of_duckdb(rows, method):
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a"
        getattr(duckdb.from_arrow(pa.Table.from_pylist(rows)), method)(f"{path}")
        return path.read_bytes()


def _named(columns):
    """What ``keep`` says of the columns: strings may look like numbers."""
    texts = ("string", "truth")
    return [f"{name}:string" if kind in texts else name for name, kind in columns.items()]


def _of_parquet(write):
    file = io.BytesIO()
    write(file)
    return file.getvalue()


_INSTALLED = {name for name in ("polars", "duckdb") if importlib.util.find_spec(name)}
WRITERS = [
    (writer, extension)
    for writer, extension, needed in (
        (by_csv, "csv", None),
        (by_csv_with_all_quotes, "csv", None),
        (by_json, "jsonl", None),
        (by_arrow, "parquet", None),
        (by_pandas_csv, "csv", None),
        (by_pandas_json, "jsonl", None),
        (by_pandas_parquet, "parquet", None),
        (by_polars_csv, "csv", "polars"),
        (by_polars_parquet, "parquet", "polars"),
        (by_duckdb, "csv", "duckdb"),
        (by_duckdb_parquet, "parquet", "duckdb"),
    )
    if needed is None or needed in _INSTALLED
]


# --- what must come back --------------------------------------------------------------------------
def fault(columns, rows, writer, extension, encoding):
    """What is wrong with the corpus of a table; "" if it is equal, or refused with its place."""
    if writer is by_pandas_json and "real" in columns.values():  # it writes 15 digits only
        return ""
    try:
        data = writer(rows, encoding)
    except UnicodeEncodeError:  # € in Latin letters, for example
        return ""
    keep = _named(columns)
    read = ReadOptions(keep=("text", *keep))
    pruning = PruningOptions(min_df=1, max_df=1.0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a.{extension}"
        path.write_bytes(data)
        try:
            ingest([path], Path(folder) / "c", IngestOptions(read=read, pruning=pruning))
        except SourceError as error:
            is_placed = str(path) in str(error) and "\n" not in str(error)
            is_fair = encoding not in ("utf-8", "utf-8-sig")
            return "" if is_placed and is_fair else f"refused: {error}"
        return _difference(columns, rows, Corpus.open(Path(folder) / "c"))


def fault_in_memory(columns, rows):
    """The same for a table of pandas that is not written."""
    keep = _named(columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SparsetopicsWarning)
        frame = pd.DataFrame(rows)
        corpus = Corpus.from_table(frame, keep=["text", *keep], min_df=1, max_df=1.0)
    return _difference(columns, rows, corpus)


def _difference(columns, rows, corpus):
    found = [row for table in corpus.read_fields([*corpus.fields]) for row in table.to_pylist()]
    if len(found) != len(rows):
        return f"{len(found)} documents instead of {len(rows)}"
    for name, kind in {"text": "string", **columns}.items():
        for row, own in zip(rows, found, strict=True):
            if not _is_equal(row[name], own[name], kind):
                return f"{name} ({kind}): {own[name]!r} instead of {row[name]!r}"
    return ""


def _is_equal(value, found, kind):
    if value is None or value == "":
        return found is None
    if kind in NUMBERS:
        return found == value
    if kind in DATES:
        day = datetime.datetime(value.year, value.month, value.day)
        return found == (value if kind == "time" else day)
    return found.lower() == str(value).lower() if kind == "truth" else found == value
