"""Dates, numbers and missing values as people write them: read if there is one way, else said."""

import csv
import datetime
import json
import locale

import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from sparsetopics import Corpus
from sparsetopics.base.errors import OptionError, SourceError, SparsetopicsWarning
from sparsetopics.base.sealed_files import write_sealed
from sparsetopics.cli.main import main
from sparsetopics.corpora.append import append
from sparsetopics.corpora.grouping import Grouping
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.readers.dates import PLAIN, PROPOSED, are_proposed, read_date
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.text.pruning import PruningOptions

DAY = datetime.datetime(2024, 5, 3)
LATER = datetime.datetime(2024, 5, 3, 22, 7)
FORMATS = ("csv", "jsonl", "parquet", "arrow")
CLEAR = [
    ("2024-05-03", DAY),
    ("2024-5-3", DAY),
    (" 2024-05-03 ", DAY),
    ("2024/05/03", DAY),
    ("2024.05.03", DAY),
    ("2024-05", datetime.datetime(2024, 5, 1)),
    ("2024/5", datetime.datetime(2024, 5, 1)),
    ("2024-05-03 22:07:00+00", LATER),  # as PostgreSQL writes
    ("2024-05-03T22:07:00Z", LATER),
    ("2024-05-03 22:07", LATER),
    ("2024-05-03 22:07:00.000 +0200", LATER),
    ("2024-05-03 22:07:00 UTC", LATER),
    ("2024-05-03 10:07 PM", LATER),
    ("20240503T220700Z", LATER),
    ("3 May 2024", DAY),
    ("03-May-2024", DAY),
    ("3. Mai 2024", None),
    ("May 3, 2024", DAY),
    ("MAY 3rd, 2024", DAY),
    ("Friday, 3 May 2024", DAY),
    ("Fri, 03 May 2024 22:07:00 +0200", LATER),
    ("Fri May  3 22:07:00 2024", LATER),
    ("May 2024", datetime.datetime(2024, 5, 1)),
]
# Could be two days, or numbers: the formats that are proposed, and the one that is meant.
DOUBTFUL = [
    ("3/5/2024", ["%d/%m/%Y", "%m/%d/%Y"], DAY),
    ("5/3/2024", ["%d/%m/%Y", "%m/%d/%Y"], DAY),
    ("03.05.2024", ["%d.%m.%Y", "%m.%d.%Y"], DAY),
    ("03-05-2024", ["%d-%m-%Y", "%m-%d-%Y"], DAY),
    ("3/5/24", ["%d/%m/%y", "%m/%d/%y"], DAY),
    ("24-05-03", ["%d-%m-%y", "%y-%m-%d"], DAY),
    ("3/5/2024 10:07 PM", ["%d/%m/%Y %I:%M %p", "%m/%d/%Y %I:%M %p"], LATER),
    ("20240503", ["%Y%m%d"], DAY),
    ("20240503.0", ["%Y%m%d"], DAY),
    ("20240503220700", ["%Y%m%d%H%M%S"], LATER),
    ("1714774020", ["epoch"], LATER),
    ("1714774020000", ["epoch-ms"], LATER),
    ("1714774020000.0", ["epoch-ms"], LATER),
    ("45415", ["excel"], DAY),
    ("3 May 24", ["%d %b %y"], DAY),
    ("05/2024", ["%m/%Y"], datetime.datetime(2024, 5, 1)),
]
NEVER = [
    "0000-01-01",
    "2024-02-30",
    "2024-13-01",
    "3 Foo 2024",
    "May 3",
    "2024-05-03 25:00",
    "2024-W18",
    "soon",
]


def formats_of(value):
    return [how for how in PROPOSED if are_proposed(pa.array([value]), how)]


@pytest.mark.parametrize(("value", "date"), CLEAR)
def test_a_date_that_can_be_read_in_one_way_is_read(value, date):
    assert read_date(value.strip(), PLAIN) == date


@pytest.mark.parametrize(("value", "formats", "date"), DOUBTFUL)
def test_a_date_that_can_be_read_in_two_ways_needs_a_format_that_is_proposed(value, formats, date):
    assert read_date(value, PLAIN) is None
    proposed = formats_of(value)
    assert set(formats) <= set(proposed)
    assert date in [read_date(value, how) for how in proposed]


