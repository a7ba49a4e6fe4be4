"""From block-local word numbers to the word ids of the corpus."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_array

from sparsetopics.base.batches import DocumentBatch
from sparsetopics.corpora.readers.blocks import CountedBlock
from sparsetopics.corpora.store.shards import DocumentRows


class EncodedBlock(NamedTuple):
    """Documents under the final word ids, and what was left out on the way."""

    rows: DocumentRows
    n_skipped: int  # documents without a known word
    n_unknown_tokens: int


def encode(block: CountedBlock, words: pa.StringArray) -> EncodedBlock:
    """Number the words of a block by their row in ``words``; others are dropped, and documents
    that have no other."""
    new_ids = pc.index_in(block.words, value_set=words).fill_null(-1).to_numpy(zero_copy_only=False)
    pair_ids = new_ids[block.word_ids]
    known = pair_ids >= 0
    indptr = np.concatenate(([0], np.cumsum(known)))[block.indptr]
    kept = np.diff(indptr) > 0
    indptr = np.concatenate(([0], indptr[1:][kept]))
    shape = (len(indptr) - 1, len(words))
    counts = csr_array((block.word_counts[known], pair_ids[known], indptr), shape)
    counts.sort_indices()
    batch = DocumentBatch(
        counts.indptr.astype(np.int64), counts.indices.astype(np.int32), counts.data
    )
    kept_mask = pa.array(kept)
    return EncodedBlock(
        DocumentRows(block.doc_ids.filter(kept_mask), block.labels.filter(kept_mask), batch),
        n_skipped=int(len(kept) - kept.sum()),
        n_unknown_tokens=int(block.word_counts[~known].sum(dtype=np.int64)),
    )
