"""What the kernels of the document step share: array types, compilation, a document's matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.base.kernel_cache import choose_cache_folder, numba

choose_cache_folder(__file__)

Float32Array = NDArray[np.float32]
TopicIds = NDArray[np.uint32]
Rows = NDArray[np.uint32]

Kernel = TypeVar("Kernel", bound=Callable[..., object])
Options = dict[str, Any]  # Any because numba's type hints lack some of them
# Numba compiles a helper such as np.empty again for every set of options.
_ALIKE: Options = {"error_model": "numpy", "no_cfunc_wrapper": True}
_INNER: Options = {**_ALIKE, "no_cpython_wrapper": True}
# Where a count begins that is passed to kernels. Numba would compile them once more for a literal.
ZERO = cast(int, np.int64(0))


def _compiled(function: Kernel, options: Options) -> Kernel:
    return cast(Kernel, numba.njit(nogil=True, **options)(function))


def kernel(function: Kernel) -> Kernel:
    """Compile a function that Python calls."""
    return _compiled(function, {"cache": True, **_ALIKE})


def inner(function: Kernel) -> Kernel:
    """Compile a function that only other kernels call.

    It compiles faster without wrappers for Python and C, and without an on-disk cache of its own.
    """
    return _compiled(function, _INNER)


def inlined(function: Kernel) -> Kernel:
    """Compile a function of scalars into the loops that call it, which can then use lanes."""
    return _compiled(function, {"forceinline": True, "error_model": "numpy"})


def lanes(function: Kernel) -> Kernel:
    """Compile a loop along the lanes of the processor, for other kernels.

    Without NaN and infinity, ``min`` and ``max`` need no branch. Sums keep their order.
    """
    return _compiled(function, {"fastmath": {"nnan", "ninf", "nsz"}, **_INNER})


class SparseShares(NamedTuple):
    """Responsibilities as compressed sparse rows; a row adds up to one."""

    starts: IntArray  # (n_rows + 1,)
    topics: TopicIds  # (n_entries,)
    shares: Float32Array  # (n_entries,)


class Lists(NamedTuple):
    """Each word's best L topics under equal proportions, and its shares of them."""

    topics: TopicIds  # (n_rows, n_slots)
    shares: Float32Array  # (n_rows, n_slots)


class Weights(NamedTuple):
    """w_vk = (S_vk + η) / N_k of words and topics, computed only where a document asks for it."""

    table: FloatArray  # (n_rows, n_topics)  S_vk
    word_concentration: float  # η
    inverse_totals: FloatArray  # (n_topics,)  1 / N_k


class Schedule(NamedTuple):
    """How a document is iterated; plain numbers, so that kernels can take it whole."""

    collapsed: bool
    max_iterations: int
    tolerance: float  # tokens: stop when no N_k has changed by more
    restarts: int = 0  # topics tried per document
    restart_iterations: int = 2
    minimum_mass: float = 1e-8  # tokens: topics with no more are pruned, but never the heaviest
    largest_pruned: float = 1.0  # share of a document's tokens: topics with more are never pruned
    momentum: float = 0.0  # β, of the counts from one sweep to the next
    column_share: float = 0.0  # of a cold document's tokens: topics with less are not considered
    own_share: float = 0.0  # f, the share of a document's own counts that is left out


# Rows of Matrix.columns, one number per column.
MASS, USED, BEFORE, PRIOR = 0, 1, 2, 3  # N_j, the N_j that a sweep uses, that of the last, α_j
WEIGHT, SAVED = 4, 5  # what the used N_j makes of α_j; N_j before a restart
# Rows of Matrix.by_word, one number per word.
COUNT, SCALED, OWN = 0, 1, 2  # c_u, whole numbers instead of tokens, o_u
TOTAL, PRODUCT, KEPT = 3, 4, 5  # from KEPT on, the products that are kept


class Matrix(NamedTuple):
    """Scratch arrays of one document. Its columns, the topics that it may use, are rows here.

    Those in use come first, in the order of topics. The fields are few because each adds to the
    time that numba takes to compile.
    """

    weights: Float32Array  # (n_topics + 1, n_lanes)  w_ju by column; each word's largest is one
    shares: Float32Array  # (n_topics + 1, n_lanes)  r_ju by column
    by_word: Float32Array  # (5 + n_slots, n_lanes)
    columns: Float32Array  # (6, n_topics + 1)
    topic_of: IntArray  # (n_topics + 1,)  of a column
    by_topic: Float32Array  # (2, n_topics)  N_k and weights of a document that begins cold


LANES = 16  # rows of a matrix are that many words long, or a multiple of it


@inner
def padded(n_words: int) -> int:
    """The length of a matrix's rows for ``n_words``."""
    return (n_words + LANES - 1) // LANES * LANES


@inner
def make_matrix(n_topics: int, n_slots: int, longest: int) -> Matrix:
    """Scratch arrays for documents of at most ``longest`` word types."""
    n_lanes = padded(longest)
    return Matrix(
        np.empty((n_topics + 1, n_lanes), np.float32),
        np.empty((n_topics + 1, n_lanes), np.float32),
        np.empty((KEPT + n_slots, n_lanes), np.float32),
        np.empty((6, n_topics + 1), np.float32),
        np.empty(n_topics + 1, np.int64),
        np.empty((2, n_topics), np.float32),
    )


@inner
def cut_lanes(matrix: Matrix, n_lanes: int) -> Matrix:
    """The matrix with shorter rows, which lie side by side in the same memory."""
    weights, shares, by_word, columns, topic_of, by_topic = matrix
    return Matrix(
        _cut(weights, n_lanes), _cut(shares, n_lanes), _cut(by_word, n_lanes), columns, topic_of,
        by_topic,
    )  # fmt: skip


@inner
def _cut(rows: Float32Array, n_lanes: int) -> Float32Array:
    n_rows = rows.shape[0]
    return rows.reshape(rows.size)[: n_rows * n_lanes].reshape(n_rows, n_lanes)


@inner
def make_rows(n_rows: int, n_entries: int) -> SparseShares:
    """Sparse rows to be filled in."""
    return SparseShares(
        np.zeros(n_rows + 1, np.int64),
        np.empty(n_entries, np.uint32),
        np.empty(n_entries, np.float32),
    )


@inner
def cut_rows(rows: SparseShares, n_entries: int) -> SparseShares:
    """Rows with the entries that were filled in, without the memory of the others."""
    return SparseShares(rows.starts, rows.topics[:n_entries].copy(), rows.shares[:n_entries].copy())
