"""``partial_fit``: what is learned from data that come later."""

import numpy as np
import pytest
from scipy import sparse

import sparsetopics
from sparsetopics import (
    HDP,
    LDA,
    Corpus,
    DPGaussianMixture,
    DPMultinomialMixture,
    GaussianMixture,
    MultinomialMixture,
    VectorCorpus,
)
from sparsetopics.base.errors import OptionError, ShapeError, VocabularyError
from worlds.clumped_mixtures import draw_clumps

N_WORDS = 30
LEARNERS = ("memoized", "stochastic")


def draw(n_docs, seed):
    """Counts of documents from the same three topics, (n_docs, n_words)."""
    topics = np.random.default_rng(0).dirichlet(np.full(N_WORDS, 0.1), 3)
    rng = np.random.default_rng(seed)
    mixtures = rng.dirichlet(np.full(3, 0.2), n_docs)
    return sparse.csr_array([rng.multinomial(40, mixture @ topics) for mixture in mixtures])


PARTS = [draw(n_docs, seed) for seed, n_docs in enumerate((60, 20, 70))]
WHOLE = sparse.csr_array(sparse.vstack(PARTS))
HELDOUT = draw(80, seed=9)
CLUMPS = draw_clumps(1, n_items=300).values
VECTOR_PARTS = [CLUMPS[:100], CLUMPS[100:220], CLUMPS[220:]]
TOPICS = [
    kind(4, learner=learner, local_update=update, max_iter=3)
    for kind in (LDA, HDP)
    for learner in LEARNERS
    for update in ("collapsed", "mean-field")
]
DOCUMENTS = TOPICS + [
    kind(3, learner=learner, max_iter=3)
    for kind in (MultinomialMixture, DPMultinomialMixture)
    for learner in LEARNERS
]
VECTORS = [
    kind(4, learner=learner, likelihood=likelihood, max_iter=3)
    for kind in (GaussianMixture, DPGaussianMixture)
    for learner in LEARNERS
    for likelihood in ("gaussian", "diagonal-gaussian", "isotropic-gaussian")
]


def fresh(estimator, **changes):
    return type(estimator)(**estimator.get_params() | changes)


def parts_for(estimator):
    return VECTOR_PARTS if estimator in VECTORS else PARTS


def states_of(model):
    posterior = getattr(model.model_, "posterior", None)
    arrays = [model.components_] if posterior is None else posterior
    weights = model.model_.doc_concentration if posterior is None else model.weights_
    return [np.asarray(array).tobytes() for array in (weights, *arrays)]


@pytest.mark.parametrize("estimator", DOCUMENTS + VECTORS, ids=repr)
def test_same_calls_same_bits_for_any_number_of_jobs(estimator):
    def learned(n_jobs):
        model = fresh(estimator, n_jobs=n_jobs, random_state=3)
        for part in parts_for(estimator):
            assert model.partial_fit(part) is model
        return states_of(model)

    assert learned(1) == learned(2)


@pytest.mark.parametrize("begin", ["fit", "partial_fit"])
@pytest.mark.parametrize("estimator", DOCUMENTS, ids=repr)
def test_every_token_seen_is_in_one_of_the_topics(estimator, begin):
    """Memoized, for each word; the stochastic learner counts as if all were like the newest."""
    model = getattr(fresh(estimator), begin)(PARTS[0])
    for part in PARTS[1:]:
        model.partial_fit(part)

    counts = model._statistics().statistics.components
    found = counts.table.sum(axis=1) if hasattr(counts, "table") else counts.sums.sum(axis=0)
    if estimator.learner == "memoized":
        np.testing.assert_allclose(found, WHOLE.sum(axis=0), rtol=1e-6, atol=1e-4)
    assert found.sum() == pytest.approx(WHOLE.sum(), rel=1e-6)  # all documents are as long
    assert model.trace_[-1]["n_docs"] == 150
    assert model.n_components_ == estimator.n_components or model.n_iter_ == 3


