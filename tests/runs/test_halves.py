"""How alike topics are in two halves of the documents: as the plain twin says, and kept in runs."""

import json
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sparsetopics import HDP, LDA, Corpus, load
from sparsetopics.base.batches import DocumentBatch
from sparsetopics.model import word_counts
from sparsetopics.model.assignments import Assignments
from sparsetopics.runs import session
from sparsetopics.runs.topics_in_documents import likeness_of_halves
from worlds.dense_responsibilities import dense_of, sparse_of

ONE = 2**10  # shares are multiples of 1 / ONE, so that their sums are exact


class World(NamedTuple):
    """Batches with the shares of their words, as a learner may keep them."""

    counts: np.ndarray  # (n_words, n_topics)
    kept: list[Assignments]


def draw_world(seed, n_batches, used=lambda batch_id, shares: shares):
    """Batches of a few documents; ``used`` may take shares, (n_pairs, n_topics), out of them."""
    rng = np.random.default_rng(seed)
    n_words, n_topics = (int(rng.integers(1, most)) for most in (12, 6))
    counts, kept = np.zeros((n_words, n_topics)), []
    for batch_id in range(n_batches):
        rows = sparse.csr_array(rng.poisson(0.8, (int(rng.integers(1, 5)), n_words)))
        batch = DocumentBatch(
            rows.indptr.astype(np.int64), rows.indices.astype(np.uint32), rows.data.astype(np.uint8)
        )
        shares = np.round(ONE * rng.dirichlet(np.full(n_topics, 0.3), batch.n_pairs)) / ONE
        found = sparse_of(used(batch_id, shares))
        np.add.at(counts, batch.word_ids, batch.weights[:, None] * dense_of(found, n_topics))
        kept.append(Assignments(batch, found))
    return World(counts, kept)


def twin(counts, kept):
    """One topic after the other: the words of even batches, those of the others, what they share"""
    found = []
    for topic in sorted(range(counts.shape[1]), key=lambda topic: -counts[:, topic].sum()):
        half = np.zeros(len(counts))
        for batch, responsibilities in kept[::2]:
            shares = dense_of(responsibilities, counts.shape[1])[:, topic]
            for word, count, share in zip(batch.word_ids, batch.word_counts, shares, strict=True):
                half[word] += float(count) * share
        rest = np.maximum(counts[:, topic] - half, 0.0)
        if half.sum() == 0.0 or rest.sum() == 0.0:
            found.append(0.0)
            continue
        found.append(np.minimum(half / half.sum(), rest / rest.sum()).sum())
    return found


@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.booleans())
def test_halves_are_as_alike_as_the_plain_twin_says(seed, n_batches, is_cut):
    counts, kept = draw_world(seed, n_batches)

    with pytest.MonkeyPatch.context() as patch:
        if is_cut:
            patch.setattr(word_counts, "BLOCK_ROWS", 2)
        found = likeness_of_halves(counts, n_batches, kept.__getitem__)

    np.testing.assert_allclose(found, twin(counts, kept), atol=1e-12)
    assert all(0.0 <= each <= 1.0 + 1e-9 for each in found)


@given(st.integers(0, 2**32 - 1), st.integers(0, 1))
def test_a_topic_of_one_half_is_like_nothing(seed, parity):
    def used(batch_id, shares):
        shares[:, 0] *= batch_id % 2 == parity
        return shares

    counts, kept = draw_world(seed, 4, used)

    found = likeness_of_halves(counts, 4, kept.__getitem__)

    order = np.argsort(-counts.sum(axis=0), kind="stable").tolist()
    assert found[order.index(0)] == 0.0
    np.testing.assert_allclose(found, twin(counts, kept), atol=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_equal_halves_are_alike(seed):
    counts, kept = draw_world(seed, 3)

    found = likeness_of_halves(2.0 * counts, 6, lambda batch_id: kept[batch_id // 2])

    expected = np.sort(counts.sum(axis=0))[::-1] > 0.0
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_nothing_is_said_if_the_learner_keeps_nothing():
    assert likeness_of_halves(np.ones((3, 2)), 4, lambda batch_id: None) == ()


# --- runs -----------------------------------------------------------------------------------------
def documents(n_docs=150):
    """Documents of four themes over words of their own, and of common words."""
    rng = np.random.default_rng(0)
    words = [f"word{n:02}" for n in range(40)]
    themes = np.hstack([np.kron(np.eye(4), rng.dirichlet(np.ones(8))), np.full((4, 8), 0.05)])
    rows = [rng.multinomial(40, themes[d % 4] / themes[d % 4].sum()) for d in range(n_docs)]
    return Corpus.from_csr(sparse.csr_array(np.array(rows)), words)


@pytest.mark.parametrize("kind", [LDA, HDP])
def test_a_run_has_an_entry_for_each_topic(kind, tmp_path, monkeypatch):
    given_to, batches = [], []

    def watched(counts, n_batches, kept):
        given_to.append(counts.copy())
        batches.append([kept(batch_id) for batch_id in range(n_batches)])
        return likeness_of_halves(counts, n_batches, kept)

    monkeypatch.setattr(session, "likeness_of_halves", watched)

    model = kind(4, max_iter=5, n_batches=4).fit(documents())

    model.save(tmp_path / "run")
    found = json.loads((tmp_path / "run" / "model.json").read_text())["likeness_of_halves"]
    assert len(found) == model.n_components_
    [(counts, kept)] = zip(given_to, batches, strict=True)
    assert len(kept) == 4
    np.testing.assert_allclose(found, twin(counts, kept), atol=1e-9)
    sizes = counts.sum(axis=0)
    np.testing.assert_allclose(
        np.sort(sizes)[::-1], model.model_.exact_counts.sum(axis=1), atol=1e-6
    )
    again = load(tmp_path / "run")
    again.save(tmp_path / "again")
    settings = json.loads((tmp_path / "again" / "model.json").read_text())
    assert settings["likeness_of_halves"] == found


def test_themes_that_stay_have_alike_halves():
    model = LDA(4, max_iter=8, random_state=0).fit(documents())

    assert min(model._run().settings["likeness_of_halves"]) > 0.8


def test_learners_that_keep_no_documents_say_nothing():
    model = LDA(3, learner="stochastic", max_iter=2).fit(documents())

    assert "likeness_of_halves" not in model._run().settings
