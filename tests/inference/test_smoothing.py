"""The smoothing of finished topics, learned from documents that are left out of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_completion
from sparsetopics import HDP, LDA
from sparsetopics.base.batches import DocumentBatch
from sparsetopics.execution.executors import Executor, open_executor
from sparsetopics.inference import course, smoothing
from sparsetopics.inference.smoothing import (
    LEFT_OUT,
    SMOOTHINGS,
    USUAL,
    left_out_scores,
    smoothing_of,
)
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.word_counts import WordCounts

N_WORDS, ONE = 30, 2**20


def drawn(seed, n_docs, n_topics):
    """Documents with sparse responsibilities: a batch, and r (n_pairs, n_topics)."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 13, n_docs)
    words = [np.sort(rng.permutation(N_WORDS)[:length]) for length in lengths]
    n_pairs = int(lengths.sum())
    quanta = rng.multinomial(ONE, np.full(n_topics, 1 / n_topics), n_pairs)
    quanta[:, 1:] = np.where(rng.random((n_pairs, n_topics - 1)) < 0.5, 0, quanta[:, 1:])
    batch = DocumentBatch(
        np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        np.concatenate([*words, []]).astype(np.int32),
        rng.integers(1, 5, n_pairs).astype(np.uint32),
    )
    return batch, quanta / ONE


def assigned(batch, shares):
    starts = np.concatenate(([0], np.cumsum((shares > 0).sum(axis=1)))).astype(np.int64)
    topics = np.nonzero(shares)[1].astype(np.uint32)
    return Assignments(batch, Responsibilities(starts, topics, shares[shares > 0].astype("f4")))


def counts_of(batch, shares, pairs):
    table = np.zeros((N_WORDS, shares.shape[1]))
    np.add.at(table, batch.word_ids[pairs], batch.word_counts[pairs, None] * shares[pairs])
    return table


def scores_by_counting_the_others(batch, shares, alpha):
    """What ``left_out_scores`` must return: each table is summed over all other documents."""
    scores = np.zeros(len(SMOOTHINGS))
    for start, stop in zip(batch.indptr[:-1], batch.indptr[1:], strict=True):
        pairs = np.arange(len(batch.word_ids))
        table = counts_of(batch, shares, (pairs < start) | (pairs >= stop))
        words, tokens = batch.word_ids[start:stop], batch.word_counts[start:stop]
        is_scored = (np.arange(stop - start) + stop - start) % 5 == 0

        def smoothed(sigma, table=table):
            return (table.T + sigma) / (table.sum(axis=0) + N_WORDS * sigma)[:, None]

        seen = words[~is_scored], tokens[~is_scored]
        theta = reference_completion.document_proportions(*seen, smoothed(USUAL), alpha)
        for i, sigma in enumerate(SMOOTHINGS):
            probabilities = theta @ smoothed(sigma)[:, words[is_scored]]
            scores[i] += tokens[is_scored] @ np.log(probabilities)
    return scores


def plain_proportions(batch, rows, table, alpha, executor):
    of_rows = DocumentBatch(batch.indptr, rows, batch.word_counts)
    return reference_completion.topic_proportions(of_rows, table.T, alpha)


@given(seed=st.integers(0, 2**32), n_docs=st.integers(1, 9), n_topics=st.integers(1, 6))
def test_documents_are_scored_under_the_counts_of_all_others(seed, n_docs, n_topics):
    batch, shares = drawn(seed, n_docs, n_topics)
    counts = WordCounts(counts_of(batch, shares, slice(None)))
    alpha = np.full(n_topics, 0.5 / n_topics)

    found = left_out_scores(assigned(batch, shares), counts, alpha, Executor())
    with pytest.MonkeyPatch.context() as patch:  # in double precision
        patch.setattr(smoothing, "proportions_under", plain_proportions)
        exact = left_out_scores(assigned(batch, shares), counts, alpha, Executor())

    expected = scores_by_counting_the_others(batch, shares, alpha)
    np.testing.assert_allclose(exact, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-9)
    with open_executor(3) as executor:
        again = left_out_scores(assigned(batch, shares), counts, alpha, executor)
    np.testing.assert_array_equal(found, again)


