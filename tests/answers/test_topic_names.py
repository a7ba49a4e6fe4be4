"""Names of topics: those that people give in a file, and where they are shown."""

import csv
import json
import os
import tomllib

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from resealing import edit_json
from sparsetopics.answers.exports.exporting import export_run
from sparsetopics.answers.themes import opened
from sparsetopics.answers.topic_names import labels_of, place_of, read_names, topic_rows, with_names
from sparsetopics.base.errors import OptionError, RunError, SparsetopicsWarning
from sparsetopics.cli.main import main
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.evaluation.report.report import write_run_report
from sparsetopics.evaluation.scoring.fixed_topics import read_topic_matrix
from sparsetopics.evaluation.scoring.weight_files import READERS
from sparsetopics.measures.completion import unigram_probabilities
from sparsetopics.measures.relevance import relevant_words
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import load_run, run_in_memory, save_run
from sparsetopics.runs.topic_identity import TopicIdentity

HOSTILE = "</script><img src=x onerror=alert(1)>"
ID = "bbbbbbbb"  # of no topic


def run(*arguments, status=0):
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == status, result.output
    if status:
        assert len(result.stderr.splitlines()) == 1, result.stderr
    return result.stderr if status else result.stdout


def names_of(topics):
    return [name for _, name in labels_of(topics)]


@pytest.fixture
def names_file(tmp_path):
    def write(text):
        path = tmp_path / "names.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def named(run_folder, names_file):
    """A file that gives names to topics of the run, by their ids."""

    def write(names):
        ids = [topic.id for topic in load_run(run_folder).topics]
        lines = (f"{ids[topic]} = {json.dumps(name)}\n" for topic, name in names.items())
        return names_file("".join(lines))

    return write


# --- files of names -------------------------------------------------------------------------------
def test_a_file_gives_names_by_id(run_folder, named, names_file):
    trained = load_run(run_folder)
    expected = with_names(trained, {1: 'Cats & "dogs"', 3: "日本"}).topics

    assert read_names(named({1: 'Cats & "dogs"', 3: "日本"}), trained) == [expected[1], expected[3]]
    assert read_names(names_file("# none yet\n"), trained) == []
    (found,) = read_names(names_file(f'\ufeff{expected[0].id} = "Crime"\n'), trained)  # with a BOM
    assert found.name == "Crime"


def test_a_file_without_names_changes_nothing(run_folder, names_file):
    assert opened(run_folder, names_file("# none yet\n")).topics == load_run(run_folder).topics


def test_a_file_gives_names_with_words(run_folder, names_file):
    path = names_file(
        f'{ID} = {{name = "Cats", words = ["cat", "purr"]}}\n[cccccccc]\nname = "日本"'
    )

    expected = [TopicIdentity(ID, "Cats", ("cat", "purr")), TopicIdentity("cccccccc", "日本")]
    assert read_names(path, load_run(run_folder)) == expected


def test_a_file_by_number_still_works_with_a_warning(run_folder, names_file):
    path, trained = names_file('3 = "Crime"\n0 = "Cats"\n"1" = "日本"\n'), load_run(run_folder)

    with pytest.warns(
        SparsetopicsWarning, match="names topics by numbers, which change when a run"
    ):
        found = read_names(path, trained)

    named = with_names(trained, {3: "Crime", 0: "Cats", 1: "日本"}).topics
    assert found == [named[3], named[0], named[1]]


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("3 = 4", ", 3, name: ", "expected a string"),
        ("3 = true", ", 3, name: ", "expected a string"),
        ('3 = ["a"]', ", 3, name: ", "expected a string"),
        ('3.1 = "a"', ", 3", ""),
        ('3 = " "', ", 3: ", "a name must not be empty."),
        (f'3 = "{"x" * 201}"', ", 3: ", "a name has at most 200 characters, but this has 201."),
        ('3 = "\\u001b[31mred"', ", 3: ", "a name must be printable"),
        ('3 = "two\\nlines"', ", 3: ", "a name must be printable"),
        ('3 = "\\u202eleft"', ", 3: ", "a name must be printable"),
        (f'{ID} = "a"', f", {ID}: ", "there is no topic"),
        ('4 = "a"', ", 4: ", "there is no topic"),
        ('crime = "a"', ", crime: ", "there is no topic"),
        ('03 = "a"', ", 03: ", "there is no topic"),
        ('-1 = "a"', ", -1: ", "there is no topic"),
        ('"٣" = "a"', ", ٣: ", "there is no topic"),
        ('bbbbbbb = "a"', ", bbbbbbb: ", "there is no topic"),
        (f'{ID}b = "a"', f", {ID}b: ", "there is no topic"),
        (f'"{ID}\\n" = "a"', f", {ID}", ""),
        ('[names]\n3 = "a"', ", names", ""),
        (f'{ID} = {{name = "a", words = "b"}}', f", {ID}, words", ""),
        (f'{ID} = {{name = "a", words = [3]}}', f", {ID}, words", ""),
        (f'{ID} = {{name = 3, words = ["b"]}}', f", {ID}, name", ""),
        (f'{ID} = {{words = ["b"]}}', f", {ID}: ", "the name is missing. Leave a topic out"),
        (f'{ID} = {{name = " "}}', f", {ID}", ""),
        (f'{ID} = {{name = "{"x" * 201}"}}', f", {ID}", ""),
        (f'{ID} = {{name = "\\u202eleft"}}', f", {ID}", ""),
        ('3 = {name = "a"}', ", 3", ""),
        ('3 = "a"\n3 = "b"', ": ", "is not valid TOML (Cannot overwrite a value"),
        ("3 = Crime", ": ", "is not valid TOML"),
    ],
)
def test_wrong_names_are_refused_with_their_place(run_folder, names_file, text, place, problem):
    path = names_file(text)

    with pytest.raises(OptionError) as error:
        read_names(path, load_run(run_folder))

    assert str(error.value).startswith(f"{path}{place}{problem}")
    assert str(error.value).isprintable()


