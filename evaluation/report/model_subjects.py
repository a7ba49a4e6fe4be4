"""Topic models and mixtures as a page shows them, with or without held-out scores."""

from __future__ import annotations

import numpy as np

from sparsetopics.corpora.corpus import AnyCorpus, Corpus, VectorCorpus
from sparsetopics.evaluation.report.components import component_table
from sparsetopics.evaluation.report.examples import Examples, example_documents, example_items
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
from sparsetopics.evaluation.scores.top_words import top_words, topic_diversity
from sparsetopics.evaluation.scoring.fixed_topics import FixedTopics
from sparsetopics.evaluation.scoring.mixture_scores import MixtureCard
from sparsetopics.evaluation.scoring.topic_scores import DIVERSITY_WORDS, Scorecard, last_known
from sparsetopics.runs.run import MixtureRun

# Models of one family have comparable numbers.
TOPIC_MODELS = "Topic models"
OF_DOCUMENTS, OF_VECTORS = "Mixtures of documents", "Mixtures"


def topic_subject(
    topics: FixedTopics,
    corpus: Corpus | None = None,
    card: Scorecard | None = None,
    *,
    workers: int = 1,
) -> Subject:
    """Return what a page shows of ``topics``.

    Example documents are from ``corpus``. Scores and coherence are those of ``card``; without a
    card, coherence is counted in ``corpus``.
    """
    run, topic_word = topics.run, topics.topic_word
    trace, weights = ((), None) if run is None else (run.trace, run.model.weights)
    coherence = None if card is None else card.topic_npmi
    found = None
    if corpus is not None:
        if coherence is None:
            coherence = coherence_in(corpus, topic_word)
        concentration = topics.doc_concentration
        found = example_documents(corpus, topic_word, concentration, topics.words, workers=workers)
    npmi = None if coherence is None else float(coherence.mean())
    diversity = topic_diversity(top_words(topic_word, DIVERSITY_WORDS))
    kind = "topic-word matrix" if run is None else run.model.name.upper()
    learned = "number learned" if kind == "HDP" else "number given"
    return Subject(
        path=topics.name,
        kind=kind,
        noun="topics",
        n_topics=len(topic_word),
        family=TOPIC_MODELS,
        datum="token",
        trained_on=_topic_data(topics),
        facts=_topic_facts(topics),
        tiles=[
            *_topic_tiles(npmi, diversity, card),
            Tile("Topics", f"{len(topic_word):,}", f"{kind}, {learned}"),
            *bound_tiles(trace, "token"),
        ],
        columns=_topic_columns(npmi, diversity, card) | bound_columns(trace, "token"),
        trace=trace,
        score=None if card is None else _topic_score(card),
        topics=report_topics(topic_word, weights, topics.vocabulary, coherence, found),
        words=topics.words,
        topic_map=map_topics(topic_word),
        examples_note=examples_note(found, "documents"),
    )


def _topic_columns(npmi: float | None, diversity: float, card: Scorecard | None) -> dict[str, str]:
    """Return the row of the comparison table."""
    unscored = {} if npmi is None else {"NPMI": number(npmi, 3)}
    if card is None:
        return {**unscored, "diversity": number(diversity, 3)}
    score, in_texts = card.completion, {"c_v": card.c_v, "c_npmi": card.c_npmi}
    return {
        "log-likelihood per token": number(score.log_likelihood_per_token, 4),
        "standard error": number(score.standard_error, 4),
        "gain over unigram": f"{score.gain:+.3f}",
        "perplexity": number(score.perplexity, 1),
        **unscored,
        "u_mass": number(card.u_mass, 3),
        **{name: number(value, 3) for name, value in in_texts.items() if value is not None},
        "diversity": number(diversity, 3),
        "inverted RBO": number(card.inverted_rbo, 3),
    }


def _topic_tiles(npmi: float | None, diversity: float, card: Scorecard | None) -> list[Tile]:
    tiles = []
    if card is not None:
        score, unigram = card.completion, card.completion.unigram_log_likelihood_per_token
        likelihood, error = score.log_likelihood_per_token, number(score.standard_error, 3)
        tiles = [
            Tile("Log-likelihood / token", number(likelihood, 3), f"± {error} std. error"),
            Tile("Unigram (no topics)", number(unigram, 3), f"topics gain {score.gain:+.3f}"),
            Tile("Perplexity", number(score.perplexity, 0), f"unigram {np.exp(-unigram):,.0f}"),
        ]
    if npmi is not None:
        tiles.append(Tile("Coherence (NPMI)", number(npmi, 3), "from −1 to 1, 0 is chance"))
    note = f"distinct of top {DIVERSITY_WORDS} words"
    return [*tiles, Tile("Topic diversity", f"{diversity:.0%}", note)]


