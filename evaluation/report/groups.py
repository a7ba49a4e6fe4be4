"""What a page shows of groups and periods: a heat map, lines over time, and a table of both.

Everything is made of the estimates that ``sparsetopics prevalence`` prints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from sparsetopics.answers.prevalence import LEVEL, Prevalence
from sparsetopics.base.batches import IntArray
from sparsetopics.base.showing import shortened
from sparsetopics.base.wording import quantity
from sparsetopics.corpora.grouping import Grouping, Start
from sparsetopics.evaluation.report.figures import N_COLOURS, trend_figure
from sparsetopics.evaluation.report.subject import DASH
from sparsetopics.measures.prevalence import variance_of_means

MOST_TOPICS = 200  # rows of the heat map
MOST_GROUPS = 40  # its columns
MOST_TRENDS = 12  # topics with lines
MOST_LINES = N_COLOURS  # groups with lines of their own
MOST_PERIODS = 200  # on a line
MOST_NUMBERS = 2_000  # rows of a table
MOST_TICKS = 4
LONGEST_GROUP = 60  # characters


class Number(NamedTuple):
    """How much of a topic there is in a group."""

    topic: int
    name: str
    group: str
    percent: str
    heat: float  # share of the topic's largest mean
    interval: str
    n_documents: str
    words: Sequence[str]  # that set the group's use of the topic apart


class Trend(NamedTuple):
    """A topic over time."""

    topic: int
    name: str
    figure: Markup
    said: str  # the figure in words


class Trends(NamedTuple):
    """Topics over time."""

    panels: Sequence[Trend]
    legend: Sequence[str]  # a group for each line; empty for a single line without a name
    numbers: Sequence[Number]  # what the lines show
    left_out: str


class GroupSection(NamedTuple):
    """The part of a page about groups and time."""

    title: str
    by: str | None  # fields
    over: str | None
    noun: str  # what the columns of the heat map are: group, month, bin, …
    heat_map: Sequence[Sequence[Number]]  # of each topic, a number for each of the same groups
    left_out: str  # of the heat map: a sentence, or ""
    trends: Trends | None
    documents_left_out: str


def group_section(
    groups: Prevalence, over_time: Prevalence | None, names: Sequence[str]
) -> GroupSection:
    """Return what a page shows of the estimates for groups, and for groups and periods.

    Without names of groups, both are the same estimates. ``names`` has a name for each topic of
    the model.
    """
    by, over = groups.grouping.by, None if over_time is None else over_time.grouping.over
    titles = [title for title, field in (("groups", by), ("time", over)) if field is not None]
    rows, left_out = heat_map(groups, names)
    n_out = (over_time or groups).n_left_out
    documents = f"{quantity(n_out, 'document')} without a value left out." if n_out else ""
    return GroupSection(
        title=" and ".join(titles).capitalize(),
        by=by,
        over=None if over is None else over.column,
        noun=_noun(groups.grouping),
        heat_map=rows,
        left_out=left_out,
        trends=None if over_time is None else trends(over_time, names),
        documents_left_out=documents,
    )


def _noun(grouping: Grouping) -> str:
    """Return what documents are divided into."""
    if grouping.by is not None or grouping.over is None:
        return "group"
    return grouping.over.period or ("value" if grouping.over.width is None else "bin")


def _which(grouping: Grouping) -> str:
    """Return which of them are left out where there are too many."""
    if grouping.by is not None:
        return "smaller"
    return "earlier" if grouping.over is not None and grouping.over.period else "lower"


class _Shares:
    """Estimates with names, and with intervals, which are computed once."""

    def __init__(self, found: Prevalence, names: Sequence[str]) -> None:
        self.found, self.names = found, names
        self.ends = found.means.interval(LEVEL)

    def numbers(self, topic: int, groups: Sequence[int]) -> list[Number]:
        """Return those of a topic, which is a place among the estimates, in some groups."""
        number = int(self.found.topics[topic])
        estimates = [each[groups, topic].tolist() for each in (self.found.means.mean, *self.ends)]
        largest = max(estimates[0]) or 1.0
        return [
            Number(
                topic=number,
                name=self.names[number],
                group=_group_name(self.found, group),
                percent=f"{100 * mean:.1f}",
                heat=mean / largest,
                interval=DASH if np.isnan(low) else f"{100 * low:.1f} to {100 * high:.1f}",
                n_documents=f"{self.found.means.n_documents[group]:,}",
                words=self.found.words[group][topic],
            )
            for group, mean, low, high in zip(groups, *estimates, strict=True)
        ]


# --- the heat map ---------------------------------------------------------------------------------
def heat_map(found: Prevalence, names: Sequence[str]) -> tuple[list[list[Number]], str]:
    """Return the heaviest topics by the largest groups or latest periods, and what is left out."""
    shown = list(range(len(found.groups)))[-MOST_GROUPS:]
    if found.grouping.by is not None:
        order = np.argsort(-found.means.n_documents, kind="stable")[:MOST_GROUPS]
        shown = sorted(order.tolist())
    topics = range(min(len(found.topics), MOST_TOPICS))
    shares = _Shares(found, names)
    rows = [shares.numbers(topic, shown) for topic in topics]
    return rows, _left_out(found, len(topics), len(shown))


def _left_out(found: Prevalence, n_topics: int, n_groups: int) -> str:
    """Say what is not drawn."""
    parts = []
    if n_more := len(found.groups) - n_groups:
        parts.append(quantity(n_more, f"{_which(found.grouping)} {_noun(found.grouping)}"))
    if n_more := len(found.topics) - n_topics:
        parts.append(quantity(n_more, "lighter topic"))
    return f"Not drawn: {' and '.join(parts)}." if parts else ""


def _group_name(found: Prevalence, group: int) -> str:
    name, start = found.groups[group]
    short = None if name is None else shortened(name, LONGEST_GROUP)
    return found.grouping.named(short, start)


# --- lines over time ------------------------------------------------------------------------------
def trends(found: Prevalence, names: Sequence[str]) -> Trends:
    """Return lines for the topics that change most, and for the groups with most documents."""
    lines, n_more = _lines(found)
    changing = _most_changing(found, list(lines.values()))
    groups: list[int] = np.concatenate(list(lines.values())).tolist()
    ticks = _ticks(found, groups)
    shares = _Shares(found, names)
    left_out = [quantity(n_more, "smaller group")] if n_more else []
    periods = {group.start for group in found.groups}
    if n_more := len(periods) - len({found.groups[group].start for group in groups}):
        left_out.append(quantity(n_more, _noun(replace(found.grouping, by=None))))
    return Trends(
        panels=[_trend(shares, topic, list(lines.values()), ticks) for topic in changing],
        legend=[shortened(name, LONGEST_GROUP) for name in lines if name is not None],
        numbers=[number for topic in changing for number in shares.numbers(topic, groups)],
        left_out=f"Without lines: {' and '.join(left_out)}." if left_out else "",
    )


def _lines(found: Prevalence) -> tuple[dict[str | None, IntArray], int]:
    """Return the latest periods of the largest groups, by name, and how many groups are left."""
    members: dict[str | None, list[int]] = {}
    for number, group in enumerate(found.groups):
        members.setdefault(group.name, []).append(number)
    n_documents = {name: found.means.n_documents[own].sum() for name, own in members.items()}
    largest = sorted(members, key=lambda name: -n_documents[name])[:MOST_LINES]
    recent = {name: own[-MOST_PERIODS:] for name, own in members.items() if name in largest}
    lines = {name: np.array(own, np.int64) for name, own in recent.items()}
    return lines, len(members) - len(lines)


def _most_changing(found: Prevalence, lines: Sequence[IntArray]) -> list[int]:
    """Return the topics whose true shares vary most along the lines, in the order of variance."""
    sizes = [found.means.n_documents[line].sum() for line in lines]
    variances = [variance_of_means(found.means, line) for line in lines]
    change = np.average(variances, axis=0, weights=sizes)
    chosen: list[int] = np.argsort(-change, kind="stable")[:MOST_TRENDS].tolist()
    return chosen


def _ticks(found: Prevalence, groups: Sequence[int]) -> dict[float, str]:
    """Return labels of some periods, the first and the last among them."""
    starts = {_place(start): start for start in (found.groups[group].start for group in groups)}
    places = sorted(starts)
    wanted = np.linspace(places[0], places[-1], MOST_TICKS)
    chosen = np.abs(np.subtract.outer(wanted, places)).argmin(axis=1).tolist()
    return {places[n]: found.grouping.named(None, starts[places[n]]) for n in chosen}


def _place(start: Start | None) -> float:
    assert start is not None, "only groups of periods have lines"
    return float(start.toordinal()) if isinstance(start, date) else start


def _trend(
    shares: _Shares, topic: int, lines: Sequence[IntArray], ticks: Mapping[float, str]
) -> Trend:
    groups, number = shares.found.groups, int(shares.found.topics[topic])
    estimates = shares.found.means.mean, *shares.ends
    drawn = []
    for line in lines:
        places = [_place(groups[group].start) for group in line.tolist()]
        drawn.append(np.array([places, *(each[line, topic] for each in estimates)]))
    ends = [end for line in lines for end in shares.numbers(topic, line[[0, -1]].tolist())]
    said = "; ".join(f"{end.group}: {end.percent} % ({end.interval})" for end in ends)
    return Trend(number, shares.names[number], Markup(trend_figure(drawn, ticks)), said)
