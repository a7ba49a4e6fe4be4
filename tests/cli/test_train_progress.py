"""What a person reads while a model is trained, and at its end."""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.progress import Progress

from sparsetopics.cli.printing import LOG, QUIET, obeying
from sparsetopics.cli.train import outcome
from sparsetopics.cli.train_progress import SECONDS_OF_SILENCE, lap_line, show_progress
from sparsetopics.options.training import LocalOptions, TrainingOptions
from sparsetopics.runs.train import RunResult

RUN = Path("run")
LDA = TrainingOptions(57, laps=20)
HDP = TrainingOptions(50, model="hdp")
VECTORS = TrainingOptions(5, local=LocalOptions("mean-field"), model="mixture")
GROWING = replace(VECTORS, n_topics=1, model="dp-mixture", learner="accelerated")
ENTRY = {
    "lap": 7,
    "seconds": 12.34,
    "elbo_per_token": -8.12346,
    "n_topics": 57,
    "active_topics": 57,
    "merges_accepted": 0,
    "deletes_accepted": 0,
    "births_accepted": 0,
    "criterion_per_token": None,
    "heldout_log_likelihood_per_token": None,
}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "lap 7/100  12.3 s  ELBO -8.1235  K 57"),
        (
            {"merges_accepted": 3, "deletes_accepted": 1, "births_accepted": 4},
            "lap 7/100  12.3 s  ELBO -8.1235  K 57 (−3 merged, −1 deleted, +4 born)",
        ),
        ({"births_accepted": 4}, "lap 7/100  12.3 s  ELBO -8.1235  K 57 (+4 born)"),
        ({"active_topics": 50}, "lap 7/100  12.3 s  ELBO -8.1235  K 57  50 active"),
        (
            {"criterion_per_token": -8.0, "heldout_log_likelihood_per_token": -7.9},
            "lap 7/100  12.3 s  ELBO -8.1235  criterion -8.0000  held-out -7.9000  K 57",
        ),
    ],
)
def test_a_lap_in_a_line(changes, line):
    assert lap_line(ENTRY | changes, HDP) == line


@pytest.mark.parametrize(
    ("options", "laps", "ending"),
    [
        (LDA, 20, "nats per token."),
        (HDP, 34, "The bound and the number of topics have settled."),
        (HDP, 100, "All laps are done."),
    ],
)
def test_the_last_sentence_says_why_training_ended(options, laps, ending):
    said = outcome(RunResult(options.model, 57, 57, -8.12346, laps, 12.34), options, RUN)

    assert said.startswith(f"Trained 57 topics ({options.model.upper()}) in {laps} laps and 12.3 s")
    assert said.endswith(ending)


def test_the_last_sentence_says_how_many_components_are_in_use():
    said = outcome(RunResult("mixture", 50, 18, -1.5, 1, 0.2), VECTORS, RUN)

    assert said.startswith("Trained 50 components (mixture), 18 of them in use, in 1 lap and 0.2 s")


@pytest.mark.parametrize(
    ("n_topics", "to_read", "sentence"),
    [
        (
            111,
            24,
            "24 themes to read, of 111 topics that predict best (HDP); 77 laps, 12.8 s. "
            "`sparsetopics topics run --themes 24` prints them.",
        ),
        (24, 24, "24 topics to read (HDP), of 111 that predict best; 77 laps, 12.8 s."),
        (111, 111, "111 topics to read and to predict (HDP); 77 laps, 12.8 s."),
    ],
)
def test_the_first_sentence_is_about_reading(n_topics, to_read, sentence):
    numbers = {"as_good_from": 90, "as_good_to": 130, "recommended": 111, "to_read": to_read}
    result = RunResult("hdp", n_topics, n_topics, -8.12346, 77, 12.8, **numbers)

    said = outcome(result, HDP, RUN)

    ending = "ELBO -8.1235 nats per token. From 90 to 130 topics predict as well."
    assert said == f"{sentence} {ending}"
    assert "3 of them in use; 77 laps" in outcome(
        result._replace(n_topics=111, active_topics=3, to_read=24), HDP, RUN
    )


@pytest.mark.parametrize(
    ("options", "n_done", "line"),
    [
        (HDP, 1.0, "50 % of the documents visited"),
        (HDP, 2.0, "100 % of the documents visited, trying moves"),
        (LDA, 2.0, "100 % of the documents visited"),
        (GROWING, 2.0, "100 % of the items visited, trying moves"),
    ],
)
def test_without_a_terminal_a_long_lap_says_how_far_it_is(
    capsys, monkeypatch, options, n_done, line
):
    clock = iter([0.0, SECONDS_OF_SILENCE - 1, SECONDS_OF_SILENCE, *[SECONDS_OF_SILENCE] * 2])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))

    with show_progress(options) as hooks:
        for _ in range(3):
            hooks.on_documents(n_done, 2)

    assert capsys.readouterr().err == f"{line}\n"


def test_both_kinds_of_progress_say_that_the_run_is_written(capsys, monkeypatch):
    with show_progress(HDP) as hooks:
        hooks.on_writing()
    assert capsys.readouterr().err == "Writing the run.\n"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")

    with show_progress(HDP) as hooks:
        hooks.on_documents(2.0, 2)
        hooks.on_writing()

    assert "writing the run" in capsys.readouterr().err


