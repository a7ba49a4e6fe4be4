"""The tree of topics on the page of a topic path: its rows, and the data with which to cut it.

A branch is a topic on the rungs where nothing is merged with it. Above it are the topics that it
became part of, and below it those that it is made of. Rungs are numbered from the largest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup
from msgspec.structs import replace

from sparsetopics.evaluation.report.topic_browser import escaped_json
from sparsetopics.runs.topic_path_files import TopicTree, TreeTopic

MOST_WORDS = 10  # shown of a topic in addition to its telling words
MOST_TELLING = 5
DECIMALS = 6  # of weights


@dataclass(slots=True)
class Branch:
    """A topic on consecutive rungs, and the branches that it was merged from."""

    first: int  # the rung where it begins
    topics: list[int]  # its numbers on this rung and the following ones
    parts: list[Branch]

    def shown_on(self, cut: int) -> int:
        """Return the rung of this branch that is nearest to a cut."""
        return min(max(cut, self.first), self.first + len(self.topics) - 1)


class TreeRow(NamedTuple):
    """A branch as the tree shows it, with the topic of the rung that is nearest to the cut."""

    branch: Branch
    number: str  # with the size of the rung if it is not the rung of the cut
    topic: TreeTopic
    share: float  # of the heaviest topic of the cut, at most one
    telling_words: Sequence[str]
    words: Sequence[str]
    is_above: bool  # the cut
    n_ends: int  # branches above it of which this is the last row


class TreeView(NamedTuple):
    """What a page shows of a tree."""

    rows: Sequence[TreeRow]  # each branch before its parts
    cut: int  # the rung whose topics are shown first
    data: Markup  # JSON for tree.js


def tree_view(
    tree: TopicTree, n_topics: int, recommended: int | None, names: Mapping[int, str]
) -> TreeView:
    """Return the tree, cut at the rung of ``n_topics`` topics, which may have been given names."""
    cut = [rung.n_topics for rung in tree.rungs].index(n_topics)
    tree = _with_names(tree, cut, names)
    heaviest = max(topic.weight for topic in tree.rungs[cut].topics)
    branches = _in_order(branches_of(tree))
    rows = [_row(tree, branch, cut, heaviest, n_ends) for branch, n_ends in branches]
    return TreeView(rows, cut, _tree_data(tree, recommended))


def _with_names(tree: TopicTree, cut: int, names: Mapping[int, str]) -> TopicTree:
    """Return the tree with the names of the topics of one rung replaced."""
    rungs, own = list(tree.rungs), tree.rungs[cut].topics
    named = tuple(replace(topic, name=names.get(k, topic.name)) for k, topic in enumerate(own))
    rungs[cut] = replace(rungs[cut], topics=named)
    return replace(tree, rungs=tuple(rungs))


def branches_of(tree: TopicTree) -> list[Branch]:
    """Return the branches of the last rung, which hold all others."""
    branches = [Branch(0, [topic], []) for topic in range(tree.rungs[0].n_topics)]
    for place, (rung, fewer) in enumerate(pairwise(tree.rungs), start=1):
        families = rung.children(fewer.n_topics)
        branches = [
            _grown([branches[part] for part in family], place, topic)
            for topic, family in enumerate(families)
        ]
    return branches


def _grown(family: list[Branch], place: int, topic: int) -> Branch:
    """Return the branch of a topic: that of its only part, or a new one."""
    if len(family) != 1:
        return Branch(place, [topic], family)
    family[0].topics.append(topic)
    return family[0]


def _in_order(branches: Sequence[Branch]) -> Iterator[tuple[Branch, int]]:
    """Yield each branch before its parts, and the number of branches above that end with it."""
    # A path may have more rungs than Python or a browser allows nested calls.
    waiting = [(branch, 0) for branch in reversed(branches)]
    while waiting:
        branch, depth = waiting.pop()
        waiting += [(part, depth + 1) for part in reversed(branch.parts)]
        next_depth = waiting[-1][1] if waiting else 0
        yield branch, max(0, depth - next_depth)


def _row(tree: TopicTree, branch: Branch, cut: int, heaviest: float, n_ends: int) -> TreeRow:
    place = branch.shown_on(cut)
    rung, number = tree.rungs[place], branch.topics[place - branch.first]
    topic = rung.topics[number]
    return TreeRow(
        branch=branch,
        number=str(number) if place == cut else f"{number} of {rung.n_topics}",
        topic=topic,
        share=min(1.0, topic.weight / heaviest) if heaviest else 0.0,
        telling_words=_telling(topic),
        words=_others(topic),
        is_above=branch.first > cut,
        n_ends=n_ends,
    )


def _telling(topic: TreeTopic) -> Sequence[str]:
    return topic.telling_words[:MOST_TELLING]


def _others(topic: TreeTopic) -> Sequence[str]:
    """Return the best words of a topic without those that are shown as telling."""
    telling = _telling(topic)
    return [word for word in topic.words if word not in telling][:MOST_WORDS]


def _tree_data(tree: TopicTree, recommended: int | None) -> Markup:
    """Return each word once, and for each topic its name, weight and the numbers of its words."""
    numbers: dict[str, int] = {}

    def numbered(words: Sequence[str]) -> list[int]:
        return [numbers.setdefault(word, len(numbers)) for word in words]

    def topic_data(topic: TreeTopic) -> tuple[str, float, list[int], list[int]]:
        telling, others = numbered(_telling(topic)), numbered(_others(topic))
        return topic.name, round(topic.weight, DECIMALS), telling, others

    content = {
        "rungs": [
            list(map(topic_data, rung.topics)) for rung in tree.rungs
        ],  # first, since it fills ``numbers``
        "sizes": [rung.n_topics for rung in tree.rungs],
        "recommended": recommended,
        "words": list(numbers),
    }
    return Markup(escaped_json(content))
