"""A command as someone would add it."""

import click

from sparsetopics.base.errors import OptionError


@click.command()
@click.argument("name")
def command(name: str) -> None:
    """Greet NAME.

    \b
    Example:
        sparsetopics toy world
    """
    if not name.isalpha():
        raise OptionError("name", f"must be letters, but is {name!r}")
    click.echo(f"Hello, {name}.")
