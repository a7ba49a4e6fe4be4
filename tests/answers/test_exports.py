"""Exports but gensim's, read back by the tools they are for."""

import json
from csv import reader

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from scipy.io import mmread
from scipy.sparse import csr_array

from resealing import edit_json
from sparsetopics import LDA
from sparsetopics.answers.exports import RUN_TARGETS, text_formats, writer
from sparsetopics.answers.exports.exporting import export_run
from sparsetopics.answers.topic_names import labels_of
from sparsetopics.base.errors import OptionError, OutputError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.inference.document_step import topic_proportions
from sparsetopics.runs.run import load_run, run_in_memory, save_run
from worlds.clumped_mixtures import draw_clumps, mixture_of, write_mixture

OTHERS = ("gensim", "pyldavis", "datamapplot", "names")
DOCUMENT_TARGETS = {"pyldavis", "datamapplot"}
WORD_TARGETS = [each for each in RUN_TARGETS if each not in OTHERS]
TABLES = {"csv": csv.read_csv, "parquet": pq.read_table}


@pytest.fixture
def documents(training_batch, vocabulary):
    parts = training_batch.word_counts, training_batch.word_ids, training_batch.indptr
    return Corpus.from_csr(csr_array(parts, shape=(60, len(vocabulary))), vocabulary.words)


def matrix_of(table, vocabulary, n_topics=4):
    """The long table as topics by words, each pair once."""
    matrix = np.full((n_topics, len(vocabulary)), np.nan)
    for row in table.to_pylist():
        place = row["topic"], vocabulary.words.index(row["word"])
        assert np.isnan(matrix[place])
        matrix[place] = row["probability"]
    return matrix


@pytest.mark.parametrize("target", TABLES)
def test_tables_hold_every_probability_exactly_and_the_best_words_first(
    tmp_path, run_folder, model, vocabulary, target
):
    export_run(run_folder, target, tmp_path / "table")

    table = TABLES[target](tmp_path / "table")
    assert table.column_names == ["topic", "word", "probability", "id", "name"]
    labels = zip(table["id"].to_pylist(), table["name"].to_pylist(), strict=True)
    expected = [each for each in labels_of(load_run(run_folder)) for _ in vocabulary.words]
    assert list(labels) == expected
    np.testing.assert_array_equal(matrix_of(table, vocabulary), model.topic_word_mean)
    probabilities = np.array(table["probability"]).reshape(4, -1)
    assert (np.diff(probabilities, axis=1) <= 0).all()


def test_matrix_market_is_exact_and_names_its_columns(tmp_path, run_folder, model, vocabulary):
    export_run(run_folder, "matrix-market", tmp_path / "topics.mtx")

    np.testing.assert_array_equal(mmread(tmp_path / "topics.mtx").toarray(), model.topic_word_mean)
    words = (tmp_path / "topics.mtx.vocab").read_text().split("\n")
    assert words == [*vocabulary.words, ""]
    assert sorted(file.name for file in tmp_path.glob("topics*")) == [
        "topics.mtx",
        "topics.mtx.vocab",
    ]


def test_mallet_files_hold_smoothing_plus_counts_and_the_best_words(
    tmp_path, run_folder, model, vocabulary
):
    export_run(run_folder, "mallet", tmp_path / "weights.txt")

    rows = [line.split("\t") for line in (tmp_path / "weights.txt").read_text().splitlines()]
    assert [row[:2] for row in rows] == [
        [str(topic), word] for topic in range(4) for word in vocabulary.words
    ]
    weights = np.array([float(row[2]) for row in rows]).reshape(4, -1)
    np.testing.assert_array_equal(weights, model.topic_word_weights)
    np.testing.assert_allclose(weights, model.topic_word_posterior - 0.1 + 0.03, rtol=1e-9)
    keys = [line.split("\t") for line in (tmp_path / "weights.txt.keys").read_text().splitlines()]
    assert [float(key[1]) for key in keys] == model.doc_concentration.tolist()
    for (topic, _, words), expected in zip(keys, model.topic_word_weights, strict=True):
        best = np.argsort(-expected, kind="stable")[: text_formats.KEY_WORDS]
        assert words.split(" ") == [vocabulary.words[word] for word in best], topic