@pytest.mark.parametrize("value", NEVER)
def test_what_is_no_date_is_none(value):
    assert read_date(value, PLAIN) is None
    assert formats_of(value) == []


@pytest.mark.parametrize(
    ("how", "value", "date"),
    [
        ("%A, %d. %B %Y", "Friday, 3. May 2024", DAY),
        ("%d %b %Y um %H.%M", "3 may 2024  um 22.07", None),
        ("%d %b %Y um %H.%M", "3 MAY 2024 um 22.07", LATER),
        ("%m/%d/%y", "12/31/69", datetime.datetime(1969, 12, 31)),
        ("%m/%d/%y", "12/31/68", datetime.datetime(2068, 12, 31)),
        ("%Y%m%d", "2024115", None),  # 15 January or 5 November
        ("%d/%m/%Y", "2024-05-03", None),
        ("%I:%M %p, %Y-%m-%d", "12:00 AM, 2024-05-03", DAY),
        ("%I:%M %p, %Y-%m-%d", "13:00 AM, 2024-05-03", None),
        ("100%% %Y", "100% 2024", datetime.datetime(2024, 1, 1)),
        ("excel", "45415.5", datetime.datetime(2024, 5, 3, 12)),
        ("excel", "60", None),  # a day that never was
        ("epoch", "1.5", datetime.datetime(1970, 1, 1, 0, 0, 1, 500_000)),
        ("epoch", "1e99", None),
        ("epoch", "nan", None),
        ("epoch", "1_714_774_020", None),
        ("epoch-ms", "-1", datetime.datetime(1969, 12, 31, 23, 59, 59, 999_000)),
    ],
)
def test_formats_read_as_strptime_does_or_refuse(how, value, date):
    assert read_date(value, how) == (date if "  " not in value else LATER)


def test_names_of_months_are_english_in_every_locale():
    before = locale.setlocale(locale.LC_TIME)
    try:
        for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "C"):
            try:
                locale.setlocale(locale.LC_TIME, name)
            except locale.Error:
                continue
            assert read_date("3 May 2024", "%d %B %Y") == DAY
    finally:
        locale.setlocale(locale.LC_TIME, before)


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        ("%d/%m", "must have one year"),
        ("%d %Y", "and one month if it has a day"),
        ("%Y-%q", "an unknown or repeated part"),
        ("%Y %Y", "an unknown or repeated part"),
        ("%Y-%m-%B", "and one month"),
        ("%Y %y", "one year"),
        ("%Y-%m-%d %I", "needs both %I and %p"),
        ("iso", "must have one year"),
    ],
)
def test_a_format_that_tells_no_day_is_refused(how, problem):
    with pytest.raises(OptionError, match=f"^date-format: .*{problem}"):
        ReadOptions(keep=("date",), date_format=(f"date={how}",))


@pytest.mark.parametrize("kind", ["string", "number"])
def test_a_format_of_a_field_that_is_not_kept_as_a_date_is_refused(kind):
    with pytest.raises(OptionError, match=rf"^date-format: 'date' is kept as a {kind}"):
        ReadOptions(keep=(f"date:{kind}",), date_format=("date=epoch",))


@pytest.mark.parametrize("formats", [["%Y"], ["=%Y"], ["a=%Y", "a=epoch"]])
def test_formats_stand_once_for_each_field(formats):
    with pytest.raises(
        OptionError, match=r"^date-format: must be FIELD=FORMAT, such as date=%d/%m/%Y, once"
    ):
        ReadOptions(keep=("all",), date_format=formats)


# --- at every door --------------------------------------------------------------------------------
def rows_of(**columns):
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [{"id": f"d{n}", "text": f"owl cat {n}", **row} for n, row in enumerate(rows)]


def write(folder, kind, rows, name="a"):
    path = folder / f"{name}.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif kind == "csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        table = pa.Table.from_pylist(rows)
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    return path


def options(*keep, date_formats=frozenset(), **read):
    pruning = PruningOptions(min_df=1, max_df=1.0)
    read = ReadOptions(keep=keep, date_format=date_formats, **read)
    return IngestOptions(read=read, pruning=pruning)


