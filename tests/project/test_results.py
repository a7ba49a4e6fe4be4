"""Figures in the documentation are those that benchmarks have kept."""

import importlib
import json
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
if not FOLDER.is_dir():
    pytest.skip("needs benchmarks/, which the source archive leaves out", allow_module_level=True)
sys.path.append(str(FOLDER))
results = importlib.import_module("results")


@pytest.fixture
def speed(tmp_path, monkeypatch):
    """A kept result of two rows."""
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    rows = {"20news": {"cpu": 4.44, "share": 0.126, "score": -7.8025}, "kos": {"cpu": 1234.5}}
    results.keep("speed", rows)
    return rows


@pytest.mark.parametrize("page", results.pages(), ids=lambda page: page.name)
def test_pages_agree_with_the_files(page):
    text = page.read_text(encoding="utf-8")

    assert results.with_tables(text) == text, "run python benchmarks/results.py"
    assert list(results.wrong_figures(text)) == []


def test_every_file_says_how_it_was_made():
    for path in results.FOLDER.glob("*.json"):
        found = results.read(path.stem)
        script, *_ = found.command.removeprefix("python ").split()
        assert (FOLDER.parent / script).is_file(), path
        assert found.commit
        assert found.versions["sparsetopics"]
        assert found.rows


def test_what_is_kept_says_where_it_is_from(speed, tmp_path):
    kept = json.loads((tmp_path / "speed.json").read_text())

    assert kept["rows"] == speed
    assert set(kept) == {"command", "commit", "date", "machine", "versions", "rows"}


def test_kept_commands_name_no_places_of_a_machine():
    given = [
        "/home/me/corpus",
        "--keep",
        "--shared",
        "/data",
        "--seeds",
        "1",
        "table",
        "/a/b.jsonl",
    ]

    kept = ["corpus", "--keep", "--seeds", "1", "table", "b.jsonl"]
    assert results.without_places(given) == kept


def test_what_is_printed_is_kept(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    rows = {"kos": {"cpu": 1.25, "error": None}}

    results.report("speed", rows, is_kept=False)
    assert not list(tmp_path.iterdir())
    results.report("speed", rows, is_kept=True)

    assert results.read("speed").rows == rows
    assert capsys.readouterr().out == 2 * "kos: cpu 1.2500\n"


def test_runs_are_summed_up():
    runs = [
        {"cpu": 1, "named": True, "of": "a", "lost": None},
        {"cpu": 2, "named": False, "of": "b", "lost": 0.5},
    ]

    assert results.over_runs(runs) == {
        "cpu": 1.5, "cpu_least": 1.0, "cpu_most": 2.0,
        "named": 0.5, "named_least": 0.0, "named_most": 1.0,
    }  # fmt: skip


def test_tables_are_written_from_files(speed):
    page = "Times:\n\n<!-- table speed cpu:1=CPU seconds share:% -->\n| old |\n\nAnd so on.\n"

    found = results.with_tables(page)

    assert found == (
        "Times:\n\n<!-- table speed cpu:1=CPU seconds share:% -->\n"
        "|  | CPU seconds | share |\n| --- | --- | --- |\n"
        "| 20 Newsgroups | 4.4 | 13 % |\n| KOS | 1,234.5 | – |\n\nAnd so on.\n"
    )
    assert results.with_tables(found) == found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("takes 4.4 s <!-- speed 20news cpu -->.", None),
        ("takes 4 CPU seconds<!-- speed 20news cpu -->.", None),
        ("takes 1,235 s <!-- speed kos cpu -->.", None),
        ("is 13 % <!-- speed 20news share -->.", None),
        ("scores −7.802 <!-- speed 20news score -->.", None),
        ("takes 4.5 s <!-- speed 20news cpu -->.", "the file has 4.4"),
        ("takes 4.4 s <!-- speed nips cpu -->.", "no such figure"),
        ("takes 4.4 s <!-- pace 20news cpu -->.", "no such figure"),
    ],
)
def test_figures_in_sentences_are_checked(speed, text, problem):
    found = list(results.wrong_figures(text))

    assert [each.rpartition(": ")[2] for each in found] == ([problem] if problem else [])


def test_results_are_short_and_have_no_figure_without_a_file():
    text = (results.ROOT / "benchmarks/RESULTS.md").read_text(encoding="utf-8")

    printed = [line for line in text.splitlines() if not line.startswith("<!--")]
    assert len(printed) <= 165  # three pages
    assert not list(results.figures_without_source(text))


def test_figures_without_a_source_are_found(speed):
    text = "Is 4.4 s <!-- speed 20news cpu -->.\nThe share is 12 %.\n`--share 0.5` is K = 100.\n"

    assert list(results.figures_without_source(text)) == ["The share is 12 %."]