def _topic_score(card: Scorecard) -> ScoreLine:
    score, unigram = card.completion, card.completion.unigram_log_likelihood_per_token
    return ScoreLine(card.name, score.log_likelihood_per_token, score.standard_error, unigram)


def _topic_data(topics: FixedTopics) -> str:
    if topics.run is None:
        return ""
    corpus = topics.run.settings["corpus"]
    tokens = f" ({corpus['n_tokens']:,.0f} tokens)" if "n_tokens" in corpus else ""
    return f"{topics.run.n_training_documents:,} documents{tokens}"


def _topic_facts(topics: FixedTopics) -> dict[str, Fact]:
    run = topics.run
    total = float(topics.doc_concentration.sum())
    scoring: dict[str, Fact] = {
        "topics": len(topics.topic_word),
        "document concentration": f"{total:g}",
    }
    if run is None:
        return {"model": "topic-word matrix", **scoring}
    sticks, trace = run.model.sticks, run.trace
    bounds = {
        "ELBO per training token": last_known(trace, "elbo_per_token"),
        "criterion per training token": last_known(trace, "criterion_per_token"),
    }
    return known(
        {
            "model": run.model.name.upper(),
            **scoring,
            "word concentration": f"{run.model.word_concentration:g}",
            "top concentration": None if sticks is None else f"{sticks.top_concentration:g}",
            **{name: number(value, 4) for name, value in bounds.items() if value is not None},
            "laps": run.n_laps,
            **training_facts(run),
        }
    )


def mixture_subject(
    run: MixtureRun, corpus: AnyCorpus | None = None, card: MixtureCard | None = None
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
        trained_on=_mixture_data(run),
        facts=_mixture_facts(run),
        tiles=[
            *([] if card is None else _mixture_tiles(card)),
            Tile("Components", f"{model.n_topics:,}", f"{model.name}, {learned}"),
            Tile("Largest component", f"{model.weights[0]:.1%}", _half(run)),
            *bound_tiles(run.trace, datum),
        ],
        columns=({} if card is None else _mixture_columns(card)) | bound_columns(run.trace, datum),
        trace=run.trace,
        score=None if card is None else _mixture_score(card),
        topics=_mixture_topics(run, corpus, found) if of_words else (),
        words=words,
        topic_map=map_topics(model.topic_word_mean) if of_words else None,
        components=() if of_words else component_table(run, nearest, names),
        examples_note=examples_note(found, "documents" if of_words else "items"),
    )


def _mixture_topics(
    run: MixtureRun, corpus: AnyCorpus | None, found: Examples | None
) -> list[ReportTopic]:
    probabilities = run.model.topic_word_mean
    coherence = coherence_in(corpus, probabilities) if isinstance(corpus, Corpus) else None
    return report_topics(probabilities, run.model.weights, run.words, coherence, found)


def _half(run: MixtureRun) -> str:
    """Say how many of the heaviest components hold half of all items."""
    n_half = int(np.searchsorted(np.cumsum(run.model.weights), 0.5)) + 1
    return f"{n_half:,} {'holds' if n_half == 1 else 'hold'} half of all"


def _mixture_data(run: MixtureRun) -> str:
    corpus = run.settings["corpus"]
    sizes = (corpus.get("n_documents"), "documents"), (corpus.get("n_items"), "items")
    return " ".join(f"{size:,} {noun}" for size, noun in sizes if size is not None)


def _mixture_facts(run: MixtureRun) -> dict[str, Fact]:
    model = run.model
    return known(
        {
            "model": model.name,
            "likelihood": model.likelihood_name,
            "components": model.n_topics,
            "columns": f"{model.n_columns:,}",
            "top concentration": f"{model.mixture.concentration:g}",
            "laps": max([0, *(int(entry.get("lap") or 0) for entry in run.trace)]) or None,
            **training_facts(run),
        }
    )


def _mixture_tiles(card: MixtureCard) -> list[Tile]:
    likelihood, error = number(card.log_likelihood_per_item, 3), number(card.standard_error, 3)
    tiles = [Tile("Log-likelihood / item", likelihood, f"± {error} std. error")]
    if card.log_likelihood_per_token is not None:
        per_token = number(card.log_likelihood_per_token, 3)
        tiles.append(Tile("Log-likelihood / token", per_token, "of whole documents"))
    if card.clustering is not None:
        nmi = number(card.clustering.nmi, 3)
        tiles.append(Tile("Agreement with labels (NMI)", nmi, "0 none, 1 perfect"))
    return tiles


def _mixture_columns(card: MixtureCard) -> dict[str, str]:
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


def _mixture_score(card: MixtureCard) -> ScoreLine:
    return ScoreLine(str(card.run.path), card.log_likelihood_per_item, card.standard_error, None)
