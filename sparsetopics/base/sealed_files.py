"""Detect damage to files: digests, and JSON that records its own digest.

A digest detects damage and files that belong to something else. It does not stop an attacker, who
can compute it again, so everything that is read is also decoded to a type before it is used.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NoReturn, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from sparsetopics.base.errors import SparsetopicsError
from sparsetopics.base.safe_reading import check_own, parse_json, read_small

DIGEST_KEY = "sha256"
VERSION_KEY = "format_version"
LARGEST_SIZE = 2**53  # floats are exact up to here
Size = Annotated[int, Meta(ge=0, le=LARGEST_SIZE)]
PositiveSize = Annotated[int, Meta(ge=1, le=LARGEST_SIZE)]

_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}")
_MESSAGE = re.compile(r"(?P<what>.*?)(?: - at `\$\.?(?P<key>.*)`)?", re.DOTALL)
_EXPECTED = re.compile(r"Expected (?P<wanted>.*?)(?:, got .*)?", re.DOTALL)
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_TYPES = {  # msgspec's names of JSON types, for people
    "int": "a whole number",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "object": "a JSON object",
    "array": "a list",
}
Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
Record = TypeVar("Record")


class Refusal(NamedTuple):
    """How files of one kind are refused."""

    error: type[SparsetopicsError]
    redo: str  # how to make the files again, as a sentence without its full stop

    def of(self, where: str | Path, *, found: str, wanted: str) -> SparsetopicsError:
        """The error for a file that is not as it was written."""
        return self.error(
            str(where), found=found, wanted=wanted, hint=f"{self.redo}, or restore the file."
        )

    def unreadable(self, path: Path, error: OSError) -> SparsetopicsError:
        """The error for a file that is there but cannot be read, with the system's reason."""
        reason = error.strerror or str(error)
        if isinstance(error, FileNotFoundError):
            return self.of(path, found="no such file", wanted="the file that was written")
        return self.error(
            str(path), found=f"a file that cannot be read ({reason})", wanted="a readable file"
        )

    def version(self, path: Path, found: Json, wanted: int) -> SparsetopicsError:
        """The error for a file of another format."""
        return self.error(
            str(path),
            found=f"format version {found!r}",
            wanted=f"format version {wanted}",
            hint=f"{self.redo}, or use the release that wrote it.",
        )


class FileEntry(msgspec.Struct, frozen=True, rename={"n_bytes": "bytes"}):
    """One file of a folder as it was written."""

    file: str
    n_bytes: Size
    sha256: str

    def __post_init__(self) -> None:
        if not _FILE_NAME.fullmatch(self.file):  # never read outside the folder
            raise ValueError(f"the file name {self.file!r}")

    @classmethod
    def of(cls, path: Path) -> FileEntry:
        return cls(path.name, path.stat().st_size, file_sha256(path))

    def check_size(self, folder: Path, refusal: Refusal) -> None:
        """Raise the error of ``refusal`` if the file is missing or of another size."""
        path = folder / self.file
        try:
            check_own(path)
            n_bytes = path.stat().st_size
        except OSError as error:
            raise refusal.unreadable(path, error) from error
        except ValueError as error:
            raise refusal.of(path, found=str(error), wanted=f"{self.n_bytes:,} bytes") from error
        if n_bytes != self.n_bytes:
            raise refusal.of(path, found=f"{n_bytes:,} bytes", wanted=f"{self.n_bytes:,} bytes")

    def check(self, folder: Path, refusal: Refusal) -> None:
        """Raise the error of ``refusal`` unless the file is there as it was written."""
        self.check_size(folder, refusal)
        try:
            found = file_sha256(folder / self.file)
        except OSError as error:
            raise refusal.unreadable(folder / self.file, error) from error
        if found != self.sha256:
            raise refusal.of(
                folder / self.file,
                found=f"SHA-256 {found[:12]}…",
                wanted=f"{self.sha256[:12]}…, that of the file that was written",
            )

    def alone(self) -> FileEntry:
        """The entry without what subclasses add."""
        return FileEntry(self.file, self.n_bytes, self.sha256)

    def to_json(self) -> dict[str, str | int]:
        return {"file": self.file, "bytes": self.n_bytes, "sha256": self.sha256}


def absence(path: Path) -> str:
    """Describe what is there instead of a missing file; "" if something has its name.

    Also "" if that cannot be determined; reading the file then says why.
    """
    try:
        path.lstat()
    except FileNotFoundError:
        return f"no {path.name}" if os.path.isdir(path.parent) else "nothing"
    except NotADirectoryError:
        return "a file"
    except OSError:
        return ""
    return ""


