"""Arrays in numpy's ``.npy`` format, read with suspicion: sizes first, and never a pickle."""

from __future__ import annotations

import ast
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

LONGEST_HEADER = 10_000  # bytes, as for numpy
_MAGIC = b"\x93NUMPY"
_LENGTHS = {(1, 0): 2, (2, 0): 4, (3, 0): 4}  # bytes of the header's length, by version
PIECE_BYTES = 8 << 20  # that are read at once


class NpyHeader(NamedTuple):
    """What the start of an ``.npy`` says."""

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[Any]

    @property
    def n_bytes(self) -> int:
        """Of the numbers, in Python's own integers: hostile sizes overflow others."""
        n_bytes = self.dtype.itemsize
        for length in self.shape:
            n_bytes *= length
        return n_bytes

    def __str__(self) -> str:
        return f"{self.dtype} of shape {self.shape}"


def read_npy_header(stream: IO[bytes]) -> NpyHeader:
    """The header, the stream being at its start; ValueError if there is no sound one.

    numpy's own reader takes what Python 2 wrote, too, and fails in many ways.
    """
    start = read_exactly(stream, len(_MAGIC) + 2)
    version = start[-2], start[-1]
    if start[:-2] != _MAGIC or version not in _LENGTHS:
        raise ValueError(f"the beginning {start!r}, which is not that of version 1, 2 or 3")
    length = int.from_bytes(read_exactly(stream, _LENGTHS[version]), "little")
    if length > LONGEST_HEADER:
        raise ValueError(f"a header of {length:,} bytes")
    text = read_exactly(stream, length).decode("utf-8" if version[0] == 3 else "latin-1")
    try:
        told = ast.literal_eval(text.strip())
        shape, is_fortran = told["shape"], told["fortran_order"]
        dtype = np.lib.format.descr_to_dtype(told["descr"])
    except (
        *(SyntaxError, TypeError, LookupError, AttributeError, OverflowError),
        *(RecursionError, MemoryError),  # of literals that are nested too deeply
    ) as error:
        raise ValueError(f"a damaged header ({text[:60]!r})") from error
    if not isinstance(shape, tuple) or any(type(n) is not int or n < 0 for n in shape):
        raise ValueError(f"the shape {shape!r}")
    if not isinstance(is_fortran, bool) or not dtype.itemsize:
        raise ValueError(f"a damaged header ({text[:60]!r})")
    return NpyHeader(shape, is_fortran, dtype)


def read_exactly(stream: IO[bytes], n_bytes: int) -> bytes:
    """In small pieces, so that a header that lies cannot ask for more memory than there is data.

    Raises ValueError if there are fewer bytes.
    """
    pieces: list[bytes] = []
    missing = n_bytes
    while missing:
        piece = stream.read(min(missing, PIECE_BYTES))
        if not piece:
            raise ValueError(f"data that ends {missing:,} bytes early")
        pieces.append(piece)
        missing -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def read_npy(stream: IO[bytes]) -> NDArray[Any]:
    """One array, writable, the order of its axes in memory as it was written.

    Raises ValueError if it is damaged or of Python objects.
    """
    header = read_npy_header(stream)
    if header.dtype.hasobject:
        raise ValueError("an array of Python objects, which is never unpickled")
    data = bytearray(read_exactly(stream, header.n_bytes))
    flat = np.frombuffer(data, header.dtype)
    return flat.reshape(header.shape, order="F" if header.is_fortran else "C")
