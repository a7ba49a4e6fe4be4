"""Training with moves: every accepted move raises the exact score, from any start, repeatably."""

from itertools import cycle, product

import numpy as np
import pytest

from sparsetopics.base.errors import OptionError
from sparsetopics.model.memo import Memo
from sparsetopics.options.training import LocalOptions, MoveOptions, TopicPrior, TrainingOptions
from worlds.bars import ten_bars
from worlds.simulated_documents import as_source, batch_of_counts, simulate

N_WORDS = 30
ALL = ("merge", "delete", "birth")
CRITERIA = pytest.mark.parametrize("criterion", ["bound", "collapsed"])
UPDATES = pytest.mark.parametrize("update", ["collapsed", "mean-field"])


def simulated(seed=0, n_docs=120, n_batches=3):
    batch = simulate(np.random.default_rng(seed), n_docs=n_docs, n_topics=5)
    return as_source(batch, N_WORDS, n_batches)


def bars(seed=0):
    return ten_bars(np.random.default_rng(seed), n_docs=60, n_tokens=60).source(3)


WORLDS = {"simulated": simulated, "bars": bars}


def options(n_topics, names=ALL, criterion="bound", local=None, laps=30, verify=True, **others):
    moves = MoveOptions(names, criterion, verify)
    local = local or LocalOptions()
    return TrainingOptions(n_topics, laps, local=local, model="hdp", moves=moves, **others)


def bounds(trace):
    return np.array([info.elbo_per_token for info in trace])


def accepted(trace, move):
    return sum(info.moves[f"{move}s"].accepted for info in trace)


# --- every accepted move raises the exactly recomputed score (``verify``) ------------------------


KINDS = product(("bound", "collapsed"), ("collapsed", "mean-field"), (1, 3, 200))


@pytest.mark.parametrize(
    ("world", "criterion", "update", "sparsity"),
    [(world, *kind) for world, kind in zip(cycle(WORLDS), KINDS)],
)
def test_all_moves_together_keep_their_promises(fit, world, criterion, update, sparsity):
    """Otherwise ``verify`` raises."""
    source, local = WORLDS[world](), LocalOptions(update, sparsity)

    model, trace = fit(source, options(12, ALL, criterion, local))

    assert sum(accepted(trace, move) for move in ALL) > 0
    assert trace[-1].n_topics == model.n_topics
    n_tokens = (model.topic_word_posterior - model.word_concentration).sum()
    assert n_tokens == pytest.approx(source.n_tokens, rel=1e-6)


@pytest.mark.parametrize("names", [("merge",), ("delete",), ("birth",)], ids="+".join)
@CRITERIA
@UPDATES
def test_each_move_alone_keeps_its_promises(fit, names, criterion, update):
    n_topics = 1 if names == ("birth",) else 9

    model, trace = fit(simulated(), options(n_topics, names, criterion, LocalOptions(update)))

    assert accepted(trace, names[0]) > 0
    assert model.n_topics != n_topics
    for other in {"merge", "delete", "birth"} - set(names):
        assert accepted(trace, other) == 0


@pytest.mark.parametrize(
    ("criterion", "update", "sparsity", "seed"),
    [
        ("bound", "collapsed", 1, 0),
        ("bound", "mean-field", None, 1),
        ("collapsed", "collapsed", None, 1),
        ("collapsed", "mean-field", 1, 0),
    ],
)
def test_one_topic_gives_birth_to_others(fit, criterion, update, sparsity, seed):
    local = LocalOptions(update, sparsity)

    model, trace = fit(bars(seed), options(1, ALL, criterion, local), seed=seed)

    assert trace[3].n_topics == 1
    assert accepted(trace, "birth") > 0, f"seed {seed}"
    assert model.n_topics > 1, f"seed {seed}"


# --- repeatable ----------------------------------------------------------------------------------


def assert_same_run(left, right):
    (model, trace), (other, other_trace) = left, right
    assert model.topic_word_posterior.tobytes() == other.topic_word_posterior.tobytes()
    assert model.sticks.means.tobytes() == other.sticks.means.tobytes()
    assert model.sticks.concentrations.tobytes() == other.sticks.concentrations.tobytes()
    for info, other_info in zip(trace, other_trace, strict=True):
        assert info._replace(seconds=0.0) == other_info._replace(seconds=0.0)


@pytest.mark.parametrize(
    ("n_topics", "update", "criterion"),
    [(1, "mean-field", "collapsed"), (12, "collapsed", "bound")],
)
def test_same_bits_for_two_workers_and_for_files(
    monkeypatch, fit, tmp_path, n_topics, update, criterion
):
    monkeypatch.setattr("sparsetopics.base.batches.BLOCK_PAIRS", 200)
    monkeypatch.setattr("sparsetopics.model.word_counts.BLOCK_ROWS", 10)
    source = simulated()
    given = options(n_topics, ALL, criterion, LocalOptions(update), laps=12)
    first, second = (fit(source, given, workers=workers) for workers in (1, 2))
    monkeypatch.setattr(Memo.__init__, "__defaults__", (0,))

    on_disk = fit(source, given)

    assert first[0].n_topics != n_topics
    assert_same_run(first, second)
    assert_same_run(first, on_disk)
    assert len(list(tmp_path.iterdir())) in (3, 6)  # of a last rival, where laps have run out