REPEATED = IngestOptions(read=ReadOptions(duplicate_ids="keep"))


def kept(corpus, name):
    return [value for table in corpus.read_fields([name]) for value in table[name].to_pylist()]


def as_table(door, rows):
    if door == "polars":
        return pytest.importorskip("polars").DataFrame(rows)
    if door == "datasets":
        return pytest.importorskip("datasets").Dataset.from_list(rows)
    return pandas.DataFrame(rows) if door == "pandas" else pa.Table.from_pylist(rows)


@pytest.fixture(params=[*FORMATS, "pandas", "polars", "datasets", "pyarrow"])
def make(request, tmp_path):
    """Makes a corpus of rows by one of the doors."""

    def corpus_of(rows, *keep, **read):
        if request.param in FORMATS:
            path = write(tmp_path, request.param, rows)
            ingest([path], tmp_path / "c", options(*keep, **read))
            return Corpus.open(tmp_path / "c")
        table = as_table(request.param, rows)
        return Corpus.from_table(table, keep=keep, min_df=1, max_df=1.0, **read)

    return corpus_of


def test_an_offset_moves_no_document_to_another_day(make):
    corpus = make(rows_of(date=["2024-01-01T00:30:00+02:00", "2024-01-31T23:30:00-05:00"]), "date")

    assert kept(corpus, "date") == [
        datetime.datetime(2024, 1, 1, 0, 30),
        datetime.datetime(2024, 1, 31, 23, 30),
    ]


def test_a_column_of_times_with_a_zone_keeps_the_day_of_the_zone(tmp_path):
    zone = datetime.timezone(datetime.timedelta(hours=2))
    times = pandas.Series([datetime.datetime(2024, 1, 1, 0, 30, tzinfo=zone)])
    for zoned in (times, times.dt.tz_convert("Europe/Berlin").dt.tz_convert("Asia/Tokyo")):
        frame = pandas.DataFrame({"text": ["the owl"], "date": zoned})
        (expected,) = zoned.dt.tz_localize(None)

        assert kept(Corpus.from_table(frame, keep=["date"]), "date") == [expected]


def test_a_format_reads_dates_at_every_door(make):
    formats = ["day=%d/%m/%Y", "seconds=epoch"]
    rows = rows_of(day=["3/5/2024", "NA", "13/12/2023"], seconds=[1714774020, 0, 1714774020])

    corpus = make(rows, "day", "seconds", date_formats=formats)

    assert corpus.fields == {"day": "date", "seconds": "date"}
    assert kept(corpus, "day") == [DAY, None, datetime.datetime(2023, 12, 13)]
    assert kept(corpus, "seconds") == [LATER, datetime.datetime(1970, 1, 1), LATER]


def test_a_value_that_does_not_fit_the_format_is_refused_with_its_place(make):
    with pytest.raises(
        SourceError, match=r"(line [23]|row 1), field 'day': .* '%d/%m/%Y', but found '2024-05-03'"
    ):
        make(rows_of(day=["3/5/2024", "2024-05-03"]), "day", date_formats=["day=%d/%m/%Y"])


@pytest.mark.parametrize("keep", [["all"], ["id2"], []])
def test_a_format_of_a_field_that_is_not_kept_is_refused(make, keep):
    with pytest.raises(OptionError, match=r"^date.formats?: no field 'dya' is kept"):
        make(rows_of(day=["3/5/2024"], id2=["a"]), *keep, date_formats=["dya=%d/%m/%Y"])


def test_missing_values_are_null_where_the_rest_are_dates_or_numbers(make):
    gaps = ["NA", "NaN", "nan", "NaT", "<NA>", "None", "", " "]
    n_gaps = len(gaps)
    rows = rows_of(
        date=[*gaps, "2024-05-03"], number=[*gaps, "7"], name=[*gaps[:-2], "x", "y", "z"]
    )

    corpus = make(rows, "date", "number", "name")

    assert corpus.fields == {"date": "date", "number": "number", "name": "string"}
    assert kept(corpus, "date") == [None] * n_gaps + [DAY]
    assert kept(corpus, "number") == [None] * n_gaps + [7.0]
    assert kept(corpus, "name") == [row["name"] for row in rows]


