"""Functions of users that cut text, named as MODULE:NAME."""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from operator import attrgetter
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any, TypeVar

from sparsetopics.base.errors import OptionError, VocabularyError
from sparsetopics.base.wording import kind_and_reason_of
from sparsetopics.options.option import TokenizerFunction, shown

Item = TypeVar("Item")
Result = TypeVar("Result")

_LOCK = Lock()  # one thread at a time, because a function may be written for one only


def name_of(function: Callable[..., Result]) -> str:
    """``MODULE:NAME`` of a function where it is defined; of other objects, that of the class."""
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{getattr(named, '__module__', 'builtins')}:{named.__qualname__}"


class GivenFunction(str):
    """The name of a function that was passed as an object, so it need not be imported."""

    function: TokenizerFunction

    @classmethod
    def of(cls, function: TokenizerFunction) -> GivenFunction:
        """The function under the name ``MODULE:NAME`` that it has where it is defined."""
        given = cls(name_of(function))
        given.function = function
        return given


class StoredName(str):
    """The name of a function that a vocabulary stores, but that the user has not named."""


def load_tokenizer(name: str) -> TokenizerFunction:
    """Import ``MODULE:NAME``; the module is installed or in the current folder.

    Raises OptionError if there is no such module or name, or if it is not callable, and
    VocabularyError for a name that is only stored.
    """
    if isinstance(name, GivenFunction):
        return name.function
    if isinstance(name, StoredName):
        problem = f"its words were cut by the function {str(name)!r}, which runs only on request"
        hint = "Pass the function to Corpus.from_texts or infer in Python, or pass lists of words."
        hint = hint if "<" in name else f"Pass --tokenizer {name}. {hint}"
        raise VocabularyError("vocabulary", problem, hint)
    function: TokenizerFunction = load_function(name, "tokenizer", "from a text to its words")
    return function


def load_function(name: str, option: str, purpose: str) -> Any:  # a user's function
    """Import ``MODULE:NAME`` for an option; the module is installed or in the current folder.

    Raises OptionError if there is no such module or name, or if it is not callable.
    """
    if not all(name.partition(":")):
        raise OptionError(option, f"expected MODULE:NAME, but found {name!r}")
    try:
        function = _imported(name, os.getcwd())
    except Exception as error:  # a module may raise anything when imported
        problem = f"{name!r} cannot be imported ({kind_and_reason_of(error)})"
        hint = "Name MODULE:NAME in the current folder or an installed package."
        raise OptionError(option, problem, hint) from error
    if not callable(function):
        problem = f"{name!r} must be a function {purpose}"
        raise OptionError(option, f"{problem}, but is of type {type(function).__name__}")
    return function


def _imported(name: str, folder: str) -> Any:  # a user's object
    """What ``MODULE:NAME`` names, in an installed module or one in ``folder``."""
    if folder not in sys.path:
        sys.path.append(folder)  # last, so that it hides no installed module
    module_name, _, attribute = name.partition(":")
    return attrgetter(attribute)(importlib.import_module(module_name))


def where_function_is_same(
    work: Callable[[Item], Result], name: str | None
) -> Callable[[Item], Result]:
    """``work``, made to raise OptionError in a process where the function ``MODULE:NAME`` is
    missing or differs from that of this process; ``work`` itself without a name to import."""
    if name is None or isinstance(name, StoredName):
        return work
    load_tokenizer(name)
    return partial(_checked, work, name, os.getcwd(), _digest(module_of(name)))


def _checked(
    work: Callable[[Item], Result], name: str, folder: str, digest: str, item: Item
) -> Result:
    _check_same(name, folder, digest)
    return work(item)


@lru_cache(maxsize=8)
def _check_same(name: str, folder: str, digest: str) -> None:
    """Find the function here, perhaps in ``folder``, and compare the file of its module."""
    where = f"tokenizer {name}"
    try:
        _imported(name, folder)
    except Exception as error:  # a module may raise anything when imported
        problem = f"a worker cannot import it ({kind_and_reason_of(error)})"
        hint = "Install it there, or keep it on a disk that all machines share."
        raise OptionError(where, problem, hint) from error
    if _digest(module_of(name)) != digest:
        hint = "Install it there, and restart workers that imported it before it changed."
        raise OptionError(where, "a worker has imported a different file", hint)


def module_of(name: str) -> ModuleType:
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
    where = f"tokenizer {name}, text {text[:30]!r}"
    try:
        words = function(text)
        listed = list(words)
    except Exception as error:  # a function may raise anything
        problem = f"the function failed to return words: {kind_and_reason_of(error)}"
        raise OptionError(where, problem) from error
    if isinstance(words, str | bytes):
        raise OptionError(where, f"expected a list of words, but found a {type(words).__name__}")
    for word in listed:
        if not isinstance(word, str):
            raise OptionError(where, f"expected words as strings, but found {shown(word)}")
    try:
        "".join(listed).encode()
    except UnicodeEncodeError as error:
        raise OptionError(where, "a word has half of a surrogate pair") from error
    return [word for word in listed if word]