def test_a_file_that_is_none_is_refused_in_one_line(run_folder, tmp_path):
    (tmp_path / "large.toml").write_text("# " * (1 << 20))
    for name, problem in (("nowhere", "cannot be read"), ("large.toml", "more than 1,048,576"),
                          (".", "expected a run folder"), (os.devnull, "a device")):  # fmt: skip
        assert problem in run("topics", run_folder, "--names", tmp_path / name, status=1)


# --- names in Python ------------------------------------------------------------------------------
@pytest.mark.parametrize("topic", [4, -1, "4", "-1", "01", "٣", 1.0, None, ID, "", "9" * 5_000])
def test_only_topics_of_the_model_have_names(run_folder, topic):
    with pytest.raises(OptionError, match=r"names: there is no topic .*: the model has 4 topics"):
        with_names(load_run(run_folder), {topic: "a"})


def test_topics_are_named_by_number_and_by_id(run_folder):
    topics = load_run(run_folder)
    default, ids = names_of(topics), [topic.id for topic in topics.topics]

    named = with_names(topics, {np.int64(1): "Cats", "2": "Dogs", ids[3]: "Owls"})

    assert names_of(named) == [default[0], "Cats", "Dogs", "Owls"]
    assert labels_of(named) == list(zip(ids, names_of(named), strict=True))
    assert names_of(topics) == default
    assert [place_of(topics, each, "topic") for each in ids] == [0, 1, 2, 3]
    assert names_of(with_names(named, {1: "Mice"})) == [default[0], "Mice", "Dogs", "Owls"]


def test_a_name_is_kept_with_the_words_that_it_was_given_for(run_folder, model, vocabulary):
    topics = with_names(load_run(run_folder), {1: "Cats"}, named_by="a:b").topics

    best = np.argsort(-model.topic_word_mean[1], kind="stable")[:10]
    assert topics[1].words == tuple(vocabulary.words[word] for word in best)
    assert topics[1].named_by == "a:b"
    assert topics[0] == load_run(run_folder).topics[0]


@pytest.mark.parametrize(
    "given", [[(0, "a")], {0: 3}, {0: None}, {0: ""}, {0: "a\0"}, {0: "\ud800"}, {0: "x" * 201}]
)
def test_names_that_cannot_be_used_are_refused(run_folder, given):
    with pytest.raises(OptionError, match="names: "):
        with_names(load_run(run_folder), given)


# --- files that are written -----------------------------------------------------------------------
def test_export_writes_a_file_to_edit(run_folder, model, vocabulary, tmp_path):
    run("export", run_folder, "--to", "names", "--out", tmp_path / "all.toml")

    trained, words = load_run(run_folder), vocabulary.words
    found = read_names(tmp_path / "all.toml", trained)
    best = np.argsort(-model.topic_word_mean, axis=1, kind="stable")[:, :10]
    for topic, own, name, row in zip(found, trained.topics, names_of(trained), best, strict=True):
        assert topic == TopicIdentity(own.id, name, tuple(words[word] for word in row))
    lines = (tmp_path / "all.toml").read_text().splitlines()
    assert [line for line in lines if "%" in line] == [f"# {share:.2%}" for share in model.weights]


