"""From files to a corpus folder, against plain counting."""

import errno
import re
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from resealing import reseal
from sparsetopics.base.errors import OptionError, OutputError, SourceError, VocabularyError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.sources import byte_stream
from sparsetopics.corpora.store import document_rows
from sparsetopics.corpora.store.shards import ShardWriter
from sparsetopics.corpora.text.pruning import PruningOptions
from sparsetopics.corpora.text.stop_words import stop_words_of
from sparsetopics.corpora.text.tokenizer import TokenizerOptions
from sparsetopics.corpora.validate import validate
from sparsetopics.options.workplace import Workplace
from sparsetopics.runs.run_files import vocabulary_of
from worlds.collections_on_disk import (
    documents_of,
    make_texts,
    plain_counts,
    plain_vocabulary,
    write_jsonl,
)

TEXTS = make_texts(300)


@pytest.fixture
def source(tmp_path):
    return write_jsonl(tmp_path / "news.jsonl.gz", TEXTS)


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_counts_are_those_of_plain_counting(source, tmp_path):
    summary = ingest([source], tmp_path / "corpus")

    counts = plain_counts(TEXTS)
    words = plain_vocabulary(counts, 2, 150)
    kept = {
        f"doc-{n}": {w: c for w, c in row.items() if w in words} for n, row in enumerate(counts)
    }
    kept = {doc_id: row for doc_id, row in kept.items() if row}
    corpus = Corpus.open(tmp_path / "corpus")
    assert list(corpus.vocabulary.words) == words
    assert documents_of(corpus) == kept
    assert summary.n_documents == corpus.n_docs == len(kept)
    assert summary.n_tokens == corpus.n_tokens == sum(sum(row.values()) for row in kept.values())
    assert summary.n_pairs == corpus.n_pairs == sum(map(len, kept.values()))
    assert summary.n_skipped == corpus.n_skipped == len(TEXTS) - len(kept)
    assert corpus.vocabulary.term_frequency.sum() == corpus.n_tokens
    assert corpus.vocabulary.document_frequency.sum() == corpus.n_pairs
    assert next(corpus.labels())[:4] == ["0", "1", "2", "0"]
    assert validate(tmp_path / "corpus") == []


@pytest.mark.parametrize("workers", [2, 5])
def test_the_result_depends_neither_on_workers_nor_on_blocks(
    source, tmp_path, workers, monkeypatch
):
    ingest([source], tmp_path / "one")
    monkeypatch.setattr(byte_stream, "BLOCK_BYTES", 3_000)
    ingest([source], tmp_path / "many", IngestOptions(where=Workplace(workers=workers)))

    assert files_of(tmp_path / "many") == files_of(tmp_path / "one")


