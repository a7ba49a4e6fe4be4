"""Documents divided by names, periods and bins."""

from dataclasses import replace
from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsetopics.base.errors import OptionError, SourceError
from sparsetopics.corpora.grouping import Grouping, GroupKey, Over
from sparsetopics.corpora.readers.fields import ARROW_TYPES, table_of_fields
from sparsetopics.corpora.store.manifest import Sizes
from sparsetopics.corpora.store.shards import MemoryRowGroup

TYPES = {"text": "text", "section": "string", "year": "number", "date": "date"}


def keys(labels, by=None, over=None, **fields):
    """The key of each document; None for those in no group."""
    columns = {name: pa.array(own, ARROW_TYPES[TYPES[name]]) for name, own in fields.items()}
    named = pa.array([], pa.string()), pa.array(labels, pa.string())
    rows = *named, None, pa.table(columns)
    found = Grouping.parse(by, over).of(MemoryRowGroup(Sizes.of_items(len(labels)), *rows))
    return [None if code < 0 else found.keys[code] for code in found.codes]


def test_names_divide_documents_and_missing_ones_are_in_no_group():
    found = keys(["b", "a", None, "b"], by="label")

    assert found == [GroupKey("b", None), GroupKey("a", None), None, GroupKey("b", None)]


@pytest.mark.parametrize(
    ("period", "start", "end", "name"),
    [
        ("day", (2024, 5, 31), (2024, 6, 1), "2024-05-31"),
        ("week", (2024, 5, 27), (2024, 6, 3), "2024-05-27"),
        ("month", (2024, 5, 1), (2024, 6, 1), "2024-05"),
        ("quarter", (2024, 4, 1), (2024, 7, 1), "2024-Q2"),
        ("year", (2024, 1, 1), (2025, 1, 1), "2024"),
    ],
)
def test_dates_fall_into_periods(period, start, end, name):
    over = Over.parse(f"label:{period}")

    found = keys(["2024-05-31", "2024-05-31T23:59:59Z", "", None], over=f"label:{period}")

    assert found == [GroupKey(None, date(*start))] * 2 + [None] * 2
    assert over.end(date(*start)) == date(*end)
    assert over.named(date(*start)) == name


def test_december_ends_with_the_year_and_the_last_year_with_the_calendar():
    assert Over.parse("label:month").end(date(2023, 12, 1)) == date(2024, 1, 1)
    assert Over.parse("label:quarter").end(date(2023, 10, 1)) == date(2024, 1, 1)
    assert Over.parse("label:year").end(date(9999, 1, 1)) == date.max


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1), st.sampled_from([1, 5, 0.25]))
def test_numbers_fall_into_bins(numbers, width):
    over = Over.parse(f"label:{width}")

    for number, key in zip(numbers, keys(map_text(numbers), over=f"label:{width}"), strict=True):
        assert key.start <= number < over.end(key.start)
        assert key.start % width == 0


def map_text(numbers):
    return [str(number) for number in numbers]


def test_numbers_without_a_width_are_groups_of_their_own():
    assert keys(["3", "4.5", "", "3"], over="label") == [
        GroupKey(None, 3.0), GroupKey(None, 4.5), None, GroupKey(None, 3.0),
    ]  # fmt: skip
    assert Over.parse("label").named(4.5) == "4.5"
    assert Over.parse("label:10").named(20.0) == "20–30"


@pytest.mark.parametrize(
    ("over", "are_whole", "first", "last", "name"),
    [
        ("year:1", True, 1963.0, 1963.0, "1963"),
        ("year:10", True, 1960.0, 1960.0, "1960–1969"),
        ("year:10", True, 1960.0, 1980.0, "1960–1989"),
        ("year:10", False, 1960.0, 1960.0, "1960–1970"),
        ("year:2.5", True, 5.0, 5.0, "5–7.5"),
        ("year", True, 3.0, 4.5, "3–4.5"),
        ("label:year", False, date(1963, 1, 1), date(1970, 1, 1), "1963–1970"),
        ("label:quarter", False, date(2024, 1, 1), date(2024, 4, 1), "2024-Q1 to 2024-Q2"),
    ],
)
def test_spans_and_bins_of_whole_numbers_are_named_as_people_write_them(
    over, are_whole, first, last, name
):
    assert replace(Over.parse(over), are_whole=are_whole).span(first, last) == name


