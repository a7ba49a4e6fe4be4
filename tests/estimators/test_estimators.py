"""LDA and HDP as objects, as users of scikit-learn know them."""

import numpy as np
import pytest
from scipy import sparse

import sparsetopics
from sparsetopics import HDP, LDA, Corpus
from sparsetopics.base.errors import (
    OptionError,
    OutputError,
    RunError,
    ShapeError,
    SparsetopicsWarning,
    UnfittedError,
)
from sparsetopics.runs.run import load_run

N_WORDS = 30
NAMES = [f"word{n:02}" for n in range(N_WORDS)]


def draw(n_docs, seed):
    """Counts of documents from the same three topics, (n_docs, n_words)."""
    topics = np.random.default_rng(0).dirichlet(np.full(N_WORDS, 0.1), 3)
    rng = np.random.default_rng(seed)
    mixtures = rng.dirichlet(np.full(3, 0.2), n_docs)
    return sparse.csr_array([rng.multinomial(40, mixture @ topics) for mixture in mixtures])


@pytest.fixture(scope="module")
def counts():
    return draw(80, seed=1)


@pytest.fixture(scope="module")
def fitted(counts):
    return LDA(4, max_iter=5, random_state=3).fit(counts)


@pytest.fixture(scope="module")
def fitted_hdp(counts):
    """Without moves: their tests are elsewhere."""
    return HDP(
        4, max_iter=5, moves=(), doc_concentration=0.7, top_concentration=3.0, random_state=3
    ).fit(counts)


def test_fit_learns_topics(fitted):
    assert fitted.n_components_ == 4
    assert fitted.components_.shape == (4, N_WORDS)
    assert fitted.components_.min() > 0
    assert fitted.n_docs_ == 80
    assert [entry["lap"] for entry in fitted.trace_] == [1, 2, 3, 4, 5]
    prior = 4 * N_WORDS * fitted.model_.smoothing
    assert fitted.components_.sum() == pytest.approx(80 * 40 + prior, rel=1e-6)


def test_columns_of_components_are_columns_of_the_matrix(counts, fitted):
    """Every token of a word is in one of the topics."""
    expected = counts.sum(axis=0) + 4 * fitted.model_.smoothing
    np.testing.assert_allclose(fitted.components_.sum(axis=0), expected, rtol=1e-6)


def test_a_corpus_gives_the_same_model_as_its_matrix(counts, fitted):
    corpus = Corpus.from_csr(counts, NAMES)

    model = LDA(4, max_iter=5, random_state=3).fit(corpus)

    np.testing.assert_array_equal(model.components_, fitted.components_)
    np.testing.assert_array_equal(model.transform(corpus), fitted.transform(counts))
    assert model.score(corpus) == fitted.score(counts)


@pytest.mark.parametrize("changes", [{"n_jobs": 2}, {"n_jobs": 3}])
def test_jobs_do_not_change_the_result(counts, fitted, changes):
    model = LDA(4, max_iter=5, random_state=3, **changes).fit(counts)

    np.testing.assert_array_equal(model.components_, fitted.components_)
    np.testing.assert_array_equal(model.transform(counts), fitted.transform(counts))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("learner", ["memoized", "full", "stochastic"])
@pytest.mark.parametrize("local_update", ["mean-field", "collapsed"])
@pytest.mark.parametrize("kind", [LDA, HDP])
def test_every_learner_predicts_better_than_word_frequencies(
    counts, learner, local_update, kind, seed
):
    """The HDP makes its moves where the learner is memoized."""
    model = kind(
        4, max_iter=10, n_batches=2, learner=learner, local_update=local_update, random_state=seed
    ).fit(counts)

    frequencies = counts.sum(axis=0) / counts.sum()
    unigram = float((counts @ np.log(np.maximum(frequencies, 1e-12))).sum() / counts.sum())
    assert model.score(draw(60, seed=2)) > unigram + 0.1


def test_transform_gives_proportions_in_order(counts, fitted):
    found = fitted.transform(counts)

    assert found.shape == (80, 4)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_array_equal(fitted.transform(counts[[5, 3]]), found[[5, 3]])
    np.testing.assert_array_equal(LDA(4, max_iter=5, random_state=3).fit_transform(counts), found)