@pytest.mark.parametrize("name", ["{}.jsonl.gz", "{}.jsonl", "{}.csv", "{}.parquet"])
def test_files_that_are_read_ahead_give_the_same(name, tmp_path, monkeypatch):
    monkeypatch.setattr(byte_stream, "BLOCK_BYTES", 3_000)
    paths = [tmp_path / name.format(number) for number in range(7)]
    for number, path in enumerate(paths):
        texts = TEXTS[40 * number : 40 * number + 40]
        if "jsonl" in name:
            write_jsonl(path, texts)
        elif path.suffix == ".csv":
            path.write_text("text\n" + "".join(f'"{text}"\n' for text in texts))
        else:
            pq.write_table(pa.table({"text": texts}), path)
    read = ReadOptions(duplicate_ids="keep" if "jsonl" in name else "refuse")
    for workers in (1, 2, 5):
        options = IngestOptions(read=read, where=Workplace(workers=workers))
        ingest(paths, tmp_path / f"with-{workers}", options)

    whole = files_of(tmp_path / "with-1")
    assert files_of(tmp_path / "with-2") == files_of(tmp_path / "with-5") == whole
    assert Corpus.open(tmp_path / "with-1").n_docs > 200


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("bad", [b'{"text": 5}\n', b'{"text": "\xff"}\n'])
def test_the_first_error_is_told_whoever_meets_it_first(workers, bad, tmp_path, monkeypatch):
    monkeypatch.setattr(byte_stream, "BLOCK_BYTES", 100)
    good = b'{"text": "an owl flew by"}\n' * 10
    (tmp_path / "a.jsonl").write_bytes(good + bad + good + b'{"text": "\xfe"}\n')
    (tmp_path / "b.jsonl.gz").write_bytes(b"damaged")

    with pytest.raises(SourceError, match=r"a\.jsonl, line 11: "):
        ingest(
            [tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"],
            tmp_path / "corpus",
            IngestOptions(where=Workplace(workers=workers)),
        )
    assert {path.name for path in tmp_path.iterdir()} == {"a.jsonl", "b.jsonl.gz"}


def test_row_groups_and_shards_are_filled_in_order(source, tmp_path, monkeypatch):
    monkeypatch.setattr(byte_stream, "BLOCK_BYTES", 3_000)
    monkeypatch.setattr(document_rows, "DOCS_PER_ROW_GROUP", 32)
    monkeypatch.setattr(document_rows.DocumentKind, "groups_per_shard", 4)
    options = IngestOptions(pruning=PruningOptions(min_df=1, max_df=1.0))

    summary = ingest([source], tmp_path / "corpus", options)

    corpus = Corpus.open(tmp_path / "corpus")
    assert [group.n_docs for group in corpus.row_groups] == [
        *[32] * (summary.n_documents // 32),
        summary.n_documents % 32,
    ]
    assert summary.n_shards == 3
    ids = [int(name.removeprefix("doc-")) for names in corpus.doc_ids() for name in names]
    assert ids == sorted(ids)
    assert validate(tmp_path / "corpus") == []


def test_a_given_vocabulary_is_used_as_it_is(source, tmp_path):
    pattern = TokenizerOptions(r"[a-z]{4,}")
    ingest([source], tmp_path / "train", IngestOptions(tokenizer=pattern))
    texts = ["zzzz bababa", *TEXTS[:50], "zzzz"]
    other = write_jsonl(tmp_path / "other.jsonl", texts)

    summary = ingest([other], tmp_path / "heldout", IngestOptions(vocabulary=tmp_path / "train"))

    train, heldout = Corpus.open(tmp_path / "train"), Corpus.open(tmp_path / "heldout")
    assert heldout.vocabulary.words == train.vocabulary.words
    counts = plain_counts(texts, re.compile(r"[a-z]{4,}"))
    n_all = sum(sum(histogram.values()) for histogram in counts)
    assert summary.n_unknown_tokens == n_all - summary.n_tokens >= 2
    assert heldout.n_unknown_tokens == summary.n_unknown_tokens
    assert summary.n_documents + summary.n_skipped == 52


def test_a_vocabulary_of_a_run_folder_serves_too(source, tmp_path, run_folder, vocabulary):
    path = write_jsonl(tmp_path / "other.jsonl", ["wordaa wordab unknown", "wordaa"])

    ingest([path], tmp_path / "corpus", IngestOptions(vocabulary=vocabulary_of(run_folder)))

    corpus = Corpus.open(tmp_path / "corpus")
    assert corpus.vocabulary.fingerprint == vocabulary.fingerprint
    assert documents_of(corpus) == {"doc-0": {"wordaa": 1, "wordab": 1}, "doc-1": {"wordaa": 1}}


@pytest.mark.filterwarnings("ignore:.*letters do not belong to any word")
def test_the_tokeniser_travels_with_the_vocabulary(source, tmp_path):
    cutting = TokenizerOptions("[A-Z]{2,}", lowercase=False)
    ingest([source], tmp_path / "corpus", IngestOptions(tokenizer=cutting))
    vocabulary = Corpus.open(tmp_path / "corpus").vocabulary

    ingest([source], tmp_path / "again", IngestOptions(vocabulary=tmp_path / "corpus"))

    again = Corpus.open(tmp_path / "again")
    assert documents_of(again) == documents_of(Corpus.open(tmp_path / "corpus"))
    from_texts = Corpus.from_texts(TEXTS, vocabulary=vocabulary)
    assert list(documents_of(from_texts).values()) == list(documents_of(again).values())


def test_tokeniser_settings_of_another_release_are_refused(source, tmp_path):
    ingest([source], tmp_path / "corpus")
    vocabulary = Corpus.open(tmp_path / "corpus").vocabulary
    replace(vocabulary, tokenizer={"stemmer": "porter"}).save(tmp_path / "corpus")
    reseal(tmp_path / "corpus")

    with pytest.raises(VocabularyError, match="does not know its tokeniser settings"):
        ingest([source], tmp_path / "out", IngestOptions(vocabulary=tmp_path / "corpus"))


def test_pruning_a_given_vocabulary_is_refused(tmp_path):
    with pytest.raises(OptionError, match=r"^min_df: cannot be combined with --vocabulary"):
        IngestOptions(vocabulary=tmp_path, pruning=PruningOptions(min_df=3))


def test_limits_and_stop_words(tmp_path):
    texts = ["the cat", "the dog", "the cat mouse", "cat mouse owl"]
    path = write_jsonl(tmp_path / "a.jsonl", texts)
    options = PruningOptions(min_df=2, max_df=0.8, max_words=1, stop_words=stop_words_of("english"))

    ingest([path], tmp_path / "corpus", IngestOptions(pruning=options))

    corpus = Corpus.open(tmp_path / "corpus")
    assert corpus.vocabulary.words == ("cat",)
    assert corpus.n_skipped == 1


def test_a_small_collection_keeps_all_words(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", ["once only"])

    assert ingest([path], tmp_path / "corpus").n_words == 2


def test_nothing_left_says_what_took_it(source, tmp_path):
    options = IngestOptions(pruning=PruningOptions(min_df=1_000))

    with pytest.raises(SourceError, match=r"in fewer than 1,000 documents.*Relax --min-df"):
        ingest([source], tmp_path / "corpus", options)

    assert sorted(tmp_path.iterdir()) == [source]


def test_no_document_with_a_known_word(source, tmp_path):
    ingest([source], tmp_path / "corpus")
    other = write_jsonl(tmp_path / "other.jsonl", ["unheard of"])

    with pytest.raises(SourceError, match="none of 1 document has a word of the vocabulary"):
        ingest([other], tmp_path / "out", IngestOptions(vocabulary=tmp_path / "corpus"))


def test_progress_is_told_by_stage(source, tmp_path, monkeypatch):
    monkeypatch.setattr(byte_stream, "BLOCK_BYTES", 20_000)
    told = []

    summary = ingest([source], tmp_path / "corpus", on_progress=told.append)

    assert told[0].startswith("reading: ")
    assert told[-1] == f"writing: {summary.n_documents} documents"
    assert "reading: 300 documents" in told


def test_an_existing_output_is_kept_unless_told(source, tmp_path):
    out = tmp_path / "corpus"
    out.mkdir()
    (out / "mine").write_text("precious")

    for overwrite in (False, True):
        with pytest.raises(OutputError, match="found a folder that is not a corpus folder"):
            ingest([source], out, IngestOptions(overwrite=overwrite))
        assert (out / "mine").read_text() == "precious"

    (out / "mine").rename(tmp_path / "mine")
    ingest([source], out, IngestOptions(overwrite=True))
    with pytest.raises(OutputError, match=r"the output already exists.*--overwrite"):
        ingest([source], out)
    ingest([source], out, IngestOptions(overwrite=True))
    assert Corpus.open(out).n_docs > 0
    (tmp_path / "mine").rename(out / "mine")
    with pytest.raises(OutputError, match="found mine, which is not part of a corpus folder"):
        ingest([source], out, IngestOptions(overwrite=True))
    assert (out / "mine").read_text() == "precious"


def test_a_failing_overwrite_keeps_the_old_corpus(source, tmp_path):
    ingest([source], tmp_path / "corpus")
    before = files_of(tmp_path / "corpus")

    with pytest.raises(SourceError):
        ingest([tmp_path / "gone"], tmp_path / "corpus", IngestOptions(overwrite=True))

    assert files_of(tmp_path / "corpus") == before


def test_a_full_disk_is_one_line_and_leaves_nothing(source, tmp_path, monkeypatch):
    def no_room(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ShardWriter, "append", no_room)

    with pytest.raises(OutputError, match=r"No space left on device.*Nothing was written"):
        ingest([source], tmp_path / "corpus")

    assert sorted(tmp_path.iterdir()) == [source]


def test_a_parent_that_refuses_is_one_line(source, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("pathlib.Path.mkdir", refuse)

    with pytest.raises(OutputError, match="Permission denied"):
        ingest([source], tmp_path / "corpus")


def test_fewer_than_one_worker_is_refused():
    with pytest.raises(OptionError, match="workers"):
        IngestOptions(where=Workplace(workers=0))


@pytest.mark.parametrize(
    "limits", [{"min_df": 0}, {"max_df": 1.5}, {"min_df": -0.1}, {"max_words": 0}]
)
def test_limits_out_of_range_are_refused(limits):
    with pytest.raises(OptionError):
        PruningOptions(**limits)
