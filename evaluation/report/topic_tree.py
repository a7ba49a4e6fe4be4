"""The tree of topics on a page: which become one as their number falls.

A branch is a topic, or several that became one, for as long as nothing else is joined with it. The
tree of a model begins with all of its topics. That of a topic path begins with the topics of its
largest run, and each branch is a topic on consecutive rungs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from sparsetopics.measures.completion import unigram_probabilities
from sparsetopics.measures.relevance import NAME_BALANCE, NAME_WORDS, relevant_words
from sparsetopics.measures.top_words import top_words
from sparsetopics.runs.run import TopicRun
from sparsetopics.runs.topic_path_files import TopicTree

MOST_WORDS = 8  # of a branch


class Branch(NamedTuple):
    """A topic or theme, and for which numbers of them it is there."""

    parent: int | None  # the place of the branch that it becomes part of
    most: int
    fewest: int
    topic: int | None  # its number on the page; None if it is several of them, or a part of one
    name: str
    weight: float
    words: Sequence[str]


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """The tree, and where a page cuts it."""

    branches: Sequence[Branch]  # each before those that became part of it
    numbers: Sequence[int]  # of topics or themes, at which it can be cut; falling
    cut: int  # one of them
    marks: Mapping[str, int]  # what some numbers are for: to read, to predict

    @property
    def order(self) -> list[int]:
        """The topics of the page, so that those which become one early are neighbours."""
        return [branch.topic for branch in self.branches if branch.topic is not None]


# A branch whose parent has no place yet, and the branches that became part of it.
_Grown: TypeAlias = "tuple[Branch, Sequence[_Grown]]"


def _in_order(tops: Sequence[_Grown]) -> list[Branch]:
    """Return each branch before its parts, of which the heavier ones come first."""
    # A tree may be deeper than Python allows nested calls.
    branches, waiting = list[Branch](), list[tuple[_Grown, int | None]]()
    waiting += [(branch, None) for branch in reversed(tops)]
    while waiting:
        (branch, parts), parent = waiting.pop()
        place = len(branches)
        branches.append(branch._replace(parent=parent))
        waiting += [(part, place) for part in sorted(parts, key=_weight)]
    return branches


def _weight(grown: _Grown) -> float:
    return grown[0].weight


# --- the tree of a model --------------------------------------------------------------------------
def tree_of_themes(run: TopicRun, names: Sequence[str], cut: int, marks: Mapping[str, int]) -> Tree:
    """Return the tree of the topics of ``run``, with ``names`` (n_topics,), cut at some themes."""
    model, shown = run.model, run.words.shown
    n_topics = model.n_topics
    counts, weights = model.exact_counts.copy(), model.weights.copy()
    unigram = unigram_probabilities(run.words.term_frequency)

    def grown(group: int, size: int, topic: int | None, parts: Sequence[_Grown]) -> _Grown:
        words = counts[group] + model.word_concentration
        words = (words / words.sum())[None]
        name = [shown[word] for word in relevant_words(words, unigram, NAME_WORDS, NAME_BALANCE)[0]]
        best = [shown[word] for word in top_words(words, MOST_WORDS)[0]]
        own = ", ".join(name) if topic is None else names[topic]
        return Branch(None, size, 1, topic, own, float(weights[group]), best), parts

    groups = [grown(topic, n_topics, topic, ()) for topic in range(n_topics)]
    for size, (kept, absorbed, _) in zip(range(n_topics - 1, 0, -1), run.themes(), strict=True):
        counts[kept] += counts[absorbed]
        weights[kept] += weights[absorbed]
        ended = (groups[group] for group in (kept, absorbed))
        parts = [(own._replace(fewest=size + 1), of_own) for own, of_own in ended]
        groups[kept] = grown(kept, size, None, parts)
    return Tree(_in_order(groups[:1]), range(n_topics, 0, -1), cut, marks)


# --- the tree of a topic path ---------------------------------------------------------------------
def tree_of_path(
    tree: TopicTree, n_shown: int, names: Mapping[int, str], cut: int, marks: Mapping[str, int]
) -> Tree:
    """Return the tree of a topic path; the page shows the topics of the run with ``n_shown``.

    Some of these have ``names`` that they were given. A branch has the name, weight and words that
    it has on the rung nearest to that run.
    """
    sizes = [rung.n_topics for rung in tree.rungs]
    shown = sizes.index(n_shown)

    def grown(first: int, topics: Sequence[int], parts: Sequence[_Grown]) -> _Grown:
        last = first + len(topics) - 1
        place = min(max(shown, first), last)
        number = topics[place - first]
        topic = tree.rungs[place].topics[number]
        is_shown = place == shown
        name = names.get(number, topic.name) if is_shown else topic.name
        words = list(dict.fromkeys([*topic.telling_words, *topic.words]))[:MOST_WORDS]
        own = number if is_shown else None
        return Branch(None, sizes[first], sizes[last], own, name, topic.weight, words), parts

    ends: list[tuple[int, list[int], Sequence[_Grown]]]
    ends = [(0, [topic], ()) for topic in range(sizes[0])]
    for place, (rung, fewer) in enumerate(pairwise(tree.rungs), start=1):
        after = []
        for topic, family in enumerate(rung.children(fewer.n_topics)):
            if len(family) == 1:
                first, topics, parts = ends[family[0]]
                after.append((first, [*topics, topic], parts))
            else:
                after.append((place, [topic], [grown(*ends[part]) for part in family]))
        ends = after
    tops = sorted((grown(*end) for end in ends), key=_weight, reverse=True)
    return Tree(_in_order(tops), sizes, cut, marks)


def theme_order(order: Sequence[int], of_topics: Sequence[int]) -> list[int]:
    """Return the place of each topic's theme among themes, in the order of the tree."""
    themes = list(dict.fromkeys(of_topics[topic] for topic in order))
    places = {theme: place for place, theme in enumerate(themes)}
    return [places[theme] for theme in of_topics]
