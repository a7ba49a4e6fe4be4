"""Options are checked once, and what is refused is refused in one line."""

import math

import pytest

from sparsetopics.base.errors import OptionError
from sparsetopics.execution.executors import open_executor
from sparsetopics.options.registry import MODELS
from sparsetopics.options.resolve import resolve
from sparsetopics.options.training import (
    LocalOptions,
    MoveOptions,
    StepSizes,
    TopicPrior,
    TrainingOptions,
)

MEAN_FIELD = LocalOptions("mean-field")
ACCELERATED = "learner: accelerated needs --model dp-mixture with --likelihood "
REFUSED = [
    (lambda: LocalOptions(sparsity=0), "sparsity: must be at least 1, but is 0."),
    (
        lambda: LocalOptions(sparsity=2**31),
        "sparsity: must be from 1 to 2,147,483,647, but is 2,147,483,648.",
    ),
    (
        lambda: LocalOptions(max_iterations=10**30),
        f"local iterations: must be from 1 to 2,147,483,647, but is {10**30:,}.",
    ),
    (
        lambda: TrainingOptions(10**400),
        f"topics: must be from 1 to 2,147,483,647, but is {f'{10**400:,}'[:60]}….",
    ),
    (lambda: LocalOptions(max_iterations=0), "local iterations: must be at least 1, but is 0."),
    (
        lambda: LocalOptions(tolerance=-0.1),
        "local tolerance: must be at least 0 tokens, but is -0.1.",
    ),
    (lambda: LocalOptions(tolerance=math.nan), "local tolerance: must be a number, but is nan."),
    (lambda: LocalOptions("mean-field", restarts=-1), "restarts: must be at least 0, but is -1."),
    (
        lambda: LocalOptions("collapsed", restarts=2),
        "restarts: needs --local-update mean-field. A restart is judged by",
    ),
    (
        lambda: LocalOptions("meanfield"),
        "local-update: must be one of mean-field, collapsed, but is 'meanfield'. Did you mean",
    ),
    (
        lambda: TopicPrior(doc_concentration=0.0),
        "alpha: must be from 1e-09 to 1e+09, but is 0.0.",
    ),
    (lambda: TopicPrior(doc_concentration=math.nan), "alpha: must be a number, but is nan."),
    (
        lambda: TopicPrior(word_concentration=-1.0),
        "eta: must be from 1e-09 to 1e+09, but is -1.0.",
    ),
    (
        lambda: TopicPrior(word_concentration=math.inf),
        "eta: must be from 1e-09 to 1e+09, but is inf.",
    ),
    (lambda: StepSizes(delay=-1.0), "delay: must be at least 0, but is -1.0."),
    (
        lambda: StepSizes(forgetting_rate=0.49),
        "forgetting-rate: must be from 0.5 to 1, but is 0.49.",
    ),
    (
        lambda: StepSizes(forgetting_rate=1.1),
        "forgetting-rate: must be from 0.5 to 1, but is 1.1.",
    ),
    (
        lambda: StepSizes(fixed_rate=0.0),
        "fixed-rate: must be above 0 and at most 1, but is 0.0.",
    ),
    (
        lambda: StepSizes(delay=2.0, fixed_rate=0.1),
        "fixed-rate: cannot be combined with --forgetting-rate and --delay.",
    ),
    (lambda: TrainingOptions(0), "topics: must be at least 1, but is 0."),
    (lambda: TrainingOptions(-3), "topics: must be at least 1, but is -3."),
    (lambda: TrainingOptions(3, laps=0), "laps: must be at least 1, but is 0."),
    (
        lambda: TrainingOptions(3, local=LocalOptions(sparsity=4)),
        "sparsity: must be at most --topics, 3, but is 4.",
    ),
    (
        lambda: TrainingOptions(3, learner="online"),
        "learner: must be one of memoized, stochastic, full, accelerated, alternating, gradient, "
        "but is 'online'.",
    ),
    (
        lambda: TrainingOptions(3, start="far"),
        "start: must be one of random, distant, but is 'far'.",
    ),
    (
        lambda: TrainingOptions(3, learner="stochastic", learn_hyperparameters=True),
        "learn-hyperparameters: needs another learner than stochastic.",
    ),
    (
        lambda: TopicPrior(top_concentration=0.0),
        "gamma: must be from 1e-09 to 1e+09, but is 0.0.",
    ),
    (
        lambda: TrainingOptions(3, model="lsi"),
        "model: must be one of lda, hdp, dp-mixture, mixture, but is 'lsi'.",
    ),
    (
        lambda: TrainingOptions(3, prior=TopicPrior(top_concentration=1.0)),
        "gamma: is for hdp, dp-mixture and mixture, not for --model lda.",
    ),
    (
        lambda: MoveOptions(("split",)),
        "moves: must be one of merge, delete, birth, but is 'split'.",
    ),
    (lambda: MoveOptions(("merge", "merge")), "moves: names a move twice: merge, merge."),
    (
        lambda: MoveOptions((), "bound"),
        "criterion: needs --moves that follow it, but --moves is none.",
    ),
    (
        lambda: MoveOptions(criterion="aic"),
        "criterion: must be one of bound, collapsed, but is 'aic'.",
    ),
    (
        lambda: TrainingOptions(3, moves=MoveOptions()),
        "moves: is for hdp and dp-mixture, not for --model lda.",
    ),
    (
        lambda: TrainingOptions(3, moves=MoveOptions(("merge",)), learner="full"),
        "moves: is for hdp and dp-mixture, not for --model lda.",
    ),
    (
        lambda: TrainingOptions(
            3, model="mixture", moves=MoveOptions(("merge",), "collapsed"), local=MEAN_FIELD
        ),
        "moves: is for hdp and dp-mixture, not for --model mixture.",
    ),
    (
        lambda: TrainingOptions(1, model="mixture", learner="accelerated", local=MEAN_FIELD),
        ACCELERATED,
    ),
    (
        lambda: TrainingOptions(
            1, model="dp-mixture", learner="accelerated", local=MEAN_FIELD, likelihood="multinomial"
        ),
        ACCELERATED,
    ),
    (
        lambda: TrainingOptions(3, learner="accelerated"),
        ACCELERATED,
    ),
    (
        lambda: TrainingOptions(3, model="dp-mixture", learner="accelerated", local=MEAN_FIELD),
        "topics: must be 1 with --learner accelerated.",
    ),
    (
        lambda: TrainingOptions(
            1, model="dp-mixture", learner="accelerated", local=MEAN_FIELD, tree_tolerance=-1.0
        ),
        "tree-tolerance: must be at least 0 nats, but is -1.0.",
    ),
    (
        lambda: TrainingOptions(1, model="dp-mixture", local=MEAN_FIELD, tree_tolerance=0.1),
        "tree-tolerance: needs --learner accelerated, but found --learner memoized.",
    ),
    (
        lambda: TrainingOptions(
            1,
            model="dp-mixture",
            learner="accelerated",
            local=MEAN_FIELD,
            moves=MoveOptions(("merge",)),
        ),
        "moves: must be none with --learner accelerated.",
    ),
    (
        lambda: TrainingOptions(3, model="hdp", learner="stochastic", moves=MoveOptions()),
        "moves: must be none with --learner stochastic.",
    ),
    (
        lambda: TrainingOptions(3, model="hdp", learner="full", moves=MoveOptions(("merge",))),
        "moves: must be none with --learner full. A move is accepted by the whole-data bound",
    ),
    (
        lambda: TrainingOptions(
            3, model="hdp", moves=MoveOptions(()), local=LocalOptions(sparsity=4)
        ),
        "sparsity: must be at most --topics, 3, but is 4.",
    ),
    (
        lambda: TrainingOptions(3, smoothing="much"),
        "smoothing: must be learned or a number, but is 'much'.",
    ),
    (
        lambda: resolve("mixture", {"smoothing": 0.1}),
        "smoothing: is for lda and hdp, not for --model mixture.",
    ),
    (
        lambda: open_executor(0).__enter__(),
        "workers: must be at least 1, but is 0.",
    ),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_refused_in_one_line(make, message):
    with pytest.raises(OptionError) as error:
        make()

    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("n_topics", "slots"), [(1, 1), (7, 7), (8, 8), (100, 8)])
