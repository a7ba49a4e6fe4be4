"""A trained model as a gensim ``LdaModel``, a corpus as an ``MmCorpus``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
from gensim.corpora import Dictionary, MmCorpus
from gensim.models import LdaModel

from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import AnyRun

LOCAL_ITERATIONS = 100  # at gensim's default of 50, its inference has not yet converged
SEED = 0
NO_LOG = None  # otherwise gensim writes the time and the path of each export into its files


def to_gensim(
    model: TopicPosterior, vocabulary: Vocabulary, n_docs: int, n_passes: int = 1
) -> LdaModel:
    """Return a gensim model with the same topics, in double precision.

    ``get_topics()`` has our probabilities of words, because gensim's ``eta`` is the smoothing.
    ``id2word`` is a complete ``Dictionary``. The topics of an HDP get the uneven concentrations
    αE[β_k]; the weight that the HDP keeps for topics not yet found is dropped. ``n_docs``
    training documents, seen ``n_passes`` times, decide how far a later ``update()`` moves the
    topics: gensim weighs new documents against those it has seen. gensim's inference starts
    from random numbers at every call, so ``get_document_topics`` varies a little between calls;
    ours does not.
    """
    exported = LdaModel(
        id2word=to_dictionary(vocabulary, n_docs),
        num_topics=model.n_topics,
        alpha=np.asarray(model.doc_concentration, np.float64),
        eta=model.word_concentration if model.smoothing is None else model.smoothing,
        dtype=np.float64,
        iterations=LOCAL_ITERATIONS,
        eval_every=None,
        random_state=SEED,
    )
    # gensim stores the counts, and separately exp E[log φ], which only its inference reads.
    exported.state.sstats[...] = model.topic_word_counts
    exported.sync_state()
    exported.state.numdocs = n_docs
    exported.num_updates = n_docs * n_passes
    exported.lifecycle_events = exported.state.lifecycle_events = NO_LOG
    return exported


def to_dictionary(vocabulary: Vocabulary, n_docs: int) -> Dictionary:
    """Return the vocabulary with every field that gensim's filters and writers read."""
    dictionary = Dictionary()
    dictionary.token2id = {word: word_id for word_id, word in enumerate(vocabulary.words)}
    dictionary.dfs = dict(enumerate(vocabulary.document_frequency.tolist()))
    dictionary.cfs = dict(enumerate(vocabulary.term_frequency.tolist()))
    dictionary.num_docs = n_docs
    dictionary.num_pos = int(vocabulary.term_frequency.sum())
    dictionary.num_nnz = int(vocabulary.document_frequency.sum())
    dictionary[0]  # gensim fills id2token at the first look-up
    dictionary.lifecycle_events = NO_LOG
    return dictionary


def write_topics(path: Path, run: AnyRun) -> None:
    """Write a model for ``LdaModel.load(path)`` and ``Dictionary.load(f"{path}.dictionary")``.

    gensim's own format is pickle, in several files whose names begin with ``path``. The same run
    gives the same bytes. Raises OptionError for a mixture of documents.
    """
    topics = run.of(TopicPosterior)
    if topics is None:
        problem = f"gensim takes topic models, but {run.path} is a mixture of documents"
        hint = "Export mixtures as mallet, matrix-market, csv, parquet or pyldavis."
        raise OptionError("to", problem, hint)
    n_docs = run.settings["corpus"]["n_documents"]
    model = to_gensim(topics.model, run.words, n_docs, run.n_laps)
    # gensim leaves out the same attributes by default, but lists them in the order of a set.
    model.save(str(path), ignore=())
    model.id2word.save(f"{path}.dictionary")


def write_corpus(path: Path, corpus: Corpus) -> None:
    """Write documents for ``MmCorpus(path)`` and ``Dictionary.load(f"{path}.dictionary")``.

    The dictionary and ``path.index``, which finds documents by number, are pickles.
    """
    MmCorpus.serialize(str(path), _bags_of_words(corpus))
    to_dictionary(corpus.vocabulary, corpus.n_docs).save(f"{path}.dictionary")


def _bags_of_words(corpus: Corpus) -> Iterator[list[tuple[int, float]]]:
    """Yield each document as (word id, count) pairs."""
    for batch in corpus.batches():
        words, counts = batch.word_ids.tolist(), batch.word_counts.tolist()
        for start, stop in pairwise(batch.indptr.tolist()):
            yield list(zip(words[start:stop], counts[start:stop], strict=True))
