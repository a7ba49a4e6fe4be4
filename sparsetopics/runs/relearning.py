"""Laps over a corpus that start from a model whose topics were edited, and the split of a topic.

Both give the same bits for the same arguments, whatever the number of workers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparsetopics.base.batches import DocumentBatch
from sparsetopics.base.sealed_files import decoded
from sparsetopics.corpora.batching import Batches, default_n_batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.course import Model
from sparsetopics.inference.document_step import fit_documents
from sparsetopics.inference.local_step import Globals, Parameters
from sparsetopics.inference.moves.word_evidence import words_of_topic
from sparsetopics.inference.topic_edits import (
    Edited,
    allocation_of,
    exact_counts,
    with_divided_topic,
)
from sparsetopics.inference.training import train
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.likelihoods.words import Words
from sparsetopics.model.statistics import AnyComponents, BatchSums, Statistics, Terms
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.model.word_counts import WordCounts
from sparsetopics.options.option import refuse
from sparsetopics.options.registry import MODELS
from sparsetopics.options.table import RESIDENT_PAIRS
from sparsetopics.options.training import MoveOptions, TopicPrior, TrainingOptions
from sparsetopics.runs.callbacks import LapEntry, RunHooks
from sparsetopics.runs.data import divided
from sparsetopics.runs.run import Run
from sparsetopics.runs.run_files import DAMAGE, SETTINGS_FILE
from sparsetopics.runs.session import run_session, workshop

SAMPLE_DOCUMENTS = 4_000  # at most, that decide how a topic is divided: those with most of it
FEWEST_DOCUMENTS = 4  # that use a topic which is to be divided

# What training ends with: the statistics of all data, and the parameters beside them. Topics are in
# the order of the model that training started from.
End = tuple[Statistics[AnyComponents, Terms], Parameters[AnyComponents, BatchSums, Terms]]


def recorded_options(run: Run[Model]) -> TrainingOptions:
    """The options that a run was trained with, some of which may be missing in its record.

    Raises RunError unless they are options of training.
    """
    record = {"n_topics": run.model.n_topics, **run.settings.get("options", {})}
    if not MODELS[run.model.name].learns_number:
        record.pop("moves", None)  # in earlier versions, LDA had a move that no model has now
    where = f"{run.path / SETTINGS_FILE}, options"
    return decoded({**record, "model": run.model.name}, TrainingOptions, where, DAMAGE)


def relearning_options(
    model: TopicPosterior, options: TrainingOptions, laps: int
) -> TrainingOptions:
    """The ``options`` of a run, for ``laps`` that keep the number of topics of ``model``.

    There are no moves and no validation. Concentrations are those that the model ended with.
    Raises OptionError for fewer laps than one.
    """
    local, sticks = options.local, model.sticks
    if local.sparsity is not None:
        local = replace(local, sparsity=min(local.sparsity, model.n_topics))
    if options.model_kind.learns_number:  # its last laps are not known beforehand
        local = replace(local, own_counts=None)
    # Twelve digits, because a sum of equal parts may differ from the α that was given.
    alpha = float(f"{model.doc_concentration.sum():.12g}")
    prior = TopicPrior(alpha, float(model.word_concentration))
    if sticks is not None:
        prior = replace(
            prior,
            doc_concentration=float(sticks.doc_concentration),
            top_concentration=float(sticks.top_concentration),
        )
    return replace(
        options,
        n_topics=model.n_topics,
        laps=laps,
        local=local,
        prior=prior,
        moves=MoveOptions(()),
        lower_rungs=(),
    )


def relearned(
    model: TopicPosterior,
    corpus: Corpus,
    options: TrainingOptions,
    laps: int,
    *,
    seed: int | None,
    n_batches: int | None = None,
    resident_pairs: int = RESIDENT_PAIRS,
    workers: int = 1,
    hooks: RunHooks = RunHooks(),  # noqa: B008
) -> tuple[Edited, list[LapEntry], End]:
    """Make laps over ``corpus``, starting from the topics of ``model``, as ``train --start`` does.

    ``options`` are those of a run (``relearning_options`` adapts them); an HDP stops before the
    last lap if it has settled. Returns the model with the topic of ``model`` that each of its
    topics was, an entry for each lap, and what training ended with. ``hooks`` show the progress.
    Raises OptionError for fewer laps than one, too many batches, or a corpus of other words.
    """
    options = relearning_options(model, options, laps)
    hooks.on_options(options)
    ends: list[End] = []

    def on_end(*end: *End) -> None:
        ends.append(end)
        hooks.on_end(*end)

    rng = np.random.default_rng(seed)
    data = divided(corpus, options, None, n_batches, rng, resident_pairs=resident_pairs)
    with workshop(workers) as where:
        found = run_session(
            data, options, rng, *where, hooks._replace(on_end=on_end), scorer=None, start=model
        )
    assert isinstance(found.model, TopicPosterior), "it started from one"
    order = np.argsort(-ends[0][0].components.sizes, kind="stable")  # as in ``make_topic_model``
    return (found.model, [[topic] for topic in order.tolist()]), found.trace, ends[0]


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
    if corpus.n_words != model.n_words:
        problem = f"the corpus has {corpus.n_words:,} words, but the model {model.n_words:,}"
        refuse("split", problem)
    with workshop(workers) as (executor, scratch):
        own = _documents_of(model, topic, corpus, options, executor, hooks)
        if own.n_docs < FEWEST_DOCUMENTS:
            problem = f"{own.n_docs} documents use topic {topic}, fewer than {FEWEST_DOCUMENTS}"
            refuse("split", problem)
        rng, n_batches = np.random.default_rng(seed), default_n_batches(own.n_docs)
        parts = np.array_split(rng.permutation(own.n_docs), n_batches)
        batches = [own.take(np.sort(part)) for part in parts]
        sizes = own.n_docs, own.n_tokens, model.n_words, n_batches
        source = Batches(*sizes, is_resident=True, read=batches.__getitem__)
        eta = float(model.word_concentration)
        of_two = TrainingOptions(2, prior=TopicPrior(word_concentration=eta), smoothing=eta)
        two = train(source, of_two, scratch, executor, rng)
    assert isinstance(two, TopicPosterior), "LDA"
    tokens = two.topic_word_mean * two.sizes[:, None]
    return with_divided_topic(model, topic, tokens[0] / tokens.sum(axis=0))


def _documents_of(
    model: TopicPosterior,
    topic: int,
    corpus: Corpus,
    options: TrainingOptions,
    executor: Executor,
    hooks: RunHooks,
) -> DocumentBatch:
    """The words of a topic, in fractions of tokens, in the documents that have most of it."""
    counts = exact_counts(model)
    components = WordCounts(counts, within=counts.sum(axis=0))
    current = Globals(
        components, allocation_of(model), Words(model.n_words, model.word_concentration)
    )
    own = DocumentBatch(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))
    n_done = 0
    for batch in corpus.batches():
        found = fit_documents(batch, current, options.local_step, executor).responsibilities
        own = DocumentBatch.joined([own, words_of_topic(Assignments(batch, found), topic)])
        tokens = np.add.reduceat(own.word_counts, own.indptr[:-1]) if own.n_docs else np.zeros(0)
        own = own.take(np.sort(np.argsort(-tokens, kind="stable")[:SAMPLE_DOCUMENTS]))
        n_done += batch.n_docs
        hooks.on_documents(n_done, corpus.n_docs)
    return own
