"""Growth on a kd-tree: nodes stand for their items exactly, refinement and splits are as said."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import xlogy

from sparsetopics.execution.executors import open_executor
from sparsetopics.inference.course import Hooks
from sparsetopics.inference.growth.refining import (
    cost_of_nodes,
    division_gains,
    node_worth,
    plan_refinement,
)
from sparsetopics.inference.growth.splitting import (
    fit_pairs,
    halves,
    largest_shares,
    own_nodes,
    terms_of_children,
    try_splits,
    with_splits,
)
from sparsetopics.inference.item_step import fit_items
from sparsetopics.inference.learners.accelerated import GrownState
from sparsetopics.inference.local_step import Globals, Parameters, elbo
from sparsetopics.inference.training import train
from sparsetopics.measures.clustering import score_clustering
from sparsetopics.model.allocations.mixture import sum_item_terms
from sparsetopics.model.allocations.mixture_weights import NestedAllocation
from sparsetopics.model.kd_tree import KdTree, LeafSource, NodeSource
from sparsetopics.model.statistics import Statistics
from sparsetopics.options.training import LocalOptions, TrainingOptions
from worlds.gaussian_worlds import (
    NAMES,
    SERIAL,
    draw_items,
    draw_prior,
    draw_shares,
    in_standard_coordinates,
    likelihood_of,
    sparse,
)
from worlds.separated_gaussians import Cloud, asterisk, c_separated

SEEDS = st.integers(0, 2**32 - 1)
each_likelihood = pytest.mark.parametrize("name", NAMES)


def tree_source(values, likelihood, n_nodes):
    zero = likelihood.zeros(1)
    tree = KdTree(values.copy(), np.ones(values.shape[1]), in_pairs=zero.squares.ndim == 3)
    return NodeSource(tree, n_nodes, len(values))


def world(name, seed, n_items=60, n_topics=3, n_columns=3, n_nodes=8):
    """A likelihood, a tree of items, components and a tail under some weights."""
    rng = np.random.default_rng(seed)
    likelihood = likelihood_of(draw_prior(name, n_columns, rng))
    values = draw_items(n_items, n_columns, rng)
    shares = np.hstack([draw_shares(n_items, n_topics, rng), np.zeros((n_items, 1))])
    moments = likelihood.zeros(n_topics + 1).sum_items(values, sparse(shares), SERIAL)
    allocation = NestedAllocation(moments.counts, 2.0)
    source = tree_source(values, likelihood, n_nodes)
    return source, values, Globals(moments.with_empty_tail(), allocation, likelihood)


def dense(found, n_topics):
    shares = np.zeros((len(found.starts) - 1, n_topics))
    rows = np.repeat(np.arange(len(shares)), np.diff(found.starts))
    shares[rows, found.topics] = found.shares
    return shares


def items_of(source):
    """The items of each outer node."""
    return [source.tree.items(node) for node in source.outer]


# --- nodes as items -------------------------------------------------------------------------------


@each_likelihood
@given(seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_a_node_scores_as_the_mean_of_its_items(name, seed):
    source, _, current = world(name, seed)
    batch, likelihood = source.read(0), current.likelihood

    scorer = likelihood.prepare_nodes(current.components)
    found = scorer(batch.values)

    of_items = likelihood.prepare(current.components)
    for row, items in zip(found, items_of(source), strict=True):
        logs = of_items(items).astype(np.float64).mean(axis=0)
        np.testing.assert_allclose(row, logs, rtol=1e-4, atol=1e-3)


@each_likelihood
@given(seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_a_node_gives_what_its_items_would(name, seed):
    """Moments and terms are those of all items with their node's responsibilities."""
    source, _, current = world(name, seed)
    batch, n_topics = source.read(0), current.components.n_topics
    shares = draw_shares(batch.n_docs, n_topics, np.random.default_rng(seed))
    lengths = [len(items) for items in items_of(source)]
    values, of_items = np.concatenate(items_of(source)), np.repeat(shares, lengths, axis=0)

    moments = current.components.sum_batch(batch, sparse(shares), SERIAL)
    terms = sum_item_terms(batch, sparse(shares), n_topics)

    expected = current.components.sum_items(values, sparse(of_items), SERIAL)
    for mine, theirs in zip(moments, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-5)
    own = sum_item_terms(LeafSource(values).read(0), sparse(of_items), n_topics)
    for mine, theirs in zip(terms, own, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)


