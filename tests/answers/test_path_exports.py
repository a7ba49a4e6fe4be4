"""Topic paths as trees in Newick and as tables in CSV."""

import json
import math
import re
from csv import DictReader
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner

from resealing import edit_json, reseal_file
from run_contents import make_placeholder_runs
from sparsetopics.answers.exports import PATH_TARGETS, RUN_TARGETS, writer
from sparsetopics.answers.exports.exporting import export_run
from sparsetopics.answers.exports.text_formats import newick
from sparsetopics.base.errors import OptionError, OutputError, RunError
from sparsetopics.cli.main import main
from sparsetopics.runs.topic_path_files import (
    RungScore,
    Scores,
    TopicTree,
    TreeRung,
    TreeTopic,
    write_topic_path,
)

PARENTS = ((0, 0, 1, 2, 2, 3), (0, 0, 0, 1))  # from 6 topics to 4, and from 4 to 2
WORDS = ("space", "nasa", "orbit", "shuttle", "moon", "launch", "earth")
HOSTILE = ("it's", "a,b", "(c)", "d:0.5", "e;f", "[g]", "''h", "i\nj", "k\u2028l", "=1+1", '"m"')
TOKEN = re.compile(r"'((?:[^']|'')*)'|:([0-9.e-]+)|([(),;])")


def tree_of(sizes, parents, words=WORDS):
    """A tree whose topics have the words in turned orders, and weights of equal parts."""

    def topic(number, parent):
        turned = words[number % len(words) :] + words[: number % len(words)]
        return TreeTopic(0.125 / (number + 1), ", ".join(turned[:3]), turned, turned[:2], parent)

    following = [*parents, [None] * sizes[-1]]
    return TopicTree(
        tuple(
            TreeRung(size, tuple(topic(number, parent) for number, parent in enumerate(own)))
            for size, own in zip(sizes, following, strict=True)
        )
    )


def random_tree(seed):
    """Rungs of random sizes, where every topic has at least one part."""
    rng = np.random.default_rng(seed)
    sizes = sorted(rng.choice(np.arange(1, 40), 5, replace=False).tolist(), reverse=True)
    parents = []
    for more, fewer in pairwise(sizes):
        own = np.r_[np.arange(fewer), rng.integers(fewer, size=more - fewer)]
        parents.append(rng.permutation(own).tolist())
    return tree_of(sizes, parents)


@pytest.fixture
def path_folder(tmp_path):
    """A topic path of three rungs with hostile words; no command here reads its runs."""
    folder = tmp_path / "path"
    folder.mkdir()
    make_placeholder_runs(folder, (6, 4, 2))
    scores = Scores(tuple(RungScore(size, 3) for size in (6, 4, 2)))
    write_topic_path(folder, scores, tree_of((6, 4, 2), PARENTS, HOSTILE))
    return folder


class Node(NamedTuple):
    """A node as read back from Newick."""

    label: str
    depth: float  # distance from the root
    parent_depth: float
    leaves: frozenset[str]


def read_newick(text):
    """All nodes, the root last, read as the standard says."""
    assert text.count("\n") == 1
    tokens = TOKEN.findall(text)
    assert "".join(f"'{label}'" if not mark and not edge else mark or f":{edge}"
                   for label, edge, mark in tokens) == text.strip()  # fmt: skip
    root, rest = _read(tokens)
    assert rest == [("", "", ";")]
    return list(_nodes(root, 0.0, 0.0))


def _read(tokens):
    parts = []
    if tokens[0][2] == "(":
        while tokens[0][2] in ("(", ","):
            part, tokens = _read(tokens[1:])
            parts.append(part)
        assert tokens[0][2] == ")"
        tokens = tokens[1:]
    label, length = None, 0.0
    if tokens[0][0]:
        label, tokens = tokens[0][0].replace("''", "'"), tokens[1:]
    if tokens[0][1]:
        length, tokens = float(tokens[0][1]), tokens[1:]
    return (label, length, parts), tokens


def _nodes(node, depth, parent_depth):
    label, _, parts = node
    leaves = set() if parts else {label}
    for part in parts:
        below = list(_nodes(part, depth + part[1], depth))
        leaves |= below[-1].leaves
        yield from below
    yield Node(label, depth, parent_depth, frozenset(leaves))


def cut(nodes, distance):
    """The groups of leaves that a cut at a distance from the root gives."""
    middle = distance - 1e-9  # just above the nodes at this distance
    return {node.leaves for node in nodes if node.parent_depth < middle < node.depth}


