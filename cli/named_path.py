"""The type of arguments and options that name something to read."""

from __future__ import annotations

import os
from pathlib import Path

import click

from sparsetopics.base.errors import OptionError


class NamedPath(click.Path):
    """A path. Raises OptionError for "", which pathlib would take for the current folder."""

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
