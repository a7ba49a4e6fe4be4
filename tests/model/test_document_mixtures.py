"""Mixtures of documents: what they find, streamed or not, and what they keep in a run folder."""

import json
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import logsumexp

from sparsetopics.base.batches import DocumentBatch, DocumentItemSource
from sparsetopics.base.errors import RunError, ShapeError, VocabularyError
from sparsetopics.base.sealed_files import write_sealed
from sparsetopics.corpora.batching import plan_batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.evaluation.scoring.mixture_scores import score_mixture
from sparsetopics.evaluation.scoring.topic_scores import Scoring
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.course import Hooks
from sparsetopics.inference.training import train
from sparsetopics.measures.clustering import score_clustering
from sparsetopics.model.allocations.mixture_weights import DPMixture
from sparsetopics.model.likelihoods.multinomial import Multinomial
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.options.training import LocalOptions, MoveOptions, TrainingOptions
from sparsetopics.runs.run import load_run, run_in_memory, save_run
from worlds.clumped_mixtures import draw_clumps, mixture_of, write_mixture
from worlds.document_mixtures import draw_documents, items_of, n_removed

N_WORDS = 30


def fit(source, n_components, *, seed=0, **others):
    """The model, and the course of training."""
    local = LocalOptions("mean-field", restarts=0)
    given = {"model": "dp-mixture", "likelihood": "multinomial", "local": local} | others
    course = []
    hooks = Hooks(on_lap=lambda info, model: course.append(info))
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as scratch:
        options = TrainingOptions(n_components, **given)
        return train(source, options, Path(scratch), Executor(), rng, hooks=hooks), course


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("start", [1, 20])
def test_the_kinds_of_documents_are_found(seed, start):
    """With as many components, from few and from many; short documents cannot all be told."""
    drawn = draw_documents(seed, 600, N_WORDS, n_kinds=4, n_tokens=60)

    model, _ = fit(items_of(drawn.batch, N_WORDS, 4), start, seed=seed)

    assert model.n_topics == 4, f"seed {seed}"
    found = model.responsibilities(drawn.batch).argmax(axis=1)
    assert score_clustering(drawn.kinds, found).hungarian_accuracy > 0.93, f"seed {seed}"
    np.testing.assert_allclose(model.weights, 0.25, atol=0.03)


def corpus_of(drawn):
    words = [f"word{number:02d}" for number in range(N_WORDS)]
    rows = np.zeros((drawn.batch.n_docs, N_WORDS), np.int64)
    rows[:] = drawn.counts
    return Corpus.from_csr(rows, words)


def test_streamed_documents_are_worth_as_much_as_those_in_memory():
    """Batches that keep documents and responsibilities, moves and all verified."""
    corpus = corpus_of(draw_documents(0, 300, N_WORDS))
    moves = MoveOptions(verify=True)
    counts = {}
    for pairs in (0, 10**6):
        source = plan_batches(corpus, 5, np.random.default_rng(0), resident_pairs=pairs)
        assert source.is_resident == (pairs > 0)
        model, course = fit(DocumentItemSource(source), 12, moves=moves)
        counts[pairs] = model.n_topics
        assert n_removed(course) > 0
    assert counts[0] == counts[10**6]


def test_counts_need_not_be_whole():
    """Then sums round, and every move still keeps its promises."""
    drawn = draw_documents(0, 300, N_WORDS)
    thirds = drawn.batch.word_counts.astype(np.float32) / np.float32(3.0)
    batch = DocumentBatch(drawn.batch.indptr, drawn.batch.word_ids, thirds)

    model, course = fit(items_of(batch, N_WORDS, 4), 12, moves=MoveOptions(verify=True))

    bounds = np.array([info.elbo_per_token for info in course])
    assert np.diff(bounds).min() >= -1e-9 * np.abs(bounds).max()
    assert 2 <= model.n_topics < 12


@pytest.mark.parametrize("learner", ["memoized", "full", "stochastic"])
def test_the_bound_is_told_per_token(learner):
    """As that of topics; and it is that of the components in the model."""
    drawn = draw_documents(1, 200, N_WORDS)
    source = items_of(drawn.batch, N_WORDS, 4)

    model, course = fit(source, 4, learner=learner, laps=12, moves=MoveOptions(()))

    per_token = model.log_densities(drawn.batch).sum() / drawn.counts.sum()
    assert course[-1].elbo_per_token < per_token < course[-1].elbo_per_token + 0.3


