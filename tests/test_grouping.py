"""Documents divided by names, periods and bins."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.grouping import Grouping, GroupKey, Over
from sparsetopics.corpora.store.manifest import Sizes
from sparsetopics.corpora.store.shards import MemoryRowGroup


def rows(labels):
    """Only the labels of a row group."""
    return MemoryRowGroup(Sizes.of_items(len(labels)), None, [], labels)


def keys(labels, by=None, over=None):
    """The key of each document; None for those in no group."""
    found = Grouping.parse(by, over).of(rows(labels))
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
    assert keys(["3", "4.5", "nan", "3"], over="label") == [
        GroupKey(None, 3.0), GroupKey(None, 4.5), None, GroupKey(None, 3.0),
    ]  # fmt: skip
    assert Over.parse("label").named(4.5) == "4.5"
    assert Over.parse("label:10").named(20.0) == "20–30"


def test_names_and_periods_together_make_groups_of_both():
    found = keys(["1991", "1994", "1991"], by="label", over="label:5")

    assert found == [GroupKey("1991", 1990.0), GroupKey("1994", 1990.0), GroupKey("1991", 1990.0)]


@pytest.mark.parametrize(
    ("by", "over", "said"),
    [
        ("section", None, "by: the corpus has no field 'section'. Only 'label' is kept."),
        (None, "date:month", "over: the corpus has no field 'date'. Only 'label' is kept."),
        (None, "label:fortnight", "over: expected a column and one of day, week, month, quarter"),
        (None, "label:-1", "or the width of bins, but found 'label:-1'."),
        (None, "label:inf", "or the width of bins, but found 'label:inf'."),
        (None, ":5", "or the width of bins, but found ':5'."),
    ],
)
def test_a_grouping_that_cannot_be_is_refused(by, over, said):
    with pytest.raises(OptionError) as caught:
        Grouping.parse(by, over)

    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("label", "over", "said"),
    [
        ("May", "label:month", "expected dates such as 2024-05-31 in 'label', but found 'May'."),
        ("2024-13-01", "label:year", "but found '2024-13-01'."),
        ("x", "label", "expected numbers, or dates with a period such as :month in 'label'"),
        ("x", "label:5", "but found 'x'."),
    ],
)
def test_values_that_cannot_be_divided_are_named(label, over, said):
    with pytest.raises(OptionError) as caught:
        keys([label], over=over)

    assert said in str(caught.value)
