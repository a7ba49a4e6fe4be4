"""Topics in which given words stand out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import NoReturn

import numpy as np

from sparsetopics.base.errors import VocabularyError
from sparsetopics.base.wording import listed
from sparsetopics.corpora.ingest_options import IngestOptions, settled_tokenizer
from sparsetopics.corpora.memory_corpus import blocks_of_texts
from sparsetopics.corpora.text.phrases import JOINT
from sparsetopics.corpora.text.tokenizer import words_of
from sparsetopics.corpora.text.tokens import lists_of
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.options.option import check_strings, refuse, shown
from sparsetopics.runs.run import AnyRun

MASS = 0.9  # topics are listed until their shares add up to this
MOST = 10  # topics that are listed
N_NEAR = 3  # words that are suggested for one that is not known


def found_topics(run: AnyRun, texts: Sequence[str]) -> dict[int, float]:
    """Return the topics in which the words of ``texts`` stand out, with their shares, best first.

    The share of topic k is p(k | words) ∝ w_k Π_v φ_kv, where w_k is the weight of the topic, and v
    are the different words. Topics are listed until their shares sum to 0.9, at least one and at
    most ten; ties go to the lower number. Raises RunError for a mixture of vectors, and OptionError
    for a word that is not in the vocabulary.
    """
    words = np.array(word_ids(run.words, texts))
    with np.errstate(divide="ignore"):  # topics without data may have no weight
        logs = np.log(np.maximum(run.model.weights, 0.0))
        logs += np.log(run.model.topic_word_mean[:, words]).sum(axis=1)
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    best = np.argsort(-shares, kind="stable")
    n_listed = 1 + int(np.searchsorted(np.cumsum(shares[best]), MASS))
    return {topic: float(shares[topic]) for topic in best[: min(n_listed, MOST)].tolist()}


def word_ids(vocabulary: Vocabulary, texts: Sequence[str]) -> list[int]:
    """Return the ids of the words of ``texts``, each once.

    A text is cut as the training texts were. Its words are looked up as one joint word, such as
    new_york, and then one by one. A text that is not found so, or that cannot be cut because the
    vocabulary has no rule or a function of the user, is looked up as it is. Raises OptionError for
    a word that is not in the vocabulary, with those that are near.
    """
    check_strings("find", texts)
    if not texts:
        refuse("find", "must be one word or more")
    id_of = {word: number for number, word in reversed([*enumerate(vocabulary.shown)])}
    id_of |= {word: number for number, word in enumerate(vocabulary.words)}
    found: list[int] = []
    for text, cut in zip(texts, _cut(vocabulary, texts), strict=True):
        parts = text.split()
        for words in ([JOINT.join(cut)], cut, [text], [JOINT.join(parts)], parts):
            if words and all(word and word in id_of for word in words):
                found += [id_of[word] for word in words]
                break
        else:
            unknown = next((word for word in cut or parts if word not in id_of), text)
            _refuse_unknown(unknown, vocabulary)
    return list(dict.fromkeys(found))


def _cut(vocabulary: Vocabulary, texts: Sequence[str]) -> list[list[str]]:
    """The words of each text, before n-grams are added; none where texts cannot be cut."""
    if vocabulary.tokenizer is None:
        return [[] for _ in texts]
    try:
        how = replace(settled_tokenizer(IngestOptions(), vocabulary, lambda how: ()), ngrams=1)
        blocks = blocks_of_texts(texts)
        return [words for block in blocks for words in lists_of(words_of(block, how)[0])]
    except VocabularyError:  # it was made from lists, or by a function, which nobody named
        return [[] for _ in texts]


def _refuse_unknown(word: str, vocabulary: Vocabulary) -> NoReturn:
    near = get_close_matches(word.lower(), vocabulary.shown, N_NEAR)
    hint = f"Did you mean {listed(near, 'or')}?" if near else ""
    refuse("find", f"{shown(word)} is not in the vocabulary of the run", hint)
