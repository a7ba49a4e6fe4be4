"""Any division holds every document once; the same seed divides alike."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.batching import default_n_batches, plan_batches
from worlds.numbered_documents import corpus_of, divisions, documents_in


@settings(max_examples=40)
@given(
    n_docs=st.integers(1, 90),
    docs_per_group=st.integers(5, 40),
    share=st.floats(0, 1),
    resident_pairs=st.sampled_from([0, 10**6]),
)
def test_every_document_is_in_one_batch(n_docs, docs_per_group, share, resident_pairs):
    corpus = corpus_of(n_docs, docs_per_group)
    n_batches = 1 + int(share * (n_docs - 1))

    source = plan_batches(
        corpus, n_batches, np.random.default_rng(0), resident_pairs=resident_pairs
    )

    batches = divisions(source)
    assert sorted(d for batch in batches for d in batch) == list(range(n_docs))
    assert all(batch == sorted(batch) and batch for batch in batches)
    assert (source.n_docs, source.n_columns) == (n_docs, 4)
    assert source.n_tokens == sum(source.read(b).n_tokens for b in range(source.n_batches))


def test_resident_batches_are_as_many_as_asked_for_and_nearly_equal():
    source = plan_batches(corpus_of(100, 30), 7, np.random.default_rng(0))

    assert sorted(map(len, divisions(source))) == [14] * 5 + [15] * 2


def test_streamed_batches_divide_each_row_group_alike():
    corpus = corpus_of(100, 25)
    source = plan_batches(corpus, 10, np.random.default_rng(0), resident_pairs=0)

    batches = divisions(source)

    assert [len({d // 25 for d in batch}) for batch in batches] == [1] * 12
    assert sorted(map(len, batches)) == [8] * 8 + [9] * 4


@pytest.mark.parametrize("resident_pairs", [0, 10**6])
def test_the_seed_decides(resident_pairs):
    corpus = corpus_of(80, 20)

    def divided(seed):
        rng = np.random.default_rng(seed)
        return divisions(plan_batches(corpus, 8, rng, resident_pairs=resident_pairs))

    assert divided(1) == divided(1)
    assert divided(1) != divided(2)


def test_few_row_groups_are_held_and_each_is_decoded_once_in_a_row():
    corpus = corpus_of(60, 10)
    reads = []

    class Counting:
        def __init__(self, group, index):
            self.sizes, self.n_docs = group.sizes, group.n_docs
            self.group, self.index = group, index

        def read(self):
            reads.append(self.index)
            return self.group.read()

    groups = tuple(Counting(group, index) for index, group in enumerate(corpus.row_groups))
    source = plan_batches(
        replace(corpus, row_groups=groups), 12, np.random.default_rng(0), resident_pairs=0
    )
    divisions(source)
    assert reads == list(range(6))

    source.read(0)
    assert reads[6:] == [0]  # row group 0 was let go
    source.read(10)  # of row group 5, which is held with it
    assert reads[6:] == [0]
    source.read(8)  # of row group 4
    assert reads[6:] == [0, 4]


def test_streamed_batches_are_safe_to_read_from_many_threads():
    corpus = corpus_of(200, 20)
    source = plan_batches(corpus, 40, np.random.default_rng(0), resident_pairs=0)
    alone = divisions(source)
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(source.n_batches), 5))

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda b: documents_in(source.read(b)), order))

    assert together == [alone[batch_id] for batch_id in order]


@pytest.mark.parametrize(
    ("n_docs", "expected"),
    [(1, 1), (31, 1), (64, 2), (640, 10), (100_000, 13), (163_841, 21), (1_000_000, 123)],
)
def test_the_default_number_of_batches(n_docs, expected):
    assert default_n_batches(n_docs) == expected


@pytest.mark.parametrize("n_batches", [0, -1, 11])
def test_a_number_of_batches_out_of_range_is_refused(n_batches):
    with pytest.raises(OptionError, match=f"must be from 1 to 10, .*, but is {n_batches}"):
        plan_batches(corpus_of(10), n_batches, np.random.default_rng(0))
