"""``themes.json``: the tree of a run by the ids of its topics, and runs without it."""

import json

import numpy as np
import pytest
from msgspec.structs import replace

from resealing import edit_json, reseal
from sparsetopics.answers.themes import opened
from sparsetopics.base.errors import RunError
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import NO_THEMES, load_run, run_in_memory, save_run, tree_of

FACTS = {"corpus": {"n_documents": 60}, "seed": 7}


def merges_in(folder):
    return json.loads((folder / "themes.json").read_text())["merges"]


def forgotten(folder):
    """The run as an earlier version wrote it: neither the file nor its entry."""
    files = json.loads((folder / "model.json").read_text())["files"]
    left = [entry for entry in files if entry["file"] != "themes.json"]
    assert len(left) == len(files) - 1
    edit_json(folder / "model.json", files=left)
    (folder / "themes.json").unlink()
    return folder


def cut(folder, n_themes=2):
    found = opened(folder, n_themes=n_themes)
    return found.topics, found.model.topic_word_posterior.tobytes()


def test_the_file_has_the_tree_by_ids(run_folder):
    run = load_run(run_folder, TopicPosterior)
    ids = [topic.id for topic in run.topics]

    rows = merges_in(run_folder)

    assert rows == [[ids[kept], ids[absorbed], gain] for kept, absorbed, gain in run.themes()]
    assert len(rows) == run.model.n_topics - 1
    assert run.settings["themes"] == run.themes() == tree_of(run.model, ())
    assert "themes" not in json.loads((run_folder / "model.json").read_text())


@pytest.mark.parametrize("n_themes", [1, 2, 3, 4])
def test_a_run_of_an_earlier_version_has_the_same_themes(run_folder, n_themes):
    expected = cut(run_folder, n_themes)

    old = forgotten(run_folder)

    assert "themes" not in load_run(old).settings
    assert cut(old, n_themes) == expected


def test_the_tree_of_the_file_is_the_one_that_is_cut(run_folder):
    ids = [topic.id for topic in load_run(run_folder).topics]
    rows = [[ids[0], ids[3], -1.0], [ids[1], ids[2], -2.0], [ids[0], ids[1], -3.0]]
    (run_folder / "themes.json").write_text(json.dumps({"merges": rows}))
    reseal(run_folder)

    found = opened(run_folder, n_themes=2)

    joined = {topic.id: topic.former_ids for topic in found.topics}
    assert joined == {f"theme-{ids[0]}": (ids[3],), f"theme-{ids[1]}": (ids[2],)}


def test_a_run_that_is_saved_again_has_the_same_file(run_folder, tmp_path):
    run = load_run(run_folder)
    again = tmp_path / "again"
    again.mkdir()

    save_run(again, run_in_memory("run", run.model, run.vocabulary, run.settings, run.trace))

    for name in ("themes.json", "model.json", "model.safetensors"):
        assert (again / name).read_bytes() == (run_folder / name).read_bytes()


def test_no_file_is_written_where_none_is_wanted(tmp_path, model, vocabulary):
    save_run(tmp_path, run_in_memory("run", model, vocabulary, {**FACTS, "themes": NO_THEMES}, []))

    assert not (tmp_path / "themes.json").exists()
    assert opened(tmp_path, n_themes=2).model.n_topics == 2


def test_one_topic_is_one_theme_and_needs_no_file(tmp_path, model, vocabulary):
    one = TopicPosterior("lda", model.topic_word_posterior[:1], np.array([0.5]), 0.1)
    for facts in (FACTS, {**FACTS, "themes": ()}):
        save_run(tmp_path, run_in_memory("run", one, vocabulary, facts, []))
        assert not (tmp_path / "themes.json").exists()

    assert opened(tmp_path, n_themes=1).model.exact_counts.sum() == one.exact_counts.sum()


def test_mixtures_have_no_file(document_mixture_folder):
    assert not (document_mixture_folder / "themes.json").exists()


# --- damage ---------------------------------------------------------------------------------------
def refusal(folder):
    """What reading the run says, on one line that names the file."""
    with pytest.raises(RunError) as caught:
        load_run(folder)
    said = str(caught.value)
    assert "themes.json" in said
    assert "\n" not in said
    return said


