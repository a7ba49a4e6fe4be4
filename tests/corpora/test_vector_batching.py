"""Any division holds every item once; the same seed divides alike."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.batching import plan_vector_batches
from sparsetopics.corpora.corpus import VectorCorpus
from sparsetopics.corpora.store import vector_rows


def corpus_of(n_items, items_per_group):
    """Item i holds i, and −i."""
    numbers = np.arange(n_items, dtype=np.float32)
    values = np.stack((numbers, -numbers), axis=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_rows, "ROW_GROUP_BYTES", items_per_group * values[0].nbytes)
        return VectorCorpus.from_array(values)


def divisions(source):
    batches = [source.read(batch_id).values for batch_id in range(source.n_batches)]
    assert all((batch[:, 0] == -batch[:, 1]).all() for batch in batches)
    return [batch[:, 0].astype(int).tolist() for batch in batches]


@settings(max_examples=40)
@given(
    n_items=st.integers(1, 90),
    items_per_group=st.integers(5, 40),
    share=st.floats(0, 1),
    resident_bytes=st.sampled_from([0, 10**6]),
)
def test_every_item_is_in_one_batch_of_nearly_equal_size(
    n_items, items_per_group, share, resident_bytes
):
    corpus = corpus_of(n_items, items_per_group)
    n_batches = 1 + int(share * (n_items - 1))

    source = plan_vector_batches(
        corpus, n_batches, np.random.default_rng(0), resident_bytes=resident_bytes
    )

    batches = divisions(source)
    assert len(batches) == source.n_batches == n_batches
    assert sorted(item for batch in batches for item in batch) == list(range(n_items))
    sizes = [len(batch) for batch in batches]
    assert max(sizes) - min(sizes) <= 1
    assert (source.n_docs, source.n_columns) == (n_items, 2)
    assert source.read(0).values.dtype == np.float32


@pytest.mark.parametrize("resident_bytes", [0, 10**6])
def test_the_seed_decides(resident_bytes):
    corpus = corpus_of(80, 20)

    def divided(seed):
        rng = np.random.default_rng(seed)
        return divisions(plan_vector_batches(corpus, 8, rng, resident_bytes=resident_bytes))

    assert divided(1) == divided(1)
    assert divided(1) != divided(2)


def test_a_resident_division_does_not_follow_the_row_groups():
    batches = divisions(plan_vector_batches(corpus_of(400, 40), 4, np.random.default_rng(0)))

    for batch in batches:
        assert np.bincount(np.array(batch) // 40, minlength=10).min() > 0


def test_a_streamed_batch_touches_as_few_row_groups_as_its_size_allows():
    corpus = corpus_of(400, 20)
    source = plan_vector_batches(corpus, 10, np.random.default_rng(0), resident_bytes=0)

    groups = [{item // 20 for item in batch} for batch in divisions(source)]

    assert all(2 <= len(touched) <= 3 for touched in groups)
    assert any(max(touched) - min(touched) > 2 for touched in groups)  # neighbours are parted


def test_streamed_batches_are_safe_to_read_from_many_threads():
    corpus = corpus_of(200, 20)
    source = plan_vector_batches(corpus, 7, np.random.default_rng(0), resident_bytes=0)
    alone = divisions(source)
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(7), 20))

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda b: source.read(b).values[:, 0].astype(int).tolist(), order))

    assert together == [alone[batch_id] for batch_id in order]


def test_the_number_of_batches_follows_the_size():
    rng = np.random.default_rng(0)

    assert plan_vector_batches(corpus_of(640, 100), None, rng).n_batches == 10


@pytest.mark.parametrize("n_batches", [0, -1, 11])
def test_a_number_of_batches_out_of_range_is_refused(n_batches):
    with pytest.raises(
        OptionError, match=f"must be from 1 to 10, the number of items, but is {n_batches}"
    ):
        plan_vector_batches(corpus_of(10, 5), n_batches, np.random.default_rng(0))
