"""Topic models as the page shows them, with or without a held-out score."""

from __future__ import annotations

import numpy as np

from sparsetopics.corpora.corpus import Corpus
from sparsetopics.evaluation.report.examples import example_documents
from sparsetopics.evaluation.report.figures import ScoreLine
from sparsetopics.evaluation.report.subject import (
    Fact,
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
from sparsetopics.evaluation.scores.completion import CompletionScore
from sparsetopics.evaluation.scores.top_words import top_words, topic_diversity
from sparsetopics.evaluation.scoring.fixed_topics import FixedTopics
from sparsetopics.evaluation.scoring.topic_scores import DIVERSITY_WORDS, Scorecard, last_known

FAMILY = "Topic models"


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
    kind = "topic-word matrix" if run is None else run.model.name.upper()
    learned = "number learned" if kind == "HDP" else "number given"
    return Subject(
        path=topics.name,
        kind=kind,
        noun="topics",
        n_topics=len(topic_word),
        family=FAMILY,
        datum="token",
        trained_on=_trained_on(topics),
        facts=_facts(topics),
        tiles=[
            *_tiles(topics, npmi, card),
            Tile("Topics", f"{len(topic_word):,}", f"{kind}, {learned}"),
            *bound_tiles(trace, "token"),
        ],
        columns=_columns(topics, npmi, card) | bound_columns(trace, "token"),
        trace=trace,
        score=None if card is None else _score_line(topics.name, card.completion),
        topics=report_topics(topic_word, weights, topics.vocabulary, coherence, found),
        words=topics.words,
        topic_map=map_topics(topic_word),
        examples_note=examples_note(found, "documents"),
    )


def _score_line(name: str, score: CompletionScore) -> ScoreLine:
    unigram = score.unigram_log_likelihood_per_token
    return ScoreLine(name, score.log_likelihood_per_token, score.standard_error, unigram)


def _diversity(topics: FixedTopics, card: Scorecard | None) -> float:
    if card is not None:
        return card.diversity
    return topic_diversity(top_words(topics.topic_word, DIVERSITY_WORDS))


def _columns(topics: FixedTopics, npmi: float | None, card: Scorecard | None) -> dict[str, str]:
    """Return the row of the comparison table."""
    coherence = {} if npmi is None else {"NPMI": number(npmi, 3)}
    diversity = {"diversity": number(_diversity(topics, card), 3)}
    if card is None:
        return coherence | diversity
    score = card.completion
    gain = score.log_likelihood_per_token - score.unigram_log_likelihood_per_token
    in_texts = {"c_v": card.c_v, "c_npmi": card.c_npmi}
    return {
        "log-likelihood per token": number(score.log_likelihood_per_token, 4),
        "standard error": number(score.standard_error, 4),
        "gain over unigram": f"{gain:+.3f}",
        "perplexity": number(score.perplexity, 1),
        **coherence,
        "u_mass": number(card.u_mass, 3),
        **{name: number(value, 3) for name, value in in_texts.items() if value is not None},
        **diversity,
        "inverted RBO": number(card.inverted_rbo, 3),
    }


def _tiles(topics: FixedTopics, npmi: float | None, card: Scorecard | None) -> list[Tile]:
    tiles = []
    if card is not None:
        score, unigram = card.completion, card.completion.unigram_log_likelihood_per_token
        gain = score.log_likelihood_per_token - unigram
        likelihood, error = score.log_likelihood_per_token, number(score.standard_error, 3)
        tiles = [
            Tile("Log-likelihood / token", number(likelihood, 3), f"± {error} std. error"),
            Tile("Unigram (no topics)", number(unigram, 3), f"topics gain {gain:+.3f}"),
            Tile("Perplexity", number(score.perplexity, 0), f"unigram {np.exp(-unigram):,.0f}"),
        ]
    if npmi is not None:
        tiles.append(Tile("Coherence (NPMI)", number(npmi, 3), "from −1 to 1, 0 is chance"))
    note = f"distinct of top {DIVERSITY_WORDS} words"
    return [*tiles, Tile("Topic diversity", f"{_diversity(topics, card):.0%}", note)]


def _trained_on(topics: FixedTopics) -> str:
    if topics.run is None:
        return ""
    corpus = topics.run.settings["corpus"]
    tokens = f" ({corpus['n_tokens']:,.0f} tokens)" if "n_tokens" in corpus else ""
    return f"{topics.run.n_training_documents:,} documents{tokens}"


def _facts(topics: FixedTopics) -> dict[str, Fact]:
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