def row(a, b, gain=-1.0):
    """A merge of two topics of the run, by their places, or by ids of others."""
    return lambda ids: [
        ids[a] if isinstance(a, int) else a,
        ids[b] if isinstance(b, int) else b,
        gain,
    ]


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([row(0, 1), row(0, 2)], "the merges do not end with one topic"),
        ([], "the merges do not end with one topic"),
        ([row(0, 1), row(0, 2), row(0, 1)], "cannot be joined"),  # it has gone
        ([row(0, 1), row(1, 2), row(0, 3)], "cannot be joined"),  # to one that has gone
        ([row(0, 1), row(1, 0), row(2, 3)], "cannot be joined"),  # a cycle
        ([row(0, 0), row(0, 1), row(0, 2)], "cannot be joined"),  # with itself
        ([row(1, 0), row(1, 2), row(1, 3)], "cannot be joined"),  # the lighter one stays
        ([row(0, 1), row(0, 2), row(0, "zzzzzzzz")], "cannot be joined"),
        ([row(0, 1), row(0, 2), row("zzzzzzzz", 3)], "cannot be joined"),
        ([row(0, 1), row(0, 2), row(0, 3), row(0, 3)], "cannot be joined"),
        ([row(0, 1), row(0, 2), row(0, "not an id")], "merges[2][1]"),
        ([row(0, 1), row(0, 2), row(0, 3, "low")], "merges[2][2]"),
        ([row(0, 1), row(0, 2), row(0, 3, 1e300)], "merges[2][2]"),
    ],
)
def test_a_tree_that_is_none_of_the_run_is_refused(run_folder, rows, problem):
    ids = [topic.id for topic in load_run(run_folder).topics]
    content = {"merges": [make(ids) for make in rows]}
    (run_folder / "themes.json").write_text(json.dumps(content))
    reseal(run_folder)

    assert problem in refusal(run_folder)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"merges": 3}', '{"merges": [[]]}', "\x00", "{"])
def test_a_file_that_holds_no_tree_is_refused(run_folder, text):
    (run_folder / "themes.json").write_text(text)
    reseal(run_folder)

    refusal(run_folder)


def test_a_file_under_another_digest_is_refused(run_folder):
    rows = merges_in(run_folder)
    (run_folder / "themes.json").write_text(json.dumps({"merges": rows}))
    refusal(run_folder)

    (run_folder / "themes.json").unlink()
    refusal(run_folder)


def test_the_tree_of_another_run_is_refused(run_folder, model, vocabulary, tmp_path):
    other, counts = tmp_path / "other", model.topic_word_posterior[:, ::-1]
    other.mkdir()
    save_run(other, run_in_memory("run", replace_counts(model, counts), vocabulary, FACTS, []))
    (run_folder / "themes.json").write_bytes((other / "themes.json").read_bytes())
    reseal(run_folder)

    assert "cannot be joined" in refusal(run_folder)


def replace_counts(model, counts):
    return TopicPosterior("lda", counts.copy(), model.doc_concentration, 0.1)


def test_a_tree_in_the_settings_is_not_trusted(run_folder):
    expected = cut(run_folder)
    forgotten(run_folder)

    edit_json(run_folder / "model.json", themes=[[0, 99, -1.0], [7, -3, 2.0]])

    assert cut(run_folder) == expected


def test_names_of_themes_are_in_the_settings(run_folder, vocabulary, tmp_path):
    run = load_run(run_folder)
    topics = [replace(run.topics[0], theme_name="A theme"), *run.topics[1:]]
    again = tmp_path / "again"
    again.mkdir()

    save_run(
        again, run_in_memory("run", run.model, vocabulary, run.with_topics(topics).settings, [])
    )

    assert load_run(again).topics == tuple(topics)
    content = json.loads((again / "model.json").read_text())
    content["topics"][0]["theme_name"] = "two\nlines"
    edit_json(again / "model.json", topics=content["topics"])
    with pytest.raises(RunError, match="a name must be printable"):
        load_run(again)
