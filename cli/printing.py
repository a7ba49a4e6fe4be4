"""What commands print and log: every line for people, results as JSON, and tables of scores.

Lines go through ``printable``, since words, names and ids come from files and may hold sequences
that control a terminal. JSON escapes them itself. ``--quiet`` and ``--log-file`` are obeyed here,
so that commands need not know of them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Literal, TypeVar

import click

from sparsetopics.base.wording import printable, with_marks, without_middle

T = TypeVar("T")
Scores = Mapping[str, str | float | Mapping[str, float | None] | None]  # by their keys in JSON

Level = Literal["INFO", "WARNING", "ERROR"]

JSON = "sparsetopics.json"  # of a context: whether results are printed as JSON
QUIET = "sparsetopics.quiet"  # of a context: whether only errors and JSON are printed
LOG = "sparsetopics.log"  # of a context: the descriptor of the log file
WIDTH = 80  # characters of a table, if names are not too long
LONGEST_NAME = 24  # of a run in a table, if that tells all runs apart
_GAP = "  "
_HEADS = {  # key of the records: head of the column, decimals
    "log_likelihood_per_item": ("log-lik/item", 4),
    "log_likelihood_per_token": ("log-lik/token", 4),
    "in_sample_log_likelihood_per_item": ("in-sample/item", 4),
    "in_sample_log_likelihood_per_token": ("in-sample", 4),
    "standard_error": ("std.err", 4),
    "difference_from_best": ("difference", 4),
    "difference_standard_error": ("std.err", 4),
    "share_of_gain": ("gain", 2),
    "perplexity": ("perplexity", 1),
    "unigram_log_likelihood_per_token": ("unigram", 4),
    "n_topics": ("topics", 0),
    "n_components": ("components", 0),
    "n_used_components": ("used", 0),
    "npmi": ("NPMI", 3),
    "coherence": ("NPMI", 3),
    "u_mass": ("u_mass", 3),
    "c_v": ("c_v", 3),
    "c_npmi": ("c_npmi", 3),
    "exclusivity": ("exclusive", 3),
    "diversity": ("diversity", 3),
    "empty_topics": ("empty", 0),
    "inverted_rbo": ("inv.RBO", 3),
    "elbo_per_item": ("ELBO/item", 4),
    "elbo_per_token": ("ELBO/token", 4),
    "criterion_per_token": ("criterion", 4),
    "nmi": ("NMI", 4),
    "hungarian_accuracy": ("accuracy", 4),
    "majority_accuracy": ("majority", 4),
    "laps": ("laps", 0),
}
# Of the running command. Not the context of click itself, which other threads do not see.
_asked: dict[str, int] = {}


def show(record: T, lines: Iterable[str]) -> None:
    """Print a record as JSON, with dates as strings, or else the same facts as lines."""
    import json  # not with this module, which --help needs
    from datetime import date

    if is_json():
        click.echo(printable(json.dumps(record, default=date.isoformat)))
    else:
        show_marked(lines, ())


def show_marked(lines: Iterable[str], words: Sequence[str]) -> None:
    """Print lines, on a terminal with ``words`` in bold unless NO_COLOR is set (no-color.org)."""
    is_bold = _is_terminal() and not os.environ.get("NO_COLOR")
    for line in map(printable, lines):
        note(line)
        pieces = with_marks(line, words if is_bold else ())
        if not _asked.get(QUIET):
            click.echo(
                "".join(click.style(piece, bold=True) if bold else piece for piece, bold in pieces)
            )


def _is_terminal() -> bool:
    return sys.stdout.isatty()


def show_help(ctx: click.Context) -> None:
    """Print the help of a command."""
    click.echo(ctx.get_help(), color=ctx.color)


# --- messages and the log file --------------------------------------------------------------------
@contextmanager
def obeying(asked: dict[str, int]) -> Iterator[None]:
    """Let ``asked``, which has JSON, QUIET and LOG as its keys, decide what goes where."""
    global _asked
    before, _asked = _asked, asked
    try:
        yield
    finally:
        _asked = before


def is_json() -> bool:
    """Whether results are printed as JSON."""
    return bool(_asked.get(JSON))


def has_bars() -> bool:
    """Whether progress is shown as something that moves in a terminal."""
    return sys.stderr.isatty() and not _asked.get(QUIET)


def _write_to_stderr(line: str) -> None:
    """A stderr that is full or unread stops no work."""
    try:
        click.echo(line, err=True)
    except OSError:  # the rest goes nowhere, or Python would complain when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def say(
    sentence: str, level: Level = "INFO", write: Callable[[str], None] = _write_to_stderr
) -> None:
    """Print a line of progress, a remark, a warning or an error on stderr, and log it."""
    note(sentence, level)
    if level == "ERROR" or not _asked.get(QUIET):
        write(printable(sentence))


def note(sentence: str, level: Level = "INFO") -> None:
    """Only log a line, if there is a log file. A disk that is full stops no work."""
    from datetime import datetime  # not with this module, which --help needs

    if LOG in _asked:
        when = datetime.now().astimezone().isoformat(timespec="seconds")
        entry = f"{when} {level} {printable(sentence.removeprefix(f'{level.title()}: '))}\n"
        with suppress(OSError):
            # In one call, so that lines of several processes do not mix.
            os.write(_asked[LOG], entry.encode())


# --- tables of scores -----------------------------------------------------------------------------
def score_lines(
    names: Sequence[str], kinds: Sequence[str], records: Sequence[Scores], width: int = WIDTH
) -> list[str]:
    """Return a table with a row for each record, without columns that are all empty.

    Without ``kinds``, there is no column for them. A missing number is a dash.
    """
    first, records = ["run", *short_names(names)], [_in_columns(record) for record in records]
    columns = [aligned(["model", *kinds])] if kinds else []
    for key, (head, digits) in _HEADS.items():
        values = [record.get(key) for record in records]
        if any(value is not None for value in values):
            cells = ("-" if value is None else f"{value:.{digits}f}" for value in values)
            columns.append(aligned([head, *cells], ">"))
    return lines_of_columns(first, columns, width)


def _in_columns(record: Scores) -> Scores:
    """The scores; those of training data are in columns of their own."""
    prefix = "in_sample_" if record.get("in_sample") else ""
    return {prefix * key.startswith("log_lik") + key: value for key, value in record.items()}


def lines_of_columns(
    head: Sequence[str], columns: Sequence[list[str]], width: int = WIDTH
) -> list[str]:
    """Return a table whose columns have cells of one width each; ``head`` names the rows.

    Columns that do not fit in ``width`` make another table below, with the names repeated.
    """
    first = aligned(head)
    tables: list[list[list[str]]] = []
    left = 0
    for column in columns:
        needed = len(_GAP) + len(column[0])
        if not tables or needed > left:
            tables.append([first])
            left = width - len(first[0])
        tables[-1].append(column)
        left -= needed
    rows = [["", *map(_GAP.join, zip(*table, strict=True))] for table in tables]
    return [line.rstrip() for table in rows for line in table][1:]


def room_beside(columns: Sequence[list[str]]) -> int:
    """The characters left for the names of rows if all columns stand side by side."""
    return WIDTH - sum(len(_GAP) + len(column[0]) for column in columns)


def short_names(names: Sequence[str], length: int = LONGEST_NAME) -> Sequence[str]:
    """Names that are fit for a narrow column, unless that makes two of them equal."""
    names = [printable(name) for name in names]
    short = [without_middle(name, length) for name in names]
    return short if len(set(short)) == len(set(names)) else names


def aligned(cells: Sequence[str], side: str = "<") -> list[str]:
    """Cells of one width, with their texts at the left, or with ``>`` at the right."""
    width = max(map(len, cells))
    return [f"{cell:{side}{width}}" for cell in cells]
