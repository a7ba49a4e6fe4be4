"""Mixtures on the engine: a bound that never falls, the same moves as topics, the same bits."""

import itertools
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsetopics.base.batches import DocumentBatch, VectorBatch
from sparsetopics.base.errors import OptionError, ShapeError, SparsetopicsWarning
from sparsetopics.corpora.batching import plan_vector_batches
from sparsetopics.corpora.corpus import VectorCorpus
from sparsetopics.execution.executors import Executor, open_executor
from sparsetopics.inference.course import Hooks
from sparsetopics.inference.training import train
from sparsetopics.model.allocations.mixture import sum_item_terms
from sparsetopics.model.allocations.mixture_weights import DPMixture
from sparsetopics.options.training import LocalOptions, MoveOptions, TrainingOptions
from worlds.dense_responsibilities import sparse_of
from worlds.document_mixtures import draw_documents, items_of, n_removed
from worlds.gaussian_worlds import in_standard_coordinates
from worlds.patches import N_EDGES, edge_patches

LIKELIHOODS = ("zero-mean-gaussian", "gaussian", "diagonal-gaussian")
OF_ALL_DATA = (*LIKELIHOODS, "multinomial")
N_WORDS = 30


def options_of(n_components, **others):
    local = LocalOptions("mean-field", others.pop("sparsity", None), restarts=0)
    return TrainingOptions(n_components, local=local, **{"model": "dp-mixture"} | others)


def fit(values, options, *, seed=0, n_batches=4, workers=1, resident_bytes=10**6):
    """The model, and the course of training."""
    rng = np.random.default_rng(seed)
    if isinstance(values, DocumentBatch):
        source = items_of(values, N_WORDS, n_batches)
    else:
        corpus = VectorCorpus.from_array(values)
        source = plan_vector_batches(corpus, n_batches, rng, resident_bytes=resident_bytes)
        source = in_standard_coordinates(source, options.likelihood_name)
    course = []
    hooks = Hooks(on_lap=lambda info, model: course.append(info))
    with tempfile.TemporaryDirectory() as scratch, open_executor(workers) as executor:
        return train(source, options, Path(scratch), executor, rng, hooks=hooks), course


def clusters(seed, n_items=300, n_columns=3, n_clusters=5):
    rng = np.random.default_rng(seed)
    centres = rng.normal(0.0, 4.0, (n_clusters, n_columns))
    widths = rng.uniform(0.3, 1.5, (n_clusters, n_columns))
    kinds = rng.integers(n_clusters, size=n_items)
    noise = rng.standard_normal((n_items, n_columns))
    return (centres[kinds] + widths[kinds] * noise).astype(np.float32)


def data_of(likelihood, seed):
    """Items that the likelihood is for."""
    if likelihood == "multinomial":
        return draw_documents(seed, n_docs=300, n_words=N_WORDS, n_kinds=5).batch
    return clusters(seed)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    likelihood=st.sampled_from(OF_ALL_DATA),
    model=st.sampled_from(["dp-mixture", "mixture"]),
    n_components=st.integers(1, 9),
    sparsity=st.sampled_from([1, 2, 9]),
    n_batches=st.integers(1, 5),
)
def test_no_lap_lowers_the_bound(seed, likelihood, model, n_components, sparsity, n_batches):
    """By more than 1e-9 of it."""
    moves = MoveOptions(names=())
    options = options_of(
        n_components, sparsity=min(sparsity, n_components), model=model, likelihood=likelihood,
        moves=moves, laps=8,
    )  # fmt: skip

    _, course = fit(data_of(likelihood, seed), options, seed=seed, n_batches=n_batches)

    bounds = np.array([info.elbo_per_token for info in course])
    assert np.diff(bounds).min(initial=0.0) >= -1e-9 * np.abs(bounds).max()


