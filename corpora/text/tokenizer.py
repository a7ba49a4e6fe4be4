"""From text to word counts: what a token is, and which tokens are joined to words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace

import msgspec
import pyarrow.compute as pc

from sparsetopics.base.errors import OptionError, VocabularyError
from sparsetopics.corpora.readers.blocks import CountedBlock, TextBlock
from sparsetopics.corpora.text.phrases import Phrase, with_ngrams, with_phrases
from sparsetopics.corpora.text.token_kernels import count_words
from sparsetopics.corpora.text.tokenizer_functions import call_tokenizer
from sparsetopics.corpora.text.tokens import (
    Tokens,
    character_run,
    match_tokens,
    scan_tokens,
    tokens_of_lists,
    without,
)
from sparsetopics.corpora.text.vocabulary import Setting, Vocabulary

DEFAULT_PATTERN = r"[^\W\d_]{3,}"  # three letters or more, of any script
_LONGEST_NGRAM = 5


@dataclass(frozen=True, slots=True)
class TokenizerOptions:
    """What counts as a token, and which tokens are joined to one word.

    ``token_pattern`` is a regular expression in the syntax of Python's ``re``; with one group, the
    group is the token. A run of one character class (``[a-z]{2,}``, ``\\w+``) is found by a
    compiled scan, about ten times faster than any other pattern. Text is first put in lower case by
    Unicode's simple mapping, one character to one. ``function`` names a function ``MODULE:NAME``
    that takes a text and returns its words; it replaces the pattern.

    ``ngrams`` adds all runs of up to that many tokens as words, ``phrases`` joins pairs of tokens.
    Two tokens are neighbours if no third stands between them; ``stop_words`` are removed first.
    """

    token_pattern: str = DEFAULT_PATTERN
    lowercase: bool = True
    function: str | None = None
    ngrams: int = 1
    phrases: tuple[Phrase, ...] = ()
    stop_words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        try:
            pattern = re.compile(self.token_pattern)
        except re.error as error:
            raise OptionError(
                "token_pattern", found=f"{self.token_pattern!r} ({error})", wanted="a pattern of re"
            ) from error
        if pattern.groups > 1:
            raise OptionError(
                "token_pattern",
                found=f"{pattern.groups} groups in {self.token_pattern!r}",
                wanted="at most one",
                hint="Write (?:...) for a group that is not the token.",
            )
        if self.function is not None and self.token_pattern != DEFAULT_PATTERN:
            raise OptionError(
                "tokenizer", found="a function and a token pattern", wanted="one or the other"
            )
        if not 1 <= self.ngrams <= _LONGEST_NGRAM:
            raise OptionError(
                "ngrams", found=f"{self.ngrams}", wanted=f"a length from 1 to {_LONGEST_NGRAM}"
            )
        if self.ngrams > 1 and self.phrases:
            raise OptionError("ngrams", found="n-grams and phrases", wanted="one or the other")

    def settings(self) -> dict[str, Setting]:
        """The settings that manifests and vocabularies keep: the pattern or function, the case,
        and all others that are not the default."""
        always = {"lowercase"} if self.function is not None else {"token_pattern", "lowercase"}
        return {
            field.name: value
            for field in fields(self)
            if (value := getattr(self, field.name)) != field.default or field.name in always
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Setting]) -> TokenizerOptions:
        """The options that ``settings``, read from JSON, stand for; ValueError for settings that
        this release does not know."""
        unknown = sorted(set(settings) - {field.name for field in fields(cls)})
        if unknown:
            raise ValueError(f"settings {', '.join(unknown)}")
        return msgspec.convert(settings, cls)

    def before_joining(self, stop_words: Iterable[str]) -> TokenizerOptions:
        """The options with these stop words too, which must be gone before tokens are joined."""
        return replace(self, stop_words=tuple(sorted({*self.stop_words, *stop_words})))


def options_for(vocabulary: Vocabulary | None, chosen: TokenizerOptions | None) -> TokenizerOptions:
    """The chosen settings; without any, those of the vocabulary or the defaults.

    If the vocabulary was made with a function, the user must name that function again, so that no
    code runs merely because a file names it; naming it alone stands for all the settings. Raises
    VocabularyError if it is not named, or if this release does not know the settings.
    """
    if vocabulary is None or vocabulary.tokenizer is None:
        return chosen or TokenizerOptions()
    function = vocabulary.tokenizer.get("function")
    if chosen is not None and (function is None or not _is_only(chosen, function)):
        return chosen
    if chosen is None and function is not None:
        raise VocabularyError(
            "vocabulary",
            found=f"words cut by the function {function!r}",
            wanted="permission to run it",
            hint=f"Pass --tokenizer {function}.",
        )
    try:
        return TokenizerOptions.from_settings(vocabulary.tokenizer)
    except ValueError as error:
        raise VocabularyError(
            "vocabulary",
            found=f"tokeniser settings {dict(vocabulary.tokenizer)!r:.200}",
            wanted="token_pattern, lowercase and others that this release knows",
            hint="Choose how to tokenise with --token-pattern.",
        ) from error


def _is_only(chosen: TokenizerOptions, function: Setting) -> bool:
    """Whether nothing but this function was chosen."""
    return chosen == TokenizerOptions(function=str(function), lowercase=chosen.lowercase)


def count_texts(block: TextBlock, options: TokenizerOptions) -> CountedBlock:
    """Tokenise and count the documents of a block."""
    tokens = tokens_of(block, options)
    if options.phrases:
        tokens = with_phrases(tokens, options.phrases)
    if options.ngrams > 1:
        tokens = with_ngrams(tokens, options.ngrams)
    counted = count_words(tokens.indptr, tokens.word_of, len(tokens.words))
    return CountedBlock(block.ids, block.labels, tokens.words, *counted)


def tokens_of(block: TextBlock, options: TokenizerOptions) -> Tokens:
    """The tokens of the documents of a block, before any are joined."""
    texts = block.texts.fill_null("")
    if options.lowercase:
        texts = pc.utf8_lower(texts)
    run = character_run(options.token_pattern)
    if options.function is not None:
        tokens = tokens_of_lists(call_tokenizer(options.function, texts.to_pylist()))
    elif run is not None:
        tokens = scan_tokens(texts, run)
    else:
        tokens = match_tokens(texts, re.compile(options.token_pattern))
    return without(tokens, options.stop_words)
