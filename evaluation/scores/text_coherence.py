"""Coherence by words that stand near each other in running text, as gensim computes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from gensim.corpora import Dictionary
from gensim.models import CoherenceModel

from sparsetopics.base.batches import FloatArray


class TextCoherence(NamedTuple):
    """Of each topic, (n_topics,); NaN where a top word of its own does not occur in the texts."""

    c_v: FloatArray
    c_npmi: FloatArray


def text_coherence(
    top_words: Sequence[Sequence[str]], texts: Iterable[Sequence[str]]
) -> TextCoherence:
    """Score the ``top_words`` of each topic by windows that slide over ``texts``.

    c_v: indirect cosine similarity of NPMI vectors in windows of 110 words, between 0 and 1;
    c_npmi: mean NPMI of pairs in windows of 10 (Röder, Both & Hinneburg 2015). ``texts`` is
    iterated over once for each. They are gensim's numbers, so that they compare: a word that
    stands twice in a window counts as gone when the first leaves it.
    """
    dictionary = Dictionary()
    distinct = sorted({word for words in top_words for word in words})
    dictionary.token2id = {word: word_id for word_id, word in enumerate(distinct)}
    scores = [_scores(top_words, texts, dictionary, measure) for measure in TextCoherence._fields]
    return TextCoherence(*scores)


def _scores(
    top_words: Sequence[Sequence[str]],
    texts: Iterable[Sequence[str]],
    dictionary: Dictionary,
    measure: str,
) -> FloatArray:
    model = CoherenceModel(
        topics=top_words, texts=texts, dictionary=dictionary, coherence=measure, processes=1
    )
    # gensim divides by the frequency of a word that does not occur.
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.asarray(model.get_coherence_per_topic(), np.float64)
    scores: FloatArray = np.where(np.isfinite(found), found, np.nan)
    return scores
