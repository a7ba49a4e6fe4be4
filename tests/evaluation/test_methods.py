"""How a run was made, in sentences for a paper."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from code_sizes import ROOT
from sparsetopics import LDA, Corpus, DPGaussianMixture, TopicPath
from sparsetopics.cli.main import main
from sparsetopics.corpora.text.stop_words import stop_words_of
from sparsetopics.evaluation.report.methods import PAPERS, methods_text


def said(*arguments):
    result = CliRunner().invoke(main, [str(each) for each in arguments])
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A corpus with stop words and rare words, and a run with an edit."""
    folder = tmp_path_factory.mktemp("methods")
    rng = np.random.default_rng(0)
    words = [[f"{stem}{letter * 3}" for letter in "abcdefgh"] for stem in ("cat", "dog", "sea")]
    texts = [
        f"the {' '.join(rng.choice(words[n % 3], 12))} rare{'z' * (n + 2)}" for n in range(120)
    ]
    lines = [json.dumps({"text": text}) for text in [*texts, "12 34"]]
    (folder / "texts.jsonl").write_text("\n".join(lines))
    ingest = ("ingest", folder / "texts.jsonl", "--out", folder / "corpus")
    assert said(*ingest, "--stop-words", "english", "--max-words", 20)[0] == 0
    train = ("train", folder / "corpus", "--out", folder / "run", "--model", "lda")
    train += ("--topics", 3, "--laps", 7)
    assert said(*train, "--quiet")[0] == 0
    edit = ("edit", folder / "run", "--out", folder / "edited", "--rename", "0=Cats")
    assert said(*edit, "--quiet")[0] == 0
    return folder


def test_data_training_and_identity_are_a_paragraph_each(folder):
    data, training, identity = methods_text(folder / "run", folder / "corpus").split("\n\n")

    record = json.loads((folder / "run" / "model.json").read_text())
    assert data.startswith("The model was trained on 120 documents (1,")
    assert "tokens) with a vocabulary of 20 words. Texts were split into runs of letters" in data
    assert "lower-cased. Documents without any of these words (1) were left out. Stop" in data
    n_english = len(stop_words_of("english"))
    assert f"words (a list of {n_english}, that of the language english) were removed" in data
    assert "in 2 to 60 documents and are among the 20 most frequent. Of the " in data
    assert "120 in too few documents and " in data
    assert training.startswith(
        "The model is latent Dirichlet allocation with 3 topics. The number was set in advance. "
        "The learner was memoized: an update after"
    )
    assert "The random seed was 0. Training took 7 passes over the data. The model has" in training
    assert "α = 0.5 summed over the topics of a document, η = 0.1 for each word of" in training
    assert record["corpus"]["fingerprint"] in identity
    assert f"sparsetopics {record['versions']['sparsetopics']}." in identity
    assert identity.endswith("Teh (2009), On smoothing and inference for topic models.")


def test_papers_are_those_of_the_citation_file():
    known = " ".join((ROOT / "CITATION.cff").read_text().split())

    for paper in PAPERS.values():
        authors, _, title = paper.partition("), ")
        assert f"title: {title}" in known
        assert f"year: {authors[-4:]}" in known.partition(title)[2].partition("type:")[0]


@pytest.mark.filterwarnings("ignore:stop_words was")
def test_a_list_of_stop_words_has_its_name(tmp_path):
    texts = ["der Hund bellt laut", "die Katze schläft lange"] * 4
    corpus = Corpus.from_texts(texts, stop_words="de", ngrams=2)
    LDA(2, max_iter=2).fit(corpus).save(tmp_path / "run")

    n_words = len(stop_words_of("de"))
    said = f"Stop words (a list of {n_words:,}, that of the language de) were removed."
    assert said in methods_text(tmp_path / "run")


def test_edits_and_names_of_people_are_told(folder):
    training = methods_text(folder / "edited").split("\n\n")[1]

    assert training.endswith("The topics were then edited by hand: 1 named.")


def test_a_path_says_how_the_number_was_chosen(folder, tmp_path):
    corpus = Corpus.open(folder / "corpus")
    path = TopicPath(rungs=(12, 6, 3, 2), validation_share=0.3).fit(corpus)
    path.save(tmp_path / "path")

    training = methods_text(tmp_path / "path").split("\n\n")[1]

    rung = next(each for each in path.scores_.rungs if each.n_topics == path.recommended_)
    assert f"with {path.recommended_} topics. The number was chosen by the log-" in training
    score = training.partition("The chosen model reached ")[2].split()[0]
    assert float(score.replace("−", "-")) == pytest.approx(rung.log_likelihood_per_token, abs=0.05)
    assert "nats per token, with a standard error of 0.0" in training


@pytest.mark.filterwarnings("ignore:List low")
def test_words_that_were_cut_otherwise_are_told(tmp_path):
    texts = ["One two three", "two three four", "three four five"] * 4
    options = {"remove": ["urls"], "token_pattern": r"\w+", "ngrams": 2, "lowercase": False}
    corpus = Corpus.from_texts(texts, stop_words=["two"], **options)
    LDA(2, max_iter=2, guide={"low": ["One"]}).fit(corpus).save(tmp_path / "run")
    lists = Corpus.from_tokens([text.split() for text in texts])
    LDA(2, max_iter=2).fit(lists).save(tmp_path / "lists")

    text = methods_text(tmp_path / "run")

    assert (
        r"Texts were split into matches of the regular expression `\w+`. Before that, the" in text
    )
    assert (
        "cleared of urls. Stop words (a list of 1) were removed. Sequences of up to 2 words" in text
    )
    assert "Training began with 1 list of words: low." in text
    assert "given as lists of words.\n" in methods_text(tmp_path / "lists")


def test_mixtures_of_vectors_have_methods(tmp_path):
    values = np.random.default_rng(0).normal(size=(60, 3))
    DPGaussianMixture(4, max_iter=5).fit(values).save(tmp_path / "run")

    data, training, _ = methods_text(tmp_path / "run").split("\n\n")

    assert data == "The model was trained on 60 items with 3 columns."
    assert training.startswith("The model is a Dirichlet process mixture with ")
    assert "The number was learned by merges, deletes and births, accepted if they" in training
    assert "Each component is Gaussian." in training


def test_the_command_prints_the_paragraphs(folder):
    text = methods_text(folder / "run")
    report = ("report", folder / "run", "--methods")

    assert said(*report)[1] == f"{text}\n"
    assert json.loads(said(*report, "--json")[1]) == {"methods": text}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--methods", "--out", "m.html"), "--out: is for pages, not for --methods."),
        (("--methods", "--title", "News"), "--title: is for pages, not for --methods."),
        (("--methods", "--themes", "2"), "--themes: is for pages"),
        (("RUN", "--methods"), "--methods: are those of one run, but 2 runs are given."),
        ((), "--out: is needed: where to write the page."),
    ],
)
def test_what_does_not_go_together_is_refused(folder, options, message, monkeypatch):
    monkeypatch.chdir(folder)
    options = [str(folder / "run") if each == "RUN" else each for each in options]

    code, _, error = said("report", folder / "run", *options)

    assert code == 1
    assert error.startswith(f"Error: {message}")