def test_empty_rows_keep_their_place_and_get_the_prior(counts, fitted):
    dense = counts.toarray()
    dense[[0, 7, 79]] = 0

    found = fitted.transform(sparse.csr_array(dense))

    kept = np.setdiff1d(np.arange(80), [0, 7, 79])
    np.testing.assert_array_equal(found[kept], fitted.transform(counts)[kept])
    np.testing.assert_allclose(found[[0, 7, 79]], 0.25)


def test_an_hdp_learns_topics_and_their_weights(fitted_hdp):
    assert fitted_hdp.n_components_ == len(fitted_hdp.components_) == 4
    assert fitted_hdp.model_.name == "hdp"
    weights = fitted_hdp.model_.sticks.global_topic_weights
    np.testing.assert_allclose(fitted_hdp.model_.doc_concentration, 0.7 * weights)
    assert 0.9 < weights.sum() < 1
    assert [entry["n_topics"] for entry in fitted_hdp.trace_][-1] == 4


@pytest.mark.parametrize("seed", range(2))
def test_an_hdp_finds_topics_from_one(counts, seed):
    model = HDP(1, max_iter=12, n_batches=2, random_state=seed).fit(counts)

    assert model.n_components_ == len(model.components_) == model.trace_[-1]["n_topics"] > 1
    gained = sum(
        entry["births_accepted"] - entry["merges_accepted"] - entry["deletes_accepted"]
        for entry in model.trace_
    )
    assert gained == model.n_components_ - 1
    assert model.transform(counts).shape == (80, model.n_components_)


def test_an_hdp_learns_its_concentrations(counts):
    model = HDP(4, max_iter=6, moves=(), learn_hyperparameters=True, top_concentration=50.0)

    model.fit(counts)

    assert model.model_.sticks.top_concentration != 50.0
    assert model.model_.word_concentration != 0.1


def test_proportions_of_an_hdp_add_up_to_one(counts, fitted_hdp):
    dense = counts.toarray()
    dense[7] = 0

    found = fitted_hdp.transform(sparse.csr_array(dense))

    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    weights = fitted_hdp.model_.sticks.global_topic_weights
    np.testing.assert_allclose(found[7], weights / weights.sum())


def test_a_saved_hdp_loads_as_an_hdp(tmp_path, counts, fitted_hdp):
    fitted_hdp.save(tmp_path / "run")

    loaded = sparsetopics.load(tmp_path / "run")

    assert isinstance(loaded, HDP)
    assert (loaded.doc_concentration, loaded.top_concentration) == (0.7, 3.0)
    np.testing.assert_array_equal(loaded.components_, fitted_hdp.components_)
    np.testing.assert_array_equal(loaded.transform(counts), fitted_hdp.transform(counts))
    options = load_run(tmp_path / "run").settings["options"]
    assert (options["model"], options["laps"], options["moves"]["names"]) == ("hdp", 5, [])


def test_moves_are_all_unless_some_are_asked_for():
    assert HDP().training_options().active_moves.names == ("merge", "delete", "birth")
    assert HDP(moves=["merge"]).training_options().active_moves.names == ("merge",)
    assert HDP(moves=()).training_options().active_moves.names == ()
    assert HDP(criterion="collapsed").training_options().active_moves.criterion == "collapsed"
    assert HDP(learner="full").training_options().active_moves.names == ()


def test_saved_and_loaded_it_is_the_same(tmp_path, counts, fitted):
    fitted.save(tmp_path / "run")

    loaded = sparsetopics.load(tmp_path / "run")

    assert isinstance(loaded, LDA)
    np.testing.assert_array_equal(loaded.components_, fitted.components_)
    np.testing.assert_array_equal(loaded.transform(counts), fitted.transform(counts))
    assert loaded.score(counts) == fitted.score(counts)
    assert loaded.trace_ == fitted.trace_
    assert loaded.n_docs_ == 80
    assert load_run(tmp_path / "run").settings["seed"] == 3


