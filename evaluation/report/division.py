"""How much of each theme there is in groups of documents and over time, as a page shows it.

Everything is estimated as ``sparsetopics prevalence --themes`` does. Documents are read once:
groups that are joined, such as all others or thin periods, have estimates of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sparsetopics.answers.prevalence import GroupedDocuments
from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.base.showing import shortened
from sparsetopics.base.wording import listed, quantity
from sparsetopics.corpora.grouping import GroupKey, Start
from sparsetopics.measures.prevalence import GroupTotal, group_differences, group_means

MOST_GROUPS = 40
MOST_PERIODS = 60
FEWEST_DOCUMENTS = 30  # of a period that stands alone
LONGEST_GROUP = 60  # characters
MOST_OPEN = 4  # groups, for which scales are made
MOST_TRENDS = 4  # up and down


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """Shares of themes in some documents minus those in others, with 95 % intervals.

    Arrays are (n_pairs, n_themes). Ends of intervals are NaN for groups of one document.
    """

    pairs: Sequence[tuple[str, str]]  # names of what is compared
    share: FloatArray  # in the first of a pair
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
    groups: Sequence[str]  # the largest
    periods: Sequence[str]
    middles: Sequence[Start]  # of periods
    n_documents: IntArray  # (1 + n_groups, 1 + n_periods)
    mean: FloatArray  # (1 + n_groups, 1 + n_periods, n_themes)
    low: FloatArray
    high: FloatArray
    left_out: str  # sentences about documents and groups, or ""
    span: str = ""  # from the first period to the last
    pooled: Sequence[str] = ()  # those of several periods with few documents
    against_rest: Differences | None = None  # each group and all other documents
    pairs: Differences | None = None  # of groups
    change: Differences | None = None  # a row: the last third of the documents and the first one
    words: Sequence[Sequence[Sequence[str]]] = ()  # of groups and themes, that set groups apart

    @property
    def trends(self) -> dict[str, list[int]]:
        """The themes that grew most, then those that shrank most, and all others."""
        assert self.change is not None, "there is no time"
        difference = self.change.difference[0]
        order = _falling(difference)
        if len(order) <= 2 * MOST_TRENDS:
            return {"From growth to decline": order}
        grew = [theme for theme in order if difference[theme] > 0.0][:MOST_TRENDS]
        shrank = [theme for theme in order if difference[theme] < 0.0][-MOST_TRENDS:]
        others = [theme for theme in order if theme not in grew + shrank]
        return {"Grew most": grew, "Shrank most": shrank, "others": others}

    @property
    def top(self) -> float:
        """The end of a scale of shares over time, in percent."""
        return scale_end(self.mean[0, 1:].T)

    def by_difference(self, group: int) -> list[int]:
        """The themes that a group has most more of than the others first."""
        assert self.against_rest is not None, "there are no groups"
        return _falling(self.against_rest.difference[group])

    @property
    def by_size(self) -> list[int]:
        """The largest groups first."""
        return _falling(self.n_documents[1:, 0])

    @property
    def reach(self) -> float:
        """The end of a scale of differences, in percent, made for the largest groups."""
        assert self.against_rest is not None, "there are no groups"
        return scale_end(self.against_rest.difference[self.by_size[:MOST_OPEN]])


def _falling(values: FloatArray | IntArray) -> list[int]:
    order: list[int] = np.argsort(-values, kind="stable").tolist()
    return order


def scale_end(shares: FloatArray) -> float:
    """Return a round percentage somewhat beyond the largest share, where a scale ends.

    A row or two with far larger shares than the others goes beyond the scale.
    """
    largest = np.nanmax(np.abs(np.atleast_2d(shares)), axis=1, initial=0.0001)
    usual = np.median(largest[largest > largest.max() / 100])
    most = 125 * min(largest.max(), 2 * usual)
    step = 10.0 ** math.floor(math.log10(most)) / 2
    return min(float(f"{math.ceil(most / step) * step:.3g}"), 100.0)


def division(found: GroupedDocuments) -> Division:
    """Return what a page shows of documents that were divided into groups, periods or both."""
    found, left_out = _with_largest_groups(found)
    over = found.grouping.over
    groups = list(dict.fromkeys(key.name for key in found.totals if key.name is not None))
    over_time = found.joined(lambda key: [GroupKey(None, key.start)])
    spans = _spans(over_time)
    names = [] if over is None else [over.span(span[0], span[-1]) for span in spans]
    n_documents, mean, low, high = _cells(found, groups, spans)
    by_group = found.joined(lambda key: [GroupKey(key.name, None)])
    return Division(
        by=found.grouping.by,
        over=None if over is None else over.column,
        span=over.span(spans[0][0], spans[-1][-1]) if over and spans else "",
        groups=[shortened(name, LONGEST_GROUP) for name in groups],
        periods=names,
        middles=[] if over is None else [over.middle(span[0], span[-1]) for span in spans],
        pooled=[name for name, span in zip(names, spans, strict=True) if len(span) > 1],
        n_documents=n_documents,
        mean=mean,
        low=low,
        high=high,
        against_rest=_against_rest(by_group, groups) if len(groups) > 1 else None,
        pairs=_pairs(by_group, groups) if len(groups) > 1 else None,
        change=_change(over_time, spans) if len(spans) > 1 else None,
        words=_words(by_group) if groups else [],
        left_out=left_out,
    )


def _with_largest_groups(found: GroupedDocuments) -> tuple[GroupedDocuments, str]:
    """Join the smallest of too many groups to one without a name; say what is not shown."""
    sizes: dict[str | None, int] = {}
    for key, total in found.totals.items():
        sizes[key.name] = sizes.get(key.name, 0) + total.n_documents
    largest = set(sorted(sizes, key=lambda name: -sizes[name])[:MOST_GROUPS])
    said = []
    if found.n_left_out:
        fields = listed(list(found.grouping.columns.values()), "or")
        said.append(f"{quantity(found.n_left_out, 'document')} without {fields} left out.")
    if n_more := len(sizes) - len(largest):
        more = quantity(n_more, "smaller group")
        said.append(f"{more} not shown; their documents count among all others.")
    named = found.joined(lambda k: [GroupKey(k.name if k.name in largest else None, k.start)])
    return named, " ".join(said)


def _spans(over_time: GroupedDocuments) -> list[list[Start]]:
    """Return periods that follow each other, joined until they have enough documents."""
    sizes = {key.start: each.n_documents for key, each in over_time.totals.items()}
    enough = max(FEWEST_DOCUMENTS, math.ceil(sum(sizes.values()) / MOST_PERIODS))
    spans, n_in_last = list[list[Start]](), enough
    for start in sorted(start for start in sizes if start is not None):
        if n_in_last >= enough:
            spans.append([])
            n_in_last = 0
        spans[-1].append(start)
        n_in_last += sizes[start]
    if len(spans) > 1 and n_in_last < enough:
        spans[-2:] = [spans[-2] + spans[-1]]
    return spans


def _cells(
    found: GroupedDocuments, groups: Sequence[str], spans: Sequence[Sequence[Start]]
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Return documents, means and ends of intervals of groups, periods, both and all."""
    start_of: dict[Start | None, Start] = {start: span[0] for span in spans for start in span}
    pooled = found.joined(lambda key: [GroupKey(key.name, start_of.get(key.start))])
    totals = {**pooled.totals, **pooled.joined(_margins).totals}
    starts = [None, *(span[0] for span in spans)]
    keys = [GroupKey(name, start) for name in (None, *groups) for start in starts]
    known = [place for place, key in enumerate(keys) if key in totals]
    means = group_means([totals[keys[place]] for place in known], found.topic_word)
    n_documents = np.zeros(len(keys), np.int64)
    n_documents[known] = [totals[keys[place]].n_documents for place in known]
    shares = np.full((3, len(keys), len(found.topics)), np.nan)
    shares[:, known] = means.value, *means.interval(0.0, 1.0)
    shape = 1 + len(groups), len(starts)
    mean, low, high = shares.reshape(3, *shape, len(found.topics))
    return n_documents.reshape(shape), mean, low, high


