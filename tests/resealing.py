"""Digests of run and corpus folders made right again, as a stranger would who edits one."""

import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sparsetopics.base.sealed_files import file_sha256, write_sealed

SEALED = ("model.json", "manifest.json", "state/plan.json", "path.json")
LONG = "x" * 60_000  # no longer than a label may be
ERRORS = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)


def reseal(folder):
    """Sizes and digests as the files of ``folder`` have them; damaged JSON stays as it is."""
    for name in SEALED:
        path = Path(folder) / name
        if path.is_file():
            reseal_file(path)


def reseal_file(path):
    """One file of JSON, with what it says of the files beside it."""
    try:
        content = json.loads(path.read_bytes())
        for entry in entries_of(content):
            renew(entry, path.parent)
        write_sealed(path, content, indent=1)
    except ERRORS:
        return


def entries_of(content):
    """What the JSON says of files, as far as it has the right shape."""
    for key in ("files", "shards"):
        if isinstance(content.get(key), list):
            for entry in content[key]:
                yield entry
                if isinstance(entry, dict):  # the files beside a shard
                    yield from (entry[stem] for stem in ("texts", "fields") if stem in entry)
    for key in ("vocabulary", "projection"):
        if isinstance(content.get(key), dict):
            yield content[key]


def renew(entry, folder):
    try:
        path = folder / entry["file"]
        entry |= {"bytes": path.stat().st_size, "sha256": file_sha256(path)}
    except ERRORS:
        return


def edit_json(path, **changes):
    """Change entries of sealed JSON."""
    content = json.loads(Path(path).read_text())
    write_sealed(Path(path), content | changes, indent=1)


def shared(text, n_rows):
    """Rows of a dictionary of one string, which take no space."""
    return pa.DictionaryArray.from_arrays(np.zeros(n_rows, np.int32), pa.array([text]))


def with_column(data, column, values, **options):
    """A file of Parquet with another column."""
    with pq.ParquetFile(io.BytesIO(data)) as file:
        table, n_rows = file.read(), file.metadata.row_group(0).num_rows
    table = table.set_column(table.column_names.index(column), column, values)
    # Arrow's own schema would have dictionaries stay what they are.
    usual = {"compression": "zstd", "store_schema": False, "row_group_size": n_rows}
    written = io.BytesIO()
    pq.write_table(table, written, **usual | options)
    return written.getvalue()
