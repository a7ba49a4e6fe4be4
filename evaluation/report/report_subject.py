"""What a report knows of one model, whatever its kind."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sparsetopics.evaluation.report.component_table import ComponentRow
from sparsetopics.evaluation.report.examples import Example
from sparsetopics.evaluation.report.figures import ScoreLine
from sparsetopics.evaluation.report.relevance import RelevantWords
from sparsetopics.evaluation.report.topic_map import TopicMap
from sparsetopics.evaluation.scores.topic_table import TopicRow

OPTION_LABELS = {"n_topics": "topics to start from", "laps": "laps at most"}
DASH = "–"


class Tile(NamedTuple):
    """A number that stands out, with what it is and what it compares to."""

    label: str
    value: str
    note: str


class ReportTopic(NamedTuple):
    """A topic as the page shows it."""

    row: TopicRow
    weight_share: float  # of the heaviest topic's weight
    npmi: float | None  # None where it was not counted
    relevant: RelevantWords
    examples: Sequence[Example]


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A model that a report is about."""

    path: str
    kind: str  # for people: HDP
    noun: str  # topics, or components
    n_topics: int
    family: str  # models of one family have comparable numbers
    datum: str  # what bounds are per: token or item
    trained_on: str  # in words
    facts: Mapping[str, Any]  # how it was trained
    tiles: Sequence[Tile]
    columns: Mapping[str, str]  # of the table that sets models side by side
    trace: Sequence[Mapping[str, Any]]
    score: ScoreLine | None = None  # held out
    topics: Sequence[ReportTopic] = ()  # of words
    words: Sequence[str] = ()  # the vocabulary
    topic_map: TopicMap | None = None
    components: Sequence[ComponentRow] = ()  # of vectors
    examples_note: str = ""  # where examples are from


def last_known(trace: Sequence[Mapping[str, Any]], key: str) -> float | None:
    """Entry of the last lap that has one."""
    known = (entry[key] for entry in reversed(trace) if entry.get(key) is not None)
    return next(known, None)


def number(value: float | None, digits: int) -> str:
    """With so many decimals; a dash for what is unknown or undefined."""
    return DASH if value is None or math.isnan(value) else f"{value:,.{digits}f}"


def training_facts(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Corpus, options, seed and version of a run in words."""
    corpus: Mapping[str, Any] = settings["corpus"]
    return {
        "corpus": _corpus(corpus),
        **{
            f"training {name.removeprefix('n_')}": f"{corpus[name]:,.0f}"
            for name in ("n_documents", "n_tokens", "n_items")
            if name in corpus
        },
        **_option_facts(settings.get("options", {})),
        "seed": settings.get("seed"),
        "sparsetopics": settings["versions"]["sparsetopics"],
    }


def _corpus(corpus: Mapping[str, Any]) -> str | None:
    """Its folder, and the start of its fingerprint, which tells corpora of one name apart."""
    if "path" not in corpus:
        return None
    return f"{Path(corpus['path']).name} ({str(corpus.get('fingerprint', ''))[:12]})"


def _option_facts(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options in words, those of a group with the group's name before theirs."""
    facts = {}
    for name, value in options.items():
        group = value if isinstance(value, Mapping) else {"": value}
        for inner, each in group.items():
            label = OPTION_LABELS.get(name, f"{name} {inner}").replace("_", " ").strip()
            facts[label] = (", ".join(each) or "none") if isinstance(each, list) else each
    facts.pop("model", None)  # told before
    return facts


def told(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is not known."""
    return {name: value for name, value in facts.items() if value is not None}
