"""Vectors as training reads them, and what is said about columns."""

import warnings

import numpy as np
import pytest

from sparsetopics.base.errors import ShapeError, SparsetopicsWarning
from sparsetopics.corpora.batching import plan_vector_batches
from sparsetopics.corpora.corpus import VectorCorpus
from sparsetopics.execution.executors import open_executor
from sparsetopics.model.coordinates import usual_items
from sparsetopics.model.likelihoods.gaussian import Gaussian
from sparsetopics.model.standard_source import StandardSource, sample_vectors, standard_source
from sparsetopics.options.training import LocalOptions, TrainingOptions
from sparsetopics.runs.data import source_of
from worlds.gaussian_worlds import in_standard_coordinates
from worlds.standard_worlds import two_clusters

OPTIONS = TrainingOptions(3, model="mixture", local=LocalOptions("mean-field"))


def planned(values, n_batches=3, *, resident_bytes=10**9):
    corpus = VectorCorpus.from_array(values)
    rng = np.random.default_rng(0)
    return plan_vector_batches(corpus, n_batches, rng, resident_bytes=resident_bytes)


def read_all(source):
    return np.concatenate([source.read(n).values for n in range(source.n_batches)])


def said_of(values, names=None):
    """The sentences about the columns, and the source."""
    names = names or [*map(str, range(values.shape[1]))]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        source = standard_source(
            planned(values), Gaussian.coordinates_for, names, np.random.default_rng(1)
        )
    assert all(issubclass(each.category, SparsetopicsWarning) for each in caught)
    return [str(each.message) for each in caught], source


# --- batches --------------------------------------------------------------------------------------


@pytest.mark.parametrize("coarse", [False, True])
def test_batches_on_disk_and_in_memory_are_the_same_whenever_they_are_read(coarse):
    values = two_clusters(np.random.default_rng(0), 200, 4)
    values = np.round(values) if coarse else values

    resident, streamed = (
        in_standard_coordinates(planned(values, resident_bytes=size), "gaussian")
        for size in (10**9, 0)
    )

    assert resident.is_resident
    assert not streamed.is_resident
    assert (streamed.n_docs, streamed.n_columns, streamed.n_tokens) == (200, 4, 200.0)
    first = read_all(resident)
    assert first.dtype == np.float32
    for source in (resident, streamed, streamed):
        np.testing.assert_array_equal(read_all(source), first)
    np.testing.assert_allclose(first.mean(axis=0), 0.0, atol=1e-5 + 0.1 * coarse)


def test_coordinates_have_the_same_bits_for_any_number_of_threads():
    values = two_clusters(np.random.default_rng(0), 3_000, 40)
    found = []
    for workers in (1, 2):
        with open_executor(workers):
            corpus = VectorCorpus.from_array(values)
            found.append(source_of(corpus, OPTIONS, 3, np.random.default_rng(0)))

    assert found[0].coordinates.equals(found[1].coordinates)
    np.testing.assert_array_equal(*map(read_all, found))


def test_known_coordinates_are_kept():
    values = two_clusters(np.random.default_rng(0), 200, 3)
    known = Gaussian.coordinates_for(values[:50])

    source = source_of(
        VectorCorpus.from_array(values), OPTIONS, 2, np.random.default_rng(0), coordinates=known
    )

    assert isinstance(source, StandardSource)
    assert source.coordinates is known
    rng = np.random.default_rng(0)
    np.testing.assert_allclose(
        np.sort(read_all(source), axis=0), np.sort(known(values), axis=0), rtol=1e-6
    )
    assert rng.random() != 0.0


def test_a_sample_reads_no_more_batches_than_it_needs(monkeypatch):
    monkeypatch.setattr("sparsetopics.model.standard_source.MOST_SAMPLED", 50)
    source, read_ids = planned(np.arange(400.0).reshape(200, 2), 4), []

    class Counting:
        n_batches, n_columns = source.n_batches, source.n_columns

        def read(self, batch_id):
            read_ids.append(batch_id)
            return source.read(batch_id)

    values = sample_vectors(Counting())

    assert read_ids == [0]
    assert values.shape == (50, 2)
    assert values.dtype == np.float64
    assert len(np.unique(values[:, 0])) == 50


# --- what is refused ------------------------------------------------------------------------------


def test_values_that_are_too_large_are_refused():
    values = np.random.default_rng(0).normal(size=(30, 2)) * [1.0, 1e150]

    with pytest.raises(ShapeError, match=r"^column y: values must be at most 1e\+\d+, but one is "):
        said_of(values, ["x", "y"])


@pytest.mark.filterwarnings("ignore")
def test_items_that_are_all_alike_are_refused():
    with pytest.raises(ShapeError, match="items: no two differ, so there is nothing to learn"):
        said_of(np.full((9, 2), 3.5))


# --- what is said ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "unit"), [(np.float64, 1.0), (np.float32, 1.0), (float, 1e-9)])
def test_sound_columns_are_not_mentioned(dtype, unit):
    values = unit * two_clusters(np.random.default_rng(0), 300, 5)

    assert said_of(values.astype(dtype))[0] == []


