"""From text to word counts: what a token is, and which tokens are joined to words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import regex
from numpy.typing import NDArray

from sparsetopics.base.batches import IntArray
from sparsetopics.base.errors import OptionError, VocabularyError
from sparsetopics.base.soundness import require
from sparsetopics.base.wording import without_middle
from sparsetopics.corpora.readers.blocks import CountedBlock, ReadingAccount, TextBlock
from sparsetopics.corpora.readers.fields import TEXT
from sparsetopics.corpora.text.lemmas import lemmatized
from sparsetopics.corpora.text.letters import LEAST_WEIGHT, UNSPACED, Form, in_form, letter_weights
from sparsetopics.corpora.text.segmenting import SEGMENTED, with_words_divided
from sparsetopics.corpora.text.stop_words import are_stop_words
from sparsetopics.corpora.text.token_kernels import count_words
from sparsetopics.corpora.text.tokenizer_functions import GivenFunction, StoredName, call_tokenizer
from sparsetopics.corpora.text.tokens import (
    Compile,
    Phrase,
    Tokens,
    character_run,
    match_tokens,
    scan_tokens,
    tokens_of_lists,
    with_letters,
    with_ngrams,
    with_phrases,
    without,
)
from sparsetopics.corpora.text.vocabulary import Setting, Vocabulary
from sparsetopics.options.ingest_table import INGEST_OPTION
from sparsetopics.options.option import check_strings, check_type, check_values, shown

# The rules by which releases made words. The first took texts as they are, and patterns as ``re``
# has them; its words had three letters without marks. Corpora that it made are followed by it.
FIRST_RULE, RULE = 1, 2
FIRST_PATTERN = r"[^\W\d_]{3,}"


@dataclass(frozen=True, slots=True)
class TokenizerOptions:
    """What counts as a token, and which tokens are joined to one word.

    Without ``token_pattern``, a token is a run of letters and their marks, as the module
    ``letters`` says. A pattern is a regular expression in the syntax of the package ``regex``; with
    one group, the group is the token. A run of one character class (``[a-z]{2,}``, ``\\w+``) is
    found by a compiled scan, about ten times faster than any other pattern. Text is first brought
    into the normal form ``normalize``, NFC by default, and put in lower case by Unicode's simple
    mapping, one character to one. ``function`` names a function ``MODULE:NAME`` that takes a text
    as it is and returns its words; it replaces the pattern. If ``language`` is one whose script
    writes no spaces, ICU first divides the words of such scripts. ``remove`` takes parts of texts
    out before.

    ``ngrams`` adds all runs of up to that many tokens as words, ``phrases`` joins pairs of tokens.
    With ``lemmas``, the dictionary of a language first makes forms of a word one token. Two tokens
    are neighbours if neither a third nor the end of a sentence stands between them;
    ``stop_words`` are removed first.
    Documents that come as lists of words are not cut; ``from_lists`` says that all did, so that
    there is no rule for cutting texts. ``rule`` is that of the release which chose the settings.
    """

    token_pattern: str | None = None
    lowercase: bool = True
    function: str | None = None
    ngrams: int = 1
    phrases: tuple[Phrase, ...] = ()
    stop_words: tuple[str, ...] = ()
    normalize: str | None = None
    language: str | None = None
    remove: tuple[str, ...] = ()
    lemmas: str | None = None
    from_lists: bool = False
    rule: int = RULE

    def __post_init__(self) -> None:
        check_values(INGEST_OPTION, "tokenizer", self)
        check_type("phrases", self.phrases, Sequence, "a list of pairs of words")
        for pair in self.phrases:
            check_strings("phrases", pair)
            if len(pair) != 2:
                raise OptionError("phrases", f"must be pairs of words, but one is {shown(pair)}")
        check_strings("stop_words", self.stop_words)
        if self.token_pattern is not None:
            _check_pattern(self.token_pattern, self.compiled)
            if self.function is not None:
                raise OptionError("tokenizer", "a function cannot be combined with a token pattern")
        if self.ngrams > 1 and self.phrases:
            raise OptionError("ngrams", "cannot be combined with phrases")

    @property
    def compiled(self) -> Compile:
        """``compile`` of the module that has the syntax of patterns."""
        return re.compile if self.rule == FIRST_RULE else regex.compile

    @property
    def form(self) -> Form | None:
        """The normal form of texts; None if they stay as they are."""
        if self.normalize is not None:
            return "NFKC" if self.normalize == "nfkc" else "NFC"
        return None if self.rule == FIRST_RULE or self.function is not None else "NFC"

    def settings(self) -> dict[str, Setting]:
        """The settings that manifests and vocabularies keep: the case, the rule unless it is the
        first, and all others that are not the default."""
        usual = {field.name: field.default for field in fields(self)}
        usual = usual | {"lowercase": None, "rule": FIRST_RULE}
        return {
            name: str(value) if name == "function" else value  # of a function, only the name
            for name, default in usual.items()
            if (value := getattr(self, name)) != default
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Setting]) -> TokenizerOptions:
        """The options that ``settings``, read from JSON, stand for; ValueError or
        msgspec.ValidationError for settings that this release does not know."""
        unknown = sorted(set(settings) - {field.name for field in fields(cls)})
        require(not unknown, f"settings {', '.join(unknown)}")
        rule = settings.get("rule", FIRST_RULE)
        require(rule in (FIRST_RULE, RULE), f"rule {rule!r}")
        return msgspec.convert({**settings, "rule": rule}, cls)


_MANY_REPEATS = re.compile(r"\{(\d*,)?\d{5,}")  # which regex holds in memory, each by itself
_LEAST_REPEATS = re.compile(r"\{(\d{1,4})")  # which multiply, where a group holds another
_MOST_REPEATS = 1_000_000


def _check_pattern(pattern: str, compiled: Compile) -> None:
    """OptionError for anything but a regular expression with one group at most."""
    n_repeats = math.prod(max(1, int(count)) for count in _LEAST_REPEATS.findall(pattern))
    if n_repeats > _MOST_REPEATS or _MANY_REPEATS.search(pattern):
        raise OptionError("token_pattern", f"{shown(pattern)} repeats a part too often")
    try:
        n_groups = compiled(pattern).groups
    except (re.error, regex.error) as error:
        place = "" if error.pos is None else f" after {without_middle(pattern[: error.pos], 40)!r}"
        problem = f"{shown(pattern)} is not a regular expression: {error.msg}{place}"
        raise OptionError("token_pattern", problem) from error
    # What both modules raise for patterns that are too large or nested too deeply.
    except (ArithmeticError, MemoryError, RuntimeError, ValueError) as error:
        problem = f"{shown(pattern)} is not a regular expression ({error})"
        raise OptionError("token_pattern", problem) from error
    if n_groups > 1:
        problem = f"{shown(pattern)} has {n_groups:,} groups, but may have one at most"
        hint = "Write (?:...) for a group that is not the token."
        raise OptionError("token_pattern", problem, hint)


def options_for(vocabulary: Vocabulary | None, chosen: TokenizerOptions | None) -> TokenizerOptions:
    """The chosen settings; without any, those of the vocabulary or the defaults.

    If the vocabulary was made with a function, the user must name that function again before texts
    are cut, so that no code runs merely because a file names it; naming it alone stands for all the
    settings. Settings that are chosen are understood by the rule of the vocabulary. Raises
    VocabularyError if this release does not know the settings.
    """
    if vocabulary is None or vocabulary.tokenizer is None:
        return chosen or TokenizerOptions()
    function = vocabulary.tokenizer.get("function")
    if chosen is not None and (function is None or not _is_only(chosen, function)):
        is_first = vocabulary.tokenizer.get("rule", FIRST_RULE) == FIRST_RULE
        return replace(chosen, rule=FIRST_RULE) if is_first else chosen
    try:
        found = TokenizerOptions.from_settings(vocabulary.tokenizer)
        named = None if function is None else StoredName(str(function))
        return replace(found, function=chosen.function if chosen else named)
    except (msgspec.ValidationError, ValueError) as error:
        settings = f"{dict(vocabulary.tokenizer)!r:.200}"
        problem = f"this release does not know its tokeniser settings {settings}"
        hint = "Choose how to tokenise with --token-pattern."
        raise VocabularyError("vocabulary", problem, hint) from error


def _is_only(chosen: TokenizerOptions, function: Setting) -> bool:
    """Whether nothing was chosen but the function of this name, or a function object."""
    name = chosen.function if isinstance(chosen.function, GivenFunction) else str(function)
    return chosen == TokenizerOptions(function=name, lowercase=chosen.lowercase)


def count_texts(
    block: TextBlock, options: TokenizerOptions, *, keep_texts: bool = False
) -> CountedBlock:
    """Tokenise and count the documents of a block; the texts become a field if they are kept."""
    tokens, account = words_of(block, options)
    counted = count_words(tokens.indptr, tokens.word_of, len(tokens.words))
    fields = {TEXT: block.as_texts, **block.fields} if keep_texts else block.fields
    words, forms = tokens.words, tokens.forms
    return CountedBlock(block.ids, block.labels, words, *counted, account, forms, fields)


def words_of(block: TextBlock, options: TokenizerOptions) -> tuple[Tokens, ReadingAccount]:
    """The words of the documents of a block in their order, and what was left out."""
    joins = bool(options.phrases) or options.ngrams > 1
    tokens, firsts, account = _tokens_of(block, options, by_sentence=joins)
    if options.phrases:
        tokens = with_phrases(tokens, options.phrases)
    if options.ngrams > 1:
        tokens = with_ngrams(tokens, options.ngrams)
    return tokens._replace(indptr=tokens.indptr[firsts]), account


def sentences_of(block: TextBlock, options: TokenizerOptions) -> Tokens:
    """The tokens of a block, a row for each sentence, before any are joined."""
    return _tokens_of(block, options, by_sentence=True)[0]


def _tokens_of(
    block: TextBlock, options: TokenizerOptions, *, by_sentence: bool
) -> tuple[Tokens, IntArray, ReadingAccount]:
    """Tokens in rows, the first row of each document and the end of all, (n_docs + 1,), and what
    was left out.

    Stop words are gone, and tokens are lemmas if asked. Rows are documents or sentences; but the
    first rule knows no sentences, functions get whole documents, and lists of words are taken as
    they are.
    """
    is_cut = not block.has_lists
    texts = _ready(block.texts.fill_null(""), options) if is_cut else block.texts
    firsts = np.arange(len(texts) + 1)
    if by_sentence and is_cut and options.rule != FIRST_RULE and options.function is None:
        rows = [_SENTENCE_END.split(text) for text in texts.to_pylist()]
        firsts = np.cumsum([0, *map(len, rows)])
        texts = pa.array([sentence for row in rows for sentence in row], pa.string())
    tokens = _cut(texts, options) if is_cut else tokens_of_lists(texts)
    kept = without(tokens, _stopped(tokens.words, options)) if options.stop_words else tokens
    n_docs = np.count_nonzero(np.diff(tokens.indptr[firsts]))
    n_stopped = len(tokens.word_of) - len(kept.word_of)
    if options.lemmas is not None and is_cut:
        kept = lemmatized(kept, texts, options.lemmas)
    account = [n_docs, n_stopped, *tokens.letters, n_docs * is_cut, 0, 0]
    return kept, firsts, np.array(account, np.int64)


# A full stop after a capital and three letters at most ends an abbreviation, such as Prof., as a
# rule; the next sentence begins with anything but a small letter.
_SENTENCE_END = regex.compile(
    r"(?<!\s)\s++(?!\p{Ll})(?<=[.!?…؟۔]['\"’”)\]]*+\s+)(?<!\b\p{Lu}\p{Ll}{0,3}\.\s+)"
    r"|(?<=[。！？।॥])|\n\s*\n",
    regex.V1,
)


def _stopped(words: pa.StringArray, options: TokenizerOptions) -> NDArray[np.bool_]:
    """Which words are stop words; by the first rule, only those that are written the same."""
    if options.rule == FIRST_RULE:
        return np.asarray(pc.is_in(words, value_set=pa.array(options.stop_words, pa.string())))
    return are_stop_words(words, options.stop_words)


# Words of scripts without spaces may stand beside a part, and end it.
_LETTER = rf"[\w--{UNSPACED}]"
# Parts of texts that are no words, in the order in which they are removed, because one kind may be
# part of another.
_PARTS = {
    "urls": rf"(?<!{_LETTER})(?:[A-Za-z][A-Za-z0-9+.-]{{0,20}}://|[Ww][Ww][Ww]\.)"
    rf"[^\s<>\"{UNSPACED}[\p{{P}}--\p{{ASCII}}]]+(?<![.,;:!?)'])",
    "emails": rf"(?<![{_LETTER}.+-])[{_LETTER}.+-]++@[{_LETTER}-]+(?:\.[{_LETTER}-]+)+",
    "mentions": rf"(?<![{_LETTER}@])@\w+",
    "hashtags": rf"(?<![{_LETTER}&])[#＃]\w+",
}


def _ready(texts: pa.StringArray, options: TokenizerOptions) -> pa.StringArray:
    """Texts in the form that is cut into sentences and tokens, with spaces for removed parts."""
    if options.remove:
        chosen = [pattern for name, pattern in _PARTS.items() if name in options.remove]
        part = regex.compile("|".join(chosen), regex.V1)
        texts = pa.array([part.sub(" ", text) for text in texts.to_pylist()], pa.string())
    if options.form is not None:
        texts = in_form(texts, options.form)
    if options.language in SEGMENTED:
        texts = with_words_divided(texts, options.language)
    return texts


def _cut(texts: pa.StringArray, options: TokenizerOptions) -> Tokens:
    """The tokens of texts that are ready to be cut, but not yet in lower case."""
    lowercase, pattern = options.lowercase, options.token_pattern
    if options.from_lists:
        problem = "it was made from lists of words, so there is no rule for splitting texts"
        hint = "Pass lists of words ([words] for one document), or a function with --tokenizer."
        raise VocabularyError("vocabulary", f"{problem} into words", hint)
    if pattern is None and options.function is None:
        if options.rule != FIRST_RULE:
            weights = letter_weights(are_words_divided=options.language in SEGMENTED)
            return scan_tokens(texts, (weights, LEAST_WEIGHT), lowercase=lowercase)
        pattern = FIRST_PATTERN
    run = pattern and character_run(pattern, options.compiled, lowercase=lowercase)
    read = pc.utf8_lower(texts) if lowercase and not run else texts
    if run:
        tokens = scan_tokens(texts, run, lowercase=lowercase)
    elif pattern is not None:
        tokens = match_tokens(read, options.compiled(pattern))
    else:
        assert options.function is not None
        tokens = tokens_of_lists(call_tokenizer(options.function, read.to_pylist()))
    return with_letters(tokens, texts, letter_weights(are_words_divided=True))
