"""``.npy`` and ``.npz``: what numpy writes is read, and nothing is unpickled."""

import gzip
import io
import pickle
import zipfile

import numpy as np
import pytest

from sparsetopics.base.errors import SourceError
from sparsetopics.corpora.readers import blocks
from worlds.vectors_on_disk import ingested, item_ids_of, labels_of, make_vectors, values_of

VECTORS = make_vectors(50, 3)
LABELS = np.arange(50) % 4


def saved(path, array, **options):
    np.save(path, array, **options)
    return path


@pytest.mark.parametrize(
    "array",
    [
        VECTORS,
        VECTORS.astype(">f8"),
        np.asfortranarray(VECTORS),
        (VECTORS * 50).astype(np.int16),
        (VECTORS > 0),
        VECTORS.astype(np.float16),
    ],
)
def test_any_real_matrix_is_read(tmp_path, monkeypatch, array):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 100)

    corpus = ingested([saved(tmp_path / "a.npy", array)], tmp_path / "corpus")

    np.testing.assert_array_equal(values_of(corpus), array.astype(np.float32))


def test_gzip_and_version_2_are_read(tmp_path):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, VECTORS, version=(2, 0))
    (tmp_path / "a.npy.gz").write_bytes(gzip.compress(stream.getvalue()))

    corpus = ingested([tmp_path / "a.npy.gz"], tmp_path / "corpus")

    np.testing.assert_array_equal(values_of(corpus), VECTORS)


@pytest.mark.parametrize(
    ("arrays", "options", "labels", "ids"),
    [
        ({"values": VECTORS, "other": VECTORS, "labels": LABELS}, {}, LABELS, None),
        ({"X": VECTORS, "y": LABELS.astype(float)}, {}, LABELS, None),
        ({"X": VECTORS, "label": LABELS, "ids": LABELS.astype("S")}, {}, LABELS, LABELS),
        ({"X": VECTORS, "y": VECTORS[:, :1]}, {"values_field": "X"}, None, None),
        (
            {"train": VECTORS, "test": VECTORS + 1, "class": LABELS.astype("U"), "name": -LABELS},
            {"values_field": "train", "label_field": "class", "id_field": "name"},
            LABELS,
            -LABELS,
        ),
    ],
)
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_of_an_npz_are_found(tmp_path, monkeypatch, save, arrays, options, labels, ids):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 100)
    save(tmp_path / "a.npz", **arrays)

    corpus = ingested([tmp_path / "a.npz"], tmp_path / "corpus", **options)

    np.testing.assert_array_equal(values_of(corpus), VECTORS)
    assert labels_of(corpus) == ([None] * 50 if labels is None else [str(n) for n in labels])
    assert item_ids_of(corpus) == [str(n) for n in (range(50) if ids is None else ids)]


@pytest.mark.parametrize(
    ("array", "found"),
    [
        (np.array([[1, "a"]], dtype=object), "Python objects, which are never unpickled"),
        (VECTORS[0], "float32 of shape (3,)"),
        (VECTORS.reshape(5, 10, 3), "float32 of shape (5, 10, 3)"),
        (VECTORS[:, :0], "float32 of shape (50, 0)"),
        (VECTORS[:0], "there are no items"),
        (VECTORS.astype(complex), "complex128"),
        (VECTORS.astype(str), "<U32"),
        (VECTORS.astype([("a", "f4")]), "[('a', '<f4')]"),
    ],
)
def test_an_array_that_is_no_matrix_of_numbers_is_refused(tmp_path, array, found):
    saved(tmp_path / "a.npy", array, allow_pickle=True)

    with pytest.raises(SourceError) as error:
        ingested([tmp_path / "a.npy"], tmp_path / "corpus")

    assert found in str(error.value)
    assert not (tmp_path / "corpus").exists()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_placed(tmp_path, monkeypatch, bad):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 100)
    array = VECTORS.astype(np.float64)
    array[33, 1] = bad

    with pytest.raises(SourceError) as error:
        ingested([saved(tmp_path / "a.npy", array)], tmp_path / "corpus")

    assert f"a.npy, item 33, column 1: expected a finite number, but found {bad}" in str(
        error.value
    )