@pytest.mark.parametrize("begin", ["fit", "partial_fit"])
@pytest.mark.parametrize("estimator", VECTORS, ids=repr)
def test_every_item_seen_is_in_one_of_the_components(estimator, begin):
    model = getattr(fresh(estimator), begin)(VECTOR_PARTS[0])
    for part in VECTOR_PARTS[1:]:
        model.partial_fit(part)

    assert model.model_.mixture.counts.sum() == pytest.approx(300, rel=1e-6)
    assert model.trace_[-1]["n_docs"] == 300
    np.testing.assert_allclose(model.predict_proba(CLUMPS).sum(axis=1), 1.0)


def test_one_topic_has_all_counts():
    model = LDA(1).partial_fit(PARTS[0]).partial_fit(PARTS[1]).partial_fit(PARTS[2])

    expected = WHOLE.sum(axis=0) + model.model_.smoothing
    np.testing.assert_allclose(model.components_[0], expected, rtol=1e-6)
    assert model.n_docs_ == 150


def test_one_component_is_the_posterior_of_all_items():
    """Under the prior that the first items made."""
    model = GaussianMixture(1)
    for part in VECTOR_PARTS:
        model.partial_fit(part)

    prior = model.model_.likelihood
    strength = prior.mean_precision
    expected = (strength * prior.coordinates.origin + CLUMPS.astype(float).sum(axis=0)) / (
        strength + 300
    )
    np.testing.assert_allclose(model.means_[0], expected, rtol=1e-6)


def test_a_stochastic_step_is_a_weighted_mean():
    """One topic: (1 − ρ) of the former counts and ρ of the new ones, both as if of all documents;
    ρ = (1 + t)^−0.55, t counting the batches of ``fit`` too."""
    model = LDA(1, learner="stochastic", max_iter=2, n_batches=3, smoothing=0.1).fit(PARTS[0])
    before = (model.components_[0] - 0.1) * 80 / 60

    model.partial_fit(PARTS[1])

    size = (1 + 7) ** -0.55
    expected = (1 - size) * before + size * PARTS[1].sum(axis=0) * 80 / 20
    np.testing.assert_allclose(model.components_[0] - 0.1, expected, rtol=1e-6)


@pytest.mark.parametrize("estimator", TOPICS, ids=repr)
def test_more_documents_predict_better_than_a_few(estimator):
    """On average over seeds: a few documents make poor topics."""
    gains = []
    for seed in range(2):
        model = fresh(estimator, random_state=seed).partial_fit(PARTS[1][:8])
        few = model.score(HELDOUT)
        gains.append(model.partial_fit(PARTS[0]).partial_fit(PARTS[2]).score(HELDOUT) - few)

    assert np.mean(gains) > 0.05, gains


@pytest.mark.parametrize("kind", [LDA, HDP])
def test_learned_topics_stay_as_good_when_more_documents_come(kind):
    scores = []
    for seed in range(3):
        model = kind(6, random_state=seed, max_iter=20).fit(PARTS[0])
        before, n_topics = model.score(HELDOUT), model.n_components_
        model.partial_fit(PARTS[1]).partial_fit(PARTS[2])
        assert model.n_components_ == n_topics, seed
        scores.append(model.score(HELDOUT) - before)

    assert min(scores) > -0.02, scores


def test_the_bound_is_that_of_all_data_seen():
    """With one component nothing is hidden: the evidence of all items, told by one more fit."""
    model = GaussianMixture(1).fit(VECTOR_PARTS[0]).partial_fit(VECTOR_PARTS[1])
    twice = GaussianMixture(1).fit(VECTOR_PARTS[0]).partial_fit(VECTOR_PARTS[1][::-1])

    likelihood, current = model.model_.likelihood, model._learned.statistics.components
    expected = likelihood.elbo(current, current) / 220
    assert model.trace_[-1]["elbo_per_token"] == pytest.approx(expected, abs=1e-9)
    assert twice.trace_[-1]["elbo_per_token"] == pytest.approx(expected, abs=1e-6)
    assert [entry["lap"] for entry in model.trace_][-1] == model.n_iter_


