"""Keep some documents of a corpus out of training, so that topics can be scored on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sparsetopics.base.batches import DocumentBatch, IntArray, Source, StoredBatch
from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.batching import joined, plan_batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.store.document_rows import sizes_of_batch
from sparsetopics.corpora.store.manifest import Sizes, total
from sparsetopics.corpora.store.shards import RowGroup
from sparsetopics.options.table import MOST_VALIDATION, RESIDENT_PAIRS

DOCS_AT_ONCE = 256  # validation documents in a row group
FEWEST = 2  # documents in either part: the error of a score needs two


class TrainingData(NamedTuple):
    """The training data in batches, the same in every process."""

    source: Source[StoredBatch]  # to train on
    whole: Source[StoredBatch]  # the same batches, then those of the validation documents
    validation: Corpus | None = None  # the documents that are kept out of training


@dataclass(frozen=True, slots=True, eq=False)
class PartialRowGroup(RowGroup[DocumentBatch]):
    """Some rows of another row group."""

    group: RowGroup[DocumentBatch]
    rows: IntArray  # ascending
    batch: DocumentBatch | None = None  # their words, if they are in memory

    def read(self) -> DocumentBatch:
        return self.group.read().take(self.rows) if self.batch is None else self.batch

    def read_ids(self) -> list[str]:
        ids = self.group.read_ids()
        return [ids[row] for row in self.rows]

    def read_labels(self) -> list[str | None]:
        labels = self.group.read_labels()
        return [labels[row] for row in self.rows]

    def read_fields(self, names: Sequence[str], rows: IntArray | None = None) -> pa.Table:
        return self.group.read_fields(names, self.rows if rows is None else self.rows[rows])


def count_validation(n_docs: int, share: float) -> int:
    """The number of documents in the validation ``share``, at most ``MOST_VALIDATION``.

    Raises OptionError if one part would have fewer than two documents.
    """
    number = min(round(share * n_docs), MOST_VALIDATION)
    if not FEWEST <= number <= n_docs - FEWEST:
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
    start = 0
    for group in corpus.row_groups:
        rows = chosen[(chosen >= start) & (chosen < start + group.n_docs)] - start
        start += group.n_docs
        if not len(rows):
            training.append(group)
            continue
        kept_out = _in_memory(group, rows)
        validation += kept_out
        if len(rows) < group.n_docs:
            sizes = Sizes(
                *np.subtract(group.sizes, total(each.sizes for each in kept_out)).tolist()
            )
            others = np.setdiff1d(np.arange(group.n_docs), rows)
            training.append(PartialRowGroup(sizes, group, others))
    with_training = replace(corpus, row_groups=tuple(training))
    return with_training, replace(corpus, row_groups=tuple(validation))


def _in_memory(group: RowGroup[DocumentBatch], rows: IntArray) -> list[PartialRowGroup]:
    """Some rows in small groups: scoring takes memory for all words of a group."""
    whole = group.read()
    parts = [rows[first : first + DOCS_AT_ONCE] for first in range(0, len(rows), DOCS_AT_ONCE)]
    batches = map(whole.take, parts)
    return [
        PartialRowGroup(sizes_of_batch(batch), group, part, batch)
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
    return TrainingData(source, joined(source, last), validation)