# --- refinement -----------------------------------------------------------------------------------


def worth_under(current, local):
    return partial(node_worth, current=current, local=local, executor=SERIAL)


@each_likelihood
@given(seed=SEEDS, sparsity=st.sampled_from([1, 2, None]))
@settings(max_examples=25, deadline=None)
def test_refinement_never_raises_the_free_energy(name, seed, sparsity):
    """Under the same parameters, down to single items; and by as much as was foretold."""
    source, values, current = world(name, seed, n_nodes=1)
    local = LocalOptions("mean-field", sparsity)
    worth = [node_worth(source.read(0), current, local, SERIAL).sum()]
    while len(source.outer) < len(values):
        gains = division_gains(source, worth_under(current, local))
        before = len(source.outer)
        source.refine(source.outer)
        if len(source.outer) == before:
            break
        worth.append(node_worth(source.read(0), current, local, SERIAL).sum())
        rounding = 1e-5 * max(abs(worth[-1]), 1.0)
        assert worth[-1] >= worth[-2] - rounding
        assert worth[-1] - worth[-2] == pytest.approx(gains.sum(), abs=rounding)
    alone = node_worth(LeafSource(values).read(0), current, local, SERIAL).sum()
    assert worth[-1] == pytest.approx(alone, rel=1e-4)