def groups_of(tree, place):
    """The leaves below each topic of a rung, by the numbers in their labels."""
    ancestors = list(range(tree.rungs[0].n_topics))
    for rung in tree.rungs[:place]:
        ancestors = [rung.topics[topic].parent for topic in ancestors]
    groups = {}
    for leaf, topic in enumerate(ancestors):
        groups.setdefault(topic, set()).add(leaf)
    return {frozenset(group) for group in groups.values()}


def number_of(label):
    return int(re.match(r"\d+-(\d+) ", label).group(1))


@pytest.mark.parametrize("seed", range(4))
def test_a_cut_at_ln_k_gives_the_topics_of_a_rung(seed):
    tree = random_tree(seed)

    nodes = read_newick(f"{newick(tree)}\n")

    most = tree.rungs[0].n_topics
    leaves = [node for node in nodes if node.leaves == {node.label}]
    assert sorted(number_of(leaf.label) for leaf in leaves) == list(range(most))
    assert {leaf.label.split("-")[0] for leaf in leaves} == {str(most)}
    np.testing.assert_allclose([leaf.depth for leaf in leaves], math.log(most))
    for place, rung in enumerate(tree.rungs):
        if rung.n_topics > 1:
            groups = cut(nodes, math.log(rung.n_topics))
            numbers = {frozenset(map(number_of, group)) for group in groups}
            assert numbers == groups_of(tree, place)


def test_edges_and_labels_are_as_documented():
    text = newick(tree_of((6, 4, 2), PARENTS))

    assert text == (
        f"((('6-0 space nasa orbit shuttle moon':{math.log(6 / 4)!r},"
        f"'6-1 nasa orbit shuttle moon launch':{math.log(6 / 4)!r})"
        f"'4-0 space nasa orbit shuttle moon':{math.log(4 / 2)!r},"
        f"'6-2 orbit shuttle moon launch earth':{math.log(6 / 2)!r},"
        f"('6-3 shuttle moon launch earth space':{math.log(6 / 4)!r},"
        f"'6-4 moon launch earth space nasa':{math.log(6 / 4)!r})"
        f"'4-2 orbit shuttle moon launch earth':{math.log(4 / 2)!r})"
        f"'2-0 space nasa orbit shuttle moon':{math.log(2)!r},"
        f"'6-5 launch earth space nasa orbit':{math.log(6)!r});"
    )


def test_a_single_last_topic_is_the_root():
    (*_, root) = read_newick(f"{newick(tree_of((3, 1), [(0, 0, 0)]))}\n")

    assert root.label == "1-0 space nasa orbit shuttle moon"
    assert len(root.leaves) == 3
    assert newick(tree_of((1,), [])) == "'1-0 space nasa orbit shuttle moon';"


def test_hostile_words_stay_in_their_labels(path_folder, tmp_path):
    export_run(path_folder, "newick", tmp_path / "tree.nwk")

    text = (tmp_path / "tree.nwk").read_text(encoding="utf-8")
    nodes = read_newick(text)
    expected = read_newick(f"{newick(tree_of((6, 4, 2), PARENTS))}\n")
    assert [(node.depth, len(node.leaves)) for node in nodes] == [
        (node.depth, len(node.leaves)) for node in expected
    ]
    labels = {node.label for node in nodes}
    assert "6-0 it’s a,b (c) d:0.5 e;f" in labels
    assert "6-4 e;f [g] ’’h i j k l" in labels


def test_a_path_of_many_rungs_is_no_deeper_than_python_allows():
    sizes = range(1200, 0, -1)
    tree = tree_of(sizes, [[max(0, topic - 1) for topic in range(size)] for size in sizes[:-1]])

    text = newick(tree)

    assert text.startswith("(" * 1199 + "'1200-0 ")
    assert text.count("(") == text.count(")") == 1199


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(DictReader(file))


def test_a_table_has_a_row_for_each_topic_of_each_rung(path_folder, tmp_path):
    export_run(path_folder, "csv", tmp_path / "tree.csv")

    rows = rows_of(tmp_path / "tree.csv")
    assert list(rows[0]) == [
        "n_topics", "topic", "parent_n_topics", "parent_topic", "weight", "name", "words",
        "telling_words"
    ]  # fmt: skip
    tree = tree_of((6, 4, 2), PARENTS, HOSTILE)
    expected = [
        (rung.n_topics, number, above, topic)
        for rung, above in zip(tree.rungs, (4, 2, ""), strict=True)
        for number, topic in enumerate(rung.topics)
    ]
    for row, (n_topics, number, above, topic) in zip(rows, expected, strict=True):
        assert (row["n_topics"], row["topic"]) == (str(n_topics), str(number))
        parent = "" if topic.parent is None else str(topic.parent)
        assert (row["parent_n_topics"], row["parent_topic"]) == (str(above), parent)
        assert float(row["weight"]) == topic.weight
        assert row["name"] == topic.name
        assert row["words"] == " ".join(topic.words)
        assert row["telling_words"] == " ".join(topic.telling_words)


