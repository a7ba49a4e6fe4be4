"""Pages about a corpus whose words, names and labels are markup: all of it is shown, none is read.

A page of hostile strings must have the elements and attributes that one of harmless strings has.
"""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest

from browser import told_by
from sparsetopics import LDA
from sparsetopics.answers.topic_names import with_names
from sparsetopics.corpora.corpus import Corpus, VectorCorpus
from sparsetopics.corpora.grouping import Grouping
from sparsetopics.evaluation.report.model_subjects import mixture_subject, topic_subject
from sparsetopics.evaluation.report.page import Report, render_page
from sparsetopics.evaluation.report.report import run_report
from sparsetopics.evaluation.scoring.fixed_topics import topics_of_run
from sparsetopics.model.topic_posterior import Sticks, TopicPosterior
from sparsetopics.runs.run import load_run, run_in_memory, save_run
from worlds.clumped_mixtures import draw_clumps, mixture_of, write_mixture
from worlds.reported_changes import changes_of

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
    "</script><x-evil/onclick=alert(1)>",
    "\u05e9\u05dc\u05d5\u05dd",
    "{{7*7777777}}${7*7777777}",
    "\x00\x1b[31m\ufffe",
)
HARMLESS = tuple(f"word{letter}" for letter in "abcdefghijklmno")
assert len(HARMLESS) == len(HOSTILE)
SAFE_STYLE = r"mask-image: url\(data:image/png;base64,[\w+/=]*\)|[-\w.,:;%#()' ]*"
N_TOPICS = 30  # so many that a page begins with themes


class Structure(HTMLParser):
    """Elements with the names of their attributes, scripts, their data, and what is shown."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.scripts, self.data, self.shown = [], [], [], []
        self.addresses, self.styles, self._inside = [], [], None
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, tuple(sorted(name for name, _ in attributes))))
        self.addresses += [value for name, value in attributes if name in ("href", "src")]
        self.styles += [value for name, value in attributes if name == "style"]
        self._inside = None
        if tag in ("script", "style"):
            self._inside = self.data if ("type", "application/json") in attributes else self.scripts
            self._inside.append("")

    def handle_endtag(self, tag):
        self.elements.append((f"/{tag}", ()))
        self._inside = None

    def handle_comment(self, data):
        self.elements.append(("comment", ()))

    def handle_data(self, data):
        if self._inside is not None:
            self._inside[-1] += data
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
        "corpus": {"n_documents": 15, "path": f"x/{strings[0].replace('/', '-')}"},
        "options": {"start": strings[1], "moves": {"names": list(strings[:3])}},
        "seed": 7,
    }
    folder.mkdir()
    save_run(
        folder,
        run_in_memory(
            "run", model, corpus.vocabulary, settings, [{"lap": 1, "elbo_per_token": -3.0}]
        ),
    )
    subject = topic_subject(topics_of_run(load_run(folder)), corpus)
    subject = replace(subject, path=strings[2].replace("/", "-"))
    report = Report(strings[6], "Topic model", [subject], strings[3], strings[4], strings[5])
    return render_page(report)


def whole_page(strings, _folder, *, keep=()):
    """An HDP with themes, groups and time: titles, fields, groups, names and words are strings."""
    rng = np.random.default_rng(0)
    words = [f"{string}{number}" for number in range(4) for string in strings]
    n_documents = 8 * len(strings)
    columns = {
        "id": [f"{strings[n % len(strings)]}{n}" for n in range(n_documents)],
        "text": [" ".join(rng.choice(words, 30)) for _ in range(n_documents)],
        strings[1]: [strings[n % len(strings)] for n in range(n_documents)],
        strings[2]: [f"{2000 + n // 40}-01-01" for n in range(n_documents)],
    }
    fields = [*keep, strings[1], strings[2]]
    cut = {"token_pattern": "[^ ]+", "lowercase": False, "min_df": 1, "max_df": 1.0}
    corpus = Corpus.from_table(pa.table(columns), keep=fields, **cut)
    counts = rng.gamma(0.3, 9.0, (N_TOPICS, len(corpus.vocabulary)))
    counts = counts[np.argsort(-counts.sum(axis=1))]
    sticks = Sticks(np.full(N_TOPICS, 0.1), np.linspace(90.0, 30.0, N_TOPICS), 5.0, 0.5)
    shares = sticks.doc_concentration * sticks.global_topic_weights
    model = TopicPosterior("hdp", counts + 0.1, shares, 0.1, sticks)
    settings = {"corpus": {"n_documents": n_documents, "path": "x"}, "options": {}, "seed": 7}
    trace = [{"lap": lap, "elbo_per_token": -3.0 + lap, "n_topics": 40 - lap} for lap in (1, 2)]
    run = run_in_memory(strings[3], model, corpus.vocabulary, settings, trace)
    run = with_names(run, dict(zip([each.id for each in run.topics], strings[:7], strict=False)))
    grouping = Grouping.parse(strings[1], f"{strings[2]}:year")
    title = f"\u202e{strings[5]}\u2067"  # turns what follows, and words have no such marks
    report = run_report([run], corpus, strings[4], None, grouping, title)
    return render_page(replace(report, changes=changes_of(strings)))


def mixture_page(strings, folder):
    """A mixture of items, their names, labels and columns the strings."""
    clumps = draw_clumps(0)
    write_mixture(folder, mixture_of(clumps, "gaussian"))
    names = [strings[n % len(strings)] for n in range(len(clumps.values))]
    corpus = VectorCorpus.from_array(clumps.values, names, names)
    corpus = replace(corpus, columns=tuple(strings[:3]))
    subject = mixture_subject(load_run(folder), corpus)
    return render_page(Report(strings[6], "Mixture", [subject], "", strings[4], strings[5]))


@pytest.mark.parametrize("make", [topics_page, whole_page, mixture_page])
def test_hostile_strings_add_no_element_and_no_attribute(make, tmp_path):
    page = make(HOSTILE, tmp_path / "hostile")
    found, wanted = Structure(page), Structure(make(HARMLESS, tmp_path / "harmless"))

    assert found.elements == wanted.elements
    assert all(address.startswith(("#", "data:image/png;")) for address in found.addresses)
    assert [style for style in found.styles if not re.fullmatch(SAFE_STYLE, style)] == []
    assert {name for _, names in found.elements for name in names if name.startswith("on")} == set()
    assert found.scripts == wanted.scripts
    assert len(found.data) == len(wanted.data)


def test_the_data_of_the_script_are_the_strings(tmp_path):
    found = Structure(topics_page(HOSTILE, tmp_path / "hostile")).data

    assert not set("".join(found)) & set("<>&\u2028\u2029")
    browser, tree = map(json.loads, found)
    for run in browser["runs"]:
        assert set(run["words"]) <= set(HOSTILE)
    assert {word for branch in tree["branches"] for word in branch[6]} <= set(HOSTILE)


@pytest.mark.parametrize("make", [topics_page, whole_page])
def test_all_of_it_is_shown(make, tmp_path):
    page = make(HOSTILE, tmp_path / "hostile")

    shown = "".join(Structure(page).shown)
    for string in HOSTILE[:-1]:
        assert string in shown, string
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


LISTEN = """<script>
const errors = [];
window.alert = () => errors.push("alert");
window.addEventListener("error", (event) => errors.push(String(event.message)), true);
window.addEventListener("unhandledrejection", (event) => errors.push(String(event.reason)));
document.addEventListener("securitypolicyviolation", (event) => errors.push(event.blockedURI));
</script>"""
USE_ALL = """
const all = (what) => [...document.querySelectorAll(what)];
const told = (element) => ["input", "change"].forEach(
  (kind) => element.dispatchEvent(new Event(kind, {bubbles: true})));
