"""Mixtures of vectors or of documents as the page shows them, with or without a held-out score."""

from __future__ import annotations

import numpy as np

from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.vectors import VectorCorpus
from sparsetopics.evaluation.report.components import component_table
from sparsetopics.evaluation.report.examples import Examples, example_items
from sparsetopics.evaluation.report.figures import ScoreLine
from sparsetopics.evaluation.report.subject import (
    Fact,
    ReportTopic,
    Subject,
    Tile,
    bound_columns,
    bound_tiles,
    coherence_in,
    examples_note,
    known,
    number,
    report_topics,
    training_facts,
)
from sparsetopics.evaluation.report.topic_map import map_topics
from sparsetopics.evaluation.scoring.mixture_scores import MixtureCard
from sparsetopics.runs.mixture_runs import MixtureRun

OF_DOCUMENTS, OF_VECTORS = "Mixtures of documents", "Mixtures"


def mixture_subject(
    run: MixtureRun, corpus: Corpus | VectorCorpus | None = None, card: MixtureCard | None = None
) -> Subject:
    """Return what a page shows of a mixture; examples are from ``corpus``, scores from ``card``."""
    model, of_words = run.model, run.vocabulary is not None
    datum = "token" if of_words else "item"
    words = run.words.words if of_words else ()
    found = None if corpus is None else example_items(corpus, model, words)
    names = corpus.columns if isinstance(corpus, VectorCorpus) else None
    nearest = None if found is None else found.of_topics
    learned = "number learned" if model.name == "dp-mixture" else "number given"
    return Subject(
        path=str(run.path),
        kind=f"{model.name}, {model.likelihood_name}",
        noun="components",
        n_topics=model.n_topics,
        family=OF_DOCUMENTS if of_words else OF_VECTORS,
        datum=datum,
        trained_on=_trained_on(run),
        facts=_facts(run),
        tiles=[
            *([] if card is None else _score_tiles(card)),
            Tile("Components", f"{model.n_topics:,}", f"{model.name}, {learned}"),
            Tile("Largest component", f"{model.weights[0]:.1%}", _half(run)),
            *bound_tiles(run.trace, datum),
        ],
        columns=({} if card is None else _score_columns(card)) | bound_columns(run.trace, datum),
        trace=run.trace,
        score=None if card is None else _score_line(card),
        topics=_topics(run, corpus, found) if of_words else (),
        words=words,
        topic_map=map_topics(model.topic_word_mean) if of_words else None,
        components=() if of_words else component_table(run, nearest, names),
        examples_note=examples_note(found, "documents" if of_words else "items"),
    )


def _topics(
    run: MixtureRun, corpus: Corpus | VectorCorpus | None, found: Examples | None
) -> list[ReportTopic]:
    probabilities = run.model.topic_word_mean
    coherence = coherence_in(corpus, probabilities) if isinstance(corpus, Corpus) else None
    return report_topics(probabilities, run.model.weights, run.words, coherence, found)


def _half(run: MixtureRun) -> str:
    """Say how many of the heaviest components hold half of all items."""
    n_half = int(np.searchsorted(np.cumsum(run.model.weights), 0.5)) + 1
    return f"{n_half:,} {'holds' if n_half == 1 else 'hold'} half of all"


def _trained_on(run: MixtureRun) -> str:
    corpus = run.settings["corpus"]
    sizes = {"n_documents": "documents", "n_items": "items"}
    return " ".join(f"{corpus[key]:,} {noun}" for key, noun in sizes.items() if key in corpus)


def _facts(run: MixtureRun) -> dict[str, Fact]:
    model = run.model
    return known(
        {
            "model": model.name,
            "likelihood": model.likelihood_name,
            "components": model.n_topics,
            "columns": f"{model.n_columns:,}",
            "top concentration": f"{model.mixture.concentration:g}",
            "laps": max([0, *(int(entry.get("lap", 0)) for entry in run.trace)]) or None,
            **training_facts(run),
        }
    )


def _score_tiles(card: MixtureCard) -> list[Tile]:
    likelihood, error = number(card.log_likelihood_per_item, 3), number(card.standard_error, 3)
    tiles = [Tile("Log-likelihood / item", likelihood, f"± {error} std. error")]
    if card.log_likelihood_per_token is not None:
        per_token = number(card.log_likelihood_per_token, 3)
        tiles.append(Tile("Log-likelihood / token", per_token, "of whole documents"))
    if card.clustering is not None:
        nmi = number(card.clustering.nmi, 3)
        tiles.append(Tile("Agreement with labels (NMI)", nmi, "0 none, 1 perfect"))
    return tiles


def _score_columns(card: MixtureCard) -> dict[str, str]:
    columns = {
        "log-likelihood per item": number(card.log_likelihood_per_item, 4),
        "standard error": number(card.standard_error, 4),
    }
    if card.log_likelihood_per_token is not None:
        columns["log-likelihood per token"] = number(card.log_likelihood_per_token, 4)
    columns["components used"] = f"{card.n_used_components:,}"
    if card.clustering is not None:
        columns["NMI"] = number(card.clustering.nmi, 3)
        columns["accuracy"] = number(card.clustering.hungarian_accuracy, 3)
    return columns


def _score_line(card: MixtureCard) -> ScoreLine:
    return ScoreLine(str(card.run.path), card.log_likelihood_per_item, card.standard_error, None)
