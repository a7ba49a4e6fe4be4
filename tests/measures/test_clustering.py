"""Scores of clusterings, against all one-to-one matchings and another implementation."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsetopics.base.errors import CorpusError, OptionError, ShapeError
from sparsetopics.measures.clustering import contingency, score_clustering


@st.composite
def clusterings(draw):
    n_items = draw(st.integers(1, 12))
    numbers = st.lists(st.integers(0, 3), min_size=n_items, max_size=n_items)
    return draw(numbers), draw(numbers)


def best_matching(labels, components):
    """The largest share of items right, by trying every way to name the components."""
    pairs = list(zip(labels, components, strict=True))
    names = [*range(4), None, None, None, None]  # a component may be left without a label
    matchings = set(permutations(names, 4))
    return max(
        np.mean([name[component] == label for label, component in pairs]) for name in matchings
    )


@given(clusterings())
def test_hungarian_accuracy_is_that_of_the_best_of_all_matchings(clustering):
    labels, components = clustering

    found = score_clustering(labels, components).hungarian_accuracy

    assert found == pytest.approx(best_matching(labels, components), abs=1e-15)


@given(clusterings())
def test_majority_accuracy_counts_the_commonest_label_of_each_component(clustering):
    labels, components = (np.array(part) for part in clustering)
    right = sum(np.bincount(labels[components == k]).max() for k in set(components.tolist()))

    assert score_clustering(labels, components).majority_accuracy == right / len(labels)


@given(clusterings())
def test_nmi_equals_that_of_scikit_learn(clustering):
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    score = score_clustering(*clustering)

    for found, method in [(score.nmi, "max"), (score.nmi_arithmetic, "arithmetic")]:
        wanted = metrics.normalized_mutual_info_score(*clustering, average_method=method)
        assert found == pytest.approx(wanted, abs=1e-9)


def test_a_clustering_by_hand():
    score = score_clustering(["a", "a", "b", "b"], [7, 7, 7, 3])

    of_components = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25))
    of_both = -(0.5 * np.log(0.5) + 2 * 0.25 * np.log(0.25))
    shared = np.log(2) + of_components - of_both
    assert score.nmi == pytest.approx(shared / np.log(2))
    assert score.nmi_arithmetic == pytest.approx(2 * shared / (np.log(2) + of_components))
    assert score.hungarian_accuracy == score.majority_accuracy == 0.75
    assert score[4:] == (4, 0, 2, 2)


def test_more_components_than_labels_cost_the_matching_but_not_the_vote():
    score = score_clustering([0, 0, 1, 1], [0, 1, 2, 3])

    assert score.hungarian_accuracy == 0.5
    assert score.majority_accuracy == 1.0
    assert score.nmi == pytest.approx(0.5)
    assert score.nmi_arithmetic == pytest.approx(2 / 3)


@pytest.mark.parametrize("labels", [[0, 1, 0, 1], ["x", "y", "x", "y"]])
def test_names_and_order_do_not_matter(labels):
    plain = score_clustering([1, 0, 1, 0], [5, 9, 5, 9])

    assert score_clustering(labels, np.array([2, 0, 2, 0], np.uint32)) == plain
    assert plain.nmi == plain.hungarian_accuracy == 1.0


def test_one_label_and_one_component_agree():
    score = score_clustering(["only"] * 3, [2, 2, 2])

    assert score[:4] == (1.0, 1.0, 1.0, 1.0)
    assert score_clustering(["only"] * 3, [2, 2, 1]).nmi == 0.0


def test_items_without_a_label_are_left_out_and_counted():
    labels = ["a", None, "b", None, "a"]

    score = score_clustering(labels, [0, 8, 1, 9, 0])

    assert score == score_clustering(["a", "b", "a"], [0, 1, 0])._replace(n_unlabelled=2)
    assert (score.n_items, score.n_unlabelled, score.n_components) == (3, 2, 2)


def test_contingency_counts_items():
    table = contingency(["b", "a", "b", None], [4, 4, 1, 4])

    np.testing.assert_array_equal(table, [[1, 1], [0, 1]])  # b first: it is met first


def test_as_many_labels_as_items():
    with pytest.raises(ShapeError, match="labels: expected 3, one per item, but found 2"):
        score_clustering(["a", "b"], [0, 1, 2])


@pytest.mark.parametrize("components", [[0.0, 1.0], [[0], [1]], ["a", "b"]])
def test_components_are_whole_numbers(components):
    with pytest.raises(
        ShapeError, match="components: expected one whole number per item, but found"
    ):
        score_clustering(["a", "b"], components)


@pytest.mark.parametrize(("labels", "components"), [([None, None], [0, 1]), ([], np.zeros(0, int))])
def test_no_label_at_all(labels, components):
    with pytest.raises(CorpusError, match=f"labels: none of the {len(labels)} items has"):
        score_clustering(labels, components)


def test_labels_are_numbers_or_strings():
    with pytest.raises(OptionError, match=r"labels: expected whole numbers, strings.* found nan"):
        score_clustering([1, float("nan")], [0, 1])
