"""``partial_fit`` after ``load``: a run folder holds all that topics need to go on learning."""

import json
import shutil

import numpy as np
import pytest
from scipy import sparse

import sparsetopics
from resealing import reseal
from sparsetopics import HDP, LDA, Corpus, MultinomialMixture, TopicPath
from sparsetopics.base.errors import OptionError, RunError
from sparsetopics.inference.local_step import elbo
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.resolve import resolve
from sparsetopics.runs.plan import RunPlan
from sparsetopics.runs.run import load_run
from sparsetopics.runs.train import train_run
from worlds.bars import ten_bars

N_WORDS = 25


def draw(n_docs, seed):
    """Counts of documents from four topics, of 5 to 60 tokens each, (n_docs, n_words)."""
    topics = np.random.default_rng(1).dirichlet(np.full(N_WORDS, 0.15), 4)
    rng = np.random.default_rng(seed)
    mixtures, lengths = rng.dirichlet(np.full(4, 0.3), n_docs), rng.integers(5, 60, n_docs)
    rows = [
        rng.multinomial(n, mixture @ topics) for n, mixture in zip(lengths, mixtures, strict=True)
    ]
    return sparse.csr_array(np.array(rows))


FIRST, *NIGHTS = (draw(n_docs, seed) for seed, n_docs in enumerate((90, 30, 50, 12)))
TOPICS = [
    *(
        kind(4, max_iter=3, learner=learner)
        for kind in (LDA, HDP)
        for learner in ("memoized", "stochastic")
    ),
    LDA(4, max_iter=8, local_update="mean-field", learn_hyperparameters=True),
    LDA(4, max_iter=3, learner="full", smoothing=0.2),
    HDP(6, max_iter=8, learn_hyperparameters=True),
]


def fresh(estimator, **changes):
    return type(estimator)(**estimator.get_params() | changes)


def written(model, folder):
    """The bytes of the arrays that a run of the model holds, and the entries of its settings."""
    model.save(folder, overwrite=True)
    settings = json.loads((folder / "model.json").read_text())
    return (folder / "model.safetensors").read_bytes(), settings


@pytest.mark.parametrize("begin", ["fit", "partial_fit"])
@pytest.mark.parametrize("estimator", TOPICS, ids=repr)
def test_a_save_and_a_load_every_night_change_no_byte(tmp_path, estimator, begin):
    """Of several nights; with other numbers of threads, too."""
    if estimator.learner == "full" and begin == "partial_fit":
        pytest.skip("the full learner takes no more data")
    model = getattr(fresh(estimator), begin)(FIRST)
    model.save(tmp_path / "run")
    for n_jobs, night in enumerate(NIGHTS, start=1):
        goes_on = {"learner": "memoized"} if estimator.learner == "full" else {}
        loaded = sparsetopics.load(tmp_path / "run").set_params(n_jobs=n_jobs, **goes_on)
        model.set_params(**goes_on).partial_fit(night)
        loaded.partial_fit(night)
        expected, found = written(model, tmp_path / "kept"), written(loaded, tmp_path / "run")
        assert found[0] == expected[0]
        assert found[1] == expected[1]
        assert loaded.trace_[-1] == model.trace_[-1]
    assert loaded.n_docs_ == 182


@pytest.mark.parametrize("model", ["lda", "hdp"])
@pytest.mark.parametrize("learner", ["memoized", "stochastic"])
def test_a_run_of_train_learns_as_the_estimator_does(tmp_path, model, learner):
    corpus = Corpus.from_csr(FIRST, [f"w{v:02}" for v in range(N_WORDS)])
    corpus.save(tmp_path / "corpus")
    options = resolve(model, {"topics": 4, "laps": 3, "learner": learner})
    train_run(RunPlan(tmp_path / "corpus", tmp_path / "run", options, n_batches=2, seed=0))
    kind = LDA if model == "lda" else HDP
    fitted = kind(4, max_iter=3, learner=learner, n_batches=2).fit(corpus)

    loaded = sparsetopics.load(tmp_path / "run").partial_fit(NIGHTS[0])

    fitted.partial_fit(NIGHTS[0])
    assert written(loaded, tmp_path / "one")[0] == written(fitted, tmp_path / "two")[0]
    facts = written(loaded, tmp_path / "one")[1]["corpus"]
    assert facts["n_documents"] == 120
    assert not {"path", "fingerprint"} & facts.keys()  # of the first documents alone


