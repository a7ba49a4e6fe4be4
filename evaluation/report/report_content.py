"""What is reported about models: one structure, which is written as HTML, JSON or Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sparsetopics.answers.changes import Change
from sparsetopics.evaluation.report.division import Division
from sparsetopics.evaluation.report.overview import Overview
from sparsetopics.evaluation.report.subject import Fact, Subject
from sparsetopics.evaluation.report.topic_path import TopicPathSection


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
