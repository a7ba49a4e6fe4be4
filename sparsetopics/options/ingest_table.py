"""The table of all options of making a corpus.

The options of ``sparsetopics ingest``, the parameters of ``Corpus.from_texts``,
``Corpus.from_tokens`` and ``Corpus.from_table``, and the checks of single values are made from its
rows. ``corpora.ingest_options`` makes the options of the library of these, and checks what values
mean together.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sparsetopics.options.option import (
    NATURAL,
    SHARE_OR_COUNT,
    Interval,
    OneOf,
    Option,
    SomeOf,
    Table,
    counts_from,
    in_sections,
)
from sparsetopics.options.table import OPTION

# The doors to a corpus: the command, and the functions that have options as parameters.
INGEST, FROM_TEXTS, FROM_TABLE = "ingest", "from_texts", "from_table"
FROM_TOKENS = "from_tokens"
EVALUATE = "evaluate"  # which reads the sources of --texts
_FILES, _TEXTS, _RECORDS = (INGEST,), (INGEST, EVALUATE), (INGEST, FROM_TABLE)
_CUT = (INGEST, FROM_TEXTS, FROM_TABLE)  # options of cutting texts into words
_DOCUMENTS, _VECTORS = ("documents",), ("vectors",)  # the kinds of corpora
_BOTH = (*_DOCUMENTS, *_VECTORS)
MOST_WORKERS = 4  # by default, since each takes some 150 MB
_COUNT = Interval(1, whole=True)


def _alike(
    rows: tuple[Option, ...], only_for: tuple[str, ...], doors: tuple[str, ...] = ()
) -> tuple[Option, ...]:
    """Rows for the same kinds of corpora and of the same doors, unless a row says others."""
    return tuple(
        replace(row, only_for=row.only_for or only_for, doors=row.doors or doors) for row in rows
    )


# fmt: off
INGEST_OPTION: Table = in_sections({
    "Words": _alike((
        Option("stop-words", frozenset, None, "pruning.stop_words", everyday=True,
               metavar="english|none|CODE|FILE", help=(
            "Words to remove: the bundled English list, that of a language by its code (de, fr, es "
            "and others), or a file. Can be given several times. Default: none.")),
        Option("language", str, None, "tokenizer.language", doors=_CUT, everyday=True,
               metavar="CODE", help=(
            "Language of the texts, by its code: de, fr, hi, zh and others. Removes its stop words "
            "unless --stop-words is given, and splits text in scripts without spaces (ja, km, lo, "
            "my, th and zh; pip install 'sparsetopics[languages]').")),
        Option("min-df", SHARE_OR_COUNT, None, "pruning.min_df", everyday=True,
               metavar="SHARE|COUNT", help=(
            "Remove words that occur in fewer than this share or number of documents. Default: "
            "2, or 1 for collections of counts and for fewer than 100 documents.")),
        Option("max-df", SHARE_OR_COUNT, None, "pruning.max_df", everyday=True,
               metavar="SHARE|COUNT", help=(
            "Remove words that occur in more than this share or number of documents. Default: "
            "0.5, or 1.0 for collections of counts and for fewer than 100 documents.")),
        Option("max-words", _COUNT, None, "pruning.max_words", everyday=True, help=(
            "Keep only this many most frequent words.")),
        Option("vocabulary", Path, None, "vocabulary", everyday=True, help=(
            "Use the words and the tokenizer settings of this corpus or run unchanged.")),
        Option("candidates", bool, True, "candidates", doors=_FILES, help=(
            "Keep the frequencies of words that are not in the vocabulary, too, so that "
            "--grow-vocabulary can take them later.")),
        Option("grow-vocabulary", bool, False, "grow_vocabulary", doors=_FILES, everyday=True,
               help=(
            "With --append: add words that pass the limits of the corpus in old and new documents "
            "together. Other words keep their numbers.")),
        Option("lemmas", str, None, "tokenizer.lemmas", doors=_CUT, everyday=True,
               metavar="CODE", help=(
            "Replace inflected forms by their lemma, by the dictionary of a language (de, es, nl "
            "and others; pip install 'sparsetopics[languages]'). Stop words are removed first.")),
        Option("ngrams", Interval(1, 5, whole=True), None, "tokenizer.ngrams", metavar="N", help=(
            "Add sequences of up to N tokens as words, joined by _. Stop words are removed "
            "first.")),
        Option("phrases", bool, False, "phrases", everyday=True, help=(
            "Learn with gensim which pairs of words belong together, and make each pair one word, "
            "joined by _. Reads the sources twice. Stop words are removed first.")),
        Option("phrase-threshold", Interval(-1, 1), None, "phrases.threshold", needs="phrases",
               metavar="NPMI", help=(
            "With --phrases: smallest normalised pointwise mutual information of a pair, from -1 "
            "to 1. Default: 0.5.")),
        Option("token-pattern", str, None, "tokenizer.token_pattern", doors=_CUT, help=(
            r"Regular expression that matches a token, with \p{…} as in the package regex. "
            "Default: runs of three letters or more with their marks, or of two in scripts whose "
            "letters are syllables.")),
        Option("normalize", OneOf(("nfc", "nfkc")), None, "tokenizer.normalize", doors=_CUT, help=(
            "Unicode normal form of texts; nfkc also joins ligatures and full-width forms. "
            "Default: nfc, or none if --tokenizer is given.")),
        Option("remove", SomeOf(lambda: ("urls", "mentions", "hashtags", "emails"), "part",
                                repeated=True),
               None, "tokenizer.remove", doors=_CUT, metavar="urls,mentions,hashtags,emails", help=(
            "Remove these parts of texts first. Can be given several times. Default: none.")),
        Option("tokenizer", str, None, "tokenizer.function", doors=_CUT,
               metavar="MODULE:NAME", help=(
            "Python function that takes a text and returns its words, instead of --token-pattern. "
            "The module may be in the current folder.")),
        Option("lowercase", bool, None, "tokenizer.lowercase", doors=_CUT, help=(
            "Convert texts to lower case; lists of words stay as they are. Default: yes, unless "
            "--tokenizer is given.")),
    ), only_for=_DOCUMENTS),
    "Sources": _alike((
        Option("format", str, None, "format", doors=_TEXTS, everyday=True,
               metavar="NAME", help=(
            "Format of the sources. Documents: text (one document per file), lines (one per line), "
            "mallet (id, label and text on each line), jsonl, json, csv, xlsx, parquet, arrow, "
            "uci, lda-c or matrix-market. Vectors: npy, npz, csv, parquet, arrow or image. "
            "Default: given by the file name extension.")),
        Option("text-field", str, "text", "read.text_field", only_for=_DOCUMENTS,
               doors=(*_RECORDS, EVALUATE), everyday=True, metavar="A,B,...", help=(
            "Field with the text, or with a list of words. Several fields can be given: title,body "
            "joins the two, with an empty line between them.")),
        Option("id-field", str, None, "read.id_field", doors=_RECORDS, everyday=True, help=(
            "Field with the name of a document or item. Default: id, if present.")),
        Option("duplicate-ids", OneOf(("refuse", "skip", "keep")), "refuse", "read.duplicate_ids",
               only_for=_DOCUMENTS, doors=_RECORDS, help=(
            "If an earlier document, or one in the corpus of --append, has the same id: stop, skip "
            "the new one, or keep both. Names of text files are compared only with skip.")),
        Option("label-field", str, None, "read.label_field", doors=_RECORDS, everyday=True, help=(
            "Field with a label. Default: label, if present.")),
        Option("keep", SomeOf(None, "field", repeated=True), (), "read.keep", only_for=_DOCUMENTS,
               everyday=True, metavar="all|A,B:TYPE,...", help=(
            "Fields to keep in the corpus besides ids and labels: text (the texts), others by "
            "name, or all that can be kept. Names with a comma go in quotes: '\"a, b\",text'. The "
            "type of a field (number, date or string) is inferred from its values unless you give "
            "TYPE. Can be given several times. Texts may be private: nothing is kept by default.")),
        Option("date-format", frozenset, frozenset(), "read.date_format", only_for=_DOCUMENTS,
               doors=_RECORDS, argument="date_formats", everyday=True,
               metavar="FIELD=FORMAT", help=(
            "How a kept field writes dates: parts of strptime, such as %d/%m/%Y or %B %d, %Y with "
            "English names, or epoch (seconds since 1970), epoch-ms or excel. Needed only if dates "
            "could be read in two ways or as numbers. Can be given several times.")),
        Option("missing", frozenset, frozenset(), "read.missing", only_for=_DOCUMENTS,
               doors=_RECORDS, metavar="VALUE", help=(
            "Value that stands for a missing one in kept fields. Empty values always do; among "
            "numbers and dates, so do NA, NaN, nan, NaT, <NA> and None. Can be given several "
            "times. Default: no other value.")),
        Option("vocabulary-file", Path, None, "read.vocabulary_file", only_for=_DOCUMENTS,
               doors=_FILES, help=(
            "Words for a collection of counts (uci, lda-c, matrix-market): one per line, or a "
            "gensim dictionary saved as text. Default: a file such as vocab.txt, vocab.NAME.txt "
            "or NAME.vocab in the same folder.")),
        Option("delimiter", str, None, "read.delimiter", doors=_TEXTS, metavar="CHARACTER", help=(
            "Column separator of CSV files: one character, or tab. Default: the one in a first "
            "line such as sep=;, otherwise tab for .tsv and .tab, | for .psv, and a comma.")),
        Option("header", SomeOf(None, "column"), None, "read.header", doors=_TEXTS,
               metavar="A,B,...", help=(
            "Names of the columns of CSV files and workbooks without a header, in their order.")),
        Option("encoding", str, None, "read.encoding", only_for=_DOCUMENTS, doors=_TEXTS,
               metavar="NAME", help=(
            "Encoding of texts, JSON and CSV files, by its name in Python: cp1252, latin-1, "
            "shift_jis and others. A byte order mark in a file takes precedence. Default: UTF-8; "
            "UTF-16 and UTF-32 are recognised.")),
        Option("encoding-errors", OneOf(("strict", "replace")), "strict", "read.encoding_errors",
               only_for=_DOCUMENTS, doors=_TEXTS, help=(
            "Stop at bytes that are not valid in the encoding, or replace them by \ufffd (ingest "
            "reports how many).")),
        Option("follow-links", bool, False, "follow_links", doors=_TEXTS, help=(
            "Also read links in folders that point to another folder or out of the folder.")),
    ), only_for=_BOTH),
    "Vectors and images": _alike((
        Option("columns", SomeOf(None, "column"), None, "read.columns", metavar="A,B,...", help=(
            "Columns of a table that hold the values. Default: all numeric columns.")),
        Option("values-field", str, None, "read.values_field", help=(
            "Array of an .npz file that holds the values. Default: values, or the only matrix.")),
        Option("patches", counts_from(2, "pixels"), None, "read.patches", everyday=True,
               metavar="SIDE", help=(
            "Cut images into squares of SIDE × SIDE pixels and subtract their mean. A patch "
            "becomes SIDE² - 1 columns, its cosine transform without the constant. Default: whole "
            "images.")),
        Option("stride", counts_from(1, "pixel"), None, "read.stride", help=(
            "Pixels from one patch to the next. Default: SIDE.")),
        Option("pca", _COUNT, None, "pca", everyday=True, metavar="D", help=(
            "Project vectors onto D principal components.")),
        Option("whiten", bool, False, "whiten", needs="pca", help=(
            "With --pca: scale each component to unit variance.")),
        Option("seed", NATURAL, 0, "seed", needs="pca", help=(
            "With --pca: seed of the random sample that the components are computed from.")),
        Option("projection", Path, None, "projection", help=(
            "Use the projection of this corpus unchanged, and read the same columns or patches.")),
    ), only_for=_VECTORS, doors=_FILES),
    "Execution": _alike((
        replace(OPTION["workers"], default=None, place="where.workers", help=(
            f"{OPTION['workers'].help} Default: the number of cores, at most {MOST_WORKERS}.")),
        replace(OPTION["executor"], place="where.executor"),
        replace(OPTION["scheduler"], place="where.scheduler"),
    ), only_for=_BOTH, doors=_FILES),
})
# fmt: on