@pytest.mark.parametrize("likelihood", OF_ALL_DATA)
@pytest.mark.parametrize(("start", "sparsity"), [(1, None), (12, 1), (25, 2)])
def test_every_move_keeps_its_promises(likelihood, start, sparsity):
    """Verified: everything is recomputed after each, and the score never falls."""
    moves = MoveOptions(verify=True)
    options = options_of(start, sparsity=sparsity, likelihood=likelihood, moves=moves, laps=25)

    model, course = fit(data_of(likelihood, 3), options)

    assert model.n_topics != start
    assert 2 <= model.n_topics <= 12
    bounds = [info.elbo_per_token for info in course]
    assert min(np.diff(bounds)) >= -1e-9 * abs(bounds[-1])
    assert n_removed(course) > 0 or start == 1


def test_moves_work_on_batches_that_are_streamed():
    """Which are kept with their responsibilities."""
    options = options_of(12, moves=MoveOptions(verify=True), laps=25)

    streamed, course = fit(clusters(3), options, resident_bytes=0)

    resident, _ = fit(clusters(3), options)
    assert n_removed(course) > 0
    assert streamed.n_topics == resident.n_topics
    np.testing.assert_allclose(streamed.weights, resident.weights, atol=0.01)


@pytest.mark.parametrize(("seed", "start"), [(0, 1), (1, 30)])
def test_the_eight_kinds_of_patches_are_found(seed, start):
    """Hughes & Sudderth (2013), section 4.1, with fewer patches."""
    patches = edge_patches(np.random.default_rng(seed), 6_000)
    options = options_of(start, likelihood="zero-mean-gaussian")

    model, _ = fit(patches.values, options, seed=seed)

    assert model.n_topics == N_EDGES, f"seed {seed}"
    np.testing.assert_allclose(model.weights, 1 / N_EDGES, atol=0.02)
    found = model.normals.covariances
    gaps = np.linalg.norm(found[:, None] - patches.covariances[None], axis=(2, 3))
    gaps /= np.linalg.norm(patches.covariances, axis=(1, 2))
    assert sorted(gaps.argmin(axis=1)) == list(range(N_EDGES)), f"seed {seed}"
    assert gaps.min(axis=1).max() < 0.15, f"seed {seed}"


def greedily_merged(values, model, number):
    """The components of ``number`` (one for each of the model's), merged while that raises the ELBO
    of ``values`` alone."""
    own = sparse_of(model.responsibilities(values)).renumbered(number)
    values = model.likelihood.coordinates(values)
    n_topics = int(number.max()) + 1

    def judged(number, n_left):
        found = own.renumbered(number)
        moments = model.likelihood.zeros(n_left).sum_items(values, found, Executor())
        terms = sum_item_terms(VectorBatch(values), found, n_left)
        weights = DPMixture(terms.counts, 10.0)
        return model.likelihood.log_evidence(moments).sum() + weights.elbo(terms), number

    best, merged = judged(np.arange(n_topics), n_topics)
    while merged.max() > 0:
        n_left = int(merged.max())
        trials = []
        for kept, absorbed in itertools.combinations(range(n_left + 1), 2):
            trial = np.where(merged == absorbed, kept, merged)
            trials.append(judged(trial - (trial > absorbed), n_left))
        score, trial = max(trials, key=lambda each: each[0])
        if score <= best:
            break
        best, merged = score, trial
    return merged[number]


@pytest.mark.parametrize("seed", range(2))
def test_merges_judged_by_single_batches_would_lose_most_components(seed):
    """Why moves are judged by the whole collection (Hughes & Sudderth 2013, section 4.1)."""
    patches = edge_patches(np.random.default_rng(seed), 6_000)
    options = options_of(1, likelihood="zero-mean-gaussian")
    model, _ = fit(patches.values, options, seed=seed)
    everything = np.arange(N_EDGES)
    number = everything
    for batch in np.split(patches.values, 100)[:15]:
        number = greedily_merged(batch, model, number)

    assert number.max() + 1 <= N_EDGES / 2, f"seed {seed}"
    whole = greedily_merged(patches.values, model, everything)
    np.testing.assert_array_equal(whole, everything, f"seed {seed}")


