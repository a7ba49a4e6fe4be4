"""The tree of topics: its branches, how a page draws and cuts it, and colours that follow."""

import json
from dataclasses import replace
from functools import cache
from importlib.resources import files
from itertools import pairwise

import numpy as np
import pytest

from browser import told_by
from sparsetopics.answers.themes import themes_of_path
from sparsetopics.evaluation.report.page import render_page
from sparsetopics.evaluation.report.page_data import escaped_json, heat_map, tree_data
from sparsetopics.evaluation.report.report import run_report
from sparsetopics.evaluation.report.topic_tree import Tree, tree_of_path, tree_of_themes
from sparsetopics.inference.theme_tree import Merge
from sparsetopics.runs.run import load_run
from sparsetopics.runs.topic_path_files import TopicTree, TreeRung, TreeTopic

SIZES = (8, 6, 4, 2)
PARENTS = ((0, 0, 1, 2, 3, 3, 4, 5), (0, 1, 1, 2, 3, 3), (0, 0, 1, 1))
HOSTILE = "</script><img/src=x/onerror=alert(1)>{{7*7}}"


def rungs_of(sizes=SIZES, parents=PARENTS):
    """A topic path whose topics are named after their rungs, such as 4.0, the heaviest of four."""
    following = [*parents, [None] * sizes[-1]]
    return TopicTree(
        tuple(
            TreeRung(
                size,
                tuple(
                    TreeTopic(1 / (number + 2), f"{size}.{number}", ("a", "b"), ("b",), parent)
                    for number, parent in enumerate(own)
                ),
            )
            for size, own in zip(sizes, following, strict=True)
        )
    )


def path_tree(cut=2):
    return tree_of_path(rungs_of(), 4, {}, cut, {"to predict": 8})


@cache
def deep_tree(n_topics=800):
    """In each step, the two first topics become one."""
    sizes = range(n_topics, 0, -1)
    parents = [[max(0, topic - 1) for topic in range(size)] for size in sizes[:-1]]
    return tree_of_path(rungs_of(sizes, parents), 400, {}, 24, {})


# --- branches ---
def test_a_model_has_a_branch_for_each_topic_and_each_join(run_folder):
    run = load_run(run_folder)
    merges = Merge(1, 2, 0.0), Merge(0, 3, 0.0), Merge(0, 1, 0.0)
    run = replace(run, settings={**run.settings, "themes": merges})

    tree = tree_of_themes(run, ["a", "b", "c", "d"], 2, {})

    assert [(each.parent, each.most, each.fewest, each.topic) for each in tree.branches] == [
        *((None, 1, 1, None), (0, 2, 2, None), (1, 4, 3, 0), (1, 4, 3, 3)),
        *((0, 3, 2, None), (4, 4, 4, 1), (4, 4, 4, 2)),
    ]
    assert [tree.branches[place].name for place in (2, 3, 5, 6)] == ["a", "d", "b", "c"]
    weights = [each.weight for each in tree.branches]
    assert weights[0] == pytest.approx(1.0)
    assert weights[1] == pytest.approx(weights[2] + weights[3])
    assert tree.order == [0, 3, 1, 2]
    assert list(tree.numbers) == [4, 3, 2, 1]


def test_a_branch_of_a_path_lasts_until_it_becomes_part_of_another():
    tree = path_tree()

    found = [(each.name, each.parent, each.most, each.fewest) for each in tree.branches]
    assert found[:6] == [
        *(("2.0", None, 2, 2), ("4.0", 0, 6, 4), ("8.0", 1, 8, 8), ("8.1", 1, 8, 8)),
        *(("4.1", 0, 4, 4), ("6.1", 4, 8, 6)),
    ]
    assert sorted(tree.order) == [0, 1, 2, 3]
    assert tree.numbers == [8, 6, 4, 2]


@pytest.mark.parametrize("cut", SIZES)
def test_each_number_of_topics_has_as_many_branches(cut):
    for tree in (path_tree(), tree_of_path(rungs_of(), 8, {3: "given"}, 2, {})):
        shown = [each for each in tree.branches if each.fewest <= cut <= each.most]
        assert len(shown) == cut


def test_given_names_are_those_of_topics_of_the_page():
    tree = tree_of_path(rungs_of(), 4, {2: "given"}, 2, {})

    assert [each.topic for each in tree.branches if each.name == "given"] == [2]


def test_topics_of_the_page_become_part_of_themes():
    assert themes_of_path(rungs_of(), 8, 2) == [0, 0, 0, 0, 1, 1, 1, 1]
    assert themes_of_path(rungs_of(), 4, 4) == [0, 1, 2, 3]


def test_a_tree_may_be_deeper_than_nested_calls():
    tree = deep_tree()

    assert len(tree.branches) == 2 * 800 - 1
    assert all(each.parent is None or each.parent < n for n, each in enumerate(tree.branches))
    assert len(tree.order) == 400


def test_the_grid_spans_from_the_least_to_the_most_similar_pair():
    found = heat_map(np.array([[1.0, 0.2, 0.4], [0.2, 1.0, 0.3], [0.4, 0.3, 1.0]]))

    assert (found["least"], found["greatest"]) == (0.2, 0.4)
    assert found["image"].startswith("data:image/png;base64,")
    assert heat_map(np.ones((3, 3)))["greatest"] == 1.0  # nothing to divide by


# --- the script ---
def told(tree, expression):
    """What the script says of a tree; ``tree`` has its data and ``branches`` what was read."""
    engine = pytest.importorskip("py_mini_racer", reason="needs mini-racer").MiniRacer()
    script = (files("sparsetopics.evaluation.report") / "web" / "tree.js").read_text("utf-8")
    data = escaped_json(tree_data(tree))
    data = f"const tree = {data}; const branches = readBranches(tree.branches);"
    return json.loads(engine.eval(f"{script}\n{data}\nJSON.stringify({expression});"))


