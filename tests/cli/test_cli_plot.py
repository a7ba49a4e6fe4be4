"""``sparsetopics plot`` and ``model.plot``: each kind of figure, and what is refused."""

import json
import subprocess
import sys
from itertools import cycle

import numpy as np
import pytest
from click.testing import CliRunner

from sparsetopics import (
    LDA,
    Corpus,
    GaussianMixture,
    MultinomialMixture,
    OptionError,
    TopicPath,
    UnfittedError,
    load,
)
from sparsetopics.cli.main import main
from sparsetopics.evaluation.figures import KINDS

DIVIDED = {"groups": ("--by", "section"), "time": ("--over", "date:month", "--by", "section")}
BY_PYTHON = {"groups": {"by": "section"}, "time": {"over": "date:month", "by": "section"}}
STARTS = {"pdf": b"%PDF", "svg": b"<?xml", "png": b"\x89PNG"}


def plot(*arguments, status=0):
    result = CliRunner().invoke(main, ["plot", *map(str, arguments)])
    assert result.exit_code == status, result.output
    return result.output


def options_of(kind, world):
    return ("--corpus", world / "corpus", *DIVIDED[kind]) if kind in DIVIDED else ()


@pytest.mark.parametrize(("kind", "ending"), [*zip(KINDS, cycle(STARTS))])
def test_each_kind_is_written_as_python_draws_it(example_world, tmp_path, kind, ending):
    """Or as it is drawn again: Python loads no path."""
    run = example_world / ("path" if kind == "numbers" else "run-50")
    files = [tmp_path / f"{n}.{ending}" for n in range(2)]
    words = (run, kind, *options_of(kind, example_world), "--width", 4, "--out")

    plot(*words, files[0])
    if kind == "numbers":
        plot(*words, files[1])
    else:
        corpus = [Corpus.open(example_world / "corpus")] if kind in DIVIDED else []
        asked = BY_PYTHON.get(kind, {})
        getattr(load(run).plot, kind)(*corpus, **asked, width=4).savefig(files[1])

    first, second = (out.read_bytes() for out in files)
    assert first == second
    assert first.startswith(STARTS[ending])


def test_a_file_that_is_there_stays(example_world, tmp_path):
    out = tmp_path / "tree.svg"
    out.write_text("mine")

    assert "already exists" in plot(example_world / "run-50", "tree", "--out", out, status=1)

    assert out.read_text() == "mine"


def test_names_and_themes_are_those_that_are_given(example_world, tmp_path):
    run, names = example_world / "known-run", tmp_path / "names.toml"
    names.write_text('bcdfghjk = "Crime & $x"\n')

    plain, named, themes = (tmp_path / f"{n}.svg" for n in range(3))
    plot(run, "tree", "--out", plain)
    plot(run, "tree", "--out", named, "--names", names)
    plot(run, "tree", "--out", themes, "--themes", 2)

    assert "Crime &amp; $x" in named.read_text()  # in a comment before the outlines
    assert "Crime &amp; $x" not in plain.read_text()
    assert len(themes.read_bytes()) < len(plain.read_bytes())


@pytest.mark.parametrize(
    ("kind", "divided"),
    [
        ("groups", ("--by", "section")),
        ("time", ("--over", "date", "--by", "section")),
    ],
)
def test_shares_by_a_formula_are_drawn_at_the_values_of_fields(
    example_world, tmp_path, kind, divided
):
    run, corpus = example_world / "known-run", example_world / "corpus"
    given = ("--corpus", corpus, *divided)

    plot(run, kind, *given, "--formula", "~ section * date", "--out", tmp_path / "by-formula.svg")
    over = {"date": "date:month"}
    usual = [over.get(each, each) if isinstance(each, str) else each for each in given]
    plot(run, kind, *usual, "--out", tmp_path / "usual.svg")

    drawn, other = ((tmp_path / f"{name}.svg").read_text() for name in ("by-formula", "usual"))
    assert drawn != other
    assert kind != "time" or "<!-- 2024-" in drawn


def test_a_figure_shows_the_shares_that_prevalence_prints(example_world):
    corpus = Corpus.open(example_world / "corpus")
    model = LDA(3, max_iter=2, random_state=0).fit(corpus)

    figure = model.plot.groups(corpus, by="section", formula="~ section")

    rows = model.prevalence(corpus, formula="~ section").to_pylist()
    (points,) = (line for line in figure.axes[0].lines if line.get_marker() == "o")
    of_topics = {row["topic"]: [] for row in rows}
    for row in rows:
        of_topics[row["topic"]].append(row["mean"])
    assert any(np.allclose(points.get_xdata(), own) for own in of_topics.values())


def test_a_figure_has_the_errors_over_runs_of_the_table(example_world):
    corpus = Corpus.open(example_world / "corpus")
    model, *others = (LDA(3, max_iter=2, random_state=seed).fit(corpus) for seed in range(3))
    asked = {"formula": "~ section", "runs": others}

    figure = model.plot.groups(corpus, by="section", **asked)

    rows = model.prevalence(corpus, **asked).to_pylist()
    ends = {(round(row["low"], 6), round(row["high"], 6)) for row in rows}
    segments = [line for axes in figure.axes for line in axes.collections[0].get_segments()]
    drawn = {tuple(np.round(segment[:, 0], 6).tolist()) for segment in segments}
    assert drawn == ends
    with pytest.raises(OptionError, match="runs: needs formula"):
        model.plot.groups(corpus, by="section", runs=others)


