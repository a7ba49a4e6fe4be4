"""What has changed between two runs, of which the second may have learned on from the first.

Topics are the same if they have the same id, or if no id is in both runs, by their words. A topic
that has lost its id is part of the topic that has half of its words, if any has. With the documents
that came between the two runs, ``new_documents`` knows more.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from sparsetopics.answers.new_documents import (
    FEWEST_NOVEL,
    LEAST_FIT,
    N_EXAMPLES,
    NewDocuments,
    Shares,
    in_documents,
)
from sparsetopics.answers.topic_names import labels_of, over_words_of
from sparsetopics.base.batches import FloatArray
from sparsetopics.base.wording import quantity
from sparsetopics.measures.similar_topics import ROUNDING, shared_probability
from sparsetopics.measures.top_words import top_words
from sparsetopics.runs.run import TopicRun
from sparsetopics.runs.topic_identity import LEAST_KEPT, heirs

LEAST_FOREIGN = 0.15  # of a topic's tokens in new documents, if it has moved
MOSTLY_FOREIGN = 0.3  # from here on, a theme takes the topic over
LEAST_SAME = 0.8  # probability shared by topics that have not moved, where halves do not tell
LEAST_EXCESS = 4.0  # standard deviations, by which documents that no topic fits exceed the usual
LEVEL = 0.01  # of tests of shares, for all topics together
FADED, GROWN = 0.5, 2.0  # times the share before
N_WORDS = 8  # that explain a change
SAME, MOVED, TAKEN_OVER, SPLIT, NEW = "same", "moved", "taken over", "split", "new"  # kinds
MERGED, GONE, FADING, GROWING = "merged", "gone", "fading", "growing"
UNFITTED = "no topic fits"
MORE, LESS = "more", "less"  # courses, of which people are told once
COURSES = {
    **dict.fromkeys((NEW, SPLIT, TAKEN_OVER, GROWING), MORE), FADING: LESS, UNFITTED: UNFITTED
}  # fmt: skip
Lasting = tuple[str, str]  # course and id of the topic


class Change(NamedTuple):
    """What happened to a topic, or that no topic fits some documents."""

    kind: str  # same, moved, taken over, split, merged, new, gone, fading, growing, no topic fits
    topic: str | None  # its id in the second run
    name: str
    words: tuple[str, ...]
    former: tuple[str, ...] = ()  # ids in the first run
    similarity: float | None = None  # probability that the topic shares with its former one
    share: float | None = None  # of the new documents
    share_before: float | None = None  # of the old ones
    low: float | None = None  # ends of the 95 % interval of the difference
    high: float | None = None
    documents: tuple[str, ...] = ()  # ids of new ones that explain it
    was_told: bool = False  # of the first run, and has lasted since

    @property
    def is_news(self) -> bool:
        """Whether somebody should be told."""
        return self.kind not in (SAME, MOVED) and not self.was_told

    @property
    def lasting(self) -> Lasting | None:
        """What lasts until the share of the topic goes the other way; None for other changes."""
        course = COURSES.get(self.kind)
        return None if course is None else (course, self.topic or "")


def changes(before: TopicRun, after: TopicRun, new: NewDocuments | None = None) -> list[Change]:
    """What happened to each topic from one run to another, the heaviest first.

    ``new`` are the documents that the second run has learned, and the first has not.
    """
    old, later = over_words_of(before, after), after.model.topic_word_mean
    # Ids of runs without any take long to make.
    before, after = (run.with_topics(run.topics) for run in (before, after))
    places = {topic.id: place for place, topic in enumerate(before.topics)}
    former = [places.get(topic.id, -1) for topic in after.topics]
    if max(former) < 0:
        former = [of[0] if of else -1 for of in heirs(old, later)]
    shown, found = _shown(after), list[Change]()
    for topic, place in enumerate(former):
        likeness = _likeness(old if place < 0 else old[[place]], later[topic])
        found.append(_by_words(shown[topic], place, likeness, before))
    lost = sorted({*range(len(old))} - {*former})
    were = _shown(before) if lost else []
    gone = [_lost(were[place], _likeness(later, old[place]), shown, after) for place in lost]
    if new is None:
        return [*found, *gone]
    shares, foreign, of_new, examples = in_documents(new, after.model, np.array(former))
    ids, told = list(chain(*new.later.ids())), {*before.settings.get("told", ())}
    found = [
        _in_documents(change, topic, foreign[topic], shares)._replace(
            documents=tuple(ids[place] for place in examples[topic])
        )
        for topic, change in enumerate(found)
    ]
    found += _unfitted(new, of_new, after, ids)
    return [*(each._replace(was_told=each.lasting in told) for each in found), *gone]


def lasting(before: TopicRun, found: Sequence[Change]) -> tuple[Lasting, ...]:
    """What people have been told and lasts, after the changes since ``before``."""
    now = [each.lasting for each in found if each.lasting is not None]
    gains = {
        each.topic: each.share - each.share_before
        for each in found
        if each.share is not None and each.share_before is not None
    }
    signs = {MORE: 1.0, LESS: -1.0}
    still = [
        (course, topic)
        for course, topic in before.settings.get("told", ())
        if signs.get(course, 0.0) * gains.get(topic, 0.0) > 0.0
    ]
    return tuple(dict.fromkeys([*now, *still]))


def _likeness(topics: FloatArray, topic: FloatArray) -> FloatArray:
    """The probability that each of ``topics``, (n_topics, n_words), shares with one, (n_words,)."""
    return np.array([shared_probability(each, topic) for each in topics])


def _shown(run: TopicRun) -> list[Change]:
    """The topics of a run, with their names and their best words there, as if all were new."""
    best = top_words(run.model.topic_word_mean, N_WORDS)
    words = (tuple(run.words.shown[word] for word in own) for own in best.tolist())
    return [Change(NEW, *label, own) for label, own in zip(labels_of(run), words, strict=True)]


def _by_words(change: Change, place: int, likeness: FloatArray, before: TopicRun) -> Change:
    """What the words say of a topic that was at ``place``, or at none (−1); ``likeness`` is that to
    the old topic there, or to all."""
    if place < 0:
        nearest = int(likeness.argmax())
        if likeness[nearest] < LEAST_KEPT:
            return change
        return change._replace(kind=SPLIT, former=(before.topics[nearest].id,))
    similarity = float(likeness[0])
    least = _least_same(before, place)
    kind = MOVED if similarity >= LEAST_KEPT else TAKEN_OVER
    kind = SAME if similarity >= least else kind
    return change._replace(kind=kind, former=(before.topics[place].id,), similarity=similarity)


def _least_same(run: TopicRun, topic: int) -> float:
    """What a topic shares with a later one that is the same: as much as two halves of the documents
    do, or several runs, whichever is less."""
    halves, runs = run.settings.get("likeness_of_halves"), run.settings.get("found_in_runs")
    sure = None if runs is None else runs[topic]
    least = LEAST_SAME if halves is None else halves[topic]
    return (least if sure is None else min(least, sure.shared)) - ROUNDING


def _lost(change: Change, likeness: FloatArray, shown: Sequence[Change], after: TopicRun) -> Change:
    """What became of an old topic without an heir; ``likeness`` is that to all new topics."""
    former = () if change.topic is None else (change.topic,)
    known = [place for place, each in enumerate(after.topics) if change.topic in each.former_ids]
    nearest = known[0] if known else int(likeness.argmax())
    if known or likeness[nearest] >= LEAST_KEPT:
        return shown[nearest]._replace(kind=MERGED, former=former)
    return change._replace(kind=GONE, topic=None, former=former)


def _in_documents(change: Change, topic: int, foreign: float, shares: Shares) -> Change:
    """The change with what new documents tell; they decide about topics that stay."""
    before, after, low, high, p_value = (float(each[topic]) for each in shares)
    kind = change.kind
    if kind in (SAME, MOVED):
        if foreign >= MOSTLY_FOREIGN:
            kind = TAKEN_OVER
        elif p_value < LEVEL and after < FADED * before:
            kind = FADING
        elif p_value < LEVEL and after > GROWN * before:
            kind = GROWING
        elif foreign >= LEAST_FOREIGN:
            kind = MOVED
    return change._replace(kind=kind, share=after, share_before=before, low=low, high=high)


def _unfitted(
    new: NewDocuments, of_new: FloatArray, after: TopicRun, ids: Sequence[str]
) -> list[Change]:
    """The novel documents, the worst first, as one change, if there are more of them than usual.

    ``of_new`` (n_new,) is how much of each document new topics fit.
    """
    novel = np.flatnonzero(new.is_novel & (of_new < LEAST_FIT))
    n_usual = new.novel_share * new.new.n_docs
    if len(novel) < max(FEWEST_NOVEL, n_usual + LEAST_EXCESS * np.sqrt(n_usual + 1.0)):
        return []
    own, usual = new.new.take(novel), after.model.weights @ after.model.topic_word_mean
    counts = np.bincount(own.word_ids, own.weights, len(usual)).astype(np.float64)
    scores = counts * np.log(np.maximum(counts / counts.sum(), 1e-300) / usual)
    words = tuple(after.words.shown[word] for word in np.argsort(-scores, kind="stable")[:N_WORDS])
    worst = novel[np.argsort(-new.novelty[novel], kind="stable")]
    documents = tuple(ids[place] for place in new.places[worst[:N_EXAMPLES]])
    n_documents = quantity(len(novel), "document")
    return [Change(UNFITTED, None, n_documents, words, documents=documents)]
