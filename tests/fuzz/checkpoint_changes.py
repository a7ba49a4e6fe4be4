"""Damage to what checkpoints and memo files hold: other numbers, types, shapes and names.

The files stay well formed: zip archives of JSON and ``.npy`` members with true checksums.
"""

import io
import json
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.structure import VALUES
from sparsetopics.model.memo import Memo, OnDisk
from sparsetopics.runs.checkpoints import TREE

NUMBERS = (
    *(0, 1, -1, 2, 3, 7, 255, 50_000_000, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63 - 1, -(2**63)),
    *(0.5, 1.5, -0.5, 1e-9, 1e-320, 1e30, 1e308, -1e308, float("nan"), float("inf"), float("-inf")),
)
DTYPES = ("<i8", "<i4", "<u4", "<u1", "<f8", "<f4", ">f8", "?", "<c16", "<U3", "V8", "<M8[s]")
Arrays = dict[str, np.ndarray]


def change_checkpoint(data: bytes, rng: np.random.Generator) -> bytes:
    """One to three edits of the tree or of arrays."""
    tree, arrays = opened(data)
    tree = json.loads(tree)
    for _ in range(_n_edits(rng)):
        if rng.random() < 0.4:
            _change_tree(tree, rng)
        else:
            _change_arrays(arrays, rng)
    return closed(json.dumps(tree), arrays)


def change_memo(data: bytes, rng: np.random.Generator) -> bytes:
    """One to three edits of the arrays of a batch."""
    _, arrays = opened(data)
    for _ in range(_n_edits(rng)):
        _change_arrays(arrays, rng)
    return closed(None, arrays)


def _n_edits(rng: np.random.Generator) -> int:
    return min(3, int(rng.geometric(0.7)))


def opened(data: bytes) -> tuple[str | None, Arrays]:
    """The tree of a checkpoint as JSON, None in a memo file, and the arrays."""
    tree, arrays = _members(data)
    return tree, dict(arrays)


@cache
def _members(data: bytes) -> tuple[str | None, Arrays]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        names = file.namelist()
        arrays = {
            name.removesuffix(".npy"): np.load(io.BytesIO(file.read(name)))
            for name in names
            if name.endswith(".npy")
        }
        return (file.read(TREE).decode() if TREE in names else None), arrays


def closed(tree: str | None, arrays: Arrays) -> bytes:
    """The inverse of ``opened``."""
    stream = io.BytesIO()
    if tree is None:
        np.savez(stream, **arrays)  # as the memo does: the checkpoint knows how many bytes it takes
        return stream.getvalue()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr(TREE, tree)
        for name, array in arrays.items():
            with file.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return stream.getvalue()


def with_stamps(data: bytes, folder: Path) -> bytes:
    """A checkpoint that knows the sizes and digests of memo files in ``folder`` as they are."""
    text, arrays = opened(data)
    tree = json.loads(text)
    for holder, key in _places(tree):
        entry = holder[key]
        if isinstance(entry, dict) and "bytes" in entry:
            path = folder / entry["file"]
            entry |= OnDisk(path, Memo(folder), is_own=False).stamp()
    return closed(json.dumps(tree), arrays)


# --- the tree -------------------------------------------------------------------------------------
def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """All that the tree holds, as containers and keys."""
    entries = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in list(entries):
        yield tree, key
        if isinstance(value, dict | list):
            yield from _places(value)


def _change_tree(tree: Any, rng: np.random.Generator) -> None:
    """A number, a value, a name of an array, a kind; something dropped, repeated, or swapped."""
    places = list(_places(tree["value"]))
    holder, key = places[rng.integers(len(places))]
    choice, value = rng.random(), holder[key]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and choice < 0.6:
        holder[key] = NUMBERS[rng.integers(len(NUMBERS))]
    elif choice < 0.4:  # of the same type, from elsewhere
        alike = [there[at] for there, at in places if type(there[at]) is type(value)]
        holder[key] = json.loads(json.dumps(alike[rng.integers(len(alike))]))
    elif choice < 0.6:
        holder[key] = VALUES[rng.integers(len(VALUES))]
    elif choice < 0.7 and isinstance(holder, list):
        holder.append(json.loads(json.dumps(value)))
    elif choice < 0.85:
        del holder[key]
    else:
        other, place = places[rng.integers(len(places))]
        holder[key], other[place] = other[place], value


# --- arrays ---------------------------------------------------------------------------------------
def _change_arrays(arrays: Arrays, rng: np.random.Generator) -> None:
    """One is edited, dropped, or put in the place of another."""
    names = list(arrays)
    if not names:
        return
    name, other = (names[rng.integers(len(names))] for _ in range(2))
    choice = rng.random()
    if choice < 0.07:
        arrays[name], arrays[other] = arrays[other], arrays[name]
    elif choice < 0.1:
        del arrays[name]
    else:
        arrays[name] = _edited(arrays[name], rng)


def _edited(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    choice = rng.random()
    if choice < 0.55:
        return _with_numbers(array, rng)
    if choice < 0.65:
        with np.errstate(all="ignore"):
            try:
                return array.astype(DTYPES[rng.integers(len(DTYPES))])
            except (TypeError, ValueError):
                return array.astype("V8")
    if choice < 0.75:
        return array[: int(rng.integers(len(array) + 1))] if array.ndim else array.reshape(1)
    if choice < 0.82:
        return np.concatenate([array, array]) if array.ndim else array
    if choice < 0.88:
        return array.ravel() if array.ndim > 1 else array[None]
    if choice < 0.94:
        return rng.permutation(array) if array.ndim else array
    return np.asfortranarray(array.T)


def _with_numbers(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Some entries, or all, replaced by one number, by others of the array, or moved a little."""
    edited, n_entries = array.copy(), array.size
    if not n_entries or array.dtype.kind not in "iuf":
        return edited
    n_chosen = n_entries if rng.random() < 0.1 else min(n_entries, int(rng.geometric(0.5)))
    chosen, flat = rng.integers(n_entries, size=n_chosen), edited.reshape(-1)
    choice = rng.random()
    with np.errstate(all="ignore"):
        if choice < 0.6:
            number = NUMBERS[rng.integers(len(NUMBERS))]
            whole = number if isinstance(number, int) else int(np.float64(number).view(np.int64))
            as_whole = np.array(whole % 2**64, np.uint64)
            flat[chosen] = np.float64(number) if array.dtype.kind == "f" else as_whole
        elif choice < 0.8:
            flat[chosen] = flat[rng.integers(n_entries, size=n_chosen)]
        elif array.dtype.kind == "f":
            flat[chosen] *= np.exp(rng.normal(size=n_chosen)).astype(array.dtype)
        else:
            flat[chosen] += np.ones(n_chosen, array.dtype)
    return flat.reshape(array.shape)
