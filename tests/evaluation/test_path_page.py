"""Pages about topic paths: the advice, the curve and the tree."""

import json
import re
import shutil
from html.parser import HTMLParser
from itertools import pairwise

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_array

from resealing import edit_json, reseal_file
from run_contents import make_placeholder_runs
from sparsetopics.answers.themes import themes_of_path
from sparsetopics.base.errors import OptionError
from sparsetopics.cli.main import main
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.evaluation.report.model_subjects import topic_subject
from sparsetopics.evaluation.report.page import Report, render_page
from sparsetopics.evaluation.report.report import write_run_report
from sparsetopics.evaluation.report.topic_path import topic_path_section
from sparsetopics.evaluation.report.topic_tree import tree_of_path
from sparsetopics.evaluation.scoring.fixed_topics import topics_of_run
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import load_run, run_in_memory, save_run
from sparsetopics.runs.topic_path_files import (
    RungScore,
    Scores,
    TopicTree,
    TreeRung,
    TreeTopic,
    load_topic_path,
    write_topic_path,
)

SIZES = (8, 6, 4, 2)
PARENTS = ((0, 0, 1, 2, 3, 3, 4, 5), (0, 1, 1, 2, 3, 3), (0, 0, 1, 1))
WORDS = ("space", "nasa", "orbit", "shuttle", "moon", "launch", "earth")
HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img/src=x/onerror=alert(1)>",
    "\"'><svg/onload=alert(1)>",
    "'onmouseover='alert(1)",
    "{{7*7}}{%raw%}",
    "a\u2028b\u2029c",
    "\\u003c/script\\u003e&lt;&amp",
)
LARGEST_PAGE = 3_000_000  # bytes, of 200 topics
SCORED_ON = "12 held-out documents of heldout"


def tree_of(sizes=SIZES, parents=PARENTS, words=WORDS, n_words=5):
    """A tree whose topics have words in turned orders, the last two of which are telling."""

    def topic(number, parent):
        turned = words[number % len(words) :] + words[: number % len(words)]
        name, telling = ", ".join(turned[:3]), turned[n_words - 2 : n_words]
        return TreeTopic(1 / (number + 2), name, turned[:n_words], telling, parent)

    following = [*parents, [None] * sizes[-1]]
    return TopicTree(
        tuple(
            TreeRung(size, tuple(topic(number, parent) for number, parent in enumerate(own)))
            for size, own in zip(sizes, following, strict=True)
        )
    )


def scores_of(sizes=SIZES, recommended=4):
    """Scores that fall from the largest rung on, with the recommended one among the good ones."""
    rungs = [
        RungScore(size, 10 + place, -4 - place / 8, 0.25, -place / 8, place / 16)
        for place, size in enumerate(sizes)
    ]
    return Scores(tuple(rungs), SCORED_ON, 12, 120.0, recommended, recommended, sizes[0])


def unscored(sizes=SIZES):
    return Scores(tuple(RungScore(size, 10) for size in sizes))


@pytest.fixture
def save_path(tmp_path, model, vocabulary):
    """Write a topic path whose run of four topics is there, the only one that is read."""

    def save(name="path", scores=None, tree=None):
        folder = tmp_path / name
        (folder / "4").mkdir(parents=True)
        corpus = {"n_documents": 60, "fingerprint": "abc"}
        provenance = {"corpus": corpus, "options": {}, "seed": 7}
        trace = [{"lap": lap, "elbo_per_token": -4 + 0.1 * lap} for lap in (1, 2, 3)]
        save_run(folder / "4", run_in_memory("run", model, vocabulary, provenance, trace))
        make_placeholder_runs(folder, [rung.n_topics for rung in (scores or scores_of()).rungs])
        write_topic_path(folder, scores or scores_of(), tree or tree_of())
        return folder

    return save


@pytest.fixture
def documents(training_batch, vocabulary):
    parts = training_batch.word_counts, training_batch.word_ids, training_batch.indptr
    return Corpus.from_csr(csr_array(parts, shape=(60, len(vocabulary))), vocabulary.words)