def test_pyldavis_prepares_what_was_written(tmp_path, run_folder, model, documents, vocabulary):
    tool = pytest.importorskip("pyLDAvis", reason="pyLDAvis is not installed")

    text_formats.write_pyldavis(tmp_path / "vis.json", load_run(run_folder), documents)

    prepared = tool.prepare(**json.loads((tmp_path / "vis.json").read_text()), n_jobs=1)
    # Its page takes 0 for "no topic", so numbers begin with 1; the order stays.
    assert prepared.topic_order == prepared.to_dict()["topic.order"] == [1, 2, 3, 4]
    numbers = prepared.topic_coordinates["topics"]
    assert numbers.index.tolist() == [0, 1, 2, 3]
    assert numbers.tolist() == [1, 2, 3, 4]
    frequencies = documents_weights(model, documents)
    np.testing.assert_allclose(prepared.topic_coordinates["Freq"], 100 * frequencies)
    assert set(prepared.token_table["Topic"]) <= {1, 2, 3, 4}
    assert set(prepared.topic_info["Term"]) <= set(vocabulary.words)


def documents_weights(model, documents):
    """The share of each topic in all tokens, (n_topics,)."""
    shares = [
        topic_proportions(batch, model.topic_word_mean, model.doc_concentration)
        for batch in documents.batches()
    ]
    return np.concatenate(shares).mean(axis=0)  # all documents have 40 tokens


def test_pyldavis_refuses_a_single_topic(tmp_path, documents):
    model = LDA(1, max_iter=1).fit(documents)

    with pytest.raises(
        OptionError, match=r"^to: pyldavis needs two topics or more, but LDA has one"
    ):
        model.export(tmp_path / "vis.json", "pyldavis", corpus=documents)
    assert not list(tmp_path.glob("vis*"))


def test_pyldavis_input_describes_the_documents(
    tmp_path, run_folder, model, training_batch, documents, vocabulary
):
    text_formats.write_pyldavis(tmp_path / "vis.json", load_run(run_folder), documents)

    found = json.loads((tmp_path / "vis.json").read_text())
    assert list(found) == [
        "topic_term_dists", "doc_topic_dists", "doc_lengths", "vocab", "term_frequency",
        "sort_topics", "start_index",
    ]  # fmt: skip
    np.testing.assert_array_equal(found["topic_term_dists"], model.topic_word_mean)
    shares = topic_proportions(training_batch, model.topic_word_mean, model.doc_concentration)
    np.testing.assert_allclose(found["doc_topic_dists"], shares)
    assert found["doc_lengths"] == [40] * 60
    assert found["vocab"] == list(vocabulary.words)
    assert found["term_frequency"] == vocabulary.term_frequency.tolist()
    assert (found["sort_topics"], found["start_index"]) == (False, 1)


@pytest.mark.parametrize("target", WORD_TARGETS)
def test_a_mixture_of_documents_goes_as_topics_do(
    tmp_path, run_folder, document_mixture_folder, target
):
    files = json.loads((run_folder / "model.json").read_text())["files"]
    edit_json(
        run_folder / "model.json",
        topics=written_topics(document_mixture_folder),
        files=[entry for entry in files if entry["file"] != "themes.json"],  # of other ids
    )
    export_run(run_folder, target, tmp_path / "topics")
    export_run(document_mixture_folder, target, tmp_path / "mixture")

    assert (tmp_path / "mixture").read_bytes() == (tmp_path / "topics").read_bytes()


def written_topics(folder):
    return json.loads((folder / "model.json").read_text())["topics"]


def test_a_mixture_of_documents_shows_its_weights_and_responsibilities(
    tmp_path, document_mixture_folder, documents, training_batch
):
    mixture = load_run(document_mixture_folder)

    text_formats.write_pyldavis(tmp_path / "vis.json", mixture, documents)
    text_formats.write_mallet(tmp_path / "weights", mixture)

    found = json.loads((tmp_path / "vis.json").read_text())
    np.testing.assert_allclose(
        found["doc_topic_dists"], mixture.model.responsibilities(training_batch)
    )
    keys = (tmp_path / "weights.keys").read_text().splitlines()
    assert [float(key.split("\t")[1]) for key in keys] == mixture.model.weights.tolist()


@pytest.mark.parametrize("likelihood", ["gaussian", "diagonal-gaussian"])
@pytest.mark.parametrize("target", TABLES)
def test_normals_come_back_from_tables(tmp_path, target, likelihood):
    model = mixture_of(draw_clumps(0), likelihood)
    run = write_mixture(tmp_path / "run", model)

    export_run(run, target, tmp_path / "normals")

    means, covariances = np.full((4, 3), np.nan), np.full(model.normals.covariances.shape, np.nan)
    weights = np.full(4, np.nan)
    homes = {"weight": weights, "mean": means, "variance": covariances, "covariance": covariances}
    for row in TABLES[target](tmp_path / "normals").to_pylist():
        place = [row[axis] for axis in ("component", "row", "column") if row[axis] is not None]
        homes[row["parameter"]][tuple(place)] = row["value"]
    np.testing.assert_array_equal(weights, model.weights)
    np.testing.assert_array_equal(means, model.normals.means)
    np.testing.assert_array_equal(covariances, model.normals.covariances)