@each_likelihood
@given(seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_no_more_nodes_are_divided_than_needed(name, seed):
    source, _, current = world(name, seed)
    local = LocalOptions("mean-field")
    gains = division_gains(source, worth_under(current, local))
    for share in (0.0, 0.3, 1.0):
        enough = share * gains.sum()
        positions = plan_refinement(source, worth_under(current, local), enough)
        left = gains.sum() - gains[positions].sum()
        assert left <= enough + 1e-9
        if len(positions) and share > 0.0:
            assert left + gains[positions].min() > enough
    source.most_nodes = len(source.outer) + 2
    few = plan_refinement(source, worth_under(current, local), 0.0)
    assert len(few) == min(2, len(np.flatnonzero(gains)))
    assert gains[few].sum() == pytest.approx(np.sort(gains)[-2:].sum())


@each_likelihood
@given(seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_nodes_cost_what_their_items_would_gain_alone(name, seed):
    source, values, current = world(name, seed)
    local = LocalOptions("mean-field")

    cost = cost_of_nodes(source, worth_under(current, local))

    alone = node_worth(LeafSource(values).read(0), current, local, SERIAL).sum()
    gain = alone - node_worth(source.read(0), current, local, SERIAL).sum()
    rounding = 1e-5 * max(abs(alone), 1.0)
    assert cost == pytest.approx(gain, abs=rounding)
    assert cost >= -rounding


def test_only_the_nodes_that_are_named_are_divided():
    source, _, _ = world("gaussian", 0)
    chosen = source.outer[[1, 4]]
    left = source.tree.children(chosen)

    source.refine(np.append(chosen, 10**6))  # one that is not there

    assert not np.isin(chosen, source.outer).any()
    assert np.isin([*left, *(left + 1)], source.outer).all()
    assert len(source.outer) == 10


def test_several_levels_are_as_many_refinements():
    source, _, _ = world("gaussian", 0)
    step_by_step, _, _ = world("gaussian", 0)
    chosen = source.outer[[1, 4]]
    nodes = chosen

    source.refine(chosen, 3)
    for _ in range(3):
        left = step_by_step.tree.children(nodes)
        step_by_step.refine(nodes)
        nodes = np.concatenate([left[left >= 0], left[left >= 0] + 1])

    for mine, theirs in zip(source.read(0).sums, step_by_step.read(0).sums, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert source.read(0).weights.sum() == source.n_docs


# --- splits ---------------------------------------------------------------------------------------


@each_likelihood
@pytest.mark.parametrize("axis", [0, 1])
def test_halves_together_are_the_whole(name, axis):
    _, _, current = world(name, 3)
    whole = current.components.take(np.array([0]))

    pair = halves(whole, axis, current.likelihood.coordinates.axis_widths)

    for both, one in zip(pair[:3], whole[:3], strict=True):
        np.testing.assert_allclose(both.sum(axis=0), one[0], rtol=1e-9, atol=1e-9)
    assert not np.allclose(pair.squares[0], pair.squares[1])


def tried(name, kind, seed, enough):
    """Splits of all components of a world after a lap, and what they were made from."""
    source, values, current = world(name, seed, n_items=400, n_nodes=64)
    if kind == "leaves":
        source = LeafSource(values)
    prior = Parameters(current.allocation, current.likelihood)
    found = fit_items(source.read(0), current, LocalOptions("mean-field"), SERIAL)
    state = GrownState(Statistics(*found.summary), found.responsibilities, False)
    prior = prior.updated(state.total.terms)
    return source, state, prior, try_splits(source, state, prior, 0, enough, SERIAL)


def bound_of(total, prior):
    after = prior.updated(total.terms)
    return elbo(total, after.with_components(total.components.with_empty_tail()))


@pytest.mark.parametrize("name", NAMES[:3])  # a sphere of known width need not divide
@pytest.mark.parametrize("kind", ["tree", "leaves"])
@pytest.mark.parametrize("seed", range(2))
def test_the_gain_of_a_split_is_the_rise_of_the_elbo(name, kind, seed):
    """And it is no rounding: the children's sums are those of shares, as a twin finds them."""
    source, state, prior, splits = tried(name, kind, seed, 0.0)
    assert splits, f"seed {seed}"
    assert [split.gain for split in splits] == sorted((s.gain for s in splits), reverse=True)
    before = bound_of(state.total, prior)
    for split in splits:
        total = with_splits(state.total, [split])
        assert total.components.n_topics == state.total.components.n_topics + 1
        assert bound_of(total, prior) - before == pytest.approx(split.gain, abs=1e-6 * abs(before))
        whole = state.total.components.take(np.array([split.component]))
        for both, one in zip(split.children[:3], whole[:3], strict=True):
            np.testing.assert_allclose(both.sum(axis=0), one[0], rtol=1e-9, atol=1e-7)
        np.testing.assert_allclose(split.by_topic[0], split.children.counts, rtol=1e-9)
        is_own = largest_shares(state.found)[0] == split.component
        assert set(split.nodes) <= set(source.outer[is_own]), f"seed {seed}"


@pytest.mark.parametrize("kind", ["tree", "leaves"])
@pytest.mark.parametrize("seed", range(2))
def test_children_have_what_their_shares_give_them(kind, seed):
    """Sums and entropies of both children, by the dense shares of all nodes."""
    source, state, prior, _ = tried("gaussian", kind, seed, 0.0)
    n_components = prior.allocation.n_topics
    nodes, parents = source.below
    owner, largest = largest_shares(state.found)
    own = own_nodes(nodes, owner[parents], largest[parents], n_components)
    whole = state.total.components.take(np.arange(n_components))

    trial = fit_pairs(own, whole, 0, prior, SERIAL)
    by_topic = terms_of_children(own, trial, state.total.terms)

    order = np.argsort(owner[parents], kind="stable")
    weights, before = nodes.weights, dense(state.found, n_components + 1)[parents]
    for k in range(n_components):
        is_own = (owner[parents] == k)[order]
        second = np.zeros(len(parents))
        second[order[is_own]] = trial.shares[own.owner == k, 1]
        second *= before[:, k]
        both = np.stack([before[:, k] - second, second], axis=1)
        children = whole.zeros_like().take(np.zeros(2, np.int64))
        expected = children.sum_batch(nodes, sparse(both), SERIAL)
        for mine, theirs in zip(trial.children[:3], expected[:3], strict=True):
            np.testing.assert_allclose(mine[2 * k : 2 * k + 2], theirs, rtol=1e-4, atol=1e-3)
        entropies = -(weights @ xlogy(both, both))
        np.testing.assert_allclose(by_topic[1, 2 * k : 2 * k + 2], entropies, atol=1e-3)


def test_all_splits_can_be_made_together():
    _, state, _, splits = tried("gaussian", "leaves", 1, 0.0)
    assert len(splits) > 1
    n_topics = state.total.components.n_topics

    total = with_splits(state.total, splits)

    assert total.components.n_topics == n_topics + len(splits)
    np.testing.assert_allclose(total.components.counts, total.terms.counts, rtol=1e-6, atol=1e-6)
    for values, before in zip(total.components[:3], state.total.components[:3], strict=True):
        np.testing.assert_allclose(values.sum(axis=0), before.sum(axis=0), rtol=1e-9, atol=1e-7)
    for place, split in enumerate(splits):
        for values, child in zip(total.components[:3], split.children[:3], strict=True):
            np.testing.assert_array_equal(values[split.component], child[0])
            np.testing.assert_array_equal(values[n_topics - 1 + place], child[1])


def test_nodes_stay_whole_where_dividing_them_adds_too_little():
    *_, fine = tried("gaussian", "tree", 0, 0.0)
    *_, coarse = tried("gaussian", "tree", 0, 1e9)
    assert any(len(split.nodes) for split in fine)
    assert not any(len(split.nodes) for split in coarse)
    assert [split.gain for split in fine] == [split.gain for split in coarse]


def test_the_owner_of_a_node_has_its_largest_share():
    shares = np.array([[0.5, 0.5, 0.0], [0.0, 0.25, 0.75], [0.0, 1.0, 0.0]])
    owner, largest = largest_shares(sparse(shares))
    assert owner.tolist() == [0, 2, 1]
    assert largest.tolist() == [0.5, 0.75, 1.0]


# --- training -------------------------------------------------------------------------------------


def grown(cloud, folder, seed=0, *, workers=1, say=lambda sentence: None, **options):
    course = []
    given_options = TrainingOptions(
        1, model="dp-mixture", learner="accelerated", local=LocalOptions("mean-field"), **options
    )
    source = in_standard_coordinates(cloud.source(), given_options.likelihood_name)
    with open_executor(workers) as executor:
        model = train(
            source, given_options, folder, executor, np.random.default_rng(seed),
            hooks=Hooks(on_lap=lambda info, model: course.append(info), say=say),
        )  # fmt: skip
    return model, course


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", ["gaussians", "asterisk"])
def test_it_finds_the_true_components_from_one(tmp_path, shape, seed):
    rng = np.random.default_rng(seed)
    cloud = asterisk(rng) if shape == "asterisk" else c_separated(rng, 5_000, 16, 2.0)
    n_true = 8 if shape == "asterisk" else 10

    model, course = grown(cloud, tmp_path, seed)

    assert model.n_topics == n_true, f"seed {seed}"
    shares = model.responsibilities(cloud.values)
    agreement = score_clustering(cloud.kinds, shares.argmax(axis=1))
    assert agreement.hungarian_accuracy > 0.97, f"seed {seed}"
    bounds = [info.elbo_per_token for info in course]
    assert all(later >= former - 1e-9 for former, later in pairwise(bounds))


@pytest.mark.parametrize("seed", range(2))
def test_growth_leaves_a_tree_whose_nodes_are_all_alike(tmp_path, seed):
    """Clusters about the same point differ in shape alone, so large nodes have items of all."""
    rng = np.random.default_rng(seed)
    lengths = [np.where(np.arange(20) % 4 == kind, 3.0, 0.6) for kind in range(4)]
    roots = np.array([np.linalg.qr(rng.normal(size=(20, 20)))[0] * each for each in lengths])
    kinds = rng.integers(4, size=2_000)
    values = np.einsum("nij,nj->ni", roots[kinds], rng.normal(size=(2_000, 20)))
    cloud, said = Cloud(values.astype(np.float32), kinds), []

    model, _ = grown(cloud, tmp_path / "tree", seed, say=said.append)
    plain, _ = grown(cloud, tmp_path / "items", seed, tree_tolerance=0.0)

    assert said == ["All nodes of the kd-tree are alike: growth uses all items now."]
    assert model.n_topics == plain.n_topics > 1, f"seed {seed}"


@pytest.mark.parametrize("seed", range(2))
def test_the_tree_comes_close_to_all_items(tmp_path, seed):
    cloud = c_separated(np.random.default_rng(seed), 4_000, 8, 2.0, n_components=5)

    _, on_tree = grown(cloud, tmp_path / "tree", seed)
    plain, on_items = grown(cloud, tmp_path / "items", seed, tree_tolerance=0.0)

    assert plain.n_topics == 5
    ratio = on_tree[-1].elbo_per_token / on_items[-1].elbo_per_token
    assert 1.0 - 1e-6 <= ratio <= 1.02, f"seed {seed}"


def test_a_finer_tree_has_the_higher_bound(tmp_path):
    cloud = c_separated(np.random.default_rng(0), 4_000, 8, 2.0, n_components=5)
    bounds = [
        grown(cloud, tmp_path, tree_tolerance=tolerance)[1][-1].elbo_per_token
        for tolerance in (0.1, 0.01, 0.001, 0.0)
    ]
    assert (np.diff(bounds) >= -1e-12).all()
    assert bounds[0] < bounds[-1] - 1e-3


@pytest.mark.parametrize("seed", range(2))
def test_growth_ends_on_all_items_where_nodes_cost_too_much(tmp_path, seed):
    """It says so, and reaches what growth on all items alone reaches."""
    cloud = c_separated(np.random.default_rng(seed), 6_000, 8, 1.0, n_components=5)
    said, nothing = [], []

    model, course = grown(cloud, tmp_path, seed, say=said.append)
    plain, on_items = grown(cloud, tmp_path, seed, say=nothing.append, tree_tolerance=0.0)

    assert len(said) == 1, f"seed {seed}"
    assert "--tree-tolerance allows 0.005: growth uses all items now" in said[0]
    assert nothing == []
    assert model.n_topics == plain.n_topics, f"seed {seed}"
    assert course[-1].elbo_per_token == pytest.approx(on_items[-1].elbo_per_token, abs=0.01)


def test_few_items_need_no_tree(tmp_path):
    cloud = c_separated(np.random.default_rng(0), 200, 8, 2.0, n_components=2)
    said = []

    model, _ = grown(cloud, tmp_path, say=said.append)

    assert said == [
        "200 items of 8 values are too few for a kd-tree to pay: growth uses all items."
    ]
    assert model.n_topics == 2


@pytest.mark.parametrize("seed", range(2))
def test_two_clusters_far_apart_are_found(tmp_path, seed):
    cloud = c_separated(np.random.default_rng(seed), 1_000, 8, 4.0, n_components=2)

    model, _ = grown(cloud, tmp_path)

    assert model.n_topics == 2


@pytest.mark.parametrize("tolerance", [None, 0.0])
def test_the_same_seed_gives_the_same_bits_for_any_workers(tmp_path, tolerance):
    cloud = c_separated(np.random.default_rng(0), 3_000, 4, 2.0, n_components=4)
    models = [
        grown(cloud, tmp_path, 5, workers=workers, tree_tolerance=tolerance)[0]
        for workers in (1, 1, 2)
    ]
    posteriors = [[array.tobytes() for array in model.posterior] for model in models]
    assert posteriors[0] == posteriors[1] == posteriors[2]


@pytest.mark.parametrize("name", ["diagonal-gaussian", "zero-mean-gaussian"])
def test_other_likelihoods_grow_too(tmp_path, name):
    rng = np.random.default_rng(0)
    if name == "diagonal-gaussian":
        cloud = c_separated(rng, 2_000, 3, 4.0, n_components=3)
    else:  # two directions through the origin
        angles, lengths = np.repeat([0.3, 1.6], 1_000), rng.normal(0.0, 3.0, 2_000)
        values = lengths[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        values += rng.normal(0.0, 0.05, (2_000, 2))
        cloud = c_separated(rng, 2_000, 2, 1.0)._replace(values=values.astype(np.float32))

    model, course = grown(cloud, tmp_path, likelihood=name, tree_tolerance=0.001)

    assert 2 <= model.n_topics <= 6
    assert course[-1].elbo_per_token > course[0].elbo_per_token - 1e-9


@pytest.mark.filterwarnings("ignore:The 2 columns vary in 1 direction only")
def test_items_that_are_all_alike_but_one_make_one_component(tmp_path):
    values = np.zeros((50, 2), np.float32)
    values[0] = 1.0
    cloud = c_separated(np.random.default_rng(0), 50, 2, 1.0)._replace(values=values)

    model, _ = grown(cloud, tmp_path)

    assert model.n_topics <= 2
