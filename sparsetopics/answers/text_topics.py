"""The topics of texts: what a trained run says about words that are in no corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from sparsetopics.answers.proportions import ShareColumns, share_tables
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.execution.executors import OrderedMap, broadcast_map_here
from sparsetopics.measures.top_words import top_words
from sparsetopics.runs.run import AnyRun

N_WORDS = 6  # of a topic, so that a line fits a terminal


class TopicOfText(NamedTuple):
    """A topic of a text, its share of the text and the topic's most probable words."""

    topic: int
    share: float
    words: Sequence[str]


def corpus_of_texts(
    run: AnyRun, texts: Iterable[str | None], function: str | None = None
) -> Corpus:
    """Return texts as documents with the words of ``run``, cut as its training documents were.

    ``function`` is ``MODULE:NAME``; it must be given if such a function cut the words of the run.
    Documents without a known word are left out; the others keep their running numbers. Raises
    RunError for a mixture of vectors, SourceError if no document is left, OptionError or
    VocabularyError for a tokeniser that cannot be used.
    """
    return Corpus.from_texts(texts, tokenizer=function, vocabulary=run.words)


def topics_of_texts(
    run: AnyRun,
    corpus: Corpus,
    top: int,
    *,
    workers: int = 1,
    broadcast: OrderedMap = broadcast_map_here,
) -> Iterator[tuple[str, list[TopicOfText]]]:
    """Yield the id of each document of ``corpus_of_texts`` and its ``top`` largest topics."""
    words = run.words.words
    best = [[words[word] for word in row] for row in top_words(run.model.topic_word_mean, N_WORDS)]
    share = ShareColumns.of(run.model, corpus, top).share
    for table in share_tables(run.model, corpus, top, workers=workers, broadcast=broadcast):
        rows = zip(*(table[name].to_pylist() for name in ("doc_id", "topic", share)), strict=True)
        for doc_id, own in groupby(rows, key=lambda row: row[0]):
            yield doc_id, [TopicOfText(k, x, best[k]) for _, k, x in own]
