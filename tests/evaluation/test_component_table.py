"""Components of mixtures of vectors as the report shows them."""

import base64
import io
from dataclasses import replace

import numpy as np
import pytest

from sparsetopics import VectorCorpus
from sparsetopics.corpora.projection import patch_basis
from sparsetopics.evaluation.report import components as table
from sparsetopics.evaluation.report.components import Column, component_table, example_items
from sparsetopics.runs.run import load_run, run_in_memory, save_run
from worlds.clumped_mixtures import draw_clumps, mixture_of, write_mixture

Image = pytest.importorskip("PIL.Image", reason="pictures are read back with Pillow")
CLUMPS = draw_clumps(0)


def run_of(folder, likelihood="gaussian"):
    return load_run(write_mixture(folder / likelihood, mixture_of(CLUMPS, likelihood)))


def pixels(picture):
    head, _, data = picture.address.partition(",")
    assert head == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))


def test_sizes_and_weights_are_those_of_the_model(tmp_path):
    run = run_of(tmp_path)

    rows = component_table(run)

    np.testing.assert_allclose([row.weight for row in rows], run.model.weights)
    np.testing.assert_allclose([row.n_items for row in rows], run.model.mixture.counts)


@pytest.mark.parametrize("likelihood", ["gaussian", "diagonal-gaussian"])
def test_the_column_farthest_from_the_rest_comes_first(tmp_path, likelihood):
    run = run_of(tmp_path, likelihood)

    rows = component_table(run, names=["east", "north", "up"])

    kinds = [CLUMPS.values[CLUMPS.kinds == kind] for kind in range(4)]
    means = np.array([own.mean(axis=0) for own in kinds])
    spread = CLUMPS.values.std(axis=0)
    for row in rows:
        first = row.columns[0]
        column = ["east", "north", "up"].index(first.name)
        own = row.number  # kinds are of one size, so components keep their order
        assert first.mean == pytest.approx(means[own, column], abs=0.2)
        covariance = run.model.normals.covariances[own]
        variance = covariance[column] if covariance.ndim == 1 else covariance[column, column]
        assert first.deviation == pytest.approx(np.sqrt(variance))
        away = (means[own] - CLUMPS.values.mean(axis=0)) / spread
        assert first.away == pytest.approx(away[column], abs=0.1)
        assert np.abs(away).max() == pytest.approx(abs(first.away), abs=0.1)


def test_correlations_have_a_picture_with_a_red_diagonal(tmp_path):
    (picture,) = component_table(run_of(tmp_path))[0].pictures

    shown = pixels(picture)

    assert shown.shape == (3, 3, 3)
    assert (shown[[0, 1, 2], [0, 1, 2], 0] > shown[[0, 1, 2], [0, 1, 2], 2] + 50).all()
    assert component_table(run_of(tmp_path, "diagonal-gaussian"))[0].pictures == []


def test_light_components_of_many_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "MOST_COMPONENTS", 2)

    assert [row.number for row in component_table(run_of(tmp_path))] == [0, 1]


def patch_run(folder):
    """Two kinds of 2 × 2 patches: one varies across, the other down."""
    rng = np.random.default_rng(5)
    scales = np.array([[9.0, 0.5, 0.5], [0.5, 9.0, 0.5]])  # in the basis: columns as ordered there
    kinds = np.arange(400) % 2
    values = (scales[kinds] * rng.standard_normal((400, 3))).astype(np.float32)
    clumps = CLUMPS._replace(values=values, kinds=kinds)
    model = mixture_of(clumps, "zero-mean-gaussian")
    corpus = {"path": "patches", "n_items": 400, "columns_fingerprint": "c"}
    corpus |= {"made": {"basis": "dct", "patches": 2}}
    folder.mkdir()
    save_run(
        folder, run_in_memory("run", model, None, {"corpus": corpus, "options": {}, "seed": 1}, [])
    )
    return load_run(folder), values


def test_patches_show_how_they_vary(tmp_path):
    run, values = patch_run(tmp_path / "patches")
    found, _ = example_items(VectorCorpus.from_array(values), run.model)

    rows = component_table(run, found)

    names = ["covariance, leading eigenvectors", "drawn from it", "examples in the data"]
    assert [picture.caption for picture in rows[0].pictures] == names
    assert rows[0].columns == []
    basis = patch_basis(2)
    for row in rows:
        leading = pixels(row.pictures[0])[:, :2].astype(float).ravel() - 127.5
        own = run.model.normals.covariances[row.number]
        wanted = basis[np.diag(own).argmax()]
        assert abs(leading @ wanted) / np.linalg.norm(leading) == pytest.approx(1.0, abs=0.02)


def test_pictures_repeat_and_examples_do_not_change_what_is_drawn(tmp_path):
    run, values = patch_run(tmp_path / "patches")
    found, _ = example_items(VectorCorpus.from_array(values), run.model)

    without, again, with_examples = (
        component_table(run), component_table(run), component_table(run, found)
    )  # fmt: skip

    assert without == again
    assert [row.pictures for row in without] == [row.pictures[:2] for row in with_examples]


def test_a_mixture_of_other_patches_has_no_pictures_of_patches(tmp_path):
    run, _ = patch_run(tmp_path / "patches")
    corpus = run.settings["corpus"] | {"made": {"basis": "dct", "patches": 3}}

    rows = component_table(replace(run, settings=dict(run.settings) | {"corpus": corpus}))

    assert [picture.caption for picture in rows[0].pictures] == ["correlations of columns"]


@pytest.mark.parametrize(
    ("mean", "deviation", "shown"),
    [
        (0.0, 0.0, "0"),
        (3.14159, 1.0, "3.142"),
        (-1234.5678, 10.0, "-1234.6"),
        (1_700_012_345.0, 3e4, "1.700012e+09"),
        (2.1, 0.0, "2.1"),
    ],
)
def test_means_have_digits_enough_for_their_deviation(mean, deviation, shown):
    assert Column("x", mean, deviation, 0.0).shown_mean == shown
