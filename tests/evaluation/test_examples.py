"""Items that stand for components, against plain sorting."""

import numpy as np
import pytest

from sparsetopics import VectorCorpus
from sparsetopics.corpora.lookup import spread_evenly
from sparsetopics.evaluation.report import components
from sparsetopics.evaluation.report.components import example_items
from worlds.clumped_mixtures import draw_clumps, mixture_of


def test_examples_of_a_large_collection_are_of_all_of_it(monkeypatch):
    clumps = draw_clumps(0)
    corpus = VectorCorpus.from_array(clumps.values)
    monkeypatch.setattr(components, "MOST_ROWS", 60)

    found, _ = example_items(corpus, mixture_of(clumps, "gaussian"))

    seen = {int(each.name) for own in found for each in own}
    assert seen <= set(spread_evenly(corpus.n_items, 60).tolist())
    assert max(seen) - min(seen) > corpus.n_items / 2


@pytest.mark.parametrize(("most", "chosen"), [(99, [0, 1, 2, 3]), (2, [1, 3]), (1, [2]), (0, [2])])
def test_places_are_spread_evenly(most, chosen):
    assert spread_evenly(4, most).tolist() == chosen


@pytest.mark.parametrize("likelihood", ["gaussian", "diagonal-gaussian"])
def test_items_nearest_to_a_mean_stand_for_a_component(likelihood):
    clumps = draw_clumps(0)
    model = mixture_of(clumps, likelihood)
    labels = [f"kind {kind}" for kind in clumps.kinds]

    found, _ = example_items(VectorCorpus.from_array(clumps.values, labels=labels), model)

    densities = model.scorer(clumps.values)
    owners = model.responsibilities(clumps.values).argmax(axis=1)
    for k, own in enumerate(found):
        mine = np.flatnonzero(owners == k)
        best = mine[np.argsort(-densities[mine, k], kind="stable")][:3]
        assert [int(each.name) for each in own] == best.tolist()
        assert {each.label for each in own} == {labels[best[0]]}
        np.testing.assert_array_equal(own[0].values, clumps.values[best[0]])


def test_about_zero_the_surest_items_stand_for_a_component():
    clumps = draw_clumps(0)
    model = mixture_of(clumps, "zero-mean-gaussian")

    found, _ = example_items(VectorCorpus.from_array(clumps.values), model)

    joint = model.scorer(clumps.values) + np.log(model.weights)
    for k, own in enumerate(found):
        others = np.delete(joint, k, axis=1).max(axis=1)
        margins = (joint[:, k] - others).astype(float)
        margins[margins < 0] = -np.inf
        best = np.argsort(-margins, kind="stable")[: len(own)]
        np.testing.assert_allclose([each.closeness for each in own], margins[best], rtol=1e-5)
