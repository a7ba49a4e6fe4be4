"""``--log-file`` and ``--quiet``, which every command takes, and how commands end."""

import json
import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from sparsetopics.base.errors import OptionError, SparsetopicsWarning
from sparsetopics.cli import main as cli_main
from sparsetopics.cli.main import COMMANDS, STATUSES, main
from sparsetopics.cli.printing import JSON, say, show
from worlds.collections_on_disk import make_texts, write_jsonl

DOCS = Path(__file__).parents[2] / "docs"
ENTRY = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d (?P<level>INFO|WARNING|ERROR) (?P<text>.*)"
)
WRITER = """
import os, sys
from sparsetopics.cli.printing import LOG, note, obeying
log = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
with obeying({LOG: log}):
    for _ in range(500):
        note(sys.argv[2] * 5_000)
"""


def entries(log):
    found = [ENTRY.fullmatch(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert all(found)
    return [(each["level"], each["text"]) for each in found]


def run(*words, status=0):
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == status, result.output
    return result


@pytest.fixture
def command_that(monkeypatch):
    """Put a command of one statement on the command line as ``try``."""

    def install(action):
        module = SimpleNamespace(command=click.Command("try", callback=action))
        monkeypatch.setitem(COMMANDS, "try", "sparsetopics.cli.try")
        monkeypatch.setattr(cli_main.importlib, "import_module", lambda _: module)
        monkeypatch.setattr(main, "commands", {})

    return install


def talk():
    say("a remark")
    warnings.simplefilter("always")  # pytest raises them
    warnings.warn("a warning", SparsetopicsWarning, stacklevel=1)
    warnings.warn("of a library", UserWarning, stacklevel=1)
    show({"a": 1}, ["a result", "", "\x1b[2Janother\n"])


def show_json():
    click.get_current_context().meta[JSON] = True
    show({"a": 1}, ["a result"])


def refuse():
    raise OptionError("--topics", "must be at least 1, but is 0", "Give more.")


def interrupt():
    signal.raise_signal(signal.SIGINT)


def fail():
    raise ZeroDivisionError("division by zero")


def test_every_command_takes_both_options():
    for name in COMMANDS:
        command = main.get_command(click.Context(main), name)
        for each in (command, *getattr(command, "commands", {}).values()):
            options = [option for param in each.params for option in param.opts]
            assert options.count("--quiet") == options.count("--log-file") == 1, each.name


@pytest.mark.parametrize("place", ["before", "after"])
def test_the_log_has_all_lines_between_the_command_and_its_status(tmp_path, command_that, place):
    command_that(talk)
    log = tmp_path / "a log"
    options = ["--log-file", log]

    shown = run(*options, "try") if place == "before" else run("try", *options)

    typed = f"--log-file '{log}'"
    command = f"{typed} try" if place == "before" else f"try {typed}"
    assert entries(log) == [
        ("INFO", f"Command: sparsetopics {command}"),
        ("INFO", "a remark"),
        ("WARNING", "a warning"),
        ("WARNING", "UserWarning: of a library"),
        ("INFO", "a result"),
        ("INFO", ""),
        ("INFO", "\\x1b[2Janother\\n"),
        ("INFO", "Exit status 0."),
    ]
    assert shown.stderr.startswith("a remark\nWarning: a warning\n")
    assert shown.stdout == "a result\n\n\\x1b[2Janother\\n\n"


def test_a_log_is_never_truncated_and_json_is_not_logged(tmp_path, command_that):
    command_that(show_json)
    log = tmp_path / "log"
    log.write_text("2026-06-01T03:00:00+02:00 INFO Of yesterday.\n")

    shown = [run("try", "--quiet", "--log-file", log).stdout for _ in range(2)]

    assert shown == ['{"a": 1}\n'] * 2
    texts = [text for _, text in entries(log)]
    typed = f"Command: sparsetopics try --quiet --log-file {log}"
    assert texts == ["Of yesterday.", *[typed, "Exit status 0."] * 2]


def test_quiet_hides_all_but_errors_from_people(tmp_path, command_that):
    log = tmp_path / "log"
    command_that(talk)
    assert run("try", "--quiet").output == run("--quiet", "try").output == ""
    assert run("try", "--quiet", "--log-file", log).output == ""
    assert ("WARNING", "a warning") in entries(log)
    assert run("--quiet", "try", "--no-quiet").stdout.startswith("a result")
    command_that(refuse)

    assert run("try", "--quiet", status=1).output == (
        "Error: --topics: must be at least 1, but is 0. Give more.\n"
    )
    assert "Traceback" in run("try", "--quiet", "-v", status=1).stderr


@pytest.mark.parametrize(
    ("action", "status", "error"),
    [
        (refuse, 1, "--topics: must be at least 1, but is 0. Give more."),
        (fail, 1, "ZeroDivisionError: division by zero"),
        (interrupt, 130, "interrupted."),
    ],
)
def test_the_log_ends_with_the_error_and_the_status(tmp_path, command_that, action, status, error):
    command_that(action)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it

    try:
        run("try", "--quiet", "--log-file", tmp_path / "log", status=status)
    finally:
        signal.signal(signal.SIGINT, before)

    assert entries(tmp_path / "log")[1:] == [("ERROR", error), ("INFO", f"Exit status {status}.")]


def test_wrong_usage_is_logged_too(tmp_path):
    run("--log-file", tmp_path / "log", "topics", "run", "--nonsense", status=2)
    run("topics", "--log-file", tmp_path / "log", status=2)
    run("topics", "run", "--words", 0, "--log-file", tmp_path / "log", status=1)

    errors = [text for level, text in entries(tmp_path / "log") if level == "ERROR"]
    assert [error.split(".")[0] for error in errors] == [
        "No such option '--nonsense'",
        "Missing argument 'RUN'",
        "--words: must be at least 1, but is 0",
    ]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    source = write_jsonl(folder / "news.jsonl", make_texts(60))
    run("ingest", source, "--out", folder / "corpus")
    quick = ("--model", "lda", "--topics", 2, "--laps", 1, "--keep-state")
    run("train", folder / "corpus", *quick, "--out", folder / "run")
    return folder


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (".", "Is a directory"),
        ("", "No such file or directory"),
        ("absent/log", "No such file or directory"),
        ("new/log", "No such file or directory"),  # in the run that is to be made
        ("pipe", "No such device or address"),  # that nobody reads
        ("run/log", "it lies in {}/run, which commands replace"),
        ("run/state/log", "it lies in {}/run, which commands replace"),
        ("corpus/manifest.json", "it lies in {}/corpus, which commands replace"),
        ("x" * 300, "File name too long"),
    ],
)
@pytest.mark.parametrize("place", ["before", "after"])
def test_a_log_that_cannot_be_written_is_refused_at_once(trained, monkeypatch, log, reason, place):
    monkeypatch.chdir(trained)
    if not Path("pipe").exists():
        os.mkfifo("pipe")
    train = ["train", "corpus", "--laps", "1", "--out", "new"]
    options = ["--log-file", log]

    refused = run(*(options + train if place == "before" else train + options), status=1)

    problem = f"{log} cannot be written ({reason.format(trained)}). Choose another path."
    assert refused.output == f"Error: --log-file: {problem}\n"
    assert not Path("new").exists()
    assert not Path("run/log").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_stops_no_work(trained):
    assert run("corpus", "info", trained / "corpus", "--log-file", "/dev/full").stdout