@pytest.fixture
def bar(monkeypatch):
    """The time, which a test sets, and what the bar is told."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    clock, told, update = [0.0], [], Progress.update
    monkeypatch.setattr("rich.console.monotonic", lambda: clock[0])
    monkeypatch.setattr(
        Progress, "update", lambda *own, **fields: (told.append(fields), update(*own, **fields))
    )
    return clock, told


def test_moves_are_named_and_do_not_slow_the_rate_that_is_shown(bar):
    clock, told = bar

    with show_progress(HDP) as hooks:
        for clock[0], n_done in ((1.0, 50), (2.0, 100), (60.0, 100)):
            hooks.on_documents(n_done, 100)

    assert [fields["rate"] for fields in told if "rate" in fields] == ["50 documents/s"] * 2
    assert told[-2]["description"] == "lap 1/100, trying moves"


def test_without_a_terminal_there_is_a_line_per_lap(capsys):
    with show_progress(HDP) as hooks:
        hooks.on_documents(1.0, 2)
        hooks.on_lap(ENTRY)

    assert capsys.readouterr().err == f"{lap_line(ENTRY, HDP)}\n"


@pytest.mark.parametrize(
    ("options", "unit", "left"),
    [
        (LDA, "documents", " left: "),
        (HDP, "documents", " left at most: "),
        (VECTORS, "items", " left at most: "),
    ],
)
def test_on_a_terminal_there_is_a_bar_below_the_lines(capsys, monkeypatch, options, unit, left):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")

    with show_progress(options) as hooks:
        hooks.on_documents(1.0, 2)
        hooks.on_lap(ENTRY)
        hooks.on_documents(1.0, 2)
        hooks.on_documents(1.5, 2)

    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err)
    lines = shown.replace("\r", "\n").splitlines()
    assert lap_line(ENTRY, options) in [line.rstrip() for line in lines]
    assert re.search(
        rf"lap 8/{options.n_laps} \W+ [\d,]+ {unit}/s{left}(\d+:\d\d:\d\d|-:--:--)", shown
    )


@pytest.mark.parametrize("is_kept", [True, False])
def test_until_the_first_documents_the_bar_says_what_takes_so_long(
    capsys, monkeypatch, tmp_path, is_kept
):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    (tmp_path / "sparsetopics_1").mkdir()
    if is_kept:
        (tmp_path / "sparsetopics_1" / "kernel.nbi").touch()

    with show_progress(HDP):
        pass

    shown = capsys.readouterr().err
    assert ("compiling, once" in shown, "reading" in shown) == (not is_kept, is_kept)


@pytest.mark.parametrize("is_terminal", [True, False])
def test_quiet_shows_nothing(capsys, monkeypatch, is_terminal):
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal)

    with obeying({QUIET: True}), show_progress(HDP) as hooks:
        hooks.on_documents(1.0, 2)
        hooks.on_lap(ENTRY)
        hooks.on_writing()

    assert capsys.readouterr() == ("", "")


def test_under_a_bar_the_log_gets_plain_lines(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("sparsetopics.cli.train_progress.SECONDS_OF_SILENCE", 0.0)
    log = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT)

    with obeying({LOG: log}), show_progress(HDP) as hooks:
        hooks.on_documents(1.0, 2)
        hooks.on_lap(ENTRY)
        hooks.say("Saved memory [all].")
        hooks.on_writing()
    os.close(log)

    lines = (tmp_path / "log").read_text().splitlines()
    assert [line.split(" ", 2)[1:] for line in lines] == [
        ["INFO", "50 % of the documents visited"],
        ["INFO", lap_line(ENTRY, HDP)],
        ["INFO", "Saved memory [all]."],
        ["INFO", "Writing the run."],
    ]


def test_the_rate_is_that_of_this_process(bar):
    """Thirteen laps were made before it."""
    clock, told = bar

    with show_progress(LDA) as hooks:
        hooks.on_documents(50, 100)
        hooks.on_lap(ENTRY | {"lap": 14})
        for clock[0], n_done in ((2.0, 0), (3.0, 50), (4.0, 100)):
            hooks.on_documents(n_done, 100)
        hooks.on_lap(ENTRY | {"lap": 15})

    assert [fields["rate"] for fields in told if "rate" in fields] == ["50 documents/s"]
    assert [each["completed"] for each in told if "completed" in each] == [0.5, 14, 14.5, 15]


@pytest.mark.parametrize(("first_lap", "knows_speed"), [(1, True), (14, False)])
def test_laps_of_another_process_do_not_shorten_the_time_left(monkeypatch, first_lap, knows_speed):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    speeds, stop = [], Progress.stop

    def look(progress):
        speeds.append(progress.tasks[0].speed)
        stop(progress)

    monkeypatch.setattr(Progress, "stop", look)
    with show_progress(HDP) as hooks:
        hooks.on_documents(1.0, 2)
        hooks.on_documents(2.0, 2)
        hooks.on_lap(ENTRY | {"lap": first_lap})
        hooks.on_documents(0.0, 2)

    assert [speed is not None for speed in speeds] == [knows_speed]
