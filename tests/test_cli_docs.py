"""Every command explains itself and stands in the README."""

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

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


def test_help_lists_every_option_once(documented):
    for name, command in documented.items():
        shown = CliRunner().invoke(main, [*name.split(), "--help"]).stdout
        for option in command.params:
            if isinstance(option, click.Option):
                rows = re.findall(rf"^  (?:-\w, )?{option.opts[-1]}\s", shown, re.MULTILINE)
                assert len(rows) == 1, (name, option.name)


def test_what_commands_of_a_group_do_is_not_cut_short():
    shown = CliRunner().invoke(main, ["corpus", "--help"]).stdout

    assert "..." not in shown.partition("Commands:")[2]


def test_every_command_stands_in_the_readme(documented):
    for name in documented:
        assert f"sparsetopics {name}" in README
