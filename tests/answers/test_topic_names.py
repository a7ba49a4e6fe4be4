"""Names of topics: those that people give in a file, and where they are shown."""

import csv
import json
import os
import tomllib

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from sparsetopics.answers.exports.exporting import export_run
from sparsetopics.answers.topic_names import names_of, read_names, topic_rows, with_given
from sparsetopics.base.errors import OptionError, RunError
from sparsetopics.cli.main import main
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.evaluation.report.report import write_run_report
from sparsetopics.evaluation.scoring.fixed_topics import read_topic_matrix
from sparsetopics.evaluation.scoring.weight_files import READERS
from sparsetopics.measures.completion import unigram_probabilities
from sparsetopics.measures.relevance import relevant_words
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import load_run, save_run

HOSTILE = "</script><img src=x onerror=alert(1)>"


def run(*arguments, status=0):
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == status, result.output
    if status:
        assert len(result.stderr.splitlines()) == 1, result.stderr
    return result.stderr if status else result.stdout


@pytest.fixture
def names_file(tmp_path):
    def write(text):
        path = tmp_path / "names.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


# --- files of names -------------------------------------------------------------------------------
def test_a_file_gives_names_by_number(names_file):
    path = names_file('3 = "Crime"\n0 = \'Cats & "dogs"\'\n"1" = "日本"\n')

    assert read_names(path) == {3: "Crime", 0: 'Cats & "dogs"', 1: "日本"}
    assert read_names(names_file("# none yet\n")) == {}
    assert read_names(names_file('\ufeff1 = "Crime"\n')) == {1: "Crime"}  # with a BOM


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("3 = 4", ", 3: ", "a name must be a string, but is 4."),
        ("3 = true", ", 3: ", "a name must be a string, but is true."),
        ('3 = ["a"]', ", 3: ", "a name must be a string, but is an array."),
        ('3.1 = "a"', ", 3: ", "a name must be a string, but is a table."),
        ('3 = " "', ", 3: ", "a name must not be empty. Leave a topic out to keep"),
        (f'3 = "{"x" * 201}"', ", 3: ", "a name has at most 200 characters, but this has 201."),
        ('3 = "\\u001b[31mred"', ", 3: ", "a name must be printable"),
        ('3 = "two\\nlines"', ", 3: ", "a name must be printable"),
        ('3 = "\\u202eleft"', ", 3: ", "a name must be printable"),
        ('crime = "a"', ", crime: ", "a key must be the number of a topic. Write lines such as"),
        ('03 = "a"', ", 03: ", "a key must be the number of a topic"),
        ('-1 = "a"', ", -1: ", "a key must be the number of a topic"),
        ('"٣" = "a"', ", ٣: ", "a key must be the number of a topic"),
        ('[names]\n3 = "a"', ", names: ", "a key must be the number of a topic"),
        ('3 = "a"\n3 = "b"', ": ", "is not valid TOML (Cannot overwrite a value"),
        ("3 = Crime", ": ", "is not valid TOML"),
    ],
)
def test_wrong_names_are_refused_with_their_place(names_file, text, place, problem):
    path = names_file(text)

    with pytest.raises(OptionError) as error:
        read_names(path)

    assert str(error.value).startswith(f"{path}{place}{problem}")


def test_a_file_that_is_none_is_refused_in_one_line(run_folder, tmp_path):
    (tmp_path / "large.toml").write_text("# " * (1 << 20))
    for name, problem in (("nowhere", "cannot be read"), ("large.toml", "more than 1,048,576"),
                          (".", "is a folder"), (os.devnull, "a device")):  # fmt: skip
        assert problem in run("topics", run_folder, "--names", tmp_path / name, status=1)


@pytest.mark.parametrize("topic", [4, -1, "1", 1.0, None])
def test_only_topics_of_the_model_have_names(topic):
    with pytest.raises(OptionError, match=r"names: there is no topic .* to name 'a': the"):
        with_given(["w"] * 4, {topic: "a"})


def test_python_gives_names_as_numbers_and_strings():
    assert with_given(["w", "x"], {np.int64(1): "Cats"}) == ["w", "Cats"]
    for given in ([(0, "a")], {0: 3}, {0: ""}, {0: "a\0"}, {0: "\ud800"}):
        with pytest.raises(OptionError, match="names: "):
            with_given(["w", "x"], given)