def test_an_hdp_that_learned_its_concentrations_knows_how_long_all_documents_are():
    model = HDP(4, moves=(), learn_hyperparameters=True, max_iter=5).fit(PARTS[0])

    model.partial_fit(PARTS[2])

    lengths = model._statistics().prior.allocation.lengths
    assert (lengths.n_docs.sum(), lengths.tokens.max()) == (130, 40)
    assert np.isfinite(model.trace_[-1]["elbo_per_token"])


def test_documents_without_words_teach_nothing():
    model = LDA(3, max_iter=3).fit(PARTS[0])
    before = states_of(model)

    model.partial_fit(sparse.csr_array((5, N_WORDS)))

    assert states_of(model) == before
    assert model.n_docs_ == 60


def test_fit_forgets_what_partial_fit_learned():
    model = LDA(3, max_iter=3).partial_fit(PARTS[1])

    model.fit(PARTS[0])

    assert states_of(model) == states_of(LDA(3, max_iter=3).fit(PARTS[0]))
    assert len(model.trace_) == 3


def test_corpora_join_if_their_words_are_the_same():
    words = [f"w{v:02}" for v in range(N_WORDS)]
    model = LDA(3).partial_fit(Corpus.from_csr(PARTS[0], words))

    model.partial_fit(Corpus.from_csr(PARTS[1], words))

    assert model.n_docs_ == 80
    with pytest.raises(
        VocabularyError, match=r"X: its .* words are not the .* words that were fitted"
    ):
        model.partial_fit(Corpus.from_csr(PARTS[1], words[::-1]))
    with pytest.raises(ShapeError, match="X: expected a Corpus, but found a VectorCorpus"):
        model.partial_fit(VectorCorpus.from_array(CLUMPS))


@pytest.mark.parametrize(
    "estimator",
    [
        LDA(2, learner="full"),
        DPGaussianMixture(learner="accelerated"),
        DPGaussianMixture(3, likelihood="isotropic-gaussian", learner="alternating"),
    ],
    ids=repr,
)
def test_learners_that_need_all_data_refuse(estimator):
    with pytest.raises(
        OptionError, match=f"learner: must be .* for partial_fit, but is {estimator.learner}"
    ):
        estimator.partial_fit(PARTS[0].toarray())


def test_without_statistics_learning_does_not_go_on(tmp_path):
    """Those of topics are in their run folder, but not those of mixtures."""
    GaussianMixture(2, max_iter=2).fit(CLUMPS).save(tmp_path / "run")
    grown = DPGaussianMixture(learner="accelerated", max_iter=3).fit(CLUMPS)

    for model, more in (
        (sparsetopics.load(tmp_path / "run"), CLUMPS),
        (grown.set_params(learner="memoized"), CLUMPS),
    ):
        with pytest.raises(
            OptionError, match=r"has no statistics to continue from.*A run folder of a mixture"
        ):
            model.partial_fit(more)


def test_the_memoized_learner_goes_on_from_the_full_one():
    model = LDA(3, learner="full", max_iter=3).fit(PARTS[0])

    model.set_params(learner="memoized").partial_fit(PARTS[1])

    expected = (PARTS[0].sum(axis=0) + PARTS[1].sum(axis=0)) + 3 * model.model_.smoothing
    np.testing.assert_allclose(model.components_.sum(axis=0), expected, rtol=1e-6)


def test_the_first_documents_must_be_as_many_as_a_mixture_s_components():
    with pytest.raises(
        OptionError, match="components: must be at most 8, the number of items, but is 9"
    ):
        GaussianMixture(9).partial_fit(CLUMPS[:8])


@pytest.mark.parametrize("estimator", DOCUMENTS + VECTORS, ids=repr)
def test_what_was_learned_before_is_left_as_it_was(estimator):
    """So that an estimator is what it was if learning more does not come to its end."""
    first, second, _ = parts_for(estimator)
    model = fresh(estimator, random_state=3).fit(first)
    learned = model._statistics()
    components = learned.statistics.components
    before = [None if part is None else np.array(part) for part in components]

    model.partial_fit(second)

    for now, then in zip(components, before, strict=True):
        np.testing.assert_array_equal(now, then)
