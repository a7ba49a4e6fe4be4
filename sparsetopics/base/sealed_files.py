"""Detect damage to files: digests, and JSON that records its own digest.

A digest detects damage and files that belong to something else. It does not stop an attacker, who
can compute it again, so everything that is read is also decoded to a type before it is used.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from sparsetopics.base.errors import SparsetopicsError
from sparsetopics.base.safe_reading import check_own, parse_json, read_small
from sparsetopics.base.wording import reason_of

DIGEST_KEY = "sha256"
VERSION_KEY = "format_version"
LARGEST_SIZE = 2**53  # floats are exact up to here
Size = Annotated[int, Meta(ge=0, le=LARGEST_SIZE)]
PositiveSize = Annotated[int, Meta(ge=1, le=LARGEST_SIZE)]

# The number is that of a rung of a topic path, whose run is a folder.
_FILE_NAME = re.compile(r"([1-9]\d{0,9}/)?[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}")
_LONG_NUMBERS = re.compile(r"\[\n[-+.\de,\s]+\]")  # a list with a line for each number
_EXPECTED = re.compile(r"Expected (.*?)(?:, got .*)?", re.DOTALL)
_MISSING = re.compile("Object missing required field (.*)")
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_TYPES = {  # what people call the types that msgspec names
    "int": "a whole number",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "object": "a JSON object",
    "array": "a list",
}
Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
Record = TypeVar("Record")
_ONE_AT_A_TIME = Lock()


class Refusal(NamedTuple):
    """How files of one kind are refused."""

    error: type[SparsetopicsError]
    redo: str  # how to make the files again, as a sentence without its full stop

    def of(self, where: str | Path, problem: str) -> SparsetopicsError:
        """Return the error for a file that is not as it was written."""
        return self.error(str(where), problem, f"{self.redo}, or restore the file.")

    @contextmanager
    def reading(self, path: str | Path) -> Iterator[None]:
        """Turn OSError and ValueError from reading ``path`` into the error of this kind."""
        try:
            yield
        except FileNotFoundError as error:
            raise self.of(path, "the file is missing") from error
        except OSError as error:
            raise self.error(str(path), f"the file cannot be read ({reason_of(error)})") from error
        except ValueError as error:
            raise self.of(path, reason_of(error)) from error


class FileEntry(msgspec.Struct, frozen=True, rename={"n_bytes": "bytes"}):
    """One file of a folder as it was written."""

    file: str
    n_bytes: Size
    sha256: str

    def __post_init__(self) -> None:
        if not _FILE_NAME.fullmatch(self.file):  # never read outside the folder
            raise ValueError(f"expected a plain file name, but found {self.file!r}")

    @classmethod
    def of(cls, path: Path, name: str = "") -> FileEntry:
        """The entry of a file as it is now; by default, ``name`` is that of the path alone."""
        return cls(name or path.name, path.stat().st_size, file_sha256(path))

    def check_size(self, folder: Path, refusal: Refusal) -> None:
        """Raise the error of ``refusal`` if the file is missing or of another size."""
        path = folder / self.file
        with refusal.reading(path):
            check_own(path)
            n_bytes = path.stat().st_size
        if n_bytes != self.n_bytes:
            found = f"{n_bytes:,} (if the file has just been replaced, try again)"
            raise refusal.of(path, f"expected {self.n_bytes:,} bytes, but found {found}")

    def check(self, folder: Path, refusal: Refusal) -> None:
        """Raise the error of ``refusal`` unless the file is there as it was written."""
        self.check_size(folder, refusal)  # first, because it is quick
        path = folder / self.file
        with refusal.reading(path):
            digest = file_sha256(path)
        if digest != self.sha256:
            problem = f"expected SHA-256 {self.sha256[:12]}…, but found {digest[:12]}…"
            raise refusal.of(path, problem)

    def to_json(self) -> dict[str, str | int]:
        return {"file": self.file, "bytes": self.n_bytes, "sha256": self.sha256}


def absence(path: Path) -> str:
    """Describe what is there instead of a missing file; "" if something has its name.

    Also "" if that cannot be determined; reading the file then says why.
    """
    try:
        path.lstat()
    except FileNotFoundError:
        return f"no {path.name}" if os.path.isdir(path.parent) else "no such folder"
    except NotADirectoryError:
        return "a file"
    except (OSError, ValueError):  # the latter of a name with a NUL byte
        return ""
    return ""


def file_sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_sealed(path: Path, content: Mapping[str, Json], *, indent: int | None = None) -> None:
    """Write a JSON object with the digest of all its other entries.

    With an ``indent``, entries have lines of their own, but lists of numbers do not take several.
    """
    text = json.dumps({**content, DIGEST_KEY: _digest(content)}, indent=indent)
    text = _LONG_NUMBERS.sub(lambda found: " ".join(found[0].split()), text)
    path.write_text(text + "\n", encoding="utf-8")


def _digest(content: Mapping[str, Json]) -> str:
    """SHA-256 of the entries as JSON without spaces, keys in order, characters as ASCII."""
    rest = {key: value for key, value in content.items() if key != DIGEST_KEY}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def read_sealed(path: Path, version: int, refusal: Refusal) -> dict[str, Any]:  # to be decoded
    """Return the object that ``write_sealed`` wrote, with a ``format_version``.

    Raises the error of ``refusal`` if the file cannot be read, is of another version, or does not
    have the digest that it records.
    """
    content = decoded(parsed(read_text(path, refusal), str(path), refusal), dict, path, refusal)
    if content.get(VERSION_KEY) != version:
        problem = f"expected format version {version}, but found {content.get(VERSION_KEY)!r}"
        hint = f"{refusal.redo}, or use the release that wrote it."
        raise refusal.error(str(path), problem, hint)
    try:
        digest = _digest(content)
    except RecursionError as error:  # the encoder allows less depth than the decoder
        raise refusal.of(path, "the JSON is nested too deeply") from error
    stated = content.get(DIGEST_KEY)
    if stated != digest:
        found = "none" if stated is None else f"{str(stated)[:12]}…"
        problem = f"expected {digest[:12]}…, the digest of the other entries, but found {found}"
        raise refusal.of(f"{path}, {DIGEST_KEY}", problem)
    return content


def read_text(path: Path, refusal: Refusal) -> str:
    """Return the text of a small file; raises the error of ``refusal`` if it cannot be read."""
    with refusal.reading(path):
        return read_small(path)


def parsed(text: str, where: str, refusal: Refusal) -> Any:  # callers decode it to a record
    """Return the value of JSON at ``where``; raises the error of ``refusal`` if it is damaged."""
    try:
        return parse_json(text)
    except ValueError as error:
        raise refusal.of(where, f"the JSON is damaged ({reason_of(error)})") from error


# --- decoding to types ----------------------------------------------------------------------------
def decoded(content: Json, kind: type[Record], where: str | Path, refusal: Refusal) -> Record:
    """Convert ``content``, which was parsed from JSON at ``where``, to a ``kind``.

    Raises the error of ``refusal`` for the first entry that does not fit, with its key.
    """
    try:
        return converted(content, kind)
    except msgspec.ValidationError as error:
        raise _misfit(str(error), content, where, refusal) from error
    except UnicodeEncodeError as error:
        raise refusal.of(where, "a name has half of a surrogate pair") from error


def converted(content: Json, kind: type[Record]) -> Record:
    """``msgspec.convert`` in one thread at a time: it crashes if two meet a type for the first
    time."""
    with _ONE_AT_A_TIME:
        return msgspec.convert(content, kind, dec_hook=_decode_path)


def _decode_path(kind: type, value: Json) -> Path:
    """Convert a string to a path, a type that msgspec does not know."""
    if kind is not Path:
        raise TypeError(f"cannot decode {kind.__name__}")
    if isinstance(value, str) and "\0" not in value:
        with suppress(UnicodeEncodeError):  # a name that the system does not allow
            os.fsencode(value)
            return Path(value)
    raise ValueError("Expected `str` of a path")


def _misfit(message: str, content: Json, where: str | Path, refusal: Refusal) -> SparsetopicsError:
    """Translate a message of msgspec such as ``Expected `int`, got `str` - at `$.shards[0]```."""
    what, _, key = message.partition(" - at `$")
    key = key.removesuffix("`").removeprefix(".")
    place = f"{where}, {key}" if key else where
    expected = _EXPECTED.fullmatch(what)
    if expected is None:
        problem = _MISSING.sub(r"the field \1 is missing", _plain(what))
        return refusal.of(place, problem.replace("Invalid enum value", "invalid value"))
    found = ascii(_value_at(content, key))
    return refusal.of(place, f"expected {_plain(expected[1])}, but found {found}")


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
    """Return a message of msgspec without backquotes, and with words for types."""

    def words(quoted: re.Match[str]) -> str:
        return " or ".join(_TYPES.get(kind, kind) for kind in quoted[1].split(" | "))

    return re.sub("`([^`]*)`", words, text.strip()).rstrip(".")
