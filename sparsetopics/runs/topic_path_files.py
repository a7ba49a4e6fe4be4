"""The two files of a topic path beside its runs: the scores and the tree of topics.

    path/400/, path/300/, …   a run folder for each rung, named after its number of topics
    path/tree.json            how the topics of each rung were merged to those of the next
    path/path.json            the scores of the rungs, and which of them is recommended

``path.json`` is written last and vouches for the others: it has the digests of the tree and of each
run's ``model.json``, which has those of the other files of its run. Everything that is read is
decoded to a type and checked before it is used.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from sparsetopics.base.errors import RunError
from sparsetopics.base.sealed_files import (
    VERSION_KEY,
    FileEntry,
    PositiveSize,
    Refusal,
    Size,
    absence,
    decoded,
    read_sealed,
    write_sealed,
)
from sparsetopics.base.transactions import STATE_FOLDER, refuse_pending
from sparsetopics.base.wording import quantity
from sparsetopics.measures.relevance import LONGEST_NAME

PATH_FILE, TREE_FILE = "path.json", "tree.json"
FORMAT_VERSION = 1
DAMAGE = Refusal(RunError, "Train the path again")
STRAY = Refusal(RunError, f"All files of a path must be of one training. {DAMAGE.redo}")
MOST_WORDS = 100  # of a topic in the tree; a file with more is not ours
LARGE_ERROR = 0.02  # nats per token: twice this is as much as topics that differ often gain

Score = Annotated[float, Meta(ge=-1e9, le=1e9)]  # nats per token
Error = Annotated[float, Meta(ge=0.0, le=1e9)]  # a standard error of such a score
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Words = Annotated[tuple[str, ...], Meta(max_length=MOST_WORDS)]


class RungScore(msgspec.Struct, frozen=True):
    """A rung and its score on documents that its topics had not seen; None without a score."""

    n_topics: PositiveSize
    laps: PositiveSize
    log_likelihood_per_token: Score | None = None
    standard_error: Error | None = None
    difference_from_best: Score | None = None  # paired, on the same documents; zero for the best
    difference_standard_error: Error | None = None
    share_of_gain: Score | None = None  # over no topics; one for the recommended number
    # Of its topics in use; of an HDP, of as many themes of its final model (``topic_quality``)
    coherence: Annotated[float, Meta(ge=-1.0, le=1.0)] | None = None
    exclusivity: Share | None = None
    diversity: Share | None = None
    empty_topics: Size | None = None


class Scores(msgspec.Struct, frozen=True):
    """What ``path.json`` holds: all rungs, the largest first, and the recommended one."""

    rungs: Annotated[tuple[RungScore, ...], Meta(min_length=1)]
    scored_on: str | None = None  # a sentence about the documents; None: nothing was scored
    n_documents: Size = 0  # scored
    n_tokens: Annotated[float, Meta(ge=0.0)] = 0.0  # scored
    recommended: PositiveSize | None = None  # topics
    as_good_from: PositiveSize | None = None  # the fewest topics that predict as well
    as_good_to: PositiveSize | None = None  # the most
    to_read: PositiveSize | None = None  # the fewest topics that are enough to read

    @property
    def advice(self) -> str:
        """Which numbers of topics are recommended, and which others predict as well."""
        best, low, high = self.recommended, self.as_good_from, self.as_good_to
        if best is None or low is None or high is None:
            return "No number of topics is recommended, because nothing was scored."
        others = f"from {low:,} to {high:,} predict as well"
        if low == high:
            others = "no other number predicts as well"
        own = {rung.n_topics: rung for rung in self.rungs}
        empty = own[best].empty_topics or 0
        used = f", without the {empty:,} empty of {best:,}" if empty else ""
        advice = f"predict: {quantity(best - empty, 'topic')}{used}; {others}."
        share = own[self.to_read].share_of_gain if self.to_read in own else None
        if self.to_read is None or share is None:
            return f"To {advice}"
        if self.to_read == best:
            return f"To read and to {advice}"
        reach = f"which {'reaches' if self.to_read == 1 else 'reach'} {share:.0%}"
        found = f"{quantity(self.to_read, 'topic')}, {reach} of what {best:,} gain"
        return f"To read: {found}. To {advice}"

    @property
    def as_good(self) -> list[RungScore]:
        """The rungs that predict as well, with the recommended one."""
        low, high = self.as_good_from or 0, self.as_good_to or 0
        return [rung for rung in self.rungs if low <= rung.n_topics <= high]

    @property
    def best(self) -> RungScore | None:
        """The rung with the highest score, the largest of equals; None without scores."""
        scored = [rung for rung in self.rungs if rung.log_likelihood_per_token is not None]
        return max(scored, key=lambda rung: rung.log_likelihood_per_token or 0.0, default=None)

    @property
    def limits(self) -> str:
        """What the scores cannot tell, in a sentence or two; empty if there is nothing to say."""
        return " ".join(filter(None, (self._end, self._doubt)))

    @property
    def _end(self) -> str:
        """A sentence if the numbers tried end where the scores are high."""
        most, fewest = self.rungs[0], self.rungs[-1]
        if self.recommended == fewest.n_topics == 1:
            return "Several topics predict no better than one."
        if self.recommended == fewest.n_topics:
            untried, effect = f"Fewer than {fewest.n_topics:,}", "as well or better"
        elif self.best is most or self.recommended == most.n_topics:
            untried, effect = f"More than {most.n_topics:,}", "better"
        else:
            return ""
        return f"{untried} topics were not tried and may predict {effect}."

    @property
    def _doubt(self) -> str:
        """A sentence if chance moves scores by more than a difference that would matter."""
        errors = (rung.difference_standard_error or 0.0 for rung in self.as_good)
        error = max(errors, default=0.0)
        if error <= LARGE_ERROR:
            return ""
        return (
            f"{quantity(self.n_documents, 'scored document')} cannot tell these numbers apart: by "
            f"chance, their scores differ by {error:.2f} nats. Score more, with a larger "
            "validation share."
        )

    def as_good_around(self, n_topics: int) -> tuple[int, int]:
        """The fewest and the most topics that predict as well, ``n_topics`` among them.

        The number to read is not one of them unless it was measured to be.
        """
        n_topics = (self.recommended or n_topics) if n_topics == self.to_read else n_topics
        low, high = self.as_good_from or n_topics, self.as_good_to or n_topics
        return min(low, n_topics), max(high, n_topics)

    def check(self, where: Path, damage: Refusal) -> None:
        """Raise RunError, as ``damage`` words it, unless the recommended numbers are of rungs."""
        numbers = {rung.n_topics for rung in self.rungs}
        for named in (self.recommended, self.as_good_from, self.as_good_to):
            if named is not None and named not in numbers:
                raise damage.of(where, f"{named} topics are recommended, but there is no such rung")
            if (named is None) != (self.recommended is None):
                raise damage.of(where, "the recommendation is not complete")


class TreeTopic(msgspec.Struct, frozen=True):
    """A topic of a rung, under the number that it has in the rung's run."""

    weight: Share  # of the training tokens
    name: Annotated[str, Meta(max_length=LONGEST_NAME)]
    words: Words  # the most probable ones, best first
    telling_words: Words  # those that set it apart from its siblings; empty without siblings
    parent: Size | None  # the topic of the next rung that it became part of; None at the last rung


