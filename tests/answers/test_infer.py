"""``infer``: files of four formats, the largest topics alone, and topics of texts."""

import csv
import json
import weakref

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from sparsetopics.answers.proportions import ShareColumns, share_tables
from sparsetopics.answers.table_files import write_output
from sparsetopics.answers.topic_names import labels_of
from sparsetopics.base.outputs import output_file
from sparsetopics.cli.main import main
from sparsetopics.corpora.corpus import Corpus, VectorCorpus
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.text.tokenizer import TokenizerOptions
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.execution.executors import Crew, broadcast_map_here
from sparsetopics.inference.document_step import topic_proportions
from sparsetopics.runs.run import load_run, run_in_memory, save_run
from sparsetopics.runs.run_files import vocabulary_of
from worlds.clumped_mixtures import draw_clumps, mixture_of, write_mixture


def run(*arguments, status=0, standard_input=None):
    result = CliRunner().invoke(main, list(map(str, arguments)), input=standard_input)
    assert result.exit_code == status, result.output
    return result


def fail(*arguments, **others):
    result = run("infer", *arguments, status=1, **others)
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.fixture
def texts(training_batch, vocabulary):
    return [
        " ".join(
            " ".join([vocabulary.words[word]] * count)
            for word, count in zip(batch.word_ids, batch.word_counts.tolist(), strict=True)
        )
        for batch in (training_batch[n : n + 1] for n in range(training_batch.n_docs))
    ]


@pytest.fixture
def corpus(tmp_path, run_folder, texts):
    """The documents on disk; two have ids that need care in CSV and JSON."""
    ids = ['=1+"a",b', "Ж", *(f"d{n}" for n in range(2, len(texts)))]
    rows = [json.dumps({"id": i, "text": text}) for i, text in zip(ids, texts, strict=True)]
    (tmp_path / "docs.jsonl").write_text("\n".join(rows))
    options = IngestOptions(vocabulary=vocabulary_of(run_folder))
    ingest([tmp_path / "docs.jsonl"], tmp_path / "corpus", options)
    return tmp_path / "corpus"


def ids_of(corpus):
    return [doc_id for ids in Corpus.open(corpus).ids() for doc_id in ids]


@pytest.fixture
def shares(training_batch, model):
    """Proportions of all documents, (60, 4), as float32."""
    found = topic_proportions(training_batch, model.topic_word_mean, model.doc_concentration)
    return found.astype(np.float32)


