"""Documents as the lists of words that a vocabulary was made of, in their order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc

from sparsetopics.corpora.blocks import CountedBlock, TextBlock
from sparsetopics.corpora.formats import Collection, find_collection
from sparsetopics.corpora.sources import ReadOptions, names_of
from sparsetopics.corpora.tokenizer import TokenizerOptions, options_for
from sparsetopics.corpora.vocabulary import Vocabulary
from sparsetopics.errors import SourceError


@dataclass(frozen=True, slots=True, eq=False)
class TokenizedTexts:
    """Texts that are read anew each time they are iterated over.

    Words outside the vocabulary, stop words among them, are left out as they are from a corpus, and
    so are documents that hold no other.
    """

    collection: Collection
    read: ReadOptions
    tokenizer: TokenizerOptions
    words: frozenset[str]

    @classmethod
    def find(
        cls, sources: Iterable[str | Path], vocabulary: Vocabulary, text_field: str
    ) -> TokenizedTexts:
        """Files, folders and patterns as ``ingest`` takes them, cut as the vocabulary's were.

        Raises SourceError for sources that are missing or hold counts instead of text.
        """
        collection = find_collection(sources, None)
        if collection.format.counted:
            raise SourceError(
                names_of(collection.files),
                found="word counts",
                wanted="text: windows slide over it",
            )
        tokenizer = options_for(vocabulary, None)
        read = ReadOptions(text_field=text_field)
        return cls(collection, read, tokenizer, frozenset(vocabulary.words))

    def __iter__(self) -> Iterator[list[str]]:
        for pending in self.collection.format.read(self.collection.files, self.read):
            block = pending()
            assert not isinstance(block, CountedBlock), "refused by find"
            yield from self._documents(block)

    def _documents(self, block: TextBlock) -> Iterator[list[str]]:
        texts = block.texts.fill_null("")
        if self.tokenizer.lowercase:
            texts = pc.utf8_lower(texts)
        find_tokens = re.compile(self.tokenizer.token_pattern).findall
        for text in texts.to_pylist():
            if tokens := [token for token in find_tokens(text) if token in self.words]:
                yield tokens
