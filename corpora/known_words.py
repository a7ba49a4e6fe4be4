"""A corpus as a model reads it whose vocabulary begins in the same way: one of the two has grown.

Words get their numbers once. A corpus whose vocabulary grows keeps those of before, so a number
that two vocabularies have means the same word in both if one of them begins with the other.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparsetopics.corpora.batching import PartialRowGroup
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.store.document_rows import sizes_of_batch
from sparsetopics.corpora.text.vocabulary import Vocabulary


def begin_alike(one: Vocabulary, other: Vocabulary) -> bool:
    """Whether one of two vocabularies begins with the words of the other, or is the same."""
    n_both = min(len(one), len(other))
    return one.words[:n_both] == other.words[:n_both]


def under(corpus: Corpus, vocabulary: Vocabulary) -> Corpus:
    """The corpus with a vocabulary that begins with its own, or that its own begins with.

    Words that ``vocabulary`` lacks are left out and counted as unknown tokens. Documents stay, even
    if they have no other words.
    """
    if len(corpus.vocabulary) == len(vocabulary):
        return corpus
    if len(corpus.vocabulary) < len(vocabulary):
        return replace(corpus, vocabulary=vocabulary)
    n_words = len(vocabulary)
    groups = [
        PartialRowGroup(group.sizes, group, np.arange(group.n_docs), n_words=n_words)
        for group in corpus.row_groups
    ]
    sized = tuple(replace(each, sizes=sizes_of_batch(each.read())) for each in groups)
    known = replace(corpus, vocabulary=vocabulary, row_groups=sized)
    n_later = int(corpus.n_tokens - known.n_tokens)
    return replace(known, n_unknown_tokens=corpus.n_unknown_tokens + n_later)
