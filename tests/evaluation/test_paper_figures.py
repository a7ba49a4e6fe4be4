"""Figures for papers: nothing overlaps or is too small, whatever the names and numbers."""

from datetime import date, timedelta
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from browser import told_by
from sparsetopics.base.errors import SparsetopicsWarning
from sparsetopics.evaluation.figures import DEFAULT_WIDTH
from sparsetopics.evaluation.figures.paper import finished, fonts_of, styled, theme_colours
from sparsetopics.evaluation.report.division import Division
from sparsetopics.evaluation.report.overview import Overview, Theme
from sparsetopics.evaluation.report.report_content import Report
from sparsetopics.evaluation.report.topic_path import Curve
from sparsetopics.evaluation.report.topic_tree import Branch, Tree
from sparsetopics.evaluation.report.web_files import packaged
from sparsetopics.measures.paired import Estimate
from sparsetopics.measures.top_words import TopicRow
from sparsetopics.options.registry import imported

SMALLEST = 6.0  # points
LONG = "a name of many words that goes on and on, $x^2$ & <b>, until it cannot fit anywhere"
WORD = "Donaudampfschifffahrtsgesellschaftskapitän"


def texts_of(figure):
    """Each text that is drawn, with its box in points."""
    found, draw = {}, Text.draw

    def noted(text, renderer):
        if text.get_visible() and text.get_text().strip():
            found[text] = text.get_window_extent(renderer)
        draw(text, renderer)

    figure.set_dpi(72)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Text, "draw", noted)
        figure.draw_without_rendering()
    return found


def check_texts(figure):
    found = texts_of(figure)
    texts, boxes = list(found), np.array([box.extents for box in found.values()])
    assert all(text.get_fontsize() >= SMALLEST for text in texts)
    low, high = boxes[:, :2], boxes[:, 2:]
    is_inside = (low > -0.7).all(1) & (high < figure.get_size_inches() * 72 + 0.7).all(1)
    assert is_inside.all(), [texts[n].get_text() for n in np.flatnonzero(~is_inside)]
    common = np.minimum(high[:, None], high) - np.maximum(low[:, None], low)
    pairs = np.argwhere(np.triu((common > 0.8).all(2), 1))
    assert not len(pairs), [[texts[n].get_text() for n in pair] for pair in pairs]


def named(number, names):
    return f"{names[number % len(names)]} {number}"


def report_of(n_themes=5, names=("court, judge",), words=("word",), **parts):
    weights = np.random.default_rng(0).dirichlet(np.ones(n_themes))
    themes = [
        Theme(
            TopicRow(n, f"id{n}", named(n, names), float(weights[n]),
                     [(named(word, words), 0.2 / (word + 1)) for word in range(10)]), n, [n])
        for n in np.argsort(-weights).tolist()
    ]  # fmt: skip
    overview = Overview("topics", themes, range(n_themes), parts.pop("tree", None))
    subject = SimpleNamespace(overview=overview, number_choice=parts.pop("choice", None))
    return Report(title="", kind="", subjects=[subject], **parts)


def division_of(n_themes, n_groups=0, n_periods=0, names=("group",), middle=float):
    rng = np.random.default_rng(1)
    shape = 1 + n_groups, 1 + n_periods, n_themes
    mean = rng.dirichlet(np.ones(n_themes), shape[:2])
    error = rng.uniform(0.01, 0.1, shape)
    low, high = np.maximum(mean - error, 0), np.minimum(mean + error, 1)
    low[-1, -1] = high[-1, -1] = np.nan
    mean[-1, -1, :] = np.nan if n_periods > 1 else mean[-1, -1, :]
    return Division(
        by="section", over="date", span="",
        groups=[named(n, names) for n in range(n_groups)],
        periods=[""] * n_periods, middles=[middle(n) for n in range(n_periods)],
        pooled=[], n_documents=rng.integers(1, 2_000_000, shape[:2]), mean=mean, low=low, high=high,
        against_rest=None, pairs=None, change=None, words=[],
        left_out="3 documents without section left out. " if n_groups > 4 else "",
    )  # fmt: skip


