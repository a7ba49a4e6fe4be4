"""Dividing a corpus into batches at random: held in memory, or streamed by row group.

Some documents may be kept out of training, so that topics can be scored on them. Words may be left
out that a model does not know, because it learned before the vocabulary of a corpus grew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Lock
from typing import Generic, NamedTuple

import numpy as np
import pyarrow as pa

from sparsetopics.base.batches import DocumentBatch, IntArray, Source, StoredBatch, VectorBatch
from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.corpus import Corpus, VectorCorpus
from sparsetopics.corpora.store.manifest import Sizes
from sparsetopics.corpora.store.shards import RowBatch, RowCorpus, RowGroup, rows_by_group
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.options.option import shown
from sparsetopics.options.table import MOST_VALIDATION, RESIDENT_PAIRS

FEWEST_BATCHES = 10
FEWEST_DOCS = 32  # in a batch of the default division
MOST_DOCS = 8_192
HELD_ROW_GROUPS = 2
VALIDATION_AT_ONCE = 256  # validation documents in a row group
FEWEST_SCORED = 2  # documents in either part: the error of a score needs two
RESIDENT_BYTES = 512 << 20  # of values: a larger corpus is read from disk


def plan_batches(
    corpus: Corpus,
    n_batches: int | None,
    rng: np.random.Generator,
    *,
    resident_pairs: int = RESIDENT_PAIRS,
) -> Batches[DocumentBatch]:
    """Divide the documents at random into batches of nearly equal size, none empty.

    A corpus of at most ``resident_pairs`` pairs is read once and kept. For a larger one, each row
    group is divided into the same number of pieces, enough for at least ``n_batches``, and decoded
    when a piece of it is read. The division depends only on the corpus, ``n_batches`` and ``rng``.
    Raises OptionError if ``n_batches`` is not between 1 and the number of documents.
    """
    n_batches = _checked_n_batches(n_batches, corpus)
    if corpus.n_pairs > resident_pairs:
        pieces = _pieces(corpus, n_batches, rng)
        firsts = np.cumsum([0, *(group.n_docs for group in corpus.row_groups)])
        rows = [firsts[index] + own for [(index, own)] in pieces]
        return replace(_streamed(corpus, pieces), rows=rows)
    whole = DocumentBatch.joined(list(corpus.batches()))
    parts = _divided(whole.n_docs, n_batches, rng)
    return replace(_resident(corpus, [whole.take(rows) for rows in parts]), rows=parts)


def plan_vector_batches(
    corpus: VectorCorpus,
    n_batches: int | None,
    rng: np.random.Generator,
    *,
    resident_bytes: int = RESIDENT_BYTES,
) -> Batches[VectorBatch]:
    """Divide the items at random into batches whose sizes differ by at most one.

    A corpus of at most ``resident_bytes`` of values is read once and kept. For a larger one, the
    row groups are put in random order, and the items of each one too, and the batches are cut from
    that sequence: a batch holds items of few row groups, which are decoded when it is read. The
    division depends only on the corpus, ``n_batches`` and ``rng``. Raises OptionError if
    ``n_batches`` is not between 1 and the number of items.
    """
    n_batches = _checked_n_batches(n_batches, corpus)
    if corpus.n_items * corpus.n_columns * np.dtype(corpus.value_type).itemsize > resident_bytes:
        return _streamed(corpus, _mixed_pieces(corpus, n_batches, rng))
    parts = _divided(corpus.n_items, n_batches, rng)
    # Each row group is scattered to its places in one array, so that nothing is held twice.
    place = np.empty(corpus.n_items, np.int64)
    place[np.concatenate(parts)] = np.arange(corpus.n_items)
    values = np.empty((corpus.n_items, corpus.n_columns), corpus.value_type)
    firsts = np.cumsum([group.n_docs for group in corpus.row_groups])[:-1]
    for own, batch in zip(np.split(place, firsts), corpus.batches(), strict=True):
        values[own] = batch.values
    ends = np.cumsum([len(part) for part in parts])
    return _resident(corpus, [VectorBatch(part) for part in np.split(values, ends[:-1])])


def _checked_n_batches(n_batches: int | None, corpus: RowCorpus[RowBatch]) -> int:
    """The chosen number or the default; OptionError unless every batch gets a row."""
    n_rows = corpus.sizes.n_docs
    if n_batches is None:
        return default_n_batches(n_rows)
    if not 1 <= n_batches <= n_rows:
        allowed = f"from 1 to {n_rows}, the number of {corpus.noun}"
        raise OptionError("batches", f"must be {allowed}, but is {shown(n_batches)}")
    return int(n_batches)  # which may be numpy's


def default_n_batches(n_docs: int) -> int:
    """At least 10, with at most 8,192 documents in each; fewer where a batch would have fewer than
    32 documents."""
    enough = max(FEWEST_BATCHES, -(-n_docs // MOST_DOCS))
    return max(1, min(enough, n_docs // FEWEST_DOCS))


@dataclass(frozen=True, eq=False)
class Batches(Generic[RowBatch]):
    """The rows of a corpus in batches, which many threads may read."""

    n_docs: int
    n_tokens: float
    n_columns: int  # words of the vocabulary, or numbers of an item
    n_batches: int
    is_resident: bool
    read: Callable[[int], RowBatch]
    rows: Sequence[IntArray] = ()  # of documents in their corpus, for each batch


def joined(first: Batches[DocumentBatch], last: Batches[DocumentBatch]) -> Batches[DocumentBatch]:
    """The batches of one corpus, and after them those of another with the same words, which stays
    in memory. Its rows are numbered after those of the first."""

    def read(batch_id: int) -> DocumentBatch:
        n_first = first.n_batches
        return first.read(batch_id) if batch_id < n_first else last.read(batch_id - n_first)

    sizes = first.n_docs + last.n_docs, first.n_tokens + last.n_tokens, first.n_columns
    rows = [*first.rows, *(first.n_docs + own for own in last.rows)]
    return Batches(*sizes, first.n_batches + last.n_batches, first.is_resident, read, rows)


Piece = tuple[int, IntArray]  # the number of a row group, and some of its rows, ascending


def _resident(corpus: RowCorpus[RowBatch], batches: Sequence[RowBatch]) -> Batches[RowBatch]:
    """Batches in memory."""
    return Batches(*_sizes_of(corpus), len(batches), True, batches.__getitem__)


def _streamed(corpus: RowCorpus[RowBatch], parts: Sequence[Sequence[Piece]]) -> Batches[RowBatch]:
    """Batches put together from row groups that are decoded on demand, the few used last kept."""
    lock = Lock()

    @lru_cache(HELD_ROW_GROUPS)
    def row_group(number: int) -> RowBatch:
        return corpus.row_groups[number].read()

    def held(number: int) -> RowBatch:
        with lock:  # keeps two threads from decoding the same row group
            return row_group(number)

    def read(batch_id: int) -> RowBatch:
        taken = [held(number).take(rows) for number, rows in parts[batch_id]]
        return taken[0] if len(taken) == 1 else taken[0].joined(taken)

    return Batches(*_sizes_of(corpus), len(parts), False, read)


def _sizes_of(corpus: RowCorpus[RowBatch]) -> tuple[int, float, int]:
    return corpus.sizes.n_docs, float(corpus.sizes.n_tokens), corpus.width


def _pieces(corpus: Corpus, n_batches: int, rng: np.random.Generator) -> list[list[Piece]]:
    """Batches of documents: each a piece of one row group."""
    n_pieces = -(-n_batches // len(corpus.row_groups))
    return [
        [(index, rows)]
        for index, group in enumerate(corpus.row_groups)
        for rows in _divided(group.n_docs, min(n_pieces, group.n_docs), rng)
    ]


def _mixed_pieces(
    corpus: VectorCorpus, n_batches: int, rng: np.random.Generator
) -> list[list[Piece]]:
    """Batches of items: stretches of a random sequence of row groups and of items in each."""
    sizes = np.array([group.n_docs for group in corpus.row_groups])
    order = rng.permutation(len(sizes))
    groups = np.array_split(np.repeat(order, sizes[order]), n_batches)
    rows = np.concatenate([rng.permutation(sizes[group]) for group in order])
    parts: list[list[Piece]] = []
    for own_groups, own_rows in zip(groups, np.array_split(rows, n_batches), strict=True):
        starts = np.flatnonzero(np.diff(own_groups, prepend=-1))
        pieces = np.split(own_rows, starts[1:])
        numbers = own_groups[starts].tolist()
        parts.append([(n, np.sort(piece)) for n, piece in zip(numbers, pieces, strict=True)])
    return parts


def _divided(n_rows: int, n_parts: int, rng: np.random.Generator) -> list[IntArray]:
    """A random division into parts of nearly equal size, each ascending."""
    return [np.sort(part) for part in np.array_split(rng.permutation(n_rows), n_parts)]


# --- documents kept out of training ---------------------------------------------------------------
class TrainingData(NamedTuple):
    """The training data in batches, the same in every process."""

    source: Source[StoredBatch]  # to train on
    whole: Source[StoredBatch]  # the same batches, then those of the validation documents
    validation: Corpus | None = None  # the documents that are kept out of training
    corpora: Sequence[Corpus] = ()  # of documents in ``whole``, in the order of its rows


@dataclass(frozen=True, slots=True, eq=False)
class PartialRowGroup(RowGroup[DocumentBatch]):
    """Some documents of another row group, perhaps with only some of their words."""

    group: RowGroup[DocumentBatch]
    rows: IntArray  # ascending
    batch: DocumentBatch | None = None  # their words, if they are in memory
    n_words: int | None = None  # of the vocabulary; later ones are left out. None: all

    def read(self) -> DocumentBatch:
        if self.batch is not None:
            return self.batch
        batch = self.group.read().take(self.rows)
        return batch if self.n_words is None else batch.chosen(batch.word_ids < self.n_words)

    def read_ids(self) -> list[str]:
        return [*map(self.group.read_ids().__getitem__, self.rows)]

    def read_labels(self) -> list[str | None]:
        return [*map(self.group.read_labels().__getitem__, self.rows)]

    def read_fields(self, names: Sequence[str], rows: IntArray | None = None) -> pa.Table:
        return self.group.read_fields(names, self.rows if rows is None else self.rows[rows])


def count_validation(n_docs: int, share: float) -> int:
    """The number of documents in the validation ``share``, at most ``MOST_VALIDATION``.

    Raises OptionError if one part would have fewer than two documents.
    """
    number = min(round(share * n_docs), MOST_VALIDATION)
    if not FEWEST_SCORED <= number <= n_docs - FEWEST_SCORED:
        problem = f"{share:g} would keep {number:,} of {n_docs:,} documents out of training"
        hint = "Both parts need two documents or more. 0 scores nothing."
        raise OptionError("validation-share", problem, hint)
    return number


def hold_out(corpus: Corpus, n_validation: int, rng: np.random.Generator) -> tuple[Corpus, Corpus]:
    """Draw ``n_validation`` documents; return the corpus without them, and them alone.

    Both parts keep the order of the corpus. The validation documents are read into memory. Sizes of
    the training part are known without another pass over the corpus.
    """
    chosen = np.sort(rng.permutation(corpus.n_docs)[:n_validation])
    training: list[RowGroup[DocumentBatch]] = []
    validation: list[RowGroup[DocumentBatch]] = []
    for group, rows in rows_by_group(corpus.row_groups, chosen):
        if not len(rows):
            training.append(group)
            continue
        kept_out = _in_memory(group, rows)
        validation += kept_out
        if len(rows) < group.n_docs:
            taken = Sizes.total(each.sizes for each in kept_out)
            sizes = Sizes(*np.subtract(group.sizes, taken).tolist())
            others = np.setdiff1d(np.arange(group.n_docs), rows)
            training.append(PartialRowGroup(sizes, group, others))
    with_training = replace(corpus, row_groups=tuple(training))
    return with_training, replace(corpus, row_groups=tuple(validation))


def later_documents(corpus: Corpus, n_docs: int) -> Corpus:
    """The corpus without its first ``n_docs`` documents."""
    groups: list[RowGroup[DocumentBatch]] = []
    for group, rows in rows_by_group(corpus.row_groups, np.arange(n_docs, corpus.n_docs)):
        if len(rows) == group.n_docs:
            groups.append(group)
        elif len(rows):
            groups += _in_memory(group, rows)
    return replace(corpus, row_groups=tuple(groups))


def _in_memory(group: RowGroup[DocumentBatch], rows: IntArray) -> list[PartialRowGroup]:
    """Some rows in small groups: scoring takes memory for all words of a group."""
    whole = group.read()
    parts = np.split(rows, range(VALIDATION_AT_ONCE, len(rows), VALIDATION_AT_ONCE))
    batches = map(whole.take, parts)
    return [
        PartialRowGroup(Sizes.of(batch), group, part, batch)
        for part, batch in zip(parts, batches, strict=True)
    ]


def divide(
    corpus: Corpus,
    n_batches: int | None,
    share: float,
    rng: np.random.Generator,
    *,
    chosen_by: np.random.Generator | None = None,
    resident_pairs: int = RESIDENT_PAIRS,
) -> TrainingData:
    """Keep a ``share`` of the documents out of training, and divide both parts into batches.

    ``chosen_by`` draws the validation documents if it is given, otherwise ``rng`` does. Batches of
    validation documents are about as large as the others. Raises OptionError for a share
    that leaves one part empty, and what ``plan_batches`` raises.
    """
    number = count_validation(corpus.n_docs, share)
    training, validation = hold_out(corpus, number, chosen_by or rng)
    source = plan_batches(training, n_batches, rng, resident_pairs=resident_pairs)
    n_last = max(1, round(validation.n_docs * source.n_batches / training.n_docs))
    last = plan_batches(validation, min(n_last, validation.n_docs), rng)
    return TrainingData(source, joined(source, last), validation, (training, validation))


# --- words that a vocabulary lacks ----------------------------------------------------------------
def begin_alike(one: Vocabulary, other: Vocabulary) -> bool:
    """Whether one of two vocabularies begins with the words of the other, or is the same.

    Words get their numbers once. A corpus whose vocabulary grows keeps those of before, so a number
    that two vocabularies have then means the same word in both.
    """
    n_both = min(len(one), len(other))
    return one.words[:n_both] == other.words[:n_both]


def under(corpus: Corpus, vocabulary: Vocabulary) -> Corpus:
    """The corpus with a vocabulary that begins with its own, or that its own begins with.

    Words that ``vocabulary`` lacks are left out and counted as unknown tokens. Documents stay, even
    if they have no other words.
    """
    n_words = len(vocabulary)
    if corpus.n_words <= n_words:
        return corpus if corpus.n_words == n_words else replace(corpus, vocabulary=vocabulary)
    most = max((group.n_docs for group in corpus.row_groups), default=0)
    rows = np.arange(most)  # one array, which all groups share
    groups = [
        PartialRowGroup(group.sizes, group, rows[: group.n_docs], n_words=n_words)
        for group in corpus.row_groups
    ]
    sized = tuple(replace(each, sizes=Sizes.of(each.read())) for each in groups)
    known = replace(corpus, vocabulary=vocabulary, row_groups=sized)
    n_later = int(corpus.n_tokens - known.n_tokens)
    return replace(known, n_unknown_tokens=corpus.n_unknown_tokens + n_later)
