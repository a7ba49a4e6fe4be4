"""Errors that a user can meet.

SparsetopicsError
├── OptionError            an option out of range, or a combination that is not supported
├── ShapeError             arrays that do not fit together
├── UnfittedError          an estimator that is used before it is fitted
├── OutputError            an output that exists or cannot be written
├── CorpusError            a corpus that cannot be used
│   ├── SourceError        an input document collection that cannot be read
│   ├── CorpusFormatError  a corpus folder that is damaged or of another kind
│   └── VocabularyError    two vocabularies that should be one
├── RunError               a run folder that is damaged or of another kind
└── ClusterError           a Dask cluster that cannot be used
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sparsetopics.base.showing import shortened
from sparsetopics.base.wording import printable, reason_of

E = TypeVar("E", bound="SparsetopicsError")
_NOT_OF_USERS = frozenset({"sparsetopics", "sklearn", "joblib", "contextlib"})
FLAGS = {"overwrite": "overwrite=True"}  # that messages ask for
LONGEST_PART = 1000  # characters of a message's parts, which may come from a file


class SparsetopicsError(Exception):
    """Base of every error raised on purpose; the command line prints it as one line.

    Its message is ``where: problem. hint``. The problem begins in lower case, has no full stop, and
    mostly reads "expected 3 columns, but found 4"; the hint is one or more sentences. Both name
    options as ``--name``. Callers that know how the user wrote them rename them with ``renamed``.
    """

    def __init__(self, where: str, problem: str, hint: str = "") -> None:
        self.where = printable(shortened(where, LONGEST_PART))
        self.text = printable(f"{shortened(problem, LONGEST_PART)}. {hint}".rstrip())
        super().__init__(f"{self.where}: {self.text}")

    def __reduce__(self) -> tuple[Callable[..., SparsetopicsError], tuple[type, str, str]]:
        """Pickle the finished message, since errors come back from other processes."""
        return _restored, (type(self), self.where, self.text)

    def renamed(self: E, where: str, other: Callable[[str], str] = "--{}".format) -> E:
        """The same error with ``where`` as given, and ``other(name)`` in place of ``--name``."""
        text = re.sub(r"--([a-z][a-z-]*)", lambda match: other(match[1]), self.text)
        return _restored(type(self), where, text)


class SparsetopicsWarning(UserWarning):
    """Something that can be done, but that may not be what was meant."""


class OptionError(SparsetopicsError, ValueError):
    """An option out of range, or a combination of options that is not supported.

    ``where`` is the name of the option.
    """


class ShapeError(SparsetopicsError, ValueError):
    """Arrays whose shapes do not fit together."""


class UnfittedError(SparsetopicsError, ValueError, AttributeError):
    """An estimator that is used before it is fitted; has the bases of scikit-learn's error."""


class OutputError(SparsetopicsError):
    """An output path that exists already or cannot be written."""


class CorpusError(SparsetopicsError):
    """A corpus that cannot be used."""


class SourceError(CorpusError, ValueError):
    """A file, or an argument, that cannot be read as a collection."""


class CorpusFormatError(CorpusError):
    """A corpus folder that is damaged, incomplete or of another kind."""


class VocabularyError(CorpusError, ValueError):
    """Two vocabularies that should be the same and are not."""


class RunError(SparsetopicsError):
    """A run folder that is damaged, incomplete or of another kind."""


class ClusterError(SparsetopicsError):
    """A Dask cluster that does not answer, or that lost its data."""


def warn_user(sentence: str, kind: type[UserWarning] = SparsetopicsWarning) -> None:
    """Warn at the user's line that called this package, directly or through another."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in _NOT_OF_USERS:
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, kind, stacklevel=level)


def parameter(option: str) -> str:
    """The parameter of Python that an option of the commands is."""
    return {"out": "path", "date-format": "date_formats"}.get(option, option.replace("-", "_"))


@contextmanager
def naming_parameters(name_of: Callable[[str], str] = parameter) -> Iterator[None]:
    """Name options in errors as parameters of Python, not as the commands do.

    ``name_of`` an option is the parameter; by default, ``parameter`` finds it.
    """
    try:
        yield
    except (OptionError, OutputError, CorpusError) as error:
        where = name_of(error.where) if isinstance(error, OptionError) else error.where
        raise error.renamed(where, lambda option: FLAGS.get(option, name_of(option))) from None


@contextmanager
def needing(extra: str, option: str, problem: str) -> Iterator[None]:
    """Raise OptionError for a package that cannot be imported, which ``extra`` installs.

    ``problem`` has {} in the place of its name.
    """
    try:
        yield
    except ImportError as error:
        hint = f"Install it with: pip install 'sparsetopics[{extra}]'."
        raise OptionError(option, problem.format(error.name), hint) from error


@contextmanager
def source_errors(
    where: str, kinds: type[Exception] | tuple[type[Exception], ...], problem: str, hint: str = ""
) -> Iterator[None]:
    """Raise SourceError with the ``problem`` and the reason for errors of these kinds."""
    try:
        yield
    except SourceError:
        raise
    except kinds as error:
        raise SourceError(where, f"{problem} ({reason_of(error)})", hint) from error


def _restored(kind: type[E], where: str, text: str) -> E:
    """An error from the parts of its message."""
    error = kind.__new__(kind)
    error.where, error.text, error.args = where, text, (f"{where}: {text}",)
    return error
