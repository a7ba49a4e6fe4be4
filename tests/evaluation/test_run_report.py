"""``sparsetopics report``: pages of runs without scores, and the browser in them."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_array

from browser import told_by
from resealing import reseal
from sparsetopics.cli.main import main
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.evaluation.report.model_subjects import topic_subject
from sparsetopics.evaluation.report.page import Report, render_page
from sparsetopics.evaluation.report.page_data import escaped_json
from sparsetopics.evaluation.report.report import write_run_report
from sparsetopics.evaluation.report.topic_browser import STEPS
from sparsetopics.evaluation.scoring.fixed_topics import topics_of_run
from sparsetopics.measures.relevance import relevance
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import load_run, run_in_memory, save_run
from sparsetopics.runs.run_files import vocabulary_of
from worlds.clumped_mixtures import draw_clumps, mixture_of, write_mixture
from worlds.vectors_on_disk import ingested

LARGEST_PAGE = 3_000_000  # bytes, of 200 topics


@pytest.fixture
def corpus(tmp_path, run_folder, training_batch, vocabulary):
    """The training documents on disk, with labels and a name that is markup."""
    lines = []
    for row in range(training_batch.n_docs):
        pairs = slice(training_batch.indptr[row], training_batch.indptr[row + 1])
        words = [vocabulary.words[word] for word in training_batch.word_ids[pairs]]
        counts = training_batch.word_counts[pairs].tolist()
        text = " ".join(f"{word} " * count for word, count in zip(words, counts, strict=True))
        lines.append(json.dumps({"id": f"<i>{row}", "text": text, "label": f"<u>{row % 3}"}))
    (tmp_path / "docs.jsonl").write_text("\n".join(lines))
    ingest(
        [tmp_path / "docs.jsonl"],
        tmp_path / "corpus",
        IngestOptions(vocabulary=vocabulary_of(run_folder)),
    )
    return tmp_path / "corpus"


def report(*arguments, status=0):
    result = CliRunner().invoke(main, ["report", *(str(argument) for argument in arguments)])
    assert result.exit_code == status, result.output
    return result


class Page(HTMLParser):
    """Tags, addresses and text outside of scripts."""

    def __init__(self, path):
        super().__init__()
        self.source = path.read_text(encoding="utf-8")
        self.tags, self.ids, self.addresses, self.pieces = [], [], [], []
        self.feed(self.source)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        self.addresses += [value for name, value in attrs if name in ("src", "href", "xlink:href")]

    def handle_data(self, data):
        if self.tags[-1:] not in (["script"], ["style"]):
            self.pieces.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.pieces))

    @property
    def data(self):
        pattern = r'<script type="application/json" id="report-data">(.*?)</script>'
        (text,) = re.findall(pattern, self.source, flags=re.DOTALL)
        return json.loads(text)


def test_a_run_is_shown_with_its_documents(run_folder, corpus, tmp_path, model, vocabulary):
    printed = json.loads(
        report(run_folder, "--corpus", corpus, "--out", tmp_path / "r.html", "--json").stdout
    )

    assert printed == {"path": str(tmp_path / "r.html")}
    page = Page(tmp_path / "r.html")
    for shown in (
        "trained on 60 documents",
        "LDA, number given",
        "ELBO per training token",
        "Coherence (NPMI)",
        "Documents that represent this topic",
        "all 60 documents of",
        f"{model.weights[0]:.2%}",
        "<i>",
        "(<u>",
    ):
        assert shown in page.text
    assert "scored" not in page.text
    assert "u" not in page.tags
    assert page.source.count('class="examples"') == 4
    words = page.data["runs"][0]["words"]
    assert set(words) == set(vocabulary.words)


def test_without_a_corpus_the_page_does_without(run_folder, tmp_path):
    report(run_folder, "--out", tmp_path / "r.html")

    page = Page(tmp_path / "r.html")
    assert "NPMI" not in page.text
    assert "examples" not in set(re.findall(r'class="(\w+)"', page.source))


def test_several_runs_stand_side_by_side_with_their_moves(run_folder, hdp_folder, tmp_path):
    trace = [json.loads(line) for line in (hdp_folder / "trace.jsonl").read_text().splitlines()]
    trace[1] |= {"births_accepted": 2, "merges_accepted": 0, "deletes_accepted": 1}
    (hdp_folder / "trace.jsonl").write_text("".join(json.dumps(each) + "\n" for each in trace))
    reseal(hdp_folder)

    report(run_folder, hdp_folder, "--out", tmp_path / "r.html")

    page = Page(tmp_path / "r.html")
    for shown in ("Comparison of 2 topic models", "Side by side", "Moves accepted", "births",
                  "deletes", "number of topics"):  # fmt: skip
        assert shown in page.text
    assert ">merges<" not in page.source
    assert len(page.data["runs"]) == 2
    assert page.source.count('id="run-1-topic-') == 4


def test_links_lead_to_places_of_the_page_and_no_two_places_have_one_name(
    run_folder, corpus, tmp_path
):
    report(run_folder, "--corpus", corpus, "--by", "label", "--out", tmp_path / "r.html")

    page = Page(tmp_path / "r.html")
    assert len(page.addresses) >= 4  # the topics
    assert {address[1:] for address in page.addresses} <= set(page.ids)
    assert len(set(page.ids)) == len(page.ids)


def test_the_page_asks_nothing_of_a_network(run_folder, hdp_folder, corpus, tmp_path):
    report(run_folder, hdp_folder, "--corpus", corpus, "--out", tmp_path / "r.html")

    page = Page(tmp_path / "r.html")
    assert all(address.startswith("#") for address in page.addresses)
    assert not re.search(r'url\((?!#|data:image/png;|"")', page.source)
    for call in ("@import", "fetch(", "XMLHttpRequest", "import(", "WebSocket", "innerHTML"):
        assert call not in page.source
    assert "default-src 'none'" in page.source


def test_a_page_of_200_topics_is_small(tmp_path):
    """With long words, all of them different, and example documents."""
    rng = np.random.default_rng(0)
    words = tuple(f"{'extraordinarily' * 2}{number:05}" for number in range(5_000))
    topics = rng.gamma(0.05, 1.0, (200, len(words))) * 500 + 0.1
    frequency = np.maximum(topics.sum(axis=0).astype(np.int64), 1)
    vocabulary = Vocabulary(words, np.minimum(frequency, 50), frequency)
    save_run_of(tmp_path / "run", topics, vocabulary)
    counts = csr_array(rng.poisson(0.003, (50, len(words))))
    documents = Corpus.from_csr(counts, words, [f"document {'x' * 60} {n}" for n in range(50)])
    topics = topics_of_run(load_run(tmp_path / "run"))

    subject = topic_subject(topics, documents)
    page = render_page(Report("t", "Topic model", [subject], "", "", "c", "c"))

    assert len(page.encode()) < LARGEST_PAGE


def save_run_of(folder, posterior, vocabulary):
    folder.mkdir()
    posterior = posterior[np.argsort(-posterior.sum(axis=1), kind="stable")]
    model = TopicPosterior("lda", posterior, np.full(len(posterior), 0.01), 0.1)
    settings = {"corpus": {"n_documents": 50, "fingerprint": "f"}, "options": {}, "seed": 0}
    save_run(
        folder,
        run_in_memory("run", model, vocabulary, settings, [{"lap": 1, "elbo_per_token": -8.0}]),
    )


def test_json_cannot_end_its_element():
    hostile = {"</script>": ["<!--", "a&b", "\u2028"]}

    text = escaped_json(hostile)

    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == hostile


@pytest.mark.parametrize("likelihood", ["gaussian", "diagonal-gaussian", "zero-mean-gaussian"])
def test_a_mixture_shows_its_components(tmp_path, likelihood):
    clumps = draw_clumps(0)
    np.savez(tmp_path / "v.npz", values=clumps.values, labels=[f"<i>{k}" for k in clumps.kinds])
    vectors = ingested([tmp_path / "v.npz"], tmp_path / "vectors")
    run = write_mixture(tmp_path / "run", mixture_of(clumps, likelihood), vectors.fingerprint)

    report(run, "--corpus", tmp_path / "vectors", "--out", tmp_path / "r.html")

    page = Page(tmp_path / "r.html")
    for shown in (
        f"dp-mixture, {likelihood}",
        "trained on 240 items",
        "number learned",
        "60 items",
        "examples:",
        "(<i>",
        "all 240 items of",
    ):
        assert shown in page.text
    assert ("column 0" in page.text) == (likelihood != "zero-mean-gaussian")
    assert all(address.startswith(("data:image/png;", "#")) for address in page.addresses)
    assert page.tags.count("img") == (4 if likelihood != "diagonal-gaussian" else 0)


def test_wrong_things_are_refused_in_one_line(run_folder, corpus, tmp_path):
    out = tmp_path / "r.html"
    np.save(tmp_path / "v.npy", draw_clumps(0).values)
    ingested([tmp_path / "v.npy"], tmp_path / "vectors")
    for arguments, message in (
        ((tmp_path / "nowhere",), "expected a run folder"),
        ((run_folder, "--corpus", run_folder), "found a run folder."),
        (
            (run_folder, "--corpus", tmp_path / "vectors"),
            "trained with documents, not with vectors",
        ),
        ((run_folder, "--corpus", tmp_path / "nowhere"), "nowhere"),
    ):
        result = report(*arguments, "--out", out, status=1)
        assert message in result.stderr
        assert result.stderr.count("\n") == 1
    assert not out.exists()
    out.write_text("mine")
    assert "--overwrite" in report(run_folder, "--out", out, status=1).stderr
    report(run_folder, "--out", out, "--overwrite")
    assert "Topic model" in out.read_text()


def test_runs_of_several_kinds_are_refused(run_folder, tmp_path):
    mixture = mixture_of(draw_clumps(0), "gaussian")
    write_mixture(tmp_path / "mixture", mixture, "rows:0")
    out = tmp_path / "r.html"

    result = report(run_folder, tmp_path / "mixture", "--out", out, status=1)

    assert "must be topic models only, mixtures of documents or mixtures" in result.stderr
    assert not out.exists()


def with_empty(model, n_empty):
    """The same LDA with topics that hold no token."""
    empty = np.full((n_empty, model.n_words), model.word_concentration)
    posterior = np.vstack([model.topic_word_posterior, empty])
    return TopicPosterior("lda", posterior, np.full(len(posterior), 0.05), 0.1)


def save_model(folder, model, vocabulary, options):
    folder.mkdir()
    corpus = {"path": "there/news", "n_documents": 60, "n_tokens": 2400, "fingerprint": "abc"}
    save_run(
        folder,
        run_in_memory(
            "run", model, vocabulary, {"corpus": corpus, "options": options, "seed": 7}, []
        ),
    )
    return folder


def test_empty_topics_are_folded_away_and_their_number_is_said(tmp_path, model, vocabulary):
    save_model(tmp_path / "run", with_empty(model, 3), vocabulary, {})

    report(tmp_path / "run", "--out", tmp_path / "r.html")

    page = Page(tmp_path / "r.html")
    assert "number given; 3 empty" in page.text
    fold = page.source.partition('<details class="empty">')[2].partition("</section>")[0]
    assert fold.startswith("<summary>3 empty topics")
    assert re.findall(r'id="run-0-topic-(\d)"', fold) == ["4", "5", "6"]
    links = {address for address in page.addresses if "topic-" in address or "theme-" in address}
    assert {address[-1] for address in links} == {"0", "1", "2", "3"}  # of the areas and the map


EMPTY_PROBE = """
const find = (what) => document.querySelector(what);
find("#search").value = "wordaa";
find("#search").dispatchEvent(new Event("input"));
const told = {found: find("#found").textContent, hidden: find("details.empty").hidden};
location.hash = "#run-0-topic-5";
setTimeout(() => {
  told.open = find("details.empty").open && find("#run-0-topic-5").open;
  told.shown = !find("details.empty").hidden;
  document.title = JSON.stringify(told);
}, 200);
"""


def test_a_search_leaves_out_empty_topics_and_an_address_opens_them(tmp_path, model, vocabulary):
    save_model(tmp_path / "run", with_empty(model, 3), vocabulary, {})
    write_run_report(tmp_path / "r.html", [tmp_path / "run"])
    page = (tmp_path / "r.html").read_text()

    told = told_by(page, EMPTY_PROBE, tmp_path)

    assert told == {"found": "4 of 4", "hidden": True, "open": True, "shown": True}


def test_empty_components_are_folded_away_and_their_number_is_said(tmp_path):
    np.save(tmp_path / "v.npy", draw_clumps(0).values)
    ingested([tmp_path / "v.npy"], tmp_path / "vectors")
    train = ["train", tmp_path / "vectors", "--model", "mixture", "--topics", 20]
    train += ["--laps", 30, "--out", tmp_path / "run", "--quiet"]
    assert CliRunner().invoke(main, [str(each) for each in train]).exit_code == 0
    counts = load_run(tmp_path / "run").model.mixture.counts
    n_empty = int((counts < 1).sum())
    assert n_empty > 1

    report(tmp_path / "run", "--out", tmp_path / "r.html")

    page = Page(tmp_path / "r.html")
    assert page.source.count('class="panel component"') == 20 - n_empty
    assert f"{n_empty} empty components" in page.text
    assert f"They are components {20 - n_empty} to 19." in page.text
    assert "lighter" not in page.text


def test_a_page_says_in_words_what_was_run(tmp_path, model, vocabulary):
    options = {
        "n_topics": 4, "laps": 9, "learner": "stochastic", "model": "lda",
        "local": {"update": "mean-field", "sparsity": 2, "tolerance": 0.05, "restarts": None},
        "step_sizes": {"delay": 1.0}, "moves": {"names": ["birth"], "criterion": "bound"},
        "learn_hyperparameters": True, "smoothing": "learned", "batches": 12,
        "resident_pairs": 32000000, "cold_every": None, "batches_per_round": 1,
    }  # fmt: skip
    save_model(tmp_path / "run", model, vocabulary, options)

    report(tmp_path / "run", "--out", tmp_path / "r.html")

    page = Page(tmp_path / "r.html")
    for shown in (
        "model LDA, 4 topics trained on 60 documents (2,400 tokens) in news",
        "training 1 pass over the data, at most 9",
        "learner stochastic: a step after each batch",
        "topics of a document by the mean-field update",
        "moves births, accepted if they raise the ELBO",
        "α, summed over the topics of a document 0.5 (learned from the data)",
        "η, for each word of a topic 0.1 (learned from the data)",
        "σ, for smoothing finished topics 0.03 (learned from the data)",
        "other options --batches 12 --sparsity 2 seed 7",
    ):
        assert shown in page.text
    for internal in ("tolerance", "step sizes", "resident", "None", "True", "False"):
        assert internal not in page.text


def test_a_mixture_of_documents_shows_words(tmp_path, corpus):
    train = ["train", corpus, "--model", "mixture", "--topics", 3, "--likelihood", "multinomial"]
    train += ["--laps", 3, "--out", tmp_path / "groups", "--quiet"]
    assert CliRunner().invoke(main, [str(each) for each in train]).exit_code == 0

    report(tmp_path / "groups", "--corpus", corpus, "--out", tmp_path / "r.html")

    page = Page(tmp_path / "r.html")
    assert "model mixture, 3 components" in page.text
    assert "trained on 60 documents (" in page.text
    assert page.source.count('id="theme-') == 3
    assert page.source.count('<details class="topic ') == 3
    assert page.source.count('class="examples"') == 3


def test_the_slider_orders_words_as_the_formula_does(run_folder, corpus, tmp_path):
    engine = pytest.importorskip("py_mini_racer", reason="needs mini-racer").MiniRacer()
    write_run_report(tmp_path / "r.html", [run_folder], corpus)
    page = Page(tmp_path / "r.html")
    scripts = re.findall(r"<script>\n(.*?)</script>", page.source, flags=re.DOTALL)
    (script,) = [each for each in scripts if "function mostRelevant" in each]
    call = f"""{script}