@pytest.mark.parametrize("fortran", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.1, 0.2, 0.5, 0.999])
def test_a_truncated_npy_is_refused(tmp_path, share, fortran):
    path = saved(tmp_path / "a.npy", np.asfortranarray(VECTORS) if fortran else VECTORS)
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])

    with pytest.raises(SourceError, match=r"a\.npy: is not an \.npy file"):
        ingested([path], tmp_path / "corpus")


def test_a_header_that_lies_about_its_size_asks_for_no_memory(tmp_path):
    stream = io.BytesIO()
    header = {"descr": "<f4", "fortran_order": False, "shape": (10**12, 10**6)}
    np.lib.format.write_array_header_1_0(stream, header)
    (tmp_path / "a.npy").write_bytes(stream.getvalue() + bytes(1_000))

    with pytest.raises(SourceError, match="bytes early"):
        ingested([tmp_path / "a.npy"], tmp_path / "corpus")


@pytest.mark.parametrize("broken", [b"(50, 3", b"{50, 3]", b"(-5, 3)", b"'50, 3'"])
def test_a_broken_header_is_refused(tmp_path, broken):
    path = saved(tmp_path / "a.npy", VECTORS)
    path.write_bytes(path.read_bytes().replace(b"(50, 3)", broken.ljust(7)))

    with pytest.raises(SourceError, match=r"a\.npy: is not an \.npy file"):
        ingested([path], tmp_path / "corpus")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_damaged_npz_is_refused(tmp_path, save):
    save(tmp_path / "a.npz", values=VECTORS, labels=LABELS)
    data = (tmp_path / "a.npz").read_bytes()

    for share in np.linspace(0, 0.999, 12):
        (tmp_path / "a.npz").write_bytes(data[: int(share * len(data))])
        with pytest.raises(SourceError, match=r"a\.npz.*: (is not an .npy file|.*damaged)"):
            ingested([tmp_path / "a.npz"], tmp_path / "corpus")
    flipped = bytearray(data)
    flipped[300] ^= 0xFF  # among the values
    (tmp_path / "a.npz").write_bytes(flipped)
    with pytest.raises(SourceError, match=r"a\.npz.*: (is not an .npy file|.*damaged)"):
        ingested([tmp_path / "a.npz"], tmp_path / "corpus")


@pytest.mark.parametrize(
    ("arrays", "options", "found"),
    [
        ({"a": VECTORS, "b": VECTORS}, {}, "Name one with --values-field"),
        ({"a": LABELS}, {}, "but found 'a' (int64 of shape (50,))"),
        (
            {},
            {},
            "expected an array 'values', or exactly one matrix of real numbers, but found none",
        ),
        ({"a": VECTORS}, {"values_field": "b"}, "expected an array 'b', but found 'a'"),
        ({"a": VECTORS}, {"label_field": "b"}, "expected an array 'b', but found 'a'"),
        ({"a": VECTORS}, {"id_field": "b"}, "expected an array 'b', but found 'a'"),
        (
            {"a": VECTORS, "labels": LABELS[1:]},
            {},
            "array 'labels': expected 50 strings or numbers, but found int64 of shape (49,)",
        ),
        (
            {"a": VECTORS, "c": VECTORS},
            {"values_field": "a", "label_field": "c"},
            "expected 50 strings",
        ),
        (
            {"a": VECTORS, "y": LABELS.astype(object)},
            {},
            "array 'y': expected 50 strings or numbers, but found object",
        ),
        ({"a": VECTORS.astype(object)}, {"values_field": "a"}, "never unpickled"),
    ],
)
def test_an_npz_that_will_not_do_is_refused(tmp_path, arrays, options, found):
    np.savez(tmp_path / "a.npz", **arrays)

    with pytest.raises(SourceError) as error:
        ingested([tmp_path / "a.npz"], tmp_path / "corpus", **options)

    assert found in str(error.value)


def test_nothing_is_ever_unpickled(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    (tmp_path / "a.npy").write_bytes(pickle.dumps(Bomb()))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("values.npy", pickle.dumps(Bomb()))

    for name in ("a.npy", "a.npz"):
        with pytest.raises(SourceError, match=r"is not an \.npy file.* \(it begins with"):
            ingested([tmp_path / name], tmp_path / "corpus")
