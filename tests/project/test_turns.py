"""What ``benchmarks/turns.py`` runs, and what it makes of its figures."""

import importlib.util
from pathlib import Path

import pytest
from click.testing import CliRunner

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "turns.py"
if not SCRIPT.is_file():
    pytest.skip("needs benchmarks/, which the source archive leaves out", allow_module_level=True)


@pytest.fixture(scope="module")
def turns():
    spec = importlib.util.spec_from_file_location("turns", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def environment(tmp_path):
    """A folder with programs of its own."""
    programs = tmp_path / "environment" / "bin"
    programs.mkdir(parents=True)

    def add(name, text):
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
        return programs.parent

    return add


def test_ratios_are_formed_turn_by_turn(turns):
    """Both of the third turn are slow, as the machine was: no spread comes of it."""
    there = [turns.Turn(cpu, 1.0) for cpu in (1.0, 2.0, 40.0, 4.0, 5.0)]
    here = [turns.Turn(1.02 * turn.cpu, 2.0) for turn in there]

    found = turns.compare(here, there)

    assert found.cpu.median == pytest.approx(1.02)
    assert found.cpu.extremes == pytest.approx((1.02, 1.02))
    assert found.wall.quartiles == (2.0, 2.0)
    assert (found.seconds_here, found.seconds_there) == pytest.approx((1.02 * 4, 4))


def test_spread_is_that_of_the_ratios(turns):
    here = [turns.Turn(cpu, cpu) for cpu in (5.0, 1.0, 3.0, 2.0, 4.0)]

    found = turns.compare(here, [turns.Turn(1.0, 2.0)] * 5)

    assert found.cpu == turns.Spread(3.0, (2.0, 4.0), (1.0, 5.0))
    assert found.wall.median == 1.5


def test_who_comes_first_alternates(turns):
    assert list(turns.order(3)) == [("there", "here"), ("here", "there"), ("there", "here")]


@pytest.mark.parametrize(("ratio", "word"), [(1.03, "Not slower"), (1.031, "SLOWER")])
def test_the_limit_itself_is_not_slower(turns, ratio, word):
    found = turns.compare([turns.Turn(ratio, 1.0)], [turns.Turn(1.0, 1.0)])

    assert turns.sentences(found, 1.03).splitlines()[-1].startswith(word)


def test_a_command_is_that_of_the_environment_and_scratch_is_new_each_time(
    turns, environment, tmp_path
):
    folder = environment("sparsetopics", f'mkdir "$1"/run && pwd && echo "$1" >> {tmp_path}/seen')

    for _ in range(2):
        assert turns.run_once(["sparsetopics", "{scratch}"], folder).wall > 0

    first, second = (tmp_path / "seen").read_text().split()
    assert first != second
    assert not Path(first).exists()


def test_a_command_that_fails_ends_it_with_its_stderr(turns, environment, monkeypatch):
    folder = environment("sparsetopics", "echo it broke >&2; exit 3")
    monkeypatch.setattr(turns, "installed", lambda tree, cache: folder)
    monkeypatch.setattr(turns, "tree_of", lambda commit: commit)
    monkeypatch.setattr(turns, "working_tree", str)

    result = CliRunner().invoke(turns.main, ["main", "--", "sparsetopics", "--out", "x"])

    assert result.exit_code == 1
    assert "status 3" in result.stderr
    assert "it broke" in result.stderr


@pytest.mark.parametrize(("at_most", "status"), [([], 0), (["--at-most", "0"], 1)])
def test_a_limit_that_is_asked_for_decides_the_status(
    turns, environment, monkeypatch, at_most, status
):
    folder = environment("sparsetopics", "exit 0")
    monkeypatch.setattr(turns, "installed", lambda tree, cache: folder)
    monkeypatch.setattr(turns, "tree_of", lambda commit: commit)
    monkeypatch.setattr(turns, "working_tree", str)

    result = CliRunner().invoke(
        turns.main, ["main", "--turns", "2", *at_most, "--json", "--", "sparsetopics"]
    )

    assert result.exit_code == status, result.output
    assert '"n_turns": 2' in result.stdout