def test_lines_of_two_processes_do_not_mix(tmp_path):
    log = tmp_path / "log"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, log, each]) for each in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]

    assert sorted({text for _, text in entries(log)}) == ["a" * 5_000, "b" * 5_000]
    assert len(entries(log)) == 1_000


def test_training_logs_its_laps(trained, tmp_path):
    log = tmp_path / "log"
    words = ("train", trained / "corpus", "--model", "lda", "--topics", 2, "--laps", 2)

    shown = run(*words, "--out", tmp_path / "run", "--quiet", "--log-file", log, "--json")

    assert json.loads(shown.stdout)["laps"] == 2
    assert shown.stderr == ""
    texts = [text for _, text in entries(log)]
    assert [text.split()[1] for text in texts if text.startswith("lap ")] == ["1/2", "2/2"]


def test_a_config_file_may_be_quiet_but_names_no_log(trained, tmp_path):
    (tmp_path / "quiet.toml").write_text("quiet = true\n")
    (tmp_path / "log.toml").write_text('log-file = "log"\n')
    ingest = ("ingest", trained / "news.jsonl", "--out", tmp_path / "corpus")

    assert run(*ingest, "--config", tmp_path / "quiet.toml").output == ""
    shown = run(*ingest, "--config", tmp_path / "quiet.toml", "--no-quiet", "--overwrite")
    assert "60 documents" in shown.stdout
    refused = run(*ingest, "--config", tmp_path / "log.toml", status=1)
    assert "give --log-file on the command line, not in a file" in refused.stderr


def test_completion_opens_no_log(tmp_path):
    words = f"sparsetopics topics --log-file {tmp_path / 'log'} --wor"
    environment = {
        "_SPARSETOPICS_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": "4",
    }

    shown = CliRunner().invoke(main, [], prog_name="sparsetopics", env=environment).output

    assert shown == "plain,--words\n"
    assert not (tmp_path / "log").exists()


@pytest.mark.skipif(not DOCS.is_dir(), reason="needs docs/, which the source archive leaves out")
def test_the_statuses_of_the_page_are_those_of_the_code():
    page = (DOCS / "how-to" / "nightly.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", page.partition("## Exit statuses")[2], re.MULTILINE)

    assert {int(status): text.replace("\\|", "|") for status, text in rows} == STATUSES
    assert {click.ClickException.exit_code, click.UsageError.exit_code} == {1, 2}
