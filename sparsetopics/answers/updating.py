"""A run for a corpus that has grown since it was trained: one lap, new words and new topics.

The lap begins with the topics of the run, so that nearly all documents keep theirs. A theme that
has arrived would take over an old topic in such a lap. So before it, documents that the topics
explain badly (``novelty``) make new topics, as many as pay on other new documents: half of them
decide about topics that are made of the other half, and the other way round.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsetopics.answers.changes import Change, changes, lasting
from sparsetopics.answers.editing import relearned, topics_of, with_new_topics
from sparsetopics.answers.new_documents import FEWEST_NOVEL, NewDocuments, new_documents
from sparsetopics.answers.quick_topics import QuickTopics
from sparsetopics.base.batches import DocumentBatch, FloatArray
from sparsetopics.base.outputs import output_folder, written
from sparsetopics.base.own_folders import RUN
from sparsetopics.base.sealed_files import file_sha256
from sparsetopics.base.transactions import Workspace
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.lookup import spread_evenly
from sparsetopics.measures.completion import N_FOLDS, predicted_log_probability, split_by_type
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.registry import MODELS
from sparsetopics.runs.callbacks import RunHooks
from sparsetopics.runs.data import fingerprint_of
from sparsetopics.runs.run import TopicRun, load_run, save_run
from sparsetopics.runs.run_files import SETTINGS_FILE, Origin, read_settings

MOST_TRIED = 1_000  # new documents that decide about new topics
MOST_NEW_TOPICS = 4  # of one update
LEAST_GAIN = 2.5  # standard errors, by which a new topic must raise the score of other documents
VISITS = 2  # of new documents, before topics are compared on others


class Updated(NamedTuple):
    """A run of a corpus that has grown, and what has changed."""

    run: TopicRun
    n_new_documents: int
    n_new_words: int
    changes: list[Change]


def updated(
    run: TopicRun,
    corpus: Corpus,
    where: str,
    *,
    workers: int = 1,
    hooks: RunHooks = RunHooks(),  # noqa: B008 - immutable
) -> Updated:
    """Learn all documents of ``corpus``, at ``where``, which has grown since ``run``, in one lap.

    Topics keep their ids and names. There are new ones if the model learns their number. Without a
    new document, the run stays as it is. Raises CorpusError if the corpus does not begin with the
    documents of the run, VocabularyError if its words do not.
    """
    new = new_documents(run, corpus, where, workers)
    if new is None:
        return Updated(run, 0, 0, [])
    start = new.known
    if MODELS[run.model.name].learns_number:
        start = _with_topics_that_pay(new)
    after = relearned(start, start, corpus, 1, workers, hooks)
    found = changes(run, after, new)
    after.settings["told"] = lasting(run, found)
    return Updated(after, new.later.n_docs, corpus.n_words - run.model.n_words, found)


def update_run(
    run: Path,
    corpus: Path,
    out: Path,
    *,
    overwrite: bool = False,
    workers: int = 1,
    hooks: RunHooks = RunHooks(),  # noqa: B008 - immutable
) -> Updated | None:
    """Write ``updated`` to the run folder ``out``; None if that is there already.

    Raises OutputError if ``out`` exists and is no update of ``run`` to this corpus.
    """
    before, documents = load_run(run, TopicPosterior), Corpus.open(corpus)
    origin = Origin(file_sha256(run / SETTINGS_FILE), fingerprint_of(documents))
    Workspace.beside(Path(os.path.realpath(out))).settle()  # a killed update may have made it
    if os.path.lexists(out / SETTINGS_FILE) and read_settings(out).get("origin") == origin:
        return None
    output = output_folder(out, RUN, overwrite=overwrite, inputs=[run, corpus])
    found = updated(before, documents, str(corpus), workers=workers, hooks=hooks)
    found.run.settings["origin"] = origin
    found.run.settings["corpus"]["path"] = os.fspath(corpus)
    with written(output) as folder:
        save_run(folder, found.run)
    return found


def _with_topics_that_pay(new: NewDocuments) -> TopicRun:
    """The run with as many topics of the novel documents as pay, if any do."""
    tried, workers = spread_evenly(new.new.n_docs, MOST_TRIED), new.topics.workers
    batch, is_novel = new.new[tried], new.is_novel[tried]
    best, gains = new.known, np.zeros(batch.n_docs)
    for n_new in range(1, MOST_NEW_TOPICS + 1):
        if is_novel.sum() < n_new * FEWEST_NOVEL:
            break
        found = _gains(new, batch, is_novel, n_new)
        more, gains = found - gains, found
        if more.sum() <= LEAST_GAIN * np.sqrt(np.square(more).sum()):
            break
        made = topics_of(batch[is_novel], new.known, n_new, workers)
        best = with_new_topics(new.known, made.exact_counts)
    return best


def _gains(
    new: NewDocuments, batch: DocumentBatch, is_novel: NDArray[np.bool_], n_new: int
) -> FloatArray:
    """What new topics, of other documents, add to the completion of each of a ``batch``, in nats,
    (n_docs,)."""
    workers = new.topics.workers
    gains, is_odd = np.zeros(batch.n_docs), np.arange(batch.n_docs) % 2 == 1
    for own in (is_odd, ~is_odd):
        counts = topics_of(batch[is_novel & ~own], new.known, n_new, workers).topic_word_counts
        models = new.topics, new.topics.with_topics(counts)
        learned = (each.with_documents(batch[~own], VISITS) for each in models)
        before, after = (_completion(each, batch[own]) for each in learned)
        gains[own] = after - before
    return gains


def _completion(topics: QuickTopics, batch: DocumentBatch) -> FloatArray:
    """The log probability of each document's words given its others, in nats, (n_docs,)."""
    # (n_words, n_topics)  φ
    word_topic = (topics.counts + topics.smoothing) / topics.weight_sums
    sums = np.zeros(batch.n_docs)
    is_scored = np.diff(batch.indptr) >= 2  # as in ``split_by_type``
    for fold in range(N_FOLDS):
        observed, scored = split_by_type(batch, np.random.default_rng(0), fold)
        logs = predicted_log_probability(scored, topics.proportions(observed), word_topic)
        sums[is_scored] += np.add.reduceat(scored.word_counts * logs, scored.indptr[:-1])
    return sums
