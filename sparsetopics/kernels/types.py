"""What the kernels of the document step share: array types, how they are compiled, a workspace."""

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


def inner(kernel: Kernel) -> Kernel:
    """Compile a function that only other kernels call.

    It compiles faster without wrappers for Python and C, and without an on-disk cache of its own.
    """
    return cast(Kernel, numba.njit(**_INNER)(kernel))


class Schedule(NamedTuple):
    """How a document is iterated; plain numbers, so that kernels can take it whole."""

    collapsed: bool
    max_iterations: int
    tolerance: float  # tokens: stop when no N_k moved by more
    restarts: int  # topics tried per document, 0 for none
    restart_iterations: int
    minimum_mass: float = 1e-8  # tokens: a topic with no more leaves; the heaviest never does
    largest_pruned: float = 1.0  # share of a document's tokens: a topic with more stays


# Rows of Workspace.columns, one number per column.
MASS, NEW_MASS = 0, 1  # N_k now and after a mean-field sweep
PRIOR = 2  # α_k
WEIGHT = 3  # exp ψ(N_k + α_k), or N_k + α_k when collapsed
CHOICE_WEIGHT = 4  # the same at the start of a sweep, zero if negligible
OWN = 5  # one word's shares, zero between words
SAVED_MASS = 6

# Rows of Workspace.ids.
TOPIC_OF, COLUMN_OF = 0, 1  # the topic of a column, the column of a topic
ACTIVE = 2  # columns by falling weight; the first n_active are in use
CANDIDATE = 3  # columns one word may choose
SAVED_ACTIVE = 4


class Workspace(NamedTuple):
    """One document's scratch arrays, made once per block: few, as numba compiles each slowly.

    The last column is spare: slots of pruned topics point at it, and its weight is always zero.
    """

    columns: FloatArray  # (7, n_topics + 1)
    ids: TopicIds  # (5, n_topics + 1)
    local: Float32Array  # (longest document · n_topics,)  w_vk by word and column, without gaps
    kept: Float32Array  # (longest document, n_slots + 1)  w_vk of the slots; the row's largest
    normalizers: FloatArray  # (longest document,)
    products: FloatArray  # (n_topics + 1,)  of the candidates of one word
    keys: IntArray  # the same memory, as integers


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
