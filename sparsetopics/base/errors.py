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

from collections.abc import Callable

LONGEST_FOUND = 500  # characters of what was found that a message repeats


class SparsetopicsError(Exception):
    """Base of every error raised on purpose; the command line prints it as one line.

    The message says where something is wrong, what was found, what was wanted and what to do.
    """

    def __init__(self, where: str, *, found: str, wanted: str, hint: str = "") -> None:
        tail = f" {hint}" if hint else ""
        super().__init__(_one_line(f"{where}: found {_shortened(found)}, wanted {wanted}.{tail}"))

    def __reduce__(self) -> tuple[Callable[..., SparsetopicsError], tuple[type, str]]:
        """Pickle the finished message, since errors come back from other processes."""
        return _with_message, (type(self), str(self))


def _shortened(found: str) -> str:
    """The beginning of what was found, which may come from a file."""
    return found if len(found) <= LONGEST_FOUND else f"{found[:LONGEST_FOUND]}…"


def _one_line(text: str) -> str:
    """Escape characters that break lines or control a terminal; the text may come from a file."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class OptionError(SparsetopicsError, ValueError):
    """An option out of range, or a combination of options that is not supported."""


class ShapeError(SparsetopicsError, ValueError):
    """Arrays whose shapes do not fit together."""


class UnfittedError(SparsetopicsError, ValueError, AttributeError):
    """An estimator that is used before it is fitted; has the bases of scikit-learn's error."""


class OutputError(SparsetopicsError):
    """An output path that exists already or cannot be written."""


class CorpusError(SparsetopicsError):
    """A corpus that cannot be used."""


class SourceError(CorpusError):
    """An input file that cannot be read as a document collection."""


class CorpusFormatError(CorpusError):
    """A corpus folder that is damaged, incomplete or of another kind."""


class VocabularyError(CorpusError):
    """Two vocabularies that should be the same and are not."""


class RunError(SparsetopicsError):
    """A run folder that is damaged, incomplete or of another kind."""


class ClusterError(SparsetopicsError):
    """A Dask cluster that does not answer, or that lost its data."""


def _with_message(kind: type[SparsetopicsError], message: str) -> SparsetopicsError:
    error = kind.__new__(kind)
    error.args = (message,)
    return error
