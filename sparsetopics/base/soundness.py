"""Checks of values read from files: types, shapes, ranges and order.

A digest detects damage but does not stop an attacker, who can compute it again. Kernels trust their
indices, so arrays from files are checked here before any kernel sees them. Every function
raises ValueError, which the reader of the file turns into a ``RunError`` that names it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

LARGEST = 1e100  # sums of squares of float32 are smaller, and their squares do not overflow
LARGEST_SHARE = 1.001  # shares that were added up may exceed one by rounding
_INT64 = np.iinfo(np.int64)


def require(is_sound: bool | np.bool_, what: str) -> None:
    """Raise ValueError with the message ``what`` unless ``is_sound``."""
    if not is_sound:
        raise ValueError(what)


# --- types ----------------------------------------------------------------------------------------
def check_fields(kind: Any, values: Mapping[str, Any]) -> None:
    """Check that the fields of a NamedTuple or dataclass have their declared types.

    Protocols, type variables and ``Any`` allow everything; the reader of the file must check
    such fields.
    """
    for name, hint in _hints(kind).items():
        require(
            _is_of(values[name], hint),
            f"{kind.__name__}.{name} holds {_described(values[name])}",
        )


def check_own_fields(value: Any) -> None:
    """``check_fields`` for a NamedTuple whose arrays come from a file without declared types."""
    check_fields(type(value), value._asdict())


@cache
def _hints(kind: Any) -> dict[str, Any]:
    names = [field.name for field in fields(kind)] if is_dataclass(kind) else kind._fields
    hints = get_type_hints(kind)
    return {name: hints[name] for name in names}


def _is_of(value: Any, hint: Any) -> bool:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any or isinstance(hint, TypeVar) or Protocol in _bases(origin or hint):
        return True
    if origin in (Union, UnionType):
        return any(_is_of(value, each) for each in inner)
    if origin is Literal:
        return type(value) is str and value in inner
    if origin is np.ndarray:
        (dtype,) = get_args(inner[1]) or (Any,)
        return isinstance(value, np.ndarray) and (dtype is Any or value.dtype == np.dtype(dtype))
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        wanted = inner[:1] * len(value) if inner[-1] is Ellipsis else inner
        return len(wanted) == len(value) and all(map(_is_of, value, wanted))
    if origin is not None and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(
            _is_of(key, inner[0]) and _is_of(each, inner[1]) for key, each in value.items()
        )
    return _is_plain(value, origin or hint)  # a class with type parameters has an origin


def _bases(kind: Any) -> tuple[Any, ...]:
    return getattr(kind, "__bases__", ())


def _is_plain(value: Any, kind: type[Any]) -> bool:
    """Whether a value is of ``kind``; integers must fit 64 bits, to avoid later overflow."""
    if kind is float and type(value) is not bool:
        return _is_plain(value, int) or (isinstance(value, float) and not math.isnan(value))
    if kind is int:
        return type(value) is int and _INT64.min <= value <= _INT64.max
    return value is None if kind is NoneType else type(value) is kind


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return f"{value!r:.40}" if isinstance(value, bool | int | float | str) else type(value).__name__


# --- numbers --------------------------------------------------------------------------------------
def check_finite(value: Any, name: str) -> None:
    """Check that no number in ``value``, at any depth, is NaN or beyond ``LARGEST``."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        is_finite = value.min(initial=0.0) >= -LARGEST and value.max(initial=0.0) <= LARGEST
        require(is_finite, f"{name} is not finite")
    elif isinstance(value, float):
        require(-LARGEST <= value <= LARGEST, f"{name} is not finite")
    elif isinstance(value, Mapping):
        for key, each in value.items():
            check_finite(each, f"{name}.{key}")
    elif hasattr(value, "_fields") or is_dataclass(value):
        kind: Any = type(value)
        for field in _hints(kind):
            check_finite(getattr(value, field), f"{name}.{field}")
    elif isinstance(value, tuple):
        for place, each in enumerate(value):
            check_finite(each, f"{name}.{place}")


def check_like(value: Any, model: Any, name: str) -> None:
    """Check that ``value`` has the class of ``model``, and arrays of the same types and shapes.

    Fields that are None in ``model`` are not compared; their own class checks them.
    """
    if model is None:
        return
    require(type(value) is type(model) or _are_floats(value, model), f"{name} is of another kind")
    if isinstance(model, np.ndarray):
        same = value.shape == model.shape and value.dtype == model.dtype
        require(same, f"{name} has shape {value.shape}, not {model.shape}")
    elif hasattr(model, "_fields"):
        for field, own, other in zip(model._fields, value, model, strict=True):
            check_like(own, other, f"{name}.{field}")


def _are_floats(value: Any, model: Any) -> bool:
    return isinstance(model, float) and isinstance(value, int | float)


def check_close(value: Any, exact: Any, name: str, tolerance: float = 1e-4) -> None:
    """Check equality up to rounding, since sums over batches depend on their order."""
    if value is None or exact is None:
        return
    if isinstance(exact, np.ndarray):
        scale = np.abs(exact).max(initial=1.0)
        is_close = np.allclose(value, exact, rtol=tolerance, atol=tolerance * scale)
        require(is_close, f"{name} does not add up")
    elif hasattr(exact, "_fields"):
        for field, own, other in zip(exact._fields, value, exact, strict=True):
            check_close(own, other, f"{name}.{field}", tolerance)
    else:
        is_close = math.isclose(value, exact, rel_tol=tolerance, abs_tol=tolerance)
        require(is_close, f"{name} does not add up")


# --- indices --------------------------------------------------------------------------------------
def check_ids(ids: NDArray[Any], n_things: int, name: str, *, lowest: int = 0) -> None:
    """Check for one axis, and that ``lowest`` <= id < ``n_things`` for every id."""
    require(ids.ndim == 1, f"{name} has {ids.ndim} axes")
    if len(ids):
        require(ids.min() >= lowest, f"{name} has {ids.min()}")
        require(ids.max() < n_things, f"{name} has {ids.max()} of {n_things:,}")


def check_starts(starts: NDArray[Any], n_rows: int, n_entries: int, name: str) -> None:
    """Check the starts of rows, with the last end: from 0, never falling, to ``n_entries``."""
    require(starts.shape == (n_rows + 1,), f"{name} has shape {starts.shape}, not ({n_rows + 1},)")
    require(starts[0] == 0 and starts[-1] == n_entries, f"{name} does not span the entries")
    require((starts[1:] >= starts[:-1]).all(), f"{name} falls")


def check_rows(
    starts: NDArray[Any],  # (n_rows + 1,)
    topics: NDArray[Any],  # (n_entries,)
    values: NDArray[Any],  # (n_entries,)
    n_topics: int,
    name: str,
    *,
    largest: float = math.inf,
) -> None:
    """Check sparse rows: existing topics, and positive, finite values up to ``largest``."""
    check_ids(topics, n_topics, f"{name}.topics")
    require(values.shape == topics.shape, f"{name} has {values.shape} values")
    require(starts.ndim == 1 and len(starts) > 0, f"{name}.starts is empty")
    check_starts(starts, len(starts) - 1, len(topics), f"{name}.starts")
    if len(values):
        low, high = values.min(), values.max()  # NaN if any of them is NaN
        require(low > 0.0 and high <= largest and math.isfinite(high), f"{name} has value {low:g}")
