"""Files behind a URL, such as s3://bucket/news.jsonl.gz, read with fsspec if it is installed."""

from __future__ import annotations

import errno
import importlib
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Literal

from sparsetopics.base.errors import OptionError, SourceError, source_errors
from sparsetopics.base.wording import kind_and_reason_of, reason_of

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from types import SimpleNamespace

    from _typeshed import WriteableBuffer
    from aiohttp import ClientSession, TraceRequestRedirectParams
    from fsspec import AbstractFileSystem

_URL = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_WEB = re.compile(r"(?:^|::)(https?)://")  # perhaps of an archive that another protocol reads
_PATTERN = re.compile(r"[*?\[]")
_READ_AHEAD = 1 << 20  # bytes


def is_url(source: object) -> bool:
    """Whether a source is a URL and not a path."""
    return isinstance(source, str) and _URL.match(source) is not None


@dataclass(frozen=True, eq=False)
class RemoteFile:
    """A file of a file system of fsspec, with those methods of ``pathlib.Path`` that reading
    needs."""

    system: AbstractFileSystem
    path: str  # as the file system knows it
    is_web: bool  # a question mark ends the name, and bytes can only be read in order

    def __str__(self) -> str:
        return str(self.system.unstrip_protocol(self.path))

    @property
    def name(self) -> str:
        name = self.path.rstrip("/").rpartition("/")[2]
        return name.partition("?")[0] if self.is_web else name

    @property
    def n_bytes(self) -> int:
        with _as_os_errors():
            return int(self.system.size(self.path) or 0)

    def open(self, mode: Literal["rb"]) -> IO[bytes]:
        """Its bytes, fetched as they are read."""
        # As one stream from the web, because many servers know no ranges.
        options = {"block_size": 0} if self.is_web else {}
        with _as_os_errors():
            stream = self.system.open(self.path, mode, **options)
        return io.BufferedReader(_RemoteStream(stream, is_seekable=not self.is_web), _READ_AHEAD)

    def is_file(self) -> bool:
        with _as_os_errors():
            return bool(self.system.isfile(self.path))

    def with_name(self, name: str) -> RemoteFile:
        return replace(self, path=f"{self.path.rpartition('/')[0]}/{name}")


def find_remote(url: str) -> tuple[list[RemoteFile], str | None]:
    """The file, the files of a folder, or those that match a pattern; sorted. Then the folder that
    they lie in, or None if the URL names the files.

    Raises OptionError if fsspec or the package for the protocol is missing, SourceError if there is
    no such file or its service cannot be reached.
    """
    system, path = _system_of(url)
    is_web = url.lower().startswith("http")
    with source_errors(url, OSError, "cannot be read"), _as_os_errors():
        if _PATTERN.search(path) and not is_web:
            paths, folder = [p for p in system.glob(path) if system.isfile(p)], None
        elif system.isfile(path):
            paths, folder = [path], None
        else:
            paths, folder = system.find(path), path
    if not paths:
        raise SourceError(url, "no file or folder has this name or matches this pattern")
    return [RemoteFile(system, path, is_web) for path in sorted(paths)], folder


def _system_of(url: str) -> tuple[AbstractFileSystem, str]:
    """The file system of fsspec and the path in it."""
    web = {protocol: {"get_client": _client} for protocol in _WEB.findall(url)}
    try:
        system, path = importlib.import_module("fsspec.core").url_to_fs(url, **web)
    except ImportError as error:  # of fsspec, or of the package that knows the protocol
        problem = f"a package that reads such a URL is missing ({reason_of(error)})"
        hint = "Install it with: pip install 'sparsetopics[remote]', or the package in parentheses."
        raise OptionError(url, problem, hint) from error
    except Exception as error:  # such a package may raise anything for a URL
        raise SourceError(url, f"the URL cannot be opened ({reason_of(error)})") from error
    return system, str(path)


async def _client(loop: AbstractEventLoop) -> ClientSession:
    """A session for the web in which servers cannot send requests to hosts of their choice."""
    aiohttp = importlib.import_module("aiohttp")
    trace = aiohttp.TraceConfig()
    trace.on_request_redirect.append(_check_redirect)
    return aiohttp.ClientSession(loop=loop, trace_configs=[trace])


async def _check_redirect(
    session: ClientSession, context: SimpleNamespace, params: TraceRequestRedirectParams
) -> None:
    """Raise OSError for a redirect to another host, such as one inside a private network."""
    target = params.url.join(type(params.url)(params.response.headers["Location"]))
    if target.host != params.url.host:
        raise OSError(f"it redirects to another host; if you trust it, give {target} instead")


class ReadStream(io.RawIOBase):
    """A raw stream over another stream; subclasses watch what is read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.n_read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        with memoryview(buffer).cast("B") as view:
            data = self._stream.read(len(view))
            view[: len(data)] = data
        self.n_read += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


class _RemoteStream(ReadStream):
    """A stream of fsspec that raises nothing but OSErrors."""

    def __init__(self, stream: IO[bytes], *, is_seekable: bool) -> None:
        super().__init__(stream)
        self._is_seekable = is_seekable

    def seekable(self) -> bool:
        return self._is_seekable

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        with _as_os_errors():
            return super().readinto(buffer)

    def seek(self, offset: int, whence: int = 0, /) -> int:
        with _as_os_errors():
            return int(self._stream.seek(offset, whence))

    def tell(self) -> int:
        return int(self._stream.tell())


@contextmanager
def _as_os_errors() -> Iterator[None]:
    try:
        yield
    except OSError:
        raise
    except Exception as error:  # each service has errors of its own
        raise OSError(errno.EIO, kind_and_reason_of(error)) from error