def test_topics_are_drawn_alone_with_the_shares_of_the_table(example_world):
    corpus, model = Corpus.open(example_world / "corpus"), load(example_world / "run-50")
    topics = [3, model.topic_ids_[0]]

    for asked in ({}, {"formula": "~ section"}):
        figure = model.plot.groups(corpus, by="section", topics=topics, **asked)

        by = asked or {"by": "section"}
        rows = model.prevalence(corpus, topics=topics, **by).to_pylist()
        for axes, topic in zip(figure.axes, (3, 0), strict=True):
            own = [row for row in rows if row["topic"] == topic]
            (points,) = (line for line in axes.lines if line.get_marker() == "o")
            means = [row["mean"] for row in own]
            assert points.get_xdata() == pytest.approx(means, rel=1e-3)
            assert axes.get_title(loc="left").startswith(own[0]["name"][:8])
    panels = model.plot.time(corpus, over="date:month", by="section", topics=topics).axes
    assert [axes.get_label() for axes in panels] == [axes.get_label() for axes in figure.axes]
    with pytest.raises(OptionError, match="topics: must be a list of numbers or ids"):
        model.plot.groups(corpus, topics=7)
    with pytest.raises(OptionError, match="topic: there is no topic 99"):
        model.prevalence(corpus, topics=[99])


def test_groups_have_the_same_order_and_colours_with_and_without_a_formula(example_world):
    corpus, model = Corpus.open(example_world / "corpus"), load(example_world / "run")

    by_formula = model.plot.time(corpus, "date", "section", formula="~ section * date")
    figures = (by_formula, model.plot.time(corpus, "date:month", "section"))

    keys = [[text.get_text() for text in figure.legends[0].get_texts()] for figure in figures]
    assert keys[0] == keys[1] == sorted(keys[0])
    colours = [[line.get_color() for line in figure.axes[0].lines] for figure in figures]
    assert colours[0] == colours[1]


def test_periods_that_are_joined_are_named(example_world, tmp_path, monkeypatch):
    monkeypatch.chdir(example_world)
    told = ("plot", "run", "time", "--corpus", "corpus", "--json", "--over")

    days, years = (
        CliRunner().invoke(main, [*told, f"date:{unit}", "--out", f"{tmp_path}/{unit}.svg"])
        for unit in ("day", "year")
    )

    joined = json.loads(days.stdout)["joined_periods"]
    assert all(" to " in name for name in joined)
    said = f"Joined periods with few documents to {len(joined)} points, such as {joined[0]}.\n"
    assert days.stderr.startswith(said)
    assert json.loads(years.stdout)["joined_periods"] == []
    assert "Joined" not in years.stderr


def test_runs_are_only_named_where_they_can_be_given(example_world, tmp_path, monkeypatch):
    monkeypatch.chdir(example_world)
    groups = ("run", "groups", "--corpus", "corpus", "--by", "section", "--out", tmp_path / "x.svg")

    assert "errors are too small.\n" in plot(*groups)
    by_formula = (*groups, "--formula", "~ section", "--overwrite")
    assert "errors are too small. See --runs.\n" in plot(*by_formula)
    assert "errors are too small.\n" in plot(*by_formula, "--themes", 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "themes", "--topic", "1"), "--topic: is not for themes."),
        (("run", "themes", "--formula", "~ a"), "--formula: is not for themes."),
        (("run", "groups", "--formula", "~ a"), "--by: is needed for groups."),
        (("run", "groups"), "--by: is needed for groups."),
        (("run", "time", "--by", "section"), "--over: is needed for time."),
        (("run", "groups", "--by", "section"), "--by: needs --corpus."),
        (("run", "themes", "--by", "section"), "--by: is not for themes."),
        (("run", "tree", "--corpus", "corpus"), "--corpus: is not for tree."),
        (("run", "groups", "--by", "a", "--over", "b"), "--over: is not for groups."),
        (("run", "numbers"), "numbers: needs a run with scores"),
        (("run", "themes", "--width", "1"), "--width: must be"),
        (("run", "shapes"), "KIND: must be one of themes, tree"),
        (("path", "themes", "--themes", "2"), "--themes: is for one run"),
        (("run", "groups", "--by", "nothing", "--corpus", "corpus"), "--by: "),
    ],
)
def test_what_cannot_be_drawn_is_refused(example_world, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(example_world)

    output = plot(*arguments, "--out", tmp_path / "x.pdf", status=1)

    assert message in output
    assert len(output.splitlines()) == 1
    assert not (tmp_path / "x.pdf").exists()
    assert "must end in .pdf, .svg or .png" in plot("run", "themes", "--out", "x.eps", status=1)


def test_what_a_model_cannot_show_is_refused():
    values = np.random.default_rng(0).normal(size=(40, 2))
    texts = ["cats chase mice", "stocks fell while bonds rose"] * 20
    corpus = Corpus.from_texts(texts)
    mixture = MultinomialMixture(2, max_iter=2).fit(corpus)
    path = TopicPath(3, fewest=2, max_iter=2, validation_share=0.2).fit(corpus)

    with pytest.raises(UnfittedError):
        LDA().plot.themes()
    with pytest.raises(OptionError, match="components of vectors"):
        GaussianMixture(2, max_iter=2).fit(values).plot.themes()
    assert mixture.plot.themes().axes
    with pytest.raises(OptionError, match="tree: needs"):
        mixture.plot.tree()
    with pytest.raises(OptionError, match="mixture"):
        mixture.plot.groups(corpus)
    with pytest.raises(OptionError, match="width"):
        path.plot.themes(width=99)
    assert path.plot.numbers().axes


def test_matplotlib_is_imported_only_to_draw():
    code = "import sys; from sparsetopics.cli import plot; from sparsetopics import LDA; LDA().plot"
    check = f"{code}; sys.exit('matplotlib' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
