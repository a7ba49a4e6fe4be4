"""``sparsetopics edit``: what it writes, does again and refuses."""

import json
import shutil
import sys
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse

from sparsetopics import Corpus
from sparsetopics.answers import namers
from sparsetopics.base.errors import SparsetopicsWarning
from sparsetopics.cli.main import main
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import load_run

N_WORDS = 40
NAMERS = """
import time

def name(words, telling, documents, theme):
    assert len(words) == len(telling) == 10 and len(documents) == 3 and theme is None
    return f"About {words[0]}"

def fail(*given): raise LookupError("no model\\nat all")
def hang(*given): time.sleep(3)
def mark(*given): return "<b>News</b>"
def count(*given): return 3
"""


def documents(seed, n_docs):
    topics = np.random.default_rng(1).dirichlet(np.full(N_WORDS, 0.1), 4)
    rng = np.random.default_rng(seed)
    mixtures = rng.dirichlet(np.full(4, 0.2), n_docs)
    rows = np.array([rng.multinomial(40, mixture @ topics) for mixture in mixtures])
    return Corpus.from_csr(sparse.csr_array(rows), [f"word{v:02}" for v in range(N_WORDS)])


def called(*words, on_warning="ignore"):
    with warnings.catch_warnings():
        warnings.simplefilter(on_warning, SparsetopicsWarning)
        return CliRunner().invoke(main, [*map(str, words)])


def edit(run, *words, out="out"):
    """What ``edit`` says of a run that it wrote."""
    made = called("edit", run, "--out", out, "--quiet", "--overwrite", "--json", *words)
    assert made.exit_code == 0, made.output
    return json.loads(made.stdout)


def refusal(run, *words):
    made = called("edit", run, "--out", "refused", "--quiet", *words)
    assert made.exit_code == 1
    return made.stderr


def topics_of(run):
    return load_run(Path(run)).topics


