"""Every command explains itself and stands in the README."""

from pathlib import Path

import click
import pytest

from sparsetopics.cli.main import COMMANDS, main

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


@pytest.fixture(params=COMMANDS)
def documented(request):
    """The command, or the sub-commands of a group, each with the name a user types."""
    name = request.param
    command = main.get_command(click.Context(main), name)
    assert command is not None
    if isinstance(command, click.Group):
        return {f"{name} {sub}": command.commands[sub] for sub in command.commands}
    return {name: command}


def test_every_command_has_help_with_an_example(documented):
    for name, command in documented.items():
        assert command.help, name
        assert "Example:" in command.help, name
        assert f"sparsetopics {name}" in command.help, name


def test_every_option_has_help(documented):
    for name, command in documented.items():
        for option in command.params:
            if isinstance(option, click.Option):
                assert option.help, (name, option.name)


def test_every_command_stands_in_the_readme(documented):
    for name in documented:
        assert f"sparsetopics {name}" in README
