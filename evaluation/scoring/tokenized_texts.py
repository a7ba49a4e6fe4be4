"""Texts as lists of words in running order, cut as the words of a vocabulary were cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from sparsetopics.base.errors import SourceError, VocabularyError
from sparsetopics.corpora.frames import Document
from sparsetopics.corpora.ingest_options import IngestOptions
from sparsetopics.corpora.memory_corpus import blocks_of_texts
from sparsetopics.corpora.readers.blocks import CountedBlock, PendingBlock, TextBlock
from sparsetopics.corpora.sources.source_files import names_of
from sparsetopics.corpora.text.tokenizer import TokenizerOptions, options_for, words_of
from sparsetopics.corpora.text.tokens import lists_of, without
from sparsetopics.corpora.text.vocabulary import Vocabulary


@dataclass(slots=True, eq=False)
class TokenizedTexts:
    """Texts as lists of words; each iteration reads the texts again.

    Words outside the vocabulary are left out, as they are from a corpus; stop words are among them.
    Documents without any word of the vocabulary are left out too. ``n_read`` counts the documents
    of the last iteration.
    """

    pending: Callable[[], Iterable[PendingBlock]]
    tokenizer: TokenizerOptions
    words: frozenset[str]
    n_read: int = 0

    @classmethod
    def find(
        cls,
        sources: Iterable[str | Path],
        vocabulary: Vocabulary,
        reading: IngestOptions,
        say: Callable[[str], None] = lambda _: None,
    ) -> TokenizedTexts:
        """Find files, folders and patterns as ``ingest`` does with the same options.

        Their text will be cut as that of ``vocabulary`` was. ``say`` gets sentences about links and
        other files in folders that are left out. Raises SourceError for sources that are missing or
        hold counts instead of text, and VocabularyError if the words of ``vocabulary`` do not
        follow each other in a text.
        """
        collection = reading.find(sources, say)
        if left_out := collection.account.said_of_left_out:
            say(left_out)
        if collection.format.counted:
            problem = "expected running text, over which windows can slide, but found word counts"
            raise SourceError(names_of(collection.files), problem)
        read = partial(collection.read, reading.read)
        return cls(read, _in_order(vocabulary), frozenset(vocabulary.words))

    @classmethod
    def of(cls, texts: Iterable[Document], vocabulary: Vocabulary) -> TokenizedTexts:
        """Texts in memory; raises what ``Corpus.from_texts`` and ``find`` raise."""
        pending = [partial(TextBlock, *block) for block in blocks_of_texts(texts)]
        return cls(lambda: pending, _in_order(vocabulary), frozenset(vocabulary.words))

    def __iter__(self) -> Iterator[list[str]]:
        self.n_read = 0
        for pending in self.pending():
            block = pending()
            assert not isinstance(block, CountedBlock), "refused by find"
            self.n_read += len(block.ids)
            tokens, _ = words_of(block, self.tokenizer)
            is_other = [word not in self.words for word in tokens.words.to_pylist()]
            known = without(tokens, np.array(is_other, np.bool_))
            yield from filter(None, lists_of(known))
        if not self.n_read:
            raise SourceError("texts", "there are no documents")


def _in_order(vocabulary: Vocabulary) -> TokenizerOptions:
    """Return how words were cut; VocabularyError unless tokens follow each other in a text."""
    settings = vocabulary.tokenizer or {}
    if settings.get("ngrams", 1) != 1 or "function" in settings:
        units = "n-grams" if "ngrams" in settings else "words cut by a function"
        problem = f"expected tokens or phrases that follow each other in a text, but found {units}"
        raise VocabularyError("vocabulary", problem, "Evaluate without --texts.")
    return options_for(vocabulary, None)
