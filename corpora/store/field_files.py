"""Kept fields of documents in a corpus folder, in Parquet files beside the shards.

Beside ``shard-00000.parquet``, ``texts-00000.parquet`` holds the texts of the same documents and
``fields-00000.parquet`` their other fields, so that each is read only when it is wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sparsetopics.base.errors import OptionError
from sparsetopics.base.wording import listed
from sparsetopics.corpora.readers.fields import ARROW_TYPES, TEXT, FieldType
from sparsetopics.corpora.store.manifest import FIELDS, TEXTS

# In a row group: few, since texts are long and a few documents are shown at a time. A divisor of
# the number of documents in a row group of a shard.
_TEXTS_PER_GROUP = 256


def columns_by_stem(names: Iterable[str]) -> dict[str, list[str]]:
    """The fields that each kind of file holds; no entry for a kind that is not needed."""
    others = [name for name in names if name != TEXT]
    columns = {TEXTS: [TEXT] if TEXT in names else [], FIELDS: others}
    return {stem: held for stem, held in columns.items() if held}


def rows_per_group(stem: str, n_docs: int) -> int:
    """Rows in a row group of such a file, where a row group of a shard holds ``n_docs``."""
    return min(_TEXTS_PER_GROUP, n_docs) if stem == TEXTS else n_docs


def check_fields(names: Sequence[str], known: Iterable[str]) -> None:
    """OptionError for a field that is not among the ``known`` ones."""
    fields = list(known)
    for name in names:
        if name not in fields:
            problem = f"the corpus keeps no field {name!r}"
            kept = f"It keeps {listed(fields)}." if fields else "Ingest again with --keep."
            raise OptionError("field", problem, kept)


def check_values(column: pa.ChunkedArray, kind: FieldType) -> None:
    """ValueError or ArrowInvalid unless the values are sound."""
    if column.type != ARROW_TYPES[kind]:
        raise ValueError(f"expected a {kind} ({ARROW_TYPES[kind]}), but found {column.type}")
    column.validate(full=True)  # strings of UTF-8
    if kind == "number" and not pc.all(pc.is_finite(column), min_count=0).as_py():
        raise ValueError("some numbers are not finite")
