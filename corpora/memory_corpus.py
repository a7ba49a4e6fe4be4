"""Corpora of documents in memory, made from texts, tables, sparse matrices or gensim's corpora."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from numbers import Integral
from operator import call, index
from types import NoneType
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from sparsetopics.base.batches import DocumentBatch
from sparsetopics.base.errors import ShapeError, SourceError, VocabularyError, warn_user
from sparsetopics.base.wording import quantity
from sparsetopics.corpora.frames import Document, documents_of, table_of_frame
from sparsetopics.corpora.ingest_options import IngestOptions, options_at, settled_tokenizer
from sparsetopics.corpora.memory_arrays import AnyMatrix, csr_of, names_of, strings_of, widened
from sparsetopics.corpora.readers.blocks import NO_ACCOUNT, TextBlock
from sparsetopics.corpora.readers.counts import LARGEST_COUNT
from sparsetopics.corpora.readers.fields import FieldTypes
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.readers.text_tables import IN_MEMORY, table_blocks
from sparsetopics.corpora.repeated_ids import KEEP_ALL, REFUSE, GivenIds
from sparsetopics.corpora.sources.arrow_batches import pieces
from sparsetopics.corpora.store.document_rows import (
    DOCS_PER_ROW_GROUP,
    Documents,
    encode,
    with_places,
)
from sparsetopics.corpora.store.manifest import Sizes
from sparsetopics.corpora.store.shards import MemoryRowGroup
from sparsetopics.corpora.text.account import WordAccount
from sparsetopics.corpora.text.pruning import prune, tally_words
from sparsetopics.corpora.text.tokenizer import count_texts, sentences_of, words_of
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.options.ingest_table import FROM_TABLE, FROM_TEXTS, FROM_TOKENS
from sparsetopics.options.option import Tokenizer, check_type, refuse, shown

BagOfWords: TypeAlias = Iterable[Iterable[tuple[int, float]]]  # gensim's

_ROWS_AT_ONCE = 1_024
# What the documents are at doors that take either texts or lists, and the other door.
_EITHER = {
    FROM_TEXTS: (False, "Corpus.from_tokens takes lists of words."),
    FROM_TOKENS: (True, "Corpus.from_texts takes texts; for one document, pass [words]."),
}


def _corpus_of_blocks(
    texts: Iterable[TextBlock],
    where: str,
    options: IngestOptions,
    names: pa.StringArray | None = None,
    *,
    keep_empty: bool = False,
) -> Documents:
    """Tokenise, prune and encode; warn of what may have gone wrong with the words.

    Documents have the given ``names``, or else their own ids, which may repeat if the options say
    so. With ``keep_empty``, documents without a known word stay, and there may be no document at
    all. Raises OptionError if the vocabulary is not a Vocabulary, and SourceError if nothing is
    left.
    """
    given, kept = options.vocabulary, options.read.kept
    if given is not None and not isinstance(given, Vocabulary):
        refuse("vocabulary", f"must be the Vocabulary of a corpus or None, but is {shown(given)}")
    if options.phrases is not None:
        texts = list(texts)  # read twice
    tokenizer = settled_tokenizer(options, given, lambda how: (sentences_of(b, how) for b in texts))
    rules = options.read.rules
    told = FieldTypes(kept, rules)
    read = [count_texts(block, tokenizer, keep_texts=kept.text) for block in _called(texts, names)]
    policy = options.read.duplicate_ids
    if names is not None and policy == REFUSE:
        policy = KEEP_ALL  # an index may repeat
    place_of = f"{where}, row {{}}".format
    with closing(GivenIds(policy, None, read.__getitem__, place_of)) as ids:
        blocks = [*map(call, ids.named(told.watch(ids.watch(read))))]
        vocabulary, left_out = given, None
        if vocabulary is None:
            vocabulary, left_out = prune(tally_words(blocks), options.pruning, counted=False)
        account = sum((block.account for block in blocks), NO_ACCOUNT)
        vocabulary = replace(vocabulary, tokenizer=options.settings_of(tokenizer, account))
        words = pa.array(vocabulary.words, pa.string())
        types = told.types
        numbered = (encode(block, words, types, rules, keep_empty=keep_empty) for block in blocks)
        encoded = [*with_places(numbered, ids.place_of)]
        rows = np.delete(np.arange(sum(len(block.ids) for block in read)), [*ids.skipped()])
    groups = [block.rows for block in encoded if block.rows.n_docs]
    skipped = [doc_id for block in encoded for doc_id in block.skipped]
    if not groups and not keep_empty:
        problem = f"none of {quantity(len(skipped), 'document')} has a word of the vocabulary"
        raise SourceError(where, problem)
    n_unknown = 0 if given is None else sum(block.n_unknown_tokens for block in encoded)
    n_tokens = sum(int(group.sizes.n_tokens) for group in groups)
    word_account = WordAccount.of(vocabulary, left_out, n_unknown, n_tokens, account, skipped)
    for sentence in (*word_account.warnings(), *told.doubts):
        warn_user(sentence)
    is_kept = np.concatenate([np.zeros(0, np.bool_), *(block.kept for block in encoded)])
    made = vocabulary, groups, len(skipped), n_unknown, types, word_account
    return Documents(*made, rows[is_kept], ids.are_given, rules.settled(types))


def _called(blocks: Iterable[TextBlock], names: pa.StringArray | None) -> Iterator[TextBlock]:
    """The documents under their ``names``, if there are any."""
    start = 0
    for block in blocks:
        length = len(block.ids)
        yield block if names is None else block._replace(ids=names.slice(start, length))
        start += length


def corpus_of_texts(
    texts: Iterable[Document],
    door: str = "",
    given: Mapping[str, Any] = {},  # options, by the names of parameters
) -> Documents:
    """Documents under running numbers, with the options ``given`` to a function of ``Corpus``.

    Raises OptionError if fields other than the texts are to be kept, and SourceError for anything
    but texts and lists of words; ``from_texts`` and ``from_tokens`` take one of these alone.
    """
    options = options_at(door, given)
    kept = options.read.kept
    if kept.named:
        hint = "Corpus.from_table keeps the columns of a table."
        refuse("keep", f"texts have no field {kept.named[0]!r}", hint)
    return _corpus_of_blocks(blocks_of_texts(texts, door), "texts", options, _index_of(texts))


def every_text(
    texts: Iterable[Document], vocabulary: Vocabulary, tokenizer: Tokenizer = None
) -> Documents:
    """A document for each text or list of words, even if it has no word of the ``vocabulary``.

    It is for answers with a row for each text; other corpora have no documents without words.
    """
    options = options_at(FROM_TEXTS, {"tokenizer": tokenizer, "vocabulary": vocabulary})
    blocks, names = blocks_of_texts(texts), _index_of(texts)
    return _corpus_of_blocks(blocks, "texts", options, names, keep_empty=True)


def cut_alike(text: str, vocabulary: Vocabulary) -> list[str]:
    """The words of a text, cut as the texts of ``vocabulary`` were, but without n-grams.

    There are none if it is not known how these were cut, or if a function of the user cut them,
    which does not run unless it is named.
    """
    if vocabulary.tokenizer is None:
        return []
    (block,) = blocks_of_texts([text])
    with suppress(VocabularyError):
        how = settled_tokenizer(IngestOptions(), vocabulary, lambda how: ())
        tokens, _ = words_of(block, replace(how, ngrams=1))
        return [tokens.words[word].as_py() for word in tokens.word_of]
    return []


def blocks_of_texts(texts: Iterable[Document], door: str = "") -> Iterator[TextBlock]:
    """Texts or lists of words without ids and labels, a row group at a time; ``door`` is the
    function of ``Corpus`` that takes one of these alone."""
    remaining, start = _iterated(texts), 0
    while some := list(islice(remaining, DOCS_PER_ROW_GROUP)):
        nothing = pa.nulls(len(some), pa.string())
        found = documents_of(some, partial(_place, door, start), *_EITHER.get(door, ()))
        yield TextBlock(nothing, nothing, found)
        start += len(some)


def _place(door: str, first: int, row: int) -> str:
    return f"{'lists' if door == FROM_TOKENS else 'texts'}[{first + row}]"


def _index_of(rows: Any) -> pa.StringArray | None:  # whatever users pass
    """The index of a Series or DataFrame of pandas; None for the default index, and for other
    objects, which may have a method called ``index``."""
    index = getattr(rows, "index", None)
    is_default = (getattr(index, "start", None), getattr(index, "step", None)) == (0, 1)
    if index is None or callable(index) or is_default:
        return None
    return pa.array(names_of(index, len(rows), "index"), pa.string())


def _iterated(texts: Iterable[Document]) -> Iterator[Document]:
    """The documents of a list, a Series, a column of Arrow, an array or any other iterable."""
    if isinstance(texts, pa.Array | pa.ChunkedArray):
        return iter(texts.to_pylist())
    is_table = isinstance(texts, Mapping) or hasattr(texts, "columns")
    # The letters of a string and the names of columns would be documents.
    is_other = isinstance(texts, str | bytes) or getattr(texts, "ndim", 1) == 0
    if is_table or is_other or not isinstance(texts, Iterable):
        hint = "Pass one of its columns, such as df['text']; Corpus.from_table reads tables."
        problem = f"must be a list of texts or word lists, but is {shown(texts)}"
        raise SourceError("texts", problem, hint if is_table else "")
    return iter(texts)


def corpus_of_table(
    table: Any,  # the tables of six libraries share no type, only Arrow's protocol
    given: Mapping[str, Any],  # options, by the names of parameters
) -> Documents:
    """A table with one document a row; rows without an id get running numbers.

    Raises SourceError for an object that hands out no Arrow data, and for a field that is missing.
    """
    options = options_at(FROM_TABLE, given)
    is_of_pandas = hasattr(table, "reset_index") and hasattr(table, "columns")
    lacks_ids = is_of_pandas and options.read.used[0] not in table.columns
    names = _index_of(table) if lacks_ids else None
    return _corpus_of_blocks(blocks_of_table(table, options.read), IN_MEMORY, options, names)


def blocks_of_table(table: Any, read: ReadOptions) -> Iterator[TextBlock]:  # see corpus_of_table
    if hasattr(table, "columns") and hasattr(table, "to_dict"):  # a data frame
        table = table_of_frame(table, read, IN_MEMORY)
    batches = _table_batches(table)
    try:
        if (first := next(batches, None)) is None:
            return
        pieces_of = partial(pieces, chain([first], batches), np.inf)
        for pending in table_blocks(first.schema, pieces_of, IN_MEMORY, read):
            yield pending()
    except SourceError:
        raise
    except (pa.ArrowException, ValueError) as error:
        is_of_arrow = isinstance(error, pa.ArrowException)
        problem = "Arrow cannot read its columns" if is_of_arrow else str(error)
        hint = "Leave out columns that are not needed. Corpus.from_texts takes texts alone."
        raise SourceError(IN_MEMORY, problem, hint) from error


def _table_batches(table: Any) -> Iterator[pa.RecordBatch]:  # see corpus_of_table
    """The rows of a table; one batch may hold all of them."""
    if hasattr(table, "with_format") and hasattr(table, "iter"):  # Hugging Face: knows its order
        for part in table.with_format("arrow").iter(batch_size=_ROWS_AT_ONCE):
            yield from pa.table(part).to_batches()
    elif isinstance(table, pa.Table):  # pyarrow 22 crashes on a stream of parts of views
        yield from table.to_batches()
    elif hasattr(table, "__arrow_c_stream__"):
        with pa.RecordBatchReader.from_stream(table) as reader:
            yield from reader
    elif hasattr(table, "__arrow_c_array__"):
        yield pa.record_batch(table)
    else:
        problem = f"an object of type {type(table).__name__} does not provide Arrow data"
        hint = "Pass a table of pyarrow, pandas or polars, or texts to Corpus.from_texts."
        raise SourceError(IN_MEMORY, problem, hint)


def corpus_of_csr(
    counts: AnyMatrix | ArrayLike,
    words: Iterable[str],
    doc_ids: Iterable[Hashable] | None = None,
    given: Vocabulary | None = None,
    *,
    may_be_empty: bool = False,
) -> Documents:
    """Rows of a sparse matrix of counts, (n_docs, n_words); the words keep their order, or are
    those of a ``given`` vocabulary, and others are left out.

    Raises ShapeError for a matrix whose arrays do not fit together, sizes that do not fit, a word
    given twice, or a count that is negative, not finite, or above 4,294,967,295; SourceError if
    none is above zero, unless it ``may_be_empty``.
    """
    matrix = _canonical(counts)
    n_docs, n_words = matrix.shape
    own_words = strings_of(words, "words")
    if len(own_words) != n_words or len(set(own_words)) != n_words:
        problem = f"expected {n_words} different words, one for each column"
        found = f"{quantity(len(own_words), 'word')}, {len(set(own_words))} of them different"
        raise ShapeError("words", f"{problem}, but found {found}")
    names = names_of(range(n_docs) if doc_ids is None else doc_ids, n_docs, "doc_ids")
    check_type("vocabulary", given, (Vocabulary, NoneType), "the Vocabulary of a corpus or None")
    n_tokens = matrix.data.sum()
    if given is not None:
        # Each given word has the column of the same word, or else the empty one at the end.
        own = {word: column for column, word in enumerate(own_words)}
        matrix.resize(n_docs, n_words + 1)
        matrix = matrix[:, [own.get(word, n_words) for word in given.words]]
        matrix.sort_indices()
    kept = np.flatnonzero(np.diff(matrix.indptr))
    if not (len(kept) or may_be_empty):
        raise SourceError("counts", "none is above zero" if given is None else "no word is known")
    vocabulary = given or Vocabulary(
        tuple(own_words),
        np.bincount(matrix.indices, minlength=n_words),
        np.rint(np.bincount(matrix.indices, matrix.data, n_words)).astype(np.int64),
    )
    places = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    whole = DocumentBatch(*places, matrix.data)
    labels = pa.nulls(n_docs, pa.string())
    every = MemoryRowGroup(Sizes.of(whole), pa.array(names, pa.string()), labels, whole)
    starts = range(0, len(kept), DOCS_PER_ROW_GROUP)
    groups = [every.take(kept[n : n + DOCS_PER_ROW_GROUP]) for n in starts]
    left_out = n_docs - len(kept), int(n_tokens - matrix.data.sum())
    return Documents(vocabulary, groups, *left_out, kept=kept, has_ids=doc_ids is not None)


def _canonical(counts: AnyMatrix | ArrayLike) -> csr_array:
    """Sorted, duplicates summed, no zeros, counts as uint32 if whole and else float32."""
    matrix = csr_of(counts, "counts")
    _check_counts(matrix)
    if not matrix.has_canonical_format:
        matrix.data = widened(matrix.data)
        matrix.sum_duplicates()
        _check_counts(matrix)
    is_whole = matrix.dtype == np.bool_ or (matrix.data == np.floor(matrix.data)).all()
    for power in () if is_whole else (1, 2):
        lengths = matrix.astype(np.float64).power(power).sum(axis=1)
        if np.allclose(lengths[lengths > 0], 1, rtol=1e-4):  # as TfidfVectorizer makes them
            problem = "all rows have length one, like those of tf-idf weights, which are not counts"
            hint = "Use CountVectorizer, or gensim's bag of words without TfidfModel."
            raise ShapeError("counts", problem, hint)
    matrix.data = matrix.data.astype(np.uint32 if is_whole else np.float32)
    matrix.eliminate_zeros()  # float32 has some more
    return matrix


def _check_counts(matrix: csr_array) -> None:
    largest = np.float64(LARGEST_COUNT)  # float32 would round it up
    bad = np.flatnonzero(~((matrix.data >= 0) & (matrix.data <= largest)))
    if len(bad):
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        where = f"counts, row {row}, column {matrix.indices[bad[0]]}"
        allowed = f"from 0 to {LARGEST_COUNT:,}, duplicates added up"
        raise ShapeError(where, f"must be {allowed}, but is {matrix.data[bad[0]]}")


def corpus_of_gensim(
    bow: BagOfWords, dictionary: Mapping[int, str], given: Vocabulary | None = None
) -> Documents:
    """Documents as lists of (word number, count), under running numbers.

    Words keep the order of their numbers. Raises SourceError for anything but a bag of words,
    ShapeError for a number that is not in the dictionary, or a count that is negative or not
    finite.
    """
    if not (hasattr(dictionary, "keys") and all(isinstance(n, Integral) for n in dictionary)):
        problem = f"must map whole numbers to words, but is {shown(dictionary)}"
        raise SourceError("dictionary", problem)
    numbers = sorted(dictionary)
    try:
        documents = iter(bow)
    except TypeError as error:
        problem = f"must be a list of documents, but is {shown(bow)}"
        raise SourceError("bow", problem) from error
    rows = [_pairs(document, number) for number, document in enumerate(documents)]
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    flat = np.array(list(chain.from_iterable(rows)), np.float64).reshape(-1, 2)
    columns = np.searchsorted(numbers, flat[:, 0])
    known = np.append(numbers, -1)[columns] == flat[:, 0]
    if not known.all():
        pair = int(np.argmin(known))
        document = int(np.searchsorted(indptr, pair, side="right")) - 1
        problem = f"word {flat[pair, 0]:g} is not among the {len(numbers)} of the dictionary"
        raise ShapeError(f"bow, document {document}", problem)
    counts = csr_array((flat[:, 1], columns, indptr), (len(rows), len(numbers)))
    return corpus_of_csr(counts, [dictionary[number] for number in numbers], None, given)


def _pairs(document: Iterable[tuple[int, float]], number: int) -> list[tuple[float, float]]:
    try:
        # ``index`` and ``+ 0`` refuse strings, which ``float`` would take.
        return [(float(index(word)), float(count + 0)) for word, count in document]
    except (TypeError, ValueError, OverflowError) as error:
        expected = "pairs of word number and count, as Dictionary.doc2bow makes them"
        problem = f"expected {expected}, but found {shown(document)}"
        raise SourceError(f"bow, document {number}", problem) from error
