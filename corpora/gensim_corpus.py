"""gensim's corpora: documents as lists of (word number, count), and what words these are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from operator import index
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sparsetopics.base.errors import ShapeError, SourceError
from sparsetopics.corpora.memory_corpus import MemoryDocuments, documents_of_csr


def documents_of_gensim(
    bow: Iterable[Iterable[tuple[int, float]]], dictionary: Mapping[int, str]
) -> MemoryDocuments:
    """Documents in memory, under running numbers; words keep the order of their numbers.

    Raises SourceError for what is no bag of words, ShapeError for a number that the dictionary
    does not know, or a count that is negative or not finite.
    """
    numbers = sorted(dictionary.keys())
    rows = [_pairs(document, number) for number, document in enumerate(bow)]
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    flat = np.array(list(chain.from_iterable(rows)), np.float64).reshape(-1, 2)
    columns = np.searchsorted(numbers, flat[:, 0])
    known = np.append(numbers, -1)[columns] == flat[:, 0]
    if not known.all():
        pair = int(np.argmin(known))
        raise ShapeError(
            f"bow, document {int(np.searchsorted(indptr, pair, side='right')) - 1}",
            found=f"word {flat[pair, 0]:g}",
            wanted=f"one of the {len(numbers)} words of the dictionary",
        )
    counts = csr_array((flat[:, 1], columns, indptr), (len(rows), len(numbers)))
    return documents_of_csr(counts, [dictionary[number] for number in numbers], None)


def _pairs(document: Any, number: int) -> list[tuple[float, float]]:
    try:
        return [(index(word), float(count + 0)) for word, count in document]  # no texts
    except (TypeError, ValueError) as error:
        raise SourceError(
            f"bow, document {number}",
            found=f"{document!r:.60}",
            wanted="pairs of word number and count, as Dictionary.doc2bow makes them",
        ) from error
