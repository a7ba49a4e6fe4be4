"""``sparsetopics prevalence``: groups of documents on disk, in tables, JSON and files."""

import json
import pickle
from math import nan
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq
import pytest

from sparsetopics.answers import prevalence as prevalence_runs
from sparsetopics.answers.prevalence import grouped_documents
from sparsetopics.answers.topic_names import labels_of
from sparsetopics.base.errors import OptionError
from sparsetopics.cli.prevalence import _p_value
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.grouping import Grouping
from sparsetopics.corpora.store.parquet_files import StoredFile
from sparsetopics.execution.executors import Crew
from sparsetopics.runs.run import load_run
from worlds.sport_and_law import MONTHS, called, told, write_texts

NUMBERS = ["mean", "standard_error", "low", "high", "n_documents", "words"]
TESTS = ["difference", "standard_error", "low", "high", "t", "p_value", "adjusted_p_value"]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Two corpora of the same texts, with names and with dates, and a run."""
    folder = tmp_path_factory.mktemp("world")
    sources = {
        "named": lambda number: None if number == 7 else "AB"[number % 2],
        "dated": lambda number: MONTHS[number % 3],
        "unlabelled": lambda number: None,
        "kept": lambda number: None,
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, label_of in sources.items():
            write_texts(folder / f"{name}.jsonl", label_of)
            words = ("--max-df", "1.0") if name == "named" else ("--vocabulary", "named")
            if name == "kept":
                words += ("--keep", "all")
            made = called("ingest", f"{name}.jsonl", "--out", name, "--quiet", *words)
            assert made.exit_code == 0, made.output
        train = ("train", "named", "--topics", 2, "--laps", 10, "--quiet")
        assert called(*train, "--model", "lda", "--out", "run").exit_code == 0
        mixture = ("--model", "mixture", "--likelihood", "multinomial", "--out", "mixture")
        assert called(*train, *mixture).exit_code == 0
        other = ("ingest", "named.jsonl", "--out", "other", "--ngrams", 2)
        assert called(*other, "--quiet").exit_code == 0
    return folder


@pytest.fixture(autouse=True)
def here(world, monkeypatch):
    monkeypatch.chdir(world)


def test_groups_differ_as_their_documents_do():
    rows = told("run", "named", "--by", "label")

    assert [list(row) for row in rows] == [["topic", "id", "name", "group", *NUMBERS]] * 4
    assert [row["group"] for row in rows] == ["A", "B", "A", "B"]
    assert [row["n_documents"] for row in rows] == [60, 59, 60, 59]
    sport = next(row["topic"] for row in rows if "ball" in row["name"] or "goal" in row["name"])
    means = {row["group"]: row["mean"] for row in rows if row["topic"] == sport}
    assert means["A"] > 0.7
    assert means["B"] < 0.3
    assert all(row["low"] <= row["mean"] <= row["high"] for row in rows)


def test_documents_without_a_value_are_counted_on_stderr():
    result = called("prevalence", "run", "named", "--by", "label")

    left_out, known_topics = result.stderr.splitlines()
    assert left_out == "Left out: 1 document without a value to group by."
    assert known_topics.startswith("Errors take the topics as known.")


def test_the_table_has_topics_as_rows_and_groups_as_columns():
    lines = called("prevalence", "run", "named", "--by", "label").stdout.splitlines()

    assert lines[0].split() == ["%", "of", "documents", "A", "B"]
    assert lines[1].count("±") == lines[2].count("±") == 2
    assert lines[3].split() == ["documents", "60", "59"]


def test_without_groups_all_documents_are_one():
    rows = told("run", "unlabelled")

    assert sum(row["mean"] for row in rows) == pytest.approx(1.0)
    assert [row["n_documents"] for row in rows] == [120, 120]
    assert "all" in called("prevalence", "run", "unlabelled").stdout


def test_months_have_their_beginning_and_end():
    rows = told("run", "dated", "--over", "label:month")

    dates = [(row["from"], row["to"]) for row in rows[:3]]
    assert dates == [
        ("2023-11-01", "2023-12-01"), ("2023-12-01", "2024-01-01"), ("2024-01-01", "2024-02-01"),
    ]  # fmt: skip
    assert "2023-12" in called("prevalence", "run", "dated", "--over", "label:month").stdout


def test_differences_compare_groups_or_each_period_with_the_one_before():
    groups = told("run", "named", "--by", "label", "--differences")
    months = told("run", "dated", "--over", "label:month", "--differences")

    assert list(groups[0]) == ["topic", "id", "name", "group", "other_group", *TESTS]
    assert [(row["group"], row["other_group"]) for row in groups] == [("A", "B")] * 2
    assert all(row["adjusted_p_value"] < 1e-6 for row in groups)
    pairs = [(row["from"], row["other_from"]) for row in months[:2]]
    assert pairs == [("2023-12-01", "2023-11-01"), ("2024-01-01", "2023-12-01")]
    assert all(row["p_value"] <= row["adjusted_p_value"] for row in months)
    printed = called("prevalence", "run", "named", "--by", "label", "--differences").stdout
    assert "p, Holm" in printed
    printed = called("prevalence", "run", "kept", "--over", "size:5", "--differences").stdout
    assert printed.splitlines()[1].split()[-5:-3] == ["10–14", "5–9"]


def test_some_topics_have_the_rows_that_they_have_among_all():
    rows = told("run", "named", "--by", "label")
    names = {row["topic"]: row["id"] for row in rows}

    for given in ([1], [names[1], 0], [1, names[1]]):
        chosen = list(dict.fromkeys(each if isinstance(each, int) else 1 for each in given))
        options = [option for each in given for option in ("--topic", each)]
        expected = [row for topic in chosen for row in rows if row["topic"] == topic]
        assert told("run", "named", "--by", "label", *options) == expected
        lines = called("prevalence", "run", "named", "--by", "label", *options).stdout.splitlines()
        assert [int(line.split()[0]) for line in lines[1:-1]] == chosen


def test_differences_of_some_topics_are_tested_alone():
    options = ("run", "named", "--by", "label", "--differences")
    of_all = [row for row in told(*options) if row["topic"] == 1]

    alone = told(*options, "--topic", 1)

    assert [row | {"adjusted_p_value": row["p_value"]} for row in of_all] == alone
    assert of_all != alone


def test_names_have_the_room_that_columns_leave(tmp_path):
    name = "a name of thirty-nine characters, or so"
    topic = told("run", "named")[0]["id"]
    (tmp_path / "names.toml").write_text(f'{topic} = "{name}"\n')
    options = ("--by", "label", "--names", tmp_path / "names.toml")

    assert name in called("prevalence", "run", "named", *options).stdout
    many = ("prevalence", "run", "kept", "--by", "date", "--over", "size", *options[2:])
    lines = called(*many).stdout.splitlines()
    assert lines[1].startswith("0 a name of thirty-nine charact…  ")
    assert max(map(len, lines)) == 80


@pytest.mark.parametrize(
    ("p_value", "printed"), [(0.0, "<1e-300"), (1e-301, "<1e-300"), (0.0321, "0.03"), (nan, "nan")]
)
def test_p_values_are_never_printed_as_zero(p_value, printed):
    assert _p_value(p_value) == printed


def test_a_single_group_has_no_differences():
    printed = called("prevalence", "run", "kept", "--over", "size:100", "--differences").stdout

    assert printed == "topic  group  other group  difference, %  p, Holm\n"


def test_the_smallest_p_values_are_printed(monkeypatch):
    monkeypatch.setattr("sparsetopics.cli.prevalence.PRINTED_DIFFERENCES", 1)

    printed = called("prevalence", "run", "named", "--by", "label", "--differences").stdout

    last = "Left out 1 comparison with larger p-values; --out writes all of them."
    assert printed.splitlines()[2:] == [last]


def test_names_and_periods_are_compared_within_periods():
    rows = told("run", "dated", "--by", "label", "--over", "label:year", "--differences")

    found = {(row["group"], row["other_group"]) for row in rows}
    assert found == {("2023-11-30", "2023-12-24")}


@pytest.mark.parametrize("extension", ["parquet", "csv", "jsonl", "arrow"])
def test_files_have_the_rows_of_json(tmp_path, extension):
    out = tmp_path / f"a.{extension}"

    said = told("run", "dated", "--over", "label:month", "--out", out)

    assert said == {"path": str(out), "n_rows": 6}
    expected = told("run", "dated", "--over", "label:month")
    if extension == "jsonl":
        assert [json.loads(line) for line in out.read_text().splitlines()] == expected
        return
    read = {"parquet": pq.read_table, "csv": pa.csv.read_csv, "arrow": read_arrow}[extension]
    rows = read(out).to_pylist()
    means = [row["mean"] for row in expected]
    tolerance = 0.01 if extension == "csv" else 0.0  # which is rounded for people
    assert [row["mean"] for row in rows] == pytest.approx(means, abs=tolerance, rel=0.0)
    assert [str(row["from"]) for row in rows] == [row["from"] for row in expected]
    if extension == "csv":
        assert [row["words"].split() for row in rows] == [row["words"] for row in expected]


def read_arrow(path):
    with pa.ipc.open_file(path) as file:
        return file.read_all()


def test_numbers_have_the_same_bits_for_any_number_of_workers():
    one, two = (told("run", "named", "--by", "label", "--workers", n) for n in (1, 2))

    assert one == two


@pytest.mark.parametrize("where", ["on disk", "in memory"])
@pytest.mark.parametrize(
    ("corpus", "by", "over"), [("named", "label", None), ("kept", "section", "date:month")]
)
def test_work_for_a_cluster_can_be_pickled(corpus, by, over, where):
    def broadcast(function, items):
        for item in items:
            task = pickle.loads(pickle.dumps((function, item)))
            yield pickle.loads(pickle.dumps(task[0](task[1])))

    run, documents = load_run(Path("run")), Corpus.open(corpus)
    if where == "in memory":
        texts = pa.json.read_json(f"{corpus}.jsonl")
        keep = ["section", "date"] if documents.fields else []
        documents = Corpus.from_table(texts, vocabulary=run.words, keep=keep)
    arguments = (run.model, documents, run.words.words, Grouping.parse(by, over))

    there = grouped_documents(*arguments, Crew(map=broadcast))

    here, labels = grouped_documents(*arguments), labels_of(run)
    assert there.prevalence().table(labels).equals(here.prevalence().table(labels))


def test_kept_fields_divide_documents_as_labels_do():
    by_section = told("run", "kept", "--by", "section")
    by_label = told("run", "named", "--by", "label")
    over_date = told("run", "kept", "--over", "date:month")

    assert by_section == by_label
    assert [row["from"] for row in over_date[:3]] == ["2023-11-01", "2023-12-01", "2024-01-01"]
    assert [row["n_documents"] for row in over_date[:3]] == [39, 40, 40]  # one has no date


def test_sections_and_months_together_have_a_row_for_each_pair():
    rows = told("run", "kept", "--by", "section", "--over", "date:year")

    groups = [(row["group"], row["from"]) for row in rows[:4]]
    assert groups == [(name, f"{year}-01-01") for name in "AB" for year in (2023, 2024)]
    assert sum(row["n_documents"] for row in rows[:4]) == 118


def test_numbers_and_dates_can_name_groups():
    sizes = told("run", "kept", "--by", "size")
    dates = told("run", "kept", "--by", "date")

    assert [row["group"] for row in sizes[:3]] == ["8", "9", "10"]  # not "10", "8", "9"
    assert [row["group"] for row in dates[:3]] == [f"{date} 18:30:00" for date in MONTHS]


def test_only_the_named_fields_are_read(monkeypatch):
    read = []
    columns = StoredFile.columns

    def watched(file, groups, names, *limits):
        read.extend(names)
        return columns(file, groups, names, *limits)

    monkeypatch.setattr(StoredFile, "columns", watched)
    told("run", "kept", "--by", "section", "--over", "size:5")

    assert set(read) == {"word_ids", "counts", "section", "size"}


def test_too_many_groups_are_refused(monkeypatch):
    monkeypatch.setattr(prevalence_runs, "MOST_GROUPS", 1)

    result = called("prevalence", "run", "named", "--by", "label")

    assert result.stderr == ("Error: --by: makes more than 1 groups. Use fewer, larger groups.\n")


def test_too_many_comparisons_are_refused(monkeypatch):
    monkeypatch.setattr(prevalence_runs, "MOST_COMPARISONS", 1)
    run, corpus = load_run(Path("run")), Corpus.open("named")
    grouping = Grouping.parse("label", None)
    found = grouped_documents(run.model, corpus, run.words.words, grouping).prevalence()

    with pytest.raises(OptionError, match="more than 1 rows"):
        found.differences(labels_of(run))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            "run named --by section",
            "--by: the corpus has no field 'section'. It has 'label'. Pass others to --keep",
        ),
        (
            "run kept --over day:month",
            "--over: the corpus has no field 'day'. It has 'label', 'section', 'date' and 'size'.",
        ),
        ("run kept --by text", "--by: the texts in 'text' are no groups. It has 'label', "),
        ("run kept --over size:month", "--over: 'size' has numbers, which have no month. Use size"),
        ("run kept --over date:5", "--over: 'date' has dates, which have no bins. Use one of "),
        ("run kept --over section:month", "expected dates such as 2024-05-31 in 'section', but"),
        ("run named --over label:month", "--over: expected dates such as 2024-05-31 in 'label'"),
        ("run unlabelled --by label", "the corpus: no document has a value of 'label'. Was it"),
        ("run named --differences", "--differences: needs --by or --over."),
        ("run named --spreadsheet-safe", "--spreadsheet-safe: needs --out."),
        ("run named --out a.xls", "--out: must end in .parquet, .csv, .jsonl or .arrow"),
        ("mixture named --by label", "run: must have topics, but is a mixture."),
        ("run other --by label", "found another vocabulary"),
        ("named run --by label", "Are the run and the corpus swapped? The run comes first."),
        ("run named --by ''", "--by: must not be empty."),
        ("run named --words -1", "--words: must be at least 0"),
    ],
)
def test_what_cannot_be_is_one_line(arguments, said):
    words = [word.strip("'") for word in arguments.split()]

    result = called("prevalence", *words)

    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