def report(*arguments, status=0):
    result = CliRunner().invoke(main, ["report", *(str(argument) for argument in arguments)])
    assert result.exit_code == status, result.output
    return result


class Page(HTMLParser):
    """Elements with the names of their attributes, and text outside of scripts."""

    def __init__(self, source):
        super().__init__()
        self.source = source
        self.elements, self.pieces = [], []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, tuple(sorted(name for name, _ in attrs))))

    def handle_endtag(self, tag):
        self.elements.append((f"/{tag}", ()))

    def handle_data(self, data):
        if self.elements[-1:] and self.elements[-1][0] in ("script", "style"):
            return
        self.pieces.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.pieces))

    @property
    def tree_data(self):
        pattern = r'<script type="application/json" id="tree-data">(.*?)</script>'
        (text,) = re.findall(pattern, self.source, flags=re.DOTALL)
        assert not set(text) & set("<>&\u2028\u2029")
        return json.loads(text)


def page_of(folder, tmp_path, *options):
    report(folder, "--out", tmp_path / "r.html", "--overwrite", *options)
    return Page((tmp_path / "r.html").read_text(encoding="utf-8"))


def test_the_page_begins_with_the_advice_and_the_scores(save_path, tmp_path):
    page = page_of(save_path(), tmp_path)

    for shown in (
        "To predict 4 topics From 4 to 8 predict as well.",
        "4 is the smallest number that predicts nearly as well as the best",
        "More than 8 topics were not tried and may predict better.",
        "path (LDA) began with 8 topics, which were merged step by step into 2.",
        "trained on 60 documents",
        f"Each run was scored on {SCORED_ON}",
        "8 predicts as well −4.0000 best 10",
        "6 predicts as well −4.1250 −0.1250 ± 0.0625 11",
        "4 to predict −4.2500 −0.2500 ± 0.1250 12",
        "2 −4.3750 −0.3750 ± 0.1875 13",
        "This page shows the 4 topics of the run",
        "All 4 numbers as a table",
    ):
        assert shown in page.text
    names = ("path", "tree", "overview", "scores", "training")
    places = [page.source.index(f'<section id="{name}"') for name in names]
    assert places == sorted(places)
    table = page.source.index('<table class="rungs">')
    assert page.source.rindex("<details", 0, table) > page.source.rindex("</details>", 0, table)


def curve_of(page):
    start = page.source.index("<h2>How many topics")
    return re.search(r"<svg.*?</svg>", page.source[start:], flags=re.DOTALL).group()


def test_the_curve_has_a_tick_for_each_good_rung_in_colours_of_the_page(save_path, tmp_path):
    page = page_of(save_path(), tmp_path)

    curve = curve_of(page)
    labels = re.findall(r"<text[^>]*>(.*?)</text>", curve)
    assert [label for label in labels if label.isdecimal()] == ["8", "6", "4"]
    assert "number of topics" in labels
    assert "var(--series-0)" in curve
    assert re.findall(r"#[0-9a-f]{6}\b", curve) == []


def test_labels_of_close_rungs_are_left_out_but_not_the_recommended_one(save_path, tmp_path):
    sizes = tuple(range(60, 3, -1))
    parents = [[max(0, topic - 1) for topic in range(size)] for size in sizes[:-1]]
    folder = save_path(scores=scores_of(sizes), tree=tree_of(sizes, parents))

    page = page_of(folder, tmp_path)

    curve = curve_of(page)
    labels = re.findall(r"<text[^>]*>(\d+)</text>", curve)
    assert "4" in labels
    assert 8 < len(labels) < 18


def test_the_recommended_run_is_shown_as_on_its_own_page(
    save_path, tmp_path, documents, monkeypatch
):
    folder = save_path()
    monkeypatch.chdir(tmp_path)
    own = topic_subject(topics_of_run(load_run(folder / "4")), documents)
    section = topic_path_section(load_topic_path(folder))

    alone = render_page(Report("t", "Topic model", [own], "", "", "c", "c"))
    page = render_page(Report("t", "Topic path", [own], "", "", "c", "c", topic_path=section))

    for start, end in (('<section id="overview"', "</section>"), ("<h2>How training", "</footer>")):
        shown = page[page.index(start) :].partition(end)[0]
        assert len(shown) > 200
        assert shown in alone
    assert 'class="examples"' in page


