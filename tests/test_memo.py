"""Memoized summaries come back as they went in, from memory or from disk."""

import numpy as np
import pytest

from sparsetopics.memo import Memo
from sparsetopics.statistics import DocumentTerms, SparseCounts, Summary


def make_summary(seed, n_entries=20):
    rng = np.random.default_rng(seed)
    counts = SparseCounts(
        np.arange(4, dtype=np.uint32),
        np.array([0, 3, 3, 9, n_entries]),
        rng.integers(0, 5, n_entries).astype(np.uint32),
        rng.random(n_entries).astype(np.float32),
    )
    return Summary(counts, DocumentTerms(3.0, 17.0, *rng.normal(size=(4, 5)), 2.5))


def size_of(summary):
    return sum(array.nbytes for array in summary.word_counts)


def assert_equal(left, right):
    for part, other in ((left.word_counts, right.word_counts), (left.terms, right.terms)):
        for mine, theirs in zip(part, other, strict=True):
            np.testing.assert_array_equal(mine, theirs)
            assert type(mine) is type(theirs)
            assert np.asarray(mine).dtype == np.asarray(theirs).dtype


@pytest.mark.parametrize("budget", [0, 10**9])
def test_what_comes_back_is_what_went_in(tmp_path, budget):
    memo = Memo(tmp_path, budget)
    kept = [memo.keep(make_summary(seed)) for seed in range(3)]

    for seed, stored in enumerate(kept):
        assert_equal(stored.load(), make_summary(seed))
    assert len(list(tmp_path.iterdir())) == (3 if budget == 0 else 0)


def test_files_hold_what_the_budget_does_not(tmp_path):
    memo = Memo(tmp_path, 2 * size_of(make_summary(0)))

    for seed in range(5):
        memo.keep(make_summary(seed))

    assert len(list(tmp_path.iterdir())) == 3


def test_discarded_memory_is_used_again(tmp_path):
    memo = Memo(tmp_path, size_of(make_summary(0)))
    stored = memo.keep(make_summary(0))
    for seed in range(1, 4):
        stored.discard()
        stored = memo.keep(make_summary(seed))

    assert list(tmp_path.iterdir()) == []


def test_discarded_files_are_gone_and_their_names_not_reused(tmp_path):
    memo = Memo(tmp_path, 0)
    first, second = memo.keep(make_summary(0)), memo.keep(make_summary(1))

    first.discard()
    third = memo.keep(make_summary(2))

    assert len(list(tmp_path.iterdir())) == 2
    assert_equal(second.load(), make_summary(1))
    assert_equal(third.load(), make_summary(2))
