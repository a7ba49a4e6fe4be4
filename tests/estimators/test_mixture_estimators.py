"""GaussianMixture and DPGaussianMixture as objects, as users of scikit-learn know them."""

import numpy as np
import pytest

import sparsetopics
from sparsetopics import DPGaussianMixture, GaussianMixture, VectorCorpus
from sparsetopics.base.errors import OptionError, ShapeError, UnfittedError
from sparsetopics.measures.clustering import score_clustering
from worlds.clumped_mixtures import LIKELIHOOD_NAMES, draw_clumps
from worlds.gaussian_worlds import plain_components, plain_log_densities

KINDS = (GaussianMixture, DPGaussianMixture)
VALUES = draw_clumps(1).values
each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module", params=LIKELIHOOD_NAMES)
def fitted(request):
    return GaussianMixture(5, likelihood=request.param, max_iter=10, random_state=3).fit(VALUES)


def test_fit_learns_components_in_falling_order_of_weight(fitted):
    assert fitted.n_components_ == 5
    assert fitted.weights_.shape == (5,)
    assert fitted.weights_.sum() == pytest.approx(1.0)
    assert (np.diff(fitted.weights_) <= 0).all()
    assert fitted.means_.shape == (5, 3)
    by_column = fitted.likelihood in ("diagonal-gaussian", "isotropic-gaussian")
    wide = (5, 3) if by_column else (5, 3, 3)
    assert fitted.covariances_.shape == wide
    laps = [entry["lap"] for entry in fitted.trace_]
    assert laps == list(range(1, len(laps) + 1))
    assert len(laps) <= 10
    assert fitted.trace_[-1]["n_topics"] == 5


def test_the_components_of_zero_mean_are_at_zero(fitted):
    at_zero = not fitted.means_.any()

    assert at_zero == (fitted.likelihood == "zero-mean-gaussian")


def test_probabilities_add_up_to_one_and_the_largest_is_predicted(fitted):
    shares = fitted.predict_proba(VALUES)

    assert shares.shape == (240, 5)
    assert shares.min() >= 0.0
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(fitted.predict(VALUES), shares.argmax(axis=1))
    np.testing.assert_allclose(shares[[7, 3]], fitted.predict_proba(VALUES[[7, 3]]), atol=1e-6)


def test_log_densities_are_those_of_the_next_item(fitted):
    """Student-t for each component, and for the weight that a process leaves to others."""
    items = np.vstack([VALUES[:30], 40.0 * VALUES[:5]])

    found = fitted.score_samples(items)

    expected = plain_log_densities(fitted.model_, items)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)
    assert fitted.score(items) == pytest.approx(expected.mean(), rel=1e-5)


def test_items_far_away_are_no_surprise_to_the_tail():
    """An outlier costs as much as a first item of a new component, and not a square."""
    model = DPGaussianMixture(5, likelihood="gaussian").fit(VALUES)

    near, far = model.score_samples(np.array([[100.0, 0, 0], [1e4, 0, 0]]))

    (prior,) = plain_components(model.model_)[1][-1:]
    falls = 0.5 * (prior["nu"] + 1.0) * 2.0 * np.log(100.0)  # the tails of a Student-t
    assert near - far == pytest.approx(falls, rel=0.1)


def test_samples_have_the_moments_of_the_mixture(fitted):
    values, components = fitted.sample(40_000)

    assert values.shape == (40_000, 3)
    shares = np.bincount(components, minlength=5) / len(values)
    np.testing.assert_allclose(shares, fitted.weights_, atol=0.01)
    for k in range(5):
        own = values[components == k]
        covariance = fitted.covariances_[k]
        covariance = np.diag(covariance) if covariance.ndim == 1 else covariance
        widths = np.sqrt(np.diag(covariance))
        standard = (own - fitted.means_[k]) / widths
        tolerance = 5.0 / np.sqrt(len(own))
        np.testing.assert_allclose(standard.mean(axis=0), 0.0, atol=tolerance)
        correlation = covariance / np.outer(widths, widths)
        np.testing.assert_allclose(standard.T @ standard / len(own), correlation, atol=tolerance)


def test_samples_are_the_same_for_the_same_state(fitted):
    (first, kinds), (again, same) = fitted.sample(20), fitted.sample(20)

    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(kinds, same)
    assert fitted.sample()[0].shape == (1, 3)
    with pytest.raises(OptionError, match=r"n_samples: must be at least 1, but is 0."):
        fitted.sample(0)


def states_of(model):
    return [array.tobytes() for array in (model.weights_, *map(np.asarray, model.model_.posterior))]


@each_kind
def test_same_state_same_result_and_another_state_another(kind):
    def fit(state):
        return states_of(kind(4, start="random", max_iter=3, random_state=state).fit(VALUES))

    assert fit(3) == fit(3)
    assert fit(3) != fit(4)


