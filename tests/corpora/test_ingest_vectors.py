"""From files to a corpus of vectors: row groups, projections, and nothing left after an error."""

import errno
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from sparsetopics.base.errors import OptionError, OutputError, SourceError
from sparsetopics.corpora import projection
from sparsetopics.corpora.corpus import VectorCorpus
from sparsetopics.corpora.ingest_vectors import VectorOptions, ingest_vectors
from sparsetopics.corpora.readers import blocks
from sparsetopics.corpora.readers.options import VectorReadOptions
from sparsetopics.corpora.store import vector_rows
from sparsetopics.corpora.store.shards import ShardWriter
from sparsetopics.corpora.validate import validate
from worlds.vectors_on_disk import ingested, item_ids_of, make_grey, make_vectors, values_of

VECTORS = make_vectors(300, 4)


@pytest.fixture
def source(tmp_path):
    (tmp_path / "source").mkdir()
    np.save(tmp_path / "source" / "a.npy", VECTORS)
    return tmp_path / "source" / "a.npy"


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_files_follow_each_other_in_full_row_groups(source, tmp_path, monkeypatch):
    monkeypatch.setattr(vector_rows, "ROW_GROUP_BYTES", 64 * 16)
    monkeypatch.setattr(vector_rows.VectorKind, "groups_per_shard", 4)
    np.save(source.with_name("b.npy"), VECTORS + 1)

    summary = ingest_vectors([source.parent], tmp_path / "corpus")

    corpus = VectorCorpus.open(tmp_path / "corpus")
    np.testing.assert_array_equal(values_of(corpus), np.concatenate((VECTORS, VECTORS + 1)))
    assert item_ids_of(corpus) == [str(n) for n in range(600)]
    assert [group.n_docs for group in corpus.row_groups] == [64] * 9 + [24]
    assert summary[:4] == (600, 4, 3, 0)
    assert validate(tmp_path / "corpus") == []


def test_a_row_group_holds_a_few_megabytes():
    assert vector_rows.VectorKind(64).rows_per_group * 64 * 4 == vector_rows.ROW_GROUP_BYTES
    assert vector_rows.VectorKind(1).rows_per_group == vector_rows.MOST_ROWS
    assert vector_rows.VectorKind(10**9).rows_per_group == 1


@pytest.mark.parametrize("pca", [None, 3])
def test_the_result_does_not_depend_on_workers(source, tmp_path, monkeypatch, pca):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 500)

    for workers in (1, 3):
        ingested([source], tmp_path / f"{workers}", pca=pca, workers=workers)

    assert files_of(tmp_path / "1") == files_of(tmp_path / "3")


def test_the_manifest_says_what_there_is(source, tmp_path):
    ingested([source], tmp_path / "corpus")

    manifest = json.loads((tmp_path / "corpus" / "manifest.json").read_text())
    shard = tmp_path / "corpus" / "shard-00000.parquet"
    assert manifest["kind"] == "vectors"
    assert (manifest["n_items"], manifest["n_columns"]) == (300, 4)
    assert manifest["n_bytes"] == shard.stat().st_size
    assert manifest["made"] == {"format": "npy"}
    assert sorted(files_of(tmp_path / "corpus")) == ["manifest.json", shard.name]


def test_items_are_projected_and_the_projection_is_kept(source, tmp_path):
    corpus = ingested([source], tmp_path / "corpus", pca=2, whiten=True)

    np.testing.assert_allclose(np.cov(values_of(corpus).T), np.eye(2), atol=1e-5)
    np.testing.assert_allclose(values_of(corpus), corpus.projection(VECTORS), atol=1e-5)
    assert corpus.columns is None
    assert corpus.made["pca"]["n_sampled"] == 300
    assert corpus.made["pca"]["whitened"] is True
    assert 0.5 < corpus.made["pca"]["explained_variance"] < 1
    assert validate(tmp_path / "corpus") == []


def test_the_seed_decides_which_items_are_sampled(source, tmp_path, monkeypatch):
    monkeypatch.setattr(projection, "SAMPLE_ROWS", 50)

    def mean(name, seed):
        return ingested([source], tmp_path / name, pca=2, seed=seed).projection.mean

    np.testing.assert_array_equal(mean("a", 1), mean("b", 1))
    assert not np.array_equal(mean("c", 2), mean("d", 1))


def test_held_out_items_are_projected_alike(source, tmp_path):
    np.save(tmp_path / "b.npy", VECTORS[:20] * 3)
    train = ingested([source], tmp_path / "train", pca=3)

    heldout = ingested([tmp_path / "b.npy"], tmp_path / "heldout", projection=tmp_path / "train")

    np.testing.assert_allclose(
        values_of(heldout), train.projection(VECTORS[:20] * 3), rtol=1e-4, atol=1e-5
    )
    assert heldout.fingerprint == train.fingerprint
    assert heldout.made["pca"] == train.made["pca"]
    assert ingested([source], tmp_path / "other", pca=3, whiten=True).fingerprint != (
        train.fingerprint
    )


