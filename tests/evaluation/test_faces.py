"""One structure, three faces: HTML, JSON and Markdown say the same, and read no data as markup."""

import json
import math
import re
from dataclasses import replace
from datetime import date
from html import escape, unescape

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from sparsetopics import LDA
from sparsetopics.base.errors import OptionError
from sparsetopics.base.outputs import output_file
from sparsetopics.cli.main import main
from sparsetopics.corpora.corpus import Corpus, VectorCorpus
from sparsetopics.corpora.grouping import Grouping, GroupKey
from sparsetopics.evaluation.report.division import Division
from sparsetopics.evaluation.report.markdown import md
from sparsetopics.evaluation.report.model_subjects import mixture_subject
from sparsetopics.evaluation.report.page import FACES, render_page, write_page
from sparsetopics.evaluation.report.report import run_report, scored_report, write_run_report
from sparsetopics.evaluation.report.report_content import Report
from sparsetopics.evaluation.report.report_record import record_of
from sparsetopics.evaluation.scoring.fixed_topics import topics_of_run
from sparsetopics.evaluation.scoring.topic_scores import score_topics
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.table import PAGE_EXTENSIONS
from sparsetopics.runs.run import load_run, run_in_memory, save_run
from worlds.clumped_mixtures import draw_clumps, mixture_of, write_mixture
from worlds.heldout_documents import HeldoutDocuments
from worlds.reported_changes import changes_of

HARMLESS = tuple(f"word{letter}" for letter in "abcdefghijkl")
HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img/src=x/onerror=alert(1)>",
    "[a](javascript:alert(1))",
    "![a](http://a.example/b.png)",
    "**a**__b__~~c~~",
    "`code`$math$",
    "|---|",
    "https://a.example/",
    "a\u2028b\u2029#c",
    "{{7*7}}{%raw%}",
    "&lt;&#60;&amp",
    "-+\\\\1.",
)
TABLE = "| a |\n|---|\n| x |\n"
TITLE = "<b>A</b> | *title* `of` [all](x)"


