"""Every command explains itself and stands in the README."""

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from sparsetopics.cli import shared_options
from sparsetopics.cli.main import COMMANDS, main
from sparsetopics.cli.shared_options import RowOption

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


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


def rows(shown, option):
    return re.findall(rf"^  (?:-\w, )?{option.opts[-1]}\s", shown, re.MULTILINE)


def test_the_longest_help_lists_every_option_once(documented):
    for name, command in documented.items():
        is_long = any("--help-all" in option.opts for option in command.params)
        shown = CliRunner().invoke(main, [*name.split(), "--help-all" if is_long else "--help"])
        for option in command.params:
            if isinstance(option, click.Option):
                assert len(rows(shown.stdout, option)) == 1, (name, option.name)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "corpus"])
def test_help_lists_everyday_options_and_says_where_the_others_are(name):
    command = main.get_command(click.Context(main), name)
    rare = [
        each for each in command.params if isinstance(each, RowOption) and not each.row.everyday
    ]

    shown = CliRunner().invoke(main, [name, "--help"]).stdout

    for option in command.params:
        if isinstance(option, click.Option):
            assert len(rows(shown, option)) == (option not in rare), (name, option.name)
    last = shown.splitlines()[-1]
    assert (last.endswith(f"more option{'s' * (len(rare) > 1)}: `main {name} --help-all`")) == (
        len(rare) > 0
    )
    assert not rare or last.startswith(f"{len(rare)} more")


@pytest.mark.parametrize("flag", ["json", "overwrite"])
def test_a_flag_of_many_commands_is_declared_once(flag):
    texts = [
        path.read_text(encoding="utf-8")
        for path in Path(shared_options.__file__).parent.glob("*.py")
    ]

    assert [f'"--{flag}"' in text for text in texts].count(True) == 1


def test_what_commands_of_a_group_do_is_not_cut_short():
    shown = CliRunner().invoke(main, ["corpus", "--help"]).stdout

    assert "..." not in shown.partition("Commands:")[2]


def test_every_command_stands_in_the_readme(documented):
    for name in documented:
        assert f"sparsetopics {name}" in README
