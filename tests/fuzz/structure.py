"""Damage that respects a format's outer shape, so that what lies inside is reached."""

import io
import json
import stat
import zipfile
from functools import cache
from typing import Any

import numpy as np

from fuzz.mutation import Change, mutate

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 7, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63) - 1, 10**400),
    *(0.5, -0.0, 1e308, -1e308, 1e-320, float("nan"), float("inf"), float("-inf")),
    *("", "a", "../x", "../../etc/passwd", "/etc/passwd", "C:\\x", "a\0b", "a\nb", "\ud800"),
    *("x" * 5000, "\u2028", "\x1b[31m", "</script><img src=x onerror=alert(1)>", "nan", "1e9"),
    *([], {}, [1], [None], {"a": 1}, [[1, 2], [3]], [0] * 50),
    {"type": "record", "kind": "Popen", "fields": {}},
    {"type": "array", "array": "value", "axes": []},
    {"type": "file", "file": "../x", "bytes": 3, "digest": ""},
    {"type": "number", "number": "O", "value": 1},
)
MEMBER_NAMES = (
    *("../a.txt", "/a.txt", "a/../../b.jsonl", "", ".", "a//b.jsonl", "C:/a.jsonl", "a\nb.jsonl"),
    *("\ud800.jsonl", "x" * 300 + ".jsonl", "b.jsonl", ".hidden/a.jsonl", "a\0b.jsonl", "a.zip"),
)
PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def change_json(data: bytes, rng: np.random.Generator) -> bytes:
    """One to three values, keys or entries of a JSON document replaced, dropped or repeated."""
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return mutate(data, rng)
    for _ in range(rng.integers(1, 4)):
        tree = _changed(tree, rng)
    return json.dumps(tree).encode()


def change_json_lines(data: bytes, rng: np.random.Generator) -> bytes:
    lines = data.split(b"\n")
    line = int(rng.integers(len(lines)))
    lines[line] = change_json(lines[line], rng)
    return b"\n".join(lines)


def _changed(tree: Any, rng: np.random.Generator) -> Any:
    """Go down at random and change what is there."""
    if not isinstance(tree, dict | list) or not tree or rng.random() < 0.1:
        return VALUES[rng.integers(len(VALUES))]
    if isinstance(tree, list):
        place = int(rng.integers(len(tree)))
        choice = rng.random()
        if choice < 0.15:
            return tree[:place] + tree[place + 1 :]
        if choice < 0.3:
            return [*tree, tree[place]]
        return [*tree[:place], _changed(tree[place], rng), *tree[place + 1 :]]
    keys = list(tree)
    key = keys[rng.integers(len(keys))]
    choice = rng.random()
    if choice < 0.15:
        return {other: value for other, value in tree.items() if other != key}
    if choice < 0.25:
        return tree | {key: tree[keys[rng.integers(len(keys))]]}
    if choice < 0.3:
        return tree | {"odd": VALUES[rng.integers(len(VALUES))]}
    return tree | {key: _changed(tree[key], rng)}


def change_safetensors(data: bytes, rng: np.random.Generator) -> bytes:
    """The JSON at the head, with a length that fits it, or one that does not."""
    length = int.from_bytes(data[:8], "little")
    head = change_json(data[8 : 8 + length], rng)
    told = len(head)
    if rng.random() < 0.2:
        told = int(rng.choice([0, 1, 2**31, 2**40, 2**63 - 1]))
    return told.to_bytes(8, "little") + head + data[8 + length :]


def change_npy(data: bytes, rng: np.random.Generator) -> bytes:
    """The Python literal at the head."""
    length = int.from_bytes(data[8:10], "little")
    head = mutate(data[10 : 10 + length], rng, NPY_TOKENS)[:60_000]
    return data[:8] + len(head).to_bytes(2, "little") + head + data[10 + length :]


NPY_TOKENS = (
    *(b"'|O'", b"'<f8'", b"'<U9'", b"'V8'", b"'<c16'", b"[('a','<f8')]", b"True", b"False"),
    *(b"(1000000000000, 1000)", b"(3, 0)", b"(0, 3)", b"(-1, 4)", b"(4,)", b"()", b"(2, 3, 4)"),
    *(b"(99999999999999999999, 2)", b"'<f99'", b"'M8[s]'", b"__import__('os')"),
)


def change_members(change: Change) -> Change:
    """For zip archives: members damaged by ``change``, renamed, repeated, packed otherwise; their
    checksums are true."""

    def changed(data: bytes, rng: np.random.Generator) -> bytes:
        members = list(_members(data))
        chosen = int(rng.integers(len(members)))
        name, content = members[chosen]
        choice = rng.random()
        if choice < 0.6:
            members[chosen] = (name, change(content, rng))
        elif choice < 0.75:
            members[chosen] = (MEMBER_NAMES[rng.integers(len(MEMBER_NAMES))], content)
        elif choice < 0.85:
            members.append((MEMBER_NAMES[rng.integers(len(MEMBER_NAMES))], content))
        else:
            del members[chosen]
        return _zipped(members, rng)

    return changed


@cache
def _members(data: bytes) -> tuple[tuple[str, bytes], ...]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return tuple((info.filename, archive.read(info)) for info in archive.infolist())


def _zipped(members: list[tuple[str, bytes]], rng: np.random.Generator) -> bytes:
    file = io.BytesIO()
    packing = PACKINGS[rng.integers(len(PACKINGS))] if rng.random() < 0.2 else PACKINGS[0]
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members:
            info = zipfile.ZipInfo(name.encode(errors="replace").decode())
            if rng.random() < 0.05:  # a link to another place
                info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, content, packing)
    return file.getvalue()
