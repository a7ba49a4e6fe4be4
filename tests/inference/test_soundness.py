"""What is asked of values that come from files: types, finite numbers, indices in range."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
import pytest

from sparsetopics.base.soundness import (
    check_close,
    check_fields,
    check_finite,
    check_ids,
    check_like,
    check_starts,
)
from sparsetopics.inference.moves.ledger import Failure, Ledger
from sparsetopics.inference.moves.rival import RivalRules
from sparsetopics.model.responsibilities import DocumentTopics, Responsibilities
from sparsetopics.model.statistics import Statistics
from sparsetopics.model.word_counts import WordCounts
from sparsetopics.options.training import LocalOptions

LEDGER = Ledger(np.arange(3), 7, 2, {("merge", -1): Failure(1, 2, 3.0)}, "birth")._asdict()
TABLE = np.ones((4, 3))


class Nested(NamedTuple):
    numbers: tuple[float, ...]
    whole: Statistics


class Shape(ABC):
    @abstractmethod
    def area(self): ...


class Square(Shape):
    def area(self):
        return 1.0


class Tile(NamedTuple):
    shape: Shape


def test_a_subclass_is_taken_for_an_abstract_class():
    check_fields(Tile, {"shape": Square()})

    with pytest.raises(ValueError, match=r"Tile\.shape holds"):
        check_fields(Tile, {"shape": TABLE})


def test_fields_of_the_declared_types_are_taken():
    check_fields(Ledger, LEDGER)
    check_fields(WordCounts, WordCounts(TABLE, None, np.ones(3))._asdict())
    check_fields(RivalRules, {"fewest": 1, "most": None, "trimmed_from": 2, "judged_from": 3})
    check_fields(Failure, {"lap": 1, "n_refusals": 2, "size": 3})  # an int for a float


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("ids", np.arange(3.0)),
        ("ids", [0, 1, 2]),
        ("next_id", 7.0),
        ("next_id", True),
        ("next_id", 2**63),
        ("lap", None),
        ("failures", {("merge",): Failure(1, 2, 3.0)}),
        ("failures", {("merge", -1): None}),
        ("failures", ()),
        ("preferred", 3),
    ],
)
def test_fields_of_other_types_are_refused(field, value):
    with pytest.raises(ValueError, match=rf"Ledger\.{field} holds"):
        check_fields(Ledger, LEDGER | {field: value})


def test_literals_and_numbers_that_are_none_are_refused():
    options = {name: getattr(LocalOptions(), name) for name in LocalOptions.__slots__}
    check_fields(LocalOptions, options)

    with pytest.raises(ValueError, match=r"LocalOptions\.update holds 'best'"):
        check_fields(LocalOptions, options | {"update": "best"})
    with pytest.raises(ValueError, match=r"LocalOptions\.tolerance holds nan"):
        check_fields(LocalOptions, options | {"tolerance": float("nan")})


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 1e101])
def test_numbers_that_are_not_finite_are_found_wherever_they_are(number):
    table = TABLE.copy()
    table[2, 1] = number

    check_finite({"a": Nested((1.0, 1e99), Statistics(WordCounts(TABLE), None))}, "x")
    with pytest.raises(ValueError, match=r"x\.a\.numbers\.1 is not finite"):
        check_finite({"a": Nested((1.0, number), Statistics(WordCounts(TABLE), None))}, "x")
    with pytest.raises(ValueError, match=r"x\.whole\.components\.seen is not finite"):
        check_finite(Nested((), Statistics(WordCounts(table), None)), "x")


@pytest.mark.parametrize(
    "value", [WordCounts(TABLE[1:]), WordCounts(TABLE.astype(np.float32)), TABLE, (TABLE, None)]
)
def test_what_is_of_another_kind_or_shape_is_refused(value):
    check_like(WordCounts(TABLE), WordCounts(np.zeros((4, 3))), "x")

    with pytest.raises(ValueError, match=r"x(\.seen)? (is of another kind|has shape)"):
        check_like(value, WordCounts(np.zeros((4, 3))), "x")


def test_sums_are_compared_but_for_rounding():
    check_close(WordCounts(TABLE * (1 + 1e-9)), WordCounts(TABLE), "x")

    with pytest.raises(ValueError, match=r"x\.seen does not add up"):
        check_close(WordCounts(TABLE * 1.01), WordCounts(TABLE), "x")
    with pytest.raises(ValueError, match="x does not add up"):
        check_close(1.0, 2.0, "x")


@pytest.mark.parametrize("ids", [[0, 3], [-1, 0], [[0, 1]], [2**62]])
def test_ids_out_of_range_are_refused(ids):
    check_ids(np.array([0, 2, 1]), 3, "x")
    check_ids(np.array([-1, 2]), 3, "x", lowest=-1)
    check_ids(np.zeros(0, np.int64), 0, "x")

    with pytest.raises(ValueError, match="x has"):
        check_ids(np.array(ids), 3, "x")


@pytest.mark.parametrize(
    "starts", [[0, 2], [1, 2, 5], [0, 2, 4], [0, 6, 5], [[0, 2, 5]], [0, -(2**63), 5]]
)
def test_starts_that_are_none_are_refused(starts):
    check_starts(np.array([0, 2, 5]), 2, 5, "x")
    check_starts(np.array([0, 0, 0]), 2, 0, "x")

    with pytest.raises(ValueError, match=r"x (has shape|does not span|falls)"):
        check_starts(np.array(starts), 2, 5, "x")


def rows(kind, starts=(0, 2, 3), topics=(0, 2, 1), values=(0.5, 0.5, 1.0)):
    return kind(
        np.array(starts, np.int64), np.array(topics, np.uint32), np.array(values, np.float32)
    )


@pytest.mark.parametrize(
    "edit",
    [
        {"topics": (0, 3, 1)},
        {"values": (0.5, 0.0, 1.0)},
        {"values": (0.5, 1.5, 1.0)},
        {"values": (0.5, np.nan, 1.0)},
        {"values": (0.5, 0.5)},
        {"starts": (0, 3)},
    ],
)
def test_responsibilities_that_kernels_cannot_read_are_refused(edit):
    rows(Responsibilities).check(2, 3)

    with pytest.raises(ValueError, match="responsibilities"):
        rows(Responsibilities, **edit).check(2, 3)


@pytest.mark.parametrize("edit", [{"topics": (2, 2, 1)}, {"topics": (0, 9, 1)}])
def test_topics_of_documents_are_there_once(edit):
    rows(DocumentTopics).check_topics(3)
    rows(DocumentTopics, topics=(0, 2, 2)).check_topics(3)  # in two documents

    with pytest.raises(ValueError, match="topics of documents"):
        rows(DocumentTopics, **edit).check_topics(3)
