"""The report: self-contained, repeatable, safe and complete."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from sparsetopics.base.errors import OutputError
from sparsetopics.base.outputs import output_file
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.evaluation.report.figures import trace_figure
from sparsetopics.evaluation.report.page import render_page, write_page
from sparsetopics.evaluation.report.report import scored_report
from sparsetopics.evaluation.scoring.fixed_topics import read_topics, topics_of_run
from sparsetopics.evaluation.scoring.topic_scores import score_topics
from sparsetopics.measures.paired import paired_difference
from sparsetopics.runs.run import load_run
from worlds.heldout_documents import HeldoutDocuments

SETTING = ("heldout-news", "training-news", 5)
VOID = {"meta", "br", "input", "img"}


class Balance(HTMLParser):
    """Fails on a tag closed out of turn; collects text and addresses."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.addresses, self.tags = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.addresses += [value for name, value in attrs if name in ("src", "href", "xlink:href")]
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.text.append(data)


def parsed(page):
    parser = Balance()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


@pytest.fixture
def card(run_folder, training_batch):
    heldout = HeldoutDocuments(training_batch, n_skipped=4, n_unknown_tokens=1234)
    return score_topics(topics_of_run(load_run(run_folder)), heldout, heldout)


@pytest.fixture
def matrix_card(tmp_path, model, vocabulary, training_batch):
    np.save(tmp_path / "mallet.npy", model.topic_word_mean)
    heldout = HeldoutDocuments(training_batch)
    topics = read_topics(tmp_path / "mallet.npy", vocabulary)
    return score_topics(topics, heldout, heldout)


def test_one_run_shows_its_numbers_topics_and_settings(card, model):
    text = re.sub(r"\s+", " ", " ".join(parsed(render_page(scored_report([card], *SETTING))).text))

    score = card.completion
    for shown in (
        f"−{-score.log_likelihood_per_token:.3f}",
        f"± {score.standard_error:.3f}",
        f"−{-score.unigram_log_likelihood_per_token:.3f}",
        f"{score.perplexity:,.0f}",
        "scored on 60 held-out documents of",
        "heldout-news",
        "training-news",
        "1,234 outside the training vocabulary",
        "4 with fewer than two known words",
        f"{model.weights[0]:.2%}",
        "ELBO per training token",
        "seed 5",
    ):
        assert shown in text
    assert "Side by side" not in text


def test_an_hdp_shows_how_it_came_to_its_number_of_topics(card, hdp_folder, training_batch):
    heldout = HeldoutDocuments(training_batch)
    hdp_card = score_topics(topics_of_run(load_run(hdp_folder)), heldout, heldout)

    page = render_page(scored_report([hdp_card], *SETTING))

    text = re.sub(r"\s+", " ", " ".join(parsed(page).text))
    for shown in (
        "hdp-run",
        "HDP, number learned",
        "number of topics",
        "collapsed criterion per training token",
        "model HDP, 4 topics trained on 60 documents",
        "γ, for the weights of topics 5",
        "passes over the data ELBO per training token criterion per training token",
        "3 −3.7000 −3.2000",
        "training 3 passes over the data, at most 100",
        "moves merges and births, accepted if they raise the collapsed criterion",
    ):
        assert shown in text
    assert "{" not in text  # no raw options
    both = " ".join(parsed(render_page(scored_report([card, hdp_card], *SETTING))).text)
    for shown in ("LDA", "HDP", "−3.7000", "−3.2000"):
        assert shown in both


def test_topics_are_counted_in_whole_numbers():
    figure = trace_figure([([1, 2, 3], [3, 5, 4])], "number of topics")

    assert set(re.findall(r">([\d.]+)</text>", figure)) == {"1", "2", "3", "4", "5"}


def test_a_number_that_never_changes_is_not_drawn(card):
    """LDA keeps its number of topics."""
    run = card.topics.run
    level = replace(run, trace=[{"lap": lap, "n_topics": 4} for lap in (1, 2, 3)])
    topics = replace(card.topics, run=level)

    page = render_page(scored_report([replace(card, topics=topics)], *SETTING))

    assert "<svg" not in page[page.index("How training went") :].partition("</section>")[0]


def test_the_page_asks_nothing_of_a_network(card, matrix_card):
    for page in (
        render_page(scored_report([card], *SETTING)),
        render_page(scored_report([card, matrix_card], *SETTING)),
    ):
        assert all(address.startswith("#") for address in parsed(page).addresses)
        assert "@import" not in page
        assert not re.search(r'url\((?!#|data:image/png;|"")', page)


def test_equal_input_gives_equal_bytes(card, tmp_path):
    write_page(output_file(tmp_path / "a.html", overwrite=False), scored_report([card], *SETTING))
    write_page(output_file(tmp_path / "b.html", overwrite=False), scored_report([card], *SETTING))

    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_several_models_stand_side_by_side(card, matrix_card):
    text = " ".join(parsed(render_page(scored_report([card, matrix_card], *SETTING))).text)

    assert "Comparison of 2 topic models" in text
    assert "Side by side" in text
    assert "topic-word matrix" in text
    assert text.count("mallet.npy") >= 4