_ALL = GroupKey(None, None)


def _margins(key: GroupKey) -> set[GroupKey]:
    """The name of a group in all periods, its period in all groups, and all documents."""
    return {GroupKey(key.name, None), GroupKey(None, key.start), _ALL}


def _compared(
    names: Sequence[tuple[str, str]],
    totals: Sequence[GroupTotal],
    pairs: Sequence[tuple[int, int]],  # of totals: one minus the other
    topic_word: FloatArray,
) -> Differences:
    means, places = group_means(totals, topic_word), np.array(pairs)
    found = group_differences(means, places).tested()
    return Differences(names, means.value[places[:, 0]], found.difference, found.low, found.high)


def _against_rest(by_group: GroupedDocuments, groups: Sequence[str]) -> Differences:
    """Compare each group with all other documents."""
    totals = [by_group.totals[GroupKey(name, None)] for name in groups]
    totals += [_all_but(by_group, name) for name in groups]
    places = [(place, len(groups) + place) for place in range(len(groups))]
    names = [(name, "the rest") for name in groups]
    return _compared(names, totals, places, by_group.topic_word)


def _all_but(by_group: GroupedDocuments, name: str) -> GroupTotal:
    return by_group.joined(lambda key: [key if key.name == name else _ALL]).totals[_ALL]


def _pairs(by_group: GroupedDocuments, groups: Sequence[str]) -> Differences:
    totals = [by_group.totals[GroupKey(name, None)] for name in groups]
    places = list(combinations(range(len(groups)), 2))
    return _compared(list(combinations(groups, 2)), totals, places, by_group.topic_word)


def _change(over_time: GroupedDocuments, spans: Sequence[Sequence[Start]]) -> Differences:
    """Compare the last third of the documents with the first, in whole periods."""
    over = over_time.grouping.over
    assert over is not None, "spans are of time"
    sizes = {key.start: total.n_documents for key, total in over_time.totals.items()}
    of_spans = np.array([sum(sizes[start] for start in span) for span in spans])
    n_first, n_last = (
        max(1, int((np.cumsum(own) <= of_spans.sum() / 3).sum()))
        for own in (of_spans, of_spans[::-1])
    )
    names, totals = [], []
    for part in (spans[-n_last:], spans[:n_first]):
        starts = {start for span in part for start in span}
        own = {key: total for key, total in over_time.totals.items() if key.start in starts}
        joined = over_time._replace(totals=own).joined(lambda _: [_ALL])
        totals.append(joined.totals[_ALL])
        names.append(over.span(part[0][0], part[-1][-1]))
    return _compared([(names[0], names[1])], totals, [(0, 1)], over_time.topic_word)


def _words(by_group: GroupedDocuments) -> list[list[list[str]]]:
    found = by_group.prevalence()
    pairs = zip(found.groups, found.words, strict=True)
    return [words for key, words in pairs if key.name is not None]