@pytest.mark.parametrize(("labels", "are_whole"), [(["3", ""], True), (["3", "4.5"], False)])
def test_groups_say_whether_the_numbers_they_are_made_of_are_whole(labels, are_whole):
    rows = pa.array([], pa.string()), pa.array(labels, pa.string()), None
    found = Grouping.parse(None, "label:5").of(MemoryRowGroup(Sizes.of_items(2), *rows))

    assert found.are_whole == are_whole


def test_names_and_periods_together_make_groups_of_both():
    found = keys(["1991", "1994", "1991"], by="label", over="label:5")

    assert found == [GroupKey("1991", 1990.0), GroupKey("1994", 1990.0), GroupKey("1991", 1990.0)]


@pytest.mark.parametrize(
    ("period", "start"),
    [
        ("day", (2024, 5, 31)),
        ("week", (2024, 5, 27)),
        ("month", (2024, 5, 1)),
        ("quarter", (2024, 4, 1)),
        ("year", (2024, 1, 1)),
    ],
)
def test_kept_dates_fall_into_periods_whatever_their_time(period, start):
    dates = [datetime(2024, 5, 31), datetime(2024, 5, 31, 23, 59, 59, 999_999), None]

    found = keys([None] * 3, over=f"date:{period}", date=dates)

    assert found == [GroupKey(None, date(*start))] * 2 + [None]


def test_kept_dates_before_1970_fall_into_the_period_that_holds_them():
    found = keys([None], over="date:quarter", date=[datetime(1969, 12, 31, 23)])

    assert found == [GroupKey(None, date(1969, 10, 1))]


def test_kept_dates_without_a_period_are_days():
    dates = [datetime(2024, 5, 31, 7), datetime(2024, 5, 31, 9), datetime(2024, 6, 1)]

    found = [key.start for key in keys([None] * 3, over="date", date=dates)]

    assert found == [date(2024, 5, 31), date(2024, 5, 31), date(2024, 6, 1)]
    assert Over.parse("date").end(found[0]) == date(2024, 6, 1)


def test_kept_dates_that_python_does_not_know_are_refused():
    year_zero = pa.array([-62_167_219_200_000_000]).cast(pa.timestamp("us"))

    with pytest.raises(OptionError, match="over: expected dates between the years 1 and 9999"):
        keys([None], over="date:year", date=year_zero)


def test_kept_numbers_fall_into_bins_or_are_groups_of_their_own():
    years = [1991.0, None, 1994.5, 1995.0]

    binned = keys([None] * 4, over="year:5", year=years)
    single = keys([None] * 4, over="year", year=years)

    assert [key and key.start for key in binned] == [1990.0, None, 1990.0, 1995.0]
    assert [key and key.start for key in single] == years


@pytest.mark.parametrize(
    ("field", "values", "names"),
    [
        ("section", ["b", None, "a"], ["b", None, "a"]),
        ("year", [3.0, None, 4.5], ["3", None, "4.5"]),
        (
            "date",
            [datetime(2024, 5, 31), None, datetime(2024, 5, 31, 18, 30)],
            ["2024-05-31", None, "2024-05-31 18:30:00"],
        ),
    ],
)
def test_values_of_all_types_are_names_of_groups(field, values, names):
    found = keys([None] * 3, by=field, **{field: values})

    assert [key and key.name for key in found] == names


def test_a_document_without_one_of_the_values_is_in_no_group():
    found = keys([None] * 3, by="section", over="year", section=["a", None, "a"], year=[1, 1, None])

    assert found == [GroupKey("a", 1.0), None, None]


def test_only_the_named_fields_are_read():
    read = []

    class Watched(MemoryRowGroup):
        def read_fields(self, names, rows=None):
            read.extend(names)
            return super().read_fields(names, rows)

    table = pa.table({"text": ["x"], "section": ["a"], "year": [1.0], "other": ["b"]})
    rows = pa.nulls(0, pa.string()), pa.nulls(1, pa.string()), None, table
    Grouping.parse("section", "year").of(Watched(Sizes.of_items(1), *rows))

    assert sorted(read) == ["section", "year"]


