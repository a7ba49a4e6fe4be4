"""``train --guide``: what is printed, kept, shown, resumed and refused."""

import json
import shutil
import warnings

import pytest
from click.testing import CliRunner

from resealing import edit_json
from sparsetopics.cli.main import main
from sparsetopics.runs import train as trained_runs
from sparsetopics.runs.plan import plan_run
from worlds.collections_on_disk import write_jsonl
from worlds.themes_with_lists import texts

GUIDE = """
shipping = ["Ship", "harb*"]

[justice]
words = ["judge", "trial"]
parent = "state"

[law]
words = ["loan", "credit"]
parent = "state"
"""
LDA = ("--model", "lda", "--topics", 12)


def run(*arguments, status=0):
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # they are printed
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    return result


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A corpus, a guide, and a run."""
    folder = tmp_path_factory.mktemp("world")
    run("ingest", write_jsonl(folder / "texts.jsonl", texts()), "--out", folder / "corpus")
    (folder / "guide.toml").write_text(GUIDE, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def trained(world):
    options = (*LDA, "--guide", world / "guide.toml", "--out", world / "run", "--json")
    return run("train", world / "corpus", *options)


def test_training_counts_the_words_before_the_first_lap(world, trained):
    before = trained.stderr.partition("lap 1/")[0]

    assert "List shipping: its words are " in before
    assert " of all tokens, Ship (" in before
    (shipping, *_) = json.loads(trained.stdout)["lists"]
    assert json.loads(run("resume", world / "run", "--json").stdout)["lists"][0] == shipping
    ship, pattern = shipping["words"]
    assert f"Ship ({ship['n_tokens']:,} in {ship['n_documents']:,} documents)" in before
    assert pattern["words"] == ["harbour"]
    assert shipping["share"] > 0.02
    assert shipping["found"] == ["Ship", "harb*"]


@pytest.mark.usefixtures("trained")
def test_topics_have_the_names_of_their_lists(world):
    lines = run("topics", world / "run").stdout.splitlines()

    assert any(
        "shipping" in line and "% of its tokens are words of the list]" in line for line in lines
    )
    (line,) = (line for line in lines if line.startswith("List shipping: "))
    assert line.endswith("2 of its 2 known words: Ship, harb*")


@pytest.mark.usefixtures("trained")
def test_lists_and_their_parents_are_themes(world):
    rows = json.loads(run("topics", world / "run", "--json").stdout)
    extra = dict.fromkeys(("shipping", "justice", "law"), -1)
    for row in rows:
        if row["list_name"]:
            extra[row["list_name"]] += 1

    n_themes = 12 - sum(extra.values())
    lists = json.loads(run("topics", world / "run", "--themes", n_themes, "--json").stdout)
    parents = json.loads(run("topics", world / "run", "--themes", n_themes - 1, "--json").stdout)

    assert {row["name"] for row in lists} >= extra.keys()
    assert {"shipping", "state"} <= {row["name"] for row in parents}
    table = run(
        "prevalence", world / "run", world / "corpus", "--by", "label", "--themes", n_themes
    )
    assert "justice" in table.stdout


@pytest.mark.usefixtures("trained")
def test_pages_show_the_lists(world):
    for name in ("page.html", "page.md", "page.json"):
        run("report", world / "run", "--out", world / name)

    page = (world / "page.html").read_text()
    section = page.partition('<section id="lists">')[2].partition("</section>")[0]
    assert "<td>justice <span" in section
    assert "Ship, harb*" in section
    assert "| shipping | " in (world / "page.md").read_text()
    (subject,) = json.loads((world / "page.json").read_text())["subjects"]
    assert [each["name"] for each in subject["lists"]] == ["shipping", "justice", "law"]


@pytest.mark.usefixtures("trained")
def test_the_config_of_a_run_makes_the_same_run(world):
    again = ("--config", world / "run" / "config.toml", "--out", world / "again", "--workers", 2)
    run("train", world / "corpus", *again)

    for name in ("model.safetensors", "config.toml"):
        assert (world / "run" / name).read_bytes() == (world / "again" / name).read_bytes(), name


@pytest.mark.usefixtures("trained")
def test_an_interrupted_training_makes_the_same_run(world, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    given = {"model": "lda", "topics": 12, "guide": world / "guide.toml", "checkpoint-every": 1}
    plan = plan_run(world / "corpus", world / "stopped", given)
    with monkeypatch.context() as patch:
        patch.setattr(trained_runs, "save_run", interrupt)
        with pytest.raises(KeyboardInterrupt):
            trained_runs.train_run(plan)
    (world / "guide.toml").rename(world / "elsewhere.toml")
    run("resume", world / "stopped")
    (world / "elsewhere.toml").rename(world / "guide.toml")

    one, other = (world / name / "model.safetensors" for name in ("run", "stopped"))
    assert one.read_bytes() == other.read_bytes()
    assert run("topics", world / "run").stdout == run("topics", world / "stopped").stdout


def test_problems_of_lists_are_warnings(world, tmp_path):
    guide = tmp_path / "guide.toml"
    guide.write_text(
        'sea = ["ship", "harbor", "ship loan"]\nrare = ["qwx*"]\nmixed = ["ship", "corn", "jury"]'
    )
    options = (*LDA, "--guide", guide, "--out", tmp_path / "run")
    lines = run("train", world / "corpus", *options).stderr.splitlines()

    said = [line.removeprefix("Warning: ") for line in lines if line.startswith("Warning: ")]
    assert said[:5] == [
        "List sea: the vocabulary lacks 'harbor'. Similar words: harbour.",
        "List sea: the vocabulary lacks 'ship loan'. Similar words: ship, loan.",
        "List rare: the vocabulary lacks 'qwx*'.",
        "List rare: its words are 0.000% of all tokens, less than 0.1%. It may find no topic.",
        "Lists sea and mixed share 'ship'. Topics of each begin with it.",
    ]
    assert "List rare: no topic." in run("topics", tmp_path / "run").stdout


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("sea = ", "guide.toml: "),
        ("", "names with their words, but is {}"),
        ("sea = 'ship'", "must be a list of strings, but is 'ship'"),
        ("sea = [1]", "must be a list of strings only, but is 1"),
        ("sea = []", "must have words, none of them empty"),
        ("sea = ['ship', ' ']", "must have words, none of them empty"),
        ("sea = {word = ['ship']}", "has the unknown entry 'word'"),
        (
            "sea = {words = ['ship'], parent = 1}",
            "list 'sea': must be a name for the parent",
        ),
        ("'' = ['ship']", "must have 1 to 100 printable characters, but is ''"),
        ("sea = ['qwx']", "has no word that is in the vocabulary"),
        (
            "\n".join(f"a{n} = ['ship']" for n in range(13)),
            "has 13 lists for only 12 topics",
        ),
    ],
)
def test_a_guide_that_cannot_be_used_is_refused(world, tmp_path, content, message):
    guide = tmp_path / "guide.toml"
    guide.write_text(content)

    result = run(
        "train", world / "corpus", *LDA, "--guide", guide, "--out", tmp_path / "run", status=1
    )

    assert message in result.stderr
    assert not (tmp_path / "run").exists()


def test_no_guide_is_no_file(world, tmp_path):
    options = (*LDA, "--guide", tmp_path / "none.toml", "--out", tmp_path / "run")
    assert "none.toml" in run("train", world / "corpus", *options, status=1).stderr


@pytest.mark.usefixtures("trained")
def test_updates_and_edits_keep_lists(world, tmp_path):
    corpus = tmp_path / "corpus"
    source = write_jsonl(tmp_path / "texts.jsonl", texts(n_docs=620))
    run("ingest", source, "--vocabulary", world / "corpus", "--out", corpus)
    last = json.loads(run("topics", world / "run", "--json").stdout)[-1]["id"]
    run("edit", world / "run", "--rename", f"{last}=Last", "--out", tmp_path / "edited")

    assert "List shipping: " in run("topics", tmp_path / "edited").stdout
    run("update", world / "run", corpus, "--out", tmp_path / "updated")
    assert "List shipping: " in run("topics", tmp_path / "updated").stdout


@pytest.mark.usefixtures("trained")
@pytest.mark.parametrize("entry", ["words", [{"name": "a"}], [{"name": "", "words": ["ship"]}]])
def test_forged_lists_are_refused(world, tmp_path, entry):
    shutil.copytree(world / "run", tmp_path / "forged")
    edit_json(tmp_path / "forged" / "model.json", guide=entry)

    assert "model.json, guide" in run("topics", tmp_path / "forged", status=1).stderr
