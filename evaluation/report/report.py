"""Models as one self-contained page for people who did not train them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from sparsetopics.base.outputs import Output, written
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.vectors import VectorCorpus
from sparsetopics.evaluation.report.figures import N_COLOURS, map_figure, score_figure
from sparsetopics.evaluation.report.mixture_subjects import mixture_subject
from sparsetopics.evaluation.report.report_data import browser_data
from sparsetopics.evaluation.report.report_subject import DASH, Subject
from sparsetopics.evaluation.report.report_traces import accepted_moves, trace_figures
from sparsetopics.evaluation.report.topic_subjects import scored_subject
from sparsetopics.evaluation.scores.completion import CompletionScore
from sparsetopics.evaluation.scoring.mixture_scores import MixtureCard
from sparsetopics.evaluation.scoring.scorecard import Scorecard

ROW_WORDS = 10
FEWEST_MAPPED = 3  # topics: fewer have no map


class Setting(NamedTuple):
    """What the scores were measured on."""

    heldout: str
    coherence_corpus: str
    seed: int


class Panel(NamedTuple):
    """Facts under a title."""

    title: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """What a page says."""

    title: str  # of one model, or of several where there are
    subjects: Sequence[Subject]
    scored_on: str = ""  # in words, empty without scores
    heldout: str = ""  # the corpus
    coherence_corpus: str = ""  # where NPMI was counted
    examples_corpus: str = ""
    panels: Sequence[Panel] = ()  # besides those of the models


class Shown(NamedTuple):
    """A model with its place on the page."""

    number: int
    name: str
    colour: str
    subject: Subject
    topic_map: Markup | None
    moves: Markup | None


class Family(NamedTuple):
    """Models whose numbers compare, side by side."""

    title: str
    noun: str
    datum: str
    heads: Sequence[str]
    rows: Sequence[tuple[Shown, Sequence[str]]]
    score_figure: Markup | None
    trace_figures: Sequence[Markup]


def scored_report(
    cards: Sequence[Scorecard],
    setting: Setting,
    examples: Corpus | None = None,
    *,
    workers: int = 1,
) -> Report:
    """What the page of scored topic models says; example documents are those of ``examples``."""
    score = cards[0].completion
    return Report(
        title="Topic model evaluation",
        subjects=[scored_subject(card, examples, workers=workers) for card in cards],
        scored_on=f"{score.n_documents:,} held-out documents",
        heldout=setting.heldout,
        coherence_corpus=setting.coherence_corpus,
        examples_corpus="" if examples is None else setting.heldout,
        panels=[Panel(setting.heldout, score_facts(score, setting))],
    )


def score_facts(score: CompletionScore, setting: Setting) -> dict[str, str]:
    """What was scored, and how."""
    return {
        "documents scored": f"{score.n_documents:,}",
        "hidden tokens scored": f"{score.n_tokens:,.0f}",
        "documents skipped": f"{score.n_skipped_documents:,} with fewer than two known words",
        "tokens unknown": f"{score.n_unknown_tokens:,} outside the training vocabulary",
        "split": f"by word type, one fifth hidden, seed {setting.seed}",
        "coherence counted in": setting.coherence_corpus,
    }


def scored_mixtures(
    cards: Sequence[MixtureCard], corpus: Corpus | VectorCorpus, heldout: str
) -> Report:
    """What the page of scored mixtures says; nearest items are those of the held-out ``corpus``."""
    noun = "documents" if isinstance(corpus, Corpus) else "items"
    facts = {f"{noun} scored": f"{cards[0].n_items:,}"}
    return Report(
        title="Mixture evaluation",
        subjects=[mixture_subject(card.run, corpus, card) for card in cards],
        scored_on=f"{cards[0].n_items:,} held-out {noun}",
        heldout=heldout,
        coherence_corpus=heldout if isinstance(corpus, Corpus) else "",
        examples_corpus=heldout,
        panels=[Panel(heldout, facts)],
    )


def write_page(output: Output, report: Report) -> None:
    """Write ``report`` as a page. Raises OutputError.

    Nothing is fetched from a network to show it, and equal input gives equal bytes.
    """
    text = render_page(report)
    with written(output) as scratch:
        scratch.write_text(text, encoding="utf-8")


def render_page(report: Report) -> str:
    """The page as HTML text."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    names = _short_names([subject.path for subject in report.subjects])
    shown = [_shown(subject, n, names[n]) for n, subject in enumerate(report.subjects)]
    return environment.from_string(_packaged("page.html")).render(
        report=report,
        shown=shown,
        families=_families(shown),
        best=_best(shown),
        row_words=ROW_WORDS,
        style=Markup(_packaged("page.css")),
        script=Markup(_packaged("page.js")),
        data=browser_data(report.subjects),
        version=version("sparsetopics"),
        exp=math.exp,
    )


def _packaged(name: str) -> str:
    return (files("sparsetopics.evaluation.report") / name).read_text(encoding="utf-8")


def _short_names(names: Sequence[str]) -> list[str]:
    """File names where they tell the runs apart, else the whole paths."""
    short = [Path(name).name or name for name in names]
    return short if len(set(short)) == len(short) else list(names)


def _shown(subject: Subject, number: int, name: str) -> Shown:
    moves = accepted_moves(subject)
    return Shown(
        number=number,
        name=name,
        colour=f"var(--series-{number % N_COLOURS})",
        subject=subject,
        topic_map=_map(subject, number),
        moves=None if moves is None else Markup(moves),
    )


def _map(subject: Subject, number: int) -> Markup | None:
    if subject.topic_map is None or subject.n_topics < FEWEST_MAPPED:
        return None
    weights = [1.0 if each.row.weight is None else each.row.weight for each in subject.topics]
    addresses = [f"#run-{number}-topic-{topic.row.topic}" for topic in subject.topics]
    words = [each.row.words[0][0] if each.row.words else "" for each in subject.topics]
    return Markup(map_figure(subject.topic_map.places, weights, words, addresses, number))


def _best(shown: Sequence[Shown]) -> Shown:
    """Of the first family, whose numbers compare, the model with the highest score if any has."""
    scores = {
        each.number: each.subject.score.score
        for each in shown
        if each.subject.family == shown[0].subject.family and each.subject.score is not None
    }
    return shown[max(scores, key=lambda number: scores[number])] if scores else shown[0]


def _families(shown: Sequence[Shown]) -> list[Family]:
    """In the order of their first models."""
    names = dict.fromkeys(each.subject.family for each in shown)
    return [_family([each for each in shown if each.subject.family == name]) for name in names]


def _family(members: Sequence[Shown]) -> Family:
    subjects = [each.subject for each in members]
    first = subjects[0]
    titles = list(dict.fromkeys(title for subject in subjects for title in subject.columns))
    heads = ["kind", first.noun, *titles]
    rows = [
        (each, [each.subject.kind, f"{each.subject.n_topics:,}",
                *(each.subject.columns.get(title, DASH) for title in titles)])
        for each in members
    ]  # fmt: skip
    colours = [each.number for each in members]
    lines = [each.subject.score._replace(name=each.name) for each in members if each.subject.score]
    figure = score_figure(lines, first.datum, colours) if len(lines) == len(members) > 1 else None
    return Family(
        first.family,
        first.noun,
        first.datum,
        heads,
        rows,
        None if figure is None else Markup(figure),
        [Markup(figure) for figure in trace_figures(subjects, colours)],
    )