def test_an_hdp_that_found_its_number_goes_on_with_it(tmp_path):
    corpus = ten_bars(np.random.default_rng(0), 150, 60).corpus()
    corpus.save(tmp_path / "corpus")
    options = resolve("hdp", {})
    train_run(RunPlan(tmp_path / "corpus", tmp_path / "run", options))
    fitted = HDP().fit(corpus)
    loaded = sparsetopics.load(tmp_path / "run")
    assert loaded.n_components_ == fitted.n_components_ < 100

    more = ten_bars(np.random.default_rng(5), 100, 60).corpus()
    arrays = [written(each.partial_fit(more), tmp_path / "out")[0] for each in (loaded, fitted)]

    assert arrays[0] == arrays[1]
    assert loaded.scores_ is None  # of the first documents


@pytest.mark.parametrize("kind", [LDA, HDP])
def test_counts_add_up_exactly(tmp_path, kind):
    """Memoized: each word has as many tokens in the topics as in the documents, to the last bit."""
    model = kind(4, max_iter=3).fit(FIRST)
    expected = FIRST.sum(axis=0)
    for night in NIGHTS:
        model.save(tmp_path / "run", overwrite=True)
        model = sparsetopics.load(tmp_path / "run").partial_fit(night)
        expected = expected + night.sum(axis=0)
        counts = model.model_.exact_counts
        np.testing.assert_array_equal(counts * 2**20 % 1, 0.0)
        np.testing.assert_array_equal(counts.sum(axis=0), expected)


def test_counts_that_are_no_multiples_are_taken_as_they_are():
    posterior = np.array([[1 / 3 + 0.1, 2.0 + 0.1], [0.1, 7.5 + 0.1]])
    model = TopicPosterior("lda", posterior, np.full(2, 0.5), 0.1)

    np.testing.assert_array_equal(model.exact_counts, model.topic_word_counts)

    posterior = posterior.copy()
    posterior[0, 0] = 0.5 + 0.1
    exact = TopicPosterior("lda", posterior, np.full(2, 0.5), 0.1).exact_counts
    np.testing.assert_array_equal(exact, [[0.5, 2.0], [0.0, 7.5]])


def test_what_is_stored_is_short(tmp_path):
    model = HDP(5, moves=(), learn_hyperparameters=True, max_iter=5).fit(FIRST)
    _, settings = written(model, tmp_path / "run")

    seen = settings["seen"]
    assert (seen["n_documents"], seen["n_tokens"]) == (90.0, float(FIRST.sum()))
    assert sum(seen["lengths"][1]) == 90.0
    assert np.dot(*seen["lengths"]) == FIRST.sum()
    assert len((tmp_path / "run" / "model.json").read_text().splitlines()) < 150


@pytest.mark.parametrize("learn_hyperparameters", [False, True])
def test_a_loaded_model_has_the_bound_that_training_reported(tmp_path, learn_hyperparameters):
    """Which needs the sums over documents in the order of the topics."""
    model = LDA(5, learn_hyperparameters=learn_hyperparameters, max_iter=12).fit(FIRST)
    model.save(tmp_path / "run")

    learned = sparsetopics.load(tmp_path / "run")._statistics()

    statistics, prior, *_ = learned
    bound = elbo(statistics, prior.with_components(statistics.components)) / FIRST.sum()
    assert bound == pytest.approx(model.trace_[-1]["elbo_per_token"], rel=1e-12)


# --- what is refused ------------------------------------------------------------------------------
def remove(run, *entries):
    settings = json.loads((run / "model.json").read_text())
    for entry in entries:
        del settings[entry]
    (run / "model.json").write_text(json.dumps(settings))
    reseal(run)


