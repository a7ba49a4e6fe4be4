"""Training the HDP without moves: repeatable, monotone under mean-field, sound on odd input."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import reference_hdp
from reference_hdp import Prior
from sparsetopics.base import batches
from sparsetopics.execution.executors import Executor
from sparsetopics.inference import document_step
from sparsetopics.inference.course import Hooks
from sparsetopics.inference.document_step import fit_documents
from sparsetopics.inference.learners.full import FullLearner
from sparsetopics.inference.learners.learner import Visit
from sparsetopics.inference.learners.stochastic import StochasticLearner
from sparsetopics.inference.training import train
from sparsetopics.model import word_counts
from sparsetopics.model.allocations.hdp import HDPAllocation
from sparsetopics.options.training import (
    LocalOptions,
    MoveOptions,
    StepSizes,
    TopicPrior,
    TrainingOptions,
)
from worlds.dense_responsibilities import dense_of
from worlds.simulated_documents import as_source, batch_of_counts, simulate
from worlds.word_models import globals_of, start_of

N_WORDS = 30
WITHOUT_MOVES = MoveOptions(names=())
LEARNERS = pytest.mark.parametrize("learner", ["memoized", "full", "stochastic"])
UPDATES = pytest.mark.parametrize("update", ["mean-field", "collapsed"])


def options(n_topics, laps, learner="memoized", local=LocalOptions(), **others):  # noqa: B008
    return TrainingOptions(
        n_topics, laps, learner, local, model="hdp", moves=WITHOUT_MOVES, **others
    )


@pytest.fixture
def source():
    return as_source(simulate(np.random.default_rng(0), n_docs=90), N_WORDS, 3)


def bounds(trace):
    return np.array([info.elbo_per_token for info in trace])


def assert_same_bits(left, right):
    assert left.topic_word_posterior.tobytes() == right.topic_word_posterior.tobytes()
    assert left.sticks.means.tobytes() == right.sticks.means.tobytes()
    assert left.sticks.concentrations.tobytes() == right.sticks.concentrations.tobytes()


@LEARNERS
@UPDATES
def test_same_seed_same_bits_for_any_number_of_workers(monkeypatch, fit, source, learner, update):
    monkeypatch.setattr(batches, "BLOCK_PAIRS", 40)
    monkeypatch.setattr(word_counts, "BLOCK_ROWS", 3)
    given = options(5, 3, learner, LocalOptions(update, 2))

    (first, trace), (second, other) = (fit(source, given, workers=workers) for workers in (1, 2))

    assert_same_bits(first, second)
    np.testing.assert_array_equal(bounds(trace), bounds(other))


@LEARNERS
@UPDATES
def test_the_model_is_an_hdp_of_all_tokens(fit, source, learner, update):
    model, trace = fit(source, options(6, 4, learner, LocalOptions(update)))

    assert model.name == "hdp"
    assert model.n_topics == 6
    weights = model.sticks.global_topic_weights
    assert (weights > 0).all()
    assert weights.sum() < 1
    np.testing.assert_allclose(model.doc_concentration, 0.5 * weights)
    assert np.all(np.diff(model.weights) <= 0)
    assert np.corrcoef(weights, model.weights)[0, 1] > 0.8
    assert [info.n_topics for info in trace] == [6] * 4
    if learner != "stochastic":
        n_tokens = (model.topic_word_posterior - 0.1).sum()
        assert n_tokens == pytest.approx(source.n_tokens, rel=1e-6)


@pytest.mark.parametrize("learner", ["memoized", "full"])
@pytest.mark.parametrize("sparsity", [1, 2, 8])
@pytest.mark.parametrize("seed", range(2))
def test_mean_field_never_lowers_the_bound(fit, learner, sparsity, seed):
    """To 1e-8 nats per token: shares are rounded to float32 after each visit, by some 3e-8.

    A rounded r is as good a choice as any, but not quite the best one any more.
    """
    rng = np.random.default_rng(seed)
    source = as_source(simulate(rng, n_docs=120, n_topics=6), N_WORDS, 4)

    _, trace = fit(source, options(8, 12, learner, LocalOptions("mean-field", sparsity)), seed=seed)

    largest_drop = -np.diff(bounds(trace)).min()
    assert largest_drop < 1e-8, f"seed {seed}: fell by {largest_drop:.3g} nats per token"
    assert bounds(trace)[-1] > bounds(trace)[0]


@pytest.mark.parametrize("learner", ["memoized", "full"])
@pytest.mark.parametrize("seed", range(2))
def test_learned_gamma_raises_the_bound(fit, learner, seed):
    rng = np.random.default_rng(seed)
    source = as_source(simulate(rng, n_docs=120, n_topics=6), N_WORDS, 4)
    local, prior = LocalOptions("mean-field"), TopicPrior(top_concentration=200.0)

    fixed, learned = (
        fit(source, options(8, 12, learner, local, prior=prior, learn_hyperparameters=learn))
        for learn in (False, True)
    )

    assert bounds(learned[1])[-1] > bounds(fixed[1])[-1], f"seed {seed}"
    assert -np.diff(bounds(learned[1])).min() < 1e-8, f"seed {seed}"
    assert learned[0].sticks.top_concentration != fixed[0].sticks.top_concentration == 200.0


def test_a_run_with_one_batch_equals_the_full_learner(fit, source):
    """As far as L-BFGS goes: sums that differ in their last bits stop it at another step."""
    whole = as_source(source.read(0), N_WORDS)
    local = LocalOptions("mean-field", 3)

    (memoized, trace), (full, other) = (
        fit(whole, options(5, 6, learner, local)) for learner in ("memoized", "full")
    )

    np.testing.assert_allclose(bounds(trace), bounds(other), rtol=1e-6)
    np.testing.assert_allclose(
        memoized.topic_word_posterior, full.topic_word_posterior, rtol=1e-3, atol=1e-3
    )
    np.testing.assert_allclose(
        memoized.sticks.global_topic_weights, full.sticks.global_topic_weights, rtol=1e-3
    )


@UPDATES
def test_a_stochastic_step_of_size_one_on_all_documents_equals_a_full_step(update):
    rng = np.random.default_rng(7)
    batch, counts = simulate(rng), rng.gamma(0.5, 10.0, (N_WORDS, 5))
    allocation = HDPAllocation.first(5, batch.n_docs, TopicPrior())
    current = globals_of(counts, allocation, 0.1)
    found = fit_documents(batch, current, LocalOptions(update), Executor())
    visit = Visit(0, found.summary, batch, found.responsibilities)
    learners = StochasticLearner(batch.n_docs, StepSizes(delay=0.0)), FullLearner(False)

    one, other = (
        learner.step_in_place(learner.init(start_of(counts)), [visit], current)[0]
        for learner in learners
    )

    found = [each.components(state) for each, state in zip(learners, (one, other), strict=True)]
    np.testing.assert_allclose(found[0].table, found[1].table, atol=1e-9)
    weights = [
        allocation.updated(learner.terms(state)).weights
        for learner, state in zip(learners, (one, other), strict=True)
    ]
    np.testing.assert_allclose(*weights, rtol=1e-9)
    assert not np.allclose(weights[0], allocation.weights)


@pytest.mark.parametrize("learner", ["memoized", "full"])
@UPDATES
def test_the_last_bound_of_the_trace_is_that_of_plain_numpy(monkeypatch, tmp_path, learner, update):
    """The twin is given the last responsibilities, topics and sticks.

    Its θ are the best for these sticks; the engine's are those of the visits, so that its bound
    may be a little below.
    """
    source = as_source(simulate(np.random.default_rng(2), n_docs=40), N_WORDS)
    found, after = [], []
    original = document_step.summarize
    monkeypatch.setattr(
        document_step, "summarize", lambda *given: (found.append(given[1]), original(*given))[1]
    )
    hooks = Hooks(on_lap=lambda info, model: after.append((info, model.func.__self__.current)))
    given = options(4, 6, learner, LocalOptions(update, restarts=0))
    given = replace(given, smoothing=0.1)  # learning it visits documents once more

    train(source, given, tmp_path, Executor(), np.random.default_rng(0), hooks=hooks)

    info, current = after[-1]
    sticks = current.allocation.sticks
    shares = dense_of(found[-1], 4)
    visit = reference_hdp.at_optimum(source.read(0), shares, sticks.means, 0.5)
    posterior = current.components.table.T + 0.1
    given = (sticks.means, sticks.concentrations, Prior(10.0, 0.5, 0.1))
    best = reference_hdp.elbo([visit], posterior, *given) / source.n_tokens
    assert info.elbo_per_token <= best + 1e-8
    assert info.elbo_per_token == pytest.approx(best, abs=1e-3)


ODD_DOCUMENTS = {
    "one word in the vocabulary": [[3], [1]],
    "one token": [[0, 1]],
    "a word that nobody uses": [[3, 0, 2], [1, 0, 0]],
    "an empty document": [[3, 1, 2], [0, 0, 0], [1, 1, 0]],
    "fractional counts": [[0.2, 0.3, 0.0], [0.5, 0.1, 1.5], [1e-9, 0.0, 0.0], [0.01, 0.2, 0.9]],
    "huge counts": [[2**31, 1, 0], [0, 2**31, 7], [1, 0, 2**31]],
}
EXTREMES = [(1e-6, 1e-6), (1e-3, 1e3), (1e3, 1e-6), (1e3, 1e3), (0.5, 0.1)]


@pytest.mark.filterwarnings("ignore:There are more:sparsetopics.base.errors.SparsetopicsWarning")
@pytest.mark.parametrize("documents", ODD_DOCUMENTS.values(), ids=ODD_DOCUMENTS.keys())
@UPDATES
@LEARNERS
def test_odd_input_gives_finite_results(fit, documents, update, learner):
    """Each prior with two of the numbers of topics, and with both gammas."""
    source = as_source(batch_of_counts(documents), len(documents[0]))
    gammas = itertools.cycle((1e-3, 1e3))
    for n_topics, (alpha, eta) in zip(itertools.cycle((1, 3, 20)), 2 * EXTREMES):
        prior = TopicPrior(alpha, eta, next(gammas))

        model, trace = fit(source, options(n_topics, 2, learner, LocalOptions(update), prior=prior))

        assert np.isfinite(bounds(trace)).all()
        assert np.isfinite(model.topic_word_posterior).all()
        assert (model.topic_word_posterior > 0).all()
        assert (model.doc_concentration > 0).all()
        assert model.sticks.global_topic_weights.sum() <= 1.0 + 1e-12
