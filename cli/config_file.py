"""``--config FILE.toml``: options of a command from a file."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path

import click

from sparsetopics.base.safe_reading import Toml, read_toml, shown_toml
from sparsetopics.cli.parameter_types import CONFIG, NAMED_PATH, NumberType
from sparsetopics.cli.shared_options import Decorator
from sparsetopics.options.option import refuse

# Options that decide which code runs here, or that change or read any file of the user, are never
# read from a file, which may be a stranger's.
NEVER_FROM_FILES = {
    "append": "It changes a corpus.",
    "overwrite": "It replaces what is there.",
    "follow-links": "Links in the sources may lead to any file.",
    "log-file": "Lines would be added to whatever file it names.",
    "scheduler": "The process at that address can run code here.",
    "tokenizer": "The function that it names runs here.",
    "namer": "The function that it names runs here.",
}


def config_option(example: str, where: str = "") -> Decorator:
    """Add ``--config``; what the file says becomes the default of the options that it names.

    ``example`` is a line of such a file, and ``where`` says where one may be found.
    """
    return click.option(
        "--config",
        type=NAMED_PATH,
        metavar="FILE.toml",
        is_eager=True,
        expose_value=False,
        callback=_use,
        help=f"Read options from this TOML file{where}. Its keys are the names of options without "
        f"the dashes in front: {example}. Command-line options take precedence. Paths in the "
        "file are relative to the current folder.",
    )


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
        if isinstance(option, click.Option) and not option.is_eager
    }
    values = {}
    for key, value in _entries(path).items():
        where = f"{path}, {key}"
        if key in NEVER_FROM_FILES:
            problem = f"give --{key} on the command line, not in a file"
            refuse(where, problem, NEVER_FROM_FILES[key])
        if key not in options and isinstance(value, dict):
            hint = "Write the options at the top level."
            refuse(str(path), f"tables such as [{key}] are not used", hint)
        if key not in options:
            near = get_close_matches(key, options, n=1)
            hint = f"Did you mean {near[0]}?" if near else "--help-all lists them."
            refuse(where, f"{ctx.info_name} has no such option", hint)
        kinds, noun = _kinds(options[key])
        # Not isinstance: true is no whole number.
        holds_strings = not isinstance(value, list) or all(isinstance(v, str) for v in value)
        if type(value) not in kinds or not holds_strings:
            refuse(where, f"must be {noun}, but is {shown_toml(value)}")
        values[str(options[key].name)] = value
    return values


def _entries(path: Path) -> dict[str, Toml]:
    """What the file holds; for a run folder, the error names the file that may be meant."""
    if os.path.isdir(path):
        from sparsetopics.runs.run_files import CONFIG_FILE

        inner = path / CONFIG_FILE
        refuse(str(path), "is a folder", f"Did you mean {inner}?" if inner.exists() else "")
    return read_toml(path)


def _kinds(option: click.Option) -> tuple[tuple[type, ...], str]:
    """The types of TOML that an option takes, and what to call them."""
    kind = option.type
    if option.is_flag:
        return (bool,), "true or false"
    if option.multiple:
        return (list,), "a list of strings"
    if kind is click.UNPROCESSED:
        return (str, dict), "a file, or a table of lists"
    if isinstance(kind, NumberType):
        if kind.interval.name:
            return (int, float, str), f"{kind.interval.name} or a number"
        return ((int,), "a whole number") if kind.interval.whole else ((int, float), "a number")
    return (str,), "a string"
