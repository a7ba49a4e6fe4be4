"""What the kernels of the document step share: array types, compilation, a document's arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from sparsetopics.base.batches import FloatArray, IntArray

Float32Array = NDArray[np.float32]
TopicIds = NDArray[np.uint32]
Rows = NDArray[np.uint32]

Kernel = TypeVar("Kernel", bound=Callable[..., object])
_INNER: Any = {  # Any because numba's type hints lack the last two options
    "nogil": True, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True
}  # fmt: skip


def kernel(function: Kernel) -> Kernel:
    """Compile a function that Python calls."""
    return cast(Kernel, numba.njit(cache=True, nogil=True)(function))


def inner(function: Kernel) -> Kernel:
    """Compile a function that only other kernels call.

    It compiles faster without wrappers for Python and C, and without an on-disk cache of its own.
    """
    return cast(Kernel, numba.njit(**_INNER)(function))


class Schedule(NamedTuple):
    """How a document is iterated; plain numbers, so that kernels can take it whole."""

    collapsed: bool
    max_iterations: int
    tolerance: float  # tokens: stop when no N_k has changed by more
    restarts: int  # topics tried per document, 0 for none
    restart_iterations: int
    minimum_mass: float = 1e-8  # tokens: topics with no more are pruned, but never the heaviest
    largest_pruned: float = 1.0  # share of a document's tokens: topics with more are never pruned


class Document(NamedTuple):
    """A document's words, and slots for the largest responsibilities of each."""

    words: Rows  # (n_unique,)  rows of the batch's word-topic weights
    counts: FloatArray  # (n_unique,)
    topics: TopicIds  # (n_unique, n_slots)  overwritten: columns while the document is iterated
    shares: FloatArray  # (n_unique, n_slots)  overwritten


# A column is a topic that the first step left in the document; columns rise by topic.
# Rows of Workspace.columns, one number per column.
MASS, NEW_MASS = 0, 1  # N_k now and after a mean-field sweep
PRIOR = 2  # α_k
WEIGHT = 3  # exp ψ(N_k + α_k), or N_k + α_k when collapsed
CHOICE_WEIGHT = 4  # the same at the start of a sweep, zero if pruned
OWN = 5  # the shares of the word at hand, zero between words
SAVED_MASS = 6

# Rows of Workspace.ids.
TOPIC_OF, COLUMN_OF = 0, 1  # the topic of a column, the column of a topic
ACTIVE = 2  # columns by falling weight; the first n_active are in use
CANDIDATE = 3  # columns that may be among the best of a word
SAVED_ACTIVE = 4


class Workspace(NamedTuple):
    """Scratch arrays of one document, made once per block of documents.

    They are few because each field adds to the time that numba takes to compile. The last column is
    spare: slots of pruned topics point at it, and its weight is always zero.
    """

    columns: FloatArray  # (7, n_topics + 1)
    ids: TopicIds  # (5, n_topics + 1)
    local: Float32Array  # (longest document · n_topics,)  w_vk by word and column, without gaps
    kept: Float32Array  # (longest document, n_slots + 1)  w_vk of the slots, then the row's largest
    normalizers: FloatArray  # (longest document,)  Σ_k of a word's products
    products: FloatArray  # (n_topics + 1,)  w_vk times topic weights, of a word's candidates
    keys: IntArray  # the same memory read as integers, for ``sweeps._keep_largest``


@inner
def make_workspace(n_topics: int, n_slots: int, longest: int) -> Workspace:
    """Scratch arrays for documents of at most ``longest`` word types."""
    products = np.zeros(n_topics + 1)
    return Workspace(
        np.zeros((7, n_topics + 1)),
        np.zeros((5, n_topics + 1), np.uint32),
        np.zeros(longest * n_topics, np.float32),
        np.zeros((longest, n_slots + 1), np.float32),
        np.zeros(longest),
        products,
        products.view(np.int64),
    )