def file_sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_sealed(path: Path, content: Mapping[str, Json], *, indent: int | None = None) -> None:
    """Write a JSON object with the digest of all its other entries."""
    sealed = {**content, DIGEST_KEY: _digest(content)}
    path.write_text(json.dumps(sealed, indent=indent) + "\n", encoding="utf-8")


def _digest(content: Mapping[str, Json]) -> str:
    """SHA-256 of the entries as JSON without spaces, keys in order, characters as ASCII."""
    rest = {key: value for key, value in content.items() if key != DIGEST_KEY}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def read_sealed(
    path: Path, version: int, refusal: Refusal
) -> dict[str, Any]:  # callers decode it to a record
    """Return the object that ``write_sealed`` wrote, with a ``format_version``.

    Raises the error of ``refusal`` if the file cannot be read, is of another version, or does not
    have the digest that it records.
    """
    content = read_object(path, refusal)
    found = content.get(VERSION_KEY)
    if found != version:
        raise refusal.version(path, found, version)
    try:
        wanted = _digest(content)
    except RecursionError as error:
        raise refusal.of(path, found="deep nesting", wanted="what was written") from error
    if content.get(DIGEST_KEY) != wanted:
        found = content.get(DIGEST_KEY)
        raise refusal.of(
            f"{path}, {DIGEST_KEY}",
            found="no digest" if found is None else f"{str(found)[:12]}…",
            wanted=f"{wanted[:12]}…, that of the other entries",
        )
    return content


def read_object(path: Path, refusal: Refusal) -> dict[str, Any]:  # callers decode it to a record
    """Read a JSON object from a file; raises the error of ``refusal`` if there is none."""
    content = parsed(read_text(path, refusal), str(path), refusal)
    return decoded(content, dict, str(path), refusal)


def read_text(path: Path, refusal: Refusal) -> str:
    """Return the text of a small file; raises the error of ``refusal`` if it cannot be read."""
    try:
        return read_small(path)
    except OSError as error:
        raise refusal.unreadable(path, error) from error
    except ValueError as error:
        raise refusal.of(path, found=str(error), wanted="a readable file") from error


def parsed(text: str, where: str, refusal: Refusal) -> Any:  # callers decode it to a record
    """Return the value of JSON at ``where``; raises the error of ``refusal`` if it is damaged."""
    try:
        return parse_json(text)
    except ValueError as error:
        raise refusal.of(where, found=f"damaged JSON ({error})", wanted="JSON") from error


def decoded(content: Json, kind: type[Record], where: str, refusal: Refusal) -> Record:
    """Convert ``content``, which was parsed from JSON at ``where``, to a ``kind``.

    Raises the error of ``refusal`` for the first entry that does not fit, with its key.
    """
    try:
        return msgspec.convert(content, kind, dec_hook=_decode_path)
    except msgspec.ValidationError as error:
        _refuse(str(error), content, where, refusal, error)
    except UnicodeEncodeError as error:
        found = "a name with half of a surrogate pair"
        raise refusal.of(where, found=found, wanted="names in Unicode") from error


def _decode_path(kind: type, value: Json) -> Path:
    """Convert a string to a path, a type that msgspec does not know."""
    if kind is not Path:
        raise TypeError(f"cannot decode {kind.__name__}")
    if not isinstance(value, str) or "\0" in value or not _is_encodable(value):
        raise ValueError("Expected `str` of a path")
    return Path(value)


def _is_encodable(path: str) -> bool:
    """Whether the system allows a file of that name."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def _refuse(
    message: str, content: Json, where: str, refusal: Refusal, error: msgspec.ValidationError
) -> NoReturn:
    parts = _MESSAGE.fullmatch(message)
    assert parts is not None  # the pattern matches any text
    what, key = parts["what"], parts["key"] or ""
    place = f"{where}, {key}" if key else where
    expected = _EXPECTED.fullmatch(what)
    if expected is None:
        raise refusal.of(place, found=_plain(what), wanted="what was written") from error
    found = ascii(_value_at(content, key))
    raise refusal.of(place, found=found, wanted=_plain(expected["wanted"])) from error


def _value_at(content: Json, key: str) -> Json:
    """Return the value at a key such as ``shards[0].bytes``, or at the part that can be followed.

    msgspec writes ``[...]`` for any key of a mapping, which cannot be followed.
    """
    for number, name in _STEP.findall(key):
        if number and isinstance(content, list) and int(number) < len(content):
            content = content[int(number)]
        elif name and isinstance(content, dict) and name in content:
            content = content[name]
        else:
            return content
    return content


def _plain(text: str) -> str:
    """A message of msgspec without backquotes, and with words for types."""

    def words(quoted: re.Match[str]) -> str:
        kinds = quoted[1].split(" | ")
        return " or ".join(_TYPES.get(kind, kind) for kind in kinds)

    return re.sub("`([^`]*)`", words, text.strip()).rstrip(".")