def test_held_out_tables_give_the_columns_that_were_projected(tmp_path):
    (tmp_path / "a.csv").write_text("b,a,c\n" + "".join(f"{n},{n * n},7\n" for n in range(9)))
    (tmp_path / "h.csv").write_text(
        "c,a,b,more\n" + "".join(f"7,{n * n},{n},1\n" for n in range(9))
    )

    train = ingested([tmp_path / "a.csv"], tmp_path / "t", pca=1, columns=("a", "b"))
    heldout = ingested([tmp_path / "h.csv"], tmp_path / "h", projection=tmp_path / "t")

    np.testing.assert_array_equal(values_of(heldout), values_of(train))


def test_held_out_images_are_cut_alike(tmp_path):
    image_module = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(0).integers(0, 256, (20, 20), dtype=np.uint8)
    image_module.fromarray(pixels).save(tmp_path / "a.png")
    out = [tmp_path / name for name in ("train", "heldout", "dense")]

    train = ingested([tmp_path / "a.png"], out[0], pca=5, patches=4, stride=3)
    heldout = ingested([tmp_path / "a.png"], out[1], projection=out[0])
    dense = ingested([tmp_path / "a.png"], out[2], projection=out[0], patches=4, stride=1)

    np.testing.assert_array_equal(values_of(heldout), values_of(train))
    assert dense.n_items == 17 * 17
    assert dense.fingerprint == train.fingerprint


def test_patches_of_one_size_fit_together_whatever_the_images(tmp_path):
    image_module = pytest.importorskip("PIL.Image")
    for seed in range(2):
        image_module.fromarray(make_grey(20, 24, seed)).save(tmp_path / f"{seed}.png")
    first, other = tmp_path / "0.png", tmp_path / "1.png"

    train = ingested([first], tmp_path / "train", patches=4)
    dense = ingested([other], tmp_path / "dense", patches=4, stride=1)
    taken = ingested([other], tmp_path / "taken", projection=tmp_path / "train")
    small = ingested([first], tmp_path / "small", patches=3)

    assert train.n_columns == 15
    assert dense.fingerprint == taken.fingerprint == train.fingerprint != small.fingerprint
    assert taken.made == train.made
    assert validate(tmp_path / "taken") == []


@pytest.mark.parametrize("whiten", [False, True])
def test_the_pca_of_patches_is_that_of_their_pixels_without_mean(tmp_path, whiten):
    image_module = pytest.importorskip("PIL.Image")
    image_module.fromarray(make_grey(40, 40)).save(tmp_path / "a.png")
    plain = ingested([tmp_path / "a.png"], tmp_path / "plain", patches=4, stride=2)
    pixels = values_of(plain) @ plain.projection.components.astype(np.float32)

    corpus = ingested(
        [tmp_path / "a.png"], tmp_path / "c", pca=5, whiten=whiten, patches=4, stride=2
    )

    expected, explained = projection.fit_projection(pixels, 5, whiten=whiten)
    signs = np.sign((expected.components * corpus.projection.components).sum(axis=1))
    np.testing.assert_allclose(values_of(corpus), signs * expected(pixels), atol=2e-5)
    assert corpus.made["pca"]["explained_variance"] == pytest.approx(explained, rel=1e-5)
    assert "basis" not in corpus.made
    with pytest.raises(OptionError, match="at most 15 for 361 items of 15 columns, but is 16"):
        ingested([tmp_path / "a.png"], tmp_path / "d", pca=16, patches=4, stride=2)


def test_a_projection_that_will_not_do_is_refused(source, tmp_path):
    np.save(tmp_path / "b.npy", VECTORS[:, :3])
    ingested([source], tmp_path / "plain")
    ingested([source], tmp_path / "train", pca=2)

    with pytest.raises(OptionError, match=r"the corpus has none\. Give a corpus made with"):
        ingested([source], tmp_path / "out", projection=tmp_path / "plain")
    with pytest.raises(
        SourceError, match="expected 4 columns, which the projection takes, but found 3"
    ):
        ingested([tmp_path / "b.npy"], tmp_path / "out", projection=tmp_path / "train")
    with pytest.raises(OptionError, match="at most 4 for 300 items of 4 columns, but is 5"):
        ingested([source], tmp_path / "out", pca=5)
    assert not (tmp_path / "out").exists()


def test_mixed_dimensions_are_refused(source, tmp_path):
    np.save(tmp_path / "b.npy", VECTORS[:, :3])

    for pca in (None, 2):
        with pytest.raises(SourceError, match=r"b\.npy: expected 4 columns, as in .*, but found 3"):
            ingested([source, tmp_path / "b.npy"], tmp_path / "corpus", pca=pca)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.npy", "source"]


def test_mixed_formats_are_refused(source, tmp_path):
    np.savez(source.with_name("b.npz"), VECTORS)

    with pytest.raises(SourceError, match=r"has format npz, but .* has format npy"):
        ingested([source.parent], tmp_path / "corpus")