# --- laps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("world", "n_topics", "seed"),
    [("simulated", 1, 0), ("simulated", 12, 1), ("bars", 1, 1), ("bars", 12, 0)],
)
def test_under_mean_field_no_lap_ends_lower(fit, world, n_topics, seed):
    """By more than 1e-4 nats per token, moves or not."""
    given = options(n_topics, ALL, "bound", LocalOptions("mean-field"), laps=40)

    _, trace = fit(WORLDS[world](seed), given, seed=seed)

    largest_drop = -np.diff(bounds(trace)).min()
    assert largest_drop < 1e-4, f"seed {seed}: fell by {largest_drop:.3g} nats per token"
    assert len({info.n_topics for info in trace}) > 1


@pytest.mark.parametrize("seed", range(2))
def test_learned_priors_do_not_lower_the_bound_either(fit, seed):
    local, prior = LocalOptions("mean-field"), TopicPrior(0.1, 0.5, 50.0)
    given = options(1, ALL, "bound", local, prior=prior, learn_hyperparameters=True, laps=40)

    model, trace = fit(simulated(seed), given, seed=seed)

    largest_drop = -np.diff(bounds(trace)).min()
    assert largest_drop < 1e-4, f"seed {seed}: fell by {largest_drop:.3g} nats per token"
    assert model.n_topics > 1
    assert model.word_concentration != 0.5


@CRITERIA
@UPDATES
def test_training_stops_by_itself_when_nothing_moves_any_more(fit, criterion, update):
    model, trace = fit(simulated(), options(6, ALL, criterion, LocalOptions(update), laps=100))

    assert 4 < len(trace) < 100
    assert [info.n_topics for info in trace[-4:]] == [model.n_topics] * 4
    assert sum(info.moves["births"].proposed for info in trace) > accepted(trace, "birth")


def test_the_trace_tells_the_criterion_that_moves_follow(fit):
    _, of_bound = fit(simulated(), options(6, ALL, "bound"))
    _, trace = fit(simulated(), options(6, ALL, "collapsed"))

    assert all(info.criterion_per_token is None for info in of_bound)
    assert [info.criterion_per_token is None for info in trace[:4]] == [True] * 3 + [False]
    told = [info for info in trace if info.criterion_per_token is not None]
    assert len(told) > 5
    assert all(info.criterion_per_token > info.elbo_per_token for info in told)


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"learner": "stochastic"}, "moves: must be none with --learner stochastic."),
        ({"learner": "full"}, "moves: must be none with --learner full."),
        ({"model": "lda"}, "moves: is for hdp and dp-mixture, not for --model lda."),
    ],
)
@pytest.mark.parametrize("names", [("merge",), ("delete",), ("birth",), ALL], ids="+".join)
def test_moves_that_cannot_be_made_are_refused_with_a_sentence(others, words, names):
    given = {"model": "hdp", "moves": MoveOptions(names), **others}

    with pytest.raises(OptionError, match=words) as error:
        TrainingOptions(5, **given)
    assert "\n" not in str(error.value)
    assert str(error.value).endswith(".")
    TrainingOptions(5, **{**given, "moves": MoveOptions(())})


# --- odd input -----------------------------------------------------------------------------------

ODD_DOCUMENTS = {
    "one word in the vocabulary": [[3], [1]],
    "one document": [[3, 0, 2]],
    "one token": [[0, 1]],
    "a word that nobody uses": [[3, 0, 2], [1, 0, 0]],
    "an empty document": [[3, 1, 2], [0, 0, 0], [1, 1, 0]],
    "fractional counts": [[0.2, 0.3, 0.0], [0.5, 0.1, 1.5], [1e-9, 0.0, 0.0], [0.01, 0.2, 0.9]],
    "huge counts": [[2**31, 1, 0], [0, 2**31, 7], [1, 0, 2**31]],
    "the same document many times": [[5, 1, 0, 2]] * 40,
}
# Documents have one pair and the next have the other.
OPPOSITES = [
    (("collapsed", "bound"), ("mean-field", "collapsed")),
    (("collapsed", "collapsed"), ("mean-field", "bound")),
]
EXTREMES = [(1e3, 1e3), (1e-6, 1e-6), (0.5, 0.1)]


@pytest.mark.filterwarnings("ignore:There are more:sparsetopics.base.errors.SparsetopicsWarning")
@pytest.mark.parametrize(
    ("documents", "update", "criterion"),
    [(name, *kind) for name, kinds in zip(ODD_DOCUMENTS, cycle(OPPOSITES)) for kind in kinds],
)
def test_odd_input_gives_finite_results(fit, documents, update, criterion):
    """Not verified: where a few tokens are all, float32 shares are more than 1e-8 of the score."""
    counts, local = ODD_DOCUMENTS[documents], LocalOptions(update)
    source = as_source(batch_of_counts(counts), len(counts[0]))
    for alpha, eta in EXTREMES:
        prior = TopicPrior(alpha, eta, 10.0)
        given = options(20, ALL, criterion, local, laps=9, verify=False, prior=prior)

        model, trace = fit(source, given)

        assert np.isfinite(bounds(trace)).all()
        assert np.isfinite(model.topic_word_posterior).all()
        assert (model.topic_word_posterior > 0).all()
        assert (model.doc_concentration > 0).all()
        assert model.n_topics >= 1
