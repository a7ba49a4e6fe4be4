"""What is measured of a mixture on held-out items."""

import numpy as np
import pytest

from sparsetopics import VectorCorpus
from sparsetopics.evaluation.scoring.mixture_scores import score_mixture
from sparsetopics.evaluation.scoring.topic_scores import Scoring
from sparsetopics.measures.clustering import score_clustering
from sparsetopics.runs.run import load_run
from worlds.clumped_mixtures import LIKELIHOOD_NAMES, draw_clumps, mixture_of, write_mixture

CLUMPS = draw_clumps(0)
HELDOUT = draw_clumps(0, n_items=200)
SCORES = ["run", "log_likelihood_per_item", "standard_error", "n_items", "model", "likelihood"]
SCORES += ["n_components", "n_used_components", "elbo_per_item"]
AGREEMENT = ["nmi", "nmi_arithmetic", "hungarian_accuracy", "majority_accuracy", "n_unlabelled"]
AGREEMENT += ["n_labels"]


@pytest.fixture(params=LIKELIHOOD_NAMES)
def run(request, tmp_path):
    return load_run(write_mixture(tmp_path / "run", mixture_of(CLUMPS, request.param)))


def scored(run, items):
    return score_mixture(run, items, items, Scoring())


def test_the_score_is_the_mean_log_density_with_its_standard_error(run):
    densities = run.model.log_densities(HELDOUT.values)

    card = scored(run, VectorCorpus.from_array(HELDOUT.values))

    assert card.log_likelihood_per_item == pytest.approx(densities.mean())
    error = np.sqrt(((densities - densities.mean()) ** 2).sum() / 199 / 200)
    assert card.standard_error == pytest.approx(error)
    assert card.n_items == 200
    assert card.as_dict()["elbo_per_item"] == -2.5


def test_items_in_many_row_groups_score_the_same(monkeypatch, run):
    whole = scored(run, VectorCorpus.from_array(HELDOUT.values, labels=HELDOUT.kinds))
    monkeypatch.setattr("sparsetopics.corpora.store.vector_rows.MOST_ROWS", 33)
    corpus = VectorCorpus.from_array(HELDOUT.values, labels=HELDOUT.kinds)
    assert len(corpus.row_groups) == 7

    parts = scored(run, corpus)

    assert parts.log_likelihood_per_item == pytest.approx(whole.log_likelihood_per_item, rel=1e-6)
    assert parts.clustering == whole.clustering


def test_without_labels_nothing_is_said_about_agreement(run):
    card = scored(run, VectorCorpus.from_array(HELDOUT.values))

    assert card.clustering is None
    assert list(card.as_dict()) == [*SCORES, "in_sample"]


def test_labels_are_compared_with_the_most_probable_components(run):
    card = scored(run, VectorCorpus.from_array(HELDOUT.values, labels=HELDOUT.kinds))

    best = run.model.responsibilities(HELDOUT.values).argmax(axis=1)
    assert card.clustering == score_clustering(HELDOUT.kinds, best)
    assert list(card.as_dict()) == [*SCORES, *AGREEMENT, "in_sample"]
    assert card.as_dict()["n_labels"] == 4


def test_clumps_agree_wholly_with_their_own_labels(tmp_path):
    model = mixture_of(CLUMPS, "gaussian")
    run = load_run(write_mixture(tmp_path / "run", model))

    card = scored(run, VectorCorpus.from_array(CLUMPS.values, labels=CLUMPS.kinds))

    found = card.as_dict()
    assert all(found[name] == pytest.approx(1.0) for name in AGREEMENT[:4])


def test_items_without_a_label_are_counted_and_scored_all_the_same(run):
    labels = [None if n % 4 == 0 else f"clump {kind}" for n, kind in enumerate(HELDOUT.kinds)]

    card = scored(run, VectorCorpus.from_array(HELDOUT.values, labels=labels))

    labelled = np.arange(200) % 4 != 0
    best = run.model.responsibilities(HELDOUT.values).argmax(axis=1)
    expected = score_clustering(HELDOUT.kinds[labelled], best[labelled])
    assert card.clustering.nmi == pytest.approx(expected.nmi)
    assert card.clustering.n_items == 150
    record = card.as_dict()
    assert (record["n_items"], record["n_unlabelled"]) == (200, 50)
    densities = run.model.log_densities(HELDOUT.values)
    assert record["log_likelihood_per_item"] == pytest.approx(densities.mean())


def test_the_number_of_components_is_that_of_the_model_not_of_the_items(run):
    """Items of one clump alone."""
    own = HELDOUT.kinds == 0
    corpus = VectorCorpus.from_array(HELDOUT.values[own], labels=HELDOUT.kinds[own])

    assert scored(run, corpus).as_dict()["n_components"] == 4


def test_one_item_has_a_score_without_an_error(run):
    card = scored(run, VectorCorpus.from_array(HELDOUT.values[:1]))

    assert card.log_likelihood_per_item == pytest.approx(
        run.model.log_densities(HELDOUT.values[:1])[0]
    )
    assert np.isnan(card.standard_error)
    assert card.as_dict()["standard_error"] is None  # JSON knows no NaN


def test_a_run_without_a_trace_has_no_bound(tmp_path):
    run = write_mixture(tmp_path / "run", mixture_of(CLUMPS, "gaussian"), trace=[])

    card = scored(load_run(run), VectorCorpus.from_array(HELDOUT.values))

    assert card.as_dict()["elbo_per_item"] is None