def test_other_missing_values_can_be_named(make):
    rows = rows_of(number=["-999", "n/a", "7"], name=["n/a", "a", "-999"])

    corpus = make(rows, "number", "name", missing=frozenset(["-999", "n/a"]))

    assert corpus.fields == {"number": "number", "name": "string"}
    assert kept(corpus, "number") == [None, None, 7.0]
    assert kept(corpus, "name") == [None, "a", None]


def test_years_that_a_table_of_floats_writes_are_dates(make):
    rows = rows_of(year=[1990.0, None, 1991.0], text_year=["1990.0", "", "1991"])

    corpus = make(rows, "year:date", "text_year:date")

    years = [datetime.datetime(1990, 1, 1), None, datetime.datetime(1991, 1, 1)]
    assert kept(corpus, "year") == kept(corpus, "text_year") == years


def test_numbers_that_are_years_fall_into_years(make):
    corpus = make(rows_of(year=[1990.0, None, 1991.0]), "year")

    (found,) = [Grouping.parse(None, "year:year").of(rows) for rows in corpus.row_groups]

    assert [key.start.year for key in found.keys] == [1990, 1991]
    assert found.codes.tolist() == [0, -1, 1]


@pytest.mark.parametrize("number", [1990.5, 20240503.0, -3.0, 1e300])
def test_numbers_that_are_no_years_fall_into_none(number):
    table = pa.table({"text": ["the owl"], "n": [number]})
    corpus = Corpus.from_table(table, keep=["n:number"])

    with pytest.raises(OptionError, match=r"^over: expected dates such as 2024-05-31 in 'n'"):
        Grouping.parse(None, "n:year").of(corpus.row_groups[0])


def test_a_string_is_never_grouped_by_its_first_ten_characters(make):
    corpus = make(rows_of(span=["2024-01-15 to 2024-12-31"] * 3), "span")
    (group,) = corpus.row_groups

    assert corpus.fields == {"span": "string"}
    assert [key.name for key in Grouping.parse("span", None).of(group).keys] == [
        "2024-01-15 to 2024-12-31"
    ]
    with pytest.raises(OptionError, match="but found '2024-01-15 to 2024-12-31'"):
        Grouping.parse(None, "span:month").of(group)


# --- what is said ---------------------------------------------------------------------------------
def notes_of(tmp_path, **columns):
    path = write(tmp_path, "csv", rows_of(**columns))
    return ingest([path], tmp_path / "c", options(*columns)).notes


def test_a_column_that_fails_because_of_few_values_says_so(tmp_path):
    dates = [f"2024-05-{n % 28 + 1:02}" for n in range(40)]
    numbers = [str(n) for n in range(40)]
    dates[17], numbers[3], numbers[5] = "n/a", "1,003", "?"

    assert notes_of(tmp_path, date=dates, number=numbers, name=["x"] * 40) == {
        "date": "because of 'n/a' in row 17",
        "number": "because of '1,003' in row 3 and 1 other value",
    }


@pytest.mark.parametrize(
    ("values", "formats"),
    [
        (["1/2/2024", "3/4/2024"], "'x=%d/%m/%Y' or 'x=%m/%d/%Y'"),
        (["13/2/2024", "3/4/2024"], "'x=%d/%m/%Y'"),
        (["20240131", "20240201"], "'x=%Y%m%d'"),
        (["1714774020", "1714774021"], "'x=epoch'"),
    ],
)
def test_the_formats_that_all_values_fit_are_proposed(tmp_path, values, formats):
    said = f"readable as dates with --date-format {formats}"
    assert notes_of(tmp_path, x=values) == {"x": said}
    for how in formats.split(" or "):
        read = options("x", date_formats=[how.strip("'")])
        ingest([tmp_path / "a.csv"], tmp_path / how[3:5], read)

    with pytest.raises(SourceError, match="make the corpus with --date-format 'x="):
        ingest([tmp_path / "a.csv"], tmp_path / "d", options("x:date"))


