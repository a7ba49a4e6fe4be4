"""``ingest`` and ``corpus`` of vectors on the command line."""

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

from sparsetopics.cli.main import main
from sparsetopics.corpora.corpus import Corpus, VectorCorpus
from worlds.collections_on_disk import make_texts, write_jsonl
from worlds.vectors_on_disk import labels_of, make_grey, make_vectors, values_of

VECTORS = make_vectors(120, 4)
TEXTS = make_texts(120)


def run(*arguments, status=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    return result


@pytest.fixture
def digits(tmp_path):
    np.savez(tmp_path / "digits.npz", train=VECTORS, test=VECTORS[:9], y=np.arange(120) % 10)
    return tmp_path / "digits.npz"


@pytest.fixture
def table(tmp_path):
    with (tmp_path / "table.csv").open("w", newline="", encoding="utf-8") as stream:
        rows = zip(VECTORS[:, 0], VECTORS[:, 1], TEXTS, range(120), strict=True)
        csv.writer(stream).writerows([("a", "b", "text", "id"), *rows])
    return tmp_path / "table.csv"


@pytest.fixture
def photos(tmp_path):
    image_module = pytest.importorskip("PIL.Image")
    (tmp_path / "photos").mkdir()
    image_module.fromarray(make_grey(20, 30)).save(tmp_path / "photos" / "a.png")
    (tmp_path / "photos" / "README.txt").write_text("where they are from")
    return tmp_path / "photos"


def test_ingest_and_info_report_the_same_totals(digits, tmp_path):
    out = tmp_path / "corpus"

    made = json.loads(
        run("ingest", digits, "--values-field", "train", "--out", out, "--json").stdout
    )
    info = json.loads(run("corpus", "info", out, "--json").stdout)

    assert made["read"] == [{"kind": "npz", "n_files": 1, "names": [digits.name]}]
    assert made == info | {"read": made["read"], "left_out": []}
    assert info == {"n_items": 120, "n_columns": 4, "n_shards": 1, "n_skipped": 0}
    assert labels_of(VectorCorpus.open(out))[:3] == ["0", "1", "2"]
    assert "columns" in run("corpus", "info", out).stdout


def test_held_out_items_take_over_the_projection(digits, tmp_path):
    train, heldout = tmp_path / "train", tmp_path / "heldout"
    chosen = ("--values-field", "train", "--pca", "2", "--whiten", "--seed", "3")

    said = run("ingest", digits, *chosen, "--out", train)
    run(
        "ingest",
        digits,
        "--values-field",
        "test",
        "--label-field",
        "no",
        "--out",
        heldout,
        status=1,
    )
    np.save(tmp_path / "test.npy", VECTORS[:9])
    run("ingest", tmp_path / "test.npy", "--projection", train, "--out", heldout)

    assert said.stdout == f"{train}: 120 items of 2 columns.\n"
    np.testing.assert_allclose(
        values_of(VectorCorpus.open(heldout)), values_of(VectorCorpus.open(train))[:9], atol=1e-5
    )
    assert VectorCorpus.open(train).made["pca"]["seed"] == 3


def test_a_table_is_documents_unless_told_otherwise(table, tmp_path):
    run("ingest", table, "--out", tmp_path / "documents")
    run("ingest", table, "--columns", "b, a", "--out", tmp_path / "chosen")
    run("ingest", table, "--kind", "vectors", "--label-field", "text", "--out", tmp_path / "all")

    assert Corpus.open(tmp_path / "documents").n_docs > 100
    chosen, whole = (VectorCorpus.open(tmp_path / name) for name in ("chosen", "all"))
    assert (chosen.columns, whole.columns) == (("b", "a"), ("a", "b"))
    np.testing.assert_array_equal(values_of(chosen).astype(np.float32), VECTORS[:, 1::-1])
    assert labels_of(whole) == TEXTS


def test_a_folder_of_both_kinds_is_read_as_the_options_say(photos, tmp_path):
    run("ingest", photos, "--patches", "8", "--stride", "4", "--out", tmp_path / "patches")
    run("ingest", photos, "--out", tmp_path / "documents")
    run("ingest", photos, "--kind", "vectors", "--out", tmp_path / "whole")

    assert VectorCorpus.open(tmp_path / "patches").n_items == 4 * 6
    assert VectorCorpus.open(tmp_path / "patches").n_columns == 63
    assert VectorCorpus.open(tmp_path / "whole").n_columns == 600
    assert Corpus.open(tmp_path / "documents").n_docs == 1


def test_validate_and_split(digits, tmp_path):
    out, parts = tmp_path / "corpus", (tmp_path / "a", tmp_path / "b")
    run("ingest", digits, "--values-field", "train", "--out", out)
    split = ("corpus", "split", out, "--out-train", parts[0], "--out-heldout", parts[1])

    rows = json.loads(run(*split, "--json").stdout)

    assert rows == [
        {"corpus": str(parts[0]), "n_items": 108, "n_columns": 4},
        {"corpus": str(parts[1]), "n_items": 12, "n_columns": 4},
    ]
    assert f"{parts[1]}: 12 items, 4 columns\n" in run(*split, "--overwrite").stdout
    assert "sound" in run("corpus", "validate", parts[0]).stdout
    path = out / "shard-00000.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert "expected SHA-256" in run("corpus", "validate", out, status=1).stdout


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (("gone.npy",), "no file or folder has this name"),
        (("SOURCE",), "Name one with --values-field"),
        (
            ("SOURCE", "--stop-words", "english"),
            "--stop-words: is for documents, but {SOURCE} holds vectors. Leave it out.",
        ),
        (
            ("SOURCE", "--vocabulary", "x"),
            "--vocabulary: is for documents, but {SOURCE} holds vectors",
        ),
        (
            ("SOURCE", "--no-lowercase"),
            "--lowercase: is for documents, but {SOURCE} holds vectors.",
        ),
        (("SOURCE", "--patches", "8"), "patches: is for image, but the format is npz"),
        (("SOURCE", "--format", "npy"), "is not an .npy file"),
        (("SOURCE", "--format", "xml"), "matrix-market, uci, npy, npz, image"),
        (("SOURCE", "--kind", "documents"), ".npz is not a known format of documents"),
        (("SOURCE", "--kind", "vectors", "--format", "jsonl"), "must be one of npy, npz"),
        (("SOURCE", "--values-field", "train", "--whiten"), "--whiten: needs --pca."),
        (("SOURCE", "--values-field", "train", "--pca", "0"), "pca: must be at least 1, but is 0"),
        (
            ("SOURCE", "--values-field", "train", "--pca", "5"),
            "pca: must be at most 4 for 120 items of 4 columns, but is 5",
        ),
        (("SOURCE", "--projection", "none"), "none: expected a corpus folder"),
        (("SOURCE", "--workers", "0"), "--workers: must be from 1 to 4,096"),
        (("TEXT", "--patches", "8"), "--patches: is for vectors, but {TEXT} holds documents."),
        (
            ("TEXT", "--pca", "8"),
            "--pca: is for vectors, but {TEXT} holds documents. Leave it out.",
        ),
        (("TEXT", "TEXT", "--pca", "8"), "--pca: is for vectors, but the sources hold documents."),
        (
            ("TABLE", "--pca", "8", "--min-df", "2"),
            "--min-df: is for documents, but {TABLE} holds vectors. --kind says what tables hold.",
        ),
        (("TEXT", "--kind", "vectors"), ".jsonl is not a known format of vectors"),
    ],
)
def test_bad_input_is_one_line_and_status_one(digits, tmp_path, arguments, found):
    text = write_jsonl(tmp_path / "news.jsonl", make_texts(5))
    names = {"SOURCE": digits, "TEXT": text, "TABLE": tmp_path / "table.csv"}
    names["TABLE"].write_text("text,a\nowl,1\n")
    arguments = [names.get(argument, argument) for argument in arguments]

    result = run("ingest", *arguments, "--out", tmp_path / "out", "--quiet", status=1)

    assert result.stderr.startswith("Error: ")
    assert found.format(**names) in result.stderr
    assert result.stderr.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == sorted(names.values())


def test_columns_by_an_empty_name_are_refused(table, tmp_path):
    result = run("ingest", table, "--columns", "a,,b", "--out", tmp_path / "out", status=1)

    assert "columns: the names must not be empty" in result.stderr
