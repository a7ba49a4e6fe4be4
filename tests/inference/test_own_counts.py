"""A document's own counts, which the last laps leave out of those that it is fitted with."""

import re
from functools import partial

import numpy as np
import pytest

from sparsetopics.base.errors import OptionError, ShapeError
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.document_step import fit_documents
from sparsetopics.inference.gradual_start import local_options
from sparsetopics.inference.laps import fit_here
from sparsetopics.inference.training import train
from sparsetopics.options.resolve import resolve, values_of
from sparsetopics.options.table import OWN_SHARES
from sparsetopics.options.training import LocalOptions, TrainingOptions
from sparsetopics.runs.plan import validated, with_validation
from sparsetopics.runs.topic_path import rung_record
from worlds.bars import ten_bars
from worlds.dense_responsibilities import dense_of, lda_globals
from worlds.simulated_documents import as_source, batch_of_counts

N_BATCHES = 4


def bars(seed=0):
    return ten_bars(np.random.default_rng(seed), 80, 60).source(N_BATCHES)


class WatchingSteps:
    """Remembers the share that each step leaves out, and checks what it leaves it out of."""

    def __init__(self, source):
        self.steps, self.shares, self.found = partial(fit_here, source, Executor()), [], {}

    def __call__(self, batch_ids, current, options, former):
        former = list(former)
        fitted = self.steps(batch_ids, current, options, former)
        for batch_id, (_, own), (batch, found) in zip(
            batch_ids.tolist(), former, fitted, strict=True
        ):
            self.shares.append(OWN_SHARES[options.own_counts] if own is not None else 0.0)
            n_topics = current.allocation.n_topics
            if own is not None:
                self.check(batch, dense_of(own, n_topics), current.components, batch_id)
            self.found[batch_id] = dense_of(found.responsibilities, n_topics)
            yield batch, found

    def check(self, batch, own, components, batch_id):
        """All that the last visit put in is there, to the last bit."""
        put_in = batch.weights[:, None] * own
        assert (components.table[batch.word_ids] - put_in >= 0).all()
        assert (components.sizes - put_in.sum(axis=0) >= 0).all()
        np.testing.assert_array_equal(own.sum(axis=1), 1.0)
        if own.shape == self.found[batch_id].shape:  # no topics were merged since
            np.testing.assert_array_equal(own, self.found[batch_id])


def shares_of_laps(options, folder):
    """The share that is left out in each lap."""
    source = bars()
    steps = WatchingSteps(source)
    train(source, options, folder, Executor(), np.random.default_rng(1), steps=steps)
    laps = np.array(steps.shares).reshape(-1, N_BATCHES)
    assert (laps == laps[:, :1]).all()
    return laps[:, 0].tolist()


@pytest.mark.parametrize(
    ("options", "shares"),
    [
        (TrainingOptions(5), 6 * [0.0] + 4 * [0.5]),
        (TrainingOptions(5, 7), 3 * [0.0] + 4 * [0.5]),  # topics are merged among them
        (TrainingOptions(5, 3), [0.0, 0.5, 0.5]),  # at the first visit nothing is known
        (TrainingOptions(5, 6, local=LocalOptions(own_counts="leave")), 2 * [0.0] + 4 * [1.0]),
        (TrainingOptions(5, 6, local=LocalOptions(own_counts="keep")), 6 * [0.0]),
        (TrainingOptions(5, 6, local=LocalOptions("mean-field")), 6 * [0.0]),
        (TrainingOptions(5, 6, "stochastic"), 6 * [0.0]),
        (TrainingOptions(5, 6, "full"), 6 * [0.0]),
        (TrainingOptions(5, 6, model="hdp"), 6 * [0.0]),
    ],
)
def test_the_last_four_laps_leave_out_what_the_last_visit_put_in(options, shares, tmp_path):
    assert shares_of_laps(options, tmp_path) == shares


def test_the_last_laps_of_an_hdp_are_those_over_all_documents_and_a_path_has_none():
    hdp = validated(resolve("hdp", {}), 500)
    path = TrainingOptions(30, lower_rungs=(20, 10))

    def shares_of(options):
        laps = range(1, options.n_laps + 1)
        return [OWN_SHARES[local_options(options, 9, lap).own_counts] for lap in laps]

    assert shares_of(hdp) == (hdp.n_laps - 4) * [0.0] + 4 * [0.5]
    assert hdp.last_path_lap < hdp.n_laps - 4
    assert shares_of(path) == path.n_laps * [0.0]
    assert rung_record(path, 20, 0.1)["local"]["own_counts"] == "keep"


