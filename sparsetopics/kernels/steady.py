"""Products of matrices whose rows do not depend on where they stand."""

from __future__ import annotations

from typing import Any

import numba
from numpy.typing import NDArray

_ROWS_AT_ONCE = 4  # so that a factor is fetched once for several


@numba.njit(cache=True, nogil=True)
def multiply(
    values: NDArray[Any],  # (n_items, n_columns or more)  float32 or float64
    factors: NDArray[Any],  # (n_columns, n_products)
    out: NDArray[Any],  # (n_items, n_products)  overwritten
) -> None:
    """out_nj = Σ_c values_nc factors_cj, added up in the order of the columns for every n."""
    n_items, n_products = out.shape
    for low in range(0, n_items, _ROWS_AT_ONCE):
        high = min(low + _ROWS_AT_ONCE, n_items)
        out[low:high] = 0
        for c in range(factors.shape[0]):
            for n in range(low, high):
                value, row = values[n, c], out[n]
                for j in range(n_products):
                    row[j] += value * factors[c, j]
