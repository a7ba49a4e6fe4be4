"""Options that belong together: a command gets them as one value, not one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import wraps
from typing import Any

import click
from click.core import ParameterSource

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]


def option_group(name: str, kind: type, options: Sequence[Decorator]) -> Decorator:
    """A decorator that adds ``options`` and hands their values over as ``name``.

    ``kind`` is a dataclass; its fields are the options' names.
    """
    members = [field.name for field in fields(kind)]

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_group(*args: Any, **values: Any) -> Any:
            values[name] = kind(**{member: values.pop(member) for member in members})
            return command(*args, **values)

        grouped: Command = with_group
        for option in reversed(options):
            grouped = option(grouped)
        return grouped

    return decorate


def given_options(ctx: click.Context, kind: type) -> list[str]:
    """The options of a group that were said, as they are typed."""
    default = ParameterSource.DEFAULT
    return [
        f"--{field.name.replace('_', '-')}"
        for field in fields(kind)
        if ctx.get_parameter_source(field.name) is not default
    ]
