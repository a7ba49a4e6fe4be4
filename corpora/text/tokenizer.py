"""From text to word counts: what a token is, and which tokens are joined to words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import msgspec
import pyarrow.compute as pc

from sparsetopics.base.errors import OptionError, VocabularyError
from sparsetopics.corpora.readers.blocks import CountedBlock, TextBlock
from sparsetopics.corpora.readers.fields import TEXT
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
from sparsetopics.options.ingest_table import INGEST_OPTION
from sparsetopics.options.option import check_strings, check_type, check_values, shown

DEFAULT_PATTERN = r"[^\W\d_]{3,}"  # three letters or more, of any script


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
        check_values(INGEST_OPTION, "tokenizer", self)
        check_type("phrases", self.phrases, Sequence, "a list of pairs of words")
        for pair in self.phrases:
            check_strings("phrases", pair)
            if len(pair) != 2:
                raise OptionError("phrases", f"must be pairs of words, but one is {shown(pair)}")
        check_strings("stop_words", self.stop_words)
        n_groups = _compiled(self.token_pattern).groups
        if n_groups > 1:
            problem = (
                f"{shown(self.token_pattern)} has {n_groups:,} groups, but may have one at most"
            )
            hint = "Write (?:...) for a group that is not the token."
            raise OptionError("token_pattern", problem, hint)
        if self.function is not None and self.token_pattern != DEFAULT_PATTERN:
            raise OptionError("tokenizer", "a function cannot be combined with a token pattern")
        if self.ngrams > 1 and self.phrases:
            raise OptionError("ngrams", "cannot be combined with phrases")

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
        """The options that ``settings``, read from JSON, stand for; ValueError or
        msgspec.ValidationError for settings that this release does not know."""
        unknown = sorted(set(settings) - {field.name for field in fields(cls)})
        if unknown:
            raise ValueError(f"settings {', '.join(unknown)}")
        return msgspec.convert(settings, cls)

    def before_joining(self, stop_words: Iterable[str]) -> TokenizerOptions:
        """The options with these stop words too, which must be gone before tokens are joined."""
        return replace(self, stop_words=tuple(sorted({*self.stop_words, *stop_words})))


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    # All but the first are what ``re`` raises for patterns that are too large or nested too deeply.
    except (re.error, ArithmeticError, MemoryError, RuntimeError, ValueError) as error:
        problem = f"{shown(pattern)} is not a regular expression ({error})"
        raise OptionError("token_pattern", problem) from error


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
        problem = f"its words were cut by the function {function!r}, which runs only on request"
        raise VocabularyError("vocabulary", problem, f"Pass --tokenizer {function}.")
    try:
        return TokenizerOptions.from_settings(vocabulary.tokenizer)
    except (msgspec.ValidationError, ValueError) as error:
        settings = f"{dict(vocabulary.tokenizer)!r:.200}"
        problem = f"this release does not know its tokeniser settings {settings}"
        hint = "Choose how to tokenise with --token-pattern."
        raise VocabularyError("vocabulary", problem, hint) from error


def _is_only(chosen: TokenizerOptions, function: Setting) -> bool:
    """Whether nothing but this function was chosen."""
    return chosen == TokenizerOptions(function=str(function), lowercase=chosen.lowercase)


def count_texts(
    block: TextBlock, options: TokenizerOptions, *, keep_texts: bool = False
) -> CountedBlock:
    """Tokenise and count the documents of a block; the texts become a field if they are kept."""
    tokens = tokens_of(block, options)
    if options.phrases:
        tokens = with_phrases(tokens, options.phrases)
    if options.ngrams > 1:
        tokens = with_ngrams(tokens, options.ngrams)
    counted = count_words(tokens.indptr, tokens.word_of, len(tokens.words))
    fields = {TEXT: block.texts, **block.fields} if keep_texts else block.fields
    return CountedBlock(block.ids, block.labels, tokens.words, *counted, fields)


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
