"""Culls: the collection without its smallest topics."""

import numpy as np
import pytest

from sparsetopics.inference.moves.rival import plan_cull
from worlds.moved_collections import WORLDS, grown, table_of


@pytest.mark.parametrize(
    ("n_topics", "n_refusals", "n_left"),
    [(12, 0, 6), (12, 1, 8), (12, 2, 10), (12, 3, 10), (7, 0, 4), (7, 1, 5), (2, 0, 1)],
)
def test_half_then_a_quarter_of_the_topics_go_the_smallest(tmp_path, n_topics, n_refusals, n_left):
    standing = grown(tmp_path, WORLDS["simulated"](), n_topics)
    ledger = standing.ledger
    for _ in range(n_refusals):
        ledger = ledger.refused("cull", n_topics)

    candidate = plan_cull(standing._replace(ledger=ledger), "cull")

    kept = np.sort(np.argsort(-standing.sizes, kind="stable")[:n_left])
    table = table_of(standing)[:, kept]  # which stands for all tokens
    expected = table * (standing.sizes.sum() / table.sum())
    np.testing.assert_allclose(candidate.state.start.table, expected, rtol=1e-12)
    weights, allocation = standing.allocation.weights, candidate.parameters.allocation
    expected = weights[kept] * weights.sum() / weights[kept].sum()
    np.testing.assert_allclose(allocation.weights, expected, rtol=1e-6)
    assert allocation.tail == pytest.approx(standing.allocation.tail, rel=1e-5)
    assert [n for n in range(1, 15) if candidate.course.allows(n)] == list(range(1, n_topics))


@pytest.mark.parametrize(("n_topics", "n_refusals"), [(1, 0), (3, 2)])
def test_where_no_topic_would_go_there_is_no_plan(tmp_path, n_topics, n_refusals):
    standing = grown(tmp_path, WORLDS["simulated"](), n_topics)
    ledger = standing.ledger
    for _ in range(n_refusals):
        ledger = ledger.refused("cull", n_topics)

    assert plan_cull(standing._replace(ledger=ledger), "cull") is None
