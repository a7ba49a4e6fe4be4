"""The command line as a whole: start-up, help, errors and exit codes."""

import shutil
import signal
import subprocess
import sys
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from sparsetopics.base.errors import OptionError
from sparsetopics.cli import main as cli_main
from sparsetopics.cli.main import COMMANDS, main

HEAVY = ("numba", "gensim", "matplotlib", "scipy", "pyarrow", "numpy", "jinja2", "rich")


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_help_lists_every_command_and_imports_nothing_heavy():
    done = python(
        "import sys\n"
        "from sparsetopics.cli.main import main\n"
        "main(['--help'], standalone_mode=False)\n"
        f"print('HEAVY', [name for name in {HEAVY!r} if name in sys.modules])\n"
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("HEAVY []\n")
    for name in COMMANDS:
        assert f"\n  {name} " in done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_imports_nothing_heavy(name):
    done = python(
        "import sys\n"
        "from sparsetopics.cli.main import main\n"
        f"main([{name!r}, '--help'], standalone_mode=False)\n"
        f"print('HEAVY', [name for name in {HEAVY!r} if name in sys.modules])\n"
    )

    assert done.stdout.endswith("HEAVY []\n"), done.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish", "bash"])
def test_a_shell_gets_its_script_of_completion(shell):
    if shell == "bash" and shutil.which("bash") is None:
        pytest.skip("needs bash, whose version click asks for")

    script = complete(f"{shell}_source")

    assert "_SPARSETOPICS_COMPLETE=" in script
    assert f"{shell}_complete" in script


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("sparsetopics tr", "plain,train"),
        ("sparsetopics corpus va", "plain,validate"),
        ("sparsetopics train --local", "plain,--local-update"),
        ("sparsetopics train --model dp", "plain,dp-mixture"),
    ],
)
def test_commands_options_and_choices_are_completed(words, found):
    words_and_place = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}

    assert complete("bash_complete", **words_and_place) == f"{found}\n"


def complete(instruction, **environment):
    environment |= {"_SPARSETOPICS_COMPLETE": instruction}
    return CliRunner().invoke(main, [], prog_name="sparsetopics", env=environment).output


def test_version():
    result = CliRunner().invoke(main, ["--version"])

    assert result.output.startswith("sparsetopics, version 0.")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "No such command 'nonsense'. `main"),
        (["quickstar"], "No such command 'quickstar'. Did you mean 'quickstart'? `main"),
        (["corpus", "nonsense"], "No such command 'nonsense'. `main corpus"),
        (["topics"], "Missing argument 'RUN'. `main topics"),
        (["topics", "a", "b"], "Got unexpected extra argument (b). `main topics"),
        (["topics", "run", "--nonsense"], "No such option '--nonsense'. `main topics"),
        (
            ["ingest", "--stopwords", "x"],
            "No such option '--stopwords'. Did you mean --stop-words, --max-words or --stride? "
            "`main ingest",
        ),
        (
            ["corpus", "export", "corpus", "--out", "x"],
            "Missing option '--to'. Choose one of gensim, matrix-market, lda-c. "
            "`main corpus export",
        ),
    ],
)
def test_wrong_usage_is_one_line_and_status_two(arguments, message):
    result = CliRunner().invoke(main, arguments)

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"Error: {message} --help` lists what there is.\n"


def test_a_file_that_looks_like_an_option_is_recognised(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-dash.jsonl").touch()

    there = CliRunner().invoke(main, ["ingest", "-dash.jsonl", "--out", "out"]).stderr
    elsewhere = CliRunner().invoke(main, ["ingest", "-x.jsonl", "--out", "out"]).stderr

    usage = "`main ingest --help` lists what there is.\n"
    hint = "For the file -dash.jsonl write ./-dash.jsonl."
    assert there == f"Error: No such option '-d'. {hint} {usage}"
    assert elsewhere == f"Error: No such option '-x'. {usage}"


def test_an_option_without_its_value_is_wrong_usage():
    result = CliRunner().invoke(main, ["topics", "run", "--words"])

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "Error: Option '--words' requires an argument. `--help` lists what there is.\n"
    )


def test_a_wrong_value_is_one_line_and_status_one():
    result = CliRunner().invoke(main, ["topics", "run", "--words", "0"])

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "Error: --words: must be at least 1, but is 0.\n"


@pytest.fixture
def command_that(monkeypatch):
    """Put a command of one statement on the command line as ``try``."""

    def install(action):
        module = SimpleNamespace(command=click.Command("try", callback=action))
        monkeypatch.setitem(COMMANDS, "try", "sparsetopics.cli.try")
        monkeypatch.setattr(cli_main.importlib, "import_module", lambda _: module)
        monkeypatch.setattr(main, "commands", {})

    return install


def refuse():
    raise OptionError("--topics", "must be at least 1, but is 0", "Give more.")


def test_library_errors_end_as_one_line(command_that):
    command_that(refuse)

    result = CliRunner().invoke(main, ["try"])

    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr == "Error: --topics: must be at least 1, but is 0. Give more.\n"


@pytest.mark.parametrize("arguments", [["-v", "try"], ["try", "-v"], ["try", "--verbose"]])
def test_verbose_shows_the_traceback_before_the_line(command_that, arguments):
    command_that(refuse)

    result = CliRunner().invoke(main, arguments)

    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert result.stderr.endswith("Error: --topics: must be at least 1, but is 0. Give more.\n")


def test_verbose_may_follow_a_sub_command(command_that):
    command_that(refuse)
    group = click.Group("try", commands={"sub": click.Command("sub", callback=refuse)})
    cli_main.importlib.import_module("").command = group

    result = CliRunner().invoke(main, ["try", "sub", "-v"])

    assert "Traceback" in result.stderr


def test_an_interrupt_ends_as_one_line_with_130(command_that):
    command_that(lambda: signal.raise_signal(signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it

    try:
        result = CliRunner().invoke(main, ["try"])
    finally:
        signal.signal(signal.SIGINT, before)

    assert (result.exit_code, result.stderr) == (130, "Error: interrupted.\n")