def bytes_of(run):
    return (Path(run) / "model.safetensors").read_bytes()


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Two runs with their documents, and functions that name topics."""
    folder = tmp_path_factory.mktemp("edit")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        documents(0, 150).save("corpus")
        documents(5, 50).save("heldout")
        for model in ("lda", "hdp"):
            quick = ("--model", model, "--topics", 4, "--laps", 3, "--moves", "none")
            quick = quick[:-2] if model == "lda" else quick
            assert called("train", "corpus", *quick, "--out", model, "--quiet").exit_code == 0
        mixture = ("--model", "mixture", "--likelihood", "multinomial", "--topics", 2, "--laps", 2)
        assert called("train", "corpus", *mixture, "--out", "mixture", "--quiet").exit_code == 0
        Path("edit_namers.py").write_text(NAMERS)
    return folder


@pytest.fixture(autouse=True)
def here(world, monkeypatch):
    monkeypatch.chdir(world)
    monkeypatch.setattr(sys, "path", [*sys.path])  # ``--namer`` adds the folder
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield
    for name in ("out", "again", "refused"):
        shutil.rmtree(name, ignore_errors=True)


@pytest.mark.parametrize("run", ["lda", "hdp"])
def test_a_record_does_the_same_again_and_the_run_stays(run):
    ids = [topic.id for topic in topics_of(run)]
    before = {path: path.read_bytes() for path in Path(run).iterdir() if path.is_file()}
    edits = ("--merge", f"{ids[0]},{ids[2]}", "--split", ids[1], "--drop", ids[3], "--laps", 2)

    told = edit(run, *edits, "--rename", f"{ids[0]}=A “name” = 1", "--corpus", "corpus")

    again = edit(run, "--edits", "out/edits.toml", "--corpus", "corpus", out="again")
    assert told["n_topics"] == again["n_topics"] == 3
    assert bytes_of("again") == bytes_of("out") != bytes_of(run)
    assert topics_of("again") == topics_of("out")
    record = Path("out/edits.toml").read_bytes()
    assert Path("again/edits.toml").read_bytes() == record
    assert tomllib.loads(record.decode()) == {
        "merge": [[ids[0], ids[2]]],
        "split": [ids[1]],
        "drop": [ids[3]],
        "laps": 2,
        "rename": {ids[0]: "A “name” = 1"},
    }
    heirs = {topic.id: topic for topic in topics_of("out")}
    assert {ids[0], ids[1]} < heirs.keys()
    assert ids[2] in heirs[ids[0]].former_ids
    assert before == {path: path.read_bytes() for path in before}


def test_counts_of_merged_topics_add_up_and_numbers_work_too():
    edit("lda", "--merge", "1,3")

    old, new = (load_run(Path(run), TopicPosterior) for run in ("lda", "out"))
    place = [topic.id for topic in new.topics].index(old.topics[1].id)
    counts = old.model.exact_counts
    np.testing.assert_array_equal(new.model.exact_counts[place], counts[1] + counts[3])
    assert new.topics[place].former_ids == (old.topics[3].id,)


def test_heldout_documents_are_scored_before_and_after():
    said = called("edit", "lda", "--merge", "0,1", "--heldout", "heldout", "--out", "out")
    told = edit("lda", "--merge", "0,1", "--heldout", "heldout")

    scores = [
        json.loads(called("evaluate", run, "heldout", "--json").stdout)[0][
            "log_likelihood_per_token"
        ]
        for run in ("lda", "out")
    ]
    np.testing.assert_allclose([told["heldout_before"], told["heldout_after"]], scores)
    assert scores[0] > scores[1]
    score = f"Held-out score, nats per token: {scores[0]:.4f} before, {scores[1]:.4f} after."
    assert said.stdout == f"{score}\nWrote out with 3 topics.\n"


def test_names_are_kept_and_a_function_makes_others():
    ids = [topic.id for topic in topics_of("lda")]
    edit("lda", "--rename", f"{ids[1]}=News")
    assert [topic.name for topic in topics_of("out")] == [None, "News", None, None]

    edit("out", "--namer", "edit_namers:name", "--corpus", "corpus", "--rename", f"{ids[0]}=Own",
         out="again")  # fmt: skip

    topics = topics_of("again")
    assert topics[0].name == "Own"
    for topic in topics[1:]:
        assert topic.name == f"About {topic.words[0]}"
    assert [topic.named_by for topic in topics] == [None, *["edit_namers:name"] * 3]
    names = tomllib.loads(Path("again/edits.toml").read_text())["rename"]
    assert names == {topic.id: topic.name for topic in topics}


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        ("fail", "raised LookupError: no model"),
        ("hang", "no answer in 0.05 s"),
        ("mark", "its name has markup"),
        ("count", "returned int, not a string"),
    ],
)
def test_a_namer_that_fails_harms_nothing(function, problem, monkeypatch):
    if function == "hang":  # the others have the time that they need
        monkeypatch.setattr(namers, "SECONDS", 0.05)
    edit("lda", "--rename", "2=News")

    words = ("edit", "out", "--namer", f"edit_namers:{function}", "--out", "again")
    made = called(*words, on_warning="always")

    assert made.exit_code == 0, made.output
    ids = ", ".join(topic.id for topic in topics_of("out"))
    assert f"edit_namers:{function} named 0 of 4 topics: {problem} ({ids}). The" in made.stderr
    assert topics_of("again") == topics_of("out")


def test_a_topic_that_became_part_of_another_is_named_in_the_refusal():
    heir, part = (topic.id for topic in topics_of("lda")[:2])
    edit("lda", "--merge", f"{heir},{part}")

    said = refusal("out", "--rename", f"{part}=News")

    assert f"--rename: topic {part} has become part of topic {heir}." in said


def test_laps_over_other_documents_are_warned_of():
    documents(9, 60).save("others")

    made = called("edit", "lda", "--laps", 1, "--corpus", "others", "--out", "out",
                  on_warning="always")  # fmt: skip

    assert made.exit_code == 0
    assert "These are not the documents that the run was trained with" in made.stderr


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("--drop zzzzzzzz --corpus corpus", "--drop: there is no topic 'zzzzzzzz'"),
        ("--merge 0,9", "--merge: there is no topic '9'"),
        ("--merge 0", "--merge: must name two or more different topics"),
        ("--merge 0,0", "--merge: must name two or more different topics"),
        ("--merge 0,1 --merge 1,2", "--merge: must name two or more different topics"),
        ("--split 0", "--corpus: is needed"),
        ("--laps 1", "--corpus: is needed"),
        ("--rename News", "--rename: must be ID=NAME, but is News"),
        ("--rename 0=", "--rename: a name must not be empty"),
        ("--rename 9=A --laps 1 --corpus corpus", "--rename: there is no topic '9'"),
        ("--rename 1=A --merge 0,1", "is dropped, or merged into a heavier one"),
        ("--drop 0 --split 0 --corpus corpus", "is dropped, or merged into a heavier one"),
        ("--quiet", "edit: there is nothing to do"),
        ("--edits empty.toml", "edit: there is nothing to do"),
        ("--edits numbers.toml", "numbers.toml: topics must have ids, but 0 is a number"),
        ("--edits empty.toml --drop 0", "--edits: cannot be combined with other edits"),
        ("--edits odd.toml", "odd.toml"),
        ("--edits low.toml", "low.toml"),
        ("--namer nowhere:name", "--namer: 'nowhere:name' cannot be imported"),
        ("--split 0 --corpus lda", "expected a corpus folder, but found a run folder"),
    ],
)
def test_what_cannot_be_done_is_refused(words, problem):
    Path("empty.toml").write_text("")
    Path("numbers.toml").write_text('drop = ["0"]\n')
    Path("odd.toml").write_text('merged = [["0", "1"]]\n')
    Path("low.toml").write_text('drop = ["0"]\nlaps = 0\n')

    stderr = refusal("lda", *words.split())

    assert problem in stderr
    assert stderr.count("\n") == 1
    assert not Path("refused").exists()


def test_mixtures_are_refused():
    assert "the model must be one of lda, hdp" in refusal("mixture", "--merge", "0,1")
