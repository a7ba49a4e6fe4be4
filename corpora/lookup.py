"""Documents of a corpus by their ids, and its counts as one matrix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from sparsetopics.base.batches import DocumentBatch, IntArray
from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.memory_arrays import strings_of
from sparsetopics.corpora.readers.fields import ARROW_TYPES, FieldType
from sparsetopics.corpora.store.shards import RowGroup
from sparsetopics.options.option import shown

Groups = Sequence[RowGroup[DocumentBatch]]


def documents_of_ids(
    groups: Groups, fields: Mapping[str, FieldType], ids: Iterable[str]
) -> pa.Table:
    """Id, label and ``fields`` of the first document with each of these ids, in their order;
    OptionError for an id that no document has."""
    wanted = strings_of(ids, "ids")
    missing = dict.fromkeys(wanted)
    row_of: dict[str, int] = {}  # in the table of those that were found
    types = [("id", pa.string()), ("label", pa.string())]
    types += [(name, ARROW_TYPES[kind]) for name, kind in fields.items()]
    found = [pa.schema(types).empty_table()]
    for group in groups:
        if not missing:
            break
        rows = []
        for row, doc_id in enumerate(group.read_ids()):
            if doc_id in missing:
                del missing[doc_id]
                row_of[doc_id] = len(row_of)
                rows.append(row)
        if rows:
            found.append(_rows(group, np.array(rows), list(fields)))
    if missing:
        raise OptionError("ids", f"no document has the id {shown(next(iter(missing)))}")
    order = pa.array([row_of[doc_id] for doc_id in wanted], pa.int64())
    return pa.concat_tables(found).take(order).combine_chunks()


def _rows(group: RowGroup[DocumentBatch], rows: IntArray, fields: Sequence[str]) -> pa.Table:
    names = {"id": group.read_ids(), "label": group.read_labels()}
    table = pa.table({name: pa.array(own, pa.string()).take(rows) for name, own in names.items()})
    kept = group.read_fields(fields, rows)
    for name in fields:
        table = table.append_column(name, kept[name])
    return table


def csr_of_groups(groups: Groups, n_words: int) -> csr_array:
    """The counts of all documents, (n_docs, n_words)."""
    batches = [group.read() for group in groups]
    lengths = np.concatenate([np.diff(batch.indptr) for batch in batches])
    indptr = np.append(0, np.cumsum(lengths))
    columns = np.concatenate([batch.word_ids for batch in batches])
    counts = np.concatenate([batch.word_counts for batch in batches])
    return csr_array((counts, columns, indptr), shape=(len(lengths), n_words))