def test_formats_of_words_refuse_a_mixture_of_vectors(tmp_path):
    run = write_mixture(tmp_path / "run", mixture_of(draw_clumps(0), "gaussian"))

    for target in set(RUN_TARGETS) - {*DOCUMENT_TARGETS, *TABLES}:
        with pytest.raises(
            OptionError, match=f"{target} is for words, .* is a mixture of vectors.*csv"
        ):
            export_run(run, target, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("target", ["mallet", "matrix-market"])
def test_a_word_that_would_break_lines_is_refused(tmp_path, model, vocabulary, target):
    words = ("two\nlines", *vocabulary.words[1:])
    odd = Vocabulary(words, vocabulary.document_frequency, vocabulary.term_frequency)
    (run := tmp_path / "run").mkdir()
    save_run(
        run,
        run_in_memory("run", model, odd, {"corpus": {"n_documents": 60, "fingerprint": "abc"}}, []),
    )

    with pytest.raises(OutputError, match=r"found 'two\\nlines'.*Export to parquet"):
        export_run(run, target, tmp_path / "out")
    assert [file.name for file in tmp_path.iterdir()] == ["run"]
    export_run(run, "csv", tmp_path / "out")
    assert (
        words[0]
        in csv.read_csv(tmp_path / "out", parse_options=csv.ParseOptions(newlines_in_values=True))[
            "word"
        ].to_pylist()
    )


@pytest.mark.parametrize("target", RUN_TARGETS)
def test_every_target_has_a_writer(target):
    assert callable(writer(RUN_TARGETS[target].where))


FORMULAS = ("=1+1", "+1", "-1", "@user", "\tnote", "\rnote", "\nnote", "＝1")


@pytest.fixture
def risky_run(tmp_path, model, vocabulary):
    """A run over words that spreadsheets would take for formulas, and one with a quote."""
    words = (*FORMULAS, 'a"=b', *vocabulary.words[len(FORMULAS) + 1 :])
    risky = Vocabulary(words, vocabulary.document_frequency, vocabulary.term_frequency)
    (run := tmp_path / "run").mkdir()
    save_run(
        run,
        run_in_memory(
            "run", model, risky, {"corpus": {"n_documents": 60, "fingerprint": "abc"}}, []
        ),
    )
    return run


def words_of_csv(path):
    with path.open(newline="", encoding="utf-8") as file:
        return {row[1] for row in reader(file)}


def test_words_that_look_like_formulas_are_kept_unless_spreadsheets_are_to_be_safe(
    tmp_path, risky_run
):
    export_run(risky_run, "csv", tmp_path / "plain.csv")
    export_run(risky_run, "csv", tmp_path / "safe.csv", spreadsheet_safe=True)

    plain, safe = words_of_csv(tmp_path / "plain.csv"), words_of_csv(tmp_path / "safe.csv")
    assert set(FORMULAS) < plain
    assert plain - safe == set(FORMULAS)
    assert safe - plain == {f"'{word}" for word in FORMULAS}


def test_numbers_are_no_formulas(tmp_path):
    run = write_mixture(tmp_path / "run", mixture_of(draw_clumps(0), "gaussian"))

    for name, spreadsheet_safe in (("plain.csv", False), ("safe.csv", True)):
        export_run(run, "csv", tmp_path / name, spreadsheet_safe=spreadsheet_safe)

    assert ",-" in (tmp_path / "safe.csv").read_text()
    assert (tmp_path / "safe.csv").read_bytes() == (tmp_path / "plain.csv").read_bytes()


@pytest.mark.parametrize("target", sorted(set(RUN_TARGETS) - {"csv", *DOCUMENT_TARGETS}))
def test_only_csv_is_made_safe_for_spreadsheets(tmp_path, risky_run, target):
    message = f"spreadsheet-safe: is for csv, not for --to {target}"
    with pytest.raises(OptionError, match=message):
        export_run(risky_run, target, tmp_path / "out", spreadsheet_safe=True)

    assert [file.name for file in tmp_path.iterdir()] == ["run"]
