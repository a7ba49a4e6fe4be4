"""What readers hand to ingest: blocks of consecutive documents or items, not yet decoded."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparsetopics.base.batches import DocumentBatch, IntArray, Vectors
from sparsetopics.base.errors import SourceError, SparsetopicsError
from sparsetopics.corpora.sources.byte_stream import BLOCK_BYTES

# The two kinds of rows, by the names that manifests and options use.
DOCUMENTS = "documents"
VECTORS = "vectors"
NO_ID = "no-id-"  # before the position of a document without an id, where others have one
BETWEEN = "\n\n"  # separates the fields of a text
LONGEST_NAME = 1 << 16  # bytes of an id or a label; those of thousands of rows are read at once

#: Fields of documents as strings, (n_docs,) each, by name. Empty and null stand for no value.
Values = Mapping[str, pa.StringArray]
NO_VALUES: Values = {}


ValueType = Literal["float32", "float64"]  # of vectors
#: The first value of a column that has more digits than are kept, by column.
Rounded = Mapping[str, int]

# What happened to the words of documents before they were counted: documents with a token, tokens
# that were stop words, letters in tokens, other letters, and of these those of words that nothing
# divided; documents with a token that came as texts; replacement characters, and documents with
# any, if bytes may have been replaced.
ReadingAccount = NDArray[np.int64]  # (8,)
NO_ACCOUNT: ReadingAccount = np.zeros(8, np.int64)


class TextBlock(NamedTuple):
    """Documents as texts or as lists of words."""

    ids: pa.StringArray  # null where the reader knows no id; a running number is given later
    labels: pa.StringArray  # null: no label
    # Null: no text, which is an empty document in every format. Or lists, made by ``word_lists``.
    texts: pa.StringArray | pa.ListArray
    fields: Values = NO_VALUES  # other fields to keep
    place: Callable[[int], str] = "row {}".format  # where a document lies, for messages

    @property
    def has_lists(self) -> bool:
        """Whether documents are lists of words, which need no cutting."""
        return bool(pa.types.is_list(self.texts.type))

    @property
    def as_texts(self) -> pa.StringArray:
        """The texts, or the words of each list with spaces between them."""
        return pc.binary_join(self.texts, " ") if self.has_lists else self.texts


class CountedBlock(NamedTuple):
    """Documents as word counts; word numbers hold inside this block only."""

    ids: pa.StringArray
    labels: pa.StringArray
    words: pa.StringArray  # (n_block_words,) distinct
    indptr: IntArray  # (n_docs + 1,)
    word_ids: NDArray[np.int32]  # (n_pairs,) rows of ``words``; each once in a document
    word_counts: NDArray[np.uint32]  # (n_pairs,)
    account: ReadingAccount = NO_ACCOUNT  # zeros for documents that came as counts
    forms: Values = NO_VALUES  # of lemmas, see ``lemmas.lemmatized``
    fields: Values = NO_VALUES  # to keep, the text among them


class VectorBlock(NamedTuple):
    """Items, all with the same number of columns."""

    source: str  # for errors
    ids: pa.StringArray  # null where the reader knows no id; a running number is given later
    labels: pa.StringArray  # null: no label
    values: Vectors  # (n_items, n_columns) finite
    columns: tuple[str, ...] | None  # names, where the source has them
    rounded: Rounded


#: Blocks still to be decoded; readers hand these out so that decoding can run in a worker.
PendingBlock = Callable[[], TextBlock | CountedBlock]
PendingVectors = Callable[[], VectorBlock]
PendingCounted = Callable[[], CountedBlock]
Named = TypeVar("Named", TextBlock, CountedBlock, VectorBlock)
T = TypeVar("T")
# Where it lies; id, label, and a text or a list of words.
Row = tuple[str, str | None, str | None, str | list[str] | None]


def text_block(rows: Sequence[Row], fields: Mapping[str, Sequence[str | None]]) -> TextBlock:
    """Documents given one by one as a block, and the values of their other fields; raises what
    ``checked`` raises."""
    places, *names, texts = zip(*rows, strict=True) if rows else ((), (), (), ())
    ids, labels = (pa.array(column, pa.string()) for column in names)
    kept = {name: pa.array(values, pa.string()) for name, values in fields.items()}
    is_list = [isinstance(text, list) for text in texts]
    if any(is_list):
        for text, where in zip(texts, places, strict=True):
            if isinstance(text, str):
                problem = "expected a list of words, like the other documents, but found a text"
                raise SourceError(where, problem)
        column = word_lists(pa.array(texts, pa.list_(pa.string())))
    else:
        column = pa.array(texts, pa.string())
    return checked(TextBlock(ids, labels, column, kept, places.__getitem__), places.__getitem__)


def word_lists(lists: pa.Array) -> pa.ListArray:
    """Lists of strings, (n_docs,), as plain lists of words: none is null, and no word is empty."""
    words = lists.flatten().cast(pa.string())
    is_word = pc.fill_null(pc.greater(pc.binary_length(words), 0), False)
    lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), 0))
    n_before = np.concatenate(([0], np.cumsum(np.asarray(is_word))))
    offsets = n_before[np.concatenate(([0], np.cumsum(lengths)))]
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), words.filter(is_word))


def joined(texts: Sequence[pa.StringArray]) -> pa.StringArray:
    """The texts of several fields, (n_docs,) each, as one with empty lines between."""
    whole, *others = texts
    for more in others:  # two at a time, since Arrow drops a row without any text
        parts = given(whole), given(more)
        whole = pc.coalesce(pc.binary_join_element_wise(*parts, BETWEEN), *parts)
    return whole


def overlong(names: pa.StringArray) -> int:
    """The first row whose name has more than ``LONGEST_NAME`` bytes; −1 if there is none."""
    lengths = pc.binary_length(names)
    if (pc.max(lengths).as_py() or 0) <= LONGEST_NAME:  # a comparison would import pandas
        return -1
    return int(pc.index(pc.greater(lengths, LONGEST_NAME), True).as_py())


def checked(block: Named, where: Callable[[int], str]) -> Named:
    """The block; SourceError with the place of the first row whose id or label is too long."""
    for noun, names in (("id", block.ids), ("label", block.labels)):
        if (row := overlong(names)) >= 0:
            problem = f"the {noun} has more than {LONGEST_NAME:,} bytes"
            raise SourceError(where(row), problem, f"Name another field with --{noun}-field.")
    return block


def given(ids: pa.StringArray) -> pa.StringArray:
    """The ids, null for empty ones."""
    is_empty = pc.equal(pc.binary_length(ids), 0)
    if not pc.any(is_empty, min_count=0).as_py():
        return ids
    return pc.if_else(is_empty, pa.scalar(None, pa.string()), ids)


def named(block: Named, first: int, *, beside_ids: bool) -> Named:
    """The block, where each row without an id is called by its position, counted from ``first``.

    With ``beside_ids``, other rows have ids, which could be positions, so ``no-id-`` is added.
    """
    ids = given(block.ids)
    if not ids.null_count:
        return block
    numbers = pa.array(np.arange(first, first + len(ids))).cast(pa.string())
    if beside_ids:
        numbers = pc.binary_join_element_wise(NO_ID, numbers, "")
    return block._replace(ids=pc.coalesce(ids, numbers))


def chosen(
    pending: PendingBlock, skipped: Sequence[int], first: int, *, beside_ids: bool
) -> CountedBlock:
    """A counted block without the ``skipped`` rows, in which all documents have names."""
    block = pending()
    assert isinstance(block, CountedBlock)  # the caller knows that it is no text
    if skipped:
        rows = np.delete(np.arange(len(block.ids)), skipped)
        batch = DocumentBatch(block.indptr, block.word_ids, block.word_counts).take(rows)
        account = block.account.copy()
        account[0] -= np.count_nonzero(np.diff(block.indptr)[[*skipped]])  # those with a token
        account[5] = min(account[5], account[0])
        block = block._replace(
            ids=block.ids.take(rows),
            labels=block.labels.take(rows),
            indptr=batch.indptr,
            word_ids=batch.word_ids,
            word_counts=np.asarray(batch.word_counts, np.uint32),
            account=account,
            fields={name: values.take(rows) for name, values in block.fields.items()},
        )
    return named(block, first, beside_ids=beside_ids)


def numbered(
    blocks: Iterable[Named], first: int = 0, has_ids: bool = False
) -> Iterator[Callable[[], Named]]:
    """The blocks, where each row without an id gets a name by its position, as in ``named``.

    ``has_ids`` says whether any row before them has an id.
    """
    for block in blocks:
        ids = given(block.ids)
        has_ids = has_ids or ids.null_count < len(ids)
        yield partial(named, block, first, beside_ids=has_ids)
        first += len(ids)


def grouped(sized: Iterable[tuple[T, int]]) -> Iterator[list[T]]:
    """Things with their sizes in bytes, one at least and about ``BLOCK_BYTES`` at a time."""
    found: list[T] = []
    n_bytes = 0
    for each, size in sized:
        if found and n_bytes + size > BLOCK_BYTES:
            yield found
            found, n_bytes = [], 0
        found.append(each)
        n_bytes += size
    if found:
        yield found


def rows_per_block(bytes_of_row: int) -> int:
    """How many rows of this size take about ``BLOCK_BYTES``."""
    return max(1, BLOCK_BYTES // bytes_of_row)


def with_error_last(pending: Iterable[PendingBlock]) -> Generator[PendingBlock, None, None]:
    """The blocks; an error of reading becomes a block that raises it when it is decoded.

    So the error of an earlier block comes first, however many blocks are read ahead.
    """
    try:
        yield from pending
    except SparsetopicsError as error:
        yield partial(_raise, error.with_traceback(None))  # which would keep files open


def _raise(error: SparsetopicsError) -> TextBlock:
    raise error


def kept_type(kind: np.dtype[np.generic]) -> ValueType:
    """float32 if it holds all numbers of this type exactly, or else float64."""
    return "float32" if np.can_cast(kind, np.float32) else "float64"


def rounded_among(columns: Mapping[str, NDArray[np.generic]]) -> Rounded:
    """Which of these columns, (n_items,) each, have integers that float64 does not hold."""
    found = {}
    for name, numbers in columns.items():
        if numbers.dtype.kind in "iu" and numbers.dtype.itemsize == 8:
            with np.errstate(invalid="ignore"):  # the largest become 2⁶³, which is no int64
                is_rounded = numbers.astype(np.float64).astype(numbers.dtype) != numbers
            if is_rounded.any():
                found[name] = int(numbers[is_rounded.argmax()])
    return found


def as_floats(
    values: NDArray[np.generic],  # (n_items, n_columns)
) -> tuple[Vectors, tuple[int, int] | None]:
    """``values`` as their ``kept_type``, and item and column of the first that is not finite."""
    with np.errstate(over="ignore"):  # a long double may become infinite, which is found below
        vectors: Vectors = np.ascontiguousarray(values, kept_type(values.dtype))
    finite = np.isfinite(vectors).all(axis=1)
    if finite.all():
        return vectors, None
    item = int(np.argmin(finite))
    return vectors, (item, int(np.argmin(np.isfinite(vectors[item]))))


def vector_block(
    source: str,
    first_item: int,
    values: NDArray[np.generic],  # (n_items, n_columns)
    ids: pa.StringArray,
    labels: pa.StringArray,
    columns: tuple[str, ...] | None = None,
) -> VectorBlock:
    """Items as a block; SourceError with item and column for a value that is not finite, and what
    ``checked`` raises."""
    vectors, odd = as_floats(values)
    if odd is not None:
        item, column = odd
        name = f"{column}" if columns is None else repr(columns[column])
        raise SourceError(
            f"{source}, item {first_item + item}, column {name}",
            f"expected a finite number, but found {values[odd]}",
            "Items and columns are counted from 0.",
        )
    rounded = rounded_among(dict(zip(map(str, count()), values.T, strict=False)))
    block = VectorBlock(source, ids, labels, vectors, columns, rounded)
    return checked(block, lambda row: f"{source}, item {first_item + row}")