def made_run(strings, folder):
    """Write a run; return its corpus, whose words, ids, labels, groups and texts are strings."""
    texts = [" ".join(np.random.default_rng(n).choice(strings, 30)) for n in range(96)]
    texts = [f"{text} {' '.join(strings)}" for text in texts]
    columns = {
        "id": [f"{strings[n % 12]}{n}" for n in range(96)],
        "label": [strings[n % 3] for n in range(96)],
        "text": texts,
        strings[3]: [strings[4 + n % 3] for n in range(96)],
        "year": [2000 + n // 32 for n in range(96)],
    }
    keep = ["text", strings[3], "year"]
    corpus = Corpus.from_table(
        pa.table(columns), token_pattern="[^ \u2028\u2029]+", lowercase=False, keep=keep
    )
    topics = np.random.default_rng(0).gamma(0.5, 1.0, (6, len(corpus.vocabulary.words))) + 0.1
    model = TopicPosterior("lda", 50 * topics, np.full(6, 0.5), 0.1)
    settings = {"corpus": {"n_documents": 96, "path": "x/news"}, "options": {}, "seed": 7}
    folder.mkdir()
    save_run(
        folder,
        run_in_memory(
            "run", model, corpus.vocabulary, settings, [{"lap": 1, "elbo_per_token": -3.0}]
        ),
    )
    return corpus


def made_report(strings, folder, title=None):
    """A report with all parts: groups, time, texts and a tree."""
    corpus = made_run(strings, folder)
    grouping = Grouping(by=strings[3], over=Grouping.parse(None, "year:1").over)
    return run_report([load_run(folder)], corpus, "news", grouping=grouping, title=title)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return made_report(HARMLESS, tmp_path_factory.mktemp("runs") / "run")


def test_json_holds_what_the_page_holds(report):
    record = json.loads(FACES[".json"](report))

    overview, themes = record["subjects"][0]["overview"], report.overview.themes
    assert list(record)[:3] == ["version", "title", "kind"]
    assert record["title"] == "news"
    assert [own["row"]["name"] for own in overview["themes"]] == [t.row.name for t in themes]
    assert [own["topics"] for own in overview["themes"]] == [list(t.topics) for t in themes]
    names = [branch["name"] for branch in overview["tree"]["branches"]]
    assert names == [branch.name for branch in report.overview.tree.branches]
    assert overview["tree"]["cut"] == report.overview.tree.cut
    assert record["division"]["periods"] == ["2000", "2001", "2002"]
    mean = np.array(record["division"]["mean"], float)  # null is NaN
    np.testing.assert_allclose(mean, report.division.mean, rtol=1e-5)
    assert record["division"]["n_documents"] == report.division.n_documents.tolist()
    page = render_page(report)
    assert all(escape(own["row"]["name"]) in page for own in overview["themes"])


def test_json_has_the_periods_of_dates():
    periods = (GroupKey("crime", date(2020, 2, 1)), GroupKey(None, 2020.0))

    assert record_of(periods) == [
        {"name": "crime", "start": "2020-02-01"},
        {"name": None, "start": 2020.0},
    ]


def test_json_leaves_out_what_only_scripts_read(report):
    own = json.loads(FACES[".json"](report))["subjects"][0]

    assert not {"words", "heldout"} & set(own)
    assert "relevant" not in own["topics"][0]
    assert own["score"] is None


@pytest.mark.parametrize("ending", FACES)
def test_equal_reports_give_equal_bytes(ending, report, tmp_path):
    again = made_report(HARMLESS, tmp_path / "run")
    for name, page in (("a", report), ("b", again)):
        page = replace(page, subjects=[replace(page.subjects[0], path="run")])
        write_page(output_file(tmp_path / f"{name}{ending}", overwrite=False), page)

    written = (tmp_path / f"a{ending}").read_bytes()
    assert written == (tmp_path / f"b{ending}").read_bytes()
    assert b"\r" not in written


def test_unknown_numbers_are_null():
    values = np.array([[math.nan, math.inf], [0.123456789, -0.0]])

    assert record_of(values) == [[None, None], [0.123457, 0.0]]
    assert record_of({"a": (np.float32(0.5), np.int64(3), None, True)}) == {
        "a": [0.5, 3, None, True]
    }


@pytest.mark.parametrize(("others", "said"), [([5], "1 topic"), ([4, 5], "2 topics")])
def test_themes_that_changed_less_are_counted(report, monkeypatch, others, said):
    monkeypatch.setattr(Division, "trends", property(lambda _: {"others": others}))

    assert f"<summary>{said} that changed less</summary>" in FACES[".html"](report)


def test_markdown_has_the_parts_of_the_page_in_its_order(report):
    text = FACES[".md"](report)

    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    assert heads == ["news", "Topics", "Over year", "By wordd", "Topics", "Scores", "Training"]
    rows = [line for line in text.splitlines() if line.startswith("|")]
    for theme in report.overview.themes:
        assert any(row.startswith(f"| {theme.row.name} |") for row in rows)
    assert "Change in percentage points from 2000 to 2002" in text
    time, groups = text.split("## Over year")[1].split("## By wordd")
    changes = re.findall(r"^\| .* to .*\|$", time, re.MULTILINE)
    assert len(changes) == len(report.overview.themes)
    assert any(theme.row.name in groups.split("## Topics")[0] for theme in report.overview.themes)


def rendered(text):
    """The HTML that a renderer makes of Markdown with tables, raw HTML and strikethrough."""
    markdown_it = pytest.importorskip("markdown_it")
    return markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)


def tags(html):
    return re.findall(r"</?[a-z0-9]+[^>]*>", html)


