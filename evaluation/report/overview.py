"""What a page shows of a topic model first: its themes, their colours, and the tree above them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sparsetopics.answers.representatives import RepresentativeDocument
from sparsetopics.answers.themes import page_themes, places_in_themes
from sparsetopics.answers.topic_names import labels_of, topic_rows
from sparsetopics.evaluation.report.topic_browser import BrowserWords
from sparsetopics.evaluation.report.topic_tree import (
    Tree,
    theme_order,
    tree_of_path,
    tree_of_themes,
)
from sparsetopics.measures.top_words import TopicRow
from sparsetopics.model.statistics import in_use
from sparsetopics.runs.run import AnyRun, TopicRun
from sparsetopics.runs.topic_identity import THEME
from sparsetopics.runs.topic_path_files import TopicPathFolder

THEME_WORDS = 10


class ReportTopic(NamedTuple):
    """A topic as the page shows it."""

    row: TopicRow
    weight_share: float  # of the heaviest topic's weight
    npmi: float | None  # None if it was not counted
    relevant: BrowserWords
    is_empty: bool  # it has less than one token or document of the training data
    examples: Sequence[RepresentativeDocument]


class Theme(NamedTuple):
    """A theme as the page shows it: an area, a colour and some words."""

    row: TopicRow  # of the theme
    topic: int  # the heaviest in it, whose colour it has
    topics: Sequence[int]  # all of them
    example: RepresentativeDocument | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Overview:
    """What a collection is about."""

    noun: str  # themes, topics or components
    themes: Sequence[Theme]  # the heaviest first
    colours: Sequence[int]  # of each topic: the place of its theme, in the order of the tree
    tree: Tree | None = None  # None if it is not known
    n_documents: int | None = None  # of the training data


def shown_themes(run: AnyRun, topic_path: TopicPathFolder | None = None) -> AnyRun:
    """Return the themes that a page shows: those of ``page_themes``, or those asked for."""
    is_asked_for = run.topics[0].id.startswith(THEME)
    return run if is_asked_for else page_themes(run, topic_path)


def plain_overview(noun: str, topics: Sequence[ReportTopic]) -> Overview:
    """Return what a page shows of topics without a tree."""
    themes = [
        Theme(topic.row, topic.row.topic, [topic.row.topic], next(iter(topic.examples), None))
        for topic in topics
        if not topic.is_empty
    ]
    return Overview(noun, themes, range(len(topics)))


def overview(
    run: TopicRun,
    topic_path: TopicPathFolder | None,
    examples: Sequence[Sequence[RepresentativeDocument]],  # of each topic
) -> Overview:
    """Return what a page shows of a run of topics at first."""
    themes = shown_themes(run, topic_path)
    rows, places = topic_rows(themes, THEME_WORDS), places_in_themes(themes)
    of_topics = [places[topic.id.removeprefix(THEME)] for topic in run.topics]
    members = [[k for k, place in enumerate(of_topics) if place == row.topic] for row in rows]
    found = [
        Theme(row, topics[0], topics, next(iter(examples[topics[0]]), None))
        for row, topics in zip(rows, members, strict=True)
    ]
    tree = _tree(run, found, topic_path)
    order = range(run.model.n_topics) if tree is None else tree.order
    return Overview(
        noun="topics" if len(rows) == run.model.n_topics else "themes",
        themes=[theme for theme in found if in_use(themes.model.sizes)[theme.row.topic]],
        colours=theme_order(order, of_topics),
        tree=tree,
        n_documents=run.settings["corpus"].get("n_documents"),
    )


def _tree(
    run: TopicRun, themes: Sequence[Theme], topic_path: TopicPathFolder | None
) -> Tree | None:
    """Return the tree of a path or of a model; None for a single topic."""
    scores = topic_path.scores if topic_path else run.settings.get("number_of_topics")
    numbers = {} if scores is None else {"read": scores.to_read, "predict": scores.recommended}
    marks = {f"to {use}": number for use, number in numbers.items() if number is not None}
    if topic_path is not None:
        given = {place: topic.name for place, topic in enumerate(run.topics) if topic.name}
        return tree_of_path(topic_path.tree, run.model.n_topics, given, len(themes), marks)
    if run.model.n_topics == 1:
        return None
    return tree_of_themes(run, [name for _, name in labels_of(run)], len(themes), marks)
