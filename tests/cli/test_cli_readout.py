"""The commands that read a trained run: topics, infer, evaluate, export."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from gensim.corpora import Dictionary
from gensim.models import LdaModel

import reference_completion
from printed_tables import table_of
from sparsetopics.cli.main import main
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import load_run, run_in_memory, save_run
from sparsetopics.runs.run_files import vocabulary_of

EVALUATE_KEYS = [
    "run",
    "log_likelihood_per_token",
    "standard_error",
    "perplexity",
    "unigram_log_likelihood_per_token",
    "n_documents",
    "n_tokens",
    "n_skipped_documents",
    "n_unknown_tokens",
    "npmi",
    "diversity",
    "model",
    "n_topics",
    "elbo_per_token",
    "criterion_per_token",
    "u_mass",
    "inverted_rbo",
    "c_v",
    "c_npmi",
    "in_sample",
    "smoothing",
    "topic_npmi",
]


@pytest.fixture
def heldout(tmp_path, run_folder, training_batch, vocabulary):
    """The documents as a corpus on disk, and three more that hold too little to score."""
    texts = [
        " ".join(
            f"{vocabulary.words[word]} " * int(count) for word, count in zip(*document, strict=True)
        )
        for document in reference_completion.documents(training_batch)
    ]
    texts += ["", "unknown unseen", f"{vocabulary.words[0]} strange"]
    lines = [json.dumps({"id": f"d{i}", "text": text}) for i, text in enumerate(texts)]
    (tmp_path / "docs.jsonl").write_text("\n".join(lines) + "\n")
    options = IngestOptions(vocabulary=vocabulary_of(run_folder))
    ingest([tmp_path / "docs.jsonl"], tmp_path / "heldout", options)
    return tmp_path / "heldout"


@pytest.fixture
def other_corpus(tmp_path):
    texts = ["alpha beta", "beta gamma", "gamma delta", "delta alpha", "rho sigma", "sigma rho"]
    (tmp_path / "other.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    ingest([tmp_path / "other.jsonl"], tmp_path / "other", IngestOptions())
    return tmp_path / "other"


def succeed(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def fail(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_topics_lists_words_with_probabilities(run_folder, model, vocabulary):
    topics = json.loads(succeed("topics", run_folder, "--words", 3, "--json"))

    columns = ["topic", "id", "name", "weight", "words", "documents_with_half", "mostly"]
    columns += ["list_name", "keyword_rate", "n_runs", "found_in_runs", "similarity"]
    assert [list(topic) for topic in topics] == [columns] * 4
    assert [topic["id"] for topic in topics] == [own.id for own in load_run(run_folder).topics]
    np.testing.assert_allclose([topic["weight"] for topic in topics], model.weights)
    best = np.argsort(-model.topic_word_mean[1])[:3]
    assert [word for word, _ in topics[1]["words"]] == [vocabulary.words[word] for word in best]
    np.testing.assert_allclose(
        [probability for _, probability in topics[1]["words"]], model.topic_word_mean[1, best]
    )


def test_topics_prints_a_line_for_each_topic(run_folder, vocabulary, model):
    header, *lines = succeed("topics", run_folder).splitlines()

    assert header.split() == ["topic", "id", "weight", "name", "words"]
    assert [line.split()[0] for line in lines] == ["0", "1", "2", "3"]
    assert lines[0].split()[6] == vocabulary.words[int(np.argmax(model.topic_word_mean[0]))]
    assert lines[0].split()[1] == load_run(run_folder).topics[0].id
    assert len(lines[0].split()) == 3 + 3 + 10
    assert len({line.index("word", header.index("words")) for line in lines}) == 1  # one column


def test_topics_without_tokens_are_left_out_of_the_table(tmp_path, model, vocabulary):
    empty = np.full((2, model.n_words), model.word_concentration)
    posterior = np.vstack([model.topic_word_posterior, empty])
    concentration = np.append(model.doc_concentration, [0.1, 0.1])
    more = TopicPosterior("lda", posterior, concentration, model.word_concentration)
    (tmp_path / "more").mkdir()
    settings = {"corpus": {"n_documents": 60, "fingerprint": "abc"}, "options": {}, "seed": 7}
    save_run(tmp_path / "more", run_in_memory("run", more, vocabulary, settings, []))

    _, *lines, last = succeed("topics", tmp_path / "more").splitlines()

    assert [line.split()[0] for line in lines] == ["0", "1", "2", "3"]
    assert last == "Left out 2 empty topics; --json lists all topics."
    assert len(json.loads(succeed("topics", tmp_path / "more", "--json"))) == 6


def test_a_table_without_topics_in_use_has_its_head(tmp_path, model, vocabulary):
    posterior = model.topic_word_posterior * 0.0 + model.word_concentration + 1e-3
    few = replace(model, topic_word_posterior=posterior)  # less than a token for each topic
    (tmp_path / "few").mkdir()
    settings = {"corpus": {"n_documents": 60, "fingerprint": "abc"}, "options": {}, "seed": 7}
    save_run(tmp_path / "few", run_in_memory("run", few, vocabulary, settings, []))

    head, last = succeed("topics", tmp_path / "few").splitlines()

    assert head.split() == ["topic", "id", "weight", "name", "words"]
    assert last == "Left out 4 empty topics; --json lists all topics."


def test_topics_of_an_hdp_show_their_weights(hdp_folder, hdp):
    topics = json.loads(succeed("topics", hdp_folder, "--json"))

    np.testing.assert_allclose([topic["weight"] for topic in topics], hdp.weights)
    assert sum(topic["weight"] for topic in topics) == pytest.approx(1.0)
    line = succeed("topics", hdp_folder).splitlines()[1]
    assert line.split()[2] == f"{hdp.weights[0]:.2%}"


def test_infer_from_an_hdp_leaves_nothing_to_topics_not_found(hdp_folder, heldout, tmp_path, hdp):
    out = tmp_path / "proportions.parquet"

    succeed("infer", hdp_folder, heldout, "--out", out)

    proportions = np.array(pq.read_table(out)["proportions"].to_pylist())
    (batch,) = Corpus.open(heldout).batches()
    expected = reference_completion.topic_proportions(
        batch, hdp.topic_word_mean, hdp.doc_concentration
    )
    np.testing.assert_allclose(proportions, expected, atol=2e-3)
    np.testing.assert_allclose(proportions.sum(axis=1), 1, atol=1e-6)


def test_infer_writes_all_topics_of_every_document(run_folder, heldout, tmp_path, model):
    out = tmp_path / "proportions.parquet"

    printed = json.loads(succeed("infer", run_folder, heldout, "--out", out, "--json"))

    assert printed == {"n_documents": 61, "path": str(out)}
    table = pq.read_table(out)
    assert table.schema.field("proportions").type == pa.list_(pa.float32())
    assert table["doc_id"].to_pylist() == [f"d{i}" for i in [*range(60), 62]]
    proportions = np.array(table["proportions"].to_pylist())
    (batch,) = Corpus.open(heldout).batches()
    expected = reference_completion.topic_proportions(
        batch, model.topic_word_mean, model.doc_concentration
    )
    np.testing.assert_allclose(proportions, expected, atol=2e-3)
    np.testing.assert_allclose(proportions.sum(axis=1), 1, atol=1e-6)


def test_infer_repeats_exactly_for_any_workers(run_folder, heldout, tmp_path):
    for name, workers in (("a.parquet", 1), ("b.parquet", 2)):
        succeed("infer", run_folder, heldout, "--out", tmp_path / name, "--workers", workers)

    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_evaluate_prints_the_promised_keys(run_folder, heldout):
    (record,) = json.loads(succeed("evaluate", run_folder, heldout, "--json"))

    assert list(record) == EVALUATE_KEYS
    assert record["run"] == str(run_folder)
    assert (record["n_documents"], record["n_skipped_documents"]) == (60, 3)
    assert record["n_unknown_tokens"] == 3
    assert record["perplexity"] == pytest.approx(np.exp(-record["log_likelihood_per_token"]))
    assert -1 <= record["npmi"] <= 1
    assert list(record["topic_npmi"]) == [topic.id for topic in load_run(run_folder).topics]
    assert np.mean(list(record["topic_npmi"].values())) == pytest.approx(record["npmi"])
    assert 0 < record["diversity"] <= 1
    assert 0 <= record["inverted_rbo"] <= 1
    assert record["u_mass"] < 0
    assert record["c_v"] is record["c_npmi"] is None


def test_evaluate_adds_coherence_in_windows_of_texts(run_folder, heldout, vocabulary, tmp_path):
    (tmp_path / "all.jsonl").write_text(json.dumps({"text": " ".join(vocabulary.words)}) + "\n")
    command = ("evaluate", run_folder, heldout, "--texts", tmp_path / "all.jsonl",
               "--texts", tmp_path / "docs.jsonl")  # fmt: skip

    (without,) = json.loads(succeed("evaluate", run_folder, heldout, "--json"))
    (record,) = json.loads(succeed(*command, "--json"))

    assert 0 < record["c_v"] < 1
    assert -1 < record["c_npmi"] < 1
    assert record | {"c_v": None, "c_npmi": None} == without
    (cells,) = table_of(succeed(*command)).values()
    assert float(cells["c_v"]) == pytest.approx(record["c_v"], abs=6e-4)
    assert "missing.jsonl" in fail(*command[:-1], tmp_path / "missing.jsonl")


def test_evaluate_tells_of_topics_whose_words_are_not_in_the_texts(run_folder, heldout, tmp_path):
    (tmp_path / "few.jsonl").write_text('{"text": "wordaa wordab"}\n')

    result = CliRunner().invoke(main, ["evaluate", str(run_folder), str(heldout), "--json",
                                       "--texts", str(tmp_path / "few.jsonl")])  # fmt: skip

    assert "leave out 4 of 4 topics" in result.stderr
    assert json.loads(result.stdout)[0]["c_v"] is None


def test_evaluate_scores_the_exported_matrix_like_the_run(run_folder, heldout, model, tmp_path):
    np.save(tmp_path / "m.npy", model.topic_word_weights)

    run, matrix = json.loads(
        succeed("evaluate", run_folder, tmp_path / "m.npy", heldout, "--alpha", 0.5, "--json")
    )

    unknown = (
        *("model", "elbo_per_token", "in_sample", "smoothing", "topic_npmi"),
        *("difference_from_best", "difference_standard_error"),
    )
    told_by_runs_alone = {"run": "", **dict.fromkeys(unknown)}
    assert matrix["n_topics"] == 4
    assert run | told_by_runs_alone == pytest.approx(matrix | told_by_runs_alone)
    assert matrix["model"] is matrix["elbo_per_token"] is matrix["criterion_per_token"] is None


def test_evaluate_scores_the_files_of_other_toolkits_and_tells_missing_words(
    run_folder, heldout, tmp_path
):
    for target, name in (("mallet", "m.txt"), ("gensim", "lda")):
        succeed("export", run_folder, "--to", target, "--out", tmp_path / name)
    files = (tmp_path / "m.txt", tmp_path / "lda")

    own, *others = json.loads(succeed("evaluate", run_folder, *files, heldout, "--unpickle",
                                      "--alpha", 0.5, "--json"))  # fmt: skip

    score = "log_likelihood_per_token"
    assert [each[score] for each in others] == pytest.approx([own[score]] * 2)
    assert "--unpickle" in fail("evaluate", *files, heldout)
    lines = files[0].read_text().splitlines(keepends=True)
    files[0].write_text("".join(line for line in lines if "\twordab\t" not in line))
    result = CliRunner().invoke(main, ["evaluate", str(files[0]), str(heldout)])
    assert "m.txt has no column for 1 of the 30 words" in result.stderr


def test_evaluate_shows_what_training_raised_beside_the_score(run_folder, hdp_folder, heldout):
    lda, hdp = json.loads(succeed("evaluate", run_folder, hdp_folder, heldout, "--json"))
    rows = table_of(succeed("evaluate", run_folder, hdp_folder, heldout))

    assert [hdp[key] for key in ("model", "n_topics")] == ["hdp", 4]
    assert hdp["elbo_per_token"] == pytest.approx(-3.7)
    assert hdp["criterion_per_token"] == pytest.approx(-3.2)
    assert [lda[key] for key in ("model", "criterion_per_token")] == ["lda", None]
    shown = [[row[head] for head in ("model", "topics", "ELBO/token", "criterion")]
             for row in rows.values()]  # fmt: skip
    assert shown == [["LDA", "4", "-3.7000", "-"], ["HDP", "4", "-3.7000", "-3.2000"]]


def test_evaluate_depends_on_the_seed_and_not_on_workers(run_folder, heldout):
    first, second, other = (
        succeed("evaluate", run_folder, heldout, "--json", *options)
        for options in ((), ("--workers", 2), ("--seed", 1))
    )

    assert first == second
    assert first != other


def test_evaluate_prints_a_table_and_writes_a_report(run_folder, heldout, tmp_path):
    shutil.copytree(run_folder, tmp_path / "again")
    report = tmp_path / "report.html"

    printed = succeed("evaluate", run_folder, tmp_path / "again", heldout, "--report", report)

    first, second = table_of(printed).values()
    assert list(first) == [
        "run", "model", "log-lik/token", "std.err", "difference", "perplexity", "unigram", "topics",
        "NPMI", "u_mass", "diversity", "inv.RBO", "ELBO/token",
    ]  # fmt: skip
    of_best = {"difference": "-", "std.err": "-"}  # the error of the difference
    assert (first["difference"], second["difference"]) == ("-", "0.0000")
    assert first | {"run": ""} == second | {"run": ""} | of_best
    assert first["run"] != second["run"]
    assert printed.split("\n\n")[-1].startswith("60 documents and ")
    assert max(map(len, printed.splitlines())) <= 80
    assert "Comparison of 2 topic models" in report.read_text()
    assert "the output already exists" in fail("evaluate", run_folder, heldout, "--report", report)
    succeed("evaluate", run_folder, heldout, "--report", report, "--overwrite")
    assert "Topic model evaluation" in report.read_text()


def test_evaluate_of_one_path_asks_for_the_other(heldout):
    result = CliRunner().invoke(main, ["evaluate", str(heldout)])

    assert result.exit_code == 2
    assert "Error: Give one or more runs, then the held-out corpus." in result.stderr


def test_evaluate_can_count_coherence_elsewhere(run_folder, heldout, tmp_path):
    (tmp_path / "few.jsonl").write_text('{"text": "wordaa wordab"}\n{"text": "wordac wordad"}\n')
    ingest(
        [tmp_path / "few.jsonl"],
        tmp_path / "few",
        IngestOptions(vocabulary=vocabulary_of(run_folder)),
    )

    (usual,) = json.loads(succeed("evaluate", run_folder, heldout, "--json"))
    (elsewhere,) = json.loads(
        succeed("evaluate", run_folder, heldout, "--coherence-corpus", tmp_path / "few", "--json")
    )

    counted = {"npmi": 0, "u_mass": 0, "topic_npmi": {}}
    assert all(elsewhere[name] != usual[name] for name in counted)
    assert elsewhere | counted == usual | counted


def test_coherence_is_not_counted_among_other_words(run_folder, heldout, other_corpus):
    said = fail("evaluate", run_folder, heldout, "--coherence-corpus", other_corpus)

    assert f"{other_corpus}: its words are not those of {heldout}" in said


def test_export_writes_what_gensim_loads(run_folder, tmp_path, model):
    out = tmp_path / "lda.gensim"

    printed = json.loads(succeed("export", run_folder, "--to", "gensim", "--out", out, "--json"))

    assert printed == {"path": str(out)}
    loaded = LdaModel.load(printed["path"])
    np.testing.assert_allclose(loaded.get_topics(), model.topic_word_mean, rtol=0, atol=1e-8)
    assert (loaded.state.numdocs, loaded.num_updates) == (60, 180)
    assert len(Dictionary.load(f"{out}.dictionary")) == 30
    assert "the output already exists" in fail("export", run_folder, "--to", "gensim", "--out", out)


def test_export_of_an_hdp_keeps_the_weights_of_its_topics(hdp_folder, tmp_path, hdp):
    out = tmp_path / "hdp.gensim"

    succeed("export", hdp_folder, "--to", "gensim", "--out", out)

    loaded = LdaModel.load(str(out))
    np.testing.assert_allclose(loaded.get_topics(), hdp.topic_word_mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(loaded.alpha, 0.5 * hdp.sticks.global_topic_weights)
    assert loaded.alpha[0] > 1.5 * loaded.alpha[1]


def test_export_to_pyldavis_reads_the_documents(run_folder, heldout, other_corpus, tmp_path):
    export = ("export", run_folder, "--to", "pyldavis", "--out", tmp_path / "vis.json")

    succeed(*export, "--corpus", heldout)

    shown = json.loads((tmp_path / "vis.json").read_text())
    assert np.shape(shown["doc_topic_dists"]) == (61, 4)
    export += ("--overwrite",)
    message = fail(*export)
    assert message.startswith("Error: --corpus: pyldavis needs the corpus")
    assert "with --corpus" in message
    assert "found another vocabulary" in fail(*export, "--corpus", other_corpus)
    assert "found a run folder.\n" in fail(*export, "--corpus", run_folder)


def test_documents_are_refused_where_they_are_not_shown(run_folder, heldout, tmp_path):
    out = tmp_path / "x.csv"

    message = fail("export", run_folder, "--to", "csv", "--corpus", heldout, "--out", out)

    problem = f"csv takes no corpus, but {heldout} is given. Only pyldavis, datamapplot take one"
    assert problem in message
    assert not out.exists()


def test_an_unknown_export_target_is_refused_with_the_known_ones(run_folder, tmp_path):
    result = CliRunner().invoke(
        main, ["export", str(run_folder), "--to", "spss", "--out", str(tmp_path / "x")]
    )

    assert result.exit_code == 1
    assert result.stderr.startswith("Error: --to: must be one of gensim, mallet, ")
    assert result.stderr.endswith(", but is 'spss'.\n")
    assert not (tmp_path / "x").exists()


def commands_on(run, corpus, out):
    return (
        ("topics", run),
        ("infer", run, corpus, "--out", out),
        ("evaluate", run, corpus, "--report", out.with_suffix(".html")),
        ("export", run, "--to", "csv", "--out", out),
    )


def test_a_missing_or_damaged_run_is_one_line(run_folder, heldout, tmp_path):
    (run_folder / "model.safetensors").write_bytes(b"torn")
    for command in commands_on(run_folder, heldout, tmp_path / "out.csv"):
        assert "model.safetensors" in fail(*command)
    for command in commands_on(tmp_path / "nowhere", heldout, tmp_path / "out.csv"):
        assert "nowhere: expected a run folder, but found no such folder" in fail(*command)
    assert not (tmp_path / "out.csv").exists()


def test_run_and_corpus_swapped_says_so(run_folder, heldout, tmp_path):
    topics, infer, evaluate, export = commands_on(heldout, run_folder, tmp_path / "out.csv")
    for command in (infer, evaluate):
        assert "Are the run and the corpus swapped?" in fail(*command)
    for command in (topics, export, ("report", heldout, "--out", tmp_path / "out.html")):
        assert "but found a corpus folder. Train on it first.\n" in fail(*command)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("report run --out r.pdf", "must end in .html, .htm, .json or .md, but is r.pdf"),
        ("report run --out r", "must end in .html, .htm, .json or .md, but is r"),
        ("evaluate run heldout --report sc", "must end in .html, .htm, .json or .md, but is sc"),
        ("export run --to csv --out e.parquet", "must end in .csv, but is e.parquet"),
        ("export run --to parquet --out e.CSV", "must end in .parquet, but is e.CSV"),
        ("export run --to pyldavis --out e.html", "must end in .json, but is e.html"),
        ("export run --to gensim --out e.csv", "must not end in .csv with --to gensim"),
        ("corpus export heldout --to lda-c --out e.parquet", "must not end in .parquet"),
    ],
)
def test_an_extension_that_means_another_format_is_refused(
    run_folder, heldout, tmp_path, monkeypatch, arguments, expected
):
    monkeypatch.chdir(tmp_path)
    words = [{"run": run_folder}.get(word, word) for word in arguments.split()]
    option = "--report" if "--report" in words else "--out"

    message = fail(*words)

    assert message.startswith(f"Error: {option}: {expected}")
    assert not (tmp_path / words[-1]).exists()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "t.csv",
            "topic,word,probability\n0,a,1\n0,b,x\n",
            "line 3, column 'probability': expected a",
        ),
        ("t.csv", "topic,word,probability\n0.5,a,1\n", "line 2, column 'topic': expected a whole"),
        ("t.txt", "0\ta\t1\n0\tb\tx\n", "line 2, column 'probability': expected a number, but"),
    ],
)
def test_a_wrong_number_in_a_file_of_topics_is_located(heldout, tmp_path, name, text, message):
    (tmp_path / name).write_text(text)

    assert message in fail("evaluate", tmp_path / name, heldout)


def test_another_vocabulary_is_refused(run_folder, other_corpus, tmp_path):
    for command in commands_on(run_folder, other_corpus, tmp_path / "out.csv")[1:3]:
        message = fail(*command)
        assert str(other_corpus) in message
        assert "--vocabulary" in message
    assert not (tmp_path / "out.csv").exists()


def test_a_number_of_topics_that_the_arrays_deny_is_refused(run_folder, edit_settings, heldout):
    edit_settings(n_topics=5)

    assert "expected shape (5, 30), but found (4, 30)" in fail("evaluate", run_folder, heldout)


def test_an_existing_or_impossible_output_is_refused_before_the_work(run_folder, heldout, tmp_path):
    for name in ("out.csv", "out.html"):
        (tmp_path / name).write_text("mine")
    for command in commands_on(run_folder, heldout, tmp_path / "out.csv")[1:]:
        assert "--overwrite" in fail(*command)
    for command in commands_on(run_folder, heldout, tmp_path / "no" / "out.csv")[1:]:
        assert "does not exist" in fail(*command)
    assert (tmp_path / "out.csv").read_text() == "mine"


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((2, 29)), "one column per word"),
        (-np.ones((2, 30)), "at least 0, but one is -1.0"),
        (np.full((2, 30), np.nan), "must be finite and at least 0, but one is nan"),
    ],
)
def test_a_matrix_that_cannot_be_scored_is_refused(heldout, tmp_path, matrix, message):
    np.save(tmp_path / "m.npy", matrix)

    assert message in fail("evaluate", tmp_path / "m.npy", heldout)


def test_a_missing_heldout_corpus_is_one_line(run_folder, tmp_path):
    assert "nowhere" in fail("evaluate", run_folder, tmp_path / "nowhere")
