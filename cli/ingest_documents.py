"""The options of ``sparsetopics ingest`` that are for documents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparsetopics.base.errors import OptionError
from sparsetopics.cli.named_path import NAMED_PATH
from sparsetopics.cli.option_groups import option_group

if TYPE_CHECKING:
    from sparsetopics.corpora.text.phrases import PhraseOptions
    from sparsetopics.corpora.text.pruning import PruningOptions
    from sparsetopics.corpora.text.tokenizer import TokenizerOptions


@dataclass(frozen=True)
class DocumentChoices:
    """What the user said of documents; None where nothing was said."""

    text_field: str
    vocabulary_file: Path | None
    encoding_errors: str
    token_pattern: str | None
    lowercase: bool | None
    tokenizer: str | None
    ngrams: int | None
    phrases: bool
    phrase_threshold: float | None
    stop_words: tuple[str, ...]
    min_df: int | float | None
    max_df: int | float | None
    max_words: int | None
    vocabulary: Path | None

    def tokenizer_options(self) -> TokenizerOptions | None:
        """The settings, or None where nothing was said, so that a vocabulary's own are used."""
        from sparsetopics.corpora.text.tokenizer import DEFAULT_PATTERN, TokenizerOptions

        said = (self.token_pattern, self.lowercase, self.tokenizer, self.ngrams)
        if all(choice is None for choice in said):
            return None
        lowercase = self.tokenizer is None if self.lowercase is None else self.lowercase
        return TokenizerOptions(
            DEFAULT_PATTERN if self.token_pattern is None else self.token_pattern,
            lowercase,
            self.tokenizer,
            1 if self.ngrams is None else self.ngrams,
        )

    def phrase_options(self) -> PhraseOptions | None:
        from sparsetopics.corpora.text.phrases import PhraseOptions

        if not self.phrases:
            if self.phrase_threshold is not None:
                raise OptionError("--phrase-threshold", found="no --phrases", wanted="both")
            return None
        if self.phrase_threshold is None:
            return PhraseOptions()
        return PhraseOptions(self.phrase_threshold)

    def pruning_options(self) -> PruningOptions:
        from sparsetopics.corpora.text.pruning import PruningOptions

        return PruningOptions(self.min_df, self.max_df, self.max_words, self._stop_words())

    def _stop_words(self) -> frozenset[str]:
        from sparsetopics.corpora.text.stop_words import english_stop_words, read_stop_words

        words: set[str] = set()
        for choice in self.stop_words:
            if choice == "english":
                words |= english_stop_words()
            elif choice != "none":
                _check_stop_word_file(choice)
                words |= read_stop_words(Path(choice))
        return frozenset(words)


def _check_stop_word_file(choice: str) -> None:
    if not choice or not Path(choice).exists():
        raise OptionError(
            "--stop-words",
            found=f"{choice!r}, which is no file",
            wanted="english, none or a file of words",
            hint="No other language has a list of its own here.",
        )


def _share_or_count(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> int | float | None:
    """A share of the documents (0.5) or a number of them (5)."""
    if value is None:
        return None
    try:
        return float(value) if "." in value else int(value)
    except ValueError as error:
        raise click.BadParameter(
            f"{value!r} is no share such as 0.5 and no count such as 5", ctx, param
        ) from error


document_options = option_group(
    "documents",
    DocumentChoices,
    [
        click.option(
            "--text-field", default="text", show_default=True, help="Field that holds the text."
        ),
        click.option(
            "--vocabulary-file",
            type=NAMED_PATH,
            help="Words of a collection of counts (uci, ldac, matrix-market): one a line, or "
            "gensim's dictionary as text. Default: a file such as vocab.NAME.txt or NAME.vocab "
            "beside it.",
        ),
        click.option(
            "--encoding-errors",
            type=click.Choice(["strict", "replace"]),
            default="strict",
            show_default=True,
            help="Stop at bytes that are not UTF-8, or replace them.",
        ),
        click.option(
            "--token-pattern",
            help=r"Regular expression of a token. Default: [^\W\d_]{3,}, three letters or more.",
        ),
        click.option(
            "--lowercase/--no-lowercase",
            default=None,
            help="Default: lower case; with --tokenizer the text as it is.",
        ),
        click.option(
            "--tokenizer",
            metavar="MODULE:NAME",
            help="Python function that takes a text and returns its words, looked for in the "
            "current folder too; instead of --token-pattern.",
        ),
        click.option(
            "--ngrams",
            type=int,
            metavar="N",
            help="Add runs of up to N tokens as words, joined by _. Stop words are taken out "
            "first.",
        ),
        click.option(
            "--phrases",
            is_flag=True,
            help="Learn which pairs of words belong together, by gensim, and make each one word, "
            "joined by _. Reads the sources twice. Stop words are taken out first.",
        ),
        click.option(
            "--phrase-threshold",
            type=float,
            metavar="NPMI",
            help="With --phrases: least normalised mutual information of a pair, -1 to 1. "
            "Default: 0.5.",
        ),
        click.option(
            "--stop-words",
            multiple=True,
            metavar="english|none|FILE",
            help="Words to leave out; may be given several times. Default: none.",
        ),
        click.option(
            "--min-df",
            callback=_share_or_count,
            metavar="SHARE|COUNT",
            help="Leave out words in fewer documents. Default: 2; 1 for counts and below 100 "
            "documents.",
        ),
        click.option(
            "--max-df",
            callback=_share_or_count,
            metavar="SHARE|COUNT",
            help="Leave out words in more documents. Default: 0.5; 1.0 for counts and below 100 "
            "documents.",
        ),
        click.option("--max-words", type=int, help="Keep only the most frequent words."),
        click.option(
            "--vocabulary",
            type=NAMED_PATH,
            help="Use the words, and the tokeniser settings, of this corpus or run as they are.",
        ),
    ],
)