def test_a_table_can_be_safe_for_spreadsheets(tmp_path):
    folder = tmp_path / "path"
    folder.mkdir()
    make_placeholder_runs(folder, (2, 1))
    scores = Scores((RungScore(2, 3), RungScore(1, 4)))
    write_topic_path(folder, scores, tree_of((2, 1), [(0, 0)], ("=1+1", "@user")))

    export_run(folder, "csv", tmp_path / "plain.csv")
    export_run(folder, "csv", tmp_path / "safe.csv", spreadsheet_safe=True)

    assert [row["words"] for row in rows_of(tmp_path / "plain.csv")][:2] == [
        *("=1+1 @user", "@user =1+1")
    ]
    assert [row["words"] for row in rows_of(tmp_path / "safe.csv")][:2] == [
        *("'=1+1 @user", "'@user =1+1")
    ]
    assert [row["telling_words"][0] for row in rows_of(tmp_path / "safe.csv")] == ["'"] * 3


@pytest.mark.parametrize("target", PATH_TARGETS)
def test_every_target_has_a_writer(target):
    assert callable(writer(PATH_TARGETS[target].where))


def export(*arguments, status=0):
    result = CliRunner().invoke(main, ["export", *(str(argument) for argument in arguments)])
    assert result.exit_code == status, result.output
    return result


def test_the_command_writes_what_the_function_does(path_folder, tmp_path):
    printed = export(path_folder, "--to", "newick", "--out", tmp_path / "a.nwk", "--json").stdout
    export_run(path_folder, "newick", tmp_path / "b.nwk")

    assert json.loads(printed) == {"path": str(tmp_path / "a.nwk")}
    assert (tmp_path / "a.nwk").read_bytes() == (tmp_path / "b.nwk").read_bytes()


def test_topics_of_all_runs_take_no_names(path_folder, tmp_path):
    (tmp_path / "names.toml").write_text('0 = "Crime"\n')
    options = ("--to", "csv", "--names", tmp_path / "names.toml", "--out", tmp_path / "a.csv")

    printed = export(path_folder, *options, status=1).stderr

    said = "--names: a topic path takes no names. Export one of its runs, which does."
    assert printed == f"Error: {said}\n"


@pytest.mark.parametrize("target", sorted(set(RUN_TARGETS) - set(PATH_TARGETS)))
def test_formats_of_runs_refuse_a_topic_path_and_name_a_run_in_it(path_folder, tmp_path, target):
    with pytest.raises(RunError, match=r"found a topic path.*such as .*path/2\.$"):
        export_run(path_folder, target, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_wrong_things_are_refused_in_one_line(path_folder, run_folder, tmp_path):
    out = tmp_path / "out"
    for arguments, message in (
        ((run_folder, "--to", "newick"), "newick is for topic paths, but"),
        ((tmp_path / "nowhere", "--to", "newick"), "expected a topic path, but found no such"),
        ((path_folder, "--to", "newick", "--corpus", run_folder), "newick takes no corpus"),
        ((path_folder, "--to", "csv", "--corpus", run_folder), "csv takes no corpus"),
        ((path_folder, "--to", "newick", "--spreadsheet-safe"), "is for csv, not for --to newick"),
    ):
        result = export(*arguments, "--out", out, status=1)
        assert message in result.stderr
        assert result.stderr.count("\n") == 1
    for target, name in (("newick", "tree.csv"), ("csv", "tree.nwk")):
        with pytest.raises(OptionError, match="must end in"):
            export_run(path_folder, target, tmp_path / name)
    with pytest.raises(OutputError, match="lies inside the input"):
        export_run(path_folder, "newick", path_folder / "tree.nwk")


@pytest.mark.parametrize("target", PATH_TARGETS)
@pytest.mark.parametrize("damage", ["missing", "flipped", "orphan"])
def test_a_damaged_tree_is_refused_in_one_line(path_folder, tmp_path, target, damage):
    file = path_folder / "tree.json"
    if damage == "missing":
        file.unlink()
    elif damage == "flipped":
        file.write_bytes(file.read_bytes().replace(b"(c)", b"(d)"))
    else:
        rungs = json.loads(file.read_text())["rungs"]
        rungs[0]["topics"][3]["parent"] = 4
        edit_json(file, rungs=rungs)
        reseal_file(path_folder / "path.json")

    result = export(path_folder, "--to", target, "--out", tmp_path / "out", status=1)

    assert "tree.json" in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
