"""``sparsetopics topics``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparsetopics.base.showing import shortened
from sparsetopics.base.wording import printable, quantity
from sparsetopics.cli import shared_options as shared
from sparsetopics.cli.parameter_types import NAMED_PATH, NumberType
from sparsetopics.cli.printing import show
from sparsetopics.options.option import Interval, counts_from

if TYPE_CHECKING:
    from sparsetopics.measures.top_words import TopicRow
    from sparsetopics.runs.guidance import GuideList

LONGEST_NAME = 40  # characters in the table


@click.command()
@click.argument("run", type=NAMED_PATH)
@shared.number_option(
    "--words", counts_from(1), 10, "Number of words to print for each topic.", "n_words"
)
@click.option(
    "--relevance",
    "balance",
    type=NumberType(Interval(0, 1)),
    help="Order words by relevance: 1 puts the most probable first, 0 those that are most probable "
    "compared with all documents, and 0.6 weighs both. Default: by probability.",
)
@click.option(
    "--find",
    multiple=True,
    metavar="WORD",
    help="List only the topics in which WORD stands out, best first, with their shares. Can be "
    "repeated, and one WORD may have several words, such as an n-gram.",
)
@shared.names_option
@shared.themes_option
@shared.json_option("Print JSON instead of a table.")
def command(
    run: Path,
    n_words: int,
    balance: float | None,
    find: tuple[str, ...],
    names: Path | None,
    n_themes: int | None,
) -> None:
    """Print the topics of RUN with their names and most probable words, the heaviest topic first.

    For a mixture of documents, the topics are its components. A topic's weight is its share of the
    training data. Its number is its rank, which may change with more training; its id stays. Its
    name is its three most relevant words (relevance 0.6), unless it was given another. Topics
    without a token, and components without a document, are left out of the table but not of
    --json.

    A topic is marked if at most five training documents hold half of it, or at most ten, most of
    them with the same label or the same value of a kept field, such as an author. --json has this
    up to 50 documents. For a consensus (`train --runs`), each topic is marked with the number of
    runs that found it: those with a topic of the same words, to a Jensen-Shannon similarity of 0.8.

    If documents chose the number of topics, and there are more than 40 topics, the themes that
    are enough to read come first. --themes N prints N themes only, also with --json.

    With --find, a topic's share is p(topic | words): the weight of the topic times the probability
    of each word in it, scaled so that the shares of all topics sum to one. Topics are listed until
    their shares sum to 0.9, ten at most. Words are cut as the training texts were.

    \b
    Example:
        sparsetopics topics run --words 15
        sparsetopics topics run --relevance 0.6
        sparsetopics topics run --names names.toml
        sparsetopics topics run --find firefighters
        sparsetopics topics run-100 --themes 20
    """
    from sparsetopics.answers.found_topics import found_topics
    from sparsetopics.answers.themes import opened, themes_to_read
    from sparsetopics.answers.topic_names import topic_rows
    from sparsetopics.model.statistics import in_use
    from sparsetopics.runs.found_in_runs import how_sure

    trained = opened(run, names, n_themes)
    rows = topic_rows(trained, n_words, balance)
    shares = found_topics(trained, find) if find else {}
    is_used = in_use(trained.model.sizes)
    used = [rows[topic] for topic in shares] or [row for row in rows if is_used[row.topic]]
    lines = _table(used, shares)
    if not find and (themes := themes_to_read(trained)):
        listed = topic_rows(themes, n_words, balance)
        about = f"{quantity(len(listed), 'theme')} of {quantity(len(used), 'topic')}:"
        lines = [about, *_table(listed, {}), "", "All topics:", *lines]
    listed = used if shares else rows
    if n_empty := len(listed) - len(used):
        lines.append(f"Left out {quantity(n_empty, 'empty topic')}; --json lists all topics.")
    if not find and (sure := how_sure(trained.settings.get("found_in_runs", ()))):
        lines.append(sure)
    if not find and (lists := trained.lists):
        lines += [_list_line(each, rows) for each in lists]
        if n_more := sum(max(0, len(each.topics) - 1) for each in lists):
            lines.append(f"--themes {len(rows) - n_more} makes one theme of each list.")
    own = {topic: {"share": share} for topic, share in shares.items()}
    show([row._asdict() | own.get(row.topic, {}) for row in listed], lines)


def _list_line(each: GuideList, rows: Sequence[TopicRow]) -> str:
    """What topics of a run have of a list of words."""
    if not each.topics:
        return f"List {each.name}: no topic."
    weight = sum(rows[topic].weight or 0.0 for topic in each.topics)
    topics = f"{quantity(len(each.topics), 'topic')} ({', '.join(map(str, each.topics))})"
    found = f"{len(each.found):,} of its {quantity(each.n_known, 'known word')}"
    words = ", ".join(each.found) or "none"
    line = f"{topics}, {weight:.2%} of all tokens; they hold most tokens of {found}: {words}"
    return printable(f"List {each.name}: {line}")


def _table(rows: Sequence[TopicRow], shares: Mapping[int, float]) -> list[str]:
    """A line for each topic, below the heads of the columns."""
    named = [shortened(printable(row.name), LONGEST_NAME) for row in rows]
    width = max(map(len, ["name", *named]))
    id_width = max(map(len, ["id", *(row.id or "" for row in rows)]))
    head = " share  " if shares else ""
    lines = [f"topic  {'id':<{id_width}}  weight  {head}{'name':<{width}}  words"]
    for row, name in zip(rows, named, strict=True):
        best = " ".join(word for word, _ in row.words) + (row.mark and f"  [{row.mark}]")
        share = f"{shares[row.topic]:>6.2%}  " if shares else ""
        place = f"{row.topic:>5}  {row.id}  {row.weight:>6.2%}"
        lines.append(f"{place}  {share}{name:<{width}}  {best}")
    return lines
