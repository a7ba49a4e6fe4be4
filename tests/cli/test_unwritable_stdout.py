"""Commands whose stdout is full, closed, or no longer read end as other Unix commands do."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from sparsetopics import Corpus
from sparsetopics.cli.main import main
from worlds.collections_on_disk import make_texts, write_jsonl

FULL = "Error: stdout: No space left on device.\n"
CLOSED = "Error: stdout: Bad file descriptor.\n"
UNREAD = 128 + signal.SIGPIPE
COMMAND = (sys.executable, "-m", "sparsetopics.cli")
# A few letters, or one line that is longer than Python's buffer of stdout, and many lines.
TALKATIVE = """
import sys
import click
from sparsetopics.cli.main import COMMANDS, main
from sparsetopics.cli.printing import JSON, show

def talk():
    if sys.argv[1] == "write":
        print(file=open("/dev/full", "w"), flush=True)
    click.get_current_context().meta[JSON] = sys.argv[1] == "json"
    length, n_lines = (1, 1) if "few" in sys.argv else (100_000, 2000)
    show("x" * length, ["y" * 80] * n_lines)

COMMANDS["talk"] = ""
main.commands["talk"] = click.Command("talk", callback=talk)
main(["talk"])
"""
needs_full_device = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def run(command, stdout, stderr=subprocess.PIPE, *, unbuffered="", **place):
    """The exit status and what is said on stderr."""
    done = subprocess.run(
        list(map(str, command)),
        check=False,
        stdout=stdout,
        stderr=stderr,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        **place,
    )
    return done.returncode, done.stderr


@pytest.fixture
def full():
    with open("/dev/full", "w") as device:
        yield device


@pytest.fixture
def unread():
    """A pipe whose reader has gone."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


def printing_commands(unbuffered):
    """Each way to print; of similar ones, half in a Python without buffers."""
    found = [
        [*COMMAND, "--help"],
        [sys.executable, "-c", TALKATIVE, "lines", "few"],
        [sys.executable, "-c", TALKATIVE, "json", "few"],
        [sys.executable, "-c", TALKATIVE, "json"],
        [sys.executable, "-c", TALKATIVE, "lines"],
    ]
    return found[1::2] if unbuffered else found


@needs_full_device
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_stdout_is_one_line_and_status_one(full, unbuffered):
    for command in printing_commands(unbuffered):
        assert run(command, full, unbuffered=unbuffered) == (1, FULL), command


@needs_full_device
def test_nothing_is_left_to_say_if_stderr_is_full_too(run_folder, full):
    assert run([*COMMAND, "topics", run_folder], full, full) == (1, None)


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_gone_ends_a_command_quietly(unread, unbuffered):
    for command in printing_commands(unbuffered):
        assert run(command, unread, unbuffered=unbuffered) == (UNREAD, ""), command


def test_a_reader_of_stdout_and_stderr_may_go(run_folder, unread):
    assert run([*COMMAND, "topics", run_folder], unread, unread) == (UNREAD, None)


def test_what_was_read_before_is_complete():
    command = [sys.executable, "-c", TALKATIVE, "lines"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        first = process.stdout.readline()
        process.stdout.close()

        assert process.stderr.read() == b""

    assert (process.returncode, first) == (UNREAD, b"y" * 80 + b"\n")


def test_a_closed_stdout_is_one_line_and_status_one(run_folder):
    for words in ("--help", f"topics {run_folder} --json"):
        command = ["sh", "-c", f"{sys.executable} -m sparsetopics.cli {words} >&-"]

        assert run(command, None) == (1, CLOSED), words


@needs_full_device
def test_what_a_command_has_written_stays(tmp_path, full):
    write_jsonl(tmp_path / "news.jsonl", make_texts(60))
    ingest = [*COMMAND, "ingest", "news.jsonl", "--out", "corpus", "--quiet", "--json"]

    assert run(ingest, full, cwd=tmp_path) == (1, FULL)

    described = CliRunner().invoke(main, ["corpus", "info", str(tmp_path / "corpus"), "--json"])
    assert json.loads(described.stdout)["n_documents"] == 60


def trained(tmp_path, corpus, redirected):
    """The status of training with stderr ``redirected``, what stdout has, and whether it ended."""
    options = "--model lda --topics 3 --laps 2 --checkpoint-every 1"
    done = subprocess.run(
        ["sh", "-c", f"{' '.join(COMMAND)} train {corpus} {options} --out run {redirected}"],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    return done.returncode, done.stdout.startswith("Trained 3 topics"), (tmp_path / "run").exists()


def test_a_closed_stderr_stops_no_work_and_leaves_stdout_alone(tmp_path):
    Corpus.from_texts(make_texts(60)).save(tmp_path / "corpus")

    assert trained(tmp_path, "corpus", "2>&-") == (0, True, True)
    failing = ["sh", "-c", f"{' '.join(COMMAND)} topics nope 2>&-"]
    assert subprocess.run(failing, check=False, stdout=subprocess.PIPE).stdout == b""


@needs_full_device
def test_a_stderr_that_cannot_be_written_stops_no_work(tmp_path, unread):
    write_jsonl(tmp_path / "news.jsonl", make_texts(60))
    ingest = [*COMMAND, "ingest", "news.jsonl", "--out", "corpus"]
    assert run(ingest, subprocess.DEVNULL, unread, cwd=tmp_path)[0] == 0
    assert trained(tmp_path, "corpus", "2>/dev/full") == (0, True, True)


@needs_full_device
def test_errors_of_other_files_are_not_said_to_be_about_stdout():
    status, said = run([sys.executable, "-c", TALKATIVE, "write"], subprocess.DEVNULL)

    assert status == 1
    assert said.endswith("\nOSError: [Errno 28] No space left on device\n")
