"""The collapsed criterion's corrections against enumeration and dense numpy."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln, polygamma

from sparsetopics.inference.moves.word_evidence import CountVariances
from sparsetopics.kernels.variances import correction, word_correction_changes
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.responsibilities import Responsibilities
from worlds.sparse_worlds import make_world, worlds


def moments(shares):
    """Mean, variance and log P(n = 0) of a sum of independent Bernoulli variables."""
    shares = np.asarray(shares, float)
    return shares.sum(), (shares * (1 - shares)).sum(), np.log1p(-shares).sum()


def exact_correction(concentration, shares):
    """E[lnΓ(a + n)] − lnΓ(a + E[n]) by enumeration."""
    expected = 0.0
    for outcome in itertools.product((0, 1), repeat=len(shares)):
        probability = np.prod([p if drawn else 1 - p for p, drawn in zip(shares, outcome)])  # noqa: B905
        expected += probability * gammaln(concentration + sum(outcome))
    return expected - gammaln(concentration + sum(shares))


@pytest.mark.parametrize("concentration", [1e-3, 0.1, 1.0, 20.0])
@given(share=st.floats(1e-9, 1 - 1e-9))
def test_of_one_token_the_correction_is_exact(concentration, share):
    found = correction(concentration, gammaln(concentration), *moments([share]))

    expected = exact_correction(concentration, [share])
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("concentration", [0.01, 0.1, 1.0])
@given(shares=st.lists(st.floats(0.01, 0.99), min_size=1, max_size=7))
def test_of_several_tokens_the_correction_is_near_and_positive(concentration, shares):
    found = correction(concentration, gammaln(concentration), *moments(shares))

    expected = exact_correction(concentration, shares)
    assert expected >= 0
    assert found > -1e-9
    assert found == pytest.approx(expected, rel=0.25, abs=0.05)


def plain_correction(concentration, mean, variance, log_absent):
    """The formula of MATH §5.1, written out."""
    present = -np.expm1(log_absent)
    mean_present = mean / present
    spread = (variance + mean**2) / present - mean_present**2
    change = gammaln(concentration + mean_present) - gammaln(concentration)
    change += 0.5 * spread * polygamma(1, concentration + mean_present)
    return present * change - gammaln(concentration + mean) + gammaln(concentration)


def dense_spread(world):
    """Variances and log P(n = 0) of word counts, and the documents' corrections."""
    rest = np.maximum(1.0 - world.dense, 1e-12)
    variance = world.counts[:, None] * world.dense * rest * (world.dense > 0)
    absent = world.counts[:, None] * np.log(rest)
    sums = np.zeros((2, world.n_words, world.n_topics))
    of_documents = np.zeros(world.n_topics)
    for values, out in zip((variance, absent), sums, strict=True):
        np.add.at(out, world.batch.word_ids, values)
    for lo, hi in itertools.pairwise(world.batch.indptr):
        mean = world.counts[lo:hi] @ world.dense[lo:hi]
        for k in np.flatnonzero(mean):
            given = mean[k], variance[lo:hi, k].sum(), absent[lo:hi, k].sum()
            of_documents[k] += plain_correction(world.prior[k], *given)
    return np.stack(sums, axis=-1), of_documents


def assignments_in(world):
    return Assignments(world.batch, world.sparse)


@given(world=worlds)
def test_sums_equal_dense_numpy(world):
    spread = CountVariances.zeros(world.n_words, world.n_topics)

    spread.add(*assignments_in(world), world.prior)

    scale = 1.0 + world.counts.sum()
    for found, expected in zip(spread, dense_spread(world), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9 * scale)


@given(world=worlds)
def test_corrections_are_those_of_words_and_documents(world):
    spread = CountVariances.zeros(world.n_words, world.n_topics)
    spread.add(*assignments_in(world), world.prior)
    counts = np.zeros((world.n_words, world.n_topics))
    np.add.at(counts, world.batch.word_ids, world.counts[:, None] * world.dense)

    found = spread.word_corrections(counts, 0.1) + spread.doc_corrections

    expected = spread.doc_corrections.copy()
    for v, k in zip(*np.nonzero(counts), strict=True):
        given = counts[v, k], *spread.by_word[v, k]
        expected[k] += plain_correction(0.1, *given)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * world.counts.sum() + 1e-9)


@given(world=worlds, seed=st.integers(0, 1_000))
def test_changes_are_what_corrections_differ_by(world, seed):
    rng = np.random.default_rng(seed)
    spread = CountVariances.zeros(world.n_words, world.n_topics)
    spread.add(*assignments_in(world), world.prior)
    counts = np.zeros((world.n_words, world.n_topics))
    np.add.at(counts, world.batch.word_ids, world.counts[:, None] * world.dense)
    differs = rng.random(counts.shape) < 0.4
    factors = np.where(differs[:, :, None], rng.random(2), 1.0)
    after = spread._replace(by_word=factors * spread.by_word)
    counts_after = np.where(differs, rng.uniform(0.5, 3.0) * counts, counts)

    words = rng.permutation(world.n_words)[: rng.integers(world.n_words) + 1].astype(np.uint32)
    topics = rng.permutation(world.n_topics)[: rng.integers(world.n_topics) + 1]
    block = np.ix_(words, topics)

    by_word_after = after.block(words, topics).by_word
    found = word_correction_changes(
        counts, spread.by_word, words, topics, counts_after[block], by_word_after, 0.1
    )

    expected = after.block(words, topics).word_corrections(counts_after[block], 0.1)
    expected -= spread.block(words, topics).word_corrections(counts[block], 0.1)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * (1.0 + counts.sum()))
    assert not found[~differs[block].any(axis=0)].any()


@given(world=worlds)
def test_documents_taken_out_leave_nothing(world):
    spread = CountVariances.zeros(world.n_words, world.n_topics)

    spread.add(*assignments_in(world), world.prior)
    spread.add(*assignments_in(world), world.prior, -1.0)

    for array in spread:
        np.testing.assert_allclose(array, 0.0, atol=1e-7 * (1.0 + world.counts.sum()))


def test_topics_are_taken_and_put_into_their_places():
    world = make_world(1)
    spread = CountVariances.zeros(world.n_words, world.n_topics)
    spread.add(*assignments_in(world), world.prior)
    before, places = spread.take(np.arange(world.n_topics)), np.array([3, 0])

    spread.put(places, before.take(np.array([1, 4])))

    for topics, expected in ((places, [1, 4]), ([1, 2, 4], [1, 2, 4])):
        for mine, theirs in zip(spread.take(topics), before.take(expected), strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("share", [1e-17, 1e-30, 1e-44])
def test_tiny_shares_are_no_harm(share):
    """Float32 shares of dense or mean-field steps go down to 1e-45."""
    world = make_world(0, lengths=(2,), n_topics=2)
    starts, topics = np.array([0, 2, 3]), np.array([0, 1, 0], np.uint32)
    shares = np.array([1.0, share, 1.0], np.float32)
    spread = CountVariances.zeros(world.n_words, 2)

    spread.add(world.batch, Responsibilities(starts, topics, shares), world.prior)

    assert np.isfinite(spread.doc_corrections).all()
    assert abs(spread.doc_corrections[1]) < 1e-12
