"""Read arrays from files that may be hostile: numpy's ``.npy``, zip archives, safetensors.

Sizes are compared with the data before memory is taken, and a pickle is never loaded.
"""

from __future__ import annotations

import ast
import math
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from sparsetopics.base.sealed_files import Refusal
from sparsetopics.base.soundness import require
from sparsetopics.base.wording import reason_of

SUFFIX = ".npy"
LONGEST_HEADER = 10_000  # bytes, numpy's own limit
PIECE_BYTES = 8 << 20  # read at once
FLOAT64 = "F64"  # safetensors' name of the type
_MAGIC = b"\x93NUMPY"
_LENGTHS = {(1, 0): 2, (2, 0): 4, (3, 0): 4}  # bytes of the header's length, by version

Array = NDArray[np.generic]


# --- .npy -----------------------------------------------------------------------------------------
class NpyHeader(NamedTuple):
    """The start of an ``.npy`` file."""

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[np.generic]

    @property
    def n_bytes(self) -> int:
        """Size of the data that follows."""
        # Python's integers cannot overflow; sizes chosen by an attacker would overflow numpy's.
        return math.prod(self.shape, start=self.dtype.itemsize)

    def __str__(self) -> str:
        return f"{self.dtype} of shape {self.shape}"


def read_npy_header(stream: IO[bytes]) -> NpyHeader:
    """Read the header at the start of ``stream``; raises ValueError if it is not sound.

    numpy's own reader also accepts files of Python 2, and fails with errors of many kinds.
    """
    start = read_exactly(stream, len(_MAGIC) + 2)
    version = start[-2], start[-1]
    require(start[:-2] == _MAGIC and version in _LENGTHS, f"it begins with {start!r}")
    length = int.from_bytes(read_exactly(stream, _LENGTHS[version]), "little")
    require(length <= LONGEST_HEADER, f"a header of {length:,} bytes")
    text = read_exactly(stream, length).decode("utf-8" if version[0] == 3 else "latin-1")
    try:
        header = ast.literal_eval(text.strip())
        shape, is_fortran = header["shape"], header["fortran_order"]
        dtype = np.lib.format.descr_to_dtype(header["descr"])
    except (
        *(SyntaxError, ValueError, TypeError, LookupError, AttributeError, OverflowError),
        *(RecursionError, MemoryError),  # for literals that are nested too deeply
    ) as error:
        raise ValueError(f"a damaged header ({text[:60]!r})") from error
    if not isinstance(shape, tuple) or any(type(n) is not int or n < 0 for n in shape):
        raise ValueError(f"the shape {shape!r}")
    if not isinstance(is_fortran, bool) or not dtype.itemsize:
        raise ValueError(f"a damaged header ({text[:60]!r})")
    return NpyHeader(shape, is_fortran, dtype)


def read_exactly(stream: IO[bytes], n_bytes: int) -> bytes:
    """Read ``n_bytes``; raises ValueError if the data end earlier."""
    # In pieces: a header that lies about the size must not take more memory than there is data.
    pieces: list[bytes] = []
    missing = n_bytes
    while missing:
        piece = stream.read(min(missing, PIECE_BYTES))
        require(len(piece) > 0, f"data that ends {missing:,} bytes early")
        pieces.append(piece)
        missing -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def read_npy(stream: IO[bytes]) -> Array:
    """Read one array, writable, with the order of axes in memory that it was written with.

    Raises ValueError if it is damaged or holds Python objects.
    """
    header = read_npy_header(stream)
    require(not header.dtype.hasobject, "an array of Python objects, which is never unpickled")
    flat = np.frombuffer(bytearray(read_exactly(stream, header.n_bytes)), header.dtype)
    return flat.reshape(header.shape, order="F" if header.is_fortran else "C")


# --- zip archives without compression, the format of checkpoints and the memo ---------------------
def read_archived(file: zipfile.ZipFile) -> dict[str, Array]:
    """Read the arrays of an archive, by name; ValueError if one is damaged or compressed."""
    arrays = {}
    for name in file.namelist():
        if name.endswith(SUFFIX):
            with file.open(stored_member(file, name)) as member:
                arrays[name.removesuffix(SUFFIX)] = read_npy(member)
                # At the end of the data, zipfile compares the checksum.
                require(not member.read(1), f"{name} has more data than its header says")
    return arrays


def stored_member(file: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    """Find a member; raises KeyError if it is missing.

    Refuses compressed members, because a small one may expand to fill the memory.
    """
    info = file.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
        raise ValueError(f"{name} is compressed")
    return info


# --- safetensors ----------------------------------------------------------------------------------
def read_tensors(
    path: Path, names: Sequence[str], refusal: Refusal
) -> tuple[dict[str, NDArray[np.float64]], dict[str, str]]:
    """Return the float64 arrays with these names, and the metadata of the file.

    Raises the error of ``refusal`` if an array is missing or of another type. The library checks
    that the sizes of arrays match that of the file.
    """
    try:
        with refusal.reading(path), safe_open(path, "numpy") as file:
            present = set(file.keys())
            for name in names:
                if name not in present:
                    raise refusal.of(f"{path}, {name}", "the array is missing")
                # The type comes first: reading types unknown to numpy raises errors of many kinds.
                dtype = file.get_slice(name).get_dtype()
                if dtype != FLOAT64:
                    problem = f"expected {FLOAT64} numbers, but found {dtype}"
                    raise refusal.of(f"{path}, {name}", problem)
            return {name: file.get_tensor(name) for name in names}, dict(file.metadata() or {})
    except SafetensorError as error:
        raise refusal.of(path, f"the arrays are damaged ({reason_of(error)})") from error
