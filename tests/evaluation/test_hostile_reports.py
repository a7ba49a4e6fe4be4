"""Pages about a corpus whose words, names and labels are markup: all of it is shown, none is read.

A page of hostile strings must have the elements and attributes that one of harmless strings has.
"""

import json
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest

from browser import told_by
from sparsetopics import LDA
from sparsetopics.answers.prevalence import prevalence
from sparsetopics.corpora.corpus import Corpus, VectorCorpus
from sparsetopics.corpora.grouping import Grouping, GroupKey, Over
from sparsetopics.evaluation.report.groups import group_section
from sparsetopics.evaluation.report.model_subjects import mixture_subject, topic_subject
from sparsetopics.evaluation.report.page import Report, render_page
from sparsetopics.evaluation.scoring.fixed_topics import topics_of_run
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import load_run, save_run
from worlds.clumped_mixtures import draw_clumps, mixture_of, write_mixture

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img/src=x/onerror=alert(1)>",
    "\"'><svg/onload=alert(1)>",
    "'onmouseover='alert(1)",
    "javascript:alert(1)",
    "]]>--><!--<b>",
    "</style></svg></title></textarea>",
    "a\u2028b\u2029c",
    "{{7*7}}{%raw%}",
    "&lt;&#60;&amp",
    "\\u003c/script\\u003e",
    "\x00\x1b[31m\ufffe",
)
HARMLESS = tuple(f"word{letter}" for letter in "abcdefghijkl")


class Structure(HTMLParser):
    """Elements with the names of their attributes, what is inside scripts, and what is shown."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.scripts, self.shown, self.addresses = [], [], [], []
        self._is_script = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, tuple(sorted(name for name, _ in attributes))))
        self.addresses += [value for name, value in attributes if name in ("href", "src")]
        self._is_script = tag in ("script", "style")
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.elements.append((f"/{tag}", ()))
        self._is_script = False

    def handle_comment(self, data):
        self.elements.append(("comment", ()))

    def handle_data(self, data):
        if self._is_script and self.scripts:
            self.scripts[-1] += data
        else:
            self.shown.append(data)


def topics_page(strings, folder):
    """A topic model of the strings as words, with documents that are called by them, too."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(strings, 30)) for _ in strings]
    table = pa.table({"id": list(strings), "label": list(strings), "text": [*texts]})
    corpus = Corpus.from_table(table, token_pattern="[^ ]+", lowercase=False)
    assert set(corpus.vocabulary.words) == set(strings)
    topics = rng.gamma(1.0, 1.0, (4, len(strings))) + 0.1
    model = TopicPosterior("lda", topics, np.full(4, 0.5), 0.1)
    settings = {
        "corpus": {"n_documents": 12, "path": f"x/{strings[0].replace('/', '-')}"},
        "options": {"start": strings[1], "moves": {"names": list(strings[:3])}},
        "seed": 7,
    }
    folder.mkdir()
    save_run(folder, model, corpus.vocabulary, settings, [{"lap": 1, "elbo_per_token": -3.0}])
    subject = topic_subject(topics_of_run(load_run(folder)), corpus)
    subject = replace(subject, path=strings[2].replace("/", "-"))
    return render_page(Report("Topic model", [subject], strings[3], strings[4], strings[5]))


def groups_page(strings, folder):
    """Groups and lines that are called by the strings, as are topics, words and fields."""
    table = pa.table({"label": list(strings), "text": [" ".join(strings)] * len(strings)})
    corpus = Corpus.from_table(table, token_pattern="[^ ]+", lowercase=False)
    topics = np.random.default_rng(0).gamma(1.0, 1.0, (4, len(strings))) + 0.1
    model = TopicPosterior("lda", topics, np.full(4, 0.5), 0.1)
    folder.mkdir()
    settings = {"corpus": {"n_documents": 12}, "options": {}, "seed": 7}
    save_run(folder, model, corpus.vocabulary, settings, [])
    found = prevalence(model, corpus, corpus.vocabulary.words, Grouping(by="label"))
    words = [[list(strings[:2])] * 4 for _ in strings]
    found = found._replace(words=words, grouping=Grouping(strings[6], Over(strings[7])))
    over_time = found._replace(groups=[GroupKey(group.name, 1.0) for group in found.groups])
    section = group_section(found, over_time, strings)
    subject = topic_subject(topics_of_run(load_run(folder)))
    return render_page(Report("Topic model", [subject], groups=section))


def mixture_page(strings, folder):
    """A mixture of items, their names, labels and columns the strings."""
    clumps = draw_clumps(0)
    write_mixture(folder, mixture_of(clumps, "gaussian"))
    names = [strings[n % len(strings)] for n in range(len(clumps.values))]
    corpus = VectorCorpus.from_array(clumps.values, names, names)
    corpus = replace(corpus, columns=tuple(strings[:3]))
    subject = mixture_subject(load_run(folder), corpus)
    return render_page(Report("Mixture", [subject], "", strings[4], strings[5]))


@pytest.mark.parametrize("make", [topics_page, groups_page, mixture_page])
def test_hostile_strings_add_no_element_and_no_attribute(make, tmp_path):
    page = make(HOSTILE, tmp_path / "hostile")
    found, wanted = Structure(page), Structure(make(HARMLESS, tmp_path / "harmless"))

    assert found.elements == wanted.elements
    assert [address[:1] for address in found.addresses] == [
        address[:1] for address in wanted.addresses
    ]
    assert {name for _, names in found.elements for name in names if name.startswith("on")} == set()
    assert found.scripts[1:] == wanted.scripts[1:]  # but for the data


def test_the_data_of_the_script_are_the_strings(tmp_path):
    data = Structure(topics_page(HOSTILE, tmp_path / "hostile")).scripts[0]

    assert not set(data) & set("<>&\u2028\u2029")
    for run in json.loads(data)["runs"]:
        assert set(run["words"]) <= set(HOSTILE)


@pytest.mark.parametrize("make", [topics_page, groups_page])
def test_all_of_it_is_shown(make, tmp_path):
    page = make(HOSTILE, tmp_path / "hostile")

    shown = "".join(Structure(page).shown)
    for string in HOSTILE[:-1]:
        assert string in shown
    assert "49" not in {piece.strip() for piece in shown.split()}


TEXTS_IN_BROWSER = """
document.title = JSON.stringify({
  texts: [...document.querySelectorAll("li .soft")].map((each) => each.textContent).join(" "),
  marks: document.querySelectorAll("li mark").length,
  images: document.images.length,
  handlers: document.querySelectorAll("[onerror]").length,
});
"""


def test_a_browser_takes_texts_of_documents_for_text(tmp_path):
    image = '<img src=x onerror="document.title=1">'
    texts = [f"{image} the quick cat meets owl number {n} </script><b>cat" for n in range(12)]
    corpus = Corpus.from_texts(texts, keep=["text"], min_df=1)
    LDA(2, max_iter=3, random_state=0).fit(corpus).report(tmp_path / "r.html", corpus=corpus)

    told = told_by((tmp_path / "r.html").read_text(), TEXTS_IN_BROWSER, tmp_path)

    assert f"{image} the quick cat" in told["texts"]
    assert "</script><b>cat" in told["texts"]
    assert told["marks"] > 0
    assert (told["images"], told["handlers"]) == (0, 0)
