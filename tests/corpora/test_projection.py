"""Principal components: against a plain eigendecomposition, and the same however they are fed."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsetopics.base.errors import CorpusFormatError, OptionError, SourceError
from sparsetopics.corpora import projection
from sparsetopics.corpora.projection import Projection, fit_projection, sample_rows
from worlds.vectors_on_disk import make_vectors


def skewed(n_items=400, n_columns=6, seed=0):
    """Columns of clearly different variance, mixed by a rotation."""
    rng = np.random.default_rng(seed)
    rotation, _ = np.linalg.qr(rng.normal(size=(n_columns, n_columns)))
    scaled = make_vectors(n_items, n_columns, seed) * 2.0 ** -np.arange(n_columns)
    return (scaled @ rotation + 5).astype(np.float32)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("whiten", [False, True])
def test_projected_items_are_uncorrelated_in_falling_order(seed, whiten):
    items = skewed(seed=seed)

    fitted, explained = fit_projection(items, 4, whiten=whiten)
    projected = fitted(items)

    assert projected.dtype == np.float32
    variances = np.sort(np.linalg.eigvalsh(np.cov(items.T.astype(np.float64))))[::-1]
    covariance = np.cov(projected.T)
    wanted = np.ones(4) if whiten else variances[:4]
    np.testing.assert_allclose(covariance, np.diag(wanted), atol=1e-4 * wanted.max())
    np.testing.assert_allclose(projected.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(fitted.variances, variances[:4], rtol=1e-9)
    assert explained == pytest.approx(variances[:4].sum() / variances.sum(), rel=1e-9)
    np.testing.assert_allclose(fitted.components @ fitted.components.T, np.eye(4), atol=1e-12)
    largest = np.abs(fitted.components).argmax(axis=1)
    assert (fitted.components[np.arange(4), largest] > 0).all()


def test_all_components_keep_distances():
    items = skewed()

    fitted, explained = fit_projection(items, 6)

    projected = fitted(items)
    np.testing.assert_allclose(
        np.linalg.norm(projected[:50] - projected[50:100], axis=1),
        np.linalg.norm(items[:50] - items[50:100], axis=1),
        rtol=1e-4,
    )
    assert explained == pytest.approx(1.0)


@pytest.mark.parametrize("inputs", [None, ("a", "b", "c", "d", "e", "f")])
def test_a_stored_projection_is_the_same(tmp_path, inputs):
    items = skewed()
    fitted, _ = fit_projection(items, 3, inputs, whiten=True)
    fitted.save(tmp_path)

    loaded = Projection.read(tmp_path / "projection.safetensors")

    np.testing.assert_array_equal(loaded(items), fitted(items))
    assert (loaded.inputs, loaded.whitened, loaded.n_inputs, loaded.n_columns) == (
        inputs,
        True,
        6,
        3,
    )


def test_two_projections_in_a_row_are_one():
    items = skewed()
    rotation = fit_projection(items, 5, tuple("abcdef"))[0]
    second = fit_projection(rotation(items), 3, whiten=True)[0]

    both = second.after(rotation)

    np.testing.assert_allclose(both(items), second(rotation(items)), atol=1e-4)
    assert (both.n_inputs, both.n_columns, both.inputs) == (6, 3, tuple("abcdef"))


def test_a_damaged_projection_is_refused(tmp_path):
    with pytest.raises(CorpusFormatError, match=r"projection\.safetensors"):
        Projection.read(tmp_path / "projection.safetensors")
    fit_projection(skewed(), 3)[0].save(tmp_path)
    path = tmp_path / "projection.safetensors"
    data = path.read_bytes()
    for share in (0.0, 0.1, 0.9):
        path.write_bytes(data[: int(share * len(data))])
        with pytest.raises(CorpusFormatError, match="the arrays are damaged"):
            Projection.read(tmp_path / "projection.safetensors")


@pytest.mark.parametrize(("shape", "most"), [((100, 6), 6), ((5, 6), 4), ((1, 3), 0), ((3, 3), 2)])
def test_more_components_than_there_can_be_are_refused(shape, most):
    with pytest.raises(OptionError, match=f"must be at most {most} for .*, but is {most + 1}"):
        fit_projection(make_vectors(*shape), most + 1)


def test_whitening_nothing_is_refused():
    items = make_vectors(100, 4)
    items -= items.mean(axis=1, keepdims=True)  # three directions are left

    assert fit_projection(items, 4)[0].n_columns == 4
    with pytest.raises(
        OptionError, match=r"must be at most 3 .* differ in 3 directions only, but is 4"
    ):
        fit_projection(items, 4, whiten=True)
    with pytest.raises(SourceError, match="items: no two differ"):
        fit_projection(np.ones((9, 4), np.float32), 2)


@given(cuts=st.lists(st.integers(0, 200), max_size=5))
def test_a_sample_does_not_depend_on_blocks(cuts):
    items = make_vectors(200, 2)
    bounds = [0, *sorted(cuts), 200]
    blocks = [items[a:b] for a, b in pairwise(bounds) if b > a]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(projection, "SAMPLE_ROWS", 30)
        whole = sample_rows([items], np.random.default_rng(1))
        cut = sample_rows(blocks, np.random.default_rng(1))

    np.testing.assert_array_equal(cut, whole)
    assert len(whole) == len(np.unique(whole, axis=0)) == 30


@pytest.mark.parametrize("seed", range(5))
def test_each_row_is_as_likely_to_be_sampled(monkeypatch, seed):
    monkeypatch.setattr(projection, "SAMPLE_BYTES", 100 * 4)
    rng = np.random.default_rng(seed)
    items = np.arange(1_000, dtype=np.float32)[:, np.newaxis]

    samples = [sample_rows(np.split(items, 10), rng) for _ in range(100)]

    counts = np.bincount(np.concatenate(samples).astype(int).ravel() // 100, minlength=10)
    assert counts.sum() == 10_000
    assert np.abs(counts - 1_000).max() < 5 * np.sqrt(900), seed  # binomial: s.d. about 30


def test_a_short_stream_is_its_own_sample():
    items = make_vectors(20, 3)

    sample = sample_rows(np.split(items, 4), np.random.default_rng(0))

    np.testing.assert_array_equal(np.sort(sample, axis=0), np.sort(items, axis=0))
    assert not len(sample_rows([], np.random.default_rng(0)))
