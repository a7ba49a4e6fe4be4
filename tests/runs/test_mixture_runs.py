"""Run folders of mixtures: what is written comes back, and damage ends as one line."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from resealing import reseal
from sparsetopics.base.errors import RunError, ShapeError
from sparsetopics.base.sealed_files import write_sealed
from sparsetopics.model.coordinates import Coordinates
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.registry import LIKELIHOODS, imported
from sparsetopics.runs.run import load_run
from worlds.clumped_mixtures import (
    LIKELIHOOD_NAMES,
    MODEL_NAMES,
    draw_clumps,
    mixture_of,
    write_mixture,
)

CLUMPS = draw_clumps(0)


def arrays_read(likelihood):
    """The names of the arrays of which a model is made again."""
    formats = imported(LIKELIHOODS[likelihood].where).stored.arrays
    own = ["standard_" * bool(form.in_columns) + name for name, form in formats.items()]
    axes = ["directions"] if "scale_matrices" in formats else []
    coordinates = [f"coordinates_{name}" for name in ("origin", "scales", "widths", "steps", *axes)]
    return ["component_counts", *own, *coordinates]


ARRAYS = [(kind, name) for kind in LIKELIHOOD_NAMES for name in arrays_read(kind)]
each_likelihood = pytest.mark.parametrize("likelihood", LIKELIHOOD_NAMES)
each_array = pytest.mark.parametrize(("likelihood", "name"), ARRAYS)


@pytest.fixture
def folder_of(tmp_path):
    """A run folder with the mixture of four clumps in three columns."""

    def write(likelihood="gaussian", name="dp-mixture"):
        return write_mixture(tmp_path / "run", mixture_of(CLUMPS, likelihood, name))

    return write


@each_likelihood
@pytest.mark.parametrize("name", MODEL_NAMES)
def test_a_saved_mixture_comes_back(folder_of, likelihood, name):
    saved = mixture_of(CLUMPS, likelihood, name)

    run = load_run(folder_of(likelihood, name))

    found = run.model
    assert (found.name, found.likelihood_name) == (name, likelihood)
    assert type(found.mixture) is type(saved.mixture)
    assert type(found.posterior) is type(saved.posterior)
    assert found.mixture.top_concentration == saved.mixture.top_concentration
    np.testing.assert_array_equal(found.mixture.counts, saved.mixture.counts)
    for mine, theirs in zip(found.posterior, saved.posterior, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    for field in set(type(saved.likelihood).__dataclass_fields__) - {"coordinates"}:
        np.testing.assert_array_equal(
            getattr(found.likelihood, field), getattr(saved.likelihood, field)
        )
    for field in Coordinates.__dataclass_fields__:
        np.testing.assert_array_equal(
            getattr(found.likelihood.coordinates, field),
            getattr(saved.likelihood.coordinates, field),
        )
    for method in ("log_densities", "responsibilities"):
        np.testing.assert_array_equal(
            getattr(found, method)(CLUMPS.values), getattr(saved, method)(CLUMPS.values)
        )
    assert run.settings["seed"] == 7
    assert (run.settings["n_topics"], run.settings["n_columns"]) == (4, 3)
    assert list(run.trace) == [{"lap": 1, "elbo_per_token": -2.5}]


@each_likelihood
def test_responsibilities_are_those_of_the_posterior_not_of_its_mean(folder_of, likelihood):
    """As in training: E[log w_k] + E[log p(x|φ_k)], which the point estimates are not."""
    model = load_run(folder_of(likelihood)).model
    moments = model.likelihood.components_of(model.posterior)
    values = model.likelihood.coordinates(CLUMPS.values)
    logs = model.likelihood.prepare(moments)(values)
    logs = logs + model.mixture.expected_log_weights

    shares = np.exp(logs - logs.max(axis=1, keepdims=True))

    expected = shares / shares.sum(axis=1, keepdims=True)
    found = model.responsibilities(CLUMPS.values)  # single precision, in another order of sums
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    np.testing.assert_array_equal(np.round(moments.counts, 9), [60, 60, 60, 60])


@each_likelihood
def test_equal_mixtures_give_equal_bytes(tmp_path, folder_of, likelihood):
    model = mixture_of(CLUMPS, likelihood)
    fortran = type(model.posterior)(*(np.asfortranarray(array) for array in model.posterior))

    other = write_mixture(tmp_path / "other", replace(model, posterior=fortran), trace=[])

    one, two = (run / "model.safetensors" for run in (folder_of(likelihood), other))
    assert one.read_bytes() == two.read_bytes()


def test_the_model_speaks_for_itself_in_the_settings(tmp_path, folder_of):
    run = folder_of()
    path = run / "model.json"
    settings = json.loads(path.read_text())

    assert settings["likelihood"] == "gaussian"
    assert settings["top_concentration"] == 10.0
    assert settings["versions"]["numpy"] == np.__version__
    assert sorted(load_file(run / "model.safetensors")) == sorted(
        [*arrays_read("gaussian"), "means", "scale_matrices", "prior_scale_matrix", "prior_mean"]
    )


def expect_damage(folder, *words):
    with pytest.raises(RunError) as caught:
        load_run(folder, MixturePosterior)
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def edit_settings(folder, **changes):
    path = folder / "model.json"
    write_sealed(path, json.loads(path.read_text()) | changes)
    return folder


def edit_array(folder, name, change):
    """``change`` alters a copy in place, or returns another."""
    arrays = load_file(folder / "model.safetensors")
    array = arrays[name].copy()
    changed = change(array)
    arrays[name] = np.ascontiguousarray(array if changed is None else changed)
    save_file(arrays, folder / "model.safetensors")
    reseal(folder)
    return folder


@pytest.mark.parametrize("name", ["model.safetensors", "trace.jsonl"])
def test_a_missing_file_is_named(folder_of, name):
    folder = folder_of()
    (folder / name).unlink()

    expect_damage(folder, name)


def test_a_folder_without_settings_is_no_run(folder_of, tmp_path):
    folder = folder_of()
    (folder / "model.json").unlink()

    expect_damage(folder, "found no model.json", "sparsetopics train")
    expect_damage(tmp_path / "nowhere", "found no such folder", "sparsetopics train")


@pytest.mark.parametrize("name", ["model.json", "model.safetensors", "trace.jsonl"])
@pytest.mark.parametrize("damage", [b"\xff\xfe{", b"{", b"[1]\n"])
def test_a_damaged_file_is_named(folder_of, name, damage):
    folder = folder_of()
    (folder / name).write_bytes(damage)

    expect_damage(folder, name)


def test_a_truncated_array_file_is_named(folder_of):
    path = folder_of() / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-8])

    expect_damage(path.parent, "model.safetensors")


@each_array
def test_a_missing_array_is_named(folder_of, likelihood, name):
    folder = folder_of(likelihood)
    arrays = load_file(folder / "model.safetensors")
    del arrays[name]
    save_file(arrays, folder / "model.safetensors")
    reseal(folder)

    expect_damage(folder, f"{name}: the array is missing")


@each_array
def test_an_array_of_another_shape_is_named(folder_of, likelihood, name):
    folder = edit_array(folder_of(likelihood), name, lambda array: array[:-1])

    expect_damage(folder, f"{name}: expected shape", "but found (")


@each_array
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(folder_of, likelihood, name, value):
    folder = edit_array(folder_of(likelihood), name, lambda array: array.fill(value))

    expect_damage(folder, f"{name}: expected ", f"but found {value} among")


@pytest.mark.parametrize(
    ("likelihood", "name"),
    [
        ("gaussian", "component_counts"),
        ("gaussian", "degrees_of_freedom"),
        ("gaussian", "mean_precisions"),
        ("diagonal-gaussian", "shapes"),
        ("diagonal-gaussian", "standard_rates"),
        ("diagonal-gaussian", "standard_prior_rates"),
        ("gaussian", "coordinates_scales"),
        ("isotropic-gaussian", "coordinates_widths"),
    ],
)
def test_negative_numbers_are_refused(folder_of, likelihood, name):
    folder = edit_array(folder_of(likelihood), name, lambda array: np.negative(array))

    expect_damage(folder, f"{name}: expected finite", "but found -")


def test_a_component_of_no_items_is_sound(folder_of):
    """Training may leave one."""

    def empty(counts):
        counts[3] = 0.0

    run = load_run(edit_array(folder_of(), "component_counts", empty))

    assert run.model.mixture.counts[3] == 0.0
    assert np.isfinite(run.model.log_densities(CLUMPS.values)).all()


def spoil_first(array):
    array[0] = -array[0]


def zero_first(array):
    array[0] = 0.0


@pytest.mark.parametrize("likelihood", ["gaussian", "zero-mean-gaussian"])
@pytest.mark.parametrize("spoil", [spoil_first, zero_first])
@pytest.mark.parametrize("name", ["standard_scale_matrices", "standard_prior_scale_matrix"])
def test_matrices_that_are_not_positive_definite_are_refused(folder_of, likelihood, spoil, name):
    folder = edit_array(folder_of(likelihood), name, spoil)

    expect_damage(folder, "model.safetensors", "the model is not valid: scale matrix")


def test_components_whose_densities_no_float32_holds_are_refused(folder_of):
    """The prior's matrix is narrow, too, or the difference of both would be rounding alone."""
    folder = folder_of("zero-mean-gaussian")

    for name in ("standard_scale_matrices", "standard_prior_scale_matrix"):
        edit_array(folder, name, lambda array: array * 1e-90)

    expect_damage(folder, "components are too narrow for float32")