def test_heavy_tails_and_coarse_values_are_not_mentioned():
    rng = np.random.default_rng(0)
    values = np.c_[
        rng.standard_cauchy(400), rng.integers(0, 2, 400), rng.poisson(0.1, 400), rng.random(400)
    ]

    assert said_of(values)[0] == []


@pytest.mark.parametrize("value", [9999.0, -999.0, 1e20])
def test_a_value_that_recurs_far_from_all_others_is_named(value):
    values = two_clusters(np.random.default_rng(0), 300, 3)
    values[[5, 80, 200], 1] = value

    (sentence,), source = said_of(values, ["x", "weight", "z"])

    assert sentence.startswith(
        f"Column weight: {value:g} stands in 3 of 300 items, far from all other values. If it "
        "means that a value is missing, leave these items out or fill them in."
    )
    assert source.n_columns == 3
    assert source.coordinates.scales[1] < 5.0


@pytest.mark.parametrize("n_times", [1, 2])
def test_one_or_two_far_values_are_not_named(n_times):
    values = two_clusters(np.random.default_rng(0), 300, 3)
    values[:n_times, 1] = 9999.0

    assert said_of(values)[0] == []


def test_whole_numbers_with_a_heavy_tail_are_not_named():
    rng = np.random.default_rng(0)
    values = np.round(3.0 * rng.standard_t(1.0, (12_000, 2)))

    assert said_of(values)[0] == []


def test_columns_that_never_change_are_named():
    values = two_clusters(np.random.default_rng(0), 300, 2)
    one, two = np.insert(values, 1, 5.0, axis=1), np.c_[values, np.zeros((300, 2))]

    assert said_of(one, ["x", "y", "z"])[0] == [
        "The 3 columns vary in 2 directions only (always the same: y)."
    ]
    assert said_of(two)[0] == [
        "The 4 columns vary in 2 directions only (always the same: 2 and 3)."
    ]
    assert said_of(np.c_[values[:, :1], np.ones(300)])[0][0].startswith(
        "The 2 columns vary in 1 direction only"
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_that_follow_from_others_are_counted(dtype):
    """An inch beside a centimetre, a sum, and a copy."""
    x, y, z = two_clusters(np.random.default_rng(0), 300, 3).T
    values = np.c_[x, 2.54 * x, y, x + y, z, z].astype(dtype)

    said, source = said_of(values)

    assert said == ["The 6 columns vary in 3 directions only."]
    assert source.n_columns == 3


@pytest.mark.parametrize(("constant", "n_said"), [(0.0, 1), (None, 0)])
def test_few_items_say_nothing_of_columns_that_vary(constant, n_said):
    values = np.random.default_rng(0).normal(size=(6, 9))
    if constant is not None:
        values[:, 3] = constant

    assert len(said_of(values)[0]) == n_said


def test_one_hot_columns_and_copies_of_coarse_ones_are_said():
    kinds = np.random.default_rng(0).integers(0, 3, 300)
    values = np.c_[np.eye(3)[kinds], kinds, np.random.default_rng(1).normal(size=300)]

    (sentence,), source = said_of(values)

    assert sentence.startswith("The 5 columns vary in 3 directions only")
    assert np.isfinite(read_all(source)).all()


# --- coarse values --------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.01, 0.03, 0.2])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_rare_ones_of_a_boolean_column_have_a_say(share, unit):
    """They are no wild items: a value stands for its step."""
    rng = np.random.default_rng(0)
    values = two_clusters(rng, 1_000, 3)
    values[:, 1] = unit * (np.arange(1_000) < 1_000 * share)

    said, source = said_of(values)

    assert said == []
    assert source.n_columns == 3
    own = source.coordinates
    np.testing.assert_allclose(own.steps, [0.0, unit, 0.0])
    kept, _ = usual_items(own.between_steps(values, rng))
    assert kept.all()
    variance = values[:, 1].var() + unit**2 / 12.0
    assert own.covariances_of(np.eye(3))[1, 1] == pytest.approx(variance, rel=0.2)


def test_steps_of_a_narrow_column_matter_beside_a_wide_one():
    rng = np.random.default_rng(0)
    narrow = 0.05 * np.round(20.0 * rng.standard_normal(1_000))

    _, source = said_of(np.c_[narrow, 90.0 * rng.standard_normal(1_000)])

    np.testing.assert_allclose(source.coordinates.steps, [0.05, 0.0])


def test_counts_stand_for_themselves():
    values = np.random.default_rng(0).poisson(3.0, (200, 2)).astype(float)
    rng = np.random.default_rng(0)

    source = standard_source(planned(values), Gaussian.coordinates_for, "ab", rng, has_steps=False)

    assert not source.coordinates.steps.any()
    assert len(np.unique(read_all(source).round(4), axis=0)) == len(np.unique(values, axis=0))
