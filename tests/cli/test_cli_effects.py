"""``sparsetopics prevalence``: effects of formulas, correlations, and errors over runs."""

import pyarrow.parquet as pq
import pytest
from pyarrow import csv, json

from worlds.sport_and_law import called, told, write_texts

pytest.importorskip("formulaic")

SHARES = ["mean", "standard_error", "low", "high"]
TESTS = ["difference", "standard_error", "low", "high", "t", "p_value", "adjusted_p_value"]


def train(out, *options, corpus="named"):
    result = called("train", corpus, "--quiet", "--laps", 5, "--out", out, *options)
    assert result.exit_code == 0, result.output


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Two corpora of the same texts, one with fields, and runs with several seeds."""
    folder = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in ("seeds", "hdps", "single", "strangers", "mixtures"):
            (folder / name).mkdir()
        for name, words in (
            ("named", ("--max-df", "1.0")),
            ("kept", ("--vocabulary", "named", "--keep", "all")),
            ("other", ("--ngrams", 2)),
        ):
            label_of = (lambda number: None) if name == "kept" else (lambda n: "AB"[n % 2])
            write_texts(folder / f"{name}.jsonl", label_of)
            made = called("ingest", f"{name}.jsonl", "--out", name, "--quiet", *words)
            assert made.exit_code == 0, made.output
        lda = ("--model", "lda", "--topics", 2)
        mixture = ("--model", "mixture", "--likelihood", "multinomial", "--topics", 2)
        train("run", *lda)
        train("single/1", *lda)
        train("mixture", *mixture)
        for seed in range(1, 4):
            train(f"seeds/{seed}", *lda, "--seed", seed)
        for seed in range(1, 3):
            train(f"hdps/{seed}", "--model", "hdp", "--topics", 9, "--seed", seed)
            train(f"strangers/{seed}", *lda, corpus="other")
            train(f"mixtures/{seed}", *mixture, "--seed", seed)
    return folder


@pytest.fixture(autouse=True)
def here(world, monkeypatch):
    monkeypatch.chdir(world)


# --- formulas -------------------------------------------------------------------------------------
def test_a_formula_has_shares_at_the_values_of_its_fields():
    rows = told("run", "kept", "--formula", "~ section * size")

    assert list(rows[0]) == ["topic", "id", "name", "at_section", "at_size", *SHARES]
    points = [(row["at_section"], row["at_size"]) for row in rows if row["topic"] == 0]
    sizes = [8.0, 9.0, 10.0]
    alone = [("A", None), ("B", None), *((None, size) for size in sizes)]
    assert points == [*alone, *((section, size) for section in "AB" for size in sizes)]
    by_section = {row["group"]: row for row in told("run", "kept", "--by", "section")}
    for row in rows[:2]:
        other = by_section[row["at_section"]]
        assert row["topic"] == 0 or row["mean"] == pytest.approx(other["mean"], abs=0.02)


def test_a_formula_is_printed_as_groups_are():
    result = called("prevalence", "run", "kept", "--formula", "~ section + date")

    lines = result.stdout.splitlines()
    assert lines[0].split() == [
        "%",
        "of",
        "documents",
        "A",
        "B",
        "2023-11-30",
        "2023-12-24",
        "2024-01-02",
    ]
    assert lines[1].count("±") >= 3
    assert len(lines) == 3  # no numbers of documents
    left_out, known_topics = result.stderr.splitlines()
    assert left_out == "Left out: 2 documents without a value for the formula."
    assert known_topics.startswith("Errors take the topics as known.")


def test_coefficients_are_printed_and_told_as_differences():
    rows = told("run", "kept", "--formula", "~ section + size", "--differences")

    assert list(rows[0]) == ["topic", "id", "name", "term", *TESTS]
    assert [row["term"] for row in rows] == ["section[T.B]", "size"] * 2
    printed = called(
        "prevalence", "run", "kept", "--formula", "~ section + size", "--differences"
    ).stdout.splitlines()
    assert printed[0].split() == ["topic", "term", "difference,", "%", "p,", "Holm"]
    assert [line.split()[-4] for line in printed[1:3]] == ["section[T.B]"] * 2
    assert all(row["p_value"] < 1e-6 for row in rows if row["term"] == "section[T.B]")


@pytest.mark.parametrize("extension", ["parquet", "csv", "jsonl"])
def test_files_have_the_rows_of_a_formula(tmp_path, extension):
    out = tmp_path / f"a.{extension}"

    said = told("run", "kept", "--formula", "~ section", "--out", out)

    assert said == {"path": str(out), "n_rows": 4}
    readers = {"parquet": pq.read_table, "csv": csv.read_csv, "jsonl": json.read_json}
    rows = told("run", "kept", "--formula", "~ section")
    found = readers[extension](out).to_pylist()
    assert [row["at_section"] for row in found] == ["A", "B"] * 2
    tolerance = 0.01 if extension == "csv" else 0.0  # which is rounded for people
    means = [row["mean"] for row in rows]
    assert [row["mean"] for row in found] == pytest.approx(means, abs=tolerance, rel=0.0)


def test_themes_have_effects_and_names(tmp_path):
    options = ("--formula", "~ label", "--themes", 1)

    rows = told("run", "named", *options)

    assert [(row["topic"], row["at_label"]) for row in rows] == [(0, "A"), (0, "B")]
    assert all(row["mean"] == pytest.approx(1.0, abs=1e-3) for row in rows)
    (tmp_path / "names.toml").write_text(f'{told("run", "named")[0]["id"]} = "Sports"\n')
    named = told("run", "named", "--formula", "~ label", "--names", tmp_path / "names.toml")
    assert [row["name"] for row in named[:2]] == ["Sports"] * 2


def test_formulas_and_correlations_have_the_same_bits_for_any_number_of_workers():
    for options in (("--formula", "~ section * size"), ("--correlations",)):
        one, two = (told("run", "kept", *options, "--workers", n) for n in (1, 2))
        assert one == two


# --- correlations ---------------------------------------------------------------------------------
def test_correlations_have_a_row_for_each_pair():
    (row,) = told("run", "named", "--correlations")

    assert [*row][:6] == ["topic", "id", "name", "other_topic", "other_id", "other_name"]
    assert (row["topic"], row["other_topic"]) == (0, 1)
    assert row["correlation"] == pytest.approx(-1.0, abs=0.01)  # of two topics, shares add to one
    assert row["low"] <= row["correlation"] <= row["high"]
    result = called("prevalence", "run", "named", "--correlations")
    assert result.stdout.splitlines()[0].split() == ["topic", "with", "correlation"]
    assert len(result.stdout.splitlines()[1]) < 80
    assert result.stderr == ""


def test_coefficients_of_some_topics_are_those_of_all_tested_alone():
    options = ("--formula", "~ label", "--differences")
    alone, both = told("run", "named", *options, "--topic", 1), told("run", "named", *options)

    of_all = [row for row in both if row["topic"] == 1]
    assert [row | {"adjusted_p_value": row["p_value"]} for row in of_all] == alone
    assert of_all != alone
    shares = told("run", "named", *options[:2], "--topic", 1)
    assert shares == [row for row in told("run", "named", *options[:2]) if row["topic"] == 1]


# --- errors over runs -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    "options", [("--by", "label"), ("--formula", "~ label"), ("--by", "label", "--differences")]
)
def test_runs_make_errors_larger(options):
    alone, found = told("run", "named", *options), told("run", "named", *options, "--runs", "seeds")

    value = "difference" if "--differences" in options else "mean"
    assert [row[value] for row in found] == [row[value] for row in alone]
    pairs = zip(found, alone, strict=True)
    assert all(row["standard_error"] > other["standard_error"] for row, other in pairs)
    alone, found = alone[-1], told("run", "named", *options, "--runs", "seeds", "--topic", 1)[-1]
    assert found["standard_error"] > alone["standard_error"]
    assert "known" not in called("prevalence", "run", "named", *options, "--runs", "seeds").stderr


def test_runs_of_an_hdp_may_have_other_numbers_of_topics():
    rows = told("hdps/1", "named", "--by", "label", "--runs", "hdps")
    other = told("hdps/1", "named", "--by", "label")

    assert len(rows) == len(other)
    assert {row["topic"] for row in rows} == {row["topic"] for row in other}
    assert [row["mean"] for row in rows] == [row["mean"] for row in other]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--runs missing", "missing: has no runs. Single runs of a consensus are kept with"),
        ("--runs named", "named: has no runs"),
        ("--runs single", "--runs: needs at least 2 runs, but there are 1"),
        ("--runs strangers", "--runs: strangers/1 has other words than run"),
        ("--runs mixtures", "run: must have topics, but is a mixture"),
        ("--runs seeds --themes 1", "--runs: is for topics, not for themes."),
        ("--correlations --by label", "--correlations: are those of all topics"),
        ("--correlations --formula ~label", "--correlations: are those of all topics"),
        ("--correlations --differences", "--correlations: are those of all topics"),
        ("--correlations --topic 0", "--correlations: are those of all topics"),
        ("--correlations --runs seeds", "--correlations: are those of all topics"),
        ("--formula ~label --by label", "--formula: cannot stand beside --by. Name the field in"),
        ("--formula ~label --over label", "--formula: cannot stand beside --over"),
        ("--formula ~section", "--formula: the corpus has no field 'section'. It has 'label'"),
        ("--formula ~label+C(label)", "--formula: C(label)[T.B] follows from the columns before"),
        ("--formula ''", "--formula: must not be empty"),
    ],
)
def test_what_formulas_runs_and_pairs_cannot_be_is_one_line(arguments, said):
    result = called("prevalence", "run", "named", *(a.strip("'") for a in arguments.split()))

    assert result.exit_code == 1
    assert result.stdout == ""
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("option", ["--correlations", "--formula=~label"])
def test_mixtures_have_neither_effects_nor_correlations(option):
    result = called("prevalence", "mixture", "named", option)

    assert result.stderr.startswith("Error: run: must have topics, but is a mixture.")
