"""What documents that were added since a run tell about its topics, beside the old documents.

Several random samples of the old documents, each as large as the sample of the new ones, show how
much real documents differ by chance. The topics have learned the old documents, so the words of a
sample are taken out of the topics before the two are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincc, ndtri

from sparsetopics.answers.novelty import (
    DOCUMENTS_PER_LENGTH,
    LEAST_NOVELTY,
    MOST_KNOWN,
    document_tokens,
    explained,
    quick_shares,
    topic_words,
    usual_scores,
)
from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.base.errors import CorpusError
from sparsetopics.base.wording import quantity
from sparsetopics.corpora.batching import later_documents
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.lookup import documents_at, spread_evenly
from sparsetopics.measures.prevalence import holm_adjusted
from sparsetopics.measures.similar_topics import shared_probability
from sparsetopics.model.statistics import in_use
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import TopicRun

N_DRAWS = 8  # of old documents
MOST_DRAWN = 250  # documents at once
FEWEST_DRAWN = 20  # documents; fewer say nothing
MOST_COUNTED = 2_000  # old and new documents, from which shares of topics are estimated
LEAST_DRIFT = 4.0  # standard deviations between draws
SMALLEST_DEVIATION = 0.02  # of similarities, since few draws may be alike by chance
FEWEST_TOKENS = 100  # of a topic in new documents, for its words to be compared
SMALLEST_ERROR = 1e-9  # of a share
LEAST_EXCESS = 4.0  # standard deviations, by which documents that no topic fits exceed the usual
FEWEST_NOVEL = 8  # such documents
LEAST_OF_NEW = 0.1  # share of new topics in a document that they fit


class Shares(NamedTuple):
    """The mean share of each topic in old and in new documents, (n_topics,) each."""

    before: FloatArray
    after: FloatArray
    low: FloatArray  # ends of the 95 % interval of the difference
    high: FloatArray
    p_value: FloatArray  # Holm: adjusted for the number of topics


def documents_after(run: TopicRun, corpus: Corpus, where: str) -> Corpus:
    """The documents of ``corpus`` after those of the run; CorpusError if it does not begin with
    these."""
    facts = run.settings["corpus"]
    n_known, n_tokens = facts["n_documents"], facts.get("n_tokens")
    if n_known <= corpus.n_docs:
        later = later_documents(corpus, n_known)

        def has_them(known: Corpus) -> bool:
            n_before = known.n_tokens - later_documents(known, n_known).n_tokens
            return n_tokens is None or abs(n_before - n_tokens) < 1e-6 * n_tokens

        # Where documents are read again, as in memory, those of before have the new words, too.
        if has_them(corpus) or has_them(run.reading_documents(corpus, where)):
            return later
    trained = f"the {quantity(n_known, 'document')} that {run.path} was trained with"
    problem = f"expected {trained} and others after them, but found other documents"
    raise CorpusError(where, problem, "Add documents to its corpus with `ingest --append`.")


def foreign_shares(
    before: TopicPosterior,
    after: TopicPosterior,
    former: Sequence[int],  # (n_topics,)  topics of ``before``; −1: none
    corpus: Corpus,
    later: Corpus,
    workers: int,
) -> FloatArray:
    """The share of each topic's tokens in the ``later`` documents that are unlike the topic before.

    It is one minus how similar their words are, for each unit of how similar those of as many old
    documents are. Zero for what may be chance, and for topics of too few tokens.
    """
    n_known = corpus.n_docs - later.n_docs
    n_drawn = min(later.n_docs, MOST_DRAWN, n_known // 4)
    found = np.zeros(len(former))
    if n_drawn < FEWEST_DRAWN:
        return found
    n_draws = min(N_DRAWS, n_known // n_drawn)
    rows = np.random.default_rng(0).permutation(n_known)[: n_draws * n_drawn]
    draws = [(corpus, np.sort(own), True) for own in rows.reshape(n_draws, n_drawn)]
    draws.append((later, spread_evenly(later.n_docs, n_drawn), False))
    likeness, n_tokens = np.zeros((2, len(draws), len(former)))
    words_of = topic_words(after, workers)
    counts, sigma = before.topic_word_counts, before.smoothing or before.word_concentration
    for draw, (source, own, are_known) in enumerate(draws):
        batch = documents_at(source.row_groups, own)
        words = words_of(batch)
        for topic, place in enumerate(former):
            n_tokens[draw, topic] = words[topic].sum()
            if place >= 0 and n_tokens[draw, topic] > 0.0:
                others = np.maximum(counts[place] - words[topic] * are_known, 0.0) + sigma
                own_words = words[topic] / n_tokens[draw, topic]
                likeness[draw, topic] = shared_probability(own_words, others / others.sum())
    usual = likeness[:-1].mean(axis=0)
    deviations = np.maximum(likeness[:-1].std(axis=0, ddof=1), SMALLEST_DEVIATION)
    is_known = (n_tokens[-1] >= FEWEST_TOKENS) & (2.0 * n_tokens[-1] >= n_tokens[:-1].mean(axis=0))
    is_foreign = is_known & (usual - likeness[-1] >= LEAST_DRIFT * deviations)
    found[is_foreign] = 1.0 - likeness[-1, is_foreign] / usual[is_foreign]
    return found


def topic_shares(model: TopicPosterior, corpus: Corpus, later: Corpus, workers: int) -> Shares:
    """The mean shares of topics in old documents of ``corpus`` and in ``later`` ones.

    Proportions would not do, since they have more of the prior in shorter documents.
    """
    parts, tokens_of = list[FloatArray](), document_tokens(model, workers)
    for source, n_docs in ((corpus, corpus.n_docs - later.n_docs), (later, later.n_docs)):
        tokens = tokens_of(documents_at(source.row_groups, spread_evenly(n_docs, MOST_COUNTED)))
        tokens *= in_use(model.sizes)  # those of topics without any are chance
        parts.append(tokens / np.maximum(tokens.sum(axis=1, keepdims=True), SMALLEST_ERROR))
    old, new = parts
    before, after, deviation = old.mean(axis=0), new.mean(axis=0), old.std(axis=0)
    # If nothing has changed, new documents differ as the old ones do. Their own differences would
    # say too little: where none has a topic, they do not differ at all.
    error = np.maximum(deviation * np.sqrt(1.0 / len(old) + 1.0 / len(new)), SMALLEST_ERROR)
    skewness = ((old - before) ** 3).mean(axis=0) / np.maximum(deviation, SMALLEST_ERROR) ** 3
    difference = after - before
    p_value = skewed_p_value(difference / error, skewness / np.sqrt(len(new)))
    reach = ndtri(0.975) * error
    return Shares(before, after, difference - reach, difference + reach, holm_adjusted(p_value))


def skewed_p_value(z: FloatArray, skewness: FloatArray) -> FloatArray:
    """Two-sided p-values under the gamma distribution with mean 0, variance 1 and this skewness.

    Sums over few documents of which few have a topic are skewed like this. NaN stays NaN.
    """
    shape = 4.0 / np.maximum(np.square(skewness), 1e-6)
    value = np.maximum(shape + np.where(skewness < 0.0, -z, z) * np.sqrt(shape), 0.0)
    p_values: FloatArray = 2.0 * np.minimum(gammainc(shape, value), gammaincc(shape, value))
    return p_values


class Unfitted(NamedTuple):
    """New documents that no topic fits, the worst first; none unless they are more than usual."""

    places: IntArray  # among the later documents
    word_counts: FloatArray  # (n_words,)


def unfitted_documents(
    before: TopicPosterior,
    after: TopicPosterior,
    is_new: NDArray[np.bool_],  # (n_topics,)  of ``after``
    corpus: Corpus,
    later: Corpus,
    workers: int,
) -> Unfitted:
    """The ``later`` documents that are novel to ``before``, and not of a new topic."""
    n_known = corpus.n_docs - later.n_docs
    if n_known < DOCUMENTS_PER_LENGTH:  # nobody can say what is usual
        return Unfitted(np.zeros(0, np.int64), np.zeros(before.n_words))
    usual = usual_scores(before, corpus, n_known, workers)
    rows = spread_evenly(later.n_docs, MOST_KNOWN)
    batch = documents_at(later.row_groups, rows)
    novelty = usual.novelty(explained(before, batch, are_known=False, workers=workers))
    novel = np.flatnonzero(novelty >= LEAST_NOVELTY)
    of_new = quick_shares(after, workers)(batch.take(novel))[:, is_new].sum(axis=1)
    novel = novel[of_new < LEAST_OF_NEW]
    n_usual = usual.novel_share * len(rows)
    if len(novel) < max(FEWEST_NOVEL, n_usual + LEAST_EXCESS * np.sqrt(n_usual + 1.0)):
        novel = novel[:0]
    own = batch.take(novel)
    words = np.bincount(own.word_ids, own.weights, before.n_words).astype(np.float64)
    return Unfitted(rows[novel[np.argsort(-novelty[novel], kind="stable")]], words)
