"""What a page shows of a topic model first: its themes, their colours, and the tree above them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sparsetopics.answers.editing import joined_to_themes
from sparsetopics.answers.representatives import RepresentativeDocument
from sparsetopics.answers.themes import as_themes, n_page_themes
from sparsetopics.answers.topic_names import labels_of, topic_rows
from sparsetopics.base.batches import IntArray
from sparsetopics.evaluation.report.topic_browser import BrowserWords
from sparsetopics.evaluation.report.topic_tree import (
    Tree,
    theme_order,
    themes_of_path,
    tree_of_path,
    tree_of_themes,
)
from sparsetopics.inference.theme_tree import groups_at
from sparsetopics.measures.knee import MOST_THEMES
from sparsetopics.measures.top_words import TopicRow
from sparsetopics.model.statistics import in_use
from sparsetopics.runs.run import TopicRun
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


class PageThemes(NamedTuple):
    """The themes of a run as topics of their own, and which of its topics are in each."""

    run: TopicRun
    of_topics: IntArray  # (n_topics,)  numbers of themes


def page_themes(run: TopicRun, topic_path: TopicPathFolder | None = None) -> PageThemes:
    """Return the themes with which a page begins: at most 24, unless more are asked for.

    They are the topics themselves if these are few, or themes already. Otherwise there is the
    number to read, if that is known, or twelve. Those of a topic path are the topics of one of its
    smaller runs.
    """
    n_topics = run.model.n_topics
    if n_topics <= MOST_THEMES or run.topics[0].id.startswith(THEME):
        return PageThemes(run, np.arange(n_topics))
    scores = topic_path.scores if topic_path else run.settings.get("number_of_topics")
    n_themes = n_page_themes(scores)
    if topic_path is None:
        groups = groups_at(run.themes(), n_themes)
    else:
        sizes = [rung.n_topics for rung in topic_path.tree.rungs if rung.n_topics <= n_topics]
        n_themes = next((size for size in sizes if size <= n_themes), sizes[-1])
        groups = np.array(themes_of_path(topic_path.tree, n_topics, n_themes))
    # Numbered as their first topics come, as when topics are joined.
    groups = np.array(theme_order(range(n_topics), groups.tolist()))
    counts = np.bincount(groups, run.model.exact_counts.sum(axis=1))
    ranks = np.argsort(np.argsort(-counts, kind="stable"), kind="stable")
    return PageThemes(as_themes(joined_to_themes(run, groups)), ranks[groups])


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
    themes: PageThemes,
    topic_path: TopicPathFolder | None,
    examples: Sequence[Sequence[RepresentativeDocument]],  # of each topic
) -> Overview:
    """Return what a page shows of a run of topics at first."""
    rows = topic_rows(themes.run, THEME_WORDS)
    members = [np.flatnonzero(themes.of_topics == row.topic).tolist() for row in rows]
    firsts = [next(iter(examples[topics[0]]), None) for topics in members]
    found = [
        Theme(row, topics[0], topics, example)
        for row, topics, example in zip(rows, members, firsts, strict=True)
    ]
    tree = _tree(run, found, topic_path)
    order = range(run.model.n_topics) if tree is None else tree.order
    return Overview(
        noun="topics" if len(rows) == run.model.n_topics else "themes",
        themes=[theme for theme in found if in_use(themes.run.model.sizes)[theme.row.topic]],
        colours=theme_order(order, themes.of_topics.tolist()),
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
    names = [name for _, name in labels_of(run)]
    return tree_of_themes(run, names, len(themes), marks)
