"""Topic models and mixtures as a page shows them, with or without held-out scores."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sparsetopics.answers.proportions import proportions_under, shares_of
from sparsetopics.answers.representatives import (
    RepresentativeDocument,
    TopicsToShow,
    representatives,
)
from sparsetopics.answers.topic_names import topic_rows
from sparsetopics.base.batches import FloatArray
from sparsetopics.base.wording import decimals
from sparsetopics.corpora.corpus import AnyCorpus, Corpus, VectorCorpus
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.evaluation.report import components
from sparsetopics.evaluation.report.overview import Overview, ReportTopic, overview, plain_overview
from sparsetopics.evaluation.report.report_content import (
    Similarity,
    Subject,
    Tile,
    Trace,
    minus,
    number,
)
from sparsetopics.evaluation.report.run_facts import run_facts, training_data
from sparsetopics.evaluation.report.topic_browser import browser_words
from sparsetopics.evaluation.report.topic_map import jensen_shannon_distances, map_topics
from sparsetopics.evaluation.report.topic_path import number_choice
from sparsetopics.evaluation.scoring.fixed_topics import FixedTopics, topics_of_run
from sparsetopics.evaluation.scoring.mixture_scores import MixtureCard
from sparsetopics.evaluation.scoring.topic_scores import Scorecard, coherence_in, last_known
from sparsetopics.measures.completion import unigram_probabilities
from sparsetopics.measures.relevance import topic_names
from sparsetopics.measures.top_words import top_words, topic_diversity, topic_table
from sparsetopics.measures.topic_quality import DISTINCT_WORDS
from sparsetopics.model.statistics import in_use
from sparsetopics.options.registry import MODELS
from sparsetopics.runs.checkpoints import HELDOUT_SCORE
from sparsetopics.runs.found_in_runs import how_sure
from sparsetopics.runs.run import AnyRun, MixtureRun, Run, TopicRun
from sparsetopics.runs.topic_path_files import TopicPathFolder

DETAIL_WORDS = 30  # listed for each topic
FEWEST_MAPPED = 3  # topics; a map of fewer says nothing


def topic_subject(
    topics: FixedTopics | TopicRun,
    corpus: AnyCorpus | None = None,
    card: Scorecard | None = None,
    *,
    topic_path: TopicPathFolder | None = None,
    workers: int = 1,
) -> Subject:
    """Return what a page shows of ``topics``, which may be those of a rung of ``topic_path``.

    Example documents are from ``corpus``. Scores and coherence are those of ``card``; without a
    card, coherence is counted in ``corpus``.
    """
    if isinstance(topics, Run):
        topics = topics_of_run(topics)
    run, topic_word = topics.run, topics.topic_word
    trace = () if run is None else run.trace
    # Which topics have no data is not known of a matrix.
    is_empty = np.zeros(len(topic_word), bool) if run is None else ~in_use(run.model.sizes)
    coherence = None if card is None else card.topic_npmi
    shares = partial(proportions_under, topic_word, topics.doc_concentration, workers)
    to_show = TopicsToShow(shares, topic_word, topics.vocabulary.shown, range(len(topic_word)))
    shown, npmi, note = report_topics(to_show, topics.vocabulary, run, coherence, is_empty, corpus)
    if run is None:
        seen = plain_overview("topics", shown)
    else:
        seen = overview(run, topic_path, [topic.examples for topic in shown])
    diversity = topic_diversity(top_words(topic_word, DISTINCT_WORDS))
    tiles, columns = _topic_scores(npmi, diversity, card)
    kind = "topic-word matrix" if run is None else MODELS[run.model.name].title
    return Subject(
        path=topics.name,
        kind=kind,
        noun="topics",
        n_topics=len(topic_word),
        datum="token",
        trained_on="" if run is None else training_data(run.settings["corpus"]),
        facts={"model": kind, "topics": len(topic_word)} if run is None else run_facts(run),
        tiles=[
            *tiles,
            Tile("Topics", f"{len(topic_word):,}", _number_note(run, kind, is_empty)),
        ],
        columns=_empty_column(is_empty) | columns,
        trace=trace,
        training=training_numbers(trace, "token"),
        heldout=None if card is None else card.heldout,
        unigram=None if card is None else card.completion.unigram_log_likelihood_per_token,
        overview=seen,
        topics=shown,
        words=topics.vocabulary.shown,
        similarity=_similarity(topic_word, is_empty, seen),
        n_empty=int(is_empty.sum()),
        examples_note=note,
        number_choice=None if run is None else number_choice(run),
        lists=() if run is None else run.lists,
    )


def _similarity(
    topic_word: FloatArray, is_empty: NDArray[np.bool_], seen: Overview
) -> Similarity | None:
    """Return how similar topics are, (n_topics, n_words), if there are enough of them."""
    order = range(len(topic_word)) if seen.tree is None else seen.tree.order
    used = [topic for topic in order if not is_empty[topic]]
    if len(used) < FEWEST_MAPPED:
        return None
    distances = jensen_shannon_distances(topic_word[used])
    return Similarity(used, map_topics(distances), 1.0 - distances)


def _number_note(run: AnyRun | None, kind: str, is_empty: NDArray[np.bool_]) -> str:
    is_learned = run is not None and MODELS[run.model.name].learns_number
    n_empty = int(is_empty.sum())
    learned = "number learned" if is_learned else "number given"
    sure = "" if run is None else how_sure(run.settings.get("found_in_runs", ()))
    return f"{kind}, {learned}{f'; {n_empty:,} empty' if n_empty else ''}{sure and f'. {sure}'}"


def _empty_column(is_empty: NDArray[np.bool_]) -> dict[str, str]:
    """Return the number of empty topics or components for the comparison table, if there are."""
    return {"of them empty": f"{is_empty.sum():,}"} if is_empty.any() else {}


def _topic_scores(
    npmi: float | None, diversity: float, card: Scorecard | None
) -> tuple[list[Tile], dict[str, str]]:
    """Return the scores as tiles, and as the row of the comparison table."""
    note = f"distinct of top {DISTINCT_WORDS} words"
    tiles, columns = [Tile("Topic diversity", f"{diversity:.0%}", note)], dict[str, str]()
    if npmi is not None:
        columns["NPMI"] = number(npmi, 3)
        tiles.insert(0, Tile("Coherence (NPMI)", columns["NPMI"], "from −1 to 1, 0 is chance"))
    if card is None:
        return tiles, {**columns, "diversity": number(diversity, 3)}
    score, in_texts = card.completion, {"c_v": card.c_v, "c_npmi": card.c_npmi}
    error, n_decimals = score.standard_error, decimals(score.standard_error)
    unigram, gain = score.unigram_log_likelihood_per_token, minus(f"{score.gain:+.3f}")
    likelihood = score.log_likelihood_per_token
    scored = [
        Tile("Log-likelihood / token", number(likelihood, 3), _note(error, card)),
        Tile("Unigram (no topics)", number(unigram, 3), f"topics gain {gain}"),
        Tile("Perplexity", number(score.perplexity, 0), f"unigram {np.exp(-unigram):,.0f}"),
    ]
    return [*scored, *tiles], {
        _head("token", card): number(likelihood, n_decimals),
        "standard error": number(error, n_decimals),
        "gain over unigram": gain,
        "perplexity": number(score.perplexity, 1),
        **columns,
        "u_mass": number(card.u_mass, 3),
        **{name: number(value, 3) for name, value in in_texts.items() if value is not None},
        "diversity": number(diversity, 3),
        "inverted RBO": number(card.inverted_rbo, 3),
    }


def _head(datum: str, card: Scorecard | MixtureCard) -> str:
    return "in-sample" if card.in_sample else f"log-likelihood per {datum}"


def _note(error: float, card: Scorecard | MixtureCard) -> str:
    return f"± {number(error, 3)} std. error{', in-sample' if card.in_sample else ''}"


def mixture_subject(
    run: MixtureRun,
    corpus: AnyCorpus | None = None,
    card: MixtureCard | None = None,
    *,
    workers: int = 1,
) -> Subject:
    """Return what a page shows of a mixture; examples are from ``corpus``, scores from ``card``."""
    model, of_words = run.model, run.vocabulary is not None
    datum = "token" if of_words else "item"
    words = run.words.shown if of_words else ()
    is_empty = ~in_use(model.sizes)
    topics: Sequence[ReportTopic] = ()
    note, columns, nearest, seen = "", None, None, None
    if isinstance(corpus, VectorCorpus):
        (nearest, n_seen), columns = components.example_items(corpus, model), corpus.columns
        note = examples_note(n_seen, corpus.n_items, "items")
    if of_words:
        to_show = TopicsToShow(
            shares_of(model, workers=workers), model.topic_word_mean, words, range(model.n_topics)
        )
        topics, _, note = report_topics(to_show, run.words, run, None, is_empty, corpus)
        seen = plain_overview("components", topics)
    n_empty = int(is_empty.sum())
    n_half = int(np.searchsorted(np.cumsum(model.weights), 0.5)) + 1
    tiles, scores = _mixture_scores(card)
    half = f"{n_half:,} {'holds' if n_half == 1 else 'hold'} half of all"
    kind = MODELS[model.name].title
    return Subject(
        path=str(run.path),
        kind=f"{kind}, {model.likelihood_name}",
        noun="components",
        n_topics=model.n_topics,
        datum=datum,
        trained_on=training_data(run.settings["corpus"]),
        facts=run_facts(run),
        tiles=[
            *tiles,
            Tile("Components", f"{model.n_topics:,}", _number_note(run, kind, is_empty)),
            Tile("Largest component", f"{model.weights[0]:.1%}", half),
        ],
        columns=_empty_column(is_empty) | scores,
        trace=run.trace,
        training=training_numbers(run.trace, datum),
        heldout=None if card is None else card.heldout,
        topics=topics,
        words=words,
        overview=seen,
        similarity=None if seen is None else _similarity(model.topic_word_mean, is_empty, seen),
        components=() if of_words else components.component_table(run, nearest, columns),
        n_empty=n_empty,
        examples_note=note,
    )


def _mixture_scores(card: MixtureCard | None) -> tuple[list[Tile], dict[str, str]]:
    """Return the scores as ``_topic_scores`` does."""
    if card is None:
        return [], {}
    score, error = card.log_likelihood_per_item, card.standard_error
    per_token = card.log_likelihood_per_token
    tiles = [Tile("Log-likelihood / item", number(score, 3), _note(error, card))]
    columns = {
        _head("item", card): number(score, decimals(error)),
        "standard error": number(error, decimals(error)),
    }
    if per_token is not None:
        tiles.append(Tile("Log-likelihood / token", number(per_token, 3), "of whole documents"))
        columns["log-likelihood per token"] = number(per_token, 4)
    columns["components used"] = f"{card.n_used_components:,}"
    if card.clustering is not None:
        nmi = number(card.clustering.nmi, 3)
        tiles.append(Tile("Agreement with labels (NMI)", nmi, "0 none, 1 perfect"))
        columns |= {"NMI": nmi, "accuracy": number(card.clustering.hungarian_accuracy, 3)}
    return tiles, columns


def report_topics(
    topics: TopicsToShow,
    vocabulary: Vocabulary,
    run: AnyRun | None,  # whose topics they are, which have ids
    coherence: FloatArray | None,  # (n_topics,)  None: counted in ``corpus``
    is_empty: NDArray[np.bool_],  # (n_topics,)
    corpus: AnyCorpus | None,
) -> tuple[list[ReportTopic], float | None, str]:
    """Return one entry per topic, with its words for every place of the page's slider.

    The number is the mean coherence, if it is known. The text says which documents of ``corpus``
    were searched for examples: 20,000 at most, to be fast.
    """
    topic_word, unigram = topics.topic_word, unigram_probabilities(vocabulary.term_frequency)
    examples: Sequence[Sequence[RepresentativeDocument]] = [()] * len(topic_word)
    note = ""
    if corpus is not None:
        assert isinstance(corpus, Corpus), "refused by check_corpus"
        if coherence is None:
            coherence = coherence_in(corpus, topic_word)
        found = representatives(topics, corpus, components.N_EXAMPLES, most=components.MOST_ROWS)
        examples, note = found.of_topics, examples_note(found.n_seen, found.n_docs, "documents")
    if run is None:
        names = topic_names(topic_word, unigram, vocabulary.shown)
        labels, best = [(None, name) for name in names], top_words(topic_word, DETAIL_WORDS)
        rows = topic_table(topic_word, None, vocabulary.shown, labels, best)
    else:
        rows = topic_rows(run, DETAIL_WORDS)
    heaviest = max((row.weight or 0.0 for row in rows), default=0.0) or 1.0
    shown = [
        ReportTopic(
            row=row,
            weight_share=(row.weight or 0.0) / heaviest,
            npmi=None if coherence is None or np.isnan(own := coherence[row.topic]) else float(own),
            relevant=browser_words(topic_word[row.topic], unigram, DETAIL_WORDS),
            is_empty=bool(is_empty[row.topic]),
            examples=examples[row.topic],
        )
        for row in rows
    ]
    return shown, None if coherence is None else float(coherence.mean()), note


def examples_note(n_seen: int, n_rows: int, noun: str) -> str:
    """Return how many documents or items were searched for examples."""
    if n_seen == n_rows:
        return f"all {n_rows:,} {noun}"
    return f"{n_seen:,} of {n_rows:,} {noun}, spread evenly"


def training_numbers(trace: Trace, datum: str) -> dict[str, str]:
    """Return what training raised and, if it was scored, what it predicted, after the last lap."""
    numbers = {
        f"ELBO per training {datum}": last_known(trace, "elbo_per_token"),
        f"criterion per training {datum}": last_known(trace, "criterion_per_token"),
        f"held-out log-likelihood per {datum}": last_known(trace, HELDOUT_SCORE),
    }
    known = {name: number(value, 4) for name, value in numbers.items() if value is not None}
    last_lap = last_known(trace, "lap")
    return known if last_lap is None else {"passes over the data": f"{last_lap:,.0f}", **known}