@pytest.mark.parametrize(
    ("recommended", "low", "high", "sentence"),
    [
        (4, 4, 6, "To predict: 4 topics; from 4 to 6 predict as well."),
        (6, 6, 6, "To predict: 6 topics; no other number predicts as well."),
        (1, 1, 1_500, "To predict: 1 topic; from 1 to 1,500 predict as well."),
        (None, None, None, "No number of topics is recommended, because nothing was scored."),
    ],
)
def test_the_recommendation_is_a_sentence(recommended, low, high, sentence):
    rungs = (RungScore(recommended or 6, 1),)
    scores = Scores(rungs, SCORED_ON, 12, 120.0, recommended, low, high)

    assert scores.advice == sentence


@pytest.mark.parametrize(
    ("to_read", "empty", "sentence"),
    [
        (4, 0, "To read: 4 topics, which reach 77% of what 6 gain. To predict: 6 topics; "),
        (1, 0, "To read: 1 topic, which reaches 20% of what 6 gain. To predict: 6 topics; "),
        (6, 0, "To read and to predict: 6 topics; "),
        (6, 2, "To read and to predict: 4 topics, without the 2 empty of 6; "),
        (5, 0, "To predict: 6 topics; "),  # of no rung
    ],
)
def test_there_is_a_number_to_read_beside_the_one_to_predict(to_read, empty, sentence):
    shares = {6: 1.0, 4: 0.77, 1: 0.2}
    rungs = [RungScore(number, 1, share_of_gain=share) for number, share in shares.items()]
    rungs[0] = msgspec.structs.replace(rungs[0], empty_topics=empty)
    scores = Scores(tuple(rungs), SCORED_ON, 12, 120.0, 6, 4, 6, to_read)

    assert scores.advice == f"{sentence}from 4 to 6 predict as well."


@pytest.mark.parametrize(
    ("to_read", "share", "empty", "wanted"),
    [
        (2, 0.77, 0, "To read 2 topics They gain 77% of what 4 gain. "
         "To predict 4 topics From 4 to 8 predict as well."),
        (4, 1.0, 0, "To read and to predict 4 topics From 4 to 8 predict as well."),
        (4, 1.0, 1, "To read and to predict 3 topics Without 1 empty of 4. From 4 to 8"),
        (2, None, 0, "To predict 4 topics From 4 to 8 predict as well."),  # of an earlier release
    ],
)  # fmt: skip
def test_the_two_numbers_are_said_with_reasons(save_path, tmp_path, to_read, share, empty, wanted):
    scores = scores_of()
    rungs = [
        msgspec.structs.replace(rung, share_of_gain=share, empty_topics=empty)
        for rung in scores.rungs
    ]

    page = page_of(
        save_path(scores=msgspec.structs.replace(scores, rungs=tuple(rungs), to_read=to_read)),
        tmp_path,
    )

    assert wanted in page.text
    section = page.source[page.source.index('<section id="path"') :].partition("</section>")[0]
    assert ("<span>To read" in section) == ("To read" in wanted)


