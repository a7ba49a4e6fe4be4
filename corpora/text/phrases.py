"""Pairs of words that belong together, learned by gensim from all the text before it is counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.text.joining import Phrase
from sparsetopics.corpora.text.tokens import Tokens

_DELIMITER = "\x1f"  # between the words of a pair while it is learned; no text has it
_MOST_CANDIDATES = 4_000_000  # words and pairs counted at once, some 400 MB; the rarest go


@dataclass(frozen=True, slots=True)
class PhraseOptions:
    """Which neighbours are a phrase: those seen together ``min_count`` times or more whose
    normalised pointwise mutual information is above ``threshold``, from -1 to 1 (Bouma 2009)."""

    threshold: float = 0.5
    min_count: int = 5

    def __post_init__(self) -> None:
        if not -1 <= self.threshold <= 1:
            raise OptionError(
                "phrase_threshold", found=f"{self.threshold}", wanted="a number from -1 to 1"
            )
        if self.min_count < 1:
            raise OptionError("min_count", found=f"{self.min_count}", wanted="1 or more")


def learn_phrases(blocks: Iterable[Tokens], options: PhraseOptions) -> tuple[Phrase, ...]:
    """The phrases of the documents, sorted. Memory is bounded, and the order of the documents is
    all that the result depends on besides them."""
    from gensim.models.phrases import Phrases  # takes a second to import, and most go without

    model = Phrases(
        _documents(blocks),
        min_count=options.min_count,
        threshold=options.threshold,
        scoring="npmi",
        max_vocab_size=_MOST_CANDIDATES,
        delimiter=_DELIMITER,
    )
    found = (tuple(key.split(_DELIMITER)) for key in model.export_phrases())
    return tuple(sorted((pair[0], pair[1]) for pair in found if len(pair) == 2))


def _documents(blocks: Iterable[Tokens]) -> Iterator[list[str]]:
    for block in blocks:
        words = np.array(block.words.to_pylist(), object)
        for start, stop in zip(block.indptr[:-1], block.indptr[1:], strict=True):
            yield words[block.word_of[start:stop]].tolist()
