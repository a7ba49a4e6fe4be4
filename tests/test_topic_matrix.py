"""Topic-word matrices of other toolkits."""

import numpy as np
import pytest

from sparsetopics.errors import RunError, ShapeError
from sparsetopics.evaluation.topic_matrix import read_topic_matrix

WEIGHTS = np.array([[1.0, 2.0, 1.0], [4.0, 3.0, 1.0]])
EXPECTED = [[0.25, 0.5, 0.25], [0.5, 0.375, 0.125]]


@pytest.fixture
def write(tmp_path):
    def written(matrix):
        np.save(tmp_path / "topics.npy", matrix)
        return tmp_path / "topics.npy"

    return written


def test_every_format_gives_normalised_rows(tmp_path, write):
    np.savez(tmp_path / "topics.npz", topic_word=WEIGHTS)
    np.savetxt(tmp_path / "topics.csv", WEIGHTS, delimiter=",")

    for path in (
        write(WEIGHTS.astype(np.float32)),
        tmp_path / "topics.npz",
        tmp_path / "topics.csv",
    ):
        np.testing.assert_allclose(read_topic_matrix(path, 3), EXPECTED)


def test_zeros_become_tiny_probabilities(write):
    topic_word = read_topic_matrix(write(np.array([[1.0, 0.0, 1.0]])), 3)

    assert topic_word[0, 1] == pytest.approx(1e-12)
    assert topic_word.sum() == pytest.approx(1.0)


def test_one_line_of_csv_is_one_topic(tmp_path):
    (tmp_path / "one.csv").write_text("1,1,2\n")

    np.testing.assert_allclose(read_topic_matrix(tmp_path / "one.csv", 3), [[0.25, 0.25, 0.5]])


@pytest.mark.parametrize("shape", [(2, 4), (3,), (0, 3), (1, 2, 3)])
def test_another_shape_is_refused(write, shape):
    with pytest.raises(ShapeError, match=r"wanted \(topics, 3\), one column per word.*--vocab"):
        read_topic_matrix(write(np.ones(shape)), 3)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -0.5])
def test_impossible_entries_are_refused(write, bad):
    with pytest.raises(RunError, match=f"found the entry {bad}"):
        read_topic_matrix(write(np.array([[1.0, bad, 1.0]])), 3)


def test_a_topic_of_zeros_is_refused(write):
    with pytest.raises(RunError, match="only zeros in row 1"):
        read_topic_matrix(write(np.array([[1.0, 1, 1], [0, 0, 0]])), 3)


def test_files_that_hold_no_matrix_are_refused(tmp_path):
    np.savez(tmp_path / "other.npz", components=WEIGHTS)
    np.save(tmp_path / "object.npy", np.array([{}], dtype=object))
    (tmp_path / "text.csv").write_text("a,b,c\n")
    (tmp_path / "empty.npy").touch()
    (tmp_path / "torn.npz").write_bytes(b"PK\x03\x04")

    for name in ("other.npz", "object.npy", "text.csv", "empty.npy", "torn.npz", "missing.npy"):
        with pytest.raises(RunError, match=f"{name}: found .*wanted a topic-word matrix"):
            read_topic_matrix(tmp_path / name, 3)
