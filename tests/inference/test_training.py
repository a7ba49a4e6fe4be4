"""Training as a whole: repeatable, monotone where promised, and sound on odd input."""

import itertools

import numpy as np
import pytest

import reference_lda
from sparsetopics.base import batches
from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.batching import plan_batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.execution.executors import Executor, open_executor
from sparsetopics.inference import document_step
from sparsetopics.inference.course import (
    QUIET_GAIN,
    QUIET_LAPS,
    Hooks,
    Setting,
    course_of,
    has_settled,
)
from sparsetopics.inference.document_step import fit_documents
from sparsetopics.inference.training import follow, train
from sparsetopics.inference.training_state import LapInfo
from sparsetopics.model import word_counts
from sparsetopics.model.memo import Memo
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.training import LocalOptions, TopicPrior, TrainingOptions
from worlds.dense_responsibilities import lda_globals
from worlds.simulated_documents import as_source, batch_of_counts, simulate

N_WORDS = 30


@pytest.fixture
def source():
    return as_source(simulate(np.random.default_rng(0), n_docs=90), N_WORDS, 3)


def bounds(trace):
    return np.array([info.elbo_per_token for info in trace])


def without_time(trace):
    return [info._replace(seconds=0.0) for info in trace]


def assert_same_bits(left, right):
    assert left.topic_word_posterior.tobytes() == right.topic_word_posterior.tobytes()
    assert left.doc_concentration.tobytes() == right.doc_concentration.tobytes()
    assert left.word_concentration == right.word_concentration


@pytest.mark.parametrize("learner", ["memoized", "full", "stochastic"])
@pytest.mark.parametrize("update", ["mean-field", "collapsed"])
def test_same_seed_same_bits_for_any_number_of_workers(monkeypatch, fit, source, learner, update):
    monkeypatch.setattr(batches, "BLOCK_PAIRS", 40)
    monkeypatch.setattr(word_counts, "BLOCK_ROWS", 3)
    options = TrainingOptions(5, 3, learner, LocalOptions(update, 2))

    (first, trace), *others = (fit(source, options, workers=workers) for workers in (1, 2, 3))

    for model, other_trace in others:
        assert_same_bits(model, first)
        assert without_time(other_trace) == without_time(trace)


def test_another_seed_gives_another_model(fit, source):
    first, second = (fit(source, TrainingOptions(5, 2), seed=seed)[0] for seed in (0, 1))

    assert not np.array_equal(first.topic_word_posterior, second.topic_word_posterior)


