"""Topic models as the report shows them, with a score or without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.evaluation.report.examples import Example, Examples, example_documents
from sparsetopics.evaluation.report.figures import ScoreLine
from sparsetopics.evaluation.report.relevance import relevant_words
from sparsetopics.evaluation.report.report_subject import (
    ReportTopic,
    Subject,
    Tile,
    last_known,
    number,
    told,
    training_facts,
)
from sparsetopics.evaluation.report.topic_map import map_topics
from sparsetopics.evaluation.scores.coherence import count_cooccurrence, npmi
from sparsetopics.evaluation.scores.diversity import topic_diversity
from sparsetopics.evaluation.scores.topic_table import top_words, topic_table
from sparsetopics.evaluation.scoring.candidates import Candidate
from sparsetopics.evaluation.scoring.scorecard import COHERENCE_WORDS, DIVERSITY_WORDS, Scorecard

DETAIL_WORDS = 30
FAMILY = "Topic models"


class WordTopics(NamedTuple):
    """Distributions of words that a page shows, of topics or of mixtures of documents."""

    topic_word: FloatArray  # (n_topics, n_words)
    weights: FloatArray | None  # (n_topics,)
    unigram: FloatArray  # (n_words,)
    words: Sequence[str]


def scored_subject(card: Scorecard, corpus: Corpus | None = None, *, workers: int = 1) -> Subject:
    """A scored model; examples are documents of ``corpus``."""
    candidate, score = card.candidate, card.completion
    gain = score.log_likelihood_per_token - score.unigram_log_likelihood_per_token
    line = ScoreLine(
        candidate.name,
        score.log_likelihood_per_token,
        score.standard_error,
        score.unigram_log_likelihood_per_token,
    )
    of_texts = {"c_v": card.c_v, "c_npmi": card.c_npmi}
    columns = {
        "log-likelihood per token": number(score.log_likelihood_per_token, 4),
        "standard error": number(score.standard_error, 4),
        "gain over unigram": f"{gain:+.3f}",
        "perplexity": number(score.perplexity, 1),
        "NPMI": number(card.npmi, 3),
        "u_mass": number(card.u_mass, 3),
        **{name: number(value, 3) for name, value in of_texts.items() if value is not None},
        "diversity": number(card.diversity, 3),
        "inverted RBO": number(card.inverted_rbo, 3),
    }
    return _subject(candidate, columns, _score_tiles(card), card.topic_npmi, corpus, workers, line)


def run_subject(candidate: Candidate, corpus: Corpus | None = None, *, workers: int = 1) -> Subject:
    """A model without a score; coherence and examples are from ``corpus``."""
    topic_word = candidate.topic_word
    coherence = None
    if corpus is not None:
        best = top_words(topic_word, COHERENCE_WORDS)
        coherence = npmi(count_cooccurrence(corpus.batches(), best))
    diversity = topic_diversity(top_words(topic_word, DIVERSITY_WORDS))
    columns = {} if coherence is None else {"NPMI": number(float(coherence.mean()), 3)}
    columns["diversity"] = number(diversity, 3)
    tiles = [] if coherence is None else [_coherence_tile(float(coherence.mean()))]
    tiles.append(_diversity_tile(diversity))
    return _subject(candidate, columns, tiles, coherence, corpus, workers, None)


def _subject(
    candidate: Candidate,
    columns: Mapping[str, str],
    tiles: Sequence[Tile],
    coherence: FloatArray | None,
    corpus: Corpus | None,
    workers: int,
    score: ScoreLine | None,
) -> Subject:
    run = candidate.run
    trace = () if run is None else run.trace
    weights = None if run is None else run.model.weights
    listed = WordTopics(candidate.topic_word, weights, candidate.unigram, candidate.words)
    kind = "topic-word matrix" if run is None else run.model.name.upper()
    learned = "number learned" if kind == "HDP" else "number given"
    found = examples = None
    if corpus is not None:
        found = example_documents(
            corpus, candidate.topic_word, candidate.doc_concentration, candidate.words,
            workers=workers,
        )  # fmt: skip
        examples = found.of_topics
    return Subject(
        path=candidate.name,
        kind=kind,
        noun="topics",
        n_topics=len(candidate.topic_word),
        family=FAMILY,
        datum="token",
        trained_on=_trained_on(candidate),
        facts=_facts(candidate),
        tiles=[*tiles, Tile("Topics", f"{len(candidate.topic_word):,}", f"{kind}, {learned}"),
               *bound_tiles(trace, "token")],
        columns={**columns, **bound_columns(trace, "token")},
        trace=trace,
        score=score,
        topics=report_topics(listed, coherence, examples),
        words=candidate.words,
        topic_map=map_topics(candidate.topic_word),
        examples_note=examples_note(found, "documents"),
    )  # fmt: skip


def report_topics(
    listed: WordTopics,
    coherence: FloatArray | None,  # (n_topics,)
    examples: Sequence[Sequence[Example]] | None,  # of each topic
) -> list[ReportTopic]:
    """One for each topic, with words for every place of the slider."""
    rows = topic_table(listed.topic_word, listed.weights, listed.words, DETAIL_WORDS)
    heaviest = max((row.weight or 0.0 for row in rows), default=0.0) or 1.0
    return [
        ReportTopic(
            row=row,
            weight_share=(row.weight or 0.0) / heaviest,
            npmi=_known(coherence, row.topic),
            relevant=relevant_words(listed.topic_word[row.topic], listed.unigram, DETAIL_WORDS),
            examples=() if examples is None else examples[row.topic],
        )
        for row in rows
    ]


def examples_note(found: Examples | None, what: str) -> str:
    """How many were looked at, if not all; empty without examples."""
    if found is None:
        return ""
    if found.n_seen == found.n_rows:
        return f"all {found.n_rows:,} {what}"
    return f"{found.n_seen:,} of {found.n_rows:,} {what}, spread evenly"


def bound_tiles(trace: Sequence[Mapping[str, Any]], datum: str) -> list[Tile]:
    """What training raised and, if it was told, what it predicted."""
    bound = last_known(trace, "elbo_per_token")
    heldout = last_known(trace, "heldout_log_likelihood_per_token")
    tiles = []
    if heldout is not None:
        note = "nats, after the last lap"
        tiles.append(Tile(f"Held out / {datum}", number(heldout, 3), note))
    if bound is not None:
        tiles.append(Tile(f"ELBO / training {datum}", number(bound, 3), "what training raised"))
    return tiles


def bound_columns(trace: Sequence[Mapping[str, Any]], datum: str) -> dict[str, str]:
    """The same for the table."""
    bound = last_known(trace, "elbo_per_token")
    criterion = last_known(trace, "criterion_per_token")
    columns = {f"ELBO per training {datum}": number(bound, 4)}
    if criterion is not None:
        columns["training criterion"] = number(criterion, 4)
    return columns


def _score_tiles(card: Scorecard) -> list[Tile]:
    score = card.completion
    error = number(score.standard_error, 3)
    unigram = score.unigram_log_likelihood_per_token
    gain = score.log_likelihood_per_token - unigram
    likelihood = number(score.log_likelihood_per_token, 3)
    return [
        Tile("Log-likelihood / token", likelihood, f"± {error} std. error"),
        Tile("Unigram (no topics)", number(unigram, 3), f"topics gain {gain:+.3f}"),
        Tile("Perplexity", number(score.perplexity, 0), f"unigram {np.exp(-unigram):,.0f}"),
        _coherence_tile(card.npmi),
        _diversity_tile(card.diversity),
    ]


def _coherence_tile(value: float) -> Tile:
    return Tile("Coherence (NPMI)", number(value, 3), "from −1 to 1, 0 is chance")


def _diversity_tile(value: float) -> Tile:
    return Tile("Topic diversity", f"{value:.0%}", f"distinct of top {DIVERSITY_WORDS} words")


def _known(values: FloatArray | None, topic: int) -> float | None:
    if values is None or np.isnan(values[topic]):
        return None
    return float(values[topic])


def _trained_on(candidate: Candidate) -> str:
    if candidate.run is None:
        return ""
    corpus = candidate.run.settings["corpus"]
    tokens = f" ({corpus['n_tokens']:,.0f} tokens)" if "n_tokens" in corpus else ""
    return f"{candidate.run.n_training_documents:,} documents{tokens}"


def _facts(candidate: Candidate) -> dict[str, Any]:
    run = candidate.run
    total = float(candidate.doc_concentration.sum())
    scoring = {"topics": len(candidate.topic_word), "document concentration": f"{total:g}"}
    if run is None:
        return {"model": "topic-word matrix", **scoring}
    sticks, trace = run.model.sticks, run.trace
    bounds = {
        "ELBO per training token": last_known(trace, "elbo_per_token"),
        "criterion per training token": last_known(trace, "criterion_per_token"),
    }
    return told(
        {
            "model": run.model.name.upper(),
            **scoring,
            "word concentration": f"{run.model.word_concentration:g}",
            "top concentration": None if sticks is None else f"{sticks.top_concentration:g}",
            **{name: number(value, 4) for name, value in bounds.items() if value is not None},
            "laps": run.n_laps,
            **training_facts(run.settings),
        }
    )