@pytest.mark.parametrize(
    ("option", "found"),
    [
        ({"patches": 8}, "patches: is for image, but the format is npy"),
        ({"columns": ("a",)}, "columns: is for csv, parquet or arrow, but the format is npy"),
        ({"values_field": "X"}, "values_field: is for npz, but the format is npy"),
        ({"label_field": "y"}, "label_field: is for npz, csv, parquet or arrow"),
    ],
)
def test_an_option_of_another_format_is_refused(source, tmp_path, option, found):
    with pytest.raises(OptionError, match=found):
        ingested([source], tmp_path / "corpus", **option)


@pytest.mark.parametrize(
    "options",
    [
        {"patches": 1},
        {"patches": 8, "stride": 0},
        {"stride": 4},
        {"columns": ()},
        {"columns": ("a", "a")},
        {"columns": ("a", "")},
    ],
)
def test_read_options_out_of_range_are_refused(options):
    with pytest.raises(OptionError):
        VectorReadOptions(**options)


@pytest.mark.parametrize(
    "options", [{"pca": 0}, {"pca": 2, "seed": -1}, {"pca": 2, "projection": Path("somewhere")}]
)
def test_options_that_contradict_are_refused(options):
    with pytest.raises(OptionError):
        VectorOptions(**options)


def test_progress_is_told_by_stage(source, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1_600)
    told = []

    ingest_vectors([source], tmp_path / "c", VectorOptions(pca=2), told.append)

    stages = ("fitting", "writing")
    assert told == [f"{stage}: {n} items" for stage in stages for n in (100, 200, 300)]


def test_an_existing_output_is_kept_unless_told(source, tmp_path):
    ingested([source], tmp_path / "corpus")
    before = files_of(tmp_path / "corpus")

    with pytest.raises(OutputError, match="--overwrite"):
        ingest_vectors([source], tmp_path / "corpus", VectorOptions(pca=2))
    with pytest.raises(SourceError):
        ingest_vectors([tmp_path / "no"], tmp_path / "corpus", VectorOptions(overwrite=True))
    assert files_of(tmp_path / "corpus") == before

    ingest_vectors([source], tmp_path / "corpus", VectorOptions(pca=2, overwrite=True))
    assert VectorCorpus.open(tmp_path / "corpus").n_columns == 2


def test_a_full_disk_is_one_line_and_leaves_nothing(source, tmp_path, monkeypatch):
    def no_room(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ShardWriter, "append", no_room)

    with pytest.raises(OutputError, match=r"No space left on device.*Nothing was written"):
        ingested([source], tmp_path / "corpus")

    assert list(tmp_path.iterdir()) == [source.parent]


def damaged(data, rng):
    """Some bits flipped, or a few bytes taken out or put in."""
    data = bytearray(data)
    for position in rng.integers(len(data) - 20, size=3):
        choice = rng.integers(3)
        if choice == 0:
            data[position] ^= 1 << rng.integers(8)
        elif choice == 1:
            del data[position : position + rng.integers(1, 9)]
        else:
            data[position : position + 1] = rng.bytes(rng.integers(1, 4))
    return bytes(data)


def write_one(path):
    """A small file of the format that its extension means."""
    table = pa.table({"id": list("abcdefghij"), "x": VECTORS[:10, 0], "y": VECTORS[:10, 1]})
    if path.suffix == ".npy":
        np.save(path, VECTORS)
    elif path.suffix == ".npz":
        np.savez(path, values=VECTORS, labels=np.arange(300))
    elif path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".arrow":
        feather.write_feather(table, path)
    elif path.suffix == ".csv":
        pa_csv.write_csv(table, path)
    else:
        image_module = pytest.importorskip("PIL.Image")
        image_module.fromarray(np.arange(256, dtype=np.uint8).reshape(16, 16)).save(path)


def test_an_npz_file_of_two_matrices_is_not_called_damaged(tmp_path):
    np.savez(tmp_path / "a.npz", left=VECTORS, right=VECTORS)

    with pytest.raises(SourceError, match=r"a\.npz: .*'left' .*'right' .* --values-field"):
        ingest_vectors([tmp_path / "a.npz"], tmp_path / "corpus")


@pytest.mark.parametrize(
    "suffix", [".npy", ".npz", ".parquet", ".arrow", ".csv", ".png", ".jpg", ".bmp"]
)
def test_a_damaged_file_is_refused_in_one_line_if_at_all(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    write_one(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    refusals = []
    for _ in range(40):
        path.write_bytes(damaged(whole, rng))
        try:
            ingest_vectors([path], tmp_path / "corpus", VectorOptions(overwrite=True))
        except SourceError as error:
            refusals.append(str(error))
    assert refusals
    assert all(line.startswith(str(path)) and "\n" not in line for line in refusals)


def test_progress_counts_items(tmp_path):
    np.save(tmp_path / "v.npy", make_vectors(1, 3))
    told = []

    ingest_vectors([tmp_path / "v.npy"], tmp_path / "corpus", on_progress=told.append)

    assert str(told[-1]).endswith(": 1 item")