def test_the_page_shows_the_measures_of_each_rung(save_path, tmp_path):
    """Paths of earlier releases have none, and no columns of dashes."""
    scores = scores_of()
    old = page_of(save_path("old", scores), tmp_path)
    measures = {"share_of_gain": 0.5, "coherence": -0.125, "exclusivity": 0.25, "diversity": 0.75}
    rungs = [
        msgspec.structs.replace(rung, **measures, empty_topics=rung.n_topics // 6)
        for rung in scores.rungs
    ]

    new = page_of(save_path("new", msgspec.structs.replace(scores, rungs=tuple(rungs))), tmp_path)

    assert "6 predicts as well −4.1250 −0.1250 ± 0.0625 0.50 −0.125 0.250 0.750 1 11" in new.text
    assert "2 −4.3750 −0.3750 ± 0.1875 0.50 −0.125 0.250 0.750 0 13" in new.text
    assert "passed over" in new.text
    assert "NPMI exclusive" not in old.text


def test_without_scores_the_run_in_the_middle_is_shown(save_path, tmp_path):
    page = page_of(save_path(scores=unscored()), tmp_path)

    assert "No number of topics is recommended, because nothing was scored." in page.text
    assert "Below are the 4 topics of the run in the middle of the path." in page.text
    for absent in ("standard error", "log-likelihood", "number of topics</text>", "nan "):
        assert absent not in page.source.partition("</section>")[0]
    assert page.tree_data["marks"] == {}
    assert page.tree_data["cut"] == 4


def test_a_score_without_an_error_is_shown_with_a_dash(save_path, tmp_path):
    """Its error is not known if a single document was scored."""
    rungs = tuple(
        RungScore(size, 10, -4.0 - place, None, -float(place), None)
        for place, size in enumerate(SIZES)
    )
    scores = Scores(rungs, "1 held-out document", 1, 9.0, 8, 8, 8)
    folder = save_path(scores=scores)
    shutil.copytree(folder / "4", folder / "8", dirs_exist_ok=True)
    reseal_file(folder / "path.json")

    page = page_of(folder, tmp_path)

    assert "−1.0000 ± –" in page.text
    assert "nan" not in page.text


def test_the_tree_of_the_page_names_topics_of_the_run_and_is_cut_there(save_path, tmp_path):
    data = page_of(save_path(), tmp_path).tree_data

    assert (data["numbers"], data["cut"], data["marks"]) == ([8, 6, 4, 2], 4, {"to predict": 4})
    cut = [branch for branch in data["branches"] if branch[1] >= 4 >= branch[2]]
    assert [branch[3] for branch in cut] == [0, 1, 2, 3]
    assert cut[0][4:] == ["space, nasa, orbit", 0.5, ["shuttle", "moon", *WORDS[:3]]]
    # Topics 1 and 2 of 6 are branches that began with 8 topics: the run is nearer to 6.
    spans = [(parent, most, fewest) for parent, most, fewest, *_ in data["branches"]]
    assert spans == [
        *((None, 2, 2), (0, 6, 4), (1, 8, 8), (1, 8, 8), (0, 4, 4), (4, 8, 6), (4, 8, 6)),
        *((None, 2, 2), (7, 6, 4), (8, 8, 8), (8, 8, 8), (7, 4, 4), (11, 8, 6), (11, 8, 6)),
    ]


def test_themes_of_a_path_are_the_topics_of_a_smaller_rung():
    assert themes_of_path(tree_of(), 8, 4) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert themes_of_path(tree_of(), 6, 2) == [0, 0, 0, 1, 1, 1]
    assert themes_of_path(tree_of(), 4, 4) == [0, 1, 2, 3]


def test_hostile_words_add_no_element_and_no_attribute(save_path, tmp_path):
    found = page_of(save_path("hostile", tree=tree_of(words=HOSTILE)), tmp_path)
    wanted = page_of(save_path("harmless"), tmp_path)

    assert found.elements == wanted.elements
    assert not [names for _, names in found.elements if any(n.startswith("on") for n in names)]
    assert {word for branch in found.tree_data["branches"] for word in branch[6]} == set(HOSTILE)


def test_a_path_of_many_rungs_has_a_tree():
    """Nested calls have a limit, which the depth of the tree must not have."""
    sizes = range(600, 3, -1)
    parents = [[max(0, topic - 1) for topic in range(size)] for size in sizes[:-1]]

    found = tree_of_path(tree_of(sizes, parents), 4, {}, 4, {})

    assert len(found.branches) == 600 + 596
    parents = [branch.parent for branch in found.branches if branch.parent is not None]
    assert len(set(parents)) == 596
    assert all(parent < place for place, (parent, *_) in enumerate(found.branches) if parent)


def test_a_page_of_200_topics_is_small(tmp_path):
    """With long words, all of them different, on a path from 400 topics down."""
    sizes = (400, 300, 200, 150, 100, 70, 50, 30, 20, 15, 10, 7, 5)
    rng = np.random.default_rng(0)
    words = tuple(f"{'extraordinarily' * 2}{number:05}" for number in range(2_000))
    parents = [
        np.sort(np.r_[np.arange(fewer), rng.integers(fewer, size=more - fewer)]).tolist()
        for more, fewer in pairwise(sizes)
    ]
    tree = tree_of(sizes, parents, words, n_words=10)
    posterior = rng.gamma(0.05, 1.0, (200, len(words))) * 500 + 0.1
    posterior = posterior[np.argsort(-posterior.sum(axis=1), kind="stable")]
    model = TopicPosterior("lda", posterior, np.full(200, 0.01), 0.1)
    counts = csr_array(rng.poisson(0.01, (50, len(words))) + np.eye(50, len(words), dtype=int))
    corpus = Corpus.from_csr(counts, words)
    (tmp_path / "path" / "200").mkdir(parents=True)
    settings = {"corpus": {"n_documents": 50, "fingerprint": "f"}, "options": {}, "seed": 0}
    save_run(
        tmp_path / "path" / "200", run_in_memory("run", model, corpus.vocabulary, settings, [])
    )
    make_placeholder_runs(tmp_path / "path", sizes)
    write_topic_path(tmp_path / "path", scores_of(sizes, 200), tree)

    write_run_report(tmp_path / "r.html", [tmp_path / "path"])

    assert (tmp_path / "r.html").stat().st_size < LARGEST_PAGE


@pytest.mark.parametrize("damage", ["missing", "flipped", "orphan"])
def test_a_damaged_tree_is_refused_in_one_line(save_path, tmp_path, damage):
    folder = save_path()
    file = folder / "tree.json"
    if damage == "missing":
        file.unlink()
    elif damage == "flipped":
        file.write_bytes(file.read_bytes().replace(b"nasa", b"sana"))
    else:
        rungs = json.loads(file.read_text())["rungs"]
        rungs[0]["topics"][3]["parent"] = 6
        edit_json(file, rungs=rungs)
        reseal_file(folder / "path.json")

    result = report(folder, "--out", tmp_path / "r.html", status=1)

    assert "tree.json" in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "r.html").exists()


