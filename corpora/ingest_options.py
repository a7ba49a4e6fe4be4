"""The options of making a corpus, and how they are made from what a user gives."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from sparsetopics.base.errors import OptionError, SparsetopicsWarning
from sparsetopics.corpora.readers.formats import TextCollection, find_collection
from sparsetopics.corpora.readers.options import ReadOptions, VectorReadOptions
from sparsetopics.corpora.store.document_rows import vocabulary_of_corpus
from sparsetopics.corpora.text.lemmas import check_lemmas
from sparsetopics.corpora.text.phrases import PhraseOptions, learn_phrases
from sparsetopics.corpora.text.pruning import PruningOptions
from sparsetopics.corpora.text.segmenting import check_segmenter
from sparsetopics.corpora.text.stop_words import (
    are_languages,
    stop_words_of_language,
    stop_words_of_lists,
)
from sparsetopics.corpora.text.tokenizer import TokenizerOptions, options_for
from sparsetopics.corpora.text.tokenizer_functions import load_tokenizer
from sparsetopics.corpora.text.tokens import Tokens
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.options.ingest_table import INGEST_OPTION
from sparsetopics.options.option import Given, check_values, fields_by_part, made, quoted, taken
from sparsetopics.options.workplace import Workplace

VOCABULARY = "vocabulary"  # given as an object, or as the folder of a corpus or a run


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOptions:
    """How to make a corpus of documents.

    ``vocabulary`` is a vocabulary, or the folder of a corpus that has one. Its words are used as
    they are; then nothing is pruned, and its tokeniser settings are used unless others are given.
    ``phrases`` are learned in a first pass over the sources and become tokeniser settings, as do
    stop words where tokens are joined. ``read.keep`` names the fields that the corpus keeps besides
    ids and labels. The result does not depend on ``where``.
    """

    format: str | None = None  # None: the extension tells it
    read: ReadOptions = field(default_factory=ReadOptions)
    tokenizer: TokenizerOptions | None = None  # None: that of the vocabulary, or the default
    phrases: PhraseOptions | None = None
    pruning: PruningOptions = field(default_factory=PruningOptions)
    vocabulary: Path | Vocabulary | None = None
    where: Workplace = field(default_factory=Workplace)
    overwrite: bool = False
    follow_links: bool = False  # in folders, to files outside and to other folders

    def __post_init__(self) -> None:
        if self.vocabulary is not None:
            self.pruning.refuse_beside("vocabulary", "whose words are used unchanged")
            if self.phrases is not None:
                raise OptionError("phrases", "a given vocabulary has its own phrases, if any")
        if self.phrases is not None and self.tokenizer is not None and self.tokenizer.ngrams > 1:
            raise OptionError("ngrams", "cannot be combined with --phrases")

    def find(self, sources: Iterable[str | Path], say: Callable[[str], None]) -> TextCollection:
        """The files of documents that ``sources`` name; ``say`` is as in ``find_collection``."""
        return find_collection(
            sources, self.format, self.read, follow_links=self.follow_links, say=say
        )

    @property
    def given(self) -> Vocabulary | None:
        """The given vocabulary; CorpusFormatError if its corpus is damaged."""
        if isinstance(self.vocabulary, Path):
            return vocabulary_of_corpus(self.vocabulary)
        return self.vocabulary


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorOptions:
    """How to make a corpus of vectors.

    Patches, which have lost their mean, become coordinates in ``patch_basis``, and the components
    of ``pca`` are fitted to these. ``projection`` is the folder of a corpus of vectors whose
    projection is used as it is; columns and patches are then those of that corpus, unless others
    are given. The result does not depend on ``where``.
    """

    format: str | None = None  # None: the extension tells it
    read: VectorReadOptions = field(default_factory=VectorReadOptions)
    pca: int | None = None  # the number of components
    whiten: bool = False  # give each component unit variance
    seed: int = 0  # of the sample of items that components are fitted to
    projection: Path | None = None
    where: Workplace = field(default_factory=Workplace)
    overwrite: bool = False
    follow_links: bool = False  # in folders, to files outside and to other folders

    def __post_init__(self) -> None:
        check_values(INGEST_OPTION, "", self)
        if self.pca is not None and self.projection is not None:
            raise OptionError("projection", "cannot be combined with --pca")


def settled_tokenizer(
    options: IngestOptions,
    given: Vocabulary | None,
    tokens: Callable[[TokenizerOptions], Iterable[Tokens]],
) -> TokenizerOptions:
    """How texts are cut, under the ``given`` vocabulary if there is one.

    Phrases are learned from the ``tokens`` of all texts. Raises OptionError for a function that
    cannot be used, VocabularyError if the vocabulary needs one that is not named.
    """
    tokenizer = options_for(given, options.tokenizer)
    if tokenizer.language is not None:
        check_segmenter(tokenizer.language)
    if tokenizer.lemmas is not None:
        check_lemmas(tokenizer.lemmas)
    if tokenizer.function is not None:
        load_tokenizer(tokenizer.function)  # so that a function that cannot be used fails at once
    joins = options.phrases is not None or tokenizer.ngrams > 1
    if given is None and (joins or tokenizer.lemmas is not None):
        tokenizer = tokenizer.before_joining(options.pruning.stop_words)
    if options.phrases is None:
        return tokenizer
    return replace(tokenizer, phrases=learn_phrases(tokens(tokenizer), options.phrases))


def given_at(door: str, arguments: Given) -> Given:
    """The options among the arguments of a function, by the names of the table."""
    rows = [row for row in INGEST_OPTION.values() if row.is_at(door) and row.name != VOCABULARY]
    return {row.name: arguments[row.argument or row.key] for row in rows}


def document_options(
    given: Given, *, vocabulary: Path | Vocabulary | None = None, overwrite: bool = False
) -> IngestOptions:
    """The options for documents with the values that a user gives, by the names of the table.

    None stands for the default. A string for stop words names lists, as ``stop_words_of_lists``
    has them.
    Raises OptionError for wrong values, and for options that do not go together.
    """
    stop_words, language = given.get("stop-words"), given.get("language")
    if isinstance(stop_words, str):
        given = {**given, "stop-words": stop_words_of_lists([stop_words])}
    elif isinstance(stop_words, list | tuple | set) and are_languages(
        names := [*map(str, stop_words)]
    ):
        hint = f"to use the lists of these languages, pass {','.join(names)!r}"
        warnings.warn(f"stop_words was taken as a list of words; {hint}", SparsetopicsWarning, 4)
    if isinstance(formats := given.get("date-format"), Mapping):
        given = {**given, "date-format": [f"{name}={how}" for name, how in formats.items()]}
    if isinstance(texts := given.get("text-field"), list | tuple):
        given = {**given, "text-field": quoted("text-field", texts)}
    if isinstance(language, str):
        of_language = stop_words_of_language(language)
        if stop_words is None and vocabulary is None:
            given = {**given, "stop-words": of_language}
    said = taken(INGEST_OPTION, given)
    own = fields_by_part(INGEST_OPTION, said)
    # A function gets the text as it is.
    tokens = own["tokenizer"] and {"lowercase": "function" not in own["tokenizer"]}
    parts = {
        "read": made(ReadOptions, own["read"]),
        "tokenizer": made(TokenizerOptions, tokens | own["tokenizer"]) if tokens else None,
        "phrases": made(PhraseOptions, own["phrases"]) if said.get("phrases") else None,
        "pruning": made(PruningOptions, own["pruning"]),
        "vocabulary": vocabulary,
        "where": made(Workplace, own["where"]),
    }
    return made(IngestOptions, {**own[""], **parts, "overwrite": overwrite})


def vector_options(given: Given, *, overwrite: bool = False) -> VectorOptions:
    """The options for vectors, as ``document_options`` are for documents."""
    own = fields_by_part(INGEST_OPTION, taken(INGEST_OPTION, given))
    parts = {
        "read": made(VectorReadOptions, own["read"]),
        "where": made(Workplace, own["where"]),
    }
    return made(VectorOptions, {**own[""], **parts, "overwrite": overwrite})
