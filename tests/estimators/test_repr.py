"""Every public object shows itself in one short line, and as a table in a notebook."""

import contextlib
import dataclasses
import html

import numpy as np
import pytest

import sparsetopics
from sparsetopics import HDP, LDA, Corpus, DPGaussianMixture, MultinomialMixture, VectorCorpus
from sparsetopics.base.showing import html_table, short_repr
from sparsetopics.runs.run import load_run

LONGEST = 240  # characters
COUNTS = np.random.default_rng(0).poisson(0.8, (60, 900))
VECTORS = np.random.default_rng(0).normal(size=(3_000, 4))
WORDS = [f"<b>word{n}</b>" for n in range(900)]
NORMALS = (
    "gaussian",
    "diagonal-gaussian",
    "zero-mean-gaussian",
    "isotropic-gaussian",
)


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    documents, items = Corpus.from_csr(COUNTS, WORDS), VectorCorpus.from_array(VECTORS)
    return [documents, items]


@pytest.fixture(scope="module")
def fitted(corpora):
    documents, items = corpora
    return [
        LDA(12, max_iter=1).fit(documents),
        HDP(12, max_iter=1).fit(documents),
        MultinomialMixture(12, max_iter=1).fit(documents),
        *(DPGaussianMixture(3, max_iter=1, likelihood=name).fit(items) for name in NORMALS),
    ]


def is_ours(value):
    return type(value).__module__.startswith("sparsetopics")


def parts_of(value):
    """What a user reaches from an object by public attributes."""
    if not is_ours(value):
        return value if isinstance(value, list | tuple) and len(value) < 100 else []
    names = {name for name in getattr(value, "__dict__", {}) if not name.startswith("_")}
    if dataclasses.is_dataclass(value):
        names |= {field.name for field in dataclasses.fields(value)}
    names |= set(getattr(value, "_fields", ()))
    names |= {name for name, each in vars(type(value)).items() if isinstance(each, property)}
    found = []
    for name in sorted(names):
        # A mixture of vectors has no words, for example.
        with contextlib.suppress(AssertionError, KeyError, sparsetopics.SparsetopicsError):
            found.append(getattr(value, name))
    return found


def walked(values):
    """All objects of ours that are reached from ``values``."""
    waiting, seen = list(values), {}
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        waiting.extend(parts_of(value))
    return [value for value in seen.values() if is_ours(value)]


def test_every_object_is_one_short_line(corpora, fitted, tmp_path):
    fitted[0].save(tmp_path / "run")
    fitted[-1].save(tmp_path / "vectors")
    batches = [next(corpus.batches()) for corpus in corpora]
    rows = [corpus.row_groups[0].read_rows() for corpus in corpora]
    options = [model.training_options() for model in fitted]
    runs = [load_run(tmp_path / name) for name in ("run", "vectors")]

    found = walked([*corpora, *fitted, *batches, *rows, *options, *runs])

    assert {"TopicPosterior", "MixturePosterior", "Vocabulary", "Run", "MemoryRowGroup"} <= {
        type(value).__name__ for value in found
    }
    for value in found:
        assert "\n" not in repr(value), type(value)
        assert len(repr(value)) <= LONGEST, (type(value), repr(value))


def test_every_public_name_is_one_short_line():
    for name in dir(sparsetopics):
        if not name.startswith("__"):
            value = getattr(sparsetopics, name)
            shown = [value]
            if isinstance(value, type) and issubclass(value, sparsetopics.SparsetopicsError):
                shown.append(value("where", "what is wrong", "What to do."))
            elif isinstance(value, type) and hasattr(value, "get_params"):
                shown.append(value())
            for each in shown:
                assert "\n" not in repr(each)
                assert len(repr(each)) <= LONGEST


def test_the_line_has_the_sizes(corpora, fitted):
    documents, items = corpora

    assert repr(documents) == f"Corpus(n_docs=60, n_words=900, n_tokens={COUNTS.sum()})"
    assert repr(items) == "VectorCorpus(n_items=3000, n_columns=4)"
    assert repr(fitted[0].model_) == "TopicPosterior(name='lda', n_topics=12, n_words=900)"
    assert repr(documents.vocabulary) == (
        "Vocabulary(900 words: '<b>word0</b>', '<b>word1</b>', '<b>word2</b>', …)"
    )


def test_long_values_are_shortened():
    class Thing:
        array = np.zeros((3, 2))
        names = ("name",) * 100
        text = "x" * 1_000
        line = "two\nlines"

    found = short_repr(Thing(), "array", "names", "line", "text")

    assert found.startswith(
        "Thing(array=float64[3, 2], names=<tuple of 100>, line='two\\nlines', text='xxx"
    )
    assert len(found) <= LONGEST


def tables_of(shown):
    return shown._repr_html_()


def test_a_notebook_shows_the_numbers_of_a_corpus(corpora):
    documents, items = corpora

    assert ">60</td>" in tables_of(documents)
    assert f">{COUNTS.sum():,}</td>" in tables_of(documents)
    assert ">3,000</td>" in tables_of(items)
    shown = tables_of(documents.vocabulary)
    best = WORDS[int(COUNTS.sum(axis=0).argmax())]
    assert html.escape(best) in shown
    assert best not in shown


def test_a_notebook_shows_the_topics_of_a_fitted_model(fitted):
    for model in fitted:
        unfitted = type(model)()
        shown = tables_of(model)

        assert shown.count("<table><caption>") == 1
        assert "<table><caption>" not in tables_of(unfitted)
        noun = "topic" if hasattr(model, "doc_concentration") else "component"
        assert f"{model.n_components_} {noun}s by weight" in shown
        assert f">{model.model_.weights[0]:.1%}</td>" in shown
        assert "<b>word" not in shown
    best = WORDS[int(fitted[0].components_[0].argmax())]
    assert html.escape(best) in tables_of(fitted[0])


def test_a_notebook_shows_the_names_of_topics(corpora):
    model = LDA(5, max_iter=2).fit(corpora[0]).rename({0: "<Crime>"})

    assert ">&lt;Crime&gt;</td>" in tables_of(model)


def test_a_notebook_shows_the_fields_of_a_corpus():
    corpus = Corpus.from_texts(["one text", "another text"], keep=["text"])

    assert ">fields</td>" in tables_of(corpus)
    assert ">text</td>" in tables_of(corpus)


def test_only_the_first_of_many_topics_are_shown(corpora):
    model = LDA(40, max_iter=1).fit(corpora[0])

    assert "40 topics by weight, the first 20" in tables_of(model)
    assert tables_of(model).rpartition("<table>")[2].count("<tr>") == 21


def test_cells_cannot_control_the_page():
    found = html_table("a < b", ("<i>",), [("x & y\x1b\n",), (None,), (12_345,), (0.5,)])

    assert "a &lt; b" in found
    assert "&lt;i&gt;" in found
    assert "x &amp; y\\x1b\\n" in found
    assert "12,345" in found
