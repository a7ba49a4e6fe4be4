"""Options that several commands share, options of the table, and help in sections."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import TypeVar

import click
from click.core import ParameterSource

from sparsetopics.base.errors import OptionError
from sparsetopics.options.option import NATURAL, NO_NAMES, Interval, OneOf, Option, SomeOf, Value
from sparsetopics.options.table import HELP, OPTION
from sparsetopics.options.training import Workplace

Command = Callable[..., None]
Decorator = Callable[[Command], Command]
T = TypeVar("T")


class NamedPath(click.Path):
    """A path to read. Raises OptionError for "", which pathlib takes for the current folder."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        if value == "":
            where = "path" if param is None else param.human_readable_name
            raise OptionError(where, found="an empty name", wanted="a file or folder")
        return super().convert(value, param, ctx)


NAMED_PATH = NamedPath()
NEW_PATH = click.Path(path_type=Path)


def table_option(name: str, text: str = "") -> Decorator:
    """An option of the table as an option of a command.

    ``text`` replaces its help, and has to name the default, which is then None.
    """
    option = OPTION[name]
    default = None if text else option.default
    switch = f"--{name}/--no-{name}" if option.takes is bool else f"--{name}"
    takes_names = isinstance(option.takes, SomeOf)
    return click.option(
        switch,
        type=_click_type(option),
        default=default,
        show_default=default is not None and option.takes is not bool,
        metavar="NAME,NAME|none" if takes_names else None,
        callback=_split_names if takes_names else None,
        help=text or next(texts[name] for texts in HELP.values() if name in texts),
    )


def _click_type(option: Option) -> click.Choice[str] | click.IntRange | click.Path | type:
    takes = option.takes
    if isinstance(takes, OneOf):
        return click.Choice(list(takes.names))
    if isinstance(takes, Interval):
        if takes == NATURAL:  # click refuses others at once, as wrong usage
            return click.IntRange(min=0)
        return int if takes.whole else float
    if takes is Path:
        return NAMED_PATH
    return bool if takes is bool else str


def _split_names(ctx: click.Context, param: click.Parameter, value: str | None) -> Value | None:
    """``merge,delete`` as its two names, ``none`` as no name."""
    if value is None:
        return None
    return () if value == NO_NAMES else tuple(name.strip() for name in value.split(","))


def add_options(options: Iterable[Decorator]) -> Decorator:
    """Add several options, which ``--help`` lists in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(list(options)):
            command = option(command)
        return command

    return decorate


def option_group(name: str, kind: type, options: Iterable[Decorator]) -> Decorator:
    """Add ``options`` to a command, which gets all their values as one argument, ``name``.

    ``kind`` is a dataclass whose fields have the names of the options.
    """
    members = [field.name for field in fields(kind)]

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_group(*context: click.Context, **values: Value) -> None:
            group = kind(**{member: values.pop(member) for member in members})
            command(*context, **values, **{name: group})

        return add_options(options)(with_group)

    return decorate


def is_given(ctx: click.Context, key: str) -> bool:
    """Whether an option was given, on the command line or in a config file."""
    return ctx.get_parameter_source(key) is not ParameterSource.DEFAULT


def given_options(ctx: click.Context, kind: type) -> list[str]:
    """The options of a group that were given, as they are typed."""
    keys = [field.name for field in fields(kind)]
    return [f"--{key.replace('_', '-')}" for key in keys if is_given(ctx, key)]


EXECUTOR_OPTIONS = [table_option("executor"), table_option("scheduler")]
workplace_options = option_group("where", Workplace, [table_option("workers"), *EXECUTOR_OPTIONS])
threads_option = click.option(  # for commands that work in this process alone
    "--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Number of threads."
)


def seed_option(text: str, most: int | None = None) -> Decorator:
    return click.option(
        "--seed", type=click.IntRange(0, most), default=0, show_default=True, help=text
    )


class _RenamedOption(click.Option):
    """An option with two spellings, of which ``--help`` leaves out the first, old one."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        row = super().get_help_record(ctx)
        return row and (row[0].removeprefix(f"{self.opts[0]}, "), row[1])


def held_out_share_option(text: str) -> Decorator:
    """``--held-out-share``, once ``--held-out``, which looks too much like ``--heldout CORPUS``."""
    return click.option(
        "--held-out",
        "--held-out-share",
        "share",
        cls=_RenamedOption,
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        default=0.1,
        show_default=True,
        help=text,
    )


def show(record: T, lines: Iterable[str], *, as_json: bool) -> None:
    """Print a record as JSON, or else the same facts as lines."""
    for line in [json.dumps(record)] if as_json else lines:
        click.echo(line)


def command_with(sections: Mapping[str, Sequence[str]]) -> type[click.Command]:
    """A class of commands whose ``--help`` lists options, by their names in Python, by section.

    The options that are in no section come first. They should be those that most people need.
    """

    class Sectioned(click.Command):
        def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
            rows = _help_rows(self, ctx)
            named = {name for names in sections.values() for name in names}
            usual = [name for name in rows if name not in named]
            for title, names in {"Options": usual, **sections}.items():
                with formatter.section(title):
                    formatter.write_dl([rows[name] for name in names])

    return Sectioned


def _help_rows(command: click.Command, ctx: click.Context) -> dict[str, tuple[str, str]]:
    """How each option is typed and what it does, by its name in Python."""
    rows = {}
    for param in command.get_params(ctx):
        row = param.get_help_record(ctx)
        if isinstance(param, click.Option) and param.name and row:
            rows[param.name] = row
    return rows
