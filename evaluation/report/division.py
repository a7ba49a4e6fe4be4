"""How much of each theme there is in groups of documents and over time, as a page shows it.

Everything is estimated as ``sparsetopics prevalence --themes`` does. Documents are read once:
groups that are joined, such as all others or thin periods, have estimates of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparsetopics.answers.prevalence import LEVEL, GroupedDocuments, NewKey
from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.base.showing import shortened
from sparsetopics.base.wording import quantity
from sparsetopics.corpora.grouping import GroupKey, Start
from sparsetopics.measures.prevalence import GroupMeans, GroupTotal, group_differences

MOST_GROUPS = 40
MOST_PERIODS = 60
FEWEST_DOCUMENTS = 30  # of a period that stands alone
LONGEST_GROUP = 60  # characters
ALL, OTHERS = GroupKey(None, None), GroupKey("others", None)


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """Shares of themes in some documents minus those in others, with 95 % intervals.

    Arrays are (n_pairs, n_themes). Ends of intervals are NaN for groups of one document.
    """

    pairs: Sequence[tuple[str, str]]  # names of what is compared
    difference: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Division:
    """The shares of themes in all documents, in each group, in each period and in both.

    The first row and the first column of each array are those of all groups and all periods. The
    mean is NaN where there are no documents, and the ends of its 95 % interval also where there is
    one. Themes have the order of the overview.
    """

    by: str | None  # fields
    over: str | None
    span: str  # from the first period to the last, or ""
    groups: Sequence[str]
    periods: Sequence[str]
    n_documents: IntArray  # (1 + n_groups, 1 + n_periods)
    mean: FloatArray  # (1 + n_groups, 1 + n_periods, n_themes)
    low: FloatArray
    high: FloatArray
    against_rest: Differences | None  # each group and all others
    pairs: Differences | None  # of groups
    change: Differences | None  # a row: the last third of the documents and the first one
    words: Sequence[Sequence[Sequence[str]]]  # of each group and theme, that set the group apart
    left_out: str  # a sentence about documents and groups, or ""

    @property
    def by_change(self) -> list[int]:
        """The themes that grew most first."""
        assert self.change is not None, "there is no time"
        order: list[int] = np.argsort(-self.change.difference[0], kind="stable").tolist()
        return order

    def by_difference(self, group: int) -> list[int]:
        """The themes that a group has most more of than the others first."""
        assert self.against_rest is not None, "there are no groups"
        order: list[int] = np.argsort(-self.against_rest.difference[group], kind="stable").tolist()
        return order


def division(found: GroupedDocuments, n_themes: int) -> Division:
    """Return what a page shows of documents that were divided into groups, periods or both."""
    found, left_out = _with_largest_groups(found)
    grouping = found.grouping
    groups = list(dict.fromkeys(key.name for key in found.totals if key.name is not None))
    over_time = _joined(found, lambda key: GroupKey(None, key.start))
    spans = [] if grouping.over is None else _spans(over_time)
    start_of: dict[Start | None, Start] = {start: span[0] for span in spans for start in span}
    pooled = _joined(found, lambda key: GroupKey(key.name, start_of.get(key.start)))
    keys = [(name, start) for name in (None, *groups) for start in (None, *(s[0] for s in spans))]
    totals: dict[GroupKey, GroupTotal] = {}
    for new_key in _MARGINS:
        totals |= _joined(pooled, new_key).totals
    table = _Estimates(pooled._replace(totals=totals), n_themes)
    shape = 1 + len(groups), 1 + len(spans)
    cells = [table.of(GroupKey(*key)) for key in keys]
    n_documents, mean, low, high = (np.array(each) for each in zip(*cells, strict=True))
    by_group = _joined(found, lambda key: GroupKey(key.name, None))
    over = grouping.over
    return Division(
        by=grouping.by,
        over=None if over is None else over.column,
        span=over.span(spans[0][0], spans[-1][-1]) if over and spans else "",
        groups=[shortened(name, LONGEST_GROUP) for name in groups],
        periods=[] if over is None else [over.span(span[0], span[-1]) for span in spans],
        n_documents=n_documents.reshape(shape),
        mean=mean.reshape(*shape, n_themes),
        low=low.reshape(*shape, n_themes),
        high=high.reshape(*shape, n_themes),
        against_rest=_against_rest(by_group, n_themes) if len(groups) > 1 else None,
        pairs=_pairs(by_group, n_themes) if len(groups) > 1 else None,
        change=_change(over_time, spans, n_themes) if len(spans) > 1 else None,
        words=_words(by_group, n_themes) if groups else [],
        left_out=left_out,
    )


_MARGINS: Sequence[NewKey] = (
    lambda key: ALL,
    lambda key: GroupKey(key.name, None),
    lambda key: GroupKey(None, key.start),
    lambda key: key,
)


def _joined(found: GroupedDocuments, new_key: NewKey) -> GroupedDocuments:
    return found.joined(found.grouping, new_key)


def _with_largest_groups(found: GroupedDocuments) -> tuple[GroupedDocuments, str]:
    """Leave out the smallest of too many groups; say what is left out."""
    sizes: dict[str | None, int] = {}
    for key, total in found.totals.items():
        sizes[key.name] = sizes.get(key.name, 0) + total.n_documents
    largest = sorted(sizes, key=lambda name: -sizes[name])[:MOST_GROUPS]
    said = []
    if found.n_left_out:
        said.append(f"{quantity(found.n_left_out, 'document')} without a value")
    if n_more := len(sizes) - len(largest):
        said.append(quantity(n_more, "smaller group"))
        kept = set(largest)
        found = _joined(found, lambda key: key if key.name in kept else None)
    return found, f"Left out: {' and '.join(said)}." if said else ""


def _spans(over_time: GroupedDocuments) -> list[list[Start]]:
    """Return periods that follow each other, joined until they have enough documents."""
    starts = [key.start for key in over_time.totals if key.start is not None]
    sizes = [total.n_documents for total in over_time.totals.values()]
    enough = max(FEWEST_DOCUMENTS, math.ceil(sum(sizes) / MOST_PERIODS))
    spans, n_in_last = list[list[Start]](), enough
    for start, size in zip(starts, sizes, strict=True):
        if n_in_last >= enough:
            spans.append([])
            n_in_last = 0
        spans[-1].append(start)
        n_in_last += size
    if len(spans) > 1 and n_in_last < enough:
        spans[-2:] = [spans[-2] + spans[-1]]
    return spans


class _Estimates:
    """Estimates of groups, by their keys, with a place for each theme."""

    def __init__(self, found: GroupedDocuments, n_themes: int) -> None:
        self.means, self.topics, self.n_themes = found.means(), found.topics, n_themes
        ends = self.means.interval(LEVEL)
        self.values = [self.spread(each) for each in (self.means.mean, *ends)]
        self.places = {key: place for place, key in enumerate(found.totals)}

    def spread(self, values: FloatArray) -> FloatArray:
        """Zeros for the themes without any token."""
        spread = np.zeros((len(values), self.n_themes))
        spread[:, self.topics] = values
        return spread

    def of(self, key: GroupKey) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """Documents, means and ends of intervals of a group."""
        place = self.places.get(key)
        if place is None:
            nothing = np.full(self.n_themes, np.nan)
            return 0, nothing, nothing, nothing
        mean, low, high = (each[place] for each in self.values)
        return int(self.means.n_documents[place]), mean, low, high


def _compared(
    found: GroupedDocuments, pairs: Sequence[tuple[GroupKey, GroupKey]], n_themes: int
) -> Differences:
    """Compare groups by their keys, one minus the other."""
    table = _Estimates(found, n_themes)
    everywhere = GroupMeans(table.means.n_documents, *map(table.spread, table.means[1:]))
    places = np.array([[table.places[key] for key in pair] for pair in pairs])
    differences = group_differences(everywhere, places, LEVEL)
    names = [(str(one.name), str(other.name)) for one, other in pairs]
    return Differences(names, differences.difference, differences.low, differences.high)


def _against_rest(by_group: GroupedDocuments, n_themes: int) -> Differences:
    """Compare each group with all others together."""
    rests = {}
    for own in by_group.totals:
        others = {key: total for key, total in by_group.totals.items() if key != own}
        rest = _joined(by_group._replace(totals=others), lambda key: OTHERS)
        rests[GroupKey(f"all but {own.name}", None)] = rest.totals[OTHERS]
    both = by_group._replace(totals={**by_group.totals, **rests})
    return _compared(both, list(zip(by_group.totals, rests, strict=True)), n_themes)


def _pairs(by_group: GroupedDocuments, n_themes: int) -> Differences:
    keys = list(by_group.totals)
    pairs = [(one, other) for place, one in enumerate(keys) for other in keys[place + 1 :]]
    return _compared(by_group, pairs, n_themes)


def _change(
    over_time: GroupedDocuments, spans: Sequence[Sequence[Start]], n_themes: int
) -> Differences:
    """Compare the last third of the documents with the first, in whole periods."""
    over = over_time.grouping.over
    assert over is not None, "spans are of time"
    sizes = {key.start: total.n_documents for key, total in over_time.totals.items()}
    until = np.cumsum([sum(sizes[start] for start in span) for span in spans])
    third = until[-1] / 3
    n_first = max(1, int(np.searchsorted(until, third, side="right")))
    n_last = max(
        1, int(np.searchsorted(np.cumsum(np.diff(until, prepend=0)[::-1]), third, "right"))
    )
    parts = [list(spans[:n_first]), list(spans[-n_last:])]
    first, last = (over.span(part[0][0], part[-1][-1]) for part in parts)
    name_of: dict[Start | None, str] = {
        start: name
        for name, part in zip((first, last), parts, strict=True)
        for span in part
        for start in span
    }
    ends = _joined(
        over_time, lambda key: GroupKey(name, None) if (name := name_of.get(key.start)) else None
    )
    return _compared(ends, [(GroupKey(last, None), GroupKey(first, None))], n_themes)


def _words(by_group: GroupedDocuments, n_themes: int) -> list[list[list[str]]]:
    found = by_group.prevalence()
    words: list[list[list[str]]] = [[[] for _ in range(n_themes)] for _ in found.groups]
    for own, of_group in zip(words, found.words, strict=True):
        for topic, best in zip(found.topics.tolist(), of_group, strict=True):
            own[topic] = best
    return words