def test_wrong_things_are_refused_in_one_line(save_path, run_folder, tmp_path):
    folder = save_path()
    lost = save_path("lost")
    shutil.rmtree(lost / "4")
    for arguments, message in (
        ((folder, run_folder), "a topic path must be reported alone"),
        ((run_folder, folder), f"{folder}: a topic path must be reported alone"),
        ((folder, folder), "Name runs in it instead"),
        ((folder, "--corpus", folder), "expected a corpus"),
        ((lost,), "lost/4/model.json: the file is missing. All files of a path"),
    ):
        result = report(*arguments, "--out", tmp_path / "r.html", status=1)
        assert message in result.stderr, result.stderr
        assert result.stderr.count("\n") == 1
    assert not (tmp_path / "r.html").exists()


def test_names_are_those_of_the_run_in_detail(save_path, tmp_path):
    folder = save_path()
    topic = load_run(folder / "4").topics[2].id
    (tmp_path / "names.toml").write_text(f'{topic} = "Crime"')

    page = page_of(folder, tmp_path, "--names", tmp_path / "names.toml")

    named = [branch[3] for branch in page.tree_data["branches"] if branch[4] == "Crime"]
    assert named == [2]
    (tmp_path / "names.toml").write_text('bbbbbbbb = "a"')
    with pytest.raises(OptionError, match="bbbbbbbb: there is no topic 'bbbbbbbb'"):
        write_run_report(tmp_path / "other.html", [folder], names=tmp_path / "names.toml")
