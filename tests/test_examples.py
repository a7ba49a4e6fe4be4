"""Documents and items that stand for topics and components, against plain sorting."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from clumped_mixtures import draw_clumps, mixture_of
from document_mixtures import draw_documents
from sparsetopics import VectorCorpus
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.evaluation.report import examples
from sparsetopics.evaluation.report.examples import example_documents, example_items, spread_evenly
from sparsetopics.inference.document_step import topic_proportions

WORDS = tuple(f"word{number}" for number in range(30))


@pytest.fixture
def corpus():
    counts = draw_documents(1, n_docs=40).counts
    return Corpus.from_csr(csr_array(counts), WORDS, [f"doc {n}" for n in range(len(counts))])


def test_examples_are_the_documents_of_the_largest_shares(corpus, model):
    found = example_documents(corpus, model.topic_word_mean, model.doc_concentration, WORDS)

    (batch,) = corpus.batches()
    shares = topic_proportions(batch, model.topic_word_mean, model.doc_concentration)
    assert (found.n_seen, found.n_rows) == (40, 40)
    for topic, own in enumerate(found.of_topics):
        best = np.argsort(-shares[:, topic], kind="stable")[:3]
        assert [each.name for each in own] == [f"doc {row}" for row in best]
        assert [each.closeness for each in own] == shares[best, topic].tolist()


def test_the_words_of_an_example_are_those_that_owe_it_most(corpus, model):
    found = example_documents(corpus, model.topic_word_mean, model.doc_concentration, WORDS)

    (batch,) = corpus.batches()
    shares = topic_proportions(batch, model.topic_word_mean, model.doc_concentration)
    example = found.of_topics[2][0]
    row = int(example.name.removeprefix("doc "))
    pairs = slice(batch.indptr[row], batch.indptr[row + 1])
    owed = {}
    for word, count in zip(batch.word_ids[pairs], batch.word_counts[pairs], strict=True):
        joint = shares[row] * model.topic_word_mean[:, word]
        owed[WORDS[word]] = float(count * joint[2] / joint.sum())
    assert example.words == sorted(owed, key=owed.get, reverse=True)[: len(example.words)]


def test_batches_do_not_matter(corpus, model, monkeypatch):
    whole = example_documents(corpus, model.topic_word_mean, model.doc_concentration, WORDS)
    (batch,) = corpus.batches()

    class Part:
        def __init__(self, rows):
            self.rows, self.n_docs = rows, len(rows)

        def read(self):
            return batch.take(self.rows)

        def read_ids(self):
            return [f"doc {row}" for row in self.rows]

        def read_labels(self):
            return [None] * self.n_docs

    parts = Corpus(corpus.vocabulary, [Part(np.arange(n, n + 8)) for n in range(0, 40, 8)])

    assert example_documents(parts, model.topic_word_mean, model.doc_concentration, WORDS) == whole
    monkeypatch.setattr(examples, "MOST_ROWS", 16)
    few = example_documents(parts, model.topic_word_mean, model.doc_concentration, WORDS)
    assert (few.n_seen, few.n_rows) == (15, 40)  # three of each part


def test_examples_of_a_large_collection_are_of_all_of_it(monkeypatch):
    clumps = draw_clumps(0)
    corpus = VectorCorpus.from_array(clumps.values)
    monkeypatch.setattr(examples, "MOST_ROWS", 60)

    found = example_items(corpus, mixture_of(clumps, "gaussian"))

    seen = {int(each.name) for own in found.of_topics for each in own}
    assert seen <= set(spread_evenly(corpus.n_items, 60).tolist())
    assert max(seen) - min(seen) > corpus.n_items / 2


@pytest.mark.parametrize(("most", "chosen"), [(99, [0, 1, 2, 3]), (2, [1, 3]), (1, [2]), (0, [2])])
def test_places_are_spread_evenly(most, chosen):
    assert spread_evenly(4, most).tolist() == chosen


@pytest.mark.parametrize("likelihood", ["gaussian", "diagonal-gaussian"])
def test_items_nearest_to_a_mean_stand_for_a_component(likelihood):
    clumps = draw_clumps(0)
    model = mixture_of(clumps, likelihood)
    labels = [f"kind {kind}" for kind in clumps.kinds]

    found = example_items(VectorCorpus.from_array(clumps.values, labels=labels), model)

    densities = model.estimates.scorer().log_densities(clumps.values)
    owners = model.responsibilities(clumps.values).argmax(axis=1)
    for k, own in enumerate(found.of_topics):
        mine = np.flatnonzero(owners == k)
        best = mine[np.argsort(-densities[mine, k], kind="stable")][:3]
        assert [int(each.name) for each in own] == best.tolist()
        assert {each.label for each in own} == {labels[best[0]]}
        np.testing.assert_array_equal(own[0].values, clumps.values[best[0]])


def test_about_zero_the_surest_items_stand_for_a_component():
    clumps = draw_clumps(0)
    model = mixture_of(clumps, "zero-mean-gaussian")

    found = example_items(VectorCorpus.from_array(clumps.values), model)

    joint = model.estimates.scorer().log_densities(clumps.values) + np.log(model.weights)
    for k, own in enumerate(found.of_topics):
        others = np.delete(joint, k, axis=1).max(axis=1)
        margins = (joint[:, k] - others).astype(float)
        margins[margins < 0] = -np.inf
        best = np.argsort(-margins, kind="stable")[: len(own)]
        np.testing.assert_allclose([each.closeness for each in own], margins[best], rtol=1e-5)