const inMain = all("main *").length;
function useAll() {
  for (const each of all("select"))
    for (const option of [...each.options].slice(-4)) {
      each.value = option.value;
      told(each);
    }
  for (const each of all("input"))
    for (const value of [each.min, each.max, "<x-evil onclick=alert(1)>"]) {
      each.value = value;
      told(each);
    }
  for (const each of all("details")) each.open = true;
  for (const each of all("button, a, [tabindex]")) {
    each.dispatchEvent(new MouseEvent("mouseenter"));
    each.focus();
    each.dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true}));
  }
}
useAll();
setTimeout(() => {
  useAll();
  for (const each of all("details")) each.open = true;
  const isHandler = (attribute) => attribute.name.startsWith("on");
  const handlers = all("*").filter((each) => [...each.attributes].some(isHandler));
  document.title = JSON.stringify({
    errors,
    handlers: handlers.map((each) => each.outerHTML.slice(0, 200)),
    created: all("x-evil, main script, img, iframe, object, embed, base").map(
      (each) => each.outerHTML.slice(0, 200)),
    scripts: all("script:not([type])").length,
    inMain: inMain > 300,
    links: all("a").map((each) => each.getAttribute("href")).filter((each) => !/^#/.test(each)),
    text: document.body.textContent,
  });
}, 1000);
"""


def test_a_browser_runs_the_scripts_of_a_page_and_nothing_else(tmp_path):
    """Whatever is chosen, typed, opened or clicked."""
    page = whole_page(HOSTILE, tmp_path, keep=["text"])
    policy = page.index("<meta http-equiv")
    page = page[:policy] + page[policy:].replace(">", f">{LISTEN}", 1)
    n_scripts = page.count("<script>") + 1  # and the probe

    told = told_by(page, USE_ALL, tmp_path)

    text = told.pop("text")
    assert told == {
        **{key: [] for key in ("errors", "handlers", "created", "links")},
        "scripts": n_scripts,
        "inMain": True,
    }
    assert HOSTILE[1] in text
    assert "54444439" not in text
