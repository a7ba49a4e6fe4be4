"""Words of a vocabulary that people write: as texts have them, joint, or as patterns."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from sparsetopics.corpora.memory_corpus import cut_alike
from sparsetopics.corpora.text.tokens import JOINT
from sparsetopics.corpora.text.vocabulary import Vocabulary


class WordSearch:
    """Finds the words of one vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        names = vocabulary.shown, vocabulary.words  # lemmas are known by their commonest forms, too
        self.id_of = {word: number for words in names for number, word in enumerate(words)}

    def ids(self, text: str) -> tuple[list[int], list[str]]:
        """The ids of the words of a text, each once, and the words that are not known.

        A text is cut as the texts of the vocabulary were; one that cannot be cut so is divided at
        spaces. It is looked up as one joint word, such as new_york, then as it is, then word by
        word.
        """
        cut = cut_alike(text, self.vocabulary) or text.split() or [text]
        ways = ([JOINT.join(cut)], [text], cut)
        words = next((words for words in ways if self.id_of.keys() >= {*words}), cut)
        found = dict.fromkeys(self.id_of[word] for word in words if word in self.id_of)
        return [*found], [word for word in words if word not in self.id_of]

    def matching(self, pattern: str) -> list[int]:
        """The ids of the words that a pattern such as ``terror*`` matches, each once.

        The words of a pattern such as ``hard drive*`` are joint. If no word matches, one in small
        letters may.
        """
        joint = JOINT.join(pattern.split())
        for each in (joint, joint.lower()):
            if found := [self.id_of[word] for word in self.id_of if fnmatchcase(word, each)]:
                return [*dict.fromkeys(found)]
        return []

    def near(self, word: str) -> Sequence[str]:
        """Up to three words that are spelt like one."""
        return get_close_matches(word.lower(), self.vocabulary.shown)
