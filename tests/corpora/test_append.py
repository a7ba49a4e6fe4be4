"""Documents added to a corpus: as if they had been there, or as if nothing had happened."""

import errno

import msgspec
import pytest

from sparsetopics.base.errors import CorpusFormatError, OptionError, OutputError, SourceError
from sparsetopics.base.transactions import Workspace
from sparsetopics.corpora.append import append
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.store import document_rows
from sparsetopics.corpora.store.document_rows import DocumentManifest
from sparsetopics.corpora.store.shards import ShardWriter
from sparsetopics.corpora.text.pruning import PruningOptions
from sparsetopics.corpora.text.tokenizer import TokenizerOptions
from sparsetopics.corpora.text.tokens import PhraseOptions
from sparsetopics.corpora.validate import validate
from sparsetopics.options.workplace import Workplace
from worlds.collections_on_disk import documents_of, make_texts, write_jsonl

TEXTS = make_texts(120)
KEEP = ReadOptions(duplicate_ids="keep")


@pytest.fixture
def lines(tmp_path):
    """Files of lines: documents without ids."""
    paths = []
    for name, texts in (("a", TEXTS[:70]), ("b", TEXTS[70:])):
        paths.append(tmp_path / f"{name}.lines")
        paths[-1].write_text("".join(" ".join(text.split()) + "\n" for text in texts))
    return paths


@pytest.fixture
def corpus(lines, tmp_path):
    ingest(lines[:1], tmp_path / "corpus", IngestOptions(pruning=PruningOptions(max_df=1.0)))
    return tmp_path / "corpus"


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_longer_corpus_is_that_of_all_files_under_the_same_words(
    lines, corpus, tmp_path, monkeypatch
):
    monkeypatch.setattr(document_rows, "DOCS_PER_ROW_GROUP", 8)
    monkeypatch.setattr(document_rows.DocumentKind, "groups_per_shard", 2)
    first = Corpus.open(corpus)
    n_before = len(documents_of(first))
    ingest(lines, tmp_path / "all", IngestOptions(vocabulary=corpus))

    n_added, summary = append(lines[1:], corpus, IngestOptions(where=Workplace(workers=3)))

    longer, expected = Corpus.open(corpus), Corpus.open(tmp_path / "all")
    assert documents_of(longer) == documents_of(expected)
    assert longer.vocabulary.fingerprint == first.vocabulary.fingerprint
    assert longer.n_skipped == expected.n_skipped
    assert n_added == longer.n_docs - n_before > 16
    assert summary.n_documents == longer.n_docs
    assert summary.n_shards == len(list(corpus.glob("shard-*"))) > 2
    assert validate(corpus) == []
    assert len(documents_of(first)) == n_before  # what was open stays what it was
    append(lines[:1], corpus)  # and once more
    assert Corpus.open(corpus).n_docs == longer.n_docs + n_before


def test_the_tokeniser_is_that_of_the_corpus(tmp_path):
    source = write_jsonl(tmp_path / "a.jsonl", ["New York", "New York Times"])
    tokenizer = TokenizerOptions(r"\w+", lowercase=False, ngrams=2)
    ingest([source], tmp_path / "corpus", IngestOptions(tokenizer=tokenizer))

    append([source], tmp_path / "corpus", IngestOptions(read=KEEP, tokenizer=tokenizer))
    append([source], tmp_path / "corpus", IngestOptions(read=KEEP))

    corpus = Corpus.open(tmp_path / "corpus")
    new_york = corpus.vocabulary.words.index("New_York")
    assert [batch.word_ids.tolist().count(new_york) for batch in corpus.batches()] == [2, 2, 2]
    with pytest.raises(OptionError, match="the given tokeniser is not that of the corpus"):
        append([source], tmp_path / "corpus", IngestOptions(tokenizer=TokenizerOptions()))


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"phrases": PhraseOptions()}, "phrases"),
        ({"overwrite": True}, "overwrite"),
        ({"pruning": PruningOptions(min_df=3)}, "min_df"),
    ],
)
def test_options_that_would_change_the_words_are_refused(lines, corpus, options, found):
    with pytest.raises(
        OptionError,
        match=f"^{found}: cannot be combined with --append, which keeps the words of the corpus",
    ):
        append(lines, corpus, IngestOptions(**options))


def test_text_for_a_corpus_of_counts_is_refused(lines, tmp_path):
    (tmp_path / "docword.a.txt").write_text("1\n1\n1\n1 1 1\n")
    (tmp_path / "vocab.a.txt").write_text("baco\n")
    ingest([tmp_path / "docword.a.txt"], tmp_path / "corpus")

    append([tmp_path / "docword.a.txt"], tmp_path / "corpus")
    assert Corpus.open(tmp_path / "corpus").n_docs == 2
    with pytest.raises(OptionError, match=r"the corpus was made from counts, but .* holds text"):
        append(lines, tmp_path / "corpus")


def test_no_corpus_to_append_to(lines, tmp_path):
    with pytest.raises(CorpusFormatError, match=r"gone: expected a corpus folder .*, but found no"):
        append(lines, tmp_path / "gone")


def fail(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("place", ["reading", "shards", "commit", "manifest"])
def test_whatever_fails_the_old_corpus_is_intact(place, lines, corpus, monkeypatch):
    before = files_of(corpus)
    error, sources = OutputError, lines
    if place == "reading":
        lines[1].write_bytes(b"fine\ncaf\xe9\n")
        error = SourceError
    elif place == "shards":
        monkeypatch.setattr(ShardWriter, "append", fail)
    elif place == "commit":
        monkeypatch.setattr(Workspace, "commit", fail)
    else:
        monkeypatch.setattr(DocumentManifest, "save", fail)

    with pytest.raises(error):
        append(sources, corpus)

    assert files_of(corpus) == before
    assert validate(corpus) == []


def test_a_corpus_that_changes_meanwhile_is_left_alone(lines, corpus):
    changed = msgspec.structs.replace(DocumentManifest.load(corpus), n_skipped=7)

    with pytest.raises(OutputError, match="has changed meanwhile"):
        append(lines, corpus, on_progress=lambda progress: changed.save(corpus))

    assert DocumentManifest.load(corpus) == changed
    assert validate(corpus) == []


def test_two_at_once_are_refused(lines, corpus):
    refusals = []

    def again(progress):
        if not refusals:
            with pytest.raises(OutputError, match=r"another process .* appends") as told:
                append(lines[1:], corpus)
            refusals.append(told)

    n_before = Corpus.open(corpus).n_docs
    added, _ = append(lines[1:], corpus, on_progress=again)

    assert refusals
    assert Corpus.open(corpus).n_docs == n_before + added
    assert validate(corpus) == []


def test_documents_without_a_known_word(corpus, tmp_path):
    source = write_jsonl(tmp_path / "a.jsonl", ["unheard of"])
    before = files_of(corpus)

    with pytest.raises(SourceError, match="none of 1 document has a word of the vocabulary"):
        append([source], corpus)

    assert files_of(corpus) == before


def test_numbers_go_on_behind_skipped_documents(lines, corpus, tmp_path):
    manifest = DocumentManifest.load(corpus)
    msgspec.structs.replace(manifest, n_skipped=1_000).save(corpus)
    append(lines[1:], corpus)

    *_, doc_ids = Corpus.open(corpus).doc_ids()
    assert int(doc_ids[0]) >= manifest.sizes.n_docs + 1_000
