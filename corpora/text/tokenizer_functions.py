"""Functions of users that cut text, named as MODULE:NAME."""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from operator import attrgetter
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import NamedTuple, TypeVar

from sparsetopics.base.errors import OptionError

TokenizerFunction = Callable[[str], Iterable[str]]
Item = TypeVar("Item")
Result = TypeVar("Result")

_LOCK = Lock()  # one thread at a time, because a function may be written for one only


class FunctionCode(NamedTuple):
    """What another process needs to find a function and to check that it is the same."""

    folder: str  # the current folder
    digest: str  # of the file of the module


def load_tokenizer(name: str, folder: str | None = None) -> TokenizerFunction:
    """Import ``MODULE:NAME``; the module is installed or in ``folder`` (default: the current one).

    Raises OptionError if there is no such module or name, or if it is not callable.
    """
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise OptionError("tokenizer", found=repr(name), wanted="MODULE:NAME")
    folder = folder or os.getcwd()
    if folder not in sys.path:
        sys.path.append(folder)  # last, so that it hides no installed module
    try:
        function = attrgetter(attribute)(importlib.import_module(module_name))
    except Exception as error:  # a module may raise anything when imported
        raise OptionError(
            "tokenizer",
            found=f"{name!r}, which cannot be imported ({_said(error)})",
            wanted="MODULE:NAME in the current folder or an installed package",
        ) from error
    if not callable(function):
        raise OptionError(
            "tokenizer",
            found=f"{name!r}, which is of type {type(function).__name__}",
            wanted="a function of a text that returns its words",
        )
    loaded: TokenizerFunction = function
    return loaded


def where_function_is_same(
    work: Callable[[Item], Result], name: str | None
) -> Callable[[Item], Result]:
    """``work``, made to raise OptionError in a process where the function ``MODULE:NAME`` is
    missing or differs from that of this process; ``work`` itself without a name."""
    if name is None:
        return work
    load_tokenizer(name)
    return partial(_checked, work, name, FunctionCode(os.getcwd(), _digest(_module_of(name))))


def _checked(work: Callable[[Item], Result], name: str, code: FunctionCode, item: Item) -> Result:
    _check_same(name, code)
    return work(item)


@lru_cache(maxsize=8)
def _check_same(name: str, code: FunctionCode) -> None:
    wanted = "the same module in every worker as in this process"
    try:
        load_tokenizer(name, code.folder)
    except OptionError as error:
        raise OptionError(
            f"tokenizer {name}",
            found=f"a worker that cannot import it ({str(error).partition(', wanted')[0]})",
            wanted=wanted,
            hint="Install it there, or keep it on a disk that all machines share.",
        ) from error
    if _digest(_module_of(name)) != code.digest:
        raise OptionError(
            f"tokenizer {name}",
            found="a worker that has imported another file",
            wanted=wanted,
            hint="Install it there; workers that imported it before it changed must be restarted.",
        )


def _module_of(name: str) -> ModuleType:
    return sys.modules[name.partition(":")[0]]


@lru_cache(maxsize=8)  # by the module as it was imported: the file may change later
def _digest(module: ModuleType) -> str:
    """SHA-256 of the file of a module; "" for a module that is built into the interpreter."""
    file = getattr(module, "__file__", None)
    return "" if file is None else hashlib.sha256(Path(file).read_bytes()).hexdigest()


def call_tokenizer(name: str, texts: Sequence[str]) -> list[list[str]]:
    """The words of each text; OptionError if the function fails or returns something else."""
    function = load_tokenizer(name)
    with _LOCK:
        return [_words(function, name, text) for text in texts]


def _words(function: TokenizerFunction, name: str, text: str) -> list[str]:
    try:
        words = function(text)
        found = type(words).__name__
        listed = None if isinstance(words, str | bytes) else list(words)
    except Exception as error:  # a function may raise anything
        raise _wrong(name, text, _said(error)) from error
    if listed is None:
        raise _wrong(name, text, f"a {found}")
    for word in listed:
        if not isinstance(word, str):
            raise _wrong(name, text, f"{type(word).__name__} {word!r:.40} as a word")
    try:
        "".join(listed).encode()
    except UnicodeEncodeError as error:
        raise _wrong(name, text, "half of a surrogate pair") from error
    return [word for word in listed if word]


def _wrong(name: str, text: str, found: str) -> OptionError:
    return OptionError(
        f"tokenizer {name}, text {text[:30]!r}",
        found=found,
        wanted="the words of the text, an iterable of strings",
    )


def _said(error: Exception) -> str:
    first, *_ = [*str(error).splitlines(), ""]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
