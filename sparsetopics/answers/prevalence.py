"""How much of each topic there is in groups of documents and over time, as tables."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sparsetopics.answers.topic_names import chosen_topics
from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray
from sparsetopics.base.errors import CorpusError
from sparsetopics.base.wording import listed
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.grouping import Grouping, GroupKey, Start
from sparsetopics.corpora.readers.fields import TEXT
from sparsetopics.corpora.sources.arrow_files import arrow_numbers, arrow_strings
from sparsetopics.corpora.store.shards import RowGroup
from sparsetopics.execution.executors import ALONE, Crew
from sparsetopics.inference.course import Model
from sparsetopics.measures.estimates import Differences, Estimates
from sparsetopics.measures.prevalence import (
    GroupSums,
    GroupTotal,
    group_differences,
    group_means,
    group_shares,
    sum_groups,
    unbiased_projection,
)
from sparsetopics.measures.telling_words import telling_group_words
from sparsetopics.model.statistics import in_use
from sparsetopics.options.option import refuse, shown
from sparsetopics.options.registry import MODELS
from sparsetopics.runs.run import AnyRun

MOST_GROUPS = 10_000
NO_LABELS = "Was it made with labels?"
MOST_COMPARISONS = 10_000_000  # rows of the table of differences
Labels = Sequence[tuple[str, str]]  # id and name of each topic of the model
ALL = slice(None)  # topics


class TopicsInUse(NamedTuple):
    """What estimates need of the topics of a model, and where each stands in another model."""

    numbers: IntArray  # (n_topics,)  in the model
    topic_word: FloatArray  # (n_topics, n_words)
    projection: FloatArray  # (n_words, n_topics)
    places: IntArray  # (n_topics of the other model,)  the topic like each of its own, or −1

    def placed(self, values: FloatArray) -> FloatArray:
        """Columns of values, (n, n_topics), in the order of the other model; NaN for none."""
        return np.hstack([values, np.full((len(values), 1), np.nan)])[:, self.places]


def topics_in_use(model: Model, places: IntArray | None = None) -> TopicsInUse:
    """Return the topics of ``model``; those of a model of its own stand where they are."""
    numbers = np.flatnonzero(in_use(model.sizes))
    topic_word = model.topic_word_mean[numbers]
    projection = unbiased_projection(topic_word, model.weights[numbers])
    own = np.arange(len(numbers)) if places is None else places
    return TopicsInUse(numbers, topic_word, projection, own)


def refuse_mixture(model: Model) -> None:
    """Raise OptionError for a mixture."""
    if MODELS[model.name].of_items:
        hint = "`infer` writes the responsibilities of a mixture."
        refuse("run", "must have topics, but is a mixture", hint)


def places_of(run: AnyRun, topics: Sequence[int | str]) -> IntArray:
    """Return where topics, named by their numbers or ids, stand among those with any data.

    Without names, these are all of them. Raises OptionError for a topic that is not there or empty.
    """
    chosen, used = chosen_topics(run, topics), in_use(run.model.sizes)
    if empty := [topic for topic in chosen if not used[topic]]:
        refuse("topic", f"topic {empty[0]} is empty: it has no word of the training data")
    return np.cumsum(used)[chosen] - 1


class Prevalence(NamedTuple):
    """The mean proportions of topics in each group, ordered by name and time."""

    grouping: Grouping
    topics: IntArray  # (n_topics,)  numbers in the model of the topics that have any token
    groups: list[GroupKey]
    n_documents: list[int]  # of each group
    means: Estimates  # (n_groups, n_topics)
    of_runs: FloatArray  # (n_runs, n_groups, n_topics)  means in other runs, which errors count
    words: list[list[list[str]]]  # of each group and topic
    n_left_out: int  # documents without a value to divide by

    @property
    def estimates(self) -> Estimates:
        """The means, (n_groups, n_topics)."""
        return self.means.over_runs(self.of_runs)

    @property
    def heads(self) -> list[str]:
        """The groups as people write them."""
        return [self.grouping.named(*group) or "all" for group in self.groups]

    def table(self, labels: Labels) -> pa.Table:
        """Return a row for each topic and group.

        Columns: topic; id and name, which ``labels`` has of each topic of the model; group, if
        documents are divided by names; from and to, if they are divided by time or numbers; mean,
        standard_error, low and high (of the 95 % interval), n_documents, words. The end of a period
        or bin is not part of it.
        """
        n_groups, n_topics = self.means.value.shape
        columns = topic_columns(self.topics, n_groups, labels)
        columns |= self._group_columns(np.arange(n_groups), n_topics)
        columns |= interval_columns(self.estimates)
        columns["n_documents"] = arrow_numbers(np.tile(self.n_documents, n_topics))
        words = [group[topic] for topic in range(n_topics) for group in self.words]
        columns["words"] = pa.array(words, pa.list_(pa.string()))
        return pa.table(columns)

    def differences(self, labels: Labels) -> pa.Table:
        """Return a row for each topic and pair of groups: the first minus the other.

        Groups of one period are compared with each other. Without names, each period is compared
        with the one before. Columns: topic, id, name; group and other_group, from and to,
        other_from and other_to, as in ``table``; difference, standard_error, low, high, t, p_value,
        adjusted_p_value (Holm, over all rows). Raises OptionError for too many pairs.
        """
        pairs = self._pairs()
        n_topics = len(self.topics)
        of_runs = self.of_runs[:, pairs[:, 0]] - self.of_runs[:, pairs[:, 1]]
        found = group_differences(self.means, pairs).over_runs(of_runs).tested()
        columns = topic_columns(self.topics, len(pairs), labels)
        columns |= self._group_columns(pairs[:, 0], n_topics)
        columns |= self._group_columns(pairs[:, 1], n_topics, "other_")
        return pa.table(columns | difference_columns(found))

    def _pairs(self) -> IntArray:
        if self.grouping.by is None:
            later = range(1, len(self.groups))
            return np.array([(i, i - 1) for i in later], np.int64).reshape(-1, 2)
        periods: dict[Start | None, list[int]] = {}
        for number, group in enumerate(self.groups):
            periods.setdefault(group.start, []).append(number)
        n_pairs = sum(math.comb(len(some), 2) for some in periods.values())
        if n_pairs * len(self.topics) > MOST_COMPARISONS:
            refuse("differences", f"would have more than {MOST_COMPARISONS:,} rows")
        pairs = [pair for some in periods.values() for pair in combinations(some, 2)]
        return np.array(pairs, np.int64).reshape(-1, 2)

    def _group_columns(
        self, numbers: IntArray, n_times: int, prefix: str = ""
    ) -> dict[str, pa.Array]:
        groups = [self.groups[number] for number in numbers] * n_times
        columns = {}
        if self.grouping.by is not None:
            columns[f"{prefix}group"] = pa.array([group.name for group in groups], pa.string())
        if self.grouping.over is not None:
            starts = [group.start for group in groups]
            ends = [self.grouping.over.end(start) for start in starts if start is not None]
            kind = _kind_of([*starts, *ends])
            columns[f"{prefix}from"] = pa.array(starts, kind)
            columns[f"{prefix}to"] = pa.array(ends, kind)
        return columns


class GroupedDocuments(NamedTuple):
    """Documents divided into groups, as the sums from which the means of topics are estimated."""

    grouping: Grouping
    topics: IntArray  # (n_topics,)  numbers in the model of the topics that have any token
    topic_word: FloatArray  # (n_topics, n_words)
    words: Sequence[str]  # (n_words,)
    totals: Mapping[GroupKey, GroupTotal]  # ordered by name and time
    n_left_out: int  # documents without a value to divide by

    def joined(self, new_keys: Callable[[GroupKey], Collection[GroupKey]]) -> GroupedDocuments:
        """The same documents in other groups: each group becomes a part of those of ``new_keys``.

        Estimates are those of documents that had been divided so from the start.
        """
        totals: dict[GroupKey, GroupTotal] = {}
        for key, total in self.totals.items():
            for new_key in new_keys(key):
                empty = GroupTotal(len(self.topics), len(self.words))
                totals.setdefault(new_key, empty).include(total)
        return self._replace(totals=totals)

    def prevalence(
        self, n_words: int = 5, others: Sequence[TopicsInUse] = (), places: IntArray | slice = ALL
    ) -> Prevalence:
        """Estimate the means of topics, and find ``n_words`` words of each group and topic.

        ``places`` are those of some of the topics; by default, they are all. Errors also count how
        far the means of the topics of ``others`` are from these.
        """
        totals = list(self.totals.values())
        means = group_means(totals, self.topic_word)
        chosen = np.arange(len(self.topics))[places]
        telling = [
            [[self.words[word] for word in group[topic]] for topic in chosen]
            for group in telling_group_words(totals, means.value, self.topic_word, n_words)
        ]
        groups, n_documents = list(self.totals), [total.n_documents for total in totals]
        of_runs = np.empty((len(others), *means.value.shape))
        for row, other in zip(of_runs, others, strict=True):
            row[:] = other.placed(group_shares(totals, other.topic_word, other.projection))
        found = groups, n_documents, means.at(ALL, places), of_runs[:, :, places], telling
        return Prevalence(self.grouping, self.topics[places], *found, self.n_left_out)


def grouped_documents(
    model: Model, corpus: Corpus, words: Sequence[str], grouping: Grouping, crew: Crew = ALONE
) -> GroupedDocuments:
    """Divide the documents of ``corpus``, and sum up what they say about the topics of a model.

    ``words`` are those of the training data, and of ``corpus``. Documents are read once, with no
    other field than those of ``grouping``. The result has the same bits for any number of workers.
    Memory grows with groups × words, not with documents. Raises OptionError for a mixture, for a
    field that the corpus lacks, for values that cannot be divided and for more than 10,000 groups;
    CorpusError if no document has a value.
    """
    refuse_mixture(model)
    grouping.check(corpus.fields)
    used = topics_in_use(model)
    topics, topic_word = used.numbers, used.topic_word
    task = partial(_sum_part, grouping=grouping, projection=used.projection, workers=crew.threads)
    total_of = defaultdict[GroupKey, GroupTotal](lambda: GroupTotal(len(topics), len(words)))
    are_whole = True
    for keys, sums, of_part in crew.map(task, corpus.row_groups):
        are_whole &= of_part
        if len(total_of.keys() | keys) > MOST_GROUPS:
            option = "by" if grouping.over is None else "over"
            refuse(option, f"makes more than {MOST_GROUPS:,} groups", "Use fewer, larger groups.")
        for row, key in enumerate(keys):
            total_of[key].add(sums, row)
    if not total_of:
        fields = listed([shown(column) for column in grouping.columns.values()])
        known = [shown(name) for name, kind in corpus.fields.items() if kind != TEXT]
        option = next(iter(grouping.columns))
        hint = f"Choose another with --{option}: it has {listed(known)}." if known else NO_LABELS
        raise CorpusError("the corpus", f"no document has a value of {fields}", hint)
    by_number = grouping.by is not None and corpus.fields.get(grouping.by) == "number"
    totals = {key: total_of[key] for key in sorted(total_of, key=partial(_order, by_number))}
    if grouping.over is not None:
        grouping = replace(grouping, over=replace(grouping.over, are_whole=are_whole))
    n_left_out = corpus.n_docs - sum(total.n_documents for total in totals.values())
    return GroupedDocuments(grouping, topics, topic_word, words, totals, n_left_out)


def _sum_part(
    rows: RowGroup[DocumentBatch], grouping: Grouping, projection: FloatArray, workers: int
) -> tuple[list[GroupKey], GroupSums, bool]:
    """The groups of one row group, their sums, and whether the numbers they have are whole."""
    codes, keys, are_whole = grouping.of(rows)
    return keys, sum_groups(rows.read(), codes, len(keys), projection, workers), are_whole


def _order(by_number: bool, key: GroupKey) -> tuple[float, str, Start]:
    name = key.name or ""
    return float(name) if by_number else 0.0, name, 0.0 if key.start is None else key.start


def topic_columns(
    topics: IntArray, n_each: int, labels: Labels, prefix: str = ""
) -> dict[str, pa.Array]:
    """The number, id and name of topics for ``n_each`` rows of each, one topic after the other."""
    numbers = arrow_numbers(np.repeat(topics, n_each))
    ids, names = (arrow_strings(own).take(numbers) for own in zip(*labels, strict=True))
    return {f"{prefix}topic": numbers, f"{prefix}id": ids, f"{prefix}name": names}


def interval_columns(
    found: Estimates, name: str = "mean", least: float = 0.0
) -> dict[str, pa.Array]:
    """Estimates, (n, n_topics), from ``least`` to 1, with their errors and 95 % intervals."""
    values = (found.value, found.standard_error, *found.interval(least, 1.0))
    names = (name, "standard_error", "low", "high")
    return {name: by_topic(own) for name, own in zip(names, values, strict=True)}


def difference_columns(found: Differences) -> dict[str, pa.Array]:
    """Differences, (n_pairs, n_topics), with their errors, intervals and tests."""
    return {name: by_topic(own) for name, own in found._asdict().items()}


def by_topic(values: FloatArray) -> pa.Array:
    """(n_groups, n_topics) as a column, topic by topic; NaN becomes null."""
    column = values.T.ravel()
    return pa.array(column, mask=np.isnan(column))


def _kind_of(starts: Sequence[Start | None]) -> pa.DataType:
    if any(isinstance(start, date) for start in starts):
        return pa.date32()
    numbers = [start for start in starts if isinstance(start, float)]
    whole = all(number.is_integer() and abs(number) < 2**53 for number in numbers)
    return pa.int64() if whole else pa.float64()