const topics = {json.dumps(page.data["runs"][0]["topics"])};
const balances = [...Array({STEPS + 1}).keys()].map((step) => step / {STEPS});
const orders = topics.map((t) => balances.map((b) => mostRelevant(t, b, 7)));
JSON.stringify(orders);"""

    found = engine.eval(call)

    for topic, orders in zip(page.data["runs"][0]["topics"], json.loads(found), strict=True):
        logs, lifts = np.array(topic["logs"]), np.array(topic["lifts"])
        for step, order in enumerate(orders):
            scores = relevance(logs, lifts, step / STEPS)
            np.testing.assert_allclose(scores[order], -np.sort(-scores)[:7], atol=1e-9)


PROBE = """
const find = (what) => document.querySelector(what);
const send = (element, kind) => element.dispatchEvent(new Event(kind));
const told = {};
const searched = (text) => {
  find("#search").value = text;
  send(find("#search"), "input");
  return find("#found").textContent;
};
told.parts = searched("daa WORDAB");
told.marked = [...new Set([...document.querySelectorAll("mark")].map((each) => each.textContent))];
told.ids = searched("<i>");
told.none = searched("wordaa nowhere");
told.found = searched("wordaa");
location.hash = "#run-0-topic-2";
setTimeout(() => {
  told.open = [...document.querySelectorAll("details.topic[open]")].map((each) => each.id);
  told.search = find("#search").value;
  find("#balance").value = "0.2";
  send(find("#balance"), "input");
  told.shown = find("#balance-shown").textContent;
  told.bars = document.querySelectorAll("#run-0-topic-2 .bar[title]").length;
  find("#sort").value = "npmi";
  send(find("#sort"), "change");
  const sorted = [...document.querySelectorAll("details.topic")];
  told.npmi = sorted.map((each) => Number(each.dataset.npmi));
  document.title = JSON.stringify(told);
}, 200);
"""


def test_a_browser_searches_sorts_and_opens(run_folder, corpus, tmp_path):
    write_run_report(tmp_path / "r.html", [run_folder], corpus)
    page = (tmp_path / "r.html").read_text()

    told = told_by(page, PROBE, tmp_path)

    assert told["parts"] == told["found"] == "4 of 4"  # every topic lists all 30 words
    assert sorted(told["marked"]) == ["wordaa", "wordab"]
    assert told["ids"] == told["none"] == "0 of 4"
    assert told["open"] == ["run-0-topic-2"]
    assert told["shown"] == "0.20"
    assert told["bars"] == 30
    assert told["npmi"] == sorted(told["npmi"], reverse=True)


NAMED = """
const find = (selector) => document.querySelector(selector);
find("#search").value = "crime";
find("#search").dispatchEvent(new Event("input"));
setTimeout(() => {
  document.title = JSON.stringify({
    found: find("#found").textContent,
    visible: [...document.querySelectorAll("details.topic:not([hidden])")].map((each) => each.id),
    images: document.images.length,
    cards: [...document.querySelectorAll(".card h3")].map((each) => each.textContent),
  });
}, 200);
"""


def test_a_browser_finds_names_and_takes_them_for_text(run_folder, tmp_path):
    name = "Crime <img src=x onerror=document.title='{}'>"
    names = tmp_path / "names.toml"
    names.write_text(f'{load_run(run_folder).topics[2].id} = "{name}"')
    write_run_report(tmp_path / "r.html", [run_folder], names=names)
    page = (tmp_path / "r.html").read_text()

    told = told_by(page, NAMED, tmp_path)

    assert (told["found"], told["visible"]) == ("1 of 4", ["run-0-topic-2"])
    assert told["images"] == 0
    assert name in told["cards"][2]


LISTEN = """<script>
const refused = [];
document.addEventListener("securitypolicyviolation", (event) => refused.push(event.blockedURI));
</script>"""
COUNT = """
for (const each of document.querySelectorAll("details")) each.open = true;
setTimeout(() => {
  const wanted = performance.getEntriesByType("resource").map((each) => each.name);
  document.title = JSON.stringify({wanted, refused});
}, 300);
"""
PICTURE = '<img src="http://127.0.0.1:9/one.png" alt="">'


@pytest.mark.parametrize("added", ["", PICTURE])
def test_a_page_asks_for_nothing(run_folder, hdp_folder, corpus, tmp_path, added):
    """Nor would it be let: an address in it is refused before anything is sent."""
    write_run_report(tmp_path / "r.html", [run_folder, hdp_folder], corpus)
    page = (tmp_path / "r.html").read_text()
    policy = page.index("<meta http-equiv")
    page = page[:policy] + page[policy:].replace(">", f">{LISTEN}", 1)

    told = told_by(page.replace("</body>", f"{added}</body>"), COUNT, tmp_path)

    wanted = ["http://127.0.0.1:9/one.png"] if added else []
    assert told == {"wanted": wanted, "refused": wanted}
