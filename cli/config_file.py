"""``--config FILE.toml``: options of a command from a file."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path

import click

from sparsetopics.base.errors import OptionError
from sparsetopics.base.safe_reading import open_regular
from sparsetopics.base.wording import reason_of
from sparsetopics.cli.parameter_types import CONFIG, NAMED_PATH, NumberType
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
        ctx.meta[CONFIG] = path
        ctx.default_map = {**(ctx.default_map or {}), **read_config(path, ctx)}


def read_config(path: Path, ctx: click.Context) -> dict[str, Toml]:
    """Values for the options of the context's command, by the names of its parameters.

    Raises OptionError, with file and key, for a file that is not TOML, for a key that is no
    option, and for a value of another type than the option has. Click checks the values later.
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
            refuse(where, f"give --{key} on the command line, not in a file", hint)
        if key not in options and isinstance(value, dict):
            hint = "Write the options at the top level."
            refuse(str(path), f"tables such as [{key}] are not used", hint)
        if key not in options:
            near = get_close_matches(key, options, n=1)
            hint = f"Did you mean {near[0]}?" if near else "--help lists them."
            refuse(where, f"{ctx.info_name} has no such option", hint)
        kinds, noun = _kinds(options[key])
        if type(value) not in kinds:  # not isinstance: true is no whole number
            refuse(where, f"must be {noun}, but is {_shown(value)}")
        values[str(options[key].name)] = value
    return values


def _read_toml(path: Path) -> dict[str, Toml]:
    try:
        with open_regular(path) as file:
            data = file.read(LARGEST_CONFIG + 1)
        if len(data) > LARGEST_CONFIG:
            raise OSError(f"it has more than {LARGEST_CONFIG:,} bytes")
        return tomllib.loads(data.decode())
    except IsADirectoryError as error:
        from sparsetopics.runs.run_files import CONFIG_FILE

        inner = path / CONFIG_FILE
        hint = f"Did you mean {inner}?" if inner.exists() else ""
        raise OptionError(str(path), "is a folder", hint) from error
    except OSError as error:
        raise OptionError(str(path), f"cannot be read: {reason_of(error)}") from error
    except UnicodeDecodeError as error:
        raise OptionError(str(path), "is not UTF-8 text") from error
    except (ValueError, RecursionError) as error:  # bad TOML, brackets without end
        hint = "Strings stand in quotes: key = 'value'."
        raise OptionError(str(path), f"is not valid TOML ({reason_of(error)})", hint) from error


def _kinds(option: click.Option) -> tuple[tuple[type, ...], str]:
    """The types of TOML that an option takes, and what to call them."""
    kind = option.type
    if option.is_flag:
        return (bool,), "true or false"
    if isinstance(kind, NumberType):
        whole = kind.interval.whole
        return ((int,), "a whole number") if whole else ((int, float), "a number")
    return (str,), "a string"


def _shown(value: Toml) -> str:
    """A value roughly as TOML has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "an array"
    return repr(value)