def test_words_among_dates_are_named_beside_the_formats(tmp_path):
    values = ["13/2/2024", "n/a", "3/4/2024"]
    said = "readable as dates with --date-format 'x=%d/%m/%Y' --missing 'n/a'"
    assert notes_of(tmp_path, x=values) == {"x": said}

    with pytest.raises(SourceError, match=r"line 3, .* found 'n/a'\. .* --missing 'n/a'"):
        ingest([tmp_path / "a.csv"], tmp_path / "d", options("x", date_formats=["x=%d/%m/%Y"]))
    read = options("x", date_formats=["x=%d/%m/%Y"], missing=frozenset(["n/a"]))
    ingest([tmp_path / "a.csv"], tmp_path / "d", read)
    assert kept(Corpus.open(tmp_path / "d"), "x")[1] is None


def test_a_date_that_is_none_hides_neither_the_format_nor_itself(tmp_path):
    values = [f"{n % 27 + 1}.02.2019" for n in range(40)]
    values[17], values[20] = "31.02.2019", "n/a"
    how = "--date-format 'x=%d.%m.%Y' --missing '31.02.2019' --missing 'n/a'"
    said = f"readable as dates but for '31.02.2019' in row 17 with {how}"
    assert notes_of(tmp_path, x=values) == {"x": said}

    found = r"line 19, .* found '31\.02\.2019'\. .* or --missing '31\.02\.2019' for no value\.$"
    with pytest.raises(SourceError, match=found):
        ingest([tmp_path / "a.csv"], tmp_path / "d", options("x", date_formats=["x=%d.%m.%Y"]))
    with pytest.raises(SourceError, match=f"make the corpus with {how}"):
        ingest([tmp_path / "a.csv"], tmp_path / "d", options("x:date"))
    missing = frozenset(["n/a", "31.02.2019"])
    read = options("x", date_formats=["x=%d.%m.%Y"], missing=missing)
    ingest([tmp_path / "a.csv"], tmp_path / "d", read)
    assert kept(Corpus.open(tmp_path / "d"), "x")[17] is None


@pytest.mark.parametrize(
    "values", [["1.2.2019", "1.13.2019"], 4 * ["1.2.2019"] + [f"40.{n}.2019" for n in range(4)]]
)
def test_no_format_is_proposed_that_more_than_a_few_values_do_not_fit(tmp_path, values):
    assert "%d.%m.%Y" not in notes_of(tmp_path, x=values).get("x", "")


def test_grouping_strings_by_dates_says_how_they_could_have_been_read(tmp_path):
    rows = rows_of(day=["18.08.2022", "1.2.2023"], label=["18.08.2022", "?"])
    ingest([write(tmp_path, "csv", rows)], tmp_path / "c", options("day"))
    (group,) = Corpus.open(tmp_path / "c").row_groups

    with pytest.raises(OptionError, match=r"'18\.08\.2022'\. .* --date-format 'day=%d\.%m\.%Y'\.$"):
        Grouping.parse(None, "day:year").of(group)
    with pytest.raises(OptionError, match=r"found '18\.08\.2022'\.$"):
        Grouping.parse(None, "label:year").of(group)


def test_a_year_that_the_calendar_does_not_have_makes_no_date(tmp_path):
    assert notes_of(tmp_path, x=["0000-01-01", "2024-05-03"]) == {}
    assert Corpus.open(tmp_path / "c").fields == {"x": "string"}


@pytest.mark.parametrize("values", [["1,234", "5"], ["0,5", "1,5"], ["$100", "$1,000.50"], ["5%"]])
def test_numbers_with_signs_stay_strings_and_that_is_said(tmp_path, values):
    said = "because separators, currency and percent signs are not read as parts of numbers"

    assert notes_of(tmp_path, x=values) == {"x": said}
    assert kept(Corpus.open(tmp_path / "c"), "x") == values


@pytest.mark.parametrize(
    "values", [["01067", "12345"], ["a", "b"], ["10.0.0.1"], ["1", "2"], ["1e400"]]
)
def test_nothing_is_said_of_usual_columns(tmp_path, values):
    assert notes_of(tmp_path, x=values) == {}