def test_a_file_with_some_names_is_completed(run_folder, named, tmp_path):
    given = named({2: 'Crime \\ "and" <b>'})

    run("export", run_folder, "--to", "names", "--names", given, "--out", tmp_path / "all.toml")

    expected = names_of(load_run(run_folder))
    expected[2] = 'Crime \\ "and" <b>'
    found = read_names(tmp_path / "all.toml", load_run(run_folder))
    assert [topic.name for topic in found] == expected
    assert names_of(opened(run_folder, tmp_path / "all.toml")) == expected


def test_a_file_that_was_edited_names_the_topics_of_its_run(run_folder, tmp_path):
    """Also those that share all of their words with others."""
    export_run(run_folder, "names", tmp_path / "all.toml")
    text = (tmp_path / "all.toml").read_text()
    default = names_of(load_run(run_folder))
    (tmp_path / "all.toml").write_text(text.replace(f'"{default[1]}"', '"Crime"'))

    names = names_of(opened(run_folder, tmp_path / "all.toml"))

    assert names == [default[0], "Crime", *default[2:]]


def test_any_words_make_a_file_that_can_be_read(tmp_path):
    words = ("\x1b[31m", "a\nb", '"quoted"', "\x7f", "\u2028", "back\\slash", "\U0010ffff" * 300)
    rows = np.random.default_rng(0).gamma(1.0, 1.0, (5, len(words))) + 0.1
    frequencies = np.arange(1, len(words) + 1)
    (tmp_path / "run").mkdir()
    model = TopicPosterior("lda", rows, np.full(5, 0.5), 0.1)
    settings = {"corpus": {"n_documents": 3}, "options": {}}
    save_run(
        tmp_path / "run",
        run_in_memory("run", model, Vocabulary(words, frequencies, frequencies), settings, []),
    )

    export_run(tmp_path / "run", "names", tmp_path / "names.toml")

    trained = load_run(tmp_path / "run")
    assert (tmp_path / "names.toml").read_text().startswith("# Edit the names, and give this file")
    found = read_names(tmp_path / "names.toml", trained)
    best = np.argsort(-rows, axis=1, kind="stable")
    assert [topic.words for topic in found] == [tuple(words[w] for w in own) for own in best]
    ids = [topic.id for topic in trained.topics]
    assert list(tomllib.loads((tmp_path / "names.toml").read_text())) == ids
    assert "\x1b" not in (tmp_path / "names.toml").read_text()
    assert "\x1b" not in run("topics", tmp_path / "run", "--names", tmp_path / "names.toml")


