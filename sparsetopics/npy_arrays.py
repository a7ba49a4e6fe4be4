"""Arrays in numpy's ``.npy`` format, read with suspicion: sizes first, and never a pickle."""

from __future__ import annotations

import warnings
from tokenize import TokenError
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    """The header, the stream being at its start; ValueError if there is no sound one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # numpy warns of headers that Python 2 may have written
            version = np.lib.format.read_magic(stream)
            if version == (1, 0):
                header = NpyHeader(*np.lib.format.read_array_header_1_0(stream))
            elif version == (2, 0):
                header = NpyHeader(*np.lib.format.read_array_header_2_0(stream))
            else:
                raise ValueError(f"format version {version}, which is not 1.0 or 2.0")
    # The header is a Python literal, and what numpy makes of it may fail in many ways.
    except (SyntaxError, TokenError, TypeError, OverflowError, RecursionError, Warning) as error:
        raise ValueError(f"a damaged header ({_first_line(error)})") from error
    if any(type(length) is not int or length < 0 for length in header.shape):
        raise ValueError(f"the shape {header.shape}")
    return header


def _first_line(error: Exception | Warning) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


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
    if not header.dtype.itemsize:
        raise ValueError(f"{header}, which holds nothing")
    flat = np.frombuffer(data, header.dtype)
    return flat.reshape(header.shape, order="F" if header.is_fortran else "C")
