"""``LDA(n_runs=…)`` and ``HDP(n_runs=…)``: as the command, and what is known of topics later."""

import numpy as np
import pytest

from sparsetopics import HDP, LDA, Corpus, load
from sparsetopics.base.errors import OptionError
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.consensus import seeds_of
from sparsetopics.runs.plan import plan_run
from sparsetopics.runs.run import load_run
from sparsetopics.runs.train import train_run
from worlds.themes_with_lists import GUIDE, THEMES, texts


@pytest.fixture(scope="module")
def corpus():
    return Corpus.from_texts(texts())


@pytest.fixture(scope="module")
def model(corpus):
    return LDA(5, n_runs=3, random_state=1).fit(corpus)


def test_it_is_the_model_of_the_command(corpus, model, tmp_path):
    corpus.save(tmp_path / "corpus")
    given = {"model": "lda", "topics": 5, "runs": 3, "seed": 1}
    train_run(plan_run(tmp_path / "corpus", tmp_path / "run", given))

    run = load_run(tmp_path / "run", TopicPosterior)

    np.testing.assert_array_equal(run.model.topic_word_weights, model.components_)
    assert run.settings["found_in_runs"] == model._run().settings["found_in_runs"]
    assert [entry["lap"] for entry in model.trace_] == [entry["lap"] for entry in run.trace]


def test_threads_change_nothing(corpus, model):
    two = LDA(5, n_runs=3, random_state=1, n_jobs=2).fit(corpus)

    np.testing.assert_array_equal(two.components_, model.components_)


def test_topics_say_in_how_many_runs_they_were_found(corpus, model):
    table = model.topics()

    assert table["n_runs"].to_pylist() == [3] * 5
    assert all(0 <= n <= 3 for n in table["found_in_runs"].to_pylist())
    assert all(0.0 < each <= 1.0 for each in table["similarity"].to_pylist())
    assert "n_runs" not in LDA(5).fit(corpus).topics().column_names


@pytest.mark.parametrize("seed", range(2))
def test_true_topics_are_in_every_run(corpus, seed):
    model = LDA(8, n_runs=4, random_state=seed).fit(corpus)

    rows = model.topics(6).to_pylist()
    sure = [{*row["words"]} for row in rows if row["found_in_runs"] == 4]
    assert all({*own} in sure for own in THEMES.values()), seed


def test_laps_of_each_run_are_told(corpus):
    told = []
    LDA(3, n_runs=2, max_iter=2).fit(corpus, on_lap=told.append)

    assert [(entry.get("run"), entry["lap"]) for entry in told] == [
        *((run, lap) for run in (1, 2) for lap in (1, 2)), (None, 1),
    ]  # fmt: skip


def test_an_hdp_has_the_middle_of_the_numbers():
    corpus = Corpus.from_texts(texts(n_docs=300))
    model = HDP(n_runs=3, random_state=0).fit(corpus)
    alone = [HDP(random_state=seed).fit(corpus) for seed in seeds_of(0, 3)]

    assert model.n_components_ == sorted(each.n_components_ for each in alone)[1]
    assert model.scores_ in [each.scores_ for each in alone]
    assert model.scores_.recommended == model.n_components_


def test_topics_of_lists_stay(corpus):
    model = LDA(5, n_runs=3, guide=GUIDE).fit(corpus)

    assert all(each.topics for each in model._run().lists)


def test_what_is_known_is_saved_and_goes_with_the_id(corpus, model, tmp_path):
    model.save(tmp_path / "run")

    loaded = load(tmp_path / "run")

    assert loaded.topics() == model.topics()
    assert loaded.n_runs == 3
    later = loaded.update(Corpus.from_texts(texts(n_docs=620), vocabulary=corpus.vocabulary))
    known = {row["id"]: row["similarity"] for row in model.topics().to_pylist()}
    assert {row["id"]: row["similarity"] for row in later.topics().to_pylist()} == known


def test_of_joined_and_divided_topics_it_is_not_known(corpus, model):
    joined = model.merge([0, 3]).topics().to_pylist()
    divided = model.split(0, corpus).topics().to_pylist()

    own = model.topic_ids_
    assert {row["id"] for row in joined if row["n_runs"] is None} == {own[0]}
    unknown = {row["id"] for row in divided if row["n_runs"] is None}
    assert len(unknown) == 2
    assert unknown - {*own}


def test_changes_are_measured_by_the_spread_of_the_runs(model):
    sure = model._run().settings["found_in_runs"]
    spread = {topic: each.shared for topic, each in zip(model.topic_ids_, sure, strict=True)}

    later = [LDA(5).fit(texts(seed=1, n_docs=n_docs)) for n_docs in (40, 600)]
    found = [change for each in later for change in model.changes(each)]

    halves = dict(zip(model.topic_ids_, model._run().settings["likeness_of_halves"], strict=True))
    kinds = {change.kind for change in model.changes(model)}
    assert kinds == {"same"}
    compared = [change for change in found if change.similarity is not None]
    assert {change.kind == "same" for change in compared} == {True, False}
    for change in compared:
        (former,) = change.former
        least = min(spread[former], halves[former]) - 1e-6
        assert (change.kind == "same") == (change.similarity >= least)


@pytest.mark.parametrize("seed", range(2))
def test_a_model_is_the_same_as_itself(seed):
    model = LDA(1, n_runs=2, max_iter=2, random_state=seed).fit(texts(seed=seed, n_docs=50))

    assert [change.kind for change in model.changes(model)] == ["same"]


def test_empty_topics_are_not_compared():
    model = LDA(40, n_runs=3, random_state=0).fit(texts(n_docs=60))

    is_empty = model.model_.sizes < 1e-6
    rows = model.topics().to_pylist()
    assert is_empty.any()
    assert [row["n_runs"] is None for row in rows] == is_empty.tolist()


def test_shares_of_words_have_a_consensus():
    rng = np.random.default_rng(8)
    counts = rng.poisson(0.08, (150, 300)) * rng.random((150, 300))

    model = LDA(12, n_runs=5, random_state=8, max_iter=8).fit(counts)

    assert np.isfinite(model.components_).all()


def test_partial_fit_of_a_consensus_goes_on(corpus, model):
    later = LDA(5, n_runs=3, random_state=1).fit(corpus).partial_fit(texts(seed=2, n_docs=50))

    assert later.n_components_ == 5
    assert later.n_docs_ == 650
    assert "n_runs" not in later.topics().column_names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_runs": 0}, "n_runs: must be from 1 to 100"),
        ({"n_runs": 2.5}, "n_runs: must be a whole number"),
        ({"n_runs": 2, "learner": "full"}, "works only with learner memoized"),
    ],
)
def test_what_has_no_consensus_is_refused(corpus, arguments, message):
    with pytest.raises(OptionError, match=message):
        LDA(3, **arguments).fit(corpus)
