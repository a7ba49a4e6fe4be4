"""``--config FILE.toml``: options of a command from a file."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection
from difflib import get_close_matches
from pathlib import Path

import click

from sparsetopics.base.errors import OptionError
from sparsetopics.base.safe_reading import open_regular
from sparsetopics.cli.shared_options import NAMED_PATH
from sparsetopics.options.option import refuse

LARGEST_CONFIG = 1 << 20  # bytes

# Who answers at the address of a scheduler can run code here, so it is never read from a file.
NEVER_FROM_FILES = ("scheduler",)

Toml = str | int | float | bool | list["Toml"] | dict[str, "Toml"]


def config_option(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--config``; what the file says becomes the default of the options that it names."""
    return click.option(
        "--config",
        type=NAMED_PATH,
        metavar="FILE.toml",
        is_eager=True,
        expose_value=False,
        callback=_use,
        help="Read options from this TOML file, such as config.toml in a run folder. Its keys are "
        'the names of options without the dashes in front: local-update = "collapsed". Options '
        "on the command line come first. Paths in the file start from the current folder.",
    )(command)


def _use(ctx: click.Context, param: click.Parameter, path: Path | None) -> None:
    if path is not None:
        ctx.default_map = {**(ctx.default_map or {}), **read_config(path, ctx)}


def read_config(path: Path, ctx: click.Context) -> dict[str, Toml]:
    """Values for the options of the context's command, by the names of its parameters.

    Raises OptionError, with file and key, for a file that is not TOML, for a key that is no
    option, and for a value that the option does not take.
    """
    options = {
        max(option.opts, key=len).removeprefix("--"): option
        for option in ctx.command.params
        if isinstance(option, click.Option) and option.expose_value
    }
    values = {}
    for key, value in _read_toml(path).items():
        where = f"{path}, {key}"
        if key in NEVER_FROM_FILES:
            hint = "The process at that address can run code here."
            refuse(where, "an address in a file", f"--{key} on the command line", hint)
        if key not in options:
            hint = _nearest(key, options) or "--help lists them."
            refuse(where, "no such option", f"an option of {ctx.info_name}", hint)
        _check_value(where, value, options[key], ctx)
        values[str(options[key].name)] = value
    return values


def _read_toml(path: Path) -> dict[str, Toml]:
    try:
        with open_regular(path) as file:
            data = file.read(LARGEST_CONFIG + 1)
        if len(data) > LARGEST_CONFIG:
            raise ValueError(f"more than {LARGEST_CONFIG:,} bytes")
        return tomllib.loads(data.decode())
    except OSError as error:
        found = error.strerror or str(error)
        raise OptionError(str(path), found=found, wanted="a readable TOML file") from error
    except (ValueError, RecursionError) as error:  # bad TOML, bad UTF-8, brackets without end
        hint = "Strings stand in quotes: key = 'value'."
        found = f"damaged TOML ({error})"
        raise OptionError(str(path), found=found, wanted="key = value", hint=hint) from error


def _check_value(where: str, value: Toml, option: click.Option, ctx: click.Context) -> None:
    """Raise OptionError unless ``option`` takes ``value``, as the command line would have it."""
    kinds, wanted = _wanted(option)
    if type(value) not in kinds:  # not isinstance: true is no whole number
        raise OptionError(where, found=_shown(value), wanted=wanted)
    try:
        option.type.convert(value, option, ctx)
    except (click.BadParameter, OptionError, OverflowError) as error:
        choices = option.type.choices if isinstance(option.type, click.Choice) else ()
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


def _shown(value: Toml) -> str:
    """A value roughly as TOML has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "an array"
    return repr(value)


def _nearest(found: str, names: Collection[str]) -> str:
    near = get_close_matches(found, names, n=1)
    return f"Did you mean {near[0]}?" if near else ""
