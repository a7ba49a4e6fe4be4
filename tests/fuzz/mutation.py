"""Damage to bytes, whatever they mean: cut, flipped, repeated, put together, numbers replaced."""

import re
from collections.abc import Callable, Sequence

import numpy as np

Change = Callable[[bytes, np.random.Generator], bytes]

LARGEST = 1 << 20  # bytes of a damaged file, so that a case stays quick
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
NUMBERS = (
    *(b"0", b"-1", b"1", b"2", b"1e400", b"-1e400", b"1e-400", b"NaN", b"-NaN", b"Infinity"),
    *(b"inf", b"0.5", b"2147483647", b"2147483648", b"4294967295", b"4294967296"),
    *(b"9007199254740993", b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809"),
    *(b"18446744073709551616", b"999999999999999999", b"9" * 400, b"1" + b"0" * 5000, b"0x10"),
    *(b"1_000", b"\xd9\xa3", b"+3", b" 7", b"", b"null", b"true"),
)
TOKENS = (
    *(b"\0", b"\n", b"\r", b"\r\n", b"\n\n", b"\t", b" ", b",", b'"', b"'", b"\\", b"/", b"../"),
    *(b"{", b"}", b"[", b"]", b":", b"%", b"#", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\x80"),
    *(b"\xed\xa0\x80", b"\\ud800", "\u2028".encode(), "\U0001f600".encode(), "e\u0301".encode()),
    *(b"[" * 3000, b'{"a":' * 3000, b"(" * 300, b"a" * 70_000, b"\0" * 4096, b"\x1b[31m"),
)


def mutate(
    data: bytes, rng: np.random.Generator, tokens: Sequence[bytes] = (), other: bytes = b""
) -> bytes:
    """``data`` after one to four kinds of damage; ``tokens`` are words of its format."""
    for _ in range(1 + min(3, rng.geometric(0.6) - 1)):
        change = CHANGES[rng.integers(len(CHANGES))]
        if change is insert_token and len(tokens) and rng.random() < 0.6:
            data = _inserted(data, tokens[rng.integers(len(tokens))], rng)
        elif change is splice and other:
            data = data[: _place(data, rng)] + other[_place(other, rng) :]
        else:
            data = change(data, rng)
        data = data[:LARGEST]
    return data


def _place(data: bytes, rng: np.random.Generator) -> int:
    """Anywhere, often near one of the ends, where heads and footers are."""
    n_bytes = len(data)
    choice = rng.random()
    if choice < 0.5:
        return int(rng.integers(n_bytes + 1))
    near = int(rng.integers(min(n_bytes, 64) + 1))
    return near if choice < 0.75 else n_bytes - near


def _inserted(data: bytes, token: bytes, rng: np.random.Generator) -> bytes:
    place = _place(data, rng)
    return data[:place] + token + data[place + int(rng.integers(2)) * len(token) :]


def cut(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: _place(data, rng)]


def flip_bits(data: bytes, rng: np.random.Generator) -> bytes:
    flipped = bytearray(data)
    for _ in range(rng.geometric(0.3)):
        place = _place(data, rng)
        if place < len(flipped):
            flipped[place] ^= 1 << int(rng.integers(8))
    return bytes(flipped)


def set_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    place, n_bytes = _place(data, rng), int(rng.choice([1, 2, 4, 8]))
    kinds = (b"\0" * n_bytes, b"\xff" * n_bytes, b"\xff" * (n_bytes - 1) + b"\x7f")
    choice = rng.integers(4)
    value = rng.bytes(n_bytes) if choice == 3 else kinds[choice]
    return data[:place] + value + data[place + n_bytes :]


def delete(data: bytes, rng: np.random.Generator) -> bytes:
    place = _place(data, rng)
    return data[:place] + data[place + int(rng.geometric(0.05)) :]


def repeat(data: bytes, rng: np.random.Generator) -> bytes:
    place = _place(data, rng)
    piece = data[place : place + int(rng.geometric(0.02))]
    times = int(rng.choice([1, 2, 10, 1000]))
    return data[:place] + piece * times + data[place:]


def swap(data: bytes, rng: np.random.Generator) -> bytes:
    first, second = sorted((_place(data, rng), _place(data, rng)))
    n_bytes = min(int(rng.geometric(0.05)), second - first)
    return (
        data[:first]
        + data[second : second + n_bytes]
        + data[first + n_bytes : second]
        + data[first : first + n_bytes]
        + data[second + n_bytes :]
    )


def insert_token(data: bytes, rng: np.random.Generator) -> bytes:
    return _inserted(data, TOKENS[rng.integers(len(TOKENS))], rng)


def replace_number(data: bytes, rng: np.random.Generator) -> bytes:
    """One of the numbers written as text."""
    place = _place(data, rng)
    found = NUMBER.search(data, place, place + 4096) or NUMBER.search(data, 0, 4096)
    if found is None:
        return set_bytes(data, rng)
    return data[: found.start()] + NUMBERS[rng.integers(len(NUMBERS))] + data[found.end() :]


def splice(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: _place(data, rng)] + data[_place(data, rng) :]


CHANGES: tuple[Change, ...] = (
    *(cut, flip_bits, flip_bits, set_bytes, set_bytes, delete, repeat, swap),
    *(insert_token, insert_token, replace_number, replace_number, splice),
)