def test_the_best_model_and_the_paired_differences_from_it_are_named(card, matrix_card):
    """The matrix has the topics of the run with another concentration: it scores differently."""
    both = [card, matrix_card]
    best, worse = sorted(both, key=lambda each: -each.completion.log_likelihood_per_token)
    difference = paired_difference(worse.heldout, best.heldout)

    page = render_page(scored_report(both, *SETTING))

    cell = '<td class="number">{}</td>'
    shown = f"−{-difference.mean:.4f} ± {difference.standard_error:.4f}"
    assert page.count(cell.format(shown)) == page.count(cell.format("best")) == 1
    assert "difference from the best, per token" in page
    assert "difference from" not in render_page(scored_report([card], *SETTING))


def test_scores_follow_the_overview_and_training_is_folded_at_the_end(hdp_folder, training_batch):
    heldout = HeldoutDocuments(training_batch)
    card = score_topics(topics_of_run(load_run(hdp_folder)), heldout, heldout)

    page = render_page(scored_report([card], *SETTING))

    parts = (
        '<section id="overview"',
        '<section id="scores"',
        'id="run-0-topic-0"',
        "How it was scored",
    )
    places = [page.index(part) for part in (*parts, '<section id="training"')]
    assert places == sorted(places)
    fold = page[places[-1] :].partition("</section>")[0]
    assert fold.startswith('<section id="training">\n<details class="fold"><summary><h2>How train')
    assert fold.count("<svg") == 3  # two bounds and the number of topics


def test_numbers_have_minus_signs(card, matrix_card):
    silent = replace(card, topic_npmi=-np.abs(card.topic_npmi) - 0.1)
    page = render_page(scored_report([silent, matrix_card], *SETTING))

    text = " ".join(parsed(page).text)
    assert "−" in text
    assert re.findall(r"(?<![\w.])-\d\S*", text) == []


def test_more_models_than_colours_still_draw(card):
    page = render_page(scored_report([card] * 8, *SETTING))

    assert "var(--series-5)" in page
    assert "var(--series-6)" not in page


def test_words_cannot_inject_markup(card, vocabulary):
    hostile_words = ("</script><script>alert(1)</script>", '" onclick="x', "{{ 7 * 7 }}")
    words = (*hostile_words, *vocabulary.words[3:])
    renamed = replace(vocabulary, words=words)
    run = replace(card.topics.run, vocabulary=renamed)
    hostile = replace(card.topics, vocabulary=renamed, run=run, name="<b>run</b>")

    page = render_page(scored_report([replace(card, topics=hostile)] * 2, "<i>h", *SETTING[1:]))

    found = parsed(page)
    harmless = parsed(render_page(scored_report([card] * 2, *SETTING)))
    assert found.tags.count("script") == harmless.tags.count("script")  # data and code, all ours
    assert "i" not in found.tags
    for markup in ("<script>alert", "<b>run", "<i>h", 'onclick="'):
        assert markup not in page
    assert "&lt;script&gt;" in page
    shown = browser_data_of(page)["runs"][0]["words"]
    assert set(hostile_words) <= set(shown)


def browser_data_of(page):
    (text,) = re.findall(r'<script type="application/json" id="report-data">(.*?)</script>', page)
    return json.loads(text)


def test_figures_hold_no_fixed_colours(card):
    page = render_page(scored_report([card] * 2, *SETTING))
    figures = "".join(re.findall(r"<svg.*?</svg>", page, re.DOTALL))

    assert set(re.findall(r"#[0-9a-f]{6}\b", figures)) == set()
    assert "var(--ink)" in figures


def test_undefined_numbers_show_as_a_dash(card):
    lonely = card.completion._replace(standard_error=float("nan"))
    silent = replace(card, completion=lonely, topic_npmi=np.full_like(card.topic_npmi, np.nan))

    for cards in ([silent], [silent, card]):
        assert "nan" not in " ".join(parsed(render_page(scored_report(cards, *SETTING))).text)


def test_an_existing_page_is_kept(card, tmp_path):
    (tmp_path / "page.html").write_text("mine")

    with pytest.raises(OutputError, match="--overwrite"):
        write_page(
            output_file(tmp_path / "page.html", overwrite=False), scored_report([card], *SETTING)
        )

    assert (tmp_path / "page.html").read_text() == "mine"


def test_a_matrix_of_another_width_is_refused(tmp_path):
    np.save(tmp_path / "t.npy", np.ones((2, 3)))
    two_words = Vocabulary(("a", "b"), np.array([1, 1]), np.array([1, 1]))

    with pytest.raises(ValueError, match=r"found \(2, 3\)"):
        read_topics(tmp_path / "t.npy", two_words)
