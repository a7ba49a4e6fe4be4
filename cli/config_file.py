"""``--config FILE.toml``: options of a command from a file."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from sparsetopics.base.errors import OptionError
from sparsetopics.base.safe_reading import open_regular
from sparsetopics.cli.named_path import NAMED_PATH

LARGEST_CONFIG = 1 << 20  # bytes

NEVER_FROM_FILES = ("scheduler",)


def config_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--config``; what the file says becomes the default of the options that it names."""
    return click.option(
        "--config",
        type=NAMED_PATH,
        metavar="FILE.toml",
        is_eager=True,
        expose_value=False,
        callback=_use,
        help="Take options from this file, each named as here but without dashes in front "
        '(local-update = "collapsed"); what the command line says comes first. Paths in it start '
        "from the working directory. The folder of a run has its config.toml.",
    )(command)


def _use(ctx: click.Context, param: click.Parameter, path: Path | None) -> None:
    if path is not None:
        ctx.default_map = {**(ctx.default_map or {}), **read_config(path, ctx)}


def read_config(path: Path, ctx: click.Context) -> dict[str, Any]:
    """Values for the options of the context's command, by the names of its parameters.

    Raises OptionError, with file and key, for what is no TOML, no option or no value of it.
    """
    options = {
        _key(option): option
        for option in ctx.command.params
        if isinstance(option, click.Option) and option.expose_value
    }
    values = {}
    for key, value in _read_toml(path).items():
        where = f"{path}, {key}"
        if key in NEVER_FROM_FILES:
            raise OptionError(
                where,
                found="an address in a file",
                wanted=f"--{key} on the command line",
                hint="The process at that address can run code here.",
            )
        if key not in options:
            raise OptionError(
                where,
                found="no such option",
                wanted=f"an option of {ctx.info_name}",
                hint=_nearest(key, list(options)) or "--help lists them.",
            )
        option = options[key]
        _check_value(where, value, option, ctx)
        values[str(option.name)] = value
    return values


def _key(option: click.Option) -> str:
    """``--local-update`` as ``local-update``."""
    return max(option.opts, key=len).removeprefix("--")


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        with open_regular(path) as file:
            data = file.read(LARGEST_CONFIG + 1)
        if len(data) > LARGEST_CONFIG:
            raise ValueError(f"more than {LARGEST_CONFIG:,} bytes")
        return tomllib.loads(data.decode())
    except OSError as error:
        found = error.strerror or str(error)
        raise OptionError(str(path), found=found, wanted="a readable TOML file") from error
    except (ValueError, RecursionError) as error:  # of TOML, of UTF-8, of brackets without end
        hint = "Strings stand in quotes: key = 'value'."
        found = f"damaged TOML ({error})"
        raise OptionError(str(path), found=found, wanted="key = value", hint=hint) from error


def _check_value(where: str, value: Any, option: click.Option, ctx: click.Context) -> None:
    kinds, wanted = _wanted(option)
    if type(value) not in kinds:
        raise OptionError(where, found=_shown(value), wanted=wanted)
    try:
        option.type.convert(value, option, ctx)
    except (click.BadParameter, OptionError, OverflowError) as error:
        choices = list(option.type.choices) if isinstance(option.type, click.Choice) else []
        hint = _nearest(str(value), choices)
        raise OptionError(where, found=repr(value), wanted=wanted, hint=hint) from error


def _wanted(option: click.Option) -> tuple[tuple[type, ...], str]:
    """The types of TOML that an option takes, and what to ask for."""
    kind = option.type
    if option.is_flag:
        return (bool,), "true or false"
    if isinstance(kind, click.IntRange):
        return (int,), f"a whole number of {kind.min} or more"
    if isinstance(kind, click.types.IntParamType):
        return (int,), "a whole number"
    if isinstance(kind, click.types.FloatParamType):
        return (int, float), "a number"
    if isinstance(kind, click.Choice):
        return (str,), f"one of {', '.join(kind.choices)}"
    return (str,), "a string"


def _shown(value: Any) -> str:
    """A value about as TOML has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "an array"
    return repr(value)


def _nearest(found: str, names: list[str]) -> str:
    near = get_close_matches(found, names, n=1)
    return f"Did you mean {near[0]}?" if near else ""