def texts(n_docs=120, seed=0, n_words=40):
    """Counts of documents about one or two of four topics, (n_docs, n_words)."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_words, 0.1), 4)
    shares = rng.dirichlet(np.full(4, 0.2), n_docs)
    return np.array([rng.multinomial(30, row) for row in shares @ topics])


COUNTS = texts()
TWENTY_TYPES = (np.arange(40) % 2 == np.arange(120)[:, None] % 2).astype(int)  # of each document


@pytest.mark.parametrize("learner", ["memoized", "full", "stochastic"])
@pytest.mark.parametrize("update", ["collapsed", "mean-field"])
def test_smoothing_changes_what_is_read_and_nothing_in_training(learner, update):
    how = {"learner": learner, "local_update": update, "max_iter": 7, "random_state": 0}
    learned = LDA(4, **how).fit(COUNTS)
    given_ = LDA(4, **how, smoothing=0.1, n_jobs=2).fit(COUNTS)

    model, same = learned.model_, given_.model_
    half_left_out = (learner, update) == ("memoized", "collapsed")
    assert model.smoothing in [smoothing_of(s, 0.5 * half_left_out) for s in SMOOTHINGS]
    assert same.smoothing == same.word_concentration == 0.1
    np.testing.assert_array_equal(model.topic_word_posterior, same.topic_word_posterior)
    assert learned.trace_[-1]["elbo_per_token"] == given_.trace_[-1]["elbo_per_token"]
    lambdas = same.topic_word_posterior
    np.testing.assert_array_equal(same.topic_word_mean, lambdas / lambdas.sum(1, keepdims=True))
    tokens, sigma = np.maximum(lambdas - 0.1, 0.0), model.smoothing
    expected = (tokens + sigma) / (tokens.sum(1, keepdims=True) + sigma * tokens.shape[1])
    np.testing.assert_allclose(model.topic_word_mean, expected, rtol=1e-12)
    np.testing.assert_allclose(learned.components_, tokens + sigma, rtol=1e-12)


@pytest.mark.parametrize("learner", ["memoized", "stochastic"])
def test_what_is_learned_does_not_depend_on_workers_or_chance(learner):
    models = [
        LDA(4, learner=learner, max_iter=5, random_state=0, n_jobs=n).fit(COUNTS).model_
        for n in (1, 3)
    ]

    assert models[0].smoothing == models[1].smoothing
    np.testing.assert_array_equal(models[0].topic_word_mean, models[1].topic_word_mean)


def test_the_best_of_all_numbers_for_the_documents_left_out_is_learned(monkeypatch):
    seen, learned = [], course.learned_smoothing

    def spied(current, source, kept, *others):
        seen.append((current, [kept(n) for n in range(source.n_batches)], others[-1]))
        return learned(current, source, kept, *others)

    monkeypatch.setattr(course, "learned_smoothing", spied)
    found = LDA(4, max_iter=7, own_counts="keep", random_state=0).fit(COUNTS).model_.smoothing

    [(current, batches, n_docs)] = seen
    assert n_docs == LEFT_OUT > len(COUNTS)
    whole = Assignments.joined(batches)
    table, alpha = current.components.table, current.allocation.doc_concentration
    scores = left_out_scores(whole, WordCounts(table), alpha, Executor())
    assert found == smoothing_of(SMOOTHINGS[scores.argmax()])
    # What the batches have put into the topics is all that these hold.
    own = WordCounts(np.zeros_like(table))
    for batch in batches:
        own.add(own.sum_batch(*batch, Executor()))
    np.testing.assert_array_equal(own.table, table)


@pytest.mark.parametrize(("mean_length", "n_docs"), [(20, 120), (1, 18), (0, 3)])
def test_fewer_documents_are_left_out_if_they_are_long(monkeypatch, mean_length, n_docs):
    sizes, scores = [], smoothing.left_out_scores
    monkeypatch.setattr(smoothing, "MEAN_LENGTH", mean_length)
    monkeypatch.setattr(
        smoothing,
        "left_out_scores",
        lambda sample, *others: (sizes.append(sample.documents.n_docs), scores(sample, *others))[1],
    )
    LDA(4, max_iter=7, random_state=0).fit(TWENTY_TYPES)

    assert sizes == [n_docs]


def test_documents_too_short_to_score_leave_the_concentration_in_place():
    counts = np.eye(6, dtype=int)[np.arange(60) % 6] * 3

    assert LDA(2, max_iter=3, random_state=0).fit(counts).model_.smoothing == 0.1


def test_the_smoothing_for_new_documents_is_larger():
    assert smoothing_of(0.2) == 1.5 * 0.2
    assert smoothing_of(0.2, 0.5) == 2.0 * 0.2


def test_partial_fit_learns_it_from_the_documents_of_its_last_call():
    model = LDA(4, random_state=0).partial_fit(COUNTS[:60])
    first = model.model_

    more = model.partial_fit(COUNTS[60:]).model_

    assert {first.smoothing, more.smoothing} <= {*map(smoothing_of, SMOOTHINGS)}


def test_rungs_are_scored_under_their_own_smoothing(monkeypatch):
    scored = []
    learned = course.learned_smoothing

    def spied(*given_):
        scored.append((given_[-1], learned(*given_)))
        return scored[-1][1]

    monkeypatch.setattr(course, "learned_smoothing", spied)
    model = HDP(random_state=0).fit(texts(400))

    rungs = len(model.scores_.rungs)
    assert rungs < len(scored) <= rungs + 8  # and once for each round of polishing
    assert [n for n, _ in scored[:-1]] == [100] * (len(scored) - 1)
    n_left_out, last = scored[-1]
    assert (n_left_out, smoothing_of(last, 0.5)) == (LEFT_OUT, model.model_.smoothing)
