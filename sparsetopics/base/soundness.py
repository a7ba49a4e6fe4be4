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
from inspect import isabstract
from types import NoneType, UnionType
from typing import Any, Literal, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

LARGEST = 1e100  # sums of squares of float32 are smaller, and their squares do not overflow
LARGEST_SHARE = 1.001  # shares that were added up may exceed one by rounding
_INT64 = np.iinfo(np.int64)

Value = TypeVar("Value")


def require(is_sound: bool | np.bool_, what: str) -> None:
    """Raise ValueError with the message ``what`` unless ``is_sound``."""
    if not is_sound:
        raise ValueError(what)


# --- types ----------------------------------------------------------------------------------------
def check_fields(kind: type, values: Mapping[str, Value]) -> None:
    """Check that the fields of a NamedTuple or dataclass have their declared types.

    An abstract class allows its subclasses. Protocols, type variables and ``Any`` allow everything;
    the reader of the file must check such fields.
    """
    for name, hint in declared_types(kind).items():
        value = values[name]
        require(_is_of(value, hint), f"{kind.__name__}.{name} holds {_described(value)}")


def check_own_fields(value: tuple[Value, ...]) -> None:
    """``check_fields`` for a NamedTuple whose arrays come from a file without declared types."""
    check_fields(type(value), dict(zip(declared_types(type(value)), value, strict=True)))


@cache
def declared_types(kind: type) -> dict[str, type]:
    """The declared types of the fields, in their order."""
    hints = get_type_hints(kind)
    if is_dataclass(kind):  # which may have annotations that are not fields
        return {field.name: hints[field.name] for field in fields(kind)}
    return hints


def _is_of(value: Value, hint: type) -> bool:
    origin, inner = get_origin(hint) or hint, get_args(hint)
    if _allows_all(origin):
        return True
    if origin in (Union, UnionType):
        return any(_is_of(value, each) for each in inner)
    if origin is Literal:
        return type(value) is str and value in inner
    if origin is np.ndarray:
        (dtype,) = get_args(inner[1])
        return isinstance(value, np.ndarray) and (_allows_all(dtype) or value.dtype == dtype)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        wanted = inner[:1] * len(value) if inner[-1] is Ellipsis else inner
        return len(wanted) == len(value) and all(map(_is_of, value, wanted))
    if issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(
            _is_of(key, inner[0]) and _is_of(each, inner[1]) for key, each in value.items()
        )
    return _is_plain(value, origin)


def _allows_all(hint: type) -> bool:
    """Whether a declared type says nothing about the type of values."""
    if hint is Any or hint is np.generic:  # Any: the hint itself is compared
        return True
    return isinstance(hint, TypeVar) or Protocol in getattr(hint, "__bases__", ())


def _is_plain(value: Value, kind: type) -> bool:
    """Whether a value is of ``kind``; integers must fit 64 bits, to avoid later overflow."""
    if kind is float and type(value) is not bool:
        return _is_plain(value, int) or (isinstance(value, float) and not math.isnan(value))
    if kind is int:
        # Not a subclass, such as bool.
        return isinstance(value, int) and type(value) is int and _INT64.min <= value <= _INT64.max
    if kind is NoneType:
        return value is None
    return isinstance(value, kind) if isabstract(kind) else type(value) is kind


def _described(value: Value) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return f"{value!r:.40}" if isinstance(value, bool | int | float | str) else type(value).__name__


# --- numbers --------------------------------------------------------------------------------------
def check_finite(value: Value, name: str) -> None:
    """Check that no number in ``value``, at any depth, is NaN or beyond ``LARGEST``."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        # NaN fails both comparisons.
        is_finite = value.min(initial=0.0) >= -LARGEST and value.max(initial=0.0) <= LARGEST
        require(is_finite, f"{name} is not finite")
    elif isinstance(value, float):
        require(-LARGEST <= value <= LARGEST, f"{name} is not finite")
    elif isinstance(value, Mapping):
        for key, each in value.items():
            check_finite(each, f"{name}.{key}")
    elif hasattr(value, "_fields") or is_dataclass(value):
        kind: type = type(value)
        for field in declared_types(kind):
            check_finite(getattr(value, field), f"{name}.{field}")
    elif isinstance(value, tuple):
        for place, each in enumerate(value):
            check_finite(each, f"{name}.{place}")


def check_like(value: Value, model: Value, name: str) -> None:
    """Check that ``value`` has the class of ``model``, and arrays of the same types and shapes.

    Fields that are None in ``model`` are not compared; their own class checks them.
    """
    if model is None:
        return
    are_floats = isinstance(model, float) and isinstance(value, int | float)
    require(type(value) is type(model) or are_floats, f"{name} is of another kind")
    if isinstance(model, np.ndarray) and isinstance(value, np.ndarray):
        same = value.shape == model.shape and value.dtype == model.dtype
        require(same, f"{name} has shape {value.shape}, not {model.shape}")
    elif hasattr(model, "_fields"):
        for field in model._fields:
            check_like(getattr(value, field), getattr(model, field), f"{name}.{field}")


def check_close(value: Value, exact: Value, name: str, tolerance: float = 1e-4) -> None:
    """Check equality up to rounding, since sums over batches depend on their order.

    Numbers, arrays, and NamedTuples of them can be compared; None is close to everything.
    """
    if value is None or exact is None:
        return
    is_close = False
    if hasattr(exact, "_fields"):
        for field in exact._fields:
            check_close(getattr(value, field), getattr(exact, field), f"{name}.{field}", tolerance)
        return
    if isinstance(exact, np.ndarray) and isinstance(value, np.ndarray):
        # Compared with the largest entry, since a small one may be the rounding of large ones.
        scale = np.abs(exact).max(initial=1.0)
        is_close = np.allclose(value, exact, rtol=tolerance, atol=tolerance * scale)
    elif isinstance(exact, int | float) and isinstance(value, int | float):
        is_close = math.isclose(value, exact, rel_tol=tolerance, abs_tol=tolerance)
    require(is_close, f"{name} does not add up")


# --- indices --------------------------------------------------------------------------------------
def check_ids(ids: NDArray[np.integer], n_things: int, name: str, *, lowest: int = 0) -> None:
    """Check for one axis, and that ``lowest`` <= id < ``n_things`` for every id."""
    require(ids.ndim == 1, f"{name} has {ids.ndim} axes")
    if len(ids):
        require(ids.min() >= lowest, f"{name} has {ids.min()}")
        require(ids.max() < n_things, f"{name} has {ids.max()} of {n_things:,}")


def check_starts(starts: NDArray[np.integer], n_rows: int, n_entries: int, name: str) -> None:
    """Check the starts of rows, with the last end: from 0, never falling, to ``n_entries``."""
    require(starts.shape == (n_rows + 1,), f"{name} has shape {starts.shape}, not ({n_rows + 1},)")
    require(starts[0] == 0 and starts[-1] == n_entries, f"{name} does not span the entries")
    require((starts[1:] >= starts[:-1]).all(), f"{name} falls")


def check_rows(
    starts: NDArray[np.integer],  # (n_rows + 1,)
    topics: NDArray[np.integer],  # (n_entries,)
    values: NDArray[np.number],  # (n_entries,)
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
