"""Text cut into tokens, in blocks: by a compiled scan, by ``re``, or by a user's function.

Tokens are joined to words: n-grams, and phrases that gensim learns from all the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import regex
from numpy.typing import NDArray

from sparsetopics.base.batches import IntArray
from sparsetopics.corpora.readers.blocks import NO_VALUES, Values
from sparsetopics.corpora.text.letters import bytes_and_offsets, members, small_letters
from sparsetopics.corpora.text.token_kernels import FOLDS, find_tokens, number_words, weigh_texts
from sparsetopics.options.ingest_table import INGEST_OPTION
from sparsetopics.options.option import check_values, counts_from

Pattern: TypeAlias = re.Pattern[str] | regex.Pattern[str]
Compile = Callable[[str], Pattern]
NO_LETTERS = np.zeros(3, np.int64)
_CLASS = r"\[\^?\]?(?:\\.|[^\]\\])*\]|\\w|\\[pP]\{[^{}]*\}"
_RUN = re.compile(
    rf"(?:\(\?u\))?(?P<edge>\\b)?(?P<first>{_CLASS})(?P<again>(?:(?P=first))*)"
    r"(?:\+|\{(?P<least>\d+),\})(?P<close>\\b)?"
)

# What each code point counts in a token, (N_CODE_POINTS,), and the least that makes a token; see
# ``find_tokens``.
CharacterRun = tuple[NDArray[np.int8], int]


@lru_cache(maxsize=4)
def character_run(pattern: str, compiled: Compile, *, lowercase: bool) -> CharacterRun | None:
    r"""The run that ``pattern`` describes, such as ``[a-z]{3,}`` or ``\b\w\w+\b``; None for others.

    With ``lowercase``, a character is in the run if its small letter is in the class.

    The table is filled by the module ``re`` or ``regex`` whose ``compile`` is given, so the meaning
    of the class is that of the module.
    """
    match = _RUN.fullmatch(pattern)
    if match is None:
        return None
    if (match["edge"] or match["close"]) and match["first"] != r"\w":
        return None  # for other classes, \b is a further condition
    n_before = len(match["again"]) // len(match["first"])  # classes before the repeated one
    least = 1 if match["least"] is None else int(match["least"])
    in_class = members(compiled(f"(?:{match['first']})+"))
    if lowercase:
        in_class = in_class[small_letters()]
    return np.where(in_class, 1, -1).astype(np.int8), max(n_before + least, 1)


class Tokens(NamedTuple):
    """Documents as rows of tokens, in the order of the text."""

    words: pa.StringArray  # (n_block_words,) distinct
    indptr: IntArray  # (n_docs + 1,)
    word_of: NDArray[np.int32]  # (n_tokens,) row of ``words``
    letters: NDArray[np.int64]  # (3,) weight of those in tokens, of others, of others not cut
    forms: Values = NO_VALUES  # of lemmas: how often each occurs that is none itself
    starts: NDArray[np.int32] | None = None  # (n_tokens,) bytes of the texts; None: not known


def scan_tokens(texts: pa.StringArray, run: CharacterRun, *, lowercase: bool) -> Tokens:
    """Cut texts into the longest runs of characters, and put these in lower case if asked."""
    fold = FOLDS[lowercase]
    text, offsets = bytes_and_offsets(texts)
    starts, lengths, keys, indptr, letters = find_tokens(text, offsets, *run, fold)
    word_of, firsts = number_words(text, starts, lengths, keys, fold)
    words = _strings_at(text, starts[firsts], lengths[firsts])
    if lowercase:
        written, words = words, pc.utf8_lower(words)
        is_ascii, is_lower = pc.string_is_ascii(words), pc.equal(written, words)
        if not pc.all(pc.or_(is_ascii, is_lower)).as_py():  # then several may be one word
            encoded = words.dictionary_encode()
            if len(encoded.dictionary) < len(words):
                words, word_of = encoded.dictionary, np.asarray(encoded.indices)[word_of]
    return Tokens(words, indptr, word_of, letters, starts=starts)


def _strings_at(
    text: NDArray[np.uint8], starts: NDArray[np.int32], lengths: NDArray[np.int32]
) -> pa.StringArray:
    """The strings of ``lengths`` bytes that begin at ``starts``."""
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    positions = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
    buffers = pa.py_buffer(offsets), pa.py_buffer(text[positions])
    return pa.StringArray.from_buffers(len(starts), *buffers)


def match_tokens(texts: pa.StringArray, pattern: Pattern) -> Tokens:
    """Cut texts with a pattern that only ``re`` or ``regex`` understands."""
    found = map(pattern.findall, texts.to_pylist())
    return tokens_of_lists([list(filter(None, tokens)) for tokens in found])


def tokens_of_lists(documents: Sequence[Sequence[str]] | pa.ListArray) -> Tokens:
    """Tokens from lists of strings, (n_docs,), in Python or in Arrow; none is null."""
    lists = pa.array(documents, pa.list_(pa.string()))
    encoded, lengths = lists.flatten().dictionary_encode(), pc.list_value_length(lists)
    indptr = np.concatenate(([0], np.cumsum(np.asarray(lengths), dtype=np.int64)))
    return Tokens(encoded.dictionary, indptr, np.array(encoded.indices, np.int32), NO_LETTERS)


def without(tokens: Tokens, is_left_out: NDArray[np.bool_]) -> Tokens:
    """The tokens without those of some words, (n_block_words,)."""
    kept = ~is_left_out[tokens.word_of]
    indptr = np.concatenate(([0], np.cumsum(kept)))[tokens.indptr]
    starts = None if tokens.starts is None else tokens.starts[kept]
    return tokens._replace(indptr=indptr, word_of=tokens.word_of[kept], starts=starts)


def documents_of_tokens(tokens: Tokens) -> NDArray[np.int64]:
    """The document of each token, (n_tokens,)."""
    return np.repeat(np.arange(len(tokens.indptr) - 1), np.diff(tokens.indptr))


def lists_of(tokens: Tokens) -> Iterator[list[str]]:
    """The words of each document, in order."""
    words = np.array(tokens.words.to_pylist(), object)
    for start, stop in pairwise(tokens.indptr):
        yield words[tokens.word_of[start:stop]].tolist()


def with_letters(tokens: Tokens, texts: pa.StringArray, weights: NDArray[np.int8]) -> Tokens:
    """Tokens of ``texts`` that were not cut by the scan of letters, with their ``letters``."""
    n_all = weigh_texts(*bytes_and_offsets(texts), weights).sum()
    n_inside = weigh_texts(*bytes_and_offsets(tokens.words), weights)[tokens.word_of].sum()
    return tokens._replace(letters=np.array([n_inside, max(n_all - n_inside, 0), 0]))


# --- words of several tokens ----------------------------------------------------------------------
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
