"""Groups and time on a page: the numbers of ``prevalence``, as a heat map, lines and a table."""

import json
import re
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser

import numpy as np
import pytest
from click.testing import CliRunner

from browser import told_by
from sparsetopics import LDA
from sparsetopics.answers.prevalence import Prevalence
from sparsetopics.cli.main import main
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.grouping import Grouping, GroupKey
from sparsetopics.evaluation.report.groups import (
    MOST_GROUPS,
    MOST_LINES,
    MOST_NUMBERS,
    MOST_TRENDS,
    group_section,
    heat_map,
    trends,
)
from sparsetopics.evaluation.report.model_subjects import topic_subject
from sparsetopics.evaluation.report.page import Report, render_page
from sparsetopics.evaluation.report.report import write_run_report
from sparsetopics.evaluation.scoring.fixed_topics import topics_of_run
from sparsetopics.measures.prevalence import GroupMeans, variance_of_means
from sparsetopics.runs.run import load_run

WORDS = {"sport": "ball goal team match", "law": "court judge appeal crime"}
LARGEST_PAGE = 5_000_000  # bytes
HOSTILE = "</td><img src=x onerror=document.title='{}'>\"'>"


def called(*arguments, status=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    return result


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Corpora of the same texts, with names and with dates as labels, and a run of two topics."""
    folder = tmp_path_factory.mktemp("world")
    rng = np.random.default_rng(0)
    texts = []
    for number in range(120):
        own, other = list(WORDS)[:: 1 if number % 2 == 0 else -1]
        texts.append([*rng.choice(WORDS[own].split(), 16), *rng.choice(WORDS[other].split(), 4)])
    labels = {
        "named": [None if number == 7 else "AB"[number % 2] for number in range(120)],
        "dated": [f"2024-0{1 + number * 6 // 120}-1{number % 10}" for number in range(120)],
        "hostile": [f"{HOSTILE}{number % 2}" for number in range(120)],
    }
    for name, own in labels.items():
        rows = zip(texts, own, strict=True)
        lines = [json.dumps({"text": " ".join(text), "label": label}) for text, label in rows]
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
        called("ingest", folder / f"{name}.jsonl", "--out", folder / name, "--max-df", 1.0)
    train = ("train", folder / "named", "--topics", 2, "--laps", 5, "--seed", 1, "--quiet")
    called(*train, "--out", folder / "run")
    return folder


class HeatMapOf(HTMLParser):
    """The heads, rows, titles and widths of colour of the heat map of a page."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.titles, self.heats = [], [], []
        self.feed(page[page.index('<table class="heat">') : page.index("</table>")])

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "td" and "title" in attributes:
            self.titles.append(attributes["title"])
            self.heats.append(attributes["style"])

    def handle_data(self, data):
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data.rstrip("\n")


def test_the_heat_map_has_the_numbers_of_the_command(world, tmp_path):
    called("report", world / "run", "--corpus", world / "named", "--by", "label",
           "--out", tmp_path / "r.html")  # fmt: skip
    printed = called("prevalence", world / "run", world / "named", "--by", "label", "--json")
    records = json.loads(printed.stdout)

    page = (tmp_path / "r.html").read_text()
    found = HeatMapOf(page)
    assert found.rows[0] == ["topic", "A", "B"]
    assert [cell for row in found.rows[1:3] for cell in row[1:]] == [
        f"{100 * record['mean']:.1f}" for record in records
    ]
    assert found.rows[3] == ["documents", "60", "59"]
    assert found.rows[1][0] == f"0 {records[0]['name']}"
    words = ["; " + " ".join(each["words"]) if each["words"] else "" for each in records]
    assert found.titles == [
        f"{each['group']}: {100 * each['low']:.1f} to {100 * each['high']:.1f}{own}"
        for each, own in zip(records, words, strict=True)
    ]
    assert found.heats.count("--heat: 100%") == 2  # the largest of each row
    assert "1 document without a value left out." in page
    headings = re.findall(r"<h2>(.*?)</h2>", page)
    assert headings == ["Topics", "Groups", "How good the topics are", "How training went"]
    assert "Topics over label" not in page


def test_periods_have_lines_which_are_also_said_in_words(world, tmp_path):
    write_run_report(tmp_path / "r.html", [world / "run"], world / "dated", over="label:month")

    page = (tmp_path / "r.html").read_text()
    assert HeatMapOf(page).rows[0][1:] == [f"2024-0{month}" for month in range(1, 7)]
    said = re.findall(r'role="img" aria-label="(.*?)"', page)
    assert len(said) == 2
    numbers = r"[\d.]+ % \([\d.]+ to [\d.]+\)"
    assert re.fullmatch(f"2024-01: {numbers}; 2024-06: {numbers}", said[0])
    part = page[page.index("Topics over label") : page.index("How good")]
    figures = re.findall(r"<svg.*?</svg>", part, flags=re.DOTALL)
    assert len(figures) == 2
    for figure in figures:
        assert re.findall(r"(2024-\d\d)</text>", figure) == ["2024-01", "2024-03", "2024-04",
                                                             "2024-06"]  # fmt: skip
        assert "var(--series-0)" in figure
        assert re.findall(r"#[0-9a-f]{6}\b", figure) == []


def drawn(n_groups, n_periods, n_topics=3, change=0.0, n_documents=50):
    """Estimates for groups by months, the shares of topic 1 rising by ``change`` on the way."""
    over = "date:month" if n_periods else None
    grouping = replace(Grouping.parse(None, None), by="section") if n_groups else Grouping()
    if over:
        grouping = replace(grouping, over=Grouping.parse(None, "label:month").over)
    months = [date(1990 + n // 12, n % 12 + 1, 1) for n in range(n_periods)] or [None]
    names = [f"group {n:03}" for n in range(n_groups)] or [None]
    keys = [GroupKey(name, month) for name in names for month in months]
    place = np.tile(np.linspace(0, 1, len(months)), len(names))
    mean = np.full((len(keys), n_topics), 0.2)
    mean[:, 1] += change * place
    counts = np.full(len(keys), n_documents) + np.arange(len(keys))
    error = np.full(mean.shape, 0.02)
    means = GroupMeans(counts, mean, error, np.zeros_like(mean))
    words = [[["a", "b"]] * n_topics] * len(keys)
    return Prevalence(grouping, np.arange(n_topics), keys, means, words, 0)


NAMES = [f"topic {n}" for n in range(250)]


def test_the_largest_groups_are_drawn_and_the_others_counted():
    rows, left_out = heat_map(drawn(60, 0, n_topics=250), NAMES)

    assert [number.group for number in rows[0]] == [f"group {n:03}" for n in range(20, 60)]
    assert {len(row) for row in rows} == {MOST_GROUPS}
    assert left_out == "Not drawn: 20 smaller groups and 50 lighter topics."


def test_the_latest_periods_are_drawn():
    rows, left_out = heat_map(drawn(0, 41), NAMES)

    assert (rows[0][0].group, rows[0][-1].group) == ("1990-02", "1993-05")
    assert left_out == "Not drawn: 1 earlier month."


def test_the_topics_that_change_most_come_first_with_a_line_for_each_large_group():
    found = trends(drawn(9, 6, n_topics=30, change=0.3), NAMES)

    assert found.panels[0].topic == 1
    assert len(found.panels) == MOST_TRENDS
    assert list(found.legend) == [f"group {n:03}" for n in range(3, 9)]
    assert found.left_out == "Without lines: 3 smaller groups."
    assert all(f"var(--series-{n})" in found.panels[0].figure for n in range(MOST_LINES))
    assert found.panels[0].said.startswith("group 003 1990-01: 20.0 % (")
    assert len(found.numbers) == MOST_TRENDS * MOST_LINES * 6


def test_bins_of_numbers_are_called_so():
    found = drawn(0, 41)
    keys = [GroupKey(None, 10.0 * n) for n in range(41)]
    grouping = replace(found.grouping, over=Grouping.parse(None, "age:10").over)
    found = found._replace(groups=keys, grouping=grouping)

    section = group_section(found, found, NAMES)

    assert (section.title, section.over, section.noun) == ("Time", "age", "bin")
    assert (section.heat_map[0][0].group, section.left_out) == (
        "10–20",
        "Not drawn: 1 lower bin.",
    )
    labels = re.findall(r">([^<]*)</text>", section.trends.panels[0].figure)
    assert {"0–10", "400–410"} <= set(labels)


def test_an_interval_that_is_not_known_is_a_dash():
    found = drawn(2, 3)
    unknown = found.means.standard_error * np.nan
    found = found._replace(means=found.means._replace(standard_error=unknown))

    section = group_section(found, found, NAMES)

    assert {number.interval for row in section.heat_map for number in row} == {"–"}
    assert "nan" not in section.trends.panels[0].figure.lower()


def test_the_variance_of_means_has_that_of_estimates_taken_out():
    """Its mean over many draws is the variance of the true means."""
    rng = np.random.default_rng(0)
    n_documents = np.array([40, 60, 100, 1])
    true = np.array([[0.1, 0.3], [0.2, 0.3], [0.4, 0.3], [0.9, 0.9]])
    error = rng.uniform(0.05, 0.2, true.shape)
    share = n_documents[:3, None] / 200
    wanted = (share * (true[:3] - (share * true[:3]).sum(axis=0)) ** 2).sum(axis=0)

    draws = [
        variance_of_means(
            GroupMeans(n_documents, true + error * rng.normal(size=true.shape), error, error),
            np.arange(4),
        )
        for _ in range(20_000)
    ]

    np.testing.assert_allclose(np.mean(draws, axis=0), wanted, atol=4 * np.std(draws) / 20_000**0.5)
    assert wanted[1] == pytest.approx(0.0)
    one = GroupMeans(n_documents, true, error, error)
    assert variance_of_means(one, np.array([3, 0])).tolist() == [0.0, 0.0]


def test_a_page_of_200_topics_and_many_groups_is_small(world, tmp_path):
    run = load_run(world / "run")
    subject = topic_subject(topics_of_run(run))
    groups = drawn(60, 0, n_topics=200)
    section = group_section(groups, drawn(60, 100, n_topics=200, change=0.1), NAMES)

    page = render_page(Report("Topic model", [subject], groups=section))

    assert len(page.encode()) < LARGEST_PAGE / 2  # the other half is for words and examples
    assert f"These are the first {MOST_NUMBERS:,} of 8,000 rows." in page


def test_python_writes_the_same_section(world, tmp_path):
    corpus = Corpus.open(world / "named")
    model = LDA(2, max_iter=3).fit(corpus)
    model.save(tmp_path / "run")

    model.report(tmp_path / "a.html", corpus=corpus, by="label")

    write_run_report(tmp_path / "b.html", [tmp_path / "run"], world / "named", by="label")
    one, other = (HeatMapOf((tmp_path / f"{name}.html").read_text()) for name in "ab")
    assert (one.rows, one.titles) == (other.rows, other.titles)


def test_wrong_things_are_refused_in_one_line(world, tmp_path):
    run, corpus, out = world / "run", world / "named", tmp_path / "r.html"
    train = ("train", corpus, "--model", "mixture", "--topics", 2, "--likelihood", "multinomial")
    called(*train, "--laps", 2, "--quiet", "--out", tmp_path / "mixture")
    for arguments, message in (
        ((run, "--by", "label"), "--by: needs --corpus. It has the documents to divide."),
        ((run, "--over", "label:month"), "--over: needs --corpus"),
        (
            (run, run, "--corpus", corpus, "--by", "label"),
            "topics of one run, but 2 runs are given",
        ),
        ((run, "--corpus", corpus, "--by", "place"), "the corpus has no field 'place'"),
        ((run, "--corpus", corpus, "--over", "label:month"), "expected dates"),
        ((tmp_path / "mixture", "--corpus", corpus, "--by", "label"), "is a mixture"),
    ):
        result = called("report", *arguments, "--out", out, status=1)
        assert message in result.stderr, result.stderr
        assert result.stderr.count("\n") == 1
    assert not out.exists()


PROBE = """
document.title = JSON.stringify({
  heads: [...document.querySelectorAll(".heat thead span")].map((each) => each.textContent),
  titles: [...document.querySelectorAll(".heat td[title]")].map((each) => each.title),
  topic: document.querySelector(".heat tbody a").textContent,
  colours: [...document.querySelectorAll(".heat tbody td")].map(
    (each) => getComputedStyle(each).backgroundColor,
  ),
  images: document.images.length,
  handlers: document.querySelectorAll("[onerror]").length,
});
"""


def test_a_browser_takes_names_of_groups_for_text(world, tmp_path):
    names = tmp_path / "names.toml"
    names.write_text(f"{load_run(world / 'run').topics[0].id} = {json.dumps(HOSTILE)}")
    write_run_report(
        tmp_path / "r.html", [world / "run"], world / "hostile", by="label", names=names
    )

    told = told_by((tmp_path / "r.html").read_text(), PROBE, tmp_path)

    assert told["heads"] == [f"{HOSTILE}0", f"{HOSTILE}1"]
    assert all(title.startswith(HOSTILE) for title in told["titles"])
    assert told["topic"] == f"0 {HOSTILE}"
    assert (told["images"], told["handlers"]) == (0, 0)
    assert len(set(told["colours"])) > 1
