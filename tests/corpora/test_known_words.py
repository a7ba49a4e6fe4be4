"""A corpus read with a vocabulary that begins in the same way: the words of both, all documents."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sparsetopics import Corpus
from sparsetopics.corpora.append import append
from sparsetopics.corpora.batching import PartialRowGroup, begin_alike, later_documents, under
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.lookup import documents_at
from sparsetopics.corpora.store.manifest import Sizes
from sparsetopics.corpora.text.vocabulary import Vocabulary
from worlds.numbered_documents import corpus_of, documents_in

WORDS = [f"word{number}" for number in range(8)]
SEEDS = st.integers(0, 2**32 - 1)


def vocabulary_of(words):
    counts = np.ones(len(words), np.int64)
    return Vocabulary(tuple(words), counts, counts)


def counts_of(seed, n_docs):
    """Counts of words, (n_docs, 8); no document is empty, some have only the last words."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.choice([0.0, 0.4, 2.0], (n_docs, 1)), (n_docs, len(WORDS)))
    counts[np.arange(n_docs), rng.integers(0, len(WORDS), n_docs)] += 1
    return counts


def grouped(counts, per_group):
    """A corpus in memory, in row groups of ``per_group`` documents, with fields and ids."""
    names = [f"d{number}" for number in range(len(counts))]
    parts = [
        Corpus.from_csr(
            sparse.csr_array(counts[first : first + per_group]),
            WORDS,
            names[first : first + per_group],
        )
        for first in range(0, len(counts), per_group)
    ]
    return replace(parts[0], row_groups=tuple(g for part in parts for g in part.row_groups))


def on_disk(corpus, folder):
    corpus.save(folder)
    return Corpus.open(folder)


def dense(corpus):
    """Counts, (n_docs, n_words)."""
    found = np.zeros((corpus.n_docs, corpus.n_words), int)
    first = 0
    for batch in corpus.batches():
        rows = np.repeat(np.arange(batch.n_docs), np.diff(batch.indptr))
        found[first + rows, batch.word_ids] = batch.word_counts
        first += batch.n_docs
    return found


@given(st.lists(st.sampled_from("abc"), unique=True), st.lists(st.sampled_from("abc"), unique=True))
def test_vocabularies_begin_alike_if_one_begins_with_the_other(one, other):
    short, long = sorted([one, other], key=len)

    found = begin_alike(vocabulary_of(one), vocabulary_of(other))

    assert found == (long[: len(short)] == short)
    assert found == begin_alike(vocabulary_of(other), vocabulary_of(one))


@settings(max_examples=60)
@given(SEEDS, st.integers(1, 30), st.integers(1, 12), st.integers(1, len(WORDS)))
def test_later_words_are_left_out_and_nothing_else(seed, n_docs, per_group, n_known):
    counts = counts_of(seed, n_docs)
    corpus = grouped(counts, per_group)

    found = under(corpus, vocabulary_of(WORDS[:n_known]))

    np.testing.assert_array_equal(dense(found), counts[:, :n_known])
    assert [*found.ids()] == [*corpus.ids()]
    assert found.vocabulary.words == tuple(WORDS[:n_known])
    assert found.n_tokens == counts[:, :n_known].sum()
    assert found.n_unknown_tokens == counts[:, n_known:].sum()
    for group in found.row_groups:
        assert group.sizes == Sizes.of(group.read())
        group.read().check(n_known)


@given(SEEDS, st.integers(1, 30), st.integers(1, 12), st.integers(1, len(WORDS)))
def test_a_corpus_that_lacks_later_words_keeps_its_documents(seed, n_docs, per_group, n_more):
    corpus = grouped(counts_of(seed, n_docs), per_group)
    longer = vocabulary_of([*WORDS, *(f"later{number}" for number in range(n_more))])

    found = under(corpus, longer)

    assert found.n_words == len(longer)
    assert found.row_groups is corpus.row_groups
    assert (found.n_tokens, found.n_unknown_tokens) == (corpus.n_tokens, corpus.n_unknown_tokens)
    np.testing.assert_array_equal(dense(found)[:, : len(WORDS)], dense(corpus))


