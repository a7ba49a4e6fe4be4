"""Options that several commands share, options of the table, and help in sections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from math import inf

import click
from click.core import ParameterSource

from sparsetopics.base.wording import quantity
from sparsetopics.cli.parameter_types import NAMED_PATH, NumberType, TextType, type_of, typed_name
from sparsetopics.cli.printing import JSON, show_help
from sparsetopics.options.option import (
    NO_NAMES,
    Interval,
    Option,
    SomeOf,
    Value,
    counts_from,
    made,
    names_in,
    refuse,
    whole_numbers,
)
from sparsetopics.options.table import OPTION
from sparsetopics.options.workplace import Workplace

KNOWN_TOPICS = (  # beside tables and figures with errors
    "Errors take the topics as known. If they were learned from these documents, errors are too "
    "small."
)
SEE_RUNS = " See --runs."  # unless that would be refused
Command = Callable[..., None]
Decorator = Callable[[Command], Command]
SHOWS_ALL = "sparsetopics.help_all"  # of a context: whether its help lists all options


class RowOption(click.Option):
    """An option of a command that is a row of a table."""

    def __init__(self, names: Sequence[str], row: Option) -> None:
        takes, default = row.takes, None if row.default in ((), frozenset()) else row.default
        super().__init__(
            names,
            type=type_of(row),
            default=default,
            show_default=default is not None and takes is not bool,
            multiple=takes is frozenset or (isinstance(takes, SomeOf) and takes.repeated),
            callback=_split if isinstance(takes, SomeOf) or takes is whole_numbers else None,
            metavar=row.metavar,
            help=row.help,
        )
        self.row = row


def row_option(row: Option, text: str = "") -> Decorator:
    """A row of a table as an option of a command.

    ``text`` replaces its help, and has to name the default, which is then None.
    """
    row = replace(row, help=text, default=None) if text else row
    name = f"--{row.name}/--no-{row.name}" if row.takes is bool else f"--{row.name}"
    return click.option(name, cls=RowOption, row=row)


def _split(
    ctx: click.Context, param: click.Parameter, given: str | tuple[str, ...] | None
) -> Value | None:
    """``merge,delete`` as its two names, ``none`` as no name, ``200,100`` as two numbers."""
    assert isinstance(param, RowOption)
    takes = param.row.takes
    if given is None:
        return None
    values = [given] if isinstance(given, str) else given
    parts = tuple(part for value in values for part in names_in(value))
    if takes is whole_numbers:
        if not all(part.isascii() and part.isdigit() and len(part) < 20 for part in parts):
            refuse(typed_name(param), f"must be whole numbers such as 200,100,50, but is {given!r}")
        return tuple(map(int, parts))
    if isinstance(takes, SomeOf) and takes.names is not None and NO_NAMES in parts:
        if len(parts) > 1:
            refuse(typed_name(param), f"{NO_NAMES} cannot be combined with others")
        return ()
    return parts


def add_options(options: Iterable[Decorator]) -> Decorator:
    """Add several options, which ``--help`` lists in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(list(options)):
            command = option(command)
        return command

    return decorate


def is_given(key: str) -> bool:
    """Whether an option of the running command was given, by a user or in a config file."""
    source = click.get_current_context().get_parameter_source(key)
    return source is not ParameterSource.DEFAULT


def is_turned_off(row: Option) -> bool:
    """Whether a config file gives an option for another, which the command line turns off."""
    ctx = click.get_current_context()
    needed = row.needs.replace("-", "_")
    sources = [ctx.get_parameter_source(key) for key in (row.key, needed)]
    from_both = [ParameterSource.DEFAULT_MAP, ParameterSource.COMMANDLINE]
    return sources == from_both and not ctx.params[needed]


def check_needs(needs: Mapping[str, str]) -> None:
    """Raise OptionError for an option that was given without the one that it needs.

    ``needs`` has the names of both in Python.
    """
    params = click.get_current_context().command.params
    names = {param.name: typed_name(param) for param in params}
    for key, other in needs.items():
        if is_given(key) and not is_given(other):
            refuse(names[key], f"needs {names[other]}")


def workplace_options(command: Command) -> Command:
    """Add the options of a ``Workplace``, which the command gets as one argument, ``where``."""
    names = ("workers", "executor", "scheduler")

    @wraps(command)
    def with_workplace(*context: click.Context, **values: Value) -> None:
        where = made(Workplace, {name: values.pop(name) for name in names})
        command(*context, **values, where=where)

    return add_options(row_option(OPTION[name]) for name in names)(with_workplace)


threads_option = row_option(  # for commands that work in this process alone
    replace(OPTION["workers"], help="Number of threads.")
)


