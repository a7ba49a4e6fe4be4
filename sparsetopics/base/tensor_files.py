"""Read arrays from safetensors files that are not trusted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError, safe_open

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.sealed_files import Refusal

FLOAT64 = "F64"


class Tensors(NamedTuple):
    """What a file holds."""

    arrays: dict[str, FloatArray]
    metadata: dict[str, str]


def read_tensors(path: Path, names: Sequence[str], refusal: Refusal) -> Tensors:
    """The float64 arrays of these names.

    Raises the error of ``refusal`` if one is not there or of another type. The library checks that
    the arrays are as large as the file.
    """
    try:
        with safe_open(path, "numpy") as file:
            for name in names:
                _check_type(path, name, file, refusal)
            arrays = {name: file.get_tensor(name) for name in names}
            return Tensors(arrays, dict(file.metadata() or {}))
    except OSError as error:
        raise refusal.unreadable(path, error) from error
    except SafetensorError as error:
        raise refusal.of(path, found=str(error), wanted="arrays as they were written") from error


def _check_type(path: Path, name: str, file: Any, refusal: Refusal) -> None:
    """Check the type first: reading types unknown to numpy raises errors of many kinds."""
    if name not in file.keys():  # noqa: SIM118 - the file is not a mapping
        raise refusal.of(f"{path}, {name}", found="no such array", wanted="an array")
    found = file.get_slice(name).get_dtype()
    if found != FLOAT64:
        raise refusal.of(f"{path}, {name}", found=f"{found} numbers", wanted=f"{FLOAT64} numbers")