def test_a_document_s_density_is_that_of_the_mixture_at_its_mean():
    drawn = draw_documents(2, 50, N_WORDS)
    model, _ = fit(items_of(drawn.batch, N_WORDS, 1), 3, laps=2, model="mixture")

    found = model.log_densities(drawn.batch)

    logs = drawn.counts @ np.log(model.topic_word_mean).T
    expected = logsumexp(logs, b=model.weights, axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.fixture
def model():
    """Of the documents' own kinds."""
    drawn = draw_documents(3, 80, N_WORDS)
    prior = Multinomial(N_WORDS, 0.2)
    tables = np.stack([drawn.counts[drawn.kinds == k].sum(axis=0) for k in range(4)], axis=1)
    counts = np.bincount(drawn.kinds).astype(float)
    components = prior.zeros(4)._replace(counts=counts, table=tables.astype(float))
    mixture = DPMixture(counts, 10.0)
    return MixturePosterior(
        "dp-mixture", "multinomial", prior, mixture, prior.posterior(components)
    )


@pytest.fixture
def words():
    names = tuple(f"word{number:02d}" for number in range(N_WORDS))
    return Vocabulary(names, np.ones(N_WORDS, np.int64), np.ones(N_WORDS, np.int64))


@pytest.fixture
def folder(tmp_path, model, words):
    run = tmp_path / "run"
    run.mkdir()
    settings = {"corpus": {"n_documents": 80}, "options": {}, "seed": 7}
    save_run(
        run, run_in_memory("run", model, words, settings, [{"lap": 1, "elbo_per_token": -2.5}])
    )
    return run


def test_a_saved_mixture_of_documents_comes_back(folder, model, words):
    batch = draw_documents(4, 20, N_WORDS).batch

    run = load_run(folder)

    assert run.model.likelihood == model.likelihood
    assert run.words.fingerprint == words.fingerprint
    assert type(run.model.posterior) is type(model.posterior)
    for method in ("log_densities", "responsibilities"):
        np.testing.assert_array_equal(
            getattr(run.model, method)(batch), getattr(model, method)(batch)
        )
    assert run.reading(Corpus(words, ()), "heldout").vocabulary is words


def test_documents_of_other_words_and_vectors_are_refused(folder, words):
    run = load_run(folder)
    others = Vocabulary(words.words[::-1], words.document_frequency, words.term_frequency)

    with pytest.raises(
        VocabularyError, match=r"heldout: expected .* found another vocabulary \(30 words\)"
    ):
        run.reading(Corpus(others, ()), "heldout")
    with pytest.raises(ShapeError, match=r"heldout: .* trained with documents, not with vectors"):
        run.reading(SimpleNamespace(n_columns=30, fingerprint="columns"), "heldout")


def test_a_mixture_of_vectors_has_no_words(tmp_path, words):
    run = load_run(write_mixture(tmp_path / "run", mixture_of(draw_clumps(0), "gaussian")))

    with pytest.raises(
        RunError, match=r"expected a run .* found a mixture of vectors \(gaussian\)"
    ):
        run.reading(Corpus(words, ()), "heldout")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_words": 29}, r"topic_word_posterior: expected shape \(4, 29\), but found \(4, 30\)"),
        ({"n_words": "30"}, "n_words: expected a whole number, but found '30'"),
        ({"vocabulary_fingerprint": "abc"}, "its 30 words do not have the fingerprint"),
        (
            {"prior_word_concentration": 0.0},
            "prior_word_concentration: must be a positive number, but is 0.0",
        ),
        (
            {"likelihood": "gaussian"},
            "prior_degrees_of_freedom: must be a positive number, but is None",
        ),
    ],
)
def test_damage_is_told(folder, changes, message):
    path = folder / "model.json"
    write_sealed(path, json.loads(path.read_text()) | changes)

    with pytest.raises(RunError, match=message):
        load_run(folder)


def test_a_run_without_its_words_is_damaged(folder):
    (folder / "vocabulary.parquet").unlink()

    with pytest.raises(RunError, match="the file is missing"):
        load_run(folder)


def test_scores_are_told_per_document_and_per_token(folder):
    drawn = draw_documents(5, 60, N_WORDS)
    run = load_run(folder)

    card = score_mixture(run, held := corpus_of(drawn), held, Scoring())

    total = run.model.log_densities(drawn.batch).sum()
    assert card.log_likelihood_per_item == pytest.approx(total / 60)
    assert card.log_likelihood_per_token == pytest.approx(total / drawn.counts.sum())
    found = card.as_dict()
    assert found["elbo_per_token"] == -2.5
    assert found["n_tokens"] == drawn.counts.sum()
    assert "elbo_per_item" not in found
