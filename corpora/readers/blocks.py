"""What flows through ingest: stretches of consecutive documents, from text to word counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparsetopics.base.batches import IntArray


class TextBlock(NamedTuple):
    """Documents as text."""

    doc_ids: pa.StringArray  # null: the reader knows no id, a running number is given later
    labels: pa.StringArray  # null: no label
    texts: pa.StringArray  # null: no text, an empty document in every format


class CountedBlock(NamedTuple):
    """Documents as word counts, under word numbers that hold inside this block only."""

    doc_ids: pa.StringArray
    labels: pa.StringArray
    words: pa.StringArray  # (n_block_words,) distinct
    indptr: IntArray  # (n_docs + 1,)
    word_ids: NDArray[np.int32]  # (n_pairs,) row of ``words``; each once in a document
    word_counts: NDArray[np.uint32]  # (n_pairs,)


#: A block still to be decoded; readers hand these out so that decoding can run in a worker.
PendingBlock = Callable[[], TextBlock | CountedBlock]


def with_running_numbers(names: pa.StringArray, first: int) -> pa.StringArray:
    """Ids, with the running number of the row where the reader knew none."""
    numbers = pa.array(np.arange(first, first + len(names))).cast(pa.string())
    return pc.coalesce(names, numbers)
