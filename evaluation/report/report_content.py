"""What is reported about models: one structure, which is written as HTML, JSON or Markdown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sparsetopics.answers.changes import Change
from sparsetopics.base.batches import FloatArray
from sparsetopics.base.wording import decimals
from sparsetopics.evaluation.report.components import ComponentRow
from sparsetopics.evaluation.report.division import Division
from sparsetopics.evaluation.report.overview import Overview, ReportTopic
from sparsetopics.evaluation.report.topic_path import NumberChoice, TopicPathSection
from sparsetopics.measures.paired import Estimate, HeldoutScores, differences_from_best, mean_score
from sparsetopics.runs.guidance import GuideList

DASH = "–"
MINUS = "\N{MINUS SIGN}"

Fact = str | float | None  # None: not known
Trace = Sequence[Mapping[str, float | None]]  # one entry per lap or global update
Table = tuple[list[str], list[list[str]]]  # heads, and rows of cells


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


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """The content of a page. Corpora are given by name, or "" if there is none."""

    title: str
    kind: str  # of page
    subjects: Sequence[Subject]
    scored_on: str = ""  # for example "30 held-out documents"
    heldout: str = ""  # corpus of the scores
    coherence_corpus: str = ""  # corpus in which NPMI was counted
    examples_corpus: str = ""
    has_given_names: bool = False  # whether people named some topics
    scoring: Mapping[str, Fact] | None = None  # what was scored, and how
    topic_path: TopicPathSection | None = None  # the model is the run of one of its rungs
    division: Division | None = None  # of documents, by the themes of the only model
    changes: Sequence[Change] = ()  # of topics since an earlier run

    @property
    def overview(self) -> Overview | None:
        """What the collection is about; None on a page about several models, or about vectors."""
        return self.subjects[0].overview if len(self.subjects) == 1 else None

    @property
    def names(self) -> list[str]:
        """The file names of models if they tell them apart, otherwise the whole paths."""
        paths = [subject.path for subject in self.subjects]
        short = [Path(path).name or path for path in paths]
        return short if len(set(short)) == len(short) else paths

    @property
    def differences(self) -> list[Estimate | None]:
        """The paired difference of each model from the best; none without several scores."""
        scores = [each.heldout for each in self.subjects if each.heldout is not None]
        found = differences_from_best(scores)
        return found if len(scores) == len(self.subjects) and any(found) else []

    @property
    def scores(self) -> Table:
        """The scores of all models, side by side."""
        rows: list[dict[str, str]] = [
            {"kind": subject.kind, subject.noun: f"{subject.n_topics:,}", **subject.columns}
            for subject in self.subjects
        ]
        for own, apart in zip(rows, self.differences, strict=False):  # there may be none
            own["difference from best"] = "best"
            if apart is not None:
                mean, error = (number(each, decimals(apart.standard_error)) for each in apart)
                own["difference from best"] = f"{mean} ± {error}"
        return table_of(rows)


def table_of(rows: Sequence[Mapping[str, str]]) -> Table:
    """Return the heads that any of the rows has, and the cells of each row."""
    heads = list(dict.fromkeys(head for own in rows for head in own))
    return heads, [[own.get(head, DASH) for head in heads] for own in rows]
