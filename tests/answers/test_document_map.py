"""The map of documents: which rows it has, and how well documents that are alike stay close."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array

from sparsetopics import LDA, Corpus, MultinomialMixture
from sparsetopics.answers.exports import document_map
from sparsetopics.answers.exports.exporting import export_model
from sparsetopics.answers.themes import USUAL_THEMES
from sparsetopics.base.errors import OptionError
from sparsetopics.measures.knee import MOST_THEMES

N_TOPICS, N_DOCS = 6, 120


def corpus_of(n_topics=N_TOPICS, n_docs=N_DOCS, n_own=8):
    """Documents that are of one topic each, in turn."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.05, (n_docs, n_topics * n_own))
    for doc, row in enumerate(counts):
        own = slice((first := doc % n_topics * n_own), first + n_own)
        row[own] += rng.poisson(6, n_own)
    words = [f"w{k // n_own}x{k % n_own}" for k in range(n_topics * n_own)]
    return Corpus.from_csr(csr_array(counts), words, [f"d{n}" for n in range(n_docs)])


@pytest.fixture(scope="module")
def corpus():
    return corpus_of()


@pytest.fixture(scope="module")
def model(corpus):
    return LDA(N_TOPICS, max_iter=12).fit(corpus)


def written(model, corpus, path, **options):
    model.export(path, "datamapplot", corpus=corpus, **options)
    return pq.read_table(path)


def test_documents_of_a_topic_are_close_and_have_its_name(model, corpus, tmp_path):
    table = written(model, corpus, tmp_path / "map.parquet", names={0: "First"})

    assert table.column_names == ["id", "x", "y", "topic", "theme", "share"]
    assert table["id"].to_pylist() == [f"d{n}" for n in range(N_DOCS)]
    assert table["theme"] == table["topic"]
    labels = np.array(table["topic"].to_pylist())
    shares = model.transform(corpus)
    np.testing.assert_allclose(table["share"].to_numpy(), shares.max(axis=1), rtol=1e-6)
    np.testing.assert_array_equal(labels == "First", shares.argmax(axis=1) == 0)
    places = np.column_stack([table[axis].to_numpy() for axis in "xy"])
    apart = np.linalg.norm(places[:, None] - places, axis=2) + np.diag(np.full(N_DOCS, np.inf))
    assert np.mean(labels[apart.argmin(axis=1)] == labels) > 0.95
    assert 0.9 < float(table.schema.metadata[b"trustworthiness"]) <= 1.0


def test_documents_beside_the_placed_ones_stay_near_their_like(
    model, corpus, tmp_path, monkeypatch
):
    whole = written(model, corpus, tmp_path / "whole.parquet")
    monkeypatch.setattr(document_map, "MOST", 60)
    table = written(model, corpus, tmp_path / "map.parquet")

    assert table["topic"] == whole["topic"]
    assert float(table.schema.metadata[b"trustworthiness"]) > 0.9
    assert len(set(table["x"].to_pylist())) > 100  # they do not hide behind each other


def test_the_same_run_gives_the_same_bytes(model, corpus, tmp_path):
    for name, n_jobs in (("a", 1), ("b", 2)):
        model.set_params(n_jobs=n_jobs).export(tmp_path / name, "datamapplot", corpus=corpus)

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_more_topics_than_a_page_has_themes_have_a_coarser_level(tmp_path):
    n_topics = MOST_THEMES + 4
    corpus = corpus_of(n_topics, 150, 4)
    table = written(LDA(n_topics, max_iter=20).fit(corpus), corpus, tmp_path / "map.parquet")

    assert table.column_names == ["id", "x", "y", "topic", "theme", "share"]
    pairs = {*zip(table["topic"].to_pylist(), table["theme"].to_pylist(), strict=True)}
    assert len({theme for _, theme in pairs}) <= USUAL_THEMES
    assert len(pairs) == len({topic for topic, _ in pairs})  # a topic has one theme
    assert all(theme for _, theme in pairs)


def test_mixtures_of_documents_have_a_map(corpus, tmp_path):
    model = MultinomialMixture(4, max_iter=5).fit(corpus)

    table = written(model, corpus, tmp_path / "map.parquet")

    assert len(table) == N_DOCS
    assert table["theme"] == table["topic"]


def test_documents_without_a_known_word_have_no_place(model, corpus):
    counts = corpus.to_csr().toarray()
    counts[::3] = 0
    known = np.flatnonzero(counts.any(axis=1))
    batch = next(corpus.batches())
    kept = [n for n in range(N_DOCS) if n % 3]
    assert known.tolist() == kept

    class Emptied:
        n_docs = N_DOCS

        def doc_ids(self):
            yield [f"d{n}" for n in range(N_DOCS)]

        def batches(self):
            rows = csr_array(counts)
            yield type(batch)(
                rows.indptr.astype(np.int64), rows.indices.astype(np.int32),
                rows.data.astype(np.uint32),
            )  # fmt: skip

    shares = document_map.shares_of(model.model_)
    (found,) = document_map._known(shares, Emptied())
    assert found[0] == [f"d{n}" for n in kept]
    assert found[1].tolist() == kept
    np.testing.assert_allclose(found[2] ** 2, model.transform(corpus)[kept])


def test_a_map_needs_topics_and_documents(model, corpus, tmp_path):
    with pytest.raises(OptionError, match="the same topics in all documents"):
        LDA(1).fit(corpus).export(tmp_path / "map", "datamapplot", corpus=corpus)
    few = corpus_of(n_docs=10)
    with pytest.raises(OptionError, match=r"too few documents .*needs 11 or more"):
        export_model(model._run(), "datamapplot", tmp_path / "map", documents=few)
    assert not [*tmp_path.iterdir()]