@each_kind
def test_jobs_do_not_change_a_bit(monkeypatch, kind):
    monkeypatch.setattr("sparsetopics.model.item_assignment.BLOCK_ITEMS", 16)

    one, two, three = (
        states_of(kind(4, sparsity=2, max_iter=6, n_jobs=n).fit(VALUES)) for n in (1, 2, 3)
    )

    assert one == two == three


@each_kind
def test_arrays_lists_and_corpora_are_the_same_items(kind):
    expected = kind(3, max_iter=4).fit(VALUES)

    for items in (VALUES.astype(float), VALUES.tolist(), VectorCorpus.from_array(VALUES)):
        model = kind(3, max_iter=4).fit(items)
        assert states_of(model) == states_of(expected)
        np.testing.assert_array_equal(model.predict(items), expected.predict(VALUES))
        np.testing.assert_array_equal(model.score_samples(items), expected.score_samples(VALUES))


@each_kind
def test_whole_numbers_are_items(kind):
    model = kind(2, max_iter=4).fit(np.round(VALUES).astype(np.int16))

    assert np.isfinite(model.score(np.round(VALUES)))


def test_items_are_left_as_they_are():
    values = VALUES.copy()

    GaussianMixture(3, max_iter=3).fit(values).predict(values)

    np.testing.assert_array_equal(values, VALUES)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("start", [1, 30])
@pytest.mark.parametrize("likelihood", ["gaussian", "diagonal-gaussian"])
def test_clumps_far_apart_are_found_from_anywhere(seed, start, likelihood):
    clumps = draw_clumps(seed, n_items=300, n_clumps=5)

    model = DPGaussianMixture(
        start, likelihood=likelihood, max_iter=9, n_batches=3, random_state=seed
    ).fit(clumps.values)

    found = model.predict(clumps.values)
    assert len(np.unique(found)) == 5, f"seed {seed}"
    score = score_clustering(clumps.kinds, found)
    assert score.hungarian_accuracy > 0.98, f"seed {seed}"
    np.testing.assert_allclose(model.weights_[:5], 0.2, atol=0.02, err_msg=f"seed {seed}")


def test_components_without_items_do_not_stay():
    clumps = draw_clumps(1, n_items=300, n_clumps=5)

    model = DPGaussianMixture(30, max_iter=60, n_batches=3, random_state=1).fit(clumps.values)

    assert model.n_components_ == 5
    assert len(model.trace_) < 60


@pytest.mark.parametrize("learner", ["memoized", "full", "stochastic"])
def test_every_learner_predicts_better_than_one_component(learner):
    heldout = draw_clumps(1, n_items=120).values

    one = GaussianMixture(1, learner=learner, n_batches=4).fit(VALUES).score(heldout)
    four = GaussianMixture(4, learner=learner, n_batches=4).fit(VALUES).score(heldout)

    assert four > one + 1.0


def test_moves_are_all_unless_some_are_asked_for():
    assert DPGaussianMixture().training_options().active_moves.names == ("merge", "delete", "birth")
    some = DPGaussianMixture(moves=["merge"]).training_options().active_moves
    assert (some.names, some.criterion) == (("merge",), "bound")
    assert DPGaussianMixture(moves=()).training_options().active_moves.names == ()
    assert DPGaussianMixture(learner="full").training_options().active_moves.names == ()
    assert GaussianMixture().training_options().active_moves.names == ()


def test_without_moves_a_dp_mixture_keeps_its_number_of_components():
    assert DPGaussianMixture(3, moves=(), max_iter=5).fit(VALUES).n_components_ == 3


def test_a_dp_mixture_starts_from_one_component_and_a_finite_one_from_ten():
    assert DPGaussianMixture().training_options().n_topics == 1
    assert GaussianMixture().training_options().n_topics == 10


@pytest.mark.parametrize(
    "use",
    [
        lambda model: model.predict(VALUES),
        lambda model: model.predict_proba(VALUES),
        lambda model: model.score_samples(VALUES),
        lambda model: model.score(VALUES),
        lambda model: model.sample(),
    ],
)
@each_kind
def test_without_fit_there_is_nothing_to_use(use, kind):
    with pytest.raises(UnfittedError, match=f"{kind.__name__}: is not fitted yet. Call fit first."):
        use(kind())


