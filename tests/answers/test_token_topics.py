"""``infer --tokens``: the topic of each word of each document."""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_array

from sparsetopics.answers.proportions import share_tables
from sparsetopics.base import batches
from sparsetopics.base.errors import OptionError
from sparsetopics.cli.main import main
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.inference.document_step import topic_proportions
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import load_run, run_in_memory
from sparsetopics.runs.run_files import vocabulary_of
from worlds.clumped_mixtures import draw_clumps, mixture_of, write_mixture

COLUMNS = ["doc_id", "word", "count", "topic", "id", "share"]


def run(*arguments, status=0, given=None):
    result = CliRunner().invoke(main, ["infer", *map(str, arguments)], input=given)
    assert result.exit_code == status, result.output
    return result


def fail(*arguments):
    result = run(*arguments, status=1)
    assert result.stdout == ""
    return result.stderr


@pytest.fixture
def corpus(tmp_path, run_folder, training_batch, vocabulary):
    """The documents on disk."""
    rows = []
    for number in range(training_batch.n_docs):
        one = training_batch[number : number + 1]
        words = np.repeat([vocabulary.words[v] for v in one.word_ids], one.word_counts)
        rows.append(json.dumps({"id": f"d{number}", "text": " ".join(words)}))
    (tmp_path / "docs.jsonl").write_text("\n".join(rows))
    options = IngestOptions(vocabulary=vocabulary_of(run_folder))
    ingest([tmp_path / "docs.jsonl"], tmp_path / "corpus", options)
    return tmp_path / "corpus"


def rows_by_hand(batch, model, words):
    """The rows by loops over documents, words and topics."""
    shares = topic_proportions(batch, model.topic_word_mean, model.doc_concentration)
    rows = []
    for d in range(batch.n_docs):
        for pair in range(batch.indptr[d], batch.indptr[d + 1]):
            v = batch.word_ids[pair]
            joint = [shares[d, k] * model.topic_word_mean[k, v] for k in range(model.n_topics)]
            best = max(range(model.n_topics), key=lambda k: joint[k])
            share = joint[best] / sum(joint)
            rows.append((f"d{d}", words[v], int(batch.word_counts[pair]), best, share))
    return rows


def check_rows(table, expected):
    assert table.column_names == COLUMNS
    *exact, shares = zip(*expected, strict=True)
    for name, values in zip(COLUMNS[:4], exact, strict=True):
        assert table[name].to_pylist() == [*values], name
    np.testing.assert_allclose(table["share"].to_pylist(), shares, rtol=1e-6)


@pytest.mark.parametrize(("folder", "kind"), [("run_folder", "model"), ("hdp_folder", "hdp")])
def test_each_word_has_its_most_probable_topic(
    folder, kind, corpus, training_batch, vocabulary, tmp_path, request
):
    run_path, model = request.getfixturevalue(folder), request.getfixturevalue(kind)
    out = tmp_path / "words.parquet"

    said = run(run_path, corpus, "--tokens", "--out", out)

    assert said.stdout == f"Wrote a row for each word of 60 documents to {out}.\n"
    table = pq.read_table(out)
    check_rows(table, rows_by_hand(training_batch, model, vocabulary.words))
    assert len(set(topics := table["topic"].to_pylist())) > 1
    own = load_run(run_path).topics
    assert table["id"].to_pylist() == [own[topic].id for topic in topics]
    assert table.schema.field("count").type == pa.int64()


def test_csv_has_the_same_rows(run_folder, corpus, training_batch, model, vocabulary, tmp_path):
    record = run(run_folder, corpus, "--tokens", "--out", tmp_path / "w.csv", "--json").stdout

    assert json.loads(record) == {"n_documents": 60, "path": str(tmp_path / "w.csv")}
    with (tmp_path / "w.csv").open(newline="", encoding="utf-8") as file:
        found = [tuple(row.values()) for row in csv.DictReader(file)]
    expected = rows_by_hand(training_batch, model, vocabulary.words)
    assert [row[:4] for row in found] == [tuple(map(str, row[:4])) for row in expected]


