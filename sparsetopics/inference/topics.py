"""How training of topic models begins, and the model it ends with."""

from __future__ import annotations

import numpy as np

from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray, Source
from sparsetopics.base.wording import quantity
from sparsetopics.inference.document_step import TopicGlobals
from sparsetopics.inference.local_step import Parameters
from sparsetopics.inference.room import check_room
from sparsetopics.model.allocations.allocation import DocumentAllocation
from sparsetopics.model.likelihoods.document_seeds import SEED_SHARES, seed_documents
from sparsetopics.model.likelihoods.words import Words
from sparsetopics.model.statistics import DocumentTerms, Statistics
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.model.word_counts import PairCounts, WordCounts
from sparsetopics.options.option import refuse
from sparsetopics.options.registry import imported
from sparsetopics.options.training import TrainingOptions

TopicParameters = Parameters[WordCounts, PairCounts, DocumentTerms]


def begin_topics(
    source: Source[DocumentBatch],
    options: TrainingOptions,
    rng: np.random.Generator,
    start: TopicPosterior | None,
) -> tuple[Statistics[WordCounts, DocumentTerms], TopicParameters]:
    """Topics made from seed documents or taken from the model ``start``, and the first weights.

    Raises OptionError if ``start`` has another number of topics or words.
    """
    check_room(options, WordCounts.zeros(source.n_columns, 1), source.read(0), source.n_docs)
    if start is None:
        share = SEED_SHARES[options.local.update]
        counts = seed_documents(source, options.n_topics, share, options.start_name, rng)
    else:
        if (start.n_topics, start.n_words) != (options.n_topics, source.n_columns):
            given = f"{quantity(start.n_topics, 'topic')} over {start.n_words} words"
            wanted = f"{options.n_topics} over {source.n_columns}"
            refuse("start", f"the model has {given}, but must have {wanted}")
        counts = np.ascontiguousarray(start.topic_word_counts.T)
    return begin_with(counts, source, options)


def begin_with(
    counts: FloatArray, source: Source[DocumentBatch], options: TrainingOptions
) -> tuple[Statistics[WordCounts, DocumentTerms], TopicParameters]:
    """The topics that have these ``counts``, (n_words, n_topics), and the first weights."""
    likelihood = Words(source.n_columns, options.prior.word_concentration)
    sharing: type[DocumentAllocation] = imported(options.model_kind.sharing)
    allocation = sharing.first(options.n_topics, source.n_docs, options.prior)
    parameters: TopicParameters = Parameters(allocation, likelihood)
    return Statistics(WordCounts(counts), parameters.allocation.zero_terms()), parameters


def falling(sizes: FloatArray) -> IntArray:
    """The order of a model's topics: the largest first, of equals the one that came first."""
    return np.argsort(-sizes, kind="stable")


def make_topic_model(current: TopicGlobals, options: TrainingOptions) -> TopicPosterior:
    """The posterior as a model, with its topics by falling weight."""
    likelihood = current.likelihood
    assert isinstance(likelihood, Words), "topics have words"
    order = falling(current.components.sizes)
    posterior = current.components.table.T[order] + likelihood.word_concentration
    allocation = current.allocation.reordered(order)
    assert isinstance(allocation, DocumentAllocation), "topics are shared by documents"
    return TopicPosterior(
        options.model,
        posterior,
        allocation.doc_concentration,
        likelihood.word_concentration,
        allocation.sticks,
    )
