"""Words of several tokens: n-grams, and phrases that gensim learns from all the text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparsetopics.base.batches import IntArray
from sparsetopics.corpora.text.tokens import Tokens, documents_of_tokens, lists_of
from sparsetopics.options.ingest_table import INGEST_OPTION
from sparsetopics.options.option import check_values, counts_from

JOINT = "_"  # between the tokens of one word

Phrase = tuple[str, str]


def with_ngrams(tokens: Tokens, longest: int) -> Tokens:
    """Each token as a word, and each run of 2 to ``longest`` tokens of a document as one."""
    document_of = documents_of_tokens(tokens)
    n_words = len(tokens.words)
    words, documents, ids = [tokens.words], [document_of], [tokens.word_of.astype(np.int64)]
    gram_at = ids[0]  # number of the n-gram that begins at each token, among those of its length
    n_before = n_words
    for n in range(2, longest + 1):
        starts = np.flatnonzero(document_of[: -n + 1] == document_of[n - 1 :])
        keys = gram_at[starts] * n_words + tokens.word_of[starts + n - 1]
        distinct, gram_of = np.unique(keys, return_inverse=True)
        firsts, seconds = np.divmod(distinct, max(n_words, 1))
        words.append(_joined(words[-1], firsts, tokens.words, seconds))
        documents.append(document_of[starts])
        ids.append(gram_of + n_before)
        gram_at = np.full(len(document_of), -1, np.int64)
        gram_at[starts] = gram_of
        n_before += len(distinct)
    together = np.concatenate(documents)
    order = np.argsort(together, kind="stable")
    indptr = np.searchsorted(together[order], np.arange(len(tokens.indptr)))
    return _distinct(tokens, words, indptr, np.concatenate(ids)[order])


def with_phrases(tokens: Tokens, phrases: Sequence[Phrase]) -> Tokens:
    """Join neighbours that are one of ``phrases``, from left to right, each token once at most."""
    if not phrases or len(tokens.word_of) < 2:
        return tokens
    n_words = len(tokens.words)
    parts = pa.array([*chain.from_iterable(phrases)], pa.string())
    rows = np.asarray(pc.index_in(parts, tokens.words).fill_null(-1)).reshape(-1, 2)
    firsts, seconds = rows[(rows >= 0).all(axis=1)].T.astype(np.int64)
    keys, order = np.unique(firsts * n_words + seconds, return_index=True)
    if not len(keys):
        return tokens
    document_of = documents_of_tokens(tokens)
    pairs = tokens.word_of[:-1].astype(np.int64) * n_words + tokens.word_of[1:]
    places = np.minimum(np.searchsorted(keys, pairs), len(keys) - 1)
    joins = _from_left((keys[places] == pairs) & (document_of[:-1] == document_of[1:]))
    ids = tokens.word_of.astype(np.int64)
    ids[:-1][joins] = n_words + places[joins]
    remains = np.concatenate(([True], ~joins))  # the second token of a phrase is dropped
    words = _joined(tokens.words, firsts[order], tokens.words, seconds[order])
    indptr = np.concatenate(([0], np.cumsum(remains)))[tokens.indptr]
    return _distinct(tokens, [tokens.words, words], indptr, ids[remains])


def _from_left(joinable: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Every other place of each run of neighbours that could be joined, from the first."""
    positions = np.arange(len(joinable))
    begins = joinable & ~np.concatenate(([False], joinable[:-1]))
    run_start = np.maximum.accumulate(np.where(begins, positions, 0))
    is_even: NDArray[np.bool_] = (positions - run_start) % 2 == 0
    return joinable & is_even


def _joined(
    words: pa.StringArray, firsts: IntArray, others: pa.StringArray, seconds: IntArray
) -> pa.StringArray:
    """Words of two parts, by the rows of the first part and of the second."""
    parts = words.take(pa.array(firsts)), others.take(pa.array(seconds))
    return pc.binary_join_element_wise(*parts, JOINT)


def _distinct(
    tokens: Tokens,
    words: Sequence[pa.StringArray],
    indptr: NDArray[np.int64],
    ids: NDArray[np.int64],
) -> Tokens:
    """Give equal words equal numbers: a token may look like two that were joined. Where tokens
    start is no longer known."""
    encoded = pa.concat_arrays(words).dictionary_encode()
    numbers = np.asarray(encoded.indices)[ids].astype(np.int32)
    return Tokens(encoded.dictionary, indptr, numbers, tokens.letters, tokens.forms)


_DELIMITER = "\x1f"  # between the words of a pair while it is learned; no token has it
_MOST_CANDIDATES = 4_000_000  # words and pairs counted at once (400 MB); the rarest are dropped


@dataclass(frozen=True, slots=True)
class PhraseOptions:
    """Which neighbours form a phrase.

    They occur together at least ``min_count`` times, and their normalised pointwise mutual
    information (Bouma 2009) is above ``threshold``, a number from -1 to 1.
    """

    threshold: float = 0.5
    min_count: int = 5

    def __post_init__(self) -> None:
        check_values(INGEST_OPTION, "phrases", self)
        counts_from(1).check("min_count", self.min_count)


def learn_phrases(blocks: Iterable[Tokens], options: PhraseOptions) -> tuple[Phrase, ...]:
    """The phrases of the documents, sorted; memory is bounded.

    The result depends on the order of the documents, not on how they are cut into blocks.
    """
    from gensim.models.phrases import Phrases  # a second to import, and most corpora have none

    model = Phrases(
        chain.from_iterable(map(lists_of, blocks)),
        min_count=options.min_count,
        threshold=options.threshold,
        scoring="npmi",
        max_vocab_size=_MOST_CANDIDATES,
        delimiter=_DELIMITER,
    )
    found = (tuple(key.split(_DELIMITER)) for key in model.export_phrases())
    return tuple(sorted((pair[0], pair[1]) for pair in found if len(pair) == 2))
