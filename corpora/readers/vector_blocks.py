"""What flows through an ingest of vectors: stretches of consecutive items, checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparsetopics.base.batches import Vectors
from sparsetopics.base.errors import OptionError, SourceError

BLOCK_BYTES = 8 << 20  # of values in a block: small enough for a few workers' scratch arrays


@dataclass(frozen=True, slots=True)
class VectorReadOptions:
    """Where in the files the numbers are, and how images become items.

    ``columns`` of a table hold the values, all numeric ones if None; ``values_field`` names an
    array of an ``.npz``. Without ``id_field`` and ``label_field`` the usual names are looked for;
    what is named must exist. With ``patches`` an image gives an item for each square of that
    many pixels, every ``stride`` pixels (by default side by side), less its mean; without, the
    whole image is one item.
    """

    columns: tuple[str, ...] | None = None
    values_field: str | None = None
    id_field: str | None = None
    label_field: str | None = None
    patches: int | None = None  # side, pixels
    stride: int | None = None  # pixels

    def __post_init__(self) -> None:
        if self.columns is not None:
            _check_columns(self.columns)
        if self.patches is not None and self.patches < 2:
            raise OptionError("patches", found=f"{self.patches}", wanted="2 pixels or more")
        if self.stride is not None and self.stride < 1:
            raise OptionError("stride", found=f"{self.stride}", wanted="1 pixel or more")
        if self.stride is not None and self.patches is None:
            raise OptionError("stride", found="a stride without patches", wanted="both")


class VectorBlock(NamedTuple):
    """Items, all of the same number of columns."""

    source: str  # for errors
    item_ids: pa.StringArray  # null: the reader knows no id, a running number is given later
    labels: pa.StringArray  # null: no label
    values: Vectors  # (n_items, n_columns) finite
    columns: tuple[str, ...] | None  # names, where the source has them


#: A block still to be decoded; readers hand these out so that decoding can run in a worker.
PendingVectors = Callable[[], VectorBlock]


def narrowed(
    values: NDArray[Any],  # (n_items, n_columns)
) -> tuple[Vectors, tuple[int, int] | None]:
    """``values`` as float32; item and column of the first that is not finite there."""
    with np.errstate(over="ignore"):  # what overflows is found below
        vectors = np.ascontiguousarray(values, dtype=np.float32)
    finite = np.isfinite(vectors).all(axis=1)
    if finite.all():
        return vectors, None
    item = int(np.argmin(finite))
    return vectors, (item, int(np.argmin(np.isfinite(vectors[item]))))


def finite_vectors(
    values: NDArray[Any],  # (n_items, n_columns)
    source: str,
    first_item: int,
    columns: Sequence[str] | None = None,
) -> Vectors:
    """``values`` as float32; SourceError naming item and column where one is not finite."""
    vectors, odd = narrowed(values)
    if odd is not None:
        item, column = odd
        name = f"{column}" if columns is None else repr(columns[column])
        raise SourceError(
            f"{source}, item {first_item + item}, column {name}",
            found=f"{values[odd]}",
            wanted="a finite number within float32",
            hint="Items and columns are counted from 0.",
        )
    return vectors


def as_names(names: NDArray[Any] | None, n_items: int, where: str) -> pa.StringArray:
    """Ids or labels, whatever they are stored as, as strings; nulls for None."""
    if names is None:
        return pa.nulls(n_items, pa.string())
    if names.shape != (n_items,) or names.dtype.kind not in "USiubf":
        raise SourceError(
            where,
            found=f"{names.dtype} of shape {names.shape}",
            wanted=f"strings or numbers of shape {(n_items,)}",
        )
    if names.dtype.kind == "f" and np.isfinite(names).all() and (names == np.floor(names)).all():
        names = names.astype(np.int64)  # 3.0 is class 3
    if names.dtype.kind == "S":
        names = np.char.decode(names, "utf-8", "replace")
    return pa.array(names.astype(str).tolist(), pa.string())


def _check_columns(columns: Sequence[str]) -> None:
    twice = [name for name in columns if columns.count(name) > 1]
    if not columns or "" in columns or twice:
        raise OptionError(
            "columns",
            found=f"{twice[0]!r} twice" if twice else "an empty name",
            wanted="names of columns, each once",
        )
