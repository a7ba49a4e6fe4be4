"""Help of commands with many options, which stand in sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

HelpRow = tuple[str, str]


def command_with(sections: Mapping[str, Sequence[str]]) -> type[click.Command]:
    """The class of a command whose ``--help`` lists options, by their names, under these titles.

    Options that no section names come first, as those that most people want.
    """

    class Sectioned(click.Command):
        def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
            rows = _rows(self, ctx)
            named = {name for names in sections.values() for name in names}
            usual = [name for name in rows if name not in named]
            for title, names in {"Options": usual, **sections}.items():
                with formatter.section(title):
                    formatter.write_dl([rows[name] for name in names])

    return Sectioned


def _rows(command: click.Command, ctx: click.Context) -> dict[str, HelpRow]:
    """What is said of each option, by its name."""
    rows = {}
    for param in command.get_params(ctx):
        row = param.get_help_record(ctx)
        if isinstance(param, click.Option) and param.name and row:
            rows[param.name] = row
    return rows
