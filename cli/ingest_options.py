"""The options of ``sparsetopics ingest``: for all sources, for documents, for vectors."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparsetopics.base.errors import OptionError
from sparsetopics.base.sealed_files import absence
from sparsetopics.cli.parameter_types import (
    ANY_NUMBER,
    NAMED_PATH,
    TEXT,
    WHOLE,
    NameType,
    NumberType,
    typed_name,
)
from sparsetopics.cli.shared_options import (
    EXECUTOR_OPTIONS,
    option_group,
    seed_option,
    table_option,
)
from sparsetopics.options.option import refuse, shown
from sparsetopics.options.table import ExecutorName
from sparsetopics.options.workplace import Workplace

if TYPE_CHECKING:
    from sparsetopics.corpora.ingest import IngestOptions
    from sparsetopics.corpora.ingest_vectors import VectorOptions
    from sparsetopics.corpora.projection import PcaOptions
    from sparsetopics.corpora.text.vocabulary import Vocabulary

HELP_SECTIONS = {
    "Words": (
        "stop_words", "min_df", "max_df", "max_words", "ngrams", "phrases", "phrase_threshold",
        "token_pattern", "lowercase", "tokenizer",
    ),
    "Sources": (
        "format_name", "kind", "text_field", "id_field", "label_field", "keep", "vocabulary_file",
        "encoding_errors", "follow_links",
    ),
    "Vectors and images": (
        "columns", "values_field", "patches", "stride", "pca", "whiten", "seed", "projection",
    ),
    "Execution": ("workers", "executor", "scheduler"),
}  # fmt: skip
NEEDS = {"phrase_threshold": "phrases", "whiten": "pca", "seed": "pca"}
_MOST_WORKERS = 4  # by default, since each takes some 150 MB


@dataclass(frozen=True)
class CommonChoices:
    """Options for documents and vectors; None if an option was not given."""

    format_name: str | None
    id_field: str | None
    label_field: str | None
    follow_links: bool
    overwrite: bool
    workers: int | None
    executor: ExecutorName
    scheduler: str | None

    @property
    def place(self) -> Workplace:
        """Where to work; raises OptionError if the options do not fit together."""
        n_workers = self.workers
        if n_workers is None:
            n_cores = os.cpu_count() or 1
            n_workers = 1 if self.executor == "serial" else min(_MOST_WORKERS, n_cores)
        return Workplace(self.executor, n_workers, self.scheduler)


@dataclass(frozen=True)
class DocumentChoices:
    """Options for documents; None if an option was not given."""

    text_field: str
    keep: tuple[str, ...]
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

    def resolved(self, common: CommonChoices) -> IngestOptions:
        """The options of the library; raises OptionError if they do not fit together."""
        from sparsetopics.corpora.ingest import IngestOptions
        from sparsetopics.corpora.readers.options import ReadOptions
        from sparsetopics.corpora.text.word_options import word_options

        place = common.place
        words = word_options(
            stop_words=self._stop_words(),
            min_df=self.min_df,
            max_df=self.max_df,
            max_words=self.max_words,
            ngrams=self.ngrams,
            phrases=self.phrases,
            phrase_threshold=self.phrase_threshold,
            token_pattern=self.token_pattern,
            lowercase=self.lowercase,
            tokenizer=self.tokenizer,
        )
        return IngestOptions(
            format=common.format_name,
            read=ReadOptions(
                self.text_field,
                common.id_field,
                common.label_field,
                self.encoding_errors,
                self.vocabulary_file,
                self.keep,
            ),
            tokenizer=words.tokenizer,
            phrases=words.phrases,
            pruning=words.pruning,
            vocabulary=_vocabulary(self.vocabulary),
            workers=place.workers,
            overwrite=common.overwrite,
            executor=place.executor,
            scheduler=place.scheduler,
            follow_links=common.follow_links,
        )

    def _stop_words(self) -> frozenset[str]:
        from sparsetopics.corpora.text.stop_words import (
            ENGLISH,
            language_codes,
            read_stop_words,
            stop_words_of,
        )

        words: frozenset[str] = frozenset()
        if "none" in self.stop_words and len(set(self.stop_words)) > 1:
            refuse("stop-words", "none cannot be combined with others")
        for choice in self.stop_words:
            if choice == ENGLISH or choice in language_codes():
                words |= stop_words_of(choice)
            elif choice != "none":
                _check_stop_word_file(choice)
                words |= read_stop_words(Path(choice))
        return words


@dataclass(frozen=True)
class VectorChoices:
    """Options for vectors; None if an option was not given."""

    columns: tuple[str, ...] | None
    values_field: str | None
    patches: int | None
    stride: int | None
    pca: int | None
    whiten: bool
    seed: int
    projection: Path | None

    def resolved(self, common: CommonChoices) -> VectorOptions:
        """The options of the library; raises OptionError if they do not fit together."""
        from sparsetopics.corpora.ingest_vectors import VectorOptions
        from sparsetopics.corpora.readers.options import VectorReadOptions

        place = common.place
        return VectorOptions(
            format=common.format_name,
            read=VectorReadOptions(
                self.columns,
                self.values_field,
                common.id_field,
                common.label_field,
                self.patches,
                self.stride,
            ),
            pca=self._pca_options(),
            projection=self.projection,
            workers=place.workers,
            overwrite=common.overwrite,
            executor=place.executor,
            scheduler=place.scheduler,
            follow_links=common.follow_links,
        )

    def _pca_options(self) -> PcaOptions | None:
        from sparsetopics.corpora.projection import PcaOptions

        return None if self.pca is None else PcaOptions(self.pca, self.whiten, self.seed)


def _check_stop_word_file(choice: str) -> None:
    if not os.path.exists(choice):  # which is False, too, for names that no file can have
        hint = "A code is de for German, for example; a file has one word per line."
        problem = f"must be english, none, the code of a language or a file, but is {shown(choice)}"
        refuse("stop-words", problem, hint)


class _ShareOrCount(NumberType):
    """A share of the documents (0.5) or a number of documents (5); the library has the limits."""

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | float:
        try:
            return float(value) if "." in str(value) else int(value)
        except ValueError as error:
            where = "value" if param is None else typed_name(param)
            problem = f"must be a share such as 0.5 or a count such as 5, but is {shown(value)}"
            raise OptionError(where, problem) from error


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(name.strip() for name in value.split(","))


def _all_names(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    return tuple(name.strip() for value in values for name in value.split(","))


common_options = option_group(
    "common",
    CommonChoices,
    [
        click.option(
            "--format",
            "format_name",
            type=TEXT,
            metavar="NAME",
            help="Format of the sources. Documents: text (one document per file), lines (one per "
            "line), jsonl, csv, parquet, arrow, uci, lda-c or matrix-market. Vectors: npy, npz, "
            "csv, parquet, arrow or image. Default: given by the file name extension.",
        ),
        click.option(
            "--id-field",
            type=TEXT,
            help="Field with the name of a document or item. Default: id, if present.",
        ),
        click.option(
            "--label-field", type=TEXT, help="Field with a label. Default: label, if present."
        ),
        click.option(
            "--follow-links",
            is_flag=True,
            help="Also read links in folders that point to another folder or out of the folder.",
        ),
        click.option("--overwrite", is_flag=True, help="Replace the corpus if it exists."),
        table_option(
            "workers",
            "Number of threads, or of the processes that dask starts. It never changes the result. "
            f"Default: the number of cores, at most {_MOST_WORKERS}.",
        ),
        *EXECUTOR_OPTIONS,
    ],
)

document_options = option_group(
    "documents",
    DocumentChoices,
    [
        click.option(
            "--text-field",
            type=TEXT,
            default="text",
            show_default=True,
            help="Field with the text.",
        ),
        click.option(
            "--keep",
            type=TEXT,
            multiple=True,
            callback=_all_names,
            metavar="all|A,B:TYPE,...",
            help="Fields to keep in the corpus besides ids and labels: text (the texts), others by "
            "name, or all. Values tell whether a field is a number, a date or a string, unless "
            "TYPE does. Can be given several times. Texts may be private: nothing is kept by "
            "default.",
        ),
        click.option(
            "--vocabulary-file",
            type=NAMED_PATH,
            help="Words for a collection of counts (uci, lda-c, matrix-market): one per line, or a "
            "gensim dictionary saved as text. Default: a file such as vocab.txt, vocab.NAME.txt "
            "or NAME.vocab in the same folder.",
        ),
        click.option(
            "--encoding-errors",
            type=NameType(["strict", "replace"]),
            default="strict",
            show_default=True,
            help="Stop at bytes that are not UTF-8, or replace them.",
        ),
        click.option(
            "--token-pattern",
            type=TEXT,
            help=r"Regular expression that matches a token. Default: [^\W\d_]{3,}, which matches "
            "three letters or more.",
        ),
        click.option(
            "--lowercase/--no-lowercase",
            default=None,
            help="Convert text to lower case. Default: yes, unless --tokenizer is given.",
        ),
        click.option(
            "--tokenizer",
            type=TEXT,
            metavar="MODULE:NAME",
            help="Python function that takes a text and returns its words, instead of "
            "--token-pattern. The module may be in the current folder.",
        ),
        click.option(
            "--ngrams",
            type=NumberType(WHOLE),
            metavar="N",
            help="Add sequences of up to N tokens as words, joined by _. Stop words are removed "
            "first.",
        ),
        click.option(
            "--phrases",
            is_flag=True,
            help="Learn with gensim which pairs of words belong together, and make each pair one "
            "word, joined by _. Reads the sources twice. Stop words are removed first.",
        ),
        click.option(
            "--phrase-threshold",
            type=NumberType(ANY_NUMBER),
            metavar="NPMI",
            help="With --phrases: smallest normalised pointwise mutual information of a pair, from "
            "-1 to 1. Default: 0.5.",
        ),
        click.option(
            "--stop-words",
            type=TEXT,
            multiple=True,
            metavar="english|none|CODE|FILE",
            help="Words to remove: the bundled English list, that of a language by its code (de, "
            "fr, es and others), or a file. Can be given several times. Default: none.",
        ),
        click.option(
            "--min-df",
            type=_ShareOrCount(ANY_NUMBER),
            metavar="SHARE|COUNT",
            help="Remove words that occur in fewer documents. Default: 2, or 1 for collections of "
            "counts and for fewer than 100 documents.",
        ),
        click.option(
            "--max-df",
            type=_ShareOrCount(ANY_NUMBER),
            metavar="SHARE|COUNT",
            help="Remove words that occur in more documents. Default: 0.5, or 1.0 for collections "
            "of counts and for fewer than 100 documents.",
        ),
        click.option(
            "--max-words", type=NumberType(WHOLE), help="Keep only this many most frequent words."
        ),
        click.option(
            "--vocabulary",
            type=NAMED_PATH,
            help="Use the words and the tokenizer settings of this corpus or run unchanged.",
        ),
    ],
)

vector_options = option_group(
    "vectors",
    VectorChoices,
    [
        click.option(
            "--columns",
            type=TEXT,
            callback=_names,
            metavar="A,B,...",
            help="Columns of a table that hold the values. Default: all numeric columns.",
        ),
        click.option(
            "--values-field",
            type=TEXT,
            help="Array of an .npz file that holds the values. Default: values, or the only "
            "matrix.",
        ),
        click.option(
            "--patches",
            type=NumberType(WHOLE),
            metavar="SIDE",
            help="Cut images into squares of SIDE × SIDE pixels and subtract their mean. A patch "
            "becomes SIDE² - 1 columns, its cosine transform without the constant. Default: whole "
            "images.",
        ),
        click.option(
            "--stride",
            type=NumberType(WHOLE),
            help="Pixels from one patch to the next. Default: SIDE.",
        ),
        click.option(
            "--pca",
            type=NumberType(WHOLE),
            metavar="D",
            help="Project vectors onto D principal components.",
        ),
        click.option(
            "--whiten", is_flag=True, help="With --pca: scale each component to unit variance."
        ),
        seed_option("With --pca: seed of the random sample that the components are computed from."),
        click.option(
            "--projection",
            type=NAMED_PATH,
            help="Use the projection of this corpus unchanged, and read the same columns or "
            "patches.",
        ),
    ],
)


def _vocabulary(folder: Path | None) -> Path | Vocabulary | None:
    """A corpus folder as it is, or the vocabulary of a run, because ingest knows corpora only."""
    from sparsetopics.runs.run_files import SETTINGS_FILE, vocabulary_of

    if folder is not None and os.path.isfile(folder):  # False for names that no file has
        refuse("vocabulary", f"must be the folder of a corpus or a run, but {folder} is a file")
    if folder is None or absence(folder / SETTINGS_FILE):
        return folder
    return vocabulary_of(folder)