class TreeRung(msgspec.Struct, frozen=True):
    """All topics of a rung, in the order of their numbers."""

    n_topics: PositiveSize
    topics: tuple[TreeTopic, ...]

    def children(self, n_parents: int) -> list[list[int]]:
        """The topics that became part of each of the ``n_parents`` topics of the next rung."""
        children: list[list[int]] = [[] for _ in range(n_parents)]
        for number, topic in enumerate(self.topics):
            children[topic.parent or 0].append(number)
        return children


class TopicTree(msgspec.Struct, frozen=True):
    """What ``tree.json`` holds: all rungs, the largest first."""

    rungs: Annotated[tuple[TreeRung, ...], Meta(min_length=1)]

    def check(self, where: Path) -> None:
        """Raise RunError unless every parent is a topic of the next rung."""
        sizes = [rung.n_topics for rung in self.rungs]
        if sorted(set(sizes), reverse=True) != sizes:
            raise DAMAGE.of(where, "the rungs are not in falling order")
        for rung, n_parents in zip(self.rungs, [*sizes[1:], None], strict=True):
            if len(rung.topics) != rung.n_topics:
                raise DAMAGE.of(where, f"{rung.n_topics} topics, but {len(rung.topics)} entries")
            for topic in rung.topics:
                is_last = n_parents is None
                if is_last != (topic.parent is None) or (topic.parent or 0) >= (n_parents or 1):
                    raise DAMAGE.of(where, f"rung {rung.n_topics} has a topic without its parent")
                if any(map(_has_half_a_pair, (topic.name, *topic.words, *topic.telling_words))):
                    raise DAMAGE.of(where, f"rung {rung.n_topics} has a word that is not UTF-8")
            if n_parents is not None and not all(rung.children(n_parents)):
                raise DAMAGE.of(where, f"a topic after rung {rung.n_topics} is made of none")


