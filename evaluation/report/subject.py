"""What a page shows of one model, whatever its kind."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sparsetopics.base.batches import FloatArray
from sparsetopics.evaluation.report.components import ComponentRow
from sparsetopics.evaluation.report.overview import Overview, ReportTopic
from sparsetopics.measures.paired import Estimate, HeldoutScores, mean_score
from sparsetopics.runs.guidance import GuideList

DASH = "–"
MINUS = "\N{MINUS SIGN}"

Fact = str | float | None  # None: not known
Trace = Sequence[Mapping[str, float | None]]  # one entry per lap or global update


def minus(number: str) -> str:
    """Return the text of a number with a minus sign in place of a hyphen."""
    return number.replace("-", MINUS)


def number(value: float | None, digits: int) -> str:
    """Return ``value`` with ``digits`` decimals, or a dash if it is unknown or undefined."""
    return DASH if value is None or math.isnan(value) else minus(f"{value:z,.{digits}f}")


class Tile(NamedTuple):
    """A number in large type, its meaning, and what to compare it with."""

    label: str
    value: str
    note: str


class Curve(NamedTuple):
    """Scores over numbers of topics, without those much below the best."""

    scores: Mapping[int, Estimate]
    recommended: int  # the nearest of these numbers
    as_good: tuple[int, int]  # the fewest and the most topics that predict as well


class NumberChoice(NamedTuple):
    """How documents that were kept out of training chose the number of topics."""

    scored_on: str  # which documents
    advice: str  # which other numbers predict as well
    curve: Curve


class Similarity(NamedTuple):
    """How similar the topics that are not empty are."""

    topics: Sequence[int]  # in the order of the tree
    places: FloatArray  # (n_topics, 2)  in the unit square: similar ones are close
    values: FloatArray  # (n_topics, n_topics)  1 − Jensen–Shannon distance, from 0 to 1


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A model that a page is about."""

    path: str
    kind: str  # for example HDP
    noun: str  # topics or components
    n_topics: int
    family: str  # models of one family have comparable numbers
    datum: str  # the unit of the bound: token or item
    trained_on: str  # for example "270 documents"
    facts: Mapping[str, Fact]  # how it was trained
    tiles: Sequence[Tile]
    columns: Mapping[str, str]  # its row in the table that sets models side by side
    training: Mapping[str, str]  # its row in the table about training
    trace: Trace
    heldout: HeldoutScores | None = None  # by document or item
    unigram: float | None = None  # the score without topics; mixtures have none
    topics: Sequence[ReportTopic] = ()  # empty for mixtures of vectors
    overview: Overview | None = None  # None for mixtures of vectors
    words: Sequence[str] = ()  # the vocabulary
    similarity: Similarity | None = None  # None for fewer than three topics
    components: Sequence[ComponentRow] = ()  # of mixtures of vectors
    n_empty: int = 0  # topics or components without data
    examples_note: str = ""  # which documents or items the examples were chosen from
    number_choice: NumberChoice | None = None  # how the number of topics was validated
    lists: Sequence[GuideList] = ()  # of words, that topics began with

    @property
    def score(self) -> Estimate | None:
        """The score on held-out data; None if there are none."""
        return None if self.heldout is None else mean_score(self.heldout)

    @property
    def has_texts(self) -> bool:
        """Whether the page holds texts of documents."""
        return any(each.text is not None for topic in self.topics for each in topic.examples)