def test_export_writes_a_file_to_edit(run_folder, model, vocabulary, tmp_path):
    run("export", run_folder, "--to", "names", "--out", tmp_path / "all.toml")

    text = (tmp_path / "all.toml").read_text()
    default = names_of(load_run(run_folder))
    assert read_names(tmp_path / "all.toml") == dict(enumerate(default))
    best = np.argsort(-model.topic_word_mean[0])[:10]
    words = " ".join(vocabulary.words[word] for word in best)
    assert f"# {model.weights[0]:.2%}: {words}\n" in text


def test_a_file_with_some_names_is_completed(run_folder, names_file, tmp_path):
    given = names_file('2 = "Crime \\\\ \\"and\\" <b>"')

    run("export", run_folder, "--to", "names", "--names", given, "--out", tmp_path / "all.toml")

    default = names_of(load_run(run_folder))
    expected = {**dict(enumerate(default)), 2: 'Crime \\ "and" <b>'}
    assert read_names(tmp_path / "all.toml") == expected


def test_any_words_make_a_file_that_can_be_read(tmp_path):
    words = ("\x1b[31m", "a\nb", '"quoted"', "\x7f", "\u2028", "back\\slash", "\U0010ffff" * 300)
    rows = np.random.default_rng(0).gamma(1.0, 1.0, (5, len(words))) + 0.1
    frequencies = np.arange(1, len(words) + 1)
    (tmp_path / "run").mkdir()
    model = TopicPosterior("lda", rows, np.full(5, 0.5), 0.1)
    settings = {"corpus": {"n_documents": 3}, "options": {}}
    save_run(tmp_path / "run", model, Vocabulary(words, frequencies, frequencies), settings, [])

    export_run(tmp_path / "run", "names", tmp_path / "names.toml")

    assert list(read_names(tmp_path / "names.toml")) == [0, 1, 2, 3, 4]
    assert list(tomllib.loads((tmp_path / "names.toml").read_text())) == list("01234")
    assert "\x1b" not in run("topics", tmp_path / "run")


# --- where names are shown ------------------------------------------------------------------------
def test_topics_prints_names_and_takes_others(run_folder, names_file):
    default = [row["name"] for row in json.loads(run("topics", run_folder, "--json"))]
    given = names_file('1 = "Crime"')

    named = json.loads(run("topics", run_folder, "--names", given, "--json"))

    assert default == names_of(load_run(run_folder))
    assert [row["name"] for row in named] == [default[0], "Crime", *default[2:]]
    assert "  Crime  " in run("topics", run_folder, "--names", given)


def test_a_long_name_is_shortened_in_the_table_alone(run_folder, names_file):
    given = names_file(f'1 = "{"long " * 20}end"')

    lines = run("topics", run_folder, "--names", given).splitlines()

    assert f"  {('long ' * 20)[:39]}…  word" in lines[2]
    assert lines[0].index("words") == len("topic  weight  ") + 40 + 2
    (row,) = json.loads(run("topics", run_folder, "--names", given, "--json"))[1:2]
    assert row["name"] == "long " * 20 + "end"


def test_topics_orders_words_by_relevance(run_folder, model, vocabulary):
    topics = json.loads(run("topics", run_folder, "--relevance", "0.3", "--words", 4, "--json"))

    unigram = unigram_probabilities(vocabulary.term_frequency)
    best = relevant_words(model.topic_word_mean, unigram, 4, 0.3)
    for row, expected in zip(topics, best, strict=True):
        assert [word for word, _ in row["words"]] == [vocabulary.words[word] for word in expected]
        probabilities = model.topic_word_mean[row["topic"], expected]
        np.testing.assert_allclose([share for _, share in row["words"]], probabilities)


@pytest.mark.parametrize("balance", ["-0.1", "1.1", "nan", "much"])
def test_relevance_is_between_0_and_1(run_folder, balance):
    said = run("topics", run_folder, "--relevance", balance, status=1)

    assert said.startswith("Error: --relevance: must be")