def test_hostile_strings_add_nothing_to_markdown(tmp_path):
    page = made_report(HOSTILE, tmp_path / "hostile", TITLE)
    html = rendered(FACES[".md"](replace(page, changes=changes_of(HOSTILE))))
    page = made_report(HARMLESS, tmp_path / "harmless", "a")
    wanted = rendered(FACES[".md"](replace(page, changes=changes_of(HARMLESS))))

    kinds = {"h1", "h2", "ul", "li", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    assert {re.sub(r"[</]*([a-z0-9]+).*", r"\1", tag) for tag in tags(html)} == kinds
    assert tags(html)[:3] == ["<h1>", "</h1>", "<ul>"]
    assert html.count("<table>") == wanted.count("<table>")
    shown = unescape(re.sub(r"<[^>]*>", "", html))
    for string in (TITLE, *HOSTILE):
        assert " ".join(string.split()) in shown


@given(st.text())
@example("1. a")
@example("\\|")
@example("\n# a\r\n\n    code")
@example("@a a@b.c www.a.b ftp://a")
@example("a  \nb\\\nc")
def test_no_text_means_anything_to_markdown(text):
    inert = md(text)

    assert inert.splitlines() in ([], [inert])
    left = re.sub(r"\\[!-/:-@\[-`{-~]|&(amp|lt|gt);", "", inert)
    assert not set(left) & set("\\`*_{}[]()#!|<>&~$") or re.fullmatch(r"[−\d.,% ]+", left)
    assert tags(rendered(f"| a |\n|---|\n| {inert} |\n")) == tags(rendered(TABLE))
    assert tags(rendered(f"- x {inert}")) == ["<ul>", "<li>", "</li>", "</ul>"]


def test_scored_models_stand_side_by_side(run_folder, hdp_folder, training_batch):
    heldout = HeldoutDocuments(training_batch)
    runs = [topics_of_run(load_run(folder)) for folder in (run_folder, hdp_folder)]
    cards = [score_topics(run, heldout, heldout) for run in runs]
    page = scored_report(cards, "a|b", "training", 5)

    text, record = FACES[".md"](page), json.loads(FACES[".json"](page))
    assert text.startswith("# Comparison of 2 topic models\n")
    assert "of **a\\|b**" in text
    assert rendered(text).count("<table>") == 3  # of scores, and of the topics of each
    assert "<th>difference from best</th>" in rendered(text)
    score = page.subjects[0].score
    assert record["subjects"][0]["score"]["mean"] == pytest.approx(score.mean, abs=1e-4)


def test_mixtures_of_vectors_have_all_faces(tmp_path):
    clumps = draw_clumps(0)
    write_mixture(tmp_path / "run", mixture_of(clumps, "gaussian"))
    subject = mixture_subject(load_run(tmp_path / "run"), VectorCorpus.from_array(clumps.values))
    page = Report("Mixture", "Mixture", [subject], examples_corpus="c")

    record = json.loads(FACES[".json"](page))["subjects"][0]
    assert [row["number"] for row in record["components"]] == [
        row.number for row in page.subjects[0].components
    ]
    assert "pictures" not in record["components"][0]
    html = rendered(FACES[".md"](page))
    assert "<h2>Components</h2>" in html
    assert html.count("<table>") == 1


def test_the_title_is_on_all_faces(tmp_path):
    made_run(HARMLESS, tmp_path / "run")
    for ending in FACES:
        write_run_report(tmp_path / f"r{ending}", [tmp_path / "run"], title=TITLE)

    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    for element in ("title", "h1"):
        found = re.findall(f"<{element}>(.*?)</{element}>", page)
        assert {unescape(own) for own in found} == {TITLE}
        assert "<b>A" not in "".join(found)
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["title"] == TITLE
    first = (tmp_path / "r.md").read_text(encoding="utf-8").splitlines()[0]
    assert unescape(re.sub(r"<[^>]*>", "", rendered(first))).strip() == TITLE


def test_the_title_is_the_name_of_the_corpus_or_of_a_comparison(tmp_path):
    for name in ("one", "two"):
        made_run(HARMLESS, tmp_path / name)
    runs = [load_run(tmp_path / name) for name in ("one", "two")]

    assert run_report(runs[:1]).title == "news"
    assert run_report(runs).title == "Comparison of 2 topic models"
    assert run_report(runs, title="Both").title == "Both"


@pytest.mark.parametrize(
    ("title", "problem"),
    [
        ("", "must not be empty"),
        (" \t", "must not be empty"),
        ("a" * 201, "has at most 200 characters, but this has 201"),
        ("a\nb", r"must be printable, but is 'a\nb'"),
        ("\x1b[31m", r"must be printable, but is '\x1b[31m'"),
    ],
)
def test_titles_that_cannot_be_shown_are_refused(title, problem, tmp_path):
    with pytest.raises(OptionError, match=re.escape(problem)):
        write_run_report(tmp_path / "r.html", [tmp_path / "run"], title=title)


def test_other_endings_are_refused(tmp_path):
    made_run(HARMLESS, tmp_path / "run")
    message = "must end in .html, .htm, .json or .md, but is r.txt"

    with pytest.raises(OptionError, match=re.escape(message)):
        write_run_report(tmp_path / "r.txt", [tmp_path / "run"])
    assert not (tmp_path / "r.txt").exists()
    result = CliRunner().invoke(main, ["report", str(tmp_path / "run"), "--out", "r.txt"])
    assert result.output == f"Error: --out: {message}.\n"
    assert set(PAGE_EXTENSIONS) == set(FACES)


def test_estimators_write_all_faces(tmp_path):
    corpus = Corpus.from_texts([f"cat dog owl number {n % 3}" for n in range(12)], min_df=1)
    model = LDA(2, max_iter=2, random_state=0).fit(corpus)
    for ending in FACES:
        model.report(tmp_path / f"r{ending}", corpus=corpus, title="Animals")

    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["title"] == "Animals"
    assert (tmp_path / "r.md").read_text(encoding="utf-8").startswith("# Animals\n")
    with pytest.raises(OptionError, match="title"):
        model.report(tmp_path / "other.html", title="")
    with pytest.raises(OptionError, match=re.escape(".md")):
        model.report(tmp_path / "r.txt")
