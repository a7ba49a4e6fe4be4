"""The evaluation as one self-contained page for people who did not train the model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from sparsetopics.evaluation.figures import (
    N_COLOURS,
    ScoreLine,
    Series,
    score_figure,
    trace_figure,
)
from sparsetopics.evaluation.scorecard import Scorecard
from sparsetopics.evaluation.topic_table import TopicRow, topic_table
from sparsetopics.staging import staged_file

ROW_WORDS = 10
DETAIL_WORDS = 30
TRACES = {
    "elbo_per_token": "ELBO per training token",
    "criterion_per_token": "collapsed criterion per training token",
    "n_topics": "number of topics",
    "heldout_log_likelihood_per_token": "held-out log-likelihood per token",
}
OPTION_LABELS = {"n_topics": "topics to start from", "laps": "laps at most"}


class Setting(NamedTuple):
    """What the scores were measured on."""

    heldout: str
    coherence_corpus: str
    seed: int


class ReportTopic(NamedTuple):
    """A topic as the page shows it; shares are relative to the largest of their column."""

    row: TopicRow
    npmi: float
    weight_share: float
    word_shares: list[float]


class ReportRun(NamedTuple):
    """A scored model as the page shows it."""

    card: Scorecard
    name: str
    colour: str
    gain: float  # nats per token over the unigram
    facts: dict[str, Any]  # how it was trained
    topics: list[ReportTopic]


def write_report(
    path: Path, cards: Sequence[Scorecard], setting: Setting, *, overwrite: bool
) -> None:
    """Write the page: what was scored on what, the scores, how training went, the topics.

    Nothing is fetched from a network to show it, and equal input gives equal bytes. Raises
    OutputError.
    """
    text = render_report(cards, setting)
    with staged_file(path, overwrite=overwrite) as scratch:
        scratch.write_text(text, encoding="utf-8")


def render_report(cards: Sequence[Scorecard], setting: Setting) -> str:
    """The page as HTML text."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = (files("sparsetopics.evaluation") / "report.html").read_text(encoding="utf-8")
    names = _short_names([card.candidate.name for card in cards])
    runs = [_report_run(card, names[number], number) for number, card in enumerate(cards)]
    return environment.from_string(template).render(
        runs=runs,
        setting=setting,
        row_words=ROW_WORDS,
        best=max(runs, key=lambda run: run.card.completion.log_likelihood_per_token),
        score_figure=Markup(_score_figure(runs)),
        trace_figures=[Markup(figure) for figure in _trace_figures(runs)],
        version=version("sparsetopics"),
        exp=math.exp,
        isnan=math.isnan,
    )


def _short_names(names: Sequence[str]) -> list[str]:
    """File names where they tell the runs apart, else the whole paths."""
    short = [Path(name).name or name for name in names]
    return short if len(set(short)) == len(short) else list(names)


def _report_run(card: Scorecard, name: str, number: int) -> ReportRun:
    score = card.completion
    return ReportRun(
        card=card,
        name=name,
        colour=f"var(--series-{number % N_COLOURS})",
        gain=score.log_likelihood_per_token - score.unigram_log_likelihood_per_token,
        facts=_facts(card),
        topics=_topics(card),
    )


def _facts(card: Scorecard) -> dict[str, Any]:
    run = card.candidate.run
    total = float(card.candidate.doc_concentration.sum())
    scoring = {"topics": card.n_topics, "document concentration": f"{total:g}"}
    if run is None:
        return {"model": "topic-word matrix", **scoring}
    corpus: Mapping[str, Any] = run.settings["corpus"]
    sticks = run.model.sticks
    facts = {
        "model": card.kind,
        **scoring,
        "word concentration": f"{run.model.word_concentration:g}",
        "top concentration": None if sticks is None else f"{sticks.top_concentration:g}",
        "ELBO per training token": _number(card.elbo_per_token),
        "criterion per training token": _number(card.criterion_per_token),
        "training documents": f"{run.n_training_documents:,}",
        "training tokens": f"{corpus['n_tokens']:,.0f}" if "n_tokens" in corpus else None,
        "laps": run.n_laps,
        **_option_facts(run.settings.get("options", {})),
        "seed": run.settings.get("seed"),
        "sparsetopics": run.settings["versions"]["sparsetopics"],
    }
    return {name: value for name, value in facts.items() if value is not None}


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:.4f}"


def _option_facts(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options in words, those of a group with the group's name before theirs."""
    facts = {}
    for name, value in options.items():
        group = value if isinstance(value, Mapping) else {"": value}
        for inner, each in group.items():
            label = OPTION_LABELS.get(name, f"{name} {inner}").replace("_", " ").strip()
            facts[label] = (", ".join(each) or "none") if isinstance(each, list) else each
    facts.pop("model", None)  # told before
    return facts


def _topics(card: Scorecard) -> list[ReportTopic]:
    candidate = card.candidate
    weights = None if candidate.run is None else candidate.run.model.topic_weights
    rows = topic_table(candidate.topic_word, weights, candidate.words, DETAIL_WORDS)
    heaviest = max((row.weight or 0.0 for row in rows), default=0.0) or 1.0
    return [
        ReportTopic(
            row=row,
            npmi=float(npmi),
            weight_share=(row.weight or 0.0) / heaviest,
            word_shares=[probability / row.words[0][1] for _, probability in row.words],
        )
        for row, npmi in zip(rows, card.topic_npmi, strict=True)
    ]


def _score_figure(runs: Sequence[ReportRun]) -> str:
    return score_figure(
        [
            ScoreLine(
                run.name,
                run.card.completion.log_likelihood_per_token,
                run.card.completion.standard_error,
                run.card.completion.unigram_log_likelihood_per_token,
            )
            for run in runs
        ]
    )


def _trace_figures(runs: Sequence[ReportRun]) -> list[str]:
    figures = []
    for key, label in TRACES.items():
        series = [_series(run, key) for run in runs]
        if len({value for line in series for value in line.values}) > 1:  # not one level line
            figures.append(trace_figure(series, label))
    return figures


def _series(run: ReportRun, key: str) -> Series:
    trained = run.card.candidate.run
    entries = [] if trained is None else [e for e in trained.trace if e.get(key) is not None]
    laps = [entry.get("lap", number) for number, entry in enumerate(entries, start=1)]
    return Series(run.name, laps, [entry[key] for entry in entries])
