"""The options of making a corpus, and how they are made from what a user gives."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sparsetopics.base.errors import OptionError, SourceError, warn_user
from sparsetopics.corpora.readers.blocks import ReadingAccount
from sparsetopics.corpora.readers.formats import TextCollection, find_collection
from sparsetopics.corpora.readers.options import ReadOptions, VectorReadOptions
from sparsetopics.corpora.sources.archives import ZipMember
from sparsetopics.corpora.sources.byte_stream import reading
from sparsetopics.corpora.sources.remote import RemoteFile, is_url
from sparsetopics.corpora.store.unfinished import Job
from sparsetopics.corpora.text.lemmas import check_lemmas
from sparsetopics.corpora.text.pruning import PruningOptions
from sparsetopics.corpora.text.segmenting import check_segmenter
from sparsetopics.corpora.text.stop_words import (
    are_languages,
    stop_words_of_language,
    stop_words_of_lists,
)
from sparsetopics.corpora.text.tokenizer import TokenizerOptions, options_for
from sparsetopics.corpora.text.tokenizer_functions import GivenFunction, load_tokenizer, module_of
from sparsetopics.corpora.text.tokens import PhraseOptions, Tokens, learn_phrases
from sparsetopics.corpora.text.vocabulary import Setting, Vocabulary
from sparsetopics.options.ingest_table import FROM_TOKENS, INGEST_OPTION
from sparsetopics.options.option import Given, check_values, fields_by_part, made, quoted, taken
from sparsetopics.options.workplace import Workplace


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
    candidates: bool = True  # keep the frequencies of words that are not taken, too
    grow_vocabulary: bool = False  # by words that pass the cuts with the documents of an append

    def __post_init__(self) -> None:
        if self.vocabulary is not None:
            self.pruning.refuse_beside("vocabulary", "whose words are used unchanged")
            if self.phrases is not None:
                raise OptionError("phrases", "a given vocabulary has its own phrases, if any")
        if self.phrases is not None and self.tokenizer is not None and self.tokenizer.ngrams > 1:
            raise OptionError("ngrams", "cannot be combined with --phrases")

    @property
    def given_of_tokens(self) -> list[str]:
        """The names of the options of cutting texts that were given, and are not the default."""
        chosen, usual = self.tokenizer or TokenizerOptions(), TokenizerOptions()
        rows = [row for row in INGEST_OPTION.values() if row.part == "tokenizer"]
        return [row.name for row in rows if getattr(chosen, row.field) != getattr(usual, row.field)]

    def settings_of(
        self, tokenizer: TokenizerOptions, account: ReadingAccount
    ) -> Mapping[str, Setting]:
        """The settings that a vocabulary remembers. They say so if it was made from documents that
        all came as lists of words.

        Raises OptionError if an option for texts was given for lists, SourceError if some documents
        are texts and others are lists.
        """
        n_docs, n_texts = account[0], account[5]
        if n_texts == n_docs or self.vocabulary is not None:
            return tokenizer.settings()
        if n_texts:
            problem = f"{n_texts:,} are texts, but {n_docs - n_texts:,} are lists of words"
            raise SourceError("documents", problem, "Make two corpora.")
        for name in self.given_of_tokens:
            if not INGEST_OPTION[name].is_at(FROM_TOKENS):
                problem = "is for texts, but the documents are lists of words"
                hint = "Use --stop-words instead." if name == "language" else ""
                raise OptionError(name, problem, hint)
        return replace(tokenizer, from_lists=True).settings()

    def find(self, sources: Iterable[str | Path], say: Callable[[str], None]) -> TextCollection:
        """The files of documents that ``sources`` name; ``say`` is as in ``find_collection``."""
        return find_collection(
            sources, self.format, self.read, follow_links=self.follow_links, say=say
        )


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
    cannot be used.
    """
    tokenizer = options_for(given, options.tokenizer)
    check_segmenter(tokenizer.language)
    if tokenizer.lemmas is not None:
        check_lemmas(tokenizer.lemmas)
    if options.tokenizer is not None and tokenizer.function is not None:
        load_tokenizer(tokenizer.function)  # so that a function that cannot be used fails at once
    joins = options.phrases is not None or tokenizer.ngrams > 1
    if given is None and (joins or tokenizer.lemmas is not None):
        # They must be gone before tokens are joined.
        stop_words = {*tokenizer.stop_words, *options.pruning.stop_words}
        tokenizer = replace(tokenizer, stop_words=tuple(sorted(stop_words)))
    if options.phrases is None:
        return tokenizer
    return replace(tokenizer, phrases=learn_phrases(tokens(tokenizer), options.phrases))


