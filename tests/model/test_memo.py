"""Memoized arrays come back as they went in, from memory or from disk."""

import numpy as np
import pytest

from sparsetopics.base.errors import RunError
from sparsetopics.model.memo import Memo, OnDisk


def make_arrays(seed, n_entries=20):
    rng = np.random.default_rng(seed)
    return {
        "indptr": np.array([0, 3, 3, 9, n_entries]),
        "topics": rng.integers(0, 5, n_entries).astype(np.uint32),
        "values": rng.random(n_entries).astype(np.float32),
        "nothing": np.zeros(0, np.int32),
        "matrix": rng.normal(size=(3, 4)),
    }


def size_of(arrays):
    return sum(array.nbytes for array in arrays.values())


def assert_equal(left, right):
    assert list(left) == list(right)
    for name, mine in left.items():
        np.testing.assert_array_equal(mine, right[name])
        assert mine.dtype == right[name].dtype


@pytest.mark.parametrize("budget", [0, 10**9])
def test_what_comes_back_is_what_went_in(tmp_path, budget):
    memo = Memo(tmp_path, budget)
    kept = [memo.keep(make_arrays(seed)) for seed in range(3)]

    for seed, stored in enumerate(kept):
        assert_equal(stored.load(lambda arrays: None), make_arrays(seed))
    assert len(list(tmp_path.iterdir())) == (3 if budget == 0 else 0)


def test_files_hold_what_the_budget_does_not(tmp_path):
    memo = Memo(tmp_path, 2 * size_of(make_arrays(0)))

    for seed in range(5):
        memo.keep(make_arrays(seed))

    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("left", [0, 100])
def test_a_file_that_is_damaged_is_told(tmp_path, left):
    stored = Memo(tmp_path, 0).keep(make_arrays(0))
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:left])

    with pytest.raises(RunError, match=rf"^{path}: the file is damaged \(.*\)\."):
        stored.load(lambda arrays: None)


def test_discarded_memory_is_used_again(tmp_path):
    memo = Memo(tmp_path, size_of(make_arrays(0)))
    stored = memo.keep(make_arrays(0))
    for seed in range(1, 4):
        stored.discard()
        stored = memo.keep(make_arrays(seed))

    assert list(tmp_path.iterdir()) == []


def test_discarded_files_are_gone_and_their_names_not_reused(tmp_path):
    memo = Memo(tmp_path, 0)
    first, second = memo.keep(make_arrays(0)), memo.keep(make_arrays(1))

    first.discard()
    third = memo.keep(make_arrays(2))

    assert len(list(tmp_path.iterdir())) == 2
    assert_equal(second.load(lambda arrays: None), make_arrays(1))
    assert_equal(third.load(lambda arrays: None), make_arrays(2))


def test_files_of_another_process_are_checked_whenever_they_are_loaded(tmp_path):
    Memo(tmp_path, 0).keep(make_arrays(0))
    (path,) = tmp_path.iterdir()
    memo = Memo(tmp_path, 0)
    stamp = OnDisk(path, memo, is_own=False).stamp()
    stored = memo.adopt(path.name, stamp["bytes"], stamp["digest"])

    def refuse(arrays):
        raise ValueError(f"{len(arrays['topics'])} topics")

    assert_equal(stored.load(lambda arrays: None), make_arrays(0))
    with pytest.raises(RunError, match=rf"^{path}: the file is damaged \(20 topics\)"):
        stored.load(refuse)