# --- names that the run holds ---------------------------------------------------------------------
def test_every_command_shows_the_names_of_the_run(run_folder, vocabulary, tmp_path):
    topics = [*with_names(load_run(run_folder), {1: HOSTILE}).topics]
    edit_json(
        run_folder / "model.json",
        topics=[{"id": own.id, "name": own.name, "words": own.words} for own in topics],
    )

    assert load_run(run_folder).topics == tuple(topics)
    assert json.loads(run("topics", run_folder, "--json"))[1]["name"] == HOSTILE
    assert HOSTILE[:39] in run("topics", run_folder)
    text = " ".join(topics[1].words)
    (document,) = json.loads(run("infer", run_folder, "--text", text, "--json"))["documents"]
    assert HOSTILE in [topic["name"] for topic in document["topics"]]
    assert f"  {HOSTILE}: word" in run("infer", run_folder, "--text", text)
    run("export", run_folder, "--to", "csv", "--out", tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(newline="") as file:
        assert {row["name"] for row in csv.DictReader(file) if row["topic"] == "1"} == {HOSTILE}
    run("report", run_folder, "--out", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "unless a person gave it another" in page
    assert "onerror=alert(1)>" not in page


def test_given_names_win_over_those_of_the_run(run_folder, named):
    topics = with_names(load_run(run_folder), {1: "Cats", 2: "Dogs"}).topics
    edit_json(
        run_folder / "model.json",
        topics=[{"id": own.id, **({"name": own.name} if own.name else {})} for own in topics],
    )

    found = json.loads(run("topics", run_folder, "--names", named({2: "Crime"}), "--json"))

    assert [topic["name"] for topic in found][1:3] == ["Cats", "Crime"]


# --- where names are shown ------------------------------------------------------------------------
def test_topics_prints_names_and_takes_others(run_folder, named):
    default = [row["name"] for row in json.loads(run("topics", run_folder, "--json"))]
    given = named({1: "Crime"})

    rows = json.loads(run("topics", run_folder, "--names", given, "--json"))

    assert default == names_of(load_run(run_folder))
    assert [row["name"] for row in rows] == [default[0], "Crime", *default[2:]]
    assert "  Crime  " in run("topics", run_folder, "--names", given)


def test_a_long_name_is_shortened_in_the_table_alone(run_folder, named):
    given = named({1: f"{'long ' * 20}end"})

    lines = run("topics", run_folder, "--names", given).splitlines()

    assert f"  {('long ' * 20)[:39]}…  word" in lines[2]
    assert lines[0].index("words") == len("topic  id        weight  ") + 40 + 2
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


def test_tables_have_the_names_that_are_given(run_folder, named, model, tmp_path):
    names = named({1: "=Crime"})
    for target in ("csv", "parquet"):
        export_run(run_folder, target, tmp_path / f"t.{target}", names=names)
    export_run(run_folder, "csv", tmp_path / "safe.csv", names=names, spreadsheet_safe=True)

    expected = np.repeat(names_of(opened(run_folder, names)), model.n_words).tolist()
    assert pq.read_table(tmp_path / "t.parquet")["name"].to_pylist() == expected
    with (tmp_path / "t.csv").open(newline="") as file:
        assert [row["name"] for row in csv.DictReader(file)] == expected
    with (tmp_path / "safe.csv").open(newline="") as file:
        assert {row["name"] for row in csv.DictReader(file) if row["topic"] == "1"} == {"'=Crime"}


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_table_with_names_can_be_scored(run_folder, named, model, vocabulary, tmp_path, name):
    export_run(run_folder, name.partition(".")[2], tmp_path / name, names=named({0: "Crime"}))

    found, *_ = read_topic_matrix(tmp_path / name, vocabulary.words, READERS[f".{name[2:]}"])

    np.testing.assert_allclose(found, model.topic_word_mean)


@pytest.mark.parametrize("target", ["gensim", "mallet", "matrix-market", "pyldavis"])
def test_formats_without_names_refuse_them(run_folder, named, tmp_path, target):
    corpus = ("--corpus", run_folder) if target == "pyldavis" else ()
    given = ("--names", named({0: "Crime"}))

    said = run("export", run_folder, "--to", target, *corpus, *given, "--out", tmp_path / "x",
               status=1)  # fmt: skip

    expected = "is for a run and the formats csv, parquet, datamapplot, names, not for --to"
    assert said == f"Error: --names: {expected} {target}.\n"


def test_components_of_vectors_have_no_names(tmp_path, names_file):
    from worlds.clumped_mixtures import draw_clumps, mixture_of, write_mixture

    write_mixture(tmp_path / "run", mixture_of(draw_clumps(0), "gaussian"))

    names = names_file(f'{ID} = "a"')
    for write in (
        lambda: export_run(tmp_path / "run", "csv", tmp_path / "t.csv", names=names),
        lambda: write_run_report(tmp_path / "r.html", [tmp_path / "run"], names=names),
        lambda: topic_rows(load_run(tmp_path / "run"), 3),
        lambda: labels_of(load_run(tmp_path / "run")),
        lambda: with_names(load_run(tmp_path / "run"), {0: "a"}),
    ):
        with pytest.raises(RunError, match="expected a run that was trained with documents"):
            write()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["names.toml", "run"]
    with pytest.raises(OptionError, match=r"names is for words, but .* is a mixture of vectors"):
        export_run(tmp_path / "run", "names", tmp_path / "n.toml")


def test_a_page_shows_names_as_text(run_folder, named, tmp_path):
    given = named({1: HOSTILE})

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


def test_names_are_for_one_run(run_folder, hdp_folder, named, names_file, tmp_path):
    given = named({1: "Crime"})

    said = run("report", run_folder, hdp_folder, "--names", given, "--out", tmp_path / "r.html",
               status=1)  # fmt: skip

    assert said == "Error: --names: is for the topics of one run, but 2 runs are given.\n"
    said = run("topics", run_folder, "--names", names_file(f'{ID} = "Crime"'), status=1)
    assert f"names.toml, {ID}: there is no topic '{ID}': the model has 4 topics." in said


@pytest.mark.filterwarnings("default")
def test_a_file_by_number_warns_and_names_the_topics(run_folder, names_file):
    given = names_file('1 = "Crime"\n')
    command = ["topics", str(run_folder), "--names", str(given)]

    result = CliRunner().invoke(main, command)

    assert result.exit_code == 0
    assert result.stdout.splitlines()[2].split()[3] == "Crime"
    warning = (
        f"Warning: {given} names topics by numbers, which change when a run learns on. "
        "`sparsetopics export --to names` writes ids."
    )
    assert result.stderr.splitlines() == [warning]
    names_file('4 = "Crime"')
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 1
    assert f"{given}, 4: there is no topic '4': the model has 4 topics." in result.stderr


def test_a_mixture_of_documents_has_names_too(document_mixture_folder, names_file):
    topic = load_run(document_mixture_folder).topics[1].id
    given = names_file(f'{topic} = "Crime"')

    topics = json.loads(run("topics", document_mixture_folder, "--names", given, "--json"))

    assert topics[1]["name"] == "Crime"