def test_sparsity_is_eight_or_all_topics_if_fewer(n_topics, slots):
    assert LocalOptions().n_slots(n_topics) == slots


def test_sparsity_is_taken_as_given():
    assert LocalOptions(sparsity=3).n_slots(100) == 3
    assert LocalOptions(sparsity=100).n_slots(100) == 100


def test_restarts_are_on_for_mean_field_alone():
    assert LocalOptions("mean-field").n_restarts > 0
    assert LocalOptions("mean-field", restarts=0).n_restarts == 0
    assert LocalOptions("collapsed").n_restarts == LocalOptions("collapsed", restarts=0).n_restarts
    assert LocalOptions("collapsed").n_restarts == 0


@pytest.mark.parametrize("model", MODELS)
def test_the_default_local_step_of_a_model_is_one_that_it_takes(model):
    local = resolve(model, {"sparsity": 2}).local

    assert TrainingOptions(3, model=model, local=local).local.sparsity == 2
    assert local.update == ("mean-field" if MODELS[model].of_items else "collapsed")
    assert local.n_restarts == 0


def test_a_given_start_wins_over_the_default():
    for start in ("random", "distant"):
        assert TrainingOptions(3, start=start).start_name == start


@pytest.mark.parametrize(
    ("mass", "message"),
    [(-1.0, "must be at least 0 tokens, but is -1.0."), (float("nan"), "must be a number")],
)
def test_a_minimum_mass_below_zero_is_refused(mass, message):
    with pytest.raises(OptionError, match=f"minimum-mass: {message}"):
        LocalOptions(minimum_mass=mass)


def test_only_the_collapsed_update_prunes_by_default():
    assert LocalOptions("collapsed").pruning_mass > 1.0
    assert LocalOptions("mean-field").pruning_mass < 1e-6
    assert LocalOptions("collapsed", minimum_mass=0.5).pruning_mass == 0.5


@pytest.mark.parametrize(("model", "laps"), [("lda", 10), ("hdp", 100)])
def test_laps_at_most_depend_on_the_model(model, laps):
    assert TrainingOptions(3, model=model).n_laps == laps
    assert TrainingOptions(3, model=model, laps=7).n_laps == 7


@pytest.mark.parametrize(
    ("model", "learner", "moves"),
    [
        ("hdp", "memoized", ("merge", "delete", "birth")),
        ("hdp", "full", ()),
        ("hdp", "stochastic", ()),
        ("lda", "memoized", ()),
    ],
)
def test_an_hdp_that_memoizes_makes_all_moves_by_default(model, learner, moves):
    assert TrainingOptions(3, model=model, learner=learner).active_moves.names == moves


def test_moves_are_made_as_asked():
    options = TrainingOptions(3, model="hdp", moves=MoveOptions(("birth",), "collapsed"))

    assert options.active_moves == MoveOptions(("birth",), "collapsed")


def test_an_hdp_may_use_more_topics_a_word_than_it_starts_from():
    """It may be born with one topic and grow."""
    local = TrainingOptions(1, model="hdp", local=LocalOptions(sparsity=4)).local

    assert [local.n_slots(n_topics) for n_topics in (1, 3, 9)] == [1, 3, 4]