def test_bytes_do_not_depend_on_workers_or_blocks(run_folder, corpus, tmp_path, monkeypatch):
    for name, workers in (("a.arrow", 1), ("b.arrow", 2)):
        run(run_folder, corpus, "--tokens", "--out", tmp_path / name, "--workers", workers)
    monkeypatch.setattr("sparsetopics.answers.proportions.BLOCK_PAIRS", 7)
    run(run_folder, corpus, "--tokens", "--out", tmp_path / "c.arrow")

    assert batches.BLOCK_PAIRS > 7
    bytes_of = [(tmp_path / f"{name}.arrow").read_bytes() for name in "abc"]
    assert bytes_of[0] == bytes_of[1] == bytes_of[2]


def test_weights_stay_weights_and_ties_go_to_the_lower_topic(vocabulary):
    rows = np.zeros((2, 30))
    rows[0, [2, 5]] = 0.5, 2.25
    rows[1, 7] = 1.5
    documents = Corpus.from_csr(csr_array(rows), vocabulary.words, vocabulary=vocabulary)
    twins = TopicPosterior("lda", np.ones((3, 30)), np.ones(3), 0.1)

    _, (table,) = share_tables(
        run_in_memory("twins", twins, vocabulary, {"corpus": {}}, []), documents, tokens=True
    )

    assert table["count"].to_pylist() == [0.5, 2.25, 1.5]
    assert table["doc_id"].to_pylist() == ["0", "0", "1"]
    assert table["topic"].to_pylist() == [0, 0, 0]
    np.testing.assert_allclose(table["share"].to_pylist(), 1 / 3, rtol=1e-6)


def test_texts_have_rows_in_the_order_of_the_vocabulary(run_folder):
    given = "wordac wordaa WORDAC zzz\n\nwordab\n"

    head, *lines = run(run_folder, "-", "--tokens", given=given).stdout.splitlines()
    said = json.loads(run(run_folder, "-", "--tokens", "--json", given=given).stdout)

    assert head.split() == ["document", "topic", "id", "share", "count", "word"]
    rows = [(row["doc_id"], row["word"], row["count"]) for row in said["tokens"]]
    assert rows == [("0", "wordaa", 1), ("0", "wordac", 2), ("2", "wordab", 1)]
    assert [said[key] for key in ("n_documents", "n_skipped", "n_unknown_tokens")] == [2, 1, 1]
    for line, row in zip(lines, said["tokens"], strict=True):
        cells = [str(row[key]) for key in ("doc_id", "topic", "id", "count", "word")]
        assert line.split() == [*cells[:3], f"{row['share']:.2%}", *cells[3:]]


def test_what_does_not_go_together_is_refused(
    run_folder, document_mixture_folder, corpus, tmp_path
):
    message = fail(run_folder, "--text", "wordaa", "--tokens", "--top", 2)
    assert message == "Error: --tokens: cannot be combined with --top. Give one of them.\n"
    out = tmp_path / "w.csv"
    assert "cannot be combined" in fail(run_folder, corpus, "--tokens", "--top", 2, "--out", out)
    for source in ([corpus, "--out", out], ["--text", "wordaa"]):
        message = fail(document_mixture_folder, *source, "--tokens")
        assert message.startswith(
            "Error: --tokens: is for topic models, but the model is a mixture."
        )
    assert not out.exists()
    vectors = write_mixture(tmp_path / "vectors", mixture_of(draw_clumps(0), "gaussian"))
    assert "a mixture of vectors" in fail(vectors, corpus, "--tokens", "--out", out)


def test_a_mixture_is_refused_before_any_table_is_made(document_mixture_folder, vocabulary):
    documents = Corpus.from_texts(["wordaa"], vocabulary=vocabulary)
    with pytest.raises(OptionError, match="is a mixture"):
        share_tables(load_run(document_mixture_folder), documents, tokens=True)
