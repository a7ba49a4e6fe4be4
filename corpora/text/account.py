"""What became of the words of a collection, for people to read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from sparsetopics.base.showing import shortened
from sparsetopics.base.wording import listed, quantity
from sparsetopics.corpora.readers.blocks import ReadingAccount
from sparsetopics.corpora.text.vocabulary import Vocabulary

STOPPED = "stop_words"  # a rule
REASONS = {  # by rule
    STOPPED: "stop words",
    "min_df": "in too few documents",
    "max_df": "in too many documents",
    "max_words": "of too rare words",
    "vocabulary": "that the vocabulary lacks",
}
_N_COMMONEST, _N_LOOKED_AT = 10, 20  # words
_N_NAMED = 5  # documents
_LONGEST_NAME = 40  # characters
_MOST_LOST = 1 / 3
_OF_ADDRESSES = frozenset({"http", "https", "www"})


class WordAccount(NamedTuple):
    """Tokens that were read, kept, and left out by each rule; the commonest words of the corpus;
    the share of letters that are in no token; documents that were skipped; replacement characters
    where bytes may have been replaced, and the number of their documents.

    ``left_out`` has the rules ``stop_words``, ``min_df``, ``max_df`` and ``max_words``, or
    ``vocabulary`` under a given one.
    """

    n_read: int
    n_kept: int
    left_out: Mapping[str, int]
    commonest: Sequence[str]
    lost_letters: float
    skipped: Sequence[str]  # their ids
    n_replaced: int
    n_with_replaced: int

    @classmethod
    def of(
        cls,
        vocabulary: Vocabulary,
        left_out: Mapping[str, int] | None,
        n_unknown: int,
        n_kept: int,
        reading: ReadingAccount,
        skipped: Sequence[str],
    ) -> WordAccount:
        """The account of documents with ``n_kept`` tokens.

        ``left_out`` has the tokens that each rule removed. It is None if the vocabulary was given,
        which has the frequencies of other documents and lacks ``n_unknown`` tokens.
        """
        words = () if left_out is None else vocabulary.commonest(_N_LOOKED_AT)
        left_out = {"vocabulary": n_unknown} if left_out is None else left_out
        _, n_stopped, n_inside, n_outside, _, _, *replaced = reading.tolist()
        left_out = {**left_out, STOPPED: left_out.get(STOPPED, 0) + n_stopped}
        left_out = {rule: number for rule, number in left_out.items() if number}
        n_read = n_kept + sum(left_out.values())
        lost_letters = n_outside / max(n_inside + n_outside, 1)
        return cls(n_read, n_kept, left_out, words, lost_letters, skipped, *replaced)

    def __str__(self) -> str:
        rules = [f"{n:,} {REASONS[rule]}" for rule, n in self.left_out.items()]
        left_out = f", but not {listed(rules)}" if rules else ""
        read = f"Read {quantity(self.n_read, 'token')} and kept {self.n_kept:,}{left_out}."
        words = [shortened(word, _LONGEST_NAME) for word in self.commonest[:_N_COMMONEST]]
        return f"{read} The commonest words are {', '.join(words)}." if words else read

    @property
    def said_of_skipped(self) -> str:
        """A sentence with the first documents that were skipped, if any was."""
        named = [shortened(name, _LONGEST_NAME) for name in self.skipped[:_N_NAMED]]
        more = ", …" if len(self.skipped) > len(named) else ""
        skipped = quantity(len(self.skipped), "document")
        kind = "word" if self.commonest else "known word"
        return f"Skipped {skipped} without a {kind}: {', '.join(named)}{more}."

    def warnings(self) -> Iterator[str]:
        """All doubts, and what was skipped although the words were chosen from these documents."""
        if self.skipped and self.commonest:
            yield self.said_of_skipped
        yield from self.doubts()

    def doubts(self) -> Iterator[str]:
        """Sentences about what may have gone wrong."""
        if self.n_replaced:
            number = quantity(self.n_replaced, "replacement character")
            where = quantity(self.n_with_replaced, "document")
            yield f"Found {number} (\ufffd), for what could not be decoded, in {where}."
        if self.lost_letters > _MOST_LOST:
            hint = "Check the token pattern, the language and the encoding of the texts."
            yield f"{self.lost_letters:.0%} of the letters do not belong to any word. {hint}"
        if found := sorted(_OF_ADDRESSES & {word.lower() for word in self.commonest}):
            hint = "To remove web addresses, pass urls to the option remove."
            yield f"{listed(found)} {'is' if len(found) == 1 else 'are'} very common. {hint}"