@pytest.mark.parametrize("seed", range(3))
def test_a_step_that_leaves_all_out_is_a_step_with_the_counts_of_others(seed):
    """What is left out of the counts of all documents, or was never added, is the same."""
    rng = np.random.default_rng(seed)
    batch = batch_of_counts(rng.poisson(0.7, (12, 30)))
    n_topics, alpha = 4, np.full(4, 0.1)
    start = lda_globals(rng.gamma(0.3, 3.0, (30, n_topics)), alpha, 0.1)
    before = fit_documents(batch, start, LocalOptions(), Executor())
    put_in = batch.weights[:, None] * dense_of(before.responsibilities, n_topics)
    documents = np.repeat(np.arange(12), np.diff(batch.indptr))
    counts = np.zeros((12, 30, n_topics))
    np.add.at(counts, (documents, batch.word_ids), put_in)

    left = before.doc_topics, before.responsibilities
    whole = lda_globals(counts.sum(axis=0), alpha, 0.1)
    leaving = LocalOptions(own_counts="leave")
    found = dense_of(fit_documents(batch, whole, leaving, Executor(), left).responsibilities, 4)

    for d in range(12):
        others = lda_globals(counts.sum(axis=0) - counts[d], alpha, 0.1)
        alone, former = batch[d : d + 1], before.doc_topics.rows(d, d + 1)
        expected = fit_documents(alone, others, LocalOptions(), Executor(), (former, None))
        mine = dense_of(expected.responsibilities, n_topics)
        np.testing.assert_allclose(found[documents == d], mine, atol=1e-5)
    kept = dense_of(fit_documents(batch, whole, LocalOptions(), Executor(), left)[1], n_topics)
    assert np.abs(found - kept).max() > 0.01


@pytest.mark.parametrize("own_counts", ["half", "leave"])
def test_workers_do_not_change_the_bits(fit, own_counts):
    options = TrainingOptions(5, 7, local=LocalOptions(own_counts=own_counts))
    one, two = (fit(bars(), options, workers=workers)[0] for workers in (1, 2))
    np.testing.assert_array_equal(one.topic_word_posterior, two.topic_word_posterior)


def test_chunks_do_not_change_the_bits(fit, monkeypatch):
    one, _ = fit(bars(), TrainingOptions(5, 7))
    monkeypatch.setattr("sparsetopics.inference.document_step.CHUNK_ENTRIES", 500)
    two, _ = fit(bars(), TrainingOptions(5, 7))
    np.testing.assert_array_equal(one.topic_word_posterior, two.topic_word_posterior)


def test_another_number_of_pairs_is_refused():
    batch = batch_of_counts(np.ones((3, 4), np.int64))
    current = lda_globals(np.ones((4, 2)), np.full(2, 0.1), 0.1)
    found = fit_documents(batch, current, LocalOptions(), Executor())
    left = None, found.responsibilities.rows(0, 5)
    with pytest.raises(ShapeError, match="expected 12 pairs, but found 5"):
        fit_documents(batch, current, LocalOptions(own_counts="half"), Executor(), left)


# --- where it cannot be -------------------------------------------------------------------------
NEEDS = "own-counts: must be keep without the memoized learner and the collapsed update."
REFUSED = [
    ("mixture", {}, "own-counts: is for lda and hdp, not for --model mixture."),
    ("lda", {"local-update": "mean-field"}, NEEDS),
    ("lda", {"learner": "stochastic"}, NEEDS),
    ("hdp", {"learner": "full"}, NEEDS),
]


@pytest.mark.parametrize("own_counts", ["half", "leave"])
@pytest.mark.parametrize(("model", "given", "message"), REFUSED)
def test_what_cannot_leave_them_out_is_refused_at_once(model, given, message, own_counts):
    with pytest.raises(OptionError, match=re.escape(message)):
        resolve(model, {"own-counts": own_counts, **given})


@pytest.mark.parametrize(
    ("given", "share", "n_docs"),
    [({"moves": ()}, None, 900), ({"laps": 30}, None, 900), ({}, 0.0, 900), ({}, None, 100)],
)
def test_an_hdp_that_is_not_validated_keeps_them(given, share, n_docs):
    message = "own-counts: must be keep where documents do not choose the number. They do"
    with pytest.raises(OptionError, match=re.escape(message)):
        with_validation(resolve("hdp", {"own-counts": "half", **given}), share, n_docs)
    options = resolve("hdp", {"own-counts": "keep", **given})
    assert with_validation(options, share, n_docs) == (options, 0.0)


def test_a_run_says_what_it_left_out():
    hdp = validated(resolve("hdp", {}), 500)
    assert values_of(hdp)["own-counts"] == "half"
    assert values_of(resolve("lda", {}))["own-counts"] == "half"
    assert values_of(resolve("lda", {"own-counts": "keep"}))["own-counts"] == "keep"
    for options in (resolve("lda", {"learner": "full"}), resolve("hdp", {"moves": ("merge",)})):
        assert "own-counts" not in values_of(options)
    assert "own_counts" not in repr(resolve("mixture", {}).filled())


def test_fractional_counts_leave_nothing_below_zero(tmp_path):
    rng = np.random.default_rng(1)
    counts = rng.gamma(0.3, 2.0, (60, 40)) * (rng.random((60, 40)) < 0.4)
    options = TrainingOptions(6, 8, local=LocalOptions(own_counts="leave"))
    source = as_source(batch_of_counts(counts), 40, 4)
    model = train(source, options, tmp_path, Executor(), np.random.default_rng(0))
    assert np.isfinite(model.topic_word_posterior).all()
    assert (model.topic_word_posterior > 0).all()
