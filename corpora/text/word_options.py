"""What a word of a text is and which words are kept, by the options that users give."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import NamedTuple

from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.text.phrases import PhraseOptions
from sparsetopics.corpora.text.pruning import PruningOptions
from sparsetopics.corpora.text.stop_words import stop_words_of
from sparsetopics.corpora.text.tokenizer import DEFAULT_PATTERN, TokenizerOptions
from sparsetopics.options.option import check_strings, check_type


class WordOptions(NamedTuple):
    """How texts become words."""

    tokenizer: TokenizerOptions | None  # None: nothing was chosen, so that of a vocabulary is used
    phrases: PhraseOptions | None
    pruning: PruningOptions

    def check(self, *, with_vocabulary: bool) -> None:
        """Raise OptionError for options that do not fit together, or a given vocabulary."""
        if with_vocabulary:
            self.pruning.refuse_beside("vocabulary", "whose words are used unchanged")
            if self.phrases is not None:
                raise OptionError("phrases", "a given vocabulary has its own phrases, if any")
        if self.phrases is not None and self.tokenizer is not None and self.tokenizer.ngrams > 1:
            raise OptionError("ngrams", "cannot be combined with --phrases")


def word_options(
    *,
    stop_words: str | Sequence[str] | Set[str] | None = None,
    min_df: int | float | None = None,
    max_df: int | float | None = None,
    max_words: int | None = None,
    ngrams: int | None = None,
    phrases: bool = False,
    phrase_threshold: float | None = None,
    token_pattern: str | None = None,
    lowercase: bool | None = None,
    tokenizer: str | None = None,
) -> WordOptions:
    """The options of ``sparsetopics ingest`` for words; None stands for the default.

    ``stop_words`` is a list of words, or ``english`` or the code of a language. Raises OptionError
    for values that an option does not take, and for options that do not fit together.
    """
    check_type("phrases", phrases, bool, "true or false")
    if phrase_threshold is not None and not phrases:
        raise OptionError("phrase_threshold", "needs --phrases")
    return WordOptions(
        _tokenizer_options(token_pattern, lowercase, tokenizer, ngrams),
        _phrase_options(phrase_threshold) if phrases else None,
        PruningOptions(min_df, max_df, max_words, _words(stop_words)),
    )


def _phrase_options(threshold: float | None) -> PhraseOptions:
    return PhraseOptions() if threshold is None else PhraseOptions(threshold)


def _words(stop_words: str | Sequence[str] | Set[str] | None) -> frozenset[str]:
    if stop_words is None:
        return frozenset()
    if isinstance(stop_words, str):
        return stop_words_of(stop_words)
    check_strings("stop_words", stop_words)
    return frozenset(stop_words)


def _tokenizer_options(
    pattern: str | None, lowercase: bool | None, function: str | None, ngrams: int | None
) -> TokenizerOptions | None:
    if all(choice is None for choice in (pattern, lowercase, function, ngrams)):
        return None
    return TokenizerOptions(
        DEFAULT_PATTERN if pattern is None else pattern,
        function is None if lowercase is None else lowercase,
        function,
        1 if ngrams is None else ngrams,
    )
