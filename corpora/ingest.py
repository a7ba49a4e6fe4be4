"""From files to a corpus folder, in bounded memory, each document tokenised once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from sparsetopics.base.errors import OptionError, SourceError
from sparsetopics.base.outputs import refuse_inputs
from sparsetopics.corpora.readers.blocks import CountedBlock, PendingBlock, with_running_numbers
from sparsetopics.corpora.readers.formats import Collection, find_collection
from sparsetopics.corpora.sources.sources import ReadOptions, names_of
from sparsetopics.corpora.store.document_manifest import Manifest, Sizes, write_manifest
from sparsetopics.corpora.store.encoding import EncodedBlock, encode
from sparsetopics.corpora.store.manifest import ShardEntry
from sparsetopics.corpora.store.shards import ShardWriter
from sparsetopics.corpora.store.spool import Spool
from sparsetopics.corpora.store.unfinished import (
    Job,
    WorkFolder,
    corpus_output,
    job_of,
    paths_of,
    work_folder,
)
from sparsetopics.corpora.text.phrases import PhraseOptions, learn_phrases
from sparsetopics.corpora.text.pruning import PruningOptions, prune
from sparsetopics.corpora.text.tokenizer import (
    TokenizerOptions,
    count_texts,
    options_for,
    tokens_of,
)
from sparsetopics.corpora.text.tokenizer_functions import load_tokenizer, where_function_is_same
from sparsetopics.corpora.text.tokens import Tokens
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.corpora.text.word_tally import WordTally
from sparsetopics.execution.executors import OrderedMap, open_map_here, open_ordered_map
from sparsetopics.options.table import ExecutorName
from sparsetopics.options.training import Workplace


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """How to make a corpus of files.

    ``vocabulary`` names a corpus or run folder whose words are used as they are; then nothing is
    pruned, and tokeniser settings are taken from there unless given. ``phrases`` are learned in a
    pass of its own over the sources and become tokeniser settings; stop words do too where tokens
    are joined. The result does not depend on ``workers``, ``executor`` and ``scheduler``.
    """

    format: str | None = None  # by extension if None
    read: ReadOptions = field(default_factory=ReadOptions)
    tokenizer: TokenizerOptions | None = None
    phrases: PhraseOptions | None = None
    pruning: PruningOptions = field(default_factory=PruningOptions)
    vocabulary: Path | None = None
    workers: int = 1
    overwrite: bool = False
    executor: ExecutorName = "threads"
    scheduler: str | None = None  # of a Dask cluster
    follow_links: bool = False  # in folders, out of them and to other folders

    @property
    def workplace(self) -> Workplace:
        """Where the documents are counted."""
        return Workplace(self.executor, self.workers, self.scheduler)

    def __post_init__(self) -> None:
        _ = self.workplace  # which refuses what cannot be
        if self.vocabulary is not None and self.pruning != PruningOptions():
            raise OptionError(
                "vocabulary",
                found="a given vocabulary with stop words or frequency limits",
                wanted="one or the other: a given vocabulary is used as it is",
            )
        if self.vocabulary is not None and self.phrases is not None:
            raise OptionError(
                "phrases",
                found="a given vocabulary",
                wanted="none: phrases are taken from where its words are",
            )
        if self.phrases is not None and self.tokenizer is not None and self.tokenizer.ngrams > 1:
            raise OptionError("ngrams", found="n-grams and phrases", wanted="one or the other")


class IngestSummary(NamedTuple):
    """What an ingest made."""

    n_documents: int
    n_tokens: int
    n_pairs: int
    n_words: int
    n_shards: int
    n_skipped: int  # documents without a word of the vocabulary
    n_unknown_tokens: int  # tokens outside a given vocabulary

    @classmethod
    def of(cls, manifest: Manifest) -> IngestSummary:
        """What the corpus of this manifest holds."""
        sizes = manifest.sizes
        return cls(
            sizes.n_docs,
            int(sizes.n_tokens),
            sizes.n_pairs,
            manifest.n_words,
            len(manifest.shards),
            manifest.n_skipped,
            manifest.n_unknown_tokens,
        )


class Progress(NamedTuple):
    """How far an ingest is."""

    stage: str  # "finding phrases", "reading" or "writing"
    n_documents: int

    def __str__(self) -> str:
        return f"{self.stage}: {self.n_documents:,} documents"


OnProgress = Callable[[Progress], None]


class Reading(NamedTuple):
    """What a pass over the documents of all files needs."""

    collection: Collection
    options: IngestOptions
    ordered_map: OrderedMap  # of where they are cut and counted
    map_here: OrderedMap  # within this process, for encoding
    on_progress: OnProgress


def ingest(
    sources: Iterable[str | Path],
    out: str | Path,
    options: IngestOptions | None = None,
    on_progress: OnProgress = lambda _: None,
    say: Callable[[str], None] = lambda _: None,
) -> IngestSummary:
    """Make the corpus folder ``out`` of files, folders and glob patterns.

    Documents without a word of the vocabulary are left out and counted as skipped. Text that has
    been read when the process is stopped is kept beside ``out``, and the same call goes on from
    there, to the same bytes; counts, files behind URLs and text under a given vocabulary start
    anew. ``say`` is told of either. Raises SourceError for input that cannot be read, OutputError
    if ``out`` cannot be written, or if an ingest of something else was stopped there; after these
    nothing is left behind. A cluster that is lost raises ClusterError and counts as a stop.
    """
    options = options or IngestOptions()
    sources = list(sources)
    output = corpus_output(out, sources, options.vocabulary, overwrite=options.overwrite)
    collection = find_collection(
        sources, options.format, follow_links=options.follow_links, say=say
    )
    refuse_inputs(output.path, paths_of(collection.files))
    job = None if _starts_anew(collection, options) else job_for(sources, collection, options)
    with (
        open_ordered_map(options.workplace) as ordered_map,
        open_map_here(options.workplace) as map_here,
        work_folder(output, job, say=say) as place,
    ):
        reading = Reading(collection, options, ordered_map, map_here, on_progress)
        given = None if options.vocabulary is None else Vocabulary.load(options.vocabulary)
        tokenizer = _settled_once(place, reading, given)
        if given is None:
            spool = Spool(place.spool)
            counted = _spooled_blocks(spool, reading, tokenizer)
            vocabulary = _learn_vocabulary(counted, collection, options.pruning)
            encoded = _encoded(spool.blocks(), vocabulary, map_here)
            encoded = (block._replace(n_unknown_tokens=0) for block in encoded)  # but pruned
        else:
            vocabulary = given
            encoded = encoded_blocks(reading, tokenizer, vocabulary)
        settings = tokenizer.settings() if tokenizer else vocabulary.tokenizer
        vocabulary = replace(vocabulary, tokenizer=settings)
        written = write_shards(place.corpus, encoded, on_progress)
        return IngestSummary.of(write_manifest(place.corpus, vocabulary, *written))


def _starts_anew(collection: Collection, options: IngestOptions) -> bool:
    """Whether an interrupted ingest must start over: counts are parsed while blocks are cut, and
    nothing is spooled if the vocabulary is given."""
    return collection.format.counted or options.vocabulary is not None


def job_for(
    sources: Sequence[str | Path], collection: Collection, options: IngestOptions
) -> Job | None:
    """What identifies a repeated command; None if changes of the files cannot be detected."""
    if options.tokenizer is not None and options.tokenizer.function is not None:
        load_tokenizer(options.tokenizer.function)
    neither = {"workers", "executor", "scheduler", "overwrite"}  # does the corpus depend on
    said = {name: value for name, value in asdict(options).items() if name not in neither}
    return job_of(sources, said, collection.files)


def _settled_once(
    place: WorkFolder, reading: Reading, given: Vocabulary | None
) -> TokenizerOptions | None:
    """The settings; phrases are learned only if a former process has not done it."""
    if reading.options.phrases is None:
        return settle_tokenizer(reading, given)
    tokenizer = place.kept_tokenizer()
    if tokenizer is None:
        tokenizer = settle_tokenizer(reading, given)
        assert tokenizer is not None  # phrases of counts have been refused
        place.keep_tokenizer(tokenizer)
    return tokenizer


def encoded_blocks(
    reading: Reading,
    tokenizer: TokenizerOptions | None,
    vocabulary: Vocabulary,
    *,
    first_number: int = 0,
) -> Iterator[EncodedBlock]:
    """The documents of all files under the words of a vocabulary; those without an id are numbered
    from ``first_number``."""
    counted = _counted_blocks(reading, tokenizer, first_number)
    return _encoded(counted, vocabulary, reading.map_here)


def _encoded(
    blocks: Iterable[CountedBlock], vocabulary: Vocabulary, map_here: OrderedMap
) -> Iterator[EncodedBlock]:
    """In this process: it takes no longer than to send a block."""
    words = pa.array(vocabulary.words, pa.string())
    return map_here(partial(encode, words=words), blocks)


def settle_tokenizer(reading: Reading, given: Vocabulary | None) -> TokenizerOptions | None:
    """The settings, with the phrases learned if they are wanted; None for counts."""
    collection, options = reading.collection, reading.options
    if collection.format.counted:
        if options.phrases is not None or options.tokenizer is not None:
            raise OptionError(
                "tokenizer",
                found=f"settings of it, with counts in {names_of(collection.files)}",
                wanted="text, or none",
            )
        return None
    tokenizer = options_for(given, options.tokenizer)
    if tokenizer.function is not None:
        load_tokenizer(tokenizer.function)  # so that what is wrong with it is told at once
    if given is None and (options.phrases is not None or tokenizer.ngrams > 1):
        tokenizer = tokenizer.before_joining(options.pruning.stop_words)
    if options.phrases is not None:
        blocks = _tokens(reading, tokenizer)
        tokenizer = replace(tokenizer, phrases=learn_phrases(blocks, options.phrases))
    return tokenizer


def _tokens(reading: Reading, tokenizer: TokenizerOptions) -> Iterator[Tokens]:
    """The tokens of all files in order."""
    cut = where_function_is_same(partial(_cut, tokenizer=tokenizer), tokenizer.function)
    n_documents = 0
    for tokens in reading.ordered_map(cut, _pending(reading)):
        n_documents += len(tokens.indptr) - 1
        reading.on_progress(Progress("finding phrases", n_documents))
        yield tokens


def _pending(reading: Reading) -> Iterator[PendingBlock]:
    collection = reading.collection
    return collection.format.read(collection.files, reading.options.read)


def _cut(pending: PendingBlock, tokenizer: TokenizerOptions) -> Tokens:
    block = pending()
    assert not isinstance(block, CountedBlock)  # readers of text are not of a counted format
    return tokens_of(block, tokenizer)


def _spooled_blocks(
    spool: Spool, reading: Reading, tokenizer: TokenizerOptions | None
) -> Iterator[CountedBlock]:
    """All documents, those first that a former process has put by; the others are put by now."""
    on_progress = reading.on_progress
    n_documents = 0
    for block in spool.recovered():
        n_documents += len(block.doc_ids)
        on_progress(Progress("reading", n_documents))
        yield block
    rest = reading._replace(
        on_progress=lambda told: on_progress(
            told._replace(n_documents=n_documents + told.n_documents)
        )
    )
    for block in _counted_blocks(rest, tokenizer, n_documents, n_blocks_done=spool.n_blocks):
        spool.append(block)
        yield block


def _learn_vocabulary(
    blocks: Iterable[CountedBlock], collection: Collection, pruning: PruningOptions
) -> Vocabulary:
    """Add up the blocks and choose the words to keep."""
    tally = WordTally()
    for block in blocks:
        tally.add(block)
    totals = tally.totals()
    if not totals.n_docs:
        raise SourceError(names_of(collection.files), found="no documents", wanted="at least one")
    return prune(totals, pruning, counted=collection.format.counted)


def _counted_blocks(
    reading: Reading,
    tokenizer: TokenizerOptions | None,
    first_number: int,
    *,
    n_blocks_done: int = 0,
) -> Iterator[CountedBlock]:
    """The documents of all files in order, counted, each with an id; all but the first blocks,
    which are read over without a look at what they hold."""
    function = None if tokenizer is None else tokenizer.function
    count = where_function_is_same(partial(_count, tokenizer=tokenizer), function)
    pending = islice(_pending(reading), n_blocks_done, None)
    n_documents = 0
    for block in reading.ordered_map(count, pending):
        doc_ids = with_running_numbers(block.doc_ids, first_number + n_documents)
        n_documents += len(doc_ids)
        reading.on_progress(Progress("reading", n_documents))
        yield block._replace(doc_ids=doc_ids)


def _count(pending: PendingBlock, tokenizer: TokenizerOptions | None) -> CountedBlock:
    block = pending()
    if isinstance(block, CountedBlock):
        return block
    assert tokenizer is not None  # readers of text are not of a counted format
    return count_texts(block, tokenizer)


class WrittenShards(NamedTuple):
    """Documents on disk, not yet in a manifest."""

    shards: tuple[ShardEntry[Sizes], ...]
    n_skipped: int
    n_unknown_tokens: int


def write_shards(
    folder: Path, encoded: Iterable[EncodedBlock], on_progress: Callable[[Progress], None]
) -> WrittenShards:
    """Write the documents; SourceError if there is none with a word of the vocabulary."""
    n_skipped = n_unknown_tokens = n_documents = 0
    with ShardWriter(folder) as writer:
        for block in encoded:
            writer.append(block.rows)
            n_skipped += block.n_skipped
            n_unknown_tokens += block.n_unknown_tokens
            n_documents += block.rows.batch.n_docs
            on_progress(Progress("writing", n_documents))
        shards = writer.finish()
    if not shards:
        raise SourceError(
            "documents",
            found=f"none of {n_skipped} with a word of the vocabulary",
            wanted="at least one",
            hint="Check the sources, --vocabulary and --token-pattern.",
        )
    return WrittenShards(shards, n_skipped, n_unknown_tokens)