def test_a_run_of_an_earlier_release_answers_but_learns_no_more(tmp_path):
    fitted = LDA(3, max_iter=2).fit(FIRST)
    fitted.save(tmp_path / "run")
    remove(tmp_path / "run", "seen")

    loaded = sparsetopics.load(tmp_path / "run")

    np.testing.assert_array_equal(loaded.transform(NIGHTS[0]), fitted.transform(NIGHTS[0]))
    with pytest.raises(OptionError, match=r"LDA: has no statistics.* or an earlier release"):
        loaded.partial_fit(NIGHTS[0])
    loaded.save(tmp_path / "again")
    assert "seen" not in load_run(tmp_path / "again").settings


def test_rungs_of_a_topic_path_and_mixtures_learn_no_more(tmp_path):
    path = TopicPath(8, rungs=(8, 4), validation_share=0.0).fit(draw(200, 3))
    path.save(tmp_path / "path")
    MultinomialMixture(2, max_iter=2).fit(FIRST).save(tmp_path / "mixture")

    for run in ("path/4", "mixture"):
        assert "seen" not in load_run(tmp_path / run).settings
        with pytest.raises(OptionError, match="A run folder of a mixture, a topic path or"):
            sparsetopics.load(tmp_path / run).partial_fit(NIGHTS[0])


DAMAGES = {
    "a sum of other topics": (("sums", "summed_digamma"), [1.0], "seen: terms.summed_digamma has"),
    "a sum that is not finite": (("sums", "totals"), [1.0, 1e300, 0.0], r"seen\.sums\["),
    "a sum that is no number": (("sums", "totals"), [1.0, "2", 0.0], r"seen\.sums\["),
    "no documents": (("n_documents",), 0.0, "seen: "),
    "fewer documents than a topic has": (("n_documents",), 0.5, "seen: active documents"),
    "documents below zero": (("n_documents",), -3.0, "seen: active documents"),
    "active documents below zero": (("sums", "active_documents"), [-1.0, 1, 1], "seen: active"),
    "steps below zero": (("n_steps",), -1, "seen.n_steps: expected"),
    "lengths of no documents": (("lengths",), [[1.0, 2.0], [3.0]], "seen: lengths of no documents"),
    "lengths below zero": (("lengths",), [[-1.0], [3.0]], "seen: lengths of documents below zero"),
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    run = tmp_path_factory.mktemp("sound") / "run"
    HDP(3, moves=(), max_iter=2).fit(FIRST).save(run)
    return run


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named_before_anything_uses_it(sound, tmp_path, damage):
    (*outer, name), value, problem = DAMAGES[damage]
    run = shutil.copytree(sound, tmp_path / "run")
    settings = json.loads((run / "model.json").read_text())
    place = settings["seen"]
    for key in outer:
        place = place[key]
    place[name] = value
    (run / "model.json").write_text(json.dumps(settings))
    reseal(run)

    with pytest.raises(RunError, match=f"model.json, {problem}"):
        sparsetopics.load(run)


def test_a_sum_that_is_missing_is_named(sound, tmp_path):
    run = shutil.copytree(sound, tmp_path / "run")
    settings = json.loads((run / "model.json").read_text())
    del settings["seen"]["sums"]["frozen_slack"]
    (run / "model.json").write_text(json.dumps(settings))
    reseal(run)

    with pytest.raises(RunError, match=r"model.json, seen: terms.frozen_slack"):
        sparsetopics.load(run)


def test_a_number_of_topics_that_nothing_proves_takes_no_memory(sound, tmp_path):
    run = shutil.copytree(sound, tmp_path / "run")
    settings = json.loads((run / "model.json").read_text())
    (run / "model.json").write_text(json.dumps(settings | {"n_topics": 2**40}))
    reseal(run)

    with pytest.raises(RunError, match=r"model.safetensors, .*: expected shape"):
        sparsetopics.load(run)