def test_a_loaded_model_can_be_saved(tmp_path, fitted):
    fitted.save(tmp_path / "one")

    sparsetopics.load(tmp_path / "one").save(tmp_path / "two")

    files = [(tmp_path / run / "model.safetensors").read_bytes() for run in ("one", "two")]
    assert files[0] == files[1]


def test_save_replaces_only_when_told(tmp_path, fitted):
    fitted.save(tmp_path / "run")

    with pytest.raises(OutputError, match="the output already exists"):
        fitted.save(tmp_path / "run")
    fitted.save(tmp_path / "run", overwrite=True)


@pytest.mark.parametrize(
    "use",
    [
        lambda model, counts, path: model.transform(counts),
        lambda model, counts, path: model.score(counts),
        lambda model, counts, path: model.save(path),
    ],
)
@pytest.mark.parametrize("kind", [LDA, HDP])
def test_without_fit_there_is_nothing_to_use(tmp_path, counts, use, kind):
    with pytest.raises(UnfittedError, match=f"{kind.__name__}: is not fitted yet. Call fit first."):
        use(kind(4), counts, tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_another_number_of_words_is_refused(counts, fitted):
    for use in (fitted.transform, fitted.score):
        with pytest.raises(ShapeError, match="X has 29 features, but LDA is expecting 30"):
            use(counts[:, :29])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components: must be at least 1, but is 0."),
        ({"sparsity": 5}, "sparsity: must be at most n_components, 4, but is 5."),
        ({"local_update": "meanfield"}, "local_update: must be one of mean-field, collapsed"),
        ({"n_batches": 81}, "n_batches: must be from 1 to 80, .*, but is 81"),
        (
            {"n_jobs": 0},
            "n_jobs: must be from 1 to 4,096, but is 0. -1 stands for a thread",
        ),
        (
            {"doc_concentration": 0.0},
            r"doc_concentration: must be from 1e-09 to 1e\+09, but is 0.0.",
        ),
        ({"minimum_mass": -1.0}, "minimum_mass: must be at least 0 tokens, but is -1.0."),
    ],
)
def test_options_are_checked_by_fit(counts, options, message):
    with pytest.raises(OptionError, match=message):
        LDA(**{"n_components": 4, "max_iter": 1} | options).fit(counts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"top_concentration": -1.0},
            r"top_concentration: must be from 1e-09 to 1e\+09, but is -1.0.",
        ),
        (
            {"moves": ("split",)},
            "moves: must be one of merge, delete, birth, but is 'split'",
        ),
        ({"criterion": "aic"}, "criterion: must be one of bound, collapsed, but is 'aic'"),
        ({"learner": "full", "moves": ("merge",)}, "moves: must be none with learner full."),
        (
            {"learner": "full", "criterion": "bound"},
            "criterion: is for moves, which model hdp with learner full does not make.",
        ),
        (
            {"moves": (), "criterion": "bound"},
            "criterion: needs moves that follow it, but moves is none.",
        ),
    ],
)
def test_options_of_an_hdp_are_checked_by_fit(counts, options, message):
    with pytest.raises(OptionError, match=message):
        HDP(4, max_iter=1, **options).fit(counts)


def test_more_topics_than_documents_are_warned_of(counts):
    LDA(80, max_iter=1).fit(counts)  # as many are not

    with pytest.warns(SparsetopicsWarning, match=r"components \(81\) than documents \(80\)"):
        LDA(81, max_iter=1).fit(counts)


def test_the_number_of_threads_is_that_of_scikit_learn(counts):
    alone = LDA(4, max_iter=1).fit(counts)
    for n_jobs in (None, -1):
        model = LDA(4, max_iter=1, n_jobs=n_jobs).fit(counts)
        np.testing.assert_array_equal(model.transform(counts), alone.transform(counts))
    with pytest.raises(OptionError, match="n_jobs: must be from 1 to"):
        alone.set_params(n_jobs=-2).transform(counts)


def test_loading_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(RunError):
        sparsetopics.load(tmp_path / "missing")