@pytest.mark.parametrize("likelihood", ["gaussian", "zero-mean-gaussian"])
@pytest.mark.parametrize("value", [1.0, 4.0])
def test_degrees_of_freedom_without_an_expected_covariance_are_refused(
    folder_of, likelihood, value
):
    """ν_k of at most D + 1."""
    folder = edit_array(
        folder_of(likelihood), "degrees_of_freedom", lambda array: array.fill(value)
    )

    expect_damage(folder, f"components must have at least 0 items, but one has {value - 5:g}")


@pytest.mark.parametrize("value", [0.5, 1.0])
def test_shapes_without_an_expected_variance_are_refused(folder_of, value):
    """a_k of at most 1."""
    folder = folder_of("diagonal-gaussian")

    edit_array(folder, "shapes", lambda array: array.fill(value))

    expect_damage(folder, f"components must have at least 0 items, but one has {2 * value - 3:g}")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"likelihood": "words"},
            "likelihood: must be one of zero-mean-gaussian, gaussian",
        ),
        ({"likelihood": None}, "likelihood: expected a string, but found None"),
        (
            {"likelihood": "diagonal-gaussian"},
            "prior_shape: must be a positive number, but is None",
        ),
        ({"model": "lda"}, "the model must be one of dp-mixture, mixture, but is 'lda'"),
        ({"model": "lsi"}, "the model must be one of dp-mixture, mixture, but is 'lsi'"),
        ({"format_version": 1}, "expected format version 3, but found 1. Train again"),
        ({"n_topics": "4"}, "n_topics: expected a whole number, but found '4'"),
        ({"n_topics": 5}, "degrees_of_freedom: expected shape (5,), but found (4,)"),
        ({"n_columns": 4}, "expected shape"),
        ({"n_columns": None}, "n_columns: expected a whole number, but found None"),
        ({"n_axes": 2}, "coordinates: expected 2 axes, but found 3"),
        ({"n_axes": "3"}, "n_axes: expected a whole number, but found '3'"),
        ({"n_axes": 0}, "n_axes: expected"),
        ({"corpus": []}, "corpus: expected a JSON object, but found []"),
        ({"top_concentration": -1.0}, "top_concentration: must be a positive number, but is -1.0"),
        ({"top_concentration": None}, "top_concentration: must be a positive number, but is None"),
        (
            {"prior_mean_precision": 0.0},
            "prior_mean_precision: must be a positive number, but is 0.0",
        ),
        (
            {"prior_degrees_of_freedom": float("nan")},
            "prior_degrees_of_freedom: must be a positive number, but is nan",
        ),
        (
            {"prior_degrees_of_freedom": 3.0},
            "degrees of freedom: must be more than 4, the columns plus one, but is 3",
        ),
    ],
)
def test_settings_that_training_never_writes_are_refused(folder_of, changes, message):
    expect_damage(edit_settings(folder_of(), **changes), message)