def test_tables_have_names_if_names_are_given(run_folder, model, tmp_path):
    names = {1: "=Crime"}
    for target in ("csv", "parquet"):
        export_run(run_folder, target, tmp_path / f"t.{target}", names=names)
    export_run(run_folder, "csv", tmp_path / "safe.csv", names=names, spreadsheet_safe=True)

    expected = np.repeat(names_of(load_run(run_folder), names), model.n_words).tolist()
    assert pq.read_table(tmp_path / "t.parquet")["name"].to_pylist() == expected
    with (tmp_path / "t.csv").open(newline="") as file:
        assert [row["name"] for row in csv.DictReader(file)] == expected
    with (tmp_path / "safe.csv").open(newline="") as file:
        assert {row["name"] for row in csv.DictReader(file) if row["topic"] == "1"} == {"'=Crime"}


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_table_with_names_can_be_scored(run_folder, model, vocabulary, tmp_path, name):
    export_run(run_folder, name.partition(".")[2], tmp_path / name, names={0: "Crime"})

    found, *_ = read_topic_matrix(tmp_path / name, vocabulary.words, READERS[f".{name[2:]}"])

    np.testing.assert_allclose(found, model.topic_word_mean)


@pytest.mark.parametrize("target", ["gensim", "mallet", "matrix-market", "pyldavis"])
def test_formats_without_names_refuse_them(run_folder, names_file, tmp_path, target):
    corpus = ("--corpus", run_folder) if target == "pyldavis" else ()
    given = ("--names", names_file('0 = "Crime"'))

    said = run("export", run_folder, "--to", target, *corpus, *given, "--out", tmp_path / "x",
               status=1)  # fmt: skip

    expected = "is for a run and the formats csv, parquet, names, not for --to"
    assert said == f"Error: --names: {expected} {target}.\n"


def test_components_of_vectors_have_no_names(tmp_path, names_file):
    from worlds.clumped_mixtures import draw_clumps, mixture_of, write_mixture

    write_mixture(tmp_path / "run", mixture_of(draw_clumps(0), "gaussian"))

    for write in (
        lambda: export_run(tmp_path / "run", "csv", tmp_path / "t.csv", names={0: "a"}),
        lambda: write_run_report(tmp_path / "r.html", [tmp_path / "run"], names={0: "a"}),
        lambda: topic_rows(load_run(tmp_path / "run"), 3),
    ):
        with pytest.raises(RunError, match="expected a run that was trained with documents"):
            write()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]
    with pytest.raises(OptionError, match=r"names is for words, but .* is a mixture of vectors"):
        export_run(tmp_path / "run", "names", tmp_path / "n.toml")


def test_a_page_shows_names_as_text(run_folder, names_file, tmp_path):
    given = names_file(f'1 = "{HOSTILE}"\n')

    run("report", run_folder, "--names", given, "--out", tmp_path / "r.html")

    page = (tmp_path / "r.html").read_text()
    shown = HOSTILE.replace("<", "&lt;").replace(">", "&gt;")
    assert f'<b class="topic-name">{shown}</b>' in page
    assert "onerror=alert(1)>" not in page
    assert "unless a person gave it another" in page
    for name in np.delete(names_of(load_run(run_folder)), 1):
        assert f'<b class="topic-name">{name}</b>' in page


def test_a_page_without_given_names_says_that_nobody_named_them(run_folder, tmp_path):
    write_run_report(tmp_path / "r.html", [run_folder])

    page = (tmp_path / "r.html").read_text()
    assert "nobody named or chose them" in page
    assert "unless a person" not in page
    assert all(name in page for name in names_of(load_run(run_folder)))


def test_names_are_for_one_run(run_folder, hdp_folder, names_file, tmp_path):
    given = names_file('1 = "Crime"')

    said = run("report", run_folder, hdp_folder, "--names", given, "--out", tmp_path / "r.html",
               status=1)  # fmt: skip

    assert said == "Error: --names: is for the topics of one run, but 2 runs are given.\n"
    said = run("topics", run_folder, "--names", names_file('4 = "Crime"'), status=1)
    assert said.startswith("Error: --names: there is no topic 4 to name 'Crime': the model has 4 ")


def test_a_mixture_of_documents_has_names_too(document_mixture_folder, names_file):
    given = names_file('1 = "Crime"')

    topics = json.loads(run("topics", document_mixture_folder, "--names", given, "--json"))

    assert topics[1]["name"] == "Crime"