def month(number):
    return date(1990 + number // 12, 1 + number % 12, 15)


def day(number):
    return date(2023, 12, 27 + number % 5) + timedelta(days=number)


def era(number):
    return date(1, 1, 1) if number == 0 else date(9999, 12, 31)


def huge(number):
    return -1.5e6 + 1e6 * number


def tree_of(n_topics, names=("court, judge",)):
    """In each step, the last two topics become one."""
    branches = [Branch(None, 1, 1, None, "all", 1.0, ["a"])]
    for size in range(2, n_topics + 1):
        parent = len(branches) - 1
        left, is_last = n_topics - size, size == n_topics
        own = Branch(
            parent, n_topics, size, left + 1 if is_last else left, named(left, names), 0.1, ["a"]
        )
        branches.append(own)
        last = Branch(parent, size, size, left if is_last else None, named(size, names), 0.2, ["b"])
        branches.append(last)
    return Tree(branches, range(n_topics, 0, -1), min(n_topics, 12), {})


def curve_of(sizes=(400, 300, 200, 150, 100, 70, 50, 30, 20, 10, 5, 2)):
    scores = {n: Estimate(-7.0 - abs(np.log(n / 50)) / 20, 0.004) for n in sizes}
    return SimpleNamespace(curve=Curve(scores, sizes[len(sizes) // 2], (sizes[-1], sizes[0])))


def drawn(kind, report, width=DEFAULT_WIDTH):
    draw = imported(f"sparsetopics.evaluation.figures.kinds:draw_{kind}")
    with styled():
        return finished(draw(report, width))


NASTY = (LONG, WORD, "a", "$\\frac{1}{2}$", "line\nbreak\ttab", "المحكمة والقضاء", "ab cd " * 30)
CASES = {
    "themes": ("themes", lambda names: report_of(24, names, names)),
    "two themes": ("themes", lambda names: report_of(2, names, names)),
    "topics": ("topics", lambda names: report_of(24, names, names)),
    "one topic": ("topics", lambda names: report_of(1, names, names)),
    "tree": ("tree", lambda names: report_of(60, names, tree=tree_of(60, names))),
    "joined tree": ("tree", lambda names: report_of(400, names, tree=tree_of(400, names))),
    "tree of two": ("tree", lambda names: report_of(2, names, tree=tree_of(2, names))),
    "groups": (
        "groups", lambda names: report_of(10, names, division=division_of(10, 16, names=names))
    ),
    "one group": ("groups", lambda names: report_of(2, names, division=division_of(2, 1))),
    "time": (
        "time", lambda names: report_of(24, names, division=division_of(24, 0, 60, (), month))
    ),
    "years": (
        "time", lambda names: report_of(2, division=division_of(2, 0, 9, (), huge))
    ),
    "days": ("time", lambda names: report_of(2, names, division=division_of(2, 0, 9, (), day))),
    "old years": ("time", lambda names: report_of(2, division=division_of(2, 0, 2, (), era))),
    "one period": ("time", lambda names: report_of(3, names, division=division_of(3, 0, 1))),
    "time by group": (
        "time",
        lambda names: report_of(12, names, division=division_of(12, 9, 12, names, month)),
    ),
    "numbers": ("numbers", lambda names: report_of(topic_path=curve_of())),
    "close numbers": ("numbers", lambda names: report_of(choice=curve_of(range(30, 1, -1)))),
    "one number": ("numbers", lambda names: report_of(choice=curve_of((7,)))),
}  # fmt: skip


NARROW = (2.0, NASTY)
USUAL = (DEFAULT_WIDTH, ("court, judge, appeal",))
USUAL_CASES = ("themes", "one topic", "tree", "one group", "time by group", "numbers")


@pytest.mark.parametrize(
    ("case", "width", "names"),
    [*((case, *NARROW) for case in CASES), *((case, *USUAL) for case in USUAL_CASES)],
    ids=[*(f"{case}-narrow and nasty" for case in CASES), *USUAL_CASES],
)
def test_texts_are_large_enough_and_do_not_overlap(case, width, names):
    kind, report = CASES[case]

    figure = drawn(kind, report(names), width)

    assert figure.get_figwidth() == width
    check_texts(figure)


def test_an_overlap_is_noticed():
    figure = drawn("themes", report_of(3))
    check_texts(figure)
    figure.text(0.02, 0.9, "over a name")

    with pytest.raises(AssertionError, match="over a name"):
        check_texts(figure)


def shown(figure):
    return [text.get_text() for text in texts_of(figure)]


def test_a_large_tree_says_what_it_leaves_out():
    texts = shown(drawn("tree", report_of(400, tree=tree_of(400))))

    assert "400 topics, joined to 60." in texts
    assert sum("  court" in text for text in texts) == 60


def test_colours_are_those_of_the_page_in_a_browser(tmp_path):
    page, n_themes = packaged("page.css"), 8
    items = "".join(
        f'<i class="of-{n}" style="--place: {n}; --step: {n % 3 - 1}; color: var(--tone)"></i>'
        for n in range(n_themes)
    )
    probe = """
        const pen = document.createElement("canvas").getContext("2d");
        const read = (each) => {
          pen.fillStyle = getComputedStyle(each).color;
          pen.fillRect(0, 0, 1, 1);
          return [...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)];
        };
        document.title = JSON.stringify([...document.querySelectorAll("i")].map(read));"""
    html = f"<title></title><style>{page}:root{{--n-themes:{n_themes}}}</style><body>{items}</body>"

    told = told_by(html, probe, tmp_path)

    own = [to_rgb(colour) for colour in theme_colours(report_of(n_themes).overview)]
    assert np.abs(np.array(told) - 255 * np.array(own)).max() < 3
    assert len({tuple(colour) for colour in told}) == n_themes


def test_letters_without_a_font_are_named_once():
    names = ("\u5f8b\u5e08 $5", "\u5e08 \u5f8b")

    with pytest.warns(
        SparsetopicsWarning, match="these characters, shown as boxes: \u5e08 \u5f8b"
    ) as warned:
        figure = drawn("topics", report_of(4, names, names))

    assert len(warned) == 1
    assert any(text.startswith("\u5f8b\u5e08 $5 ") for text in shown(figure))


def test_a_font_that_has_a_letter_is_used():
    lacking = "\N{MATHEMATICAL BOLD SMALL A}\ufb21\u2a0c\u2127\ue000"
    letter = next(
        own
        for own in lacking
        if len(fonts_of(frozenset(own))[0]) > 1 and not fonts_of(frozenset(own))[1]
    )

    figure = drawn("themes", report_of(2, (letter,)))

    (name,) = {
        tuple(each.get_fontfamily()) for each in texts_of(figure) if letter in each.get_text()
    }
    assert name[0] == "DejaVu Sans"
    assert len(name) == 2


def test_settings_of_the_user_change_nothing(tmp_path):
    def made(name):
        drawn("themes", report_of(3, NASTY)).savefig(tmp_path / name)
        return (tmp_path / name).read_bytes()

    for ending in ("pdf", "svg", "png"):
        first = made(f"a.{ending}")
        settings = {"font.size": 30, "text.color": "red", "pdf.fonttype": 3, "axes.grid": True}
        with mpl.rc_context(settings):
            assert made(f"b.{ending}") == first
    assert b"/FontFile2" in (tmp_path / "a.pdf").read_bytes()
    assert b"CreationDate" not in (tmp_path / "a.pdf").read_bytes()
    assert "<text" not in (tmp_path / "a.svg").read_text()


def test_a_notebook_shows_a_figure():
    picture, size = drawn("themes", report_of(2), 4.0)._repr_png_()

    assert picture.startswith(b"\x89PNG")
    assert size == {"width": 384}
