"""Functions of the user's that cut text, named as MODULE:NAME."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from threading import Lock

from sparsetopics.errors import OptionError

TokenizerFunction = Callable[[str], Iterable[str]]

_LOCK = Lock()  # a function that was written for one thread is called by one at a time


def load_tokenizer(name: str) -> TokenizerFunction:
    """Import ``MODULE:NAME``, from the current folder too.

    Raises OptionError if there is no such module or name, or it is nothing to call.
    """
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise OptionError("tokenizer", found=repr(name), wanted="MODULE:NAME")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # last, so that it hides no installed module
    try:
        function = attrgetter(attribute)(importlib.import_module(module_name))
    except Exception as error:  # whatever the module does when imported
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
    except Exception as error:  # whatever the function does
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