def json_option(text: str = "Print JSON.", *, with_no: bool = False) -> Decorator:
    """``--json``, which ``printing.show`` obeys.

    Commands that read a file of options have ``--no-json`` too, ``with_no``.
    """

    def remember(ctx: click.Context, _: click.Parameter, value: bool) -> None:
        ctx.meta[JSON] = value

    names = "--json/--no-json" if with_no else "--json"
    return click.option(
        names, "as_json", is_flag=True, expose_value=False, callback=remember, help=text
    )


def overwrite_option(text: str, *, with_no: bool = False) -> Decorator:
    """``--overwrite``, and perhaps ``--no-overwrite``."""
    names = "--overwrite/--no-overwrite" if with_no else "--overwrite"
    return click.option(names, is_flag=True, help=text)


def spreadsheet_option(table: str, what: str) -> Decorator:
    """``--spreadsheet-safe``, for tables of one format, and what stands in them."""
    text = (
        f"({table} only) Put an apostrophe before {what} that a spreadsheet would take for "
        "formulas: those that begin with =, +, -, @, a tab or a line break."
    )
    return click.option("--spreadsheet-safe", is_flag=True, help=text)


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


def formula_option(text: str) -> Decorator:
    """``--formula``, with this help."""
    return click.option("--formula", type=TextType(), metavar="TEXT", help=text)


def topics_option(only: str = "", default: str = "all topics that are not empty") -> Decorator:
    """``--topic``, ``only`` in some cases."""
    names, kind = ("--topic", "topics"), TextType()
    text = f"{only}Id or number of a topic. Repeat the option for several. Default: {default}."
    return click.option(*names, type=kind, metavar="ID|NUMBER", multiple=True, help=text)


def other_runs_option(only: str = "") -> Decorator:
    """``--runs``, ``only`` in some cases."""
    return click.option(
        "--runs",
        type=NAMED_PATH,
        metavar="FOLDER",
        help=f"{only}Consensus that was trained with --keep-state, such as RUN, or a folder of "
        "runs with other seeds. Errors then also count how much shares differ between these runs.",
    )


names_option = click.option(
    "--names",
    type=NAMED_PATH,
    metavar="FILE.toml|RUN",
    help="Names of topics: a file as `sparsetopics export --to names` writes it, for you to edit, "
    "or another run. Topics are found by their ids, or else by their words. All other topics keep "
    "the names that the run has.",
)

themes_option = click.option(
    "--themes",
    "n_themes",
    type=NumberType(counts_from(1)),
    metavar="N",
    help="Join the topics of the run to N themes, and use these instead. They predict a little "
    "worse than N topics that were learned; two laps of `sparsetopics edit --themes N` make up for "
    "a part of that.",
)

shown_topics_options = add_options([names_option, themes_option])


def number_option(name: str, takes: Interval, default: float, text: str, *key: str) -> Decorator:
    """An option that takes a number and shows its default."""
    kind = NumberType(takes)
    return click.option(name, *key, type=kind, default=default, show_default=True, help=text)


def seed_option(text: str, most: float = inf) -> Decorator:
    return number_option("--seed", Interval(0, most, whole=True), 0, text)


class TableCommand(click.Command):
    """A command with options of tables, listed by section.

    ``--help`` lists the options of everyday use, and ``--help-all`` all. Options that are in no
    section come first.
    """

    def __init__(
        self, name: str | None, callback: Command, params: list[click.Parameter], help: str
    ) -> None:
        super().__init__(name, callback=callback, params=params, help=help)
        if self._n_rare:
            help_all = click.Option(
                ["--help-all"],
                is_flag=True,
                expose_value=False,
                is_eager=True,
                callback=_show_all,
                help="Show all options and exit.",
            )
            self.params.append(help_all)

    @property
    def _n_rare(self) -> int:
        """The number of options that only ``--help-all`` lists."""
        return sum(isinstance(each, RowOption) and not each.row.everyday for each in self.params)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"": []}
        for param in self.get_params(ctx):
            row = param.row if isinstance(param, RowOption) else None
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record and (row is None or row.everyday or SHOWS_ALL in ctx.meta):
                sections.setdefault("" if row is None else row.section, []).append(record)
        for title, records in sections.items():
            with formatter.section(title or "Options"):
                formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self._n_rare and SHOWS_ALL not in ctx.meta:
            more = quantity(self._n_rare, "more option")
            formatter.write(f"\n{more}: `{ctx.command_path} --help-all`\n")


def _show_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[SHOWS_ALL] = True
        show_help(ctx)
        ctx.exit()
