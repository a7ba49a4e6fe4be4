"""``train --runs``: what is printed, shown and refused."""

import json
import warnings

import pytest
from click.testing import CliRunner

from sparsetopics.cli.main import main
from worlds.collections_on_disk import write_jsonl
from worlds.themes_with_lists import texts

LDA = ("--model", "lda", "--topics", 8, "--runs", 3, "--laps", 8)


def run(*arguments, status=0):
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # they are printed
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    return result


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A corpus, and a consensus of three runs."""
    folder = tmp_path_factory.mktemp("world")
    run("ingest", write_jsonl(folder / "texts.jsonl", texts()), "--out", folder / "corpus")
    return folder


@pytest.fixture(scope="module")
def trained(world):
    return run("train", world / "corpus", *LDA, "--out", world / "run", "--json")


def test_lines_say_which_run_makes_a_lap(trained):
    lines = [line for line in trained.stderr.splitlines() if "ELBO" in line]

    assert [line.split("  ")[:2] for line in lines] == [
        *([f"run {n}/3", f"lap {lap}/8"] for n in (1, 2, 3) for lap in range(1, 9)),
        ["lap 1/1", lines[-1].split("  ")[1]],
    ]


def test_the_result_says_how_sure_topics_are(world, trained):
    found, rows = json.loads(trained.stdout), rows_of(world)

    assert (found["n_runs"], found["laps"]) == (3, 9)
    assert found["in_every_run"] == sum(row["found_in_runs"] == 3 for row in rows)
    resumed = json.loads(run("resume", world / "run", "--json").stdout)
    assert {**resumed, "seconds": 0} == {**found, "seconds": 0}


def rows_of(world):
    return json.loads(run("topics", world / "run", "--json").stdout)


def sentence_of(world):
    n_sure = sum(row["found_in_runs"] == 3 for row in rows_of(world))
    return f"{n_sure} of 8 topics were found by all 3 runs."


@pytest.mark.usefixtures("trained")
def test_topics_are_marked(world):
    lines = run("topics", world / "run").stdout.splitlines()

    for row, line in zip(rows_of(world), lines[1:], strict=False):
        assert f"[in {row['found_in_runs']} of 3 runs" in line
    assert lines[-1] == sentence_of(world)


@pytest.mark.usefixtures("trained")
def test_themes_are_not_marked(world):
    shown = run("topics", world / "run", "--themes", 3).stdout

    assert "found by all" not in shown
    joined = [row for row in rows_of_themes(world) if row["n_runs"] is None]
    assert joined


def rows_of_themes(world):
    return json.loads(run("topics", world / "run", "--themes", 3, "--json").stdout)


@pytest.mark.usefixtures("trained")
@pytest.mark.parametrize("kind", ["html", "md", "json"])
def test_pages_say_it_too(world, kind):
    page = world / f"page.{kind}"
    run("report", world / "run", "--out", page)

    text = page.read_text(encoding="utf-8")
    assert sentence_of(world).removesuffix(".") in text
    assert ('"found_in_runs": 3' if kind == "json" else "in 3 of 3 runs") in text
    assert "at most 8" not in text  # passes over the data


@pytest.mark.usefixtures("trained")
def test_the_config_makes_it_again(world):
    config = world / "run" / "config.toml"
    run("train", world / "corpus", "--config", config, "--out", world / "again", "--quiet")

    again, before = (world / name / "model.safetensors" for name in ("again", "run"))
    assert again.read_bytes() == before.read_bytes()


@pytest.mark.parametrize(
    ("command", "given", "status", "message"),
    [
        ("train", ("--model", "mixture", "--runs", 2), 1, "--runs: is for lda and hdp"),
        ("train", ("--runs", 0), 1, "--runs: must be from 1 to 100"),
        (
            "train",
            ("--runs", 2, "--learner", "full"),
            1,
            "works only with --learner memoized",
        ),
        ("path", ("--runs", 2), 2, "No such option"),
    ],
)
def test_what_has_no_consensus_is_refused(world, command, given, status, message):
    result = run(command, world / "corpus", *given, "--out", world / "refused", status=status)

    assert message in result.output
    assert not (world / "refused").exists()
