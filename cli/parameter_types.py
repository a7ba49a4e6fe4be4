"""What options take on the command line: each value is checked where it is read.

Every wrong value is an OptionError, as it is in Python; click's own types would each have sentences
and an exit status of their own.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import click
from click.core import ParameterSource

from sparsetopics.base.errors import OptionError
from sparsetopics.options.guide import guide
from sparsetopics.options.option import Interval, OneOf, Option, refuse, shown

CONFIG = "sparsetopics.config"  # of a context: the path of its config file
Param = click.Parameter | None
Ctx = click.Context | None


class NumberType(click.ParamType):  # type: ignore[type-arg]  # a generic from click 8.4
    """A number in an interval."""

    def __init__(self, interval: Interval) -> None:
        self.interval = interval
        self.name = "integer" if interval.whole else "number"

    def convert(self, value: str | float, param: Param, ctx: Ctx) -> str | int | float:
        number: str | int | float = value
        if isinstance(value, str):
            with suppress(ValueError):  # the interval refuses what is no number
                number = self.interval.parsed(value)
        return self.interval.check(_name(param), number)


class NameType(click.Choice[str]):
    """One of several names."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return OneOf(list(self.choices)).check(_name(param), value)

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:
        return f"Choose one of {', '.join(self.choices)}."  # click has a line for each


class TextType(click.types.StringParamType):
    """A text that is not empty: an empty name would stand for the default, or for nothing."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value == "":
            refuse(_name(param), "must not be empty")
        return str(super().convert(value, param, ctx))


class NamedPath(click.Path):
    """A path, which may not be "": pathlib takes that for the current folder."""

    def __init__(self, noun: str) -> None:
        super().__init__(path_type=Path)
        self.noun = noun

    def convert(
        self, value: str | os.PathLike[str], param: Param, ctx: Ctx
    ) -> str | bytes | os.PathLike[str]:
        if value == "" or "\0" in os.fspath(value):  # as a config file can write it
            found = shown(value) if value else "empty"
            refuse(_name(param), f"must be {self.noun}, but is {found}")
        return super().convert(value, param, ctx)


NAMED_PATH = NamedPath("a file or folder")
NEW_PATH = NamedPath("a file or folder to write")
TEXT = TextType()


def type_of(
    option: Option,
) -> NumberType | NameType | NamedPath | TextType | click.types.UnprocessedParamType | type[bool]:
    """What an option of the table takes on the command line."""
    takes = option.takes
    if takes is guide:
        return click.UNPROCESSED  # a path, or what a config file has
    if isinstance(takes, OneOf):
        return NameType(list(takes.names))
    if isinstance(takes, Interval):
        return NumberType(takes)
    if takes is Path:
        return NAMED_PATH
    return bool if takes is bool else TEXT


def typed_name(param: click.Parameter) -> str:
    """``--local-update``, or ``RUN`` for an argument."""
    return max(param.opts, key=len) if isinstance(param, click.Option) else param.opts[0].upper()


def named_as_typed(error: OptionError, ctx: click.Context) -> OptionError:
    """The error with the name of its option as the user wrote it, here or in a config file."""
    key = error.where.lstrip("-").replace("-", "_")
    for param in ctx.command.params:
        typed = typed_name(param)
        bare = typed.removeprefix("--")
        if isinstance(param, click.Option) and key in (param.name, bare.replace("-", "_")):
            is_from_file = ctx.get_parameter_source(str(param.name)) is ParameterSource.DEFAULT_MAP
            return error.renamed(f"{ctx.meta[CONFIG]}, {bare}" if is_from_file else typed)
    return error


def _name(param: click.Parameter | None) -> str:
    return "value" if param is None else typed_name(param)
