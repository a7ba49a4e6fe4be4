"""``--themes`` of all commands that have it, and ``edit --themes``."""

import json
import shutil
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from sparsetopics import Corpus
from sparsetopics.base.errors import SparsetopicsWarning
from sparsetopics.cli.main import main
from sparsetopics.estimators.loading import load
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import load_run
from worlds.collections_on_disk import make_texts, write_jsonl
from worlds.vectors_on_disk import make_vectors

N_TOPICS, N = 12, 3
QUICK = ("--laps", 2, "--quiet")
CUT = ("--themes", N)


def called(*words):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SparsetopicsWarning)
        return CliRunner().invoke(main, [*map(str, words)])


def told(*words):
    """What a command prints with ``--json``."""
    made = called(*words, "--json")
    assert made.exit_code == 0, made.output
    return json.loads(made.stdout)


def refusal(*words):
    """What a command says on one line of standard error when it refuses."""
    made = called(*words)
    assert made.exit_code == 1, made.output
    assert made.stderr.count("\n") == 1, made.stderr
    return made.stderr


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Runs of all kinds, with documents that have labels."""
    folder = tmp_path_factory.mktemp("themes")
    write_jsonl(folder / "news.jsonl", make_texts(120))
    np.savez(folder / "vectors.npz", values=make_vectors(60, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        told("ingest", "news.jsonl", "--out", "documents")
        told("ingest", "vectors.npz", "--out", "vectors")
        train = ("train", "documents", "--topics", N_TOPICS, *QUICK)
        told(*train, "--model", "lda", "--out", "lda")
        told(*train, "--model", "hdp", "--validation-share", 0, "--moves", "none", "--out", "hdp")
        few = ("--model", "mixture", "--topics", 3, *QUICK)
        told("train", "documents", *few, "--likelihood", "multinomial", "--out", "kinds")
        told("train", "vectors", *few, "--out", "clusters")
        told("path", "documents", "--rungs", "6,4", *QUICK, "--out", "path")
        told("export", "lda", "--to", "mallet", "--out", "lda.mallet")
    return folder


@pytest.fixture(autouse=True)
def here(world, monkeypatch):
    monkeypatch.chdir(world)
    yield
    for name in ("out", "again", "refused"):
        shutil.rmtree(name, ignore_errors=True)


def ids_of(run, *words):
    return [row["id"] for row in told("topics", run, *words)]


def heaviest(run="lda", n=N):
    """The heaviest topics of the heaviest theme and of the next one."""
    return [own.removeprefix("theme-") for own in ids_of(run, "--themes", n)]


# --- a run of themes ------------------------------------------------------------------------------
@pytest.mark.parametrize("run", ["lda", "hdp"])
def test_topics_lists_themes_whose_weights_add_up(run):
    topics, themes = told("topics", run), told("topics", run, *CUT)

    assert [len(topics), len(themes)] == [N_TOPICS, N]
    assert {each["id"] for each in themes} <= {f"theme-{each['id']}" for each in topics}
    weights = {each["id"]: each["weight"] for each in topics}
    for theme in load(run).themes(N)._run().topics:
        own = [theme.id.removeprefix("theme-"), *theme.former_ids]
        (row,) = [each for each in themes if each["id"] == theme.id]
        assert row["weight"] == pytest.approx(sum(weights[each] for each in own))
    assert called("topics", run, *CUT).stdout.count("theme-") == N
    assert topics == told("topics", run, "--themes", N_TOPICS) or ids_of(run) == [
        own.removeprefix("theme-") for own in ids_of(run, "--themes", N_TOPICS)
    ]


@pytest.mark.parametrize("run", ["lda", "hdp", "path/4"])
def test_commands_answer_as_a_model_of_themes_in_python(run):
    model, themes = load(run).themes(N), ids_of(run, *CUT)

    told("infer", run, "documents", *CUT, "--out", "shares.parquet", "--overwrite")
    shares = np.array(pq.read_table("shares.parquet")["proportions"].to_pylist())
    (card,) = told("evaluate", run, "documents", *CUT)
    rows = told("prevalence", run, "documents", "--by", "label", *CUT)
    (shown, *_) = told("documents", run, "documents", *CUT, "--topic", themes[1])

    assert list(model.topic_ids_) == themes
    documents = Corpus.open("documents")
    np.testing.assert_allclose(shares, model.transform(documents), atol=1e-12)
    assert card["n_topics"] == N
    with pytest.warns(SparsetopicsWarning, match="in-sample"):
        expected = model.evaluate(documents)
    for key in ("log_likelihood_per_token", "npmi", "diversity"):
        assert card[key] == pytest.approx(expected[key], rel=1e-12)
    assert {row["id"] for row in rows} == set(themes)
    assert (shown["topic"], shown["id"]) == (1, themes[1])


def test_exports_and_pages_have_themes():
    words = ("export", "lda", *CUT, "--overwrite", "--to")
    told(*words, "parquet", "--out", "topics.parquet")
    told("report", "lda", *CUT, "--out", "page.html", "--overwrite")

    themes, page = ids_of("lda", *CUT), Path("page.html").read_text()
    assert pq.read_table("topics.parquet")["id"].unique().to_pylist() == themes
    assert all(f't-{own}"' in page for own in themes)
    assert not any(f't-{own}"' in page for own in ids_of("lda"))


def test_rungs_of_paths_have_no_tree_on_disk_but_themes():
    assert not list(Path("path").rglob("themes.json"))
    assert Path("lda/themes.json").exists()
    assert Path("hdp/themes.json").exists()
    assert len(ids_of("path/6", "--themes", 2)) == 2


# --- names ----------------------------------------------------------------------------------------
def test_names_of_themes_stay_apart_and_become_those_of_topics():
    first, second = heaviest()[:2]
    given = ("--rename", f"theme-{first}=Theme 1", "--rename", f"{first}=Topic 1")
    told("edit", "lda", *given, "--out", "out", "--quiet")

    names = {row["id"]: row["name"] for row in told("topics", "out")}
    assert names[first] == "Topic 1"
    assert "Theme 1" not in names.values()
    names = {row["id"]: row["name"] for row in told("topics", "out", *CUT)}
    assert names[f"theme-{first}"] == "Theme 1"
    assert "Topic 1" not in names.values()

    made = told("edit", "out", *CUT, "--out", "again", "--quiet")

    assert made["n_topics"] == N
    names = {row["id"]: row["name"] for row in told("topics", "again")}
    assert names.keys() == {first, second, *heaviest()}
    assert names[first] == "Theme 1"
    assert load_run(Path("again")).topics[0].theme_name is None


def test_names_of_themes_survive_more_training():
    first = heaviest()[0]
    told("edit", "lda", "--rename", f"theme-{first}=Theme 1", "--out", "out", "--quiet")

    told("train", "documents", "--model", "lda", "--start", "out", "--topics", N_TOPICS, *QUICK,
         "--out", "again")  # fmt: skip

    topics = {topic.id: topic for topic in load_run(Path("again")).topics}
    assert topics[first].theme_name == "Theme 1"
    assert topics[first].name is None


@pytest.mark.parametrize(
    "laps", [(), ("--laps", 2, "--corpus", "documents")], ids=["cut", "and learned"]
)
def test_a_record_repeats_themes_and_their_names(laps):
    first, second = heaviest()[:2]
    told("edit", "lda", "--rename", f"theme-{first}=Theme 1", "--out", "named", "--overwrite",
         "--quiet")  # fmt: skip
    told("edit", "named", *CUT, *laps, "--rename", f"theme-{second}=Theme 2", "--out", "out",
         "--quiet")  # fmt: skip

    more = laps[2:]
    told("edit", "named", "--edits", "out/edits.toml", *more, "--out", "again", "--quiet")

    record = tomllib.loads(Path("out/edits.toml").read_text())
    assert (record["themes"], record.get("laps")) == (N, laps[1] if laps else None)
    assert record["rename"] == {first: "Theme 1", second: "Theme 2"}
    names = {topic.id: topic.name for topic in load_run(Path("again")).topics}
    assert (names[first], names[second]) == ("Theme 1", "Theme 2")
    for name in ("model.json", "model.safetensors", "themes.json", "edits.toml"):
        if not (laps and name == "model.json"):  # which has the seconds that training took
            assert Path("again", name).read_bytes() == Path("out", name).read_bytes(), name


def test_a_file_of_names_has_ids_of_themes():
    told("export", "lda", *CUT, "--to", "names", "--out", "names.toml", "--overwrite")
    content = tomllib.loads(Path("names.toml").read_text())
    assert list(content) == ids_of("lda", *CUT)
    text = Path("names.toml").read_text()
    first = next(iter(content))
    Path("names.toml").write_text(text.replace(content[first]["name"], "Theme 1"))

    named = told("topics", "lda", *CUT, "--names", "names.toml")
    told("edit", "lda", "--names", "names.toml", "--out", "out", "--quiet")

    assert {row["id"]: row["name"] for row in named}[first] == "Theme 1"
    assert told("topics", "out", *CUT) == named
    assert "Theme 1" not in [row["name"] for row in told("topics", "out")]


def test_the_new_run_has_the_counts_of_the_themes():
    told("edit", "lda", *CUT, "--out", "out", "--quiet")

    new = load_run(Path("out"), TopicPosterior).model
    np.testing.assert_array_equal(new.exact_counts, load("lda").themes(N).model_.exact_counts)
    assert len(json.loads(Path("out/themes.json").read_text())["merges"]) == N - 1


# --- refusals -------------------------------------------------------------------------------------
COMMANDS = {
    "topics": "topics {}",
    "prevalence": "prevalence {} documents --by label",
    "documents": "documents {} documents",
    "infer": "infer {} documents --out refused.parquet",
    "evaluate": "evaluate {} documents",
    "export": "export {} --to csv --out refused.csv",
    "report": "report {} --out refused.html",
    "edit": "edit {} --out refused",
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("n_themes", [N_TOPICS + 1, 1_000_000])
def test_more_themes_than_topics_are_refused(command, n_themes):
    said = refusal(*COMMANDS[command].format("lda").split(), "--themes", n_themes)

    assert f"--themes: must be from 1 to 12, the number of topics of lda, but is {n_themes:,}" in (
        said
    )
    assert not list(Path().glob("refused*"))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("n_themes", ["0", "-1", "2.5", "few"])
def test_what_is_no_number_of_themes_is_refused(command, n_themes):
    said = refusal(*COMMANDS[command].format("lda").split(), "--themes", n_themes)

    assert "--themes: must be " in said


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("run", ["kinds", "clusters", "path"])
def test_mixtures_and_paths_have_no_themes(command, run):
    said = refusal(*COMMANDS[command].format(run).split(), *CUT)

    expected = {
        "kinds": ("mixture", "the model must be one of lda, hdp"),
        "clusters": ("mixture", "the model must be one of lda, hdp", "vectors"),
        "path": ("topic path",),
    }
    assert any(each in said for each in expected[run]), said


def test_topics_of_other_toolkits_have_no_themes():
    said = refusal("evaluate", "lda.mallet", "documents", *CUT)

    assert "--themes: is for runs, but lda.mallet is a file of topics" in said


@pytest.mark.parametrize("words", ["--drop {}", "--split {}", "--merge {},1"])
def test_a_theme_is_no_topic_to_edit(words):
    theme = ids_of("lda", *CUT)[0]

    said = refusal("edit", "lda", *words.format(theme).split(), "--corpus", "documents", "--out",
                   "refused")  # fmt: skip

    assert f"there is no topic '{theme}'" in said


@pytest.mark.parametrize("words", ["--drop 0", "--split 0"])
def test_themes_are_not_made_with_topics_that_go(words):
    said = refusal("edit", "lda", *CUT, *words.split(), "--corpus", "documents", "--out", "refused")

    assert "--themes: cannot be combined with --drop or --split" in said