def test_the_command_says_why_a_field_is_a_string(tmp_path):
    dates = ["2024-05-03"] * 17 + ["n/a", "2024-05-03"]
    path = write(tmp_path, "csv", rows_of(date=dates))

    said = CliRunner().invoke(
        main, ["ingest", f"{path}", "--keep", "date", "--out", f"{tmp_path}/c"]
    )

    assert "Kept date (string, because of 'n/a' in row 17).\n" in said.stdout


def test_python_warns_with_the_names_of_its_parameters():
    table = pa.table({"text": ["the owl"] * 2, "day": ["3/5/2024", "4/5/2024"]})

    with pytest.warns(
        SparsetopicsWarning, match="day is kept as a string, readable as dates with date_formats"
    ):
        Corpus.from_table(table, keep=["day"])


def test_options_come_from_a_config_file(tmp_path):
    path = write(tmp_path, "csv", rows_of(day=["May 3, 24", "?"], n=["1", "?"]))
    config = 'keep = ["day", "n"]\ndate-format = ["day=%B %d, %y"]\nmissing = ["?"]\n'
    (tmp_path / "own.toml").write_text(config)
    words = ["ingest", f"{path}", "--config", f"{tmp_path}/own.toml", "--out", f"{tmp_path}/c"]

    assert CliRunner().invoke(main, words).exit_code == 0

    corpus = Corpus.open(tmp_path / "c")
    assert kept(corpus, "day") == [DAY, None]
    assert kept(corpus, "n") == [1.0, None]


# --- later ----------------------------------------------------------------------------------------
def test_an_append_reads_as_the_corpus_was_read(tmp_path):
    read = options("day", "n", date_formats=["day=%d/%m/%Y"], missing=frozenset(["?"]))
    ingest([write(tmp_path, "csv", rows_of(day=["3/5/2024"], n=["1"]))], tmp_path / "c", read)
    more = write(tmp_path, "jsonl", rows_of(day=["4/5/2024", "?"], n=["?", "NA"]), "b")

    append([more], tmp_path / "c", REPEATED)

    corpus = Corpus.open(tmp_path / "c")
    assert kept(corpus, "day") == [DAY, datetime.datetime(2024, 5, 4), None]
    assert kept(corpus, "n") == [1.0, None, None]
    with pytest.raises(OptionError, match=r"^date-format: cannot be combined with --append"):
        append([more], tmp_path / "c", options(date_formats=["day=epoch"]))


def without_rules(folder):
    """Make the corpus one of an earlier release."""
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["sha256"], manifest["values"]
    write_sealed(folder / "manifest.json", manifest)


def test_a_corpus_made_before_keeps_its_dates_in_utc(tmp_path):
    rows = rows_of(date=["2024-01-01T00:30:00+02:00"] * 9)
    ingest([write(tmp_path, "csv", rows)], tmp_path / "c", options("date"))
    without_rules(tmp_path / "c")
    Corpus.open(tmp_path / "c").save(tmp_path / "copy")

    for folder in (tmp_path / "c", tmp_path / "copy"):
        more = write(tmp_path, "jsonl", rows, "b")
        append([more], folder, REPEATED)

        dates = kept(Corpus.open(folder), "date")
        assert dates[:9] == [datetime.datetime(2024, 1, 1, 0, 30)] * 9
        assert dates[9:] == [datetime.datetime(2023, 12, 31, 22, 30)] * 9
    odd = write(tmp_path, "csv", rows_of(date=["3 May 2024"]), "e")
    with pytest.raises(SourceError, match="expected a date, but found '3 May 2024'"):
        append([odd], tmp_path / "c", REPEATED)


def test_a_copy_in_memory_and_its_parts_are_appended_to_alike(tmp_path):
    table = pa.table({"text": ["the owl"] * 4, "day": ["3/5/2024"] * 4})
    Corpus.from_table(table, keep=["day"], date_formats={"day": "%d/%m/%Y"}).save(tmp_path / "c")

    append([write(tmp_path, "csv", [{"text": "the owl", "day": "4/5/2024"}])], tmp_path / "c")

    assert kept(Corpus.open(tmp_path / "c"), "day")[-1] == datetime.datetime(2024, 5, 4)