def options_at(
    door: str,
    arguments: Mapping[str, Any],  # whatever users pass
) -> IngestOptions:
    """The options among the arguments of a function of ``Corpus``."""
    # A vocabulary is given as an object, or as the folder of a corpus or a run.
    rows = [row for row in INGEST_OPTION.values() if row.is_at(door) and row.name != "vocabulary"]
    given = {row.name: arguments.get(row.argument or row.key) for row in rows}
    return document_options(given, vocabulary=arguments.get("vocabulary"))


def document_options(
    given: Given, *, vocabulary: Path | Vocabulary | None = None, overwrite: bool = False
) -> IngestOptions:
    """The options for documents with the values that a user gives, by the names of the table.

    None stands for the default. A string for stop words names lists, as ``stop_words_of_lists``
    has them.
    Raises OptionError for wrong values, and for options that do not go together.
    """
    stop_words, language = given.get("stop-words"), given.get("language")
    if callable(function := given.get("tokenizer")):
        given = {**given, "tokenizer": GivenFunction.of(function)}
    if isinstance(stop_words, str):
        given = {**given, "stop-words": stop_words_of_lists([stop_words])}
    elif isinstance(stop_words, list | tuple | set) and are_languages(
        names := [*map(str, stop_words)]
    ):
        hint = f"to use the lists of these languages, pass {','.join(names)!r}"
        warn_user(f"stop_words was taken as a list of words; {hint}")
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
    parts = {"read": made(VectorReadOptions, own["read"]), "where": made(Workplace, own["where"])}
    return made(VectorOptions, {**own[""], **parts, "overwrite": overwrite})


# --- what an interrupted ingest is compared with --------------------------------------------------
def job_of(
    sources: Sequence[str | Path], collection: TextCollection, options: IngestOptions
) -> Job | None:
    """What identifies a repeated command; None if changes of the files cannot be detected."""
    function = None if options.tokenizer is None else options.tokenizer.function
    if function is not None:
        load_tokenizer(function)
    ignored = {"where", "overwrite"}  # they leave the corpus the same
    given = {name: value for name, value in asdict(options).items() if name not in ignored}
    named = [str(s) if is_url(s) else os.path.abspath(s) for s in sources]
    said = {"release": version("sparsetopics"), "sources": named, "options": given}
    found = hashlib.sha256()
    for file in collection.files:
        if isinstance(file.path, RemoteFile):
            return None
        with reading(file.path):
            found.update(f"{file.path}\0{file.name}\0{_stamp(file.path)}\0".encode())
    origin = None if function is None else getattr(module_of(function), "__file__", None)
    if origin is not None:
        found.update(_stamp(Path(origin)).encode())
    command = json.dumps(said, default=_as_json, sort_keys=True)
    return Job(hashlib.sha256(command.encode()).hexdigest(), found.hexdigest())


def _stamp(place: Path | ZipMember) -> str:
    """Facts that change when the content of a file changes."""
    if isinstance(place, Path):
        stat = place.stat()
        return f"{stat.st_size} {stat.st_mtime_ns}"
    return f"{place.info.file_size} {place.info.CRC}"


def _as_json(value: frozenset[str] | Path) -> list[str] | str:
    return sorted(value) if isinstance(value, frozenset) else str(value)