def test_single_precision_arrays_are_refused(folder_of):
    folder = edit_array(folder_of(), "standard_means", lambda array: array.astype(np.float32))

    expect_damage(folder, "standard_means: expected F64 numbers, but found F32")


def test_each_kind_of_run_knows_the_other(folder_of, run_folder, hdp_folder, tmp_path):
    (tmp_path / "mixtures").mkdir()
    mixture = write_mixture(tmp_path / "mixtures" / "run", mixture_of(CLUMPS, "gaussian"))

    found = [load_run(path).model for path in (mixture, run_folder, hdp_folder)]
    assert [(type(model), model.name) for model in found] == [
        (MixturePosterior, "dp-mixture"),
        (TopicPosterior, "lda"),
        (TopicPosterior, "hdp"),
    ]
    for folder, name in ((run_folder, "lda"), (hdp_folder, "hdp")):
        with pytest.raises(RunError, match=f"must be one of dp-mixture, mixture, but is '{name}'"):
            load_run(folder, MixturePosterior)
        assert load_run(folder).of(MixturePosterior) is None
    with pytest.raises(RunError, match="the model must be one of lda, hdp, but is 'dp-mixture'"):
        load_run(mixture, TopicPosterior)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "lsi"}, "the model must be one of lda, hdp, dp-mixture, mixture, but is 'lsi'"),
        ({"format_version": 9}, "expected format version 3, but found 9"),
    ],
)
def test_what_is_no_known_run_is_refused(folder_of, changes, message):
    with pytest.raises(RunError, match=message):
        load_run(edit_settings(folder_of(), **changes))


def test_a_folder_that_is_no_run_has_no_kind(tmp_path):
    with pytest.raises(RunError, match="expected a run folder, but found no such folder"):
        load_run(tmp_path / "nowhere")
    (tmp_path / "manifest.json").touch()
    with pytest.raises(RunError, match="found a corpus folder"):
        load_run(tmp_path)


@pytest.mark.parametrize(
    ("n_columns", "fingerprint", "message"),
    [
        (4, "columns", r"heldout: expected the 3 columns that .*run was trained with, but found 4"),
        (
            3,
            "others",
            r"heldout: .* found columns of other names or another projection.*--projection",
        ),
    ],
)
def test_vectors_of_other_columns_are_refused(folder_of, n_columns, fingerprint, message):
    run = load_run(folder_of())

    run.reading(SimpleNamespace(n_columns=3, fingerprint="columns"), "heldout")
    found = SimpleNamespace(n_columns=n_columns, fingerprint=fingerprint)
    with pytest.raises(ShapeError, match=message):
        run.reading(found, "heldout")