def test_the_same_words_give_the_same_corpus():
    corpus = grouped(counts_of(0, 5), 2)

    assert under(corpus, vocabulary_of(WORDS)) is corpus


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_documents_without_a_known_word_stay(is_on_disk, tmp_path):
    counts = np.zeros((3, len(WORDS)), int)
    counts[0, 0], counts[1, 7], counts[2, 7] = 3, 5, 2
    corpus = grouped(counts, 2)
    if is_on_disk:
        corpus = on_disk(corpus, tmp_path / "corpus")

    found = under(corpus, vocabulary_of(WORDS[:2]))

    assert [name for names in found.ids() for name in names] == ["d0", "d1", "d2"]
    assert (found.n_docs, found.n_tokens, found.n_unknown_tokens) == (3, 3, 7)
    np.testing.assert_array_equal(dense(found), counts[:, :2])


def test_a_corpus_that_has_grown_on_disk_reads_as_before(tmp_path):
    lists = [["owl", "cat"], ["owl", "dog"], ["cat", "owl", "dog"]]
    (tmp_path / "a.lines").write_text("".join(" ".join(words) + "\n" for words in lists))
    (tmp_path / "b.lines").write_text("eclipse eclipse\nowl eclipse moon\n")
    ingest([tmp_path / "a.lines"], tmp_path / "corpus", IngestOptions())
    before = Corpus.open(tmp_path / "corpus")
    words, counts = before.vocabulary, dense(before)
    options = IngestOptions(grow_vocabulary=True)
    append([tmp_path / "b.lines"], tmp_path / "corpus", options)
    after = Corpus.open(tmp_path / "corpus")

    found = under(after, words)

    assert after.n_words == found.n_words + 2
    np.testing.assert_array_equal(dense(found)[:3], counts)
    assert dense(found)[3:].sum() == 1
    assert found.n_unknown_tokens == after.n_unknown_tokens + 4
    assert [*found.ids()] == [*after.ids()]
    assert [*found.labels()] == [*after.labels()]
    assert dense(later_documents(found, 3)).sum() == 1


# --- some documents of a corpus -------------------------------------------------------------------
GROUPS = st.lists(st.integers(1, 9), min_size=1, max_size=8)  # documents of each row group


def numbered(sizes):
    """A corpus whose row groups have these sizes; document d names itself."""
    whole, starts = corpus_of(sum(sizes)), np.cumsum([0, *sizes])
    (group,) = whole.row_groups
    rows = [np.arange(*ends) for ends in pairwise(starts)]
    batches = [group.read().take(own) for own in rows]
    groups = [
        PartialRowGroup(Sizes.of(batch), group, own, batch)
        for batch, own in zip(batches, rows, strict=True)
    ]
    return replace(whole, row_groups=tuple(groups))


@given(GROUPS, st.data())
def test_later_documents_are_those_of_a_slice(sizes, data):
    n_first = data.draw(st.integers(0, sum(sizes) + 2))
    corpus = numbered(sizes)

    later = later_documents(corpus, n_first)

    found = [d for batch in later.batches() for d in documents_in(batch)]
    assert found == list(range(sum(sizes)))[n_first:]
    ids = [name for names in corpus.ids() for name in names]
    assert [name for names in later.ids() for name in names] == ids[n_first:]
    assert later.n_docs == len(found)
    assert later.n_tokens == sum(d + 2 for d in found)


def test_later_documents_of_a_large_row_group_come_in_small_ones():
    found = later_documents(corpus_of(600), 10)

    assert [group.n_docs for group in found.row_groups] == [256, 256, 78]


@given(GROUPS, st.data())
def test_documents_at_places_are_those_of_an_index(sizes, data):
    n_docs = sum(sizes)
    rows = data.draw(st.lists(st.integers(0, n_docs - 1), min_size=1, unique=True).map(sorted))

    assert documents_in(documents_at(numbered(sizes).row_groups, np.array(rows))) == rows