class TopicPathFolder(NamedTuple):
    """A topic path on disk after reading."""

    folder: Path
    scores: Scores
    tree: TopicTree

    def run(self, n_topics: int) -> Path:
        """The run folder of a rung."""
        return self.folder / str(n_topics)


def _has_half_a_pair(word: str) -> bool:
    """Whether a word cannot be written as UTF-8: JSON may hold half of a surrogate pair."""
    return any("\ud800" <= character <= "\udfff" for character in word)


def write_topic_path(folder: Path, scores: Scores, tree: TopicTree) -> None:
    """Write both files beside the runs in ``folder``, which the caller has staged."""
    version = {VERSION_KEY: FORMAT_VERSION}
    write_sealed(folder / TREE_FILE, version | msgspec.to_builtins(tree))
    names = [TREE_FILE, *(f"{rung.n_topics}/model.json" for rung in scores.rungs)]
    listed = {"files": [FileEntry.of(folder / name, name).to_json() for name in names]}
    write_sealed(folder / PATH_FILE, version | msgspec.to_builtins(scores) | listed, indent=2)


def is_topic_path(folder: Path) -> bool:
    """Whether the folder holds a topic path that is finished."""
    return os.path.lexists(folder / PATH_FILE)


def load_topic_path(folder: Path) -> TopicPathFolder:
    """Read a topic path; RunError names the first thing that is missing or damaged.

    Of each run, only ``model.json`` is compared with its digest.
    """
    refuse_pending(folder, (STATE_FOLDER,))
    found = absence(folder / PATH_FILE)
    if found:
        problem = f"expected a topic path, but found {found}"
        raise RunError(str(folder), problem, "Train one with `sparsetopics path`.")
    content = read_sealed(folder / PATH_FILE, FORMAT_VERSION, DAMAGE)
    scores = decoded(content, Scores, folder / PATH_FILE, DAMAGE)
    listed = content.get("files", [])  # an earlier release listed none
    for entry in decoded(listed, tuple[FileEntry, ...], f"{folder / PATH_FILE}, files", DAMAGE):
        entry.check(folder, STRAY)
    topics = read_sealed(folder / TREE_FILE, FORMAT_VERSION, DAMAGE)
    tree = decoded(topics, TopicTree, folder / TREE_FILE, DAMAGE)
    scores.check(folder / PATH_FILE, DAMAGE)
    tree.check(folder / TREE_FILE)
    if [rung.n_topics for rung in scores.rungs] != [rung.n_topics for rung in tree.rungs]:
        raise DAMAGE.of(folder / TREE_FILE, f"its rungs are not those of {PATH_FILE}")
    return TopicPathFolder(folder, scores, tree)
