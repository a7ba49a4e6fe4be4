"""From files to a corpus of documents, in bounded memory; each document is tokenised once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from itertools import islice
from operator import call
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparsetopics.base.errors import OptionError, SourceError
from sparsetopics.base.outputs import refuse_inputs
from sparsetopics.base.sealed_files import FileEntry
from sparsetopics.base.wording import quantity
from sparsetopics.corpora.ingest_options import IngestOptions, job_of, settled_tokenizer
from sparsetopics.corpora.readers.blocks import (
    NO_ACCOUNT,
    CountedBlock,
    Named,
    PendingBlock,
    PendingCounted,
    ReadingAccount,
    with_error_last,
)
from sparsetopics.corpora.readers.fields import FieldType, FieldTypes
from sparsetopics.corpora.readers.formats import TextCollection, place_of
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.readers.text_files import doubts_about_text
from sparsetopics.corpora.repeated_ids import KEEP_ALL, SKIP, Extended, GivenIds
from sparsetopics.corpora.sources.byte_stream import error_of_all
from sparsetopics.corpora.sources.encodings import NotTextError
from sparsetopics.corpora.sources.source_files import FileAccount, names_of
from sparsetopics.corpora.store.document_rows import (
    DocumentKind,
    DocumentManifest,
    Documents,
    encode,
    with_places,
)
from sparsetopics.corpora.store.manifest import ShardEntry, Sizes
from sparsetopics.corpora.store.shards import ShardWriter
from sparsetopics.corpora.store.unfinished import Spool, corpus_output, paths_of, work_folder
from sparsetopics.corpora.text.account import WordAccount
from sparsetopics.corpora.text.pruning import prune, save_candidates, tally_words
from sparsetopics.corpora.text.tokenizer import TokenizerOptions, count_texts, sentences_of
from sparsetopics.corpora.text.tokenizer_functions import where_function_is_same
from sparsetopics.corpora.text.tokens import Tokens
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.execution.executors import LocalMap, OrderedMap, open_cluster_map, open_local_map

T = TypeVar("T")


class IngestSummary(NamedTuple):
    """What an ingest made."""

    n_documents: int
    n_tokens: int
    n_pairs: int
    n_words: int
    n_shards: int
    n_skipped: int  # documents without a word of the vocabulary
    n_unknown_tokens: int  # tokens outside a given vocabulary
    fields: Mapping[str, FieldType]  # that are kept, ``text`` among them
    notes: Mapping[str, str]  # why some of them are not numbers or dates
    files: FileAccount  # what was read as what, and what was left out
    account: WordAccount | None  # what became of the words that were read now
    n_repeated: int = 0  # documents left out now because of their ids
    n_new_words: int = 0  # by which the vocabulary has grown now
    new_words: Sequence[str] = ()  # the most frequent of these

    @classmethod
    def of(cls, manifest: DocumentManifest, files: FileAccount) -> IngestSummary:
        """What the corpus of this manifest holds, of which ``files`` were read now."""
        sizes = {name: int(total) for name, total in manifest.totals.items()}
        fields = manifest.fields
        return cls(**sizes, fields=fields, notes={}, files=files, account=None, new_words=())


OnProgress = Callable[[str], None]  # gets how far an ingest is: ``reading: 8,192 documents``


def reported(
    blocks: Iterable[Named], stage: str, noun: str, on_progress: OnProgress
) -> Iterator[Named]:
    """The blocks, with a call of ``on_progress`` as each goes by."""
    n_rows = 0
    for block in blocks:
        n_rows += len(block.ids)
        on_progress(f"{stage}: {quantity(n_rows, noun)}")
        yield block


class Reading(NamedTuple):
    """What a pass over the documents of all files needs."""

    collection: TextCollection
    options: IngestOptions
    ordered_map: OrderedMap  # over the workers that decode and count
    here: LocalMap  # within this process, for reading and encoding
    on_progress: OnProgress
    opened: ExitStack  # closes the files that are being read

    def pending(self, n_done: int = 0) -> Iterator[PendingBlock]:
        """The blocks of all files in order, without the first ``n_done``."""
        streams = self.collection.streams(self.options.read)
        blocks = islice(self.here.chained(streams), n_done, None)
        return self.opened.enter_context(closing(with_error_last(blocks)))

    def mapped(self, function: Callable[[PendingBlock], T], n_done: int = 0) -> Iterator[T]:
        """``function`` of each block of ``pending``, in order.

        The error for a file that is not text names all such files.
        """
        try:
            yield from self.ordered_map(function, self.pending(n_done))
        except NotTextError as error:
            raise error_of_all(self.collection.files, self.options.read.decoding) or error from None

    def given_ids(self, folder: Path, spool: Spool | None, before: Extended) -> GivenIds:
        """The ids of the documents; digests go to ``folder``, blocks to the ``spool`` if any."""
        read, is_field = self.options.read, self.collection.format.gives_ids
        ids = GivenIds(
            # Several folders may have files of the same name; readers of counts number documents.
            read.duplicate_ids if is_field or read.duplicate_ids == SKIP else KEEP_ALL,
            folder,
            spool.block if spool else lambda number: next(self.pending(number))(),
            partial(place_of, collection=self.collection, options=read),
            before,
            late=spool is not None,
        )
        return self.opened.enter_context(closing(ids))


def ingest(
    sources: Iterable[str | Path],
    out: str | Path,
    options: IngestOptions | None = None,
    on_progress: OnProgress = lambda _: None,
    say: Callable[[str], None] = lambda _: None,
) -> IngestSummary:
    """Make the corpus folder ``out`` from files, folders and glob patterns.

    The summary says which files were read as what, and which were left out.
    Documents without a word of the vocabulary are left out and counted as skipped. If the process
    is interrupted, text that it has read is kept beside ``out``; the same call continues from there
    and writes the same bytes. Counts, files behind URLs and text under a given vocabulary start
    over. ``say`` gets a sentence about either, and about text files that may be no documents.
    Raises SourceError for input that cannot be read, and OutputError if ``out`` cannot be written
    or if a different ingest was interrupted there; after these nothing is left behind. If a cluster
    is lost, ClusterError is raised and what was read is kept.
    """
    options = options or IngestOptions()
    if options.grow_vocabulary:
        raise OptionError("grow_vocabulary", "is for --append")
    sources = list(sources)
    other = options.vocabulary if isinstance(options.vocabulary, Path) else None
    output = corpus_output(out, sources, other, overwrite=options.overwrite)
    collection = options.find(sources, say)
    refuse_inputs(output.path, paths_of(collection.files))
    by_line = collection.format_name == "lines"
    if by_line or (options.format is None and collection.format_name == "text"):
        for sentence in doubts_about_text(collection.files, by_line=by_line):
            say(sentence)
    # Counts are parsed while blocks are cut, and nothing is spooled if the vocabulary is given.
    starts_over = collection.format.counted or options.vocabulary is not None
    job = None if starts_over else job_of(sources, collection, options)
    with (
        open_cluster_map(options.where) as cluster_map,
        work_folder(output, job, say=say) as place,
        ExitStack() as opened,
        open_local_map(options.where) as here,  # its threads end before the folder is cleared
    ):
        reading = Reading(collection, options, cluster_map or here, here, on_progress, opened)
        given, left_out, candidates = options.vocabulary, None, None
        if isinstance(given, Path):
            given = DocumentManifest.load(given).read_vocabulary(given)
        # Phrases are learned only if an earlier process has not learned them.
        tokenizer = place.kept_tokenizer() or settle_tokenizer(reading, given)
        if tokenizer is not None and options.phrases is not None:
            place.keep_tokenizer(tokenizer)
        rules, spool = options.read.rules, None
        needs_types = bool(options.read.keep or rules.date_formats)
        # Words, types of fields and repeated ids are known only after a pass over all documents.
        if given is None or needs_types or options.read.duplicate_ids == SKIP:
            spool = Spool(place.spool, place.job)
        ids = reading.given_ids(place.spool, spool, Extended())
        told = FieldTypes(options.read.kept, rules)
        counted = told.watch(counted_blocks(reading, tokenizer, ids, spool))
        vocabulary = given
        if vocabulary is None:
            if options.read.duplicate_ids == SKIP:
                counted = map(call, ids.named(counted))
            vocabulary, left_out, candidates = _learn_vocabulary(counted, reading, place.corpus)
        blocks = ids.named(counted)
        types, notes = told.types, told.notes  # known now, if blocks are spooled
        written = write_shards(place.corpus, blocks, vocabulary, types, ids, reading)
        if tokenizer is not None:
            settings = options.settings_of(tokenizer, written.reading)
            vocabulary = replace(vocabulary, tokenizer=settings)
        n_unknown = 0 if given is None else written.n_unknown_tokens  # others were pruned
        left_over = len(written.skipped), n_unknown
        if not written.shards:
            raise written.error
        made = Documents(vocabulary, (), *left_over, types, has_ids=ids.are_given, rules=rules)
        manifest = DocumentManifest.write(place.corpus, made, written.shards, candidates)
        if ids.n_skipped:
            say(f"{out}: left out {quantity(ids.n_skipped, 'document')} with an id that is taken.")
        account = written.account_of(vocabulary, left_out)
        summary = IngestSummary.of(manifest, collection.account)
        return summary._replace(account=account, notes=notes, n_repeated=ids.n_skipped)


def settle_tokenizer(reading: Reading, given: Vocabulary | None) -> TokenizerOptions | None:
    """The settings, with the learned phrases if these are wanted; None for counts."""
    collection, options = reading.collection, reading.options
    if collection.format.counted:
        if options.phrases is not None or options.tokenizer is not None:
            first = [] if options.phrases is None else ["phrases"]
            names = [*first, *options.given_of_tokens, "lowercase"]
            raise OptionError(names[0], f"needs text, but {names_of(collection.files)} has counts")
        return None
    return settled_tokenizer(options, given, partial(_tokens, reading))


def _tokens(reading: Reading, tokenizer: TokenizerOptions) -> Iterator[Tokens]:
    """The tokens of all files in order."""
    cut = where_function_is_same(partial(_cut, tokenizer=tokenizer), tokenizer.function)
    n_documents = 0
    for tokens, n_more in reading.mapped(cut):
        n_documents += n_more
        reading.on_progress(f"finding phrases: {quantity(n_documents, 'document')}")
        yield tokens


def _cut(pending: PendingBlock, tokenizer: TokenizerOptions) -> tuple[Tokens, int]:
    """The tokens of a block, and its number of documents."""
    block = pending()
    assert not isinstance(block, CountedBlock)  # readers of text make text
    return sentences_of(block, tokenizer), len(block.ids)


def _learn_vocabulary(
    blocks: Iterable[CountedBlock], reading: Reading, folder: Path
) -> tuple[Vocabulary, dict[str, int], FileEntry | None]:
    """Add up the blocks and choose the words to keep; return how many tokens each rule left out,
    and the file of all words in ``folder`` if it is wanted."""
    totals, collection, options = tally_words(blocks), reading.collection, reading.options
    if not totals.n_docs:
        raise SourceError(names_of(collection.files), "there are no documents")
    vocabulary, left_out = prune(totals, options.pruning, counted=collection.format.counted)
    candidates = save_candidates(folder, totals, options.pruning) if options.candidates else None
    return vocabulary, left_out, candidates


def counted_blocks(
    reading: Reading, tokenizer: TokenizerOptions | None, ids: GivenIds, spool: Spool | None
) -> Iterator[CountedBlock]:
    """The documents of all files in order, counted, while their ``ids`` are watched. Those that an
    earlier process spooled are not decoded again; the others are spooled now."""
    function = None if tokenizer is None else tokenizer.function
    here = partial(_count, tokenizer=tokenizer, read=reading.options.read)
    mapped = partial(reading.mapped, where_function_is_same(here, function))
    blocks = mapped() if spool is None else spool.keep(mapped, reading.here)
    return reported(ids.watch(blocks), "reading", "document", reading.on_progress)


def _count(
    pending: PendingBlock, tokenizer: TokenizerOptions | None, read: ReadOptions
) -> CountedBlock:
    block = pending()
    if isinstance(block, CountedBlock):
        return block
    assert tokenizer is not None  # only counts have none
    counted = count_texts(block, tokenizer, keep_texts=read.kept.text)
    if read.encoding_errors == "replace":
        columns = block.as_texts, block.ids, block.labels, *block.fields.values()
        found = (pc.fill_null(pc.count_substring(each, "\ufffd"), 0) for each in columns)
        marks = sum(each.to_numpy() for each in found)
        counted.account[-2:] = np.sum(marks), np.count_nonzero(marks)
    return counted


class WrittenShards(NamedTuple):
    """Documents on disk, not yet in a manifest."""

    shards: tuple[ShardEntry, ...]
    skipped: Sequence[str]  # ids
    n_unknown_tokens: int
    n_unlabelled: int  # documents without a label
    reading: ReadingAccount

    @property
    def error(self) -> SourceError:
        """The error for documents none of which was written."""
        problem = f"none of {quantity(len(self.skipped), 'document')} has a word of the vocabulary"
        hint = "Check the sources, --vocabulary and --token-pattern."
        return SourceError("documents", problem, hint)

    def account_of(self, words: Vocabulary, left_out: Mapping[str, int] | None) -> WordAccount:
        """The account of their words; ``left_out`` is None if the vocabulary was given."""
        n_tokens = int(sum(Sizes.total(shard.groups).n_tokens for shard in self.shards))
        n_unknown = self.n_unknown_tokens
        return WordAccount.of(words, left_out, n_unknown, n_tokens, self.reading, self.skipped)


def write_shards(
    folder: Path,
    blocks: Iterable[PendingCounted],
    vocabulary: Vocabulary,
    types: Mapping[str, FieldType],
    ids: GivenIds,
    reading: Reading,
    first: int = 0,
) -> WrittenShards:
    """Write documents that have a word of the vocabulary, with fields of these ``types``, into
    shards numbered from ``first``.

    They are encoded in this process: it takes no longer than to send a block to another.
    """
    words, rules = pa.array(vocabulary.words, pa.string()), reading.options.read.rules
    n_unknown_tokens = n_documents = n_unlabelled = 0
    skipped: list[str] = []
    account = NO_ACCOUNT
    with closing(ShardWriter(folder, DocumentKind(len(words)), types, first)) as writer:
        encoded = reading.here(lambda pending: encode(pending(), words, types, rules), blocks)
        for block in with_places(encoded, ids.place_of):
            writer.append(block.rows)
            skipped += block.skipped
            account = account + block.account
            n_unknown_tokens += block.n_unknown_tokens
            n_documents += block.rows.n_docs
            n_unlabelled += block.rows.labels.null_count
            reading.on_progress(f"writing: {quantity(n_documents, 'document')}")
        shards = writer.finish()
    return WrittenShards(shards, skipped, n_unknown_tokens, n_unlabelled, account)
