"""Validation documents are kept out of training, and nothing else changes."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsetopics.base.errors import OptionError
from sparsetopics.corpora import batching
from sparsetopics.corpora.batching import count_validation, divide, hold_out
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.store.manifest import Sizes
from worlds.numbered_documents import corpus_of, divisions, documents_in


def named(corpus):
    """Number and id of each document, in order."""
    ids = [name for group in corpus.ids() for name in group]
    numbers = [number for batch in corpus.batches() for number in documents_in(batch)]
    return list(zip(numbers, ids, strict=True))


@settings(max_examples=40)
@given(
    n_docs=st.integers(4, 80),
    docs_per_group=st.integers(1, 30),
    n_validation=st.integers(1, 79),
    seed=st.integers(0, 99),
)
def test_every_document_is_in_one_part(n_docs, docs_per_group, n_validation, seed):
    corpus = corpus_of(n_docs, docs_per_group)
    n_validation = min(n_validation, n_docs - 1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batching, "VALIDATION_AT_ONCE", 7)
        parts = hold_out(corpus, n_validation, np.random.default_rng(seed))

    training, validation = map(named, parts)
    assert len(validation) == n_validation
    assert sorted(training + validation) == named(corpus)
    assert training == sorted(training)
    assert validation == sorted(validation)
    for part in parts:
        assert all(group.sizes == Sizes.of(group.read()) for group in part.row_groups)


def test_a_corpus_on_disk_is_divided_like_one_in_memory(tmp_path):
    corpus = corpus_of(60)
    corpus.write_part(tmp_path, np.ones(60, bool), tmp_path)
    found, again = (
        hold_out(each, 9, np.random.default_rng(3)) for each in (corpus, Corpus.open(tmp_path))
    )
    for one, other in zip(found, again, strict=True):
        assert named(one) == named(other)


@pytest.mark.parametrize("resident_pairs", [0, 10**6])
def test_validation_batches_come_after_the_others(resident_pairs):
    corpus = corpus_of(200, 70)
    rng = np.random.default_rng(0)

    source, whole, validation, _ = divide(corpus, 8, 0.2, rng, resident_pairs=resident_pairs)

    batches = divisions(whole)
    assert batches[: source.n_batches] == divisions(source)
    last = [number for batch in batches[source.n_batches :] for number in batch]
    assert sorted(last) == [number for number, _ in named(validation)]
    assert sorted(number for batch in batches for number in batch) == list(range(200))
    assert (whole.n_docs, whole.n_tokens) == (200, corpus.n_tokens)
    assert source.n_docs == 160
    assert whole.is_resident == source.is_resident == (resident_pairs > 0)


@pytest.mark.parametrize(("n_docs", "share"), [(12, 0.1), (12, 0.9), (3, 0.5)])
def test_both_parts_need_two_documents(n_docs, share):
    with pytest.raises(OptionError, match=f"would keep . ?of {n_docs}|of {n_docs} documents"):
        count_validation(n_docs, share)


def test_no_more_than_enough_are_kept_out():
    assert count_validation(1000, 0.1) == 100
    assert count_validation(10**6, 0.1) == 5_000


def test_labels_stay():
    corpus = corpus_of(20)
    (group,) = corpus.row_groups
    labels = pa.array([str(n) for n in range(20)])
    labelled = replace(group, labels=labels)
    corpus = replace(corpus, row_groups=(labelled,))
    for part in hold_out(corpus, 6, np.random.default_rng(0)):
        labels = [label for each in part.labels() for label in each]
        assert labels == [str(number) for number, _ in named(part)]