@pytest.mark.parametrize("update", ["mean-field", "collapsed"])
@pytest.mark.parametrize("entries", [1, 50, 700])
def test_chunks_give_the_same_statistics(monkeypatch, update, entries):
    rng = np.random.default_rng(3)
    batch, counts = simulate(rng), rng.gamma(0.5, 5.0, (N_WORDS, 6))
    current = lda_globals(counts, np.full(6, 0.1), 0.1)
    options = LocalOptions(update, 3)
    whole = fit_documents(batch, current, options, Executor())
    monkeypatch.setattr(document_step, "CHUNK_ENTRIES", entries * 3)

    chunked = fit_documents(batch, current, options, Executor())

    for part, other in zip(
        (*chunked.responsibilities, *chunked.summary.components),
        (*whole.responsibilities, *whole.summary.components),
        strict=True,
    ):
        np.testing.assert_array_equal(part, other)
    for mine, theirs in zip(chunked.summary.terms, whole.summary.terms, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert chunked.info == whole.info


@pytest.mark.parametrize("learner", ["memoized", "full"])
@pytest.mark.parametrize("sparsity", [1, 2, 8])
@pytest.mark.parametrize("seed", range(2))
def test_mean_field_training_never_lowers_the_bound(fit, learner, sparsity, seed):
    rng = np.random.default_rng(seed)
    source = as_source(simulate(rng, n_docs=120, n_topics=6), N_WORDS, 4)
    options = TrainingOptions(8, 12, learner, LocalOptions("mean-field", sparsity))

    _, trace = fit(source, options, seed=seed)

    largest_drop = -np.diff(bounds(trace)).min()
    assert largest_drop < 1e-9, f"seed {seed}: fell by {largest_drop:.3g} nats per token"
    assert sum(info.restarts_accepted for info in trace) > 0 or sparsity == 1
    assert bounds(trace)[-1] > bounds(trace)[0]


@pytest.mark.parametrize("learner", ["memoized", "full"])
def test_full_training_equals_plain_variational_bayes(fit, learner):
    rng = np.random.default_rng(4)
    batch = simulate(rng, n_docs=20, n_topics=3)
    start = TopicPosterior("lda", rng.gamma(2.0, 4.0, (3, N_WORDS)) + 0.1, np.full(3, 0.3), 0.1)
    local = LocalOptions("mean-field", 3, 25, tolerance=0.0, restarts=0)
    options = TrainingOptions(3, 6, learner, local, TopicPrior(0.9, 0.1))

    model, _ = fit(as_source(batch, N_WORDS), options, start=start)

    expected = reference_lda.variational_bayes(
        batch, start.topic_word_posterior - 0.1, np.full(3, 0.3), 0.1, laps=6, n_iterations=25
    )
    order = np.argsort(-expected.sum(axis=1))
    np.testing.assert_allclose(model.topic_word_posterior, expected[order], atol=2e-3)


@pytest.mark.parametrize("update", ["mean-field", "collapsed"])
def test_permuted_topics_of_a_start_give_the_same_model(fit, source, update):
    rng = np.random.default_rng(5)
    posterior = rng.gamma(0.5, 50.0, (5, N_WORDS)) + 0.1
    options = TrainingOptions(5, 3, local=LocalOptions(update, 2))
    order = rng.permutation(5)
    starts = [
        TopicPosterior("lda", posterior[topics], np.full(5, 0.1), 0.1)
        for topics in (np.arange(5), order)
    ]

    models, traces = zip(*(fit(source, options, start=start) for start in starts), strict=True)

    np.testing.assert_allclose(
        models[1].topic_word_posterior, models[0].topic_word_posterior, rtol=1e-5
    )
    np.testing.assert_allclose(bounds(traces[1]), bounds(traces[0]), rtol=1e-9)


def test_a_streamed_corpus_trains_as_well(fit):
    counts = np.random.default_rng(6).poisson(1.0, (40, N_WORDS))
    corpus = Corpus.from_csr(counts, [f"w{n:02}" for n in range(N_WORDS)])
    sources = [
        plan_batches(corpus, 2, np.random.default_rng(0), resident_pairs=pairs)
        for pairs in (0, 10**6)
    ]
    options = TrainingOptions(4, 3)

    (streamed, _), (resident, _) = (fit(source, options) for source in sources)

    assert_same_bits(streamed, resident)  # one row group, hence the same division


@pytest.mark.parametrize("learner", ["memoized", "full"])
def test_learned_hyperparameters_raise_the_bound(fit, learner):
    rng = np.random.default_rng(7)
    source = as_source(simulate(rng, n_docs=120, alpha=0.5, eta=0.5), N_WORDS, 3)
    local = LocalOptions("mean-field", 4)
    fixed, learned = (
        fit(source, TrainingOptions(4, 15, learner, local, learn_hyperparameters=learn))
        for learn in (False, True)
    )

    assert bounds(learned[1])[-1] > bounds(fixed[1])[-1] + 0.01
    assert np.diff(bounds(learned[1])).min() > -1e-9
    assert len(set(learned[0].doc_concentration)) == 4
    assert learned[1][-1].doc_concentration == pytest.approx(learned[0].doc_concentration.sum())
    assert learned[1][-1].word_concentration == learned[0].word_concentration != 0.1


@pytest.mark.parametrize("learner", ["memoized", "full", "stochastic"])
def test_topics_come_in_falling_order_of_weight(fit, source, learner):
    model, _ = fit(source, TrainingOptions(6, 3, learner))

    assert np.all(np.diff(model.weights) <= 0)
    assert model.weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("learner", ["memoized", "full"])
def test_topics_hold_every_token_once(fit, source, learner):
    model, _ = fit(source, TrainingOptions(6, 3, learner, prior=TopicPrior(0.5, 0.2)))

    n_tokens = (model.topic_word_posterior - 0.2).sum()
    assert n_tokens == pytest.approx(source.n_tokens, rel=1e-6)


def test_training_goes_on_from_a_saved_model(fit, source):
    """With one batch a start loses nothing, so the bound goes on rising."""
    whole = as_source(source.read(0), N_WORDS)
    options = TrainingOptions(5, 4, local=LocalOptions("mean-field", 5))
    model, trace = fit(whole, options)

    _, further = fit(whole, options, start=model)

    assert bounds(further)[0] > bounds(trace)[-1] - 1e-3
    assert bounds(further)[-1] >= bounds(further)[0]


@pytest.mark.parametrize("update", ["mean-field", "collapsed"])
def test_a_saved_model_is_not_forgotten_in_the_first_lap(fit, update):
    source = as_source(simulate(np.random.default_rng(8), n_docs=300), N_WORDS, 15)
    options = TrainingOptions(5, 12, local=LocalOptions(update, 5))
    model, trace = fit(source, options)

    _, further = fit(source, options, start=model)

    assert bounds(further)[0] > bounds(trace)[-1] - 0.03


@pytest.mark.parametrize("shape", [(4, N_WORDS), (5, N_WORDS + 1)])
def test_a_start_of_another_size_is_refused(fit, source, shape):
    start = TopicPosterior("lda", np.ones(shape), np.full(shape[0], 0.1), 0.1)

    with pytest.raises(OptionError, match=f"{shape[0]} topics over {shape[1]} words") as error:
        fit(source, TrainingOptions(5), start=start)
    assert "\n" not in str(error.value)


def test_the_trace_tells_how_it_went(fit, source):
    model, trace = fit(source, TrainingOptions(5, 3, local=LocalOptions("mean-field")))

    assert [info.lap for info in trace] == [1, 2, 3]
    assert all(info.n_topics == 5 and 1 <= info.active_topics <= 5 for info in trace)
    assert all(0 <= info.restarts_accepted <= info.restarts_proposed for info in trace)
    assert all(1 <= info.local_iterations_per_document <= 100 for info in trace)
    assert all(0 <= info.batches_kept_old <= 3 for info in trace)
    assert trace[0].seconds <= trace[-1].seconds
    assert trace[-1].doc_concentration == pytest.approx(model.doc_concentration.sum())


def infos_of(bounds, n_topics):
    """A trace that says no more than the rule of stopping reads."""
    rest = dict.fromkeys(LapInfo._fields, 0)
    return [
        LapInfo(**{**rest, "elbo_per_token": bound, "n_topics": n})
        for bound, n in zip(bounds, n_topics, strict=True)
    ]


LITTLE, MUCH = 0.9 * QUIET_GAIN, 1.1 * QUIET_GAIN


@pytest.mark.parametrize(
    ("changes", "n_topics", "settled"),
    [
        ([LITTLE] * QUIET_LAPS, 5, True),
        ([-LITTLE] * QUIET_LAPS, 5, True),
        ([0.0] * (QUIET_LAPS - 1), 5, False),
        ([], 5, False),
        ([MUCH] + [LITTLE] * QUIET_LAPS, 5, True),
        ([LITTLE] * QUIET_LAPS + [MUCH], 5, False),
        ([LITTLE] * QUIET_LAPS + [-MUCH], 5, False),
        ([MUCH] + [LITTLE] * (QUIET_LAPS - 1), 5, False),
        ([0.0] * QUIET_LAPS, [5] * QUIET_LAPS + [6], False),
        ([0.0] * QUIET_LAPS, [6] + [5] * QUIET_LAPS, False),
        ([0.0] * (QUIET_LAPS + 1), [6] + [5] * (QUIET_LAPS + 1), True),
    ],
)
def test_training_has_settled_after_some_quiet_laps(changes, n_topics, settled):
    bounds = -7.0 + np.cumsum([0.0, *changes])
    sizes = n_topics if isinstance(n_topics, list) else [n_topics] * len(bounds)

    assert has_settled(infos_of(bounds, sizes), QUIET_GAIN) == settled


def test_documents_are_reported_as_they_are_done(tmp_path, source):
    done = []
    hooks = Hooks(on_documents=lambda n_done, n_docs: done.append((n_done, n_docs)))

    train(
        source,
        TrainingOptions(3, 2),
        tmp_path,
        Executor(),
        np.random.default_rng(0),
        hooks=hooks,
    )

    assert done == [(30, 90), (60, 90), (90, 90)] * 2


ODD_DOCUMENTS = {
    "one word in the vocabulary": [[3], [1]],
    "one document": [[3, 0, 2]],
    "one token": [[0, 1]],
    "a word that nobody uses": [[3, 0, 2], [1, 0, 0]],
    "an empty document": [[3, 1, 2], [0, 0, 0], [1, 1, 0]],
    "fractional counts": [[0.2, 0.3, 0.0], [0.5, 0.1, 1.5], [1e-9, 0.0, 0.0], [0.01, 0.2, 0.9]],
    "huge counts": [[2**31, 1, 0], [0, 2**31, 7], [1, 0, 2**31]],
}
EXTREMES = [(1e-6, 1e-6), (1e-6, 1e3), (1e3, 1e-6), (1e3, 1e3), (0.5, 0.1)]


@pytest.mark.filterwarnings("ignore:There are more:sparsetopics.base.errors.SparsetopicsWarning")
@pytest.mark.parametrize("documents", ODD_DOCUMENTS.values(), ids=ODD_DOCUMENTS.keys())
@pytest.mark.parametrize("update", ["mean-field", "collapsed"])
@pytest.mark.parametrize("learner", ["memoized", "full", "stochastic"])
def test_odd_input_gives_finite_results(fit, documents, update, learner):
    """Each prior with two of the numbers of topics."""
    source = as_source(batch_of_counts(documents), len(documents[0]))
    for n_topics, (alpha, eta) in zip(itertools.cycle((1, 3, 20)), 2 * EXTREMES):
        prior = TopicPrior(alpha, eta)
        options = TrainingOptions(n_topics, 2, learner, LocalOptions(update), prior)

        model, trace = fit(source, options)

        assert np.isfinite(bounds(trace)).all()
        assert np.isfinite(model.topic_word_posterior).all()
        assert (model.topic_word_posterior > 0).all()
        n_tokens = model.topic_word_posterior.sum() - model.topic_word_posterior.size * eta
        assert n_tokens == pytest.approx(source.n_tokens, rel=1e-5, abs=1e-6)


def test_scratch_files_do_not_change_the_result(monkeypatch, fit, source, tmp_path):
    options = TrainingOptions(5, 3, local=LocalOptions("mean-field", 2))
    in_memory, _ = fit(source, options)
    monkeypatch.setattr(Memo.__init__, "__defaults__", (0,))

    on_disk, _ = fit(source, options)

    assert_same_bits(on_disk, in_memory)
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("learner", ["memoized", "full", "stochastic"])
def test_the_end_tells_what_learning_can_go_on_from(tmp_path, source, learner):
    with open_executor(1) as executor:
        options, rng = TrainingOptions(4, 3, learner), np.random.default_rng(0)
        setting = Setting(source, source, options, executor, Memo(tmp_path), rng, Hooks())
        course = course_of(options)(setting)
        model = follow(course, None, None)

    statistics, prior = course.learned, course.parameters
    assert (course.kept_of(0) is None) == (learner != "memoized")
    posterior = np.sort(statistics.components.table.sum(axis=0))[::-1] + N_WORDS * 0.1
    np.testing.assert_allclose(model.topic_word_posterior.sum(axis=1), posterior)
    np.testing.assert_array_equal(prior.allocation.doc_concentration, np.full(4, 0.5 / 4))
    assert statistics.terms.n_docs == pytest.approx(90)
