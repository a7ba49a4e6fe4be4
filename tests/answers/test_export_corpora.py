"""Corpora in the formats of other toolkits, read back by those."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from gensim.corpora import BleiCorpus, Dictionary, MmCorpus
from scipy.io import mmread
from scipy.sparse import csr_array

from sparsetopics.answers.exports import CORPUS_TARGETS, writer
from sparsetopics.answers.exports.exporting import export_corpus
from sparsetopics.base.errors import OutputError, RunError
from sparsetopics.cli.main import main
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.ingest import IngestOptions, ingest

TEXTS = ["the cat the dog", "a cat saw the bird", "dog and bird and cat", "one bird one dog"]


@pytest.fixture
def folder(tmp_path):
    lines = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS)
    (tmp_path / "texts.jsonl").write_text(lines)
    ingest([tmp_path / "texts.jsonl"], tmp_path / "corpus", IngestOptions())
    return tmp_path / "corpus"


def bags_of(corpus):
    """Each document as (word id, count) pairs."""
    return [
        list(zip(batch.word_ids[pairs].tolist(), batch.word_counts[pairs].tolist(), strict=True))
        for batch in corpus.batches()
        for pairs in map(slice, batch.indptr[:-1], batch.indptr[1:])
    ]


def test_gensim_reads_documents_and_dictionary(tmp_path, folder):
    corpus = Corpus.open(folder)

    export_corpus(folder, "gensim", tmp_path / "out.mm")

    read = MmCorpus(str(tmp_path / "out.mm"))
    assert list(read) == bags_of(corpus)
    assert read[2] == bags_of(corpus)[2]
    dictionary = Dictionary.load(str(tmp_path / "out.mm.dictionary"))
    assert [dictionary[word] for word in range(corpus.n_words)] == list(corpus.vocabulary.words)
    assert dictionary.num_docs == len(TEXTS)


def test_matrix_market_is_read_by_scipy_and_gensim(tmp_path, folder):
    corpus = Corpus.open(folder)
    expected = np.zeros((len(TEXTS), corpus.n_words))
    for document, bag in enumerate(bags_of(corpus)):
        for word, count in bag:
            expected[document, word] = count

    export_corpus(folder, "matrix-market", tmp_path / "out.mtx")

    np.testing.assert_array_equal(mmread(tmp_path / "out.mtx").toarray(), expected)
    assert list(MmCorpus(str(tmp_path / "out.mtx"))) == bags_of(corpus)
    words = (tmp_path / "out.mtx.vocab").read_text().split("\n")
    assert words == [*corpus.vocabulary.words, ""]


def test_lda_c_is_read_by_gensim(tmp_path, folder):
    corpus = Corpus.open(folder)

    export_corpus(folder, "lda-c", tmp_path / "out.ldac")

    read = BleiCorpus(str(tmp_path / "out.ldac"))
    assert list(read) == bags_of(corpus)
    assert [read.id2word[word] for word in range(corpus.n_words)] == list(corpus.vocabulary.words)


@pytest.mark.parametrize(("target", "name"), [("matrix-market", "c.mtx"), ("lda-c", "c.ldac")])
def test_ingest_reads_it_back(tmp_path, folder, target, name):
    export_corpus(folder, target, tmp_path / name)

    ingest([tmp_path / name], tmp_path / "again", IngestOptions())

    own, again = Corpus.open(folder), Corpus.open(tmp_path / "again")
    assert again.vocabulary.fingerprint == own.vocabulary.fingerprint
    assert bags_of(again) == bags_of(own)


def test_counts_that_are_not_whole_are_kept_or_refused(tmp_path):
    counts = csr_array([[0.5, 0.0, 2.0], [0.0, 0.1, 1.0]])
    corpus = Corpus.from_csr(counts, ["a", "b", "c"])

    writer(CORPUS_TARGETS["matrix-market"])(tmp_path / "out", corpus)
    with pytest.raises(
        OutputError, match=r"ldac: .* only whole numbers, but some word counts are not"
    ):
        writer(CORPUS_TARGETS["lda-c"])(tmp_path / "ldac", corpus)

    found = mmread(tmp_path / "out").toarray()
    np.testing.assert_array_equal(found.astype(np.float32), counts.toarray().astype(np.float32))


@pytest.mark.parametrize("target", CORPUS_TARGETS)
def test_row_groups_follow_each_other(tmp_path, target, training_batch, vocabulary):
    parts = training_batch.word_counts, training_batch.word_ids, training_batch.indptr
    whole = Corpus.from_csr(csr_array(parts, shape=(60, 30)), vocabulary.words)
    halves = [
        Corpus.from_csr(csr_array(parts, shape=(60, 30))[half], vocabulary.words).row_groups[0]
        for half in (slice(0, 25), slice(25, 60))
    ]

    writer(CORPUS_TARGETS[target])(tmp_path / "whole", whole)
    writer(CORPUS_TARGETS[target])(tmp_path / "halves", Corpus(whole.vocabulary, halves))

    assert (tmp_path / "halves").read_bytes() == (tmp_path / "whole").read_bytes()


def test_the_command_line_exports_and_refuses(tmp_path, folder, run_folder):
    def run(corpus, status):
        arguments = ["corpus", "export", str(corpus), "--to", "lda-c", "--out", str(tmp_path / "x")]
        result = CliRunner().invoke(main, [*arguments, "--json"])
        assert result.exit_code == status, result.output
        return result

    assert json.loads(run(folder, 0).stdout) == {"path": str(tmp_path / "x")}
    assert "Use --overwrite" in run(folder, 1).stderr
    (tmp_path / "x").unlink()
    (tmp_path / "x.vocab").unlink()
    assert "found a run folder" in run(run_folder, 1).stderr
    with pytest.raises(RunError, match="found a run folder"):
        export_corpus(run_folder, "gensim", tmp_path / "x")
