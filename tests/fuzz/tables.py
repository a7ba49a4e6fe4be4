"""Arrow tables of the wrong types, as Parquet and IPC files."""

import io
from collections.abc import Callable
from decimal import Decimal
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.mutation import Change, mutate

Write = Callable[[pa.Table, io.BytesIO], None]


@cache
def columns_of(n_rows: int) -> tuple[pa.Array, ...]:
    """Columns of many types, each of ``n_rows``."""
    numbers = range(n_rows)
    texts = pa.array([f"owl cat {n}" for n in numbers])
    lists = pa.array([[0.5, float(n)] for n in numbers])
    return (
        *(pa.nulls(n_rows), pa.array([True] * n_rows), pa.array([2**63 - 1] * n_rows)),
        *(pa.array([float("nan")] * n_rows), pa.array([1e300] * n_rows), pa.array([-1] * n_rows)),
        *(texts, texts.cast(pa.large_string()), texts.dictionary_encode(), pa.array([""] * n_rows)),
        *(pa.array([b"\xff\xfe"] * n_rows), pa.array([None, *["owl"] * (n_rows - 1)], pa.string())),
        *(lists, pa.array([[n] * n for n in numbers]), pa.array([[[1.0]]] * n_rows)),
        *(pa.array([None, *[[1.0, 2.0]] * (n_rows - 1)]), pa.array([[None, 1.0]] * n_rows)),
        *(pa.array([{"a": n} for n in numbers]), pa.array([Decimal("1.50")] * n_rows)),
        *(pa.array([0] * n_rows, pa.timestamp("us")), pa.array([0] * n_rows, pa.date32())),
        *(pa.array([np.float16(1.5)] * n_rows), pa.array([2**64 - 1] * n_rows, pa.uint64())),
        *(lists.cast(pa.list_(pa.float32(), 2)), pa.array([["owl"]] * n_rows)),
        pa.array(["x" * 100_000] * n_rows),
    )


def wrong_table(table: pa.Table, rng: np.random.Generator) -> pa.Table:
    """``table`` with a column of another type, name or place, or without it, or with other rows."""
    choice, place = rng.random(), int(rng.integers(table.num_columns))
    if choice < 0.6 and len(table):
        columns = columns_of(len(table))
        name = table.column_names[place]
        table = table.set_column(place, name, columns[rng.integers(len(columns))])
    elif choice < 0.7:
        table = table.remove_column(place)
    elif choice < 0.8:
        name = table.column_names[int(rng.integers(table.num_columns))]
        table = table.append_column(name, table.column(place))
    elif choice < 0.9:
        table = table.slice(0, int(rng.integers(len(table) + 1)))
    else:
        table = pa.concat_tables([table, table.slice(int(rng.integers(len(table) + 1)))])
    return table if rng.random() < 0.6 or not table.num_columns else wrong_table(table, rng)


class TableChange:
    """How tables are written in one format, and damaged under its shape."""

    def __init__(self, write: Write) -> None:
        self._write = write

    def __call__(self, table: pa.Table) -> bytes:
        file = io.BytesIO()
        self._write(table, file)
        return file.getvalue()

    def of(self, read: Callable[[bytes], pa.Table]) -> Change:
        """Tables like that in the sound file, but wrong."""

        def change(data: bytes, rng: np.random.Generator) -> bytes:
            try:
                return self(wrong_table(read(data), rng))
            except (pa.ArrowException, ValueError):  # that cannot be written at all
                return mutate(data, rng)

        return change

    @property
    def damaged(self) -> Change:
        return self.of(lambda data: pa.ipc.open_stream(data).read_all() if data[:1] == b"\xff"
                       else pa.ipc.open_file(data).read_all())  # fmt: skip


def _write_file(table: pa.Table, file: io.BytesIO) -> None:
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def _write_stream(table: pa.Table, file: io.BytesIO) -> None:
    with pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


def read_parquet(data: bytes) -> pa.Table:
    # With threads that read a Python file object, Arrow may abort the process when it exits.
    return pq.read_table(pa.BufferReader(data), use_threads=False, pre_buffer=False)


change_ipc = TableChange(_write_file)
change_stream = TableChange(_write_stream)
write_parquet = TableChange(pq.write_table)
change_parquet: Change = write_parquet.of(read_parquet)