def test_other_columns_are_refused(fitted):
    for use in (fitted.predict, fitted.predict_proba, fitted.score_samples, fitted.score):
        with pytest.raises(ShapeError, match=r"X has 2 features, but .* is expecting 3 features"):
            use(VALUES[:, :2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components: must be at least 1, but is 0."),
        ({"n_components": 241}, "components: must be at most 240, the number of items, but is 241"),
        ({"likelihood": "words"}, "likelihood: must be one of .*, but is 'words'"),
        ({"sparsity": 0}, "sparsity: must be at least 1, but is 0."),
        ({"learner": "online"}, "learner: must be one of memoized, .*, but is 'online'"),
        ({"max_iter": 0}, "max_iter: must be at least 1, but is 0."),
        ({"n_batches": 0}, "n_batches: must be at least 1, but is 0."),
        ({"n_batches": 241}, "n_batches: must be from 1 to 240, the number of items, but is 241"),
        (
            {"top_concentration": 0.0},
            r"top_concentration: must be from 1e-09 to 1e\+09, but is 0.0.",
        ),
        ({"start": "kmeans"}, "start: must be one of random, distant, but is 'kmeans'"),
        ({"n_jobs": 0}, "n_jobs: must be from 1 to 4,096, but is 0."),
    ],
)
@each_kind
def test_options_are_checked_by_fit(kind, options, message):
    with pytest.raises(OptionError, match=message):
        kind(**{"n_components": 3, "max_iter": 1} | options).fit(VALUES)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (GaussianMixture, {"sparsity": 4}, "sparsity: must be at most n_components, 3, but"),
        (
            DPGaussianMixture,
            {"sparsity": 4, "moves": ()},
            "sparsity: must be at most n_components, 3, but",
        ),
        (DPGaussianMixture, {"moves": ("split",)}, "moves: must be one of merge, .* is 'split'"),
        (
            DPGaussianMixture,
            {"moves": ("merge",), "learner": "stochastic"},
            "moves: must be none with learner stochastic.",
        ),
    ],
)
def test_options_that_do_not_fit_together_are_refused(kind, options, message):
    with pytest.raises(OptionError, match=message):
        kind(3, max_iter=1, **options).fit(VALUES)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (VALUES[:, 0], "X: Expected 2D array, got 1D array instead"),
        ([["a", "b"]], "X: expected real numbers, but found texts"),
        (np.zeros((0, 3)), r"X: Found array with 0 sample\(s\)"),
        ([[1.0, 2.0], [np.nan, 4.0]], "X, row 1, column 0: Input X contains NaN"),
        ([[1.0, 2.0], [3.0, np.inf]], "X, row 1, column 1: Input X contains infinity"),
        (VALUES[:2], "items: expected at least 3, as many as columns, but found 2.*diagonal-gau"),
        ([[1.0, 2.0]] * 9, "items: no two differ, so there is nothing to learn"),
        (
            [[3e150, 1], [-3e150, 2]],
            r"column 0: values must be at most 1e\+\d+, but one ",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:The 3 columns vary in 1 direction only")
@each_kind
def test_what_is_no_collection_of_items_is_refused(kind, items, message):
    with pytest.raises(ShapeError, match=message) as caught:
        kind(1).fit(items)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("likelihood", LIKELIHOOD_NAMES)
@pytest.mark.parametrize("start", ["distant", "random"])
@each_kind
def test_there_may_be_more_components_than_different_items(kind, start, likelihood):
    values = np.repeat([[1.0, 5.0], [-8.0, 2.0], [9.0, 1.0]], 12, axis=0)

    model = kind(8, likelihood=likelihood, start=start, max_iter=8).fit(values)

    shares = model.predict_proba(values)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert np.isfinite(model.score_samples(values)).all()
    assert np.isfinite(model.covariances_).all()
    assert kind is DPGaussianMixture or model.n_components_ == 8


def test_an_item_far_from_all_others_is_a_component_like_others():
    """The others look alike from there."""
    values = np.vstack([VALUES, np.full((1, 3), 1e15, np.float32)])

    model = DPGaussianMixture(8, max_iter=8).fit(values)

    assert np.isfinite(model.score_samples(values)).all()
    assert (model.predict(values) == model.predict(values)[-1]).sum() == 1


@pytest.mark.parametrize("scale", [1e-90, 1e-44, 1e-20, 1e20, 1e80])
@pytest.mark.parametrize("likelihood", LIKELIHOOD_NAMES)
def test_units_change_log_densities_by_a_constant_alone(scale, likelihood):
    """The prior follows the data, so that no unit is too large or too small."""
    small = GaussianMixture(4, likelihood=likelihood, max_iter=5).fit(VALUES)
    scaled = VALUES.astype(float) * scale

    large = GaussianMixture(4, likelihood=likelihood, max_iter=5).fit(scaled)

    np.testing.assert_allclose(large.weights_, small.weights_, atol=1e-3)
    shift = large.score_samples(scaled) - small.score_samples(VALUES)
    np.testing.assert_allclose(shift, -3 * np.log(scale), atol=0.01)


def test_the_public_names_are_these_classes():
    assert sparsetopics.GaussianMixture is GaussianMixture
    assert sparsetopics.DPGaussianMixture is DPGaussianMixture


def test_growth_is_an_estimator_s_learner_too():
    clumps = draw_clumps(0, 160, 3)
    grown = DPGaussianMixture(learner="accelerated").fit(clumps.values)
    finer = DPGaussianMixture(learner="accelerated", tree_tolerance=0.0).fit(clumps.values)

    assert grown.n_components_ == finer.n_components_ > 1
    assert finer.trace_[-1]["elbo_per_token"] >= grown.trace_[-1]["elbo_per_token"] - 1e-9