def read_csv(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read_jsonl(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read_arrow(path):
    with pa.ipc.open_file(path) as file:
        return file.read_all().to_pylist()


READERS = {
    ".parquet": lambda path: pq.read_table(path).to_pylist(),
    ".csv": read_csv,
    ".jsonl": read_jsonl,
    ".arrow": read_arrow,
}


@pytest.mark.parametrize("suffix", READERS)
def test_the_extension_decides_the_format(run_folder, corpus, shares, tmp_path, suffix):
    out = tmp_path / f"shares{suffix}"

    run("infer", run_folder, corpus, "--out", out)

    rows = READERS[suffix](out)
    assert [row["doc_id"] for row in rows] == [
        id for ids in Corpus.open(corpus).ids() for id in ids
    ]
    columns = [f"proportions_{topic}" for topic in range(4)]
    found = [
        [row[column] for column in columns] if suffix == ".csv" else row["proportions"]
        for row in rows
    ]
    np.testing.assert_array_equal(np.array(found, np.float32), shares)
    assert len(rows[0]) == (5 if suffix == ".csv" else 2)


def topics_of(share, model):
    """Topics of which a document of 40 tokens has at least a hundredth of one."""
    prior = model.doc_concentration
    return np.flatnonzero(share * (40 + prior.sum()) - prior >= 0.01).tolist()


@pytest.mark.parametrize("suffix", READERS)
def test_top_keeps_the_largest_topics_in_long_form(
    run_folder, corpus, model, shares, tmp_path, suffix
):
    out = tmp_path / f"top{suffix.upper()}"

    result = run("infer", run_folder, corpus, "--top", 4, "--out", out)

    assert result.stdout == f"Wrote up to 4 rows for each of 60 documents to {out}.\n"
    rows = READERS[suffix](out)
    assert list(rows[0]) == ["doc_id", "topic", "id", "name", "proportion"]
    best = np.argsort(-shares, axis=1, kind="stable")
    expected = [
        (name, k, share[k])
        for name, share, own in zip(ids_of(corpus), shares, best, strict=True)
        for k in own
        if k in topics_of(share, model)
    ]
    assert 60 < len(rows) == len(expected) < 240
    found = [(r["doc_id"], int(r["topic"]), np.float32(r["proportion"])) for r in rows]
    assert found == expected
    labels = labels_of(load_run(run_folder))
    assert [(r["id"], r["name"]) for r in rows] == [labels[k] for _, k, _ in expected]


def test_ties_go_to_the_lower_topic_and_top_may_be_more_than_there_are():
    labels = [(f"id{topic}", f"topic {topic}") for topic in range(4)]
    columns = ShareColumns("proportion", np.zeros(4), 9, labels)
    shares = np.array([[0.25, 0.25, 0.25, 0.25], [0, 0.4, 0.2, 0.4], [0.1, 0.2, 0.3, 0.4]])

    table = columns.table(["a", "b", "c"], shares, np.array([1.0, 1.0, 0.0]))

    assert table["topic"].to_pylist() == [0, 1, 2, 3, 1, 3, 2, None]
    assert table["doc_id"].to_pylist() == ["a"] * 4 + ["b"] * 3 + ["c"]


def test_top_of_a_mixture_of_vectors_has_its_own_names(tmp_path):
    items = draw_clumps(0)
    model = mixture_of(items, "gaussian")
    corpus = VectorCorpus.from_array(items.values)

    _, (table,) = share_tables(run_in_memory("run", model, None, {"corpus": {}}, []), corpus, 2)

    assert table.column_names == ["item_id", "topic", "responsibility"]
    shares = model.responsibilities(items.values)
    best = np.argsort(-shares.astype(np.float32), axis=1, kind="stable")[:, :2]
    rows = [(n, k) for n, own in enumerate(best.tolist()) for k in own if shares[n, k] >= 0.01]
    assert table["topic"].to_pylist() == [k for _, k in rows]
    assert table["item_id"].to_pylist() == [str(n) for n, _ in rows]


def test_only_one_piece_of_the_table_is_held_at_a_time(run_folder, vocabulary, tmp_path):
    """However many documents there are: each table is gone when the next one is made."""
    made = []

    def broadcast(function, items):
        for table in broadcast_map_here(function, items):
            made.append(weakref.ref(table))
            yield table
            del table
            alive = [reference for reference in made if reference() is not None]
            assert len(alive) <= 1  # the one that was written last

    whole = Corpus.from_texts([vocabulary.words[0]], vocabulary=vocabulary)
    corpus = Corpus(whole.vocabulary, [whole.row_groups[0]] * 50)
    for name in ("a.parquet", "a.csv", "a.jsonl", "a.arrow"):
        output = output_file(tmp_path / name, overwrite=False)
        tables = share_tables(load_run(run_folder), corpus, 2, crew=Crew(map=broadcast))
        write_output(output, *tables)
        del tables

    assert len(made) == 200


@pytest.mark.parametrize("name", ["p.xlsx", "proportions"])
def test_other_formats_are_refused_before_anything_is_read(tmp_path, name):
    message = fail("no-run", "no-corpus", "--out", tmp_path / name)

    formats = ".parquet, .csv, .jsonl or .arrow"
    assert message == f"Error: --out: must end in {formats}, but is {name}.\n"


def test_ids_that_look_like_formulas_are_made_safe_on_request(run_folder, corpus, tmp_path):
    out = tmp_path / "safe.csv"

    run("infer", run_folder, corpus, "--top", 1, "--spreadsheet-safe", "--out", out)

    assert read_csv(out)[0]["doc_id"] == '\'=1+"a",b'
    message = fail(run_folder, corpus, "--spreadsheet-safe", "--out", tmp_path / "p.jsonl")
    assert message == "Error: --spreadsheet-safe: is for CSV, but the output is 'p.jsonl'.\n"


# --- texts ----------------------------------------------------------------------------------------
def test_a_text_has_the_topics_of_the_document_with_the_same_words(
    run_folder, texts, shares, model, vocabulary
):
    text = f"{texts[0].upper()}, unseen unknown!"

    result = run("infer", run_folder, "--text", text, "--top", 9, "--json")

    said = json.loads(result.stdout)
    assert [said[key] for key in ("n_documents", "n_tokens", "n_unknown_tokens")] == [1, 40, 2]
    (document,) = said["documents"]
    order = np.argsort(-shares[0], kind="stable")
    order = order[np.isin(order, topics_of(shares[0], model))]
    assert [topic["topic"] for topic in document["topics"]] == order.tolist()
    np.testing.assert_array_equal([t["share"] for t in document["topics"]], shares[0][order])
    best = np.argsort(-model.topic_word_mean[order[0]], kind="stable")[:6]
    assert document["topics"][0]["words"] == [vocabulary.words[word] for word in best]
    assert result.stderr == f"Left out: 2 of 42 words (not in the vocabulary of {run_folder}).\n"


def test_people_read_a_line_for_each_topic(run_folder, texts, shares, model):
    header, *lines = run("infer", run_folder, "--text", texts[3]).stdout.splitlines()

    assert header.split() == ["document", "topic", "id", "share", "name:", "words"]
    assert len(lines) == len(topics_of(shares[3], model))
    topic, name = labels_of(load_run(run_folder))[best := int(shares[3].argmax())]
    assert lines[0].split()[:4] == ["0", str(best), topic, f"{shares[3].max():.2%}"]
    assert f"{shares[3].max():.2%}  {name}: word" in lines[0]
    assert len(lines[0].split()) == 4 + 3 + 6


def test_each_line_of_the_standard_input_is_a_document(run_folder, texts, shares):
    lines = "".join([f"\ufeff{texts[0]}\r\n", "\n", f"{texts[1]}\n", "unseen\n", texts[2]])

    result = run("infer", run_folder, "-", "--top", 1, standard_input=lines)

    rows = [line.split()[:2] for line in result.stdout.splitlines()[1:]]
    first, second, third = map(str, shares[:3].argmax(axis=1))
    assert rows == [["0", first], ["1", "-"], ["2", second], ["3", "-"], ["4", third]]
    assert result.stderr.splitlines() == [
        f"Left out: 1 of 121 words (not in the vocabulary of {run_folder}).",
        "Without a known word: 2 of 5 documents.",
    ]


def test_an_empty_standard_input_is_refused(run_folder):
    result = CliRunner().invoke(main, ["infer", str(run_folder), "-"], input="")

    assert (result.exit_code, result.stderr) == (1, "Error: standard input: is empty.\n")


def test_one_document_is_told_in_the_singular(run_folder, texts, tmp_path):
    out = tmp_path / "shares.csv"

    result = run("infer", run_folder, "--text", texts[5], "--out", out)

    assert result.stdout == f"Wrote a row for each of 1 document to {out}.\n"


def test_topics_of_texts_can_be_written(run_folder, texts, shares, tmp_path):
    out = tmp_path / "shares.parquet"

    result = run("infer", run_folder, "--text", texts[5], "--text", texts[7], "--out", out)

    assert result.stdout == f"Wrote a row for each of 2 documents to {out}.\n"
    table = pq.read_table(out)
    assert table["doc_id"].to_pylist() == ["0", "1"]
    np.testing.assert_array_equal(table["proportions"].to_pylist(), shares[[5, 7]])


def test_texts_are_cut_as_those_of_the_training(tmp_path, model, vocabulary):
    settings = TokenizerOptions(token_pattern=r"[a-z]+", lowercase=False).settings()
    words = Vocabulary(vocabulary.words, *[vocabulary.term_frequency] * 2, settings)
    (folder := tmp_path / "own").mkdir()
    save_run(
        folder,
        run_in_memory(
            "run", model, words, {"corpus": {"n_documents": 60, "fingerprint": "abc"}}, []
        ),
    )

    said = json.loads(run("infer", folder, "--text", "wordaaWORDAA wordab", "--json").stdout)

    assert (said["n_tokens"], said["n_unknown_tokens"]) == (2, 0)


def test_a_function_that_cut_the_words_must_be_named(tmp_path, monkeypatch, model, vocabulary):
    (tmp_path / "commas.py").write_text("def cut(text):\n    return text.split(',')\n")
    monkeypatch.chdir(tmp_path)
    settings = TokenizerOptions(function="commas:cut", lowercase=False).settings()
    words = Vocabulary(vocabulary.words, *[vocabulary.term_frequency] * 2, settings)
    (folder := tmp_path / "own").mkdir()
    save_run(
        folder,
        run_in_memory(
            "run", model, words, {"corpus": {"n_documents": 60, "fingerprint": "abc"}}, []
        ),
    )
    command = (folder, "--text", "wordaa,wordab,word aa")

    assert "Pass --tokenizer commas:cut." in fail(*command)
    said = json.loads(run("infer", *command, "--tokenizer", "commas:cut", "--json").stdout)

    assert (said["n_tokens"], said["n_unknown_tokens"]) == (2, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("corpus", "--text", "x"), "--text: cannot be combined with the corpus corpus."),
        (("-", "--text", "x"), "--text: cannot be combined with the standard input."),
        (("--text", "x", "--spreadsheet-safe"), "--spreadsheet-safe: needs --out."),
        (("corpus", "--out", "p.csv", "--tokenizer", "a:b"), "--tokenizer: is for texts, but"),
        (("--text", "\udcff"), "--text: must be UTF-8."),
        (("--text", "wordaa", "--top", "0"), "--top: must be at least 1, but is 0."),
        (("--text", "wordaa", "--tokenizer", "nope:f"), "--tokenizer: 'nope:f' cannot be imported"),
    ],
)
def test_what_does_not_go_together_is_refused(run_folder, arguments, message):
    assert message in fail(run_folder, *arguments)


def test_bytes_that_are_no_text_are_refused(run_folder):
    message = fail(run_folder, "-", standard_input=b"wordaa\n\xff\n")

    assert message == "Error: standard input, line 2: expected UTF-8 text. Convert it with iconv.\n"


def test_a_mixture_of_vectors_has_no_words(tmp_path):
    folder = write_mixture(tmp_path / "run", mixture_of(draw_clumps(0), "gaussian"))

    assert "a mixture of vectors (gaussian)" in fail(folder, "--text", "words")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Give a corpus, - for the standard input, or --text."),
        (("corpus",), "Name the file to write with --out."),
    ],
)
def test_a_missing_argument_is_wrong_usage(run_folder, arguments, message):
    assert message in run("infer", run_folder, *arguments, status=2).stderr