@pytest.mark.parametrize("make", [path_tree, deep_tree])
def test_a_cut_has_as_many_themes_as_it_says(make):
    tree = make()
    numbers = tree.numbers[:: max(1, len(tree.numbers) // 8)]

    found = told(tree, f"{list(numbers)}.map((cut) => themesAt(branches, cut))")

    for cut, each in zip(numbers, found, strict=True):
        assert len(each["rows"]) == cut
        assert len(each["ofTopics"]) == len(tree.order)
        assert set(each["ofTopics"]) <= set(range(cut))
        assert all(at is None or at in each["rows"] for at in each["at"])


def test_topics_take_the_colour_of_the_theme_that_they_are_part_of():
    tree = path_tree()
    names = [each.name for each in tree.branches]

    two, four, eight = told(tree, "[2, 4, 8].map((cut) => themesAt(branches, cut))")

    assert two["ofTopics"] == [0, 0, 1, 1]
    assert [names[row] for row in four["rows"]] == ["4.0", "4.1", "4.2", "4.3"]
    assert four["ofTopics"] == [0, 1, 2, 3]
    # Finer than the topics of the page: each takes the colour of its first part.
    first = [names[eight["rows"][place]] for place in eight["ofTopics"]]
    assert first == ["8.0", "6.1", "8.4", "6.4"]


def test_lines_are_grey_left_of_the_cut_and_each_theme_has_its_own_right_of_it():
    drawn = """(() => {
      const {at, rows} = themesAt(branches, 4);
      const scale = treeScale(tree.numbers, 400);
      const bands = new Map(rows.map((row, n) => [row, [24 * n, 24]]));
      const heights = branchHeights(branches, at, bands);
      const lines = treeLines(branches, at, heights, scale, 4);
      return {heights, rows: rows.map((row) => [row, heights[row], lines.rows.get(row)]),
              coarse: lines.coarse, at: tree.numbers.map(scale.at), cut: scale.nearest(150)};
    })()"""

    found = told(path_tree(), drawn)

    assert [height for _, height, _ in found["rows"]] == [12, 36, 60, 84]
    assert all(0 < height < 96 for height in found["heights"])
    places = found["at"]  # from the most topics to the fewest
    assert all(fewer < more for more, fewer in pairwise(places))
    assert (places[0], places[-1]) == (378, 12)
    assert "NaN" not in json.dumps(found)
    assert found["coarse"].count("V") == 2  # the two branches above the cut
    for _, height, lines in found["rows"]:
        assert lines["own"].startswith(f"M{places[2]:.1f} {height:.1f}H")


def test_a_tree_with_one_number_can_be_drawn():
    tree = Tree([path_tree().branches[0]._replace(topic=0)], [2], 2, {})

    assert told(tree, "[treeScale([2], 300).at(2), treeScale([2], 300).nearest(5)]") == [12, 2]


# --- in a browser ---
PROBE = """
const told = [];
const colours = document.getElementById("colours");
const slider = document.getElementById("cut");
const first = colours.textContent;
let detail;
document.addEventListener("themes", (event) => { detail = event.detail; });
for (let place = 0; place <= Number(slider.max); place++) {
  slider.value = place;
  slider.dispatchEvent(new Event("input"));
  const links = [...document.querySelectorAll("#rows a")];
  told.push({
    said: [document.querySelector("output.cut-shown").textContent, slider.ariaValueText],
    names: links.map((link) => link.textContent),
    isReached: links.every((link) => document.querySelector(link.getAttribute("href"))),
    detail: detail.map(([name, , , topics]) => [name, topics]),
    colours: colours.textContent,
  });
}
document.querySelector("#marks button").click();
document.title = JSON.stringify({told, first, last: colours.textContent});
"""


def page_with(tree, run_folder):
    report = run_report([load_run(run_folder)])
    seen = replace(report.subjects[0].overview, tree=tree)
    return render_page(replace(report, subjects=[replace(report.subjects[0], overview=seen)]))


def test_a_browser_cuts_the_tree_at_each_number(run_folder, tmp_path):
    tree = path_tree(cut=4)
    hostile = [each._replace(name=each.name + HOSTILE) for each in tree.branches]

    found = told_by(page_with(replace(tree, branches=hostile), run_folder), PROBE, tmp_path)

    said = [each["said"] for each in found["told"]]
    assert said == [[f"{n} topics"] * 2 for n in (2, 4, 6)] + [["8 topics", "8 topics, to predict"]]
    for each, cut in zip(found["told"], reversed(SIZES), strict=True):
        shown = [branch.name for branch in hostile if branch.fewest <= cut <= branch.most]
        assert each["names"] == shown == [name for name, _ in each["detail"]]
        assert sorted(topic for _, own in each["detail"] for topic in own) == [0, 1, 2, 3]
        assert each["isReached"]
        assert f"--n-themes:{cut}" in each["colours"]
    assert found["first"] == found["last"] == found["told"][1]["colours"]


def test_the_first_cut_has_the_colours_that_the_page_came_with(run_folder, tmp_path):
    page = render_page(run_report([load_run(run_folder)]))
    start = page.index('<style id="colours">') + len('<style id="colours">')

    probe = 'document.title = JSON.stringify(document.getElementById("colours").textContent)'

    assert told_by(page, probe, tmp_path) == page[start : page.index("</style>", start)]


def test_without_the_script_the_themes_are_a_list(run_folder):
    page = render_page(run_report([load_run(run_folder)]))

    assert page.count('<li class="of-') == 4
    assert '<div class="drawing" id="drawing" hidden>' in page
