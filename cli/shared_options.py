"""Options that several commands share, options of the table, and help in sections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import wraps
from math import inf
from pathlib import Path

import click
from click.core import ParameterSource

from sparsetopics.cli.parameter_types import NAMED_PATH, NumberType, TextType, type_of, typed_name
from sparsetopics.options.option import NO_NAMES, Interval, SomeOf, Value, refuse
from sparsetopics.options.table import HELP, OPTION, PATH_OPTION
from sparsetopics.options.workplace import Workplace

Command = Callable[..., None]
Decorator = Callable[[Command], Command]


def table_option(name: str, text: str = "", *, keeps_default: bool = False) -> Decorator:
    """An option of the table as an option of a command.

    ``text`` replaces its help, and has to name the default, which is then None. With
    ``keeps_default`` the option is one of topic paths, and has their default.
    """
    option = PATH_OPTION[name] if keeps_default else OPTION[name]
    default = None if text and not keeps_default else option.default
    switch = f"--{name}/--no-{name}" if option.takes is bool else f"--{name}"
    takes_names = isinstance(option.takes, SomeOf)
    return click.option(
        switch,
        type=type_of(option),
        default=default,
        show_default=default is not None and option.takes is not bool,
        metavar="NAME,NAME|none" if takes_names else None,
        callback=_split_names if takes_names else None,
        help=text or next(texts[name] for texts in HELP.values() if name in texts),
    )


def _split_names(ctx: click.Context, param: click.Parameter, value: str | None) -> Value | None:
    """``merge,delete`` as its two names, ``none`` as no name."""
    if value is None:
        return None
    names = tuple(name.strip() for name in value.split(","))
    if len(names) > 1 and NO_NAMES in names:
        refuse(typed_name(param), f"{NO_NAMES} cannot be combined with others")
    return () if names == (NO_NAMES,) else names


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


def check_needs(ctx: click.Context, needs: Mapping[str, str]) -> None:
    """Raise OptionError for an option that was given without the one that it needs.

    ``needs`` has the names of both in Python.
    """
    names = {param.name: typed_name(param) for param in ctx.command.params}
    for key, other in needs.items():
        if is_given(ctx, key) and not is_given(ctx, other):
            refuse(names[key], f"needs {names[other]}")


def given_options(ctx: click.Context, kind: type) -> list[str]:
    """The options of a group that were given, as they are typed."""
    keys = [field.name for field in fields(kind)]
    return [f"--{key.replace('_', '-')}" for key in keys if is_given(ctx, key)]


EXECUTOR_OPTIONS = [table_option("executor"), table_option("scheduler")]
workplace_options = option_group("where", Workplace, [table_option("workers"), *EXECUTOR_OPTIONS])
threads_option = click.option(  # for commands that work in this process alone
    "--workers",
    type=type_of(OPTION["workers"]),
    default=1,
    show_default=True,
    help="Number of threads.",
)
grouping_options = add_options(
    [
        click.option(
            "--by",
            type=TextType(),
            metavar="FIELD",
            help="Field whose values are the groups: label, or a field that CORPUS keeps "
            "(ingest --keep).",
        ),
        click.option(
            "--over",
            type=TextType(),
            metavar="FIELD:UNIT",
            help="Field with dates, and day, week, month, quarter or year; or field with numbers, "
            "and the width of bins. Without UNIT, each number is a group, or each day of a field "
            "that is kept as dates.",
        ),
    ]
)


def _read_names(ctx: click.Context, param: click.Parameter, path: Path | None) -> dict[int, str]:
    from sparsetopics.answers.topic_names import read_names

    return {} if path is None else read_names(path)


names_option = click.option(
    "--names",
    type=NAMED_PATH,
    metavar="FILE.toml",
    callback=_read_names,
    help='TOML file with names of topics, such as 3 = "Crime". A topic that is not in it keeps its '
    "default name, its three most relevant words. `sparsetopics export RUN --to names` writes such "
    "a file to edit.",
)


def seed_option(text: str, most: float = inf) -> Decorator:
    takes = NumberType(Interval(0, most, whole=True))
    return click.option("--seed", type=takes, default=0, show_default=True, help=text)


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
        type=NumberType(Interval(0, 1, above_low=True, below_high=True)),
        default=0.1,
        show_default=True,
        help=text,
    )


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