@pytest.mark.parametrize("learner", ["memoized", "full", "stochastic"])
@pytest.mark.parametrize("likelihood", OF_ALL_DATA)
def test_same_seed_same_bits_for_any_number_of_workers(monkeypatch, learner, likelihood):
    monkeypatch.setattr("sparsetopics.model.item_assignment.BLOCK_ITEMS", 16)
    options = options_of(6, sparsity=2, learner=learner, likelihood=likelihood, laps=6)

    data = data_of(likelihood, 1)

    (first, trace), *others = (fit(data, options, workers=n) for n in (1, 3))

    for model, course in others:
        for mine, theirs in zip(first.posterior, model.posterior, strict=True):
            assert np.asarray(mine).tobytes() == np.asarray(theirs).tobytes()
        assert [info.elbo_per_token for info in course] == [info.elbo_per_token for info in trace]


@pytest.mark.parametrize(("model", "start"), [("dp-mixture", "distant"), ("mixture", "random")])
def test_all_learners_reach_much_the_same_bound(model, start):
    """With as many components as there are clusters, and many laps."""
    bounds = {}
    for learner in ("memoized", "full", "stochastic"):
        options = options_of(
            5, model=model, learner=learner, start=start, moves=MoveOptions(names=()), laps=40
        )
        runs = [fit(clusters(2), options, seed=seed)[1] for seed in range(3)]
        bounds[learner] = max(course[-1].elbo_per_token for course in runs)

    assert max(bounds.values()) - min(bounds.values()) < 0.05, bounds


@pytest.mark.filterwarnings("ignore:The 9 columns vary in")
def test_items_that_cannot_be_a_mixture_are_refused():
    few = np.eye(4, 9, dtype=np.float32)

    with pytest.raises(ShapeError, match="expected at least 9, as many as columns, but found 4"):
        fit(few, options_of(1), n_batches=1)
    with pytest.raises(OptionError, match="must be at most 300, the number of items, but is 301"):
        fit(clusters(0), options_of(301))


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"local": LocalOptions()}, "local-update: must be mean-field with --model dp-"),
        ({"local": LocalOptions("mean-field", restarts=2)}, "restarts: must be 0 with --model dp"),
        ({"likelihood": "words"}, "likelihood: must be one of .*, but is 'words'"),
        ({"moves": MoveOptions(criterion="collapsed")}, "criterion: must be bound with --model"),
        (
            {"learn_hyperparameters": True},
            "learn-hyperparameters: is for lda and hdp, not for --model",
        ),
        ({"learner": "full", "moves": MoveOptions()}, "moves: must be none with --learner full."),
        ({"model": "mixture", "moves": MoveOptions()}, "moves: is for hdp and dp-mixture"),
        (
            {"model": "lda", "likelihood": "gaussian"},
            "likelihood: is for dp-mixture and mixture, not for --model lda",
        ),
    ],
)
def test_combinations_that_do_not_work_are_refused(others, message):
    local = LocalOptions("mean-field", restarts=0)
    with pytest.raises(OptionError, match=message):
        TrainingOptions(3, **{"model": "dp-mixture", "local": local} | others)


@pytest.mark.parametrize("likelihood", ["gaussian", "diagonal-gaussian"])
def test_a_constant_column_changes_nothing(likelihood):
    """It is named, and left out of distances."""
    values = clusters(0)
    more = np.insert(values, 1, 2.5, axis=1)
    options = options_of(5, likelihood=likelihood, laps=10)

    with pytest.warns(SparsetopicsWarning, match=r"4 columns vary in 3 .*always the same: 1"):
        model = fit(more, options)[0]

    without = fit(values, options)[0]
    # Axes may turn by what rounding leaves open, and single items then round to other float32.
    np.testing.assert_allclose(model.weights, without.weights, rtol=1e-4)
    found, expected = (each.responsibilities(x) for each, x in ((model, more), (without, values)))
    np.testing.assert_allclose(found, expected, atol=1e-4)
    np.testing.assert_allclose(model.normals.means[:, 1], 2.5)


def test_a_batch_of_one_item_and_equal_items_are_no_harm():
    values = np.repeat(clusters(4, n_items=6), 3, axis=0)
    options = options_of(4, likelihood="gaussian", laps=10)

    model, course = fit(values, options, n_batches=18)

    assert np.isfinite(course[-1].elbo_per_token)
    assert all(np.isfinite(array).all() for array in model.posterior)
