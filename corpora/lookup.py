"""Documents of a corpus by their ids, and rows spread evenly over it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparsetopics.base.batches import DocumentBatch, IntArray
from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.memory_arrays import strings_of
from sparsetopics.corpora.readers.fields import ARROW_TYPES, FieldType
from sparsetopics.corpora.store.shards import AnyRowGroup, RowGroup, rows_by_group
from sparsetopics.options.option import shown

Groups = Sequence[RowGroup[DocumentBatch]]
MOST_GROUPS = 32  # that rows are spread over; one row group may hold a single image


def documents_of_ids(
    groups: Groups, fields: Mapping[str, FieldType], ids: Iterable[str]
) -> pa.Table:
    """Id, label and ``fields`` of the first document with each of these ids, in their order;
    OptionError for an id that no document has."""
    wanted = strings_of(ids, "ids")
    missing = dict.fromkeys(wanted, True)
    types = [("id", pa.string()), ("label", pa.string())]
    types += [(name, ARROW_TYPES[kind]) for name, kind in fields.items()]
    found = [pa.schema(types).empty_table()]
    for group in groups:
        if not missing:
            break
        rows = [row for row, name in enumerate(group.read_ids()) if missing.pop(name, False)]
        if rows:
            found.append(read_rows(group, np.array(rows), list(fields)))
    if missing:
        raise OptionError("ids", f"no document has the id {shown(next(iter(missing)))}")
    table = pa.concat_tables(found).combine_chunks()
    order = pc.index_in(pa.array(wanted, pa.string()), value_set=table["id"])
    return table.take(order).combine_chunks()


def read_rows(group: RowGroup[DocumentBatch], rows: IntArray, fields: Sequence[str]) -> pa.Table:
    """Id, label and ``fields`` of the chosen rows (ascending) of a row group."""
    names = {"id": group.read_ids(), "label": group.read_labels()}
    found = {name: pa.array(own, pa.string()).take(rows) for name, own in names.items()}
    kept = group.read_fields(fields, rows)
    return pa.table(found | dict(zip(fields, kept.columns, strict=True)))


def documents_at(groups: Groups, rows: IntArray) -> DocumentBatch:
    """The documents at some places (ascending, at least one) of a corpus."""
    parts = rows_by_group(groups, rows)
    return DocumentBatch.joined([group.read().take(own) for group, own in parts if len(own)])


def spread_rows(groups: Sequence[AnyRowGroup], most: int) -> dict[int, IntArray]:
    """At most ``most`` rows: numbers of row groups, at most 32, with some of the rows of each.

    The rows are spread evenly over the row groups, and these over the corpus.
    """
    chosen = spread_evenly(len(groups), MOST_GROUPS).tolist() if groups else []
    share = min(1.0, most / max(1, sum(groups[number].n_docs for number in chosen)))
    n_docs = {number: groups[number].n_docs for number in chosen}
    return {number: spread_evenly(n, int(share * n)) for number, n in n_docs.items()}


def spread_evenly(n_places: int, most: int) -> IntArray:
    """Choose at most ``most`` of the places 0, 1, …, n_places − 1, but at least one.

    Each is the middle of one of equally long stretches.
    """
    n_chosen = min(n_places, max(1, most))
    return (2 * np.arange(n_chosen) + 1) * n_places // (2 * n_chosen)
