"""What a page shows of one model, whatever its kind."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from sparsetopics.answers.representatives import RepresentativeDocument
from sparsetopics.evaluation.report.components import ComponentRow
from sparsetopics.evaluation.report.topic_browser import BrowserWords
from sparsetopics.evaluation.report.topic_map import TopicMap
from sparsetopics.measures.paired import Estimate, HeldoutScores, mean_score
from sparsetopics.measures.top_words import TopicRow

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


class ReportTopic(NamedTuple):
    """A topic as the page shows it."""

    row: TopicRow
    weight_share: float  # of the heaviest topic's weight
    npmi: float | None  # None if it was not counted
    relevant: BrowserWords
    is_empty: bool  # it has less than one token or document of the training data
    examples: Sequence[RepresentativeDocument]


class NumberChoice(NamedTuple):
    """How documents that were kept out of training chose the number of topics."""

    scored_on: str  # which documents
    advice: str  # which other numbers predict as well
    curve: Markup  # scores over numbers of topics


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
    themes: Sequence[TopicRow] = ()  # to read before many topics
    words: Sequence[str] = ()  # the vocabulary
    topic_map: TopicMap | None = None  # of the topics that are not empty
    components: Sequence[ComponentRow] = ()  # of mixtures of vectors
    n_empty: int = 0  # topics or components without data
    examples_note: str = ""  # which documents or items the examples were chosen from
    number_choice: NumberChoice | None = None  # how the number of topics was validated

    @property
    def score(self) -> Estimate | None:
        """The score on held-out data; None if there are none."""
        return None if self.heldout is None else mean_score(self.heldout)

    @property
    def has_texts(self) -> bool:
        """Whether the page holds texts of documents."""
        return any(each.text is not None for topic in self.topics for each in topic.examples)
