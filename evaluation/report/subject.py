"""What a page shows of one model, whatever its kind, and the parts that all kinds share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.evaluation.report.components import ComponentRow
from sparsetopics.evaluation.report.examples import Example, Examples
from sparsetopics.evaluation.report.figures import ScoreLine
from sparsetopics.evaluation.report.topic_browser import RelevantWords, relevant_words
from sparsetopics.evaluation.report.topic_map import TopicMap
from sparsetopics.evaluation.scores.coherence import count_cooccurrence, npmi
from sparsetopics.evaluation.scores.completion import unigram_probabilities
from sparsetopics.evaluation.scores.top_words import TopicRow, top_words, topic_table
from sparsetopics.evaluation.scoring.topic_scores import COHERENCE_WORDS, last_known
from sparsetopics.runs.run import AnyRun

DETAIL_WORDS = 30  # listed for each topic
OPTION_LABELS = {"n_topics": "topics to start from", "laps": "laps at most"}
DASH = "–"

Fact = str | float | None  # None: not known
Trace = Sequence[Mapping[str, float | None]]  # one entry per lap or global update


class Tile(NamedTuple):
    """A number in large type, its meaning, and what to compare it with."""

    label: str
    value: str
    note: str


class ReportTopic(NamedTuple):
    """A topic as the page shows it."""

    row: TopicRow
    weight_share: float  # of the heaviest topic's weight
    npmi: float | None  # None if it was not counted
    relevant: RelevantWords
    examples: Sequence[Example]


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A model that a page is about."""

    path: str
    kind: str  # for example HDP
    noun: str  # topics or components
    n_topics: int
    family: str  # models of one family have comparable numbers
    datum: str  # the unit of the bound: token or item
    trained_on: str  # for example "270 documents"
    facts: Mapping[str, Fact]  # how it was trained
    tiles: Sequence[Tile]
    columns: Mapping[str, str]  # its row in the table that sets models side by side
    trace: Trace
    score: ScoreLine | None = None  # on held-out data
    topics: Sequence[ReportTopic] = ()  # empty for mixtures of vectors
    words: Sequence[str] = ()  # the vocabulary
    topic_map: TopicMap | None = None
    components: Sequence[ComponentRow] = ()  # of mixtures of vectors
    examples_note: str = ""  # which documents or items the examples were chosen from


def report_topics(
    topic_word: FloatArray,  # (n_topics, n_words)
    weights: FloatArray | None,  # (n_topics,)
    vocabulary: Vocabulary,
    coherence: FloatArray | None,  # (n_topics,)
    found: Examples | None,
) -> list[ReportTopic]:
    """Return one entry per topic, with its words for every place of the page's slider."""
    unigram = unigram_probabilities(vocabulary.term_frequency)
    rows = topic_table(topic_word, weights, vocabulary.words, DETAIL_WORDS)
    heaviest = max((row.weight or 0.0 for row in rows), default=0.0) or 1.0
    return [
        ReportTopic(
            row=row,
            weight_share=(row.weight or 0.0) / heaviest,
            npmi=None if coherence is None or np.isnan(own := coherence[row.topic]) else float(own),
            relevant=relevant_words(topic_word[row.topic], unigram, DETAIL_WORDS),
            examples=() if found is None else found.of_topics[row.topic],
        )
        for row in rows
    ]


def coherence_in(corpus: Corpus, topic_word: FloatArray) -> FloatArray:
    """Return the NPMI of each topic, (n_topics,), counted in ``corpus``."""
    best = top_words(topic_word, COHERENCE_WORDS)
    return npmi(count_cooccurrence(corpus.batches(), best))


def examples_note(found: Examples | None, noun: str) -> str:
    """Return how many documents or items were searched for examples; empty without examples."""
    if found is None:
        return ""
    if found.n_seen == found.n_rows:
        return f"all {found.n_rows:,} {noun}"
    return f"{found.n_seen:,} of {found.n_rows:,} {noun}, spread evenly"


def bound_tiles(trace: Trace, datum: str) -> list[Tile]:
    """Return tiles for what training raised and, if it was scored, for what it predicted."""
    bound = last_known(trace, "elbo_per_token")
    heldout = last_known(trace, "heldout_log_likelihood_per_token")
    tiles = []
    if heldout is not None:
        note = "nats, after the last lap"
        tiles.append(Tile(f"Held out / {datum}", number(heldout, 3), note))
    if bound is not None:
        tiles.append(Tile(f"ELBO / training {datum}", number(bound, 3), "what training raised"))
    return tiles


def bound_columns(trace: Trace, datum: str) -> dict[str, str]:
    """Return table columns for what training raised."""
    criterion = last_known(trace, "criterion_per_token")
    columns = {f"ELBO per training {datum}": number(last_known(trace, "elbo_per_token"), 4)}
    if criterion is not None:
        columns["training criterion"] = number(criterion, 4)
    return columns


def number(value: float | None, digits: int) -> str:
    """Return ``value`` with ``digits`` decimals, or a dash if it is unknown or undefined."""
    return DASH if value is None or math.isnan(value) else f"{value:,.{digits}f}"


def training_facts(run: AnyRun) -> dict[str, Fact]:
    """Return corpus, options, seed and version of a run in words."""
    settings, corpus = run.settings, run.settings["corpus"]
    name = None
    if "path" in corpus:
        # The start of the fingerprint tells apart corpora whose folders have the same name.
        name = f"{Path(corpus['path']).name} ({str(corpus.get('fingerprint', ''))[:12]})"
    sizes = [size for size in ("n_documents", "n_tokens", "n_items") if size in corpus]
    return {
        "corpus": name,
        **{f"training {size.removeprefix('n_')}": f"{corpus[size]:,.0f}" for size in sizes},
        **_option_facts(settings.get("options", {})),
        "seed": settings.get("seed"),
        "sparsetopics": settings["versions"]["sparsetopics"],
    }


Option = str | float | list[str] | None


def _option_facts(options: Mapping[str, Option | Mapping[str, Option]]) -> dict[str, Fact]:
    """Return options in words; those of a group begin with the group's name."""
    facts: dict[str, Fact] = {}
    for name, value in options.items():
        group = value if isinstance(value, Mapping) else {"": value}
        for inner, each in group.items():
            label = OPTION_LABELS.get(name, f"{name} {inner}").replace("_", " ").strip()
            facts[label] = (", ".join(each) or "none") if isinstance(each, list) else each
    facts.pop("model", None)  # the page names it before
    return facts


def known(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return the facts that are known."""
    return {name: value for name, value in facts.items() if value is not None}