@pytest.mark.parametrize(
    ("over", "said"),
    [
        ("label:fortnight", "over: expected a field and one of day, week, month, quarter"),
        ("label:-1", "or the width of bins, but found 'label:-1'."),
        ("label:inf", "or the width of bins, but found 'label:inf'."),
        (":5", "or the width of bins, but found ':5'."),
    ],
)
def test_what_is_no_period_or_bin_is_refused(over, said):
    with pytest.raises(OptionError) as caught:
        Grouping.parse(None, over)

    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("by", "over", "said"),
    [
        (
            "sectoin",
            None,
            "by: the corpus has no field 'sectoin'. It has 'label', 'section', 'year' and 'date'.",
        ),
        (None, "month", "over: the corpus has no field 'month'. It has 'label', 'section', "),
        ("text", None, "by: the texts in 'text' are no groups. It has 'label', 'section', "),
        (None, "text:month", "over: the texts in 'text' are no groups."),
        (None, "year:month", "over: 'year' has numbers, which have no month. Use year:10 for bins"),
        (None, "date:5", "over: 'date' has dates, which have no bins. Use one of date:day, "),
    ],
)
def test_a_grouping_by_what_the_corpus_lacks_is_refused(by, over, said):
    with pytest.raises(OptionError) as caught:
        Grouping.parse(by, over).check(TYPES)

    assert said in str(caught.value)


def test_a_corpus_without_fields_says_how_to_keep_them():
    with pytest.raises(OptionError) as caught:
        Grouping.parse("section", None).check({})

    assert str(caught.value) == (
        "by: the corpus has no field 'section'. It has 'label'. "
        "Pass others to --keep when you make the corpus."
    )


@pytest.mark.parametrize(
    ("by", "over"),
    [
        *[(name, None) for name in ("label", "section", "year", "date")],
        *[(None, over) for over in ("label:month", "section:5", "year:5", "year", "date:week")],
    ],
)
def test_all_other_fields_can_divide_documents(by, over):
    Grouping.parse(by, over).check(TYPES)


DATES = [
    ("2024-05-31", (2024, 5, 31)),
    ("2024-05", (2024, 5, 1)),
    ("2024", (2024, 1, 1)),
    ("2024-05-31 18:30", (2024, 5, 31)),
    ("2024-05-31T22:30:00-05:00", (2024, 5, 31)),  # the day that is written
    ("2024-05-31 (draft)", None),
    ("2024-05-31T25:00", None),
    ("31.05.2024", None),
]


@pytest.mark.parametrize(("value", "day"), DATES)
def test_a_string_is_the_same_date_for_groups_and_in_a_kept_field(value, day):
    values, rows = pa.array([value]), np.arange(1)
    if day is None:
        with pytest.raises(OptionError, match="over: expected dates such as 2024-05-31 in 'label'"):
            keys([value], over="label:day")
        with pytest.raises(SourceError, match="expected a date"):
            table_of_fields({"x": values}, {"x": "date"}, rows)
        return
    (kept,) = table_of_fields({"x": values}, {"x": "date"}, rows)["x"].to_pylist()

    assert kept.date() == date(*day)
    assert keys([value], over="label:day") == [GroupKey(None, date(*day))]


@pytest.mark.parametrize("value", ["inf", "1e999", "1 000", "three"])
def test_a_string_that_is_no_number_in_a_kept_field_is_none_for_groups(value):
    with pytest.raises(OptionError, match="over: expected numbers in 'label'"):
        keys([value], over="label:10")
    with pytest.raises(SourceError, match="expected a number"):
        table_of_fields({"x": pa.array([value])}, {"x": "number"}, np.arange(1))


@pytest.mark.parametrize(
    ("label", "over", "said"),
    [
        ("May", "label:month", "expected dates such as 2024-05-31 in 'label', but found 'May'."),
        ("2024-13-01", "label:year", "but found '2024-13-01'."),
        ("x", "label", "expected numbers in 'label', but found 'x'. Dates need a period, such as "),
        (
            "2024-05-31",
            "label:5",
            "but found '2024-05-31'. A width is for numbers. Dates need a period, such as label:mo",
        ),
    ],
)
def test_values_that_cannot_be_divided_are_named(label, over, said):
    with pytest.raises(OptionError) as caught:
        keys([label], over=over)

    assert said in str(caught.value)
