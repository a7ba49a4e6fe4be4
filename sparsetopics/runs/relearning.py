"""Laps over a corpus that start from a model whose topics were edited, and the split of a topic.

Both give the same bits for the same arguments, whatever the number of workers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparsetopics.base.batches import DocumentBatch
from sparsetopics.corpora.batching import FEWEST_BATCHES, Batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.inference.document_step import fit_documents
from sparsetopics.inference.local_step import Globals
from sparsetopics.inference.moves.word_evidence import words_of_topic
from sparsetopics.inference.topic_edits import Edited, with_divided_topic
from sparsetopics.inference.training import train
from sparsetopics.model.allocations.lda import LDAAllocation
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.likelihoods.words import Words
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.model.word_counts import WordCounts
from sparsetopics.options.option import refuse
from sparsetopics.options.training import MoveOptions, TopicPrior, TrainingOptions
from sparsetopics.runs.callbacks import RunHooks
from sparsetopics.runs.data import divided
from sparsetopics.runs.session import Trained, run_session, workshop

SAMPLE_DOCUMENTS = 4_000  # at most, that decide how a topic is divided: those with most of it
SPLIT_LAPS = 40  # over these documents: two topics of very different sizes part slowly
FEWEST_DOCUMENTS = 4  # that use a topic which is to be divided


def relearning_options(
    model: TopicPosterior, options: TrainingOptions, laps: int
) -> TrainingOptions:
    """The ``options`` of a run, for ``laps`` that keep the number of topics of ``model``.

    There are no moves and no validation. Concentrations are those that the model ended with.
    Raises OptionError for fewer laps than one.
    """
    local, sticks, total = options.local, model.sticks, model.doc_concentration.sum()
    if local.sparsity is not None:
        local = replace(local, sparsity=min(local.sparsity, model.n_topics))
    if sticks is not None:
        total, local = sticks.doc_concentration, replace(local, own_counts=None)
    # Twelve digits, because a sum of equal parts may differ from the α that was given.
    gamma = None if sticks is None else sticks.top_concentration
    prior = TopicPrior(float(f"{total:.12g}"), model.word_concentration, gamma)
    n_topics, no_moves = model.n_topics, MoveOptions(())
    own = replace(options, moves=no_moves, lower_rungs=(), laps=laps)
    return replace(own, n_topics=n_topics, local=local, prior=prior)


def relearned(
    model: TopicPosterior,
    corpus: Corpus,
    options: TrainingOptions,
    laps: int,
    *,
    seed: int | None,
    workers: int = 1,
    hooks: RunHooks = RunHooks(),  # noqa: B008
) -> Trained:
    """Make laps over ``corpus``, starting from the topics of ``model``, as ``train --start`` does.

    ``options`` are those of a run, which ``relearning_options`` adapts. An HDP stops before the
    last lap if it has settled. ``hooks`` show the progress. Raises OptionError for fewer laps than
    one, or a corpus of other words.
    """
    options, rng = relearning_options(model, options, laps), np.random.default_rng(seed)
    data = divided(corpus, options, None, None, rng)
    with workshop(workers) as where:
        return run_session(data, options, rng, *where, hooks, scorer=None, start=model)


def split_topic(
    model: TopicPosterior,
    topic: int,
    corpus: Corpus,
    options: TrainingOptions,
    *,
    seed: int | None,
    workers: int = 1,
    hooks: RunHooks = RunHooks(),  # noqa: B008
) -> Edited:
    """Divide a topic by the documents of ``corpus``, which are fitted with ``options`` of a run.

    The words of the topic in the documents that have most of it are a small collection, from which
    LDA learns two topics. They share the counts of each word in proportion to its tokens.
    Raises OptionError if the topic is not in the model, if too few documents use it, if they do not
    differ, or for a corpus of another number of words.
    """
    if corpus.n_words != (n_words := model.n_words):
        refuse("split", f"the corpus has {corpus.n_words:,} words, but the model {n_words:,}")
    counts, eta = np.ascontiguousarray(model.exact_counts.T), model.word_concentration
    components, sharing = WordCounts(counts).accumulator(), LDAAllocation(model.doc_concentration)
    current = Globals(components, sharing, Words(n_words, eta))
    parts, n_done = list[DocumentBatch](), 0
    with workshop(workers) as (executor, scratch):
        for batch in corpus.batches():
            found = fit_documents(batch, current, options.local_step, executor).responsibilities
            own = DocumentBatch.joined([*parts, words_of_topic(Assignments(batch, found), topic)])
            rows = np.repeat(np.arange(own.n_docs), np.diff(own.indptr))
            order = np.argsort(-np.bincount(rows, own.word_counts, own.n_docs), kind="stable")
            own = own.take(np.sort(order[:SAMPLE_DOCUMENTS]))
            parts, n_done = [own], n_done + batch.n_docs
            hooks.on_documents(n_done, corpus.n_docs)
        if own.n_docs < FEWEST_DOCUMENTS:
            refuse("split", f"fewer than {FEWEST_DOCUMENTS} documents use topic {topic}")
        sizes, n_batches = (own.n_docs, own.n_tokens, n_words), min(FEWEST_BATCHES, own.n_docs)
        source = Batches(*sizes, n_batches, True, lambda batch_id: own[batch_id::n_batches])
        prior = TopicPrior(word_concentration=eta)
        of_two = TrainingOptions(2, SPLIT_LAPS, prior=prior, smoothing=eta)
        two = train(source, of_two, scratch, executor, np.random.default_rng(seed))
    assert isinstance(two, TopicPosterior), "LDA"
    tokens = two.topic_word_mean * two.sizes[:, None]  # of each word in each of the two
    return with_divided_topic(model, topic, tokens[0] / tokens.sum(axis=0))
