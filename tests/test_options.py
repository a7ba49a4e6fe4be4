"""Options are checked once, and what is refused is refused in one line."""

import math
from typing import get_args

import pytest

from sparsetopics.base.errors import OptionError
from sparsetopics.execution.executors import open_executor
from sparsetopics.options.resolve import resolve
from sparsetopics.options.table import MIXTURES, ModelName
from sparsetopics.options.training import (
    LocalOptions,
    MoveOptions,
    StepSizes,
    TopicPrior,
    TrainingOptions,
)

MEAN_FIELD = LocalOptions("mean-field")
REFUSED = [
    (lambda: LocalOptions(sparsity=0), "sparsity: found 0, wanted at least 1"),
    (lambda: LocalOptions(sparsity=2**31), "sparsity: found 2147483648, wanted at most 2,147,"),
    (lambda: LocalOptions(max_iterations=10**30), f"local iterations: found {10**30}, wanted at m"),
    (lambda: TrainingOptions(10**400), f"topics: found {10**400}"[:100]),
    (lambda: LocalOptions(max_iterations=0), "local iterations: found 0"),
    (lambda: LocalOptions(tolerance=-0.1), "local tolerance: found -0.1"),
    (lambda: LocalOptions(tolerance=math.nan), "local tolerance: found nan"),
    (lambda: LocalOptions("mean-field", restarts=-1), "restarts: found -1, wanted 0 or more"),
    (lambda: LocalOptions("collapsed", restarts=2), "restarts: found 2 with the collapsed update"),
    (lambda: LocalOptions("meanfield"), "local-update: found meanfield, wanted one of"),
    (lambda: TopicPrior(doc_concentration=0.0), "alpha: found 0.0, wanted a positive number"),
    (lambda: TopicPrior(doc_concentration=math.nan), "alpha: found nan"),
    (lambda: TopicPrior(word_concentration=-1.0), "eta: found -1.0, wanted a positive number"),
    (lambda: TopicPrior(word_concentration=math.inf), "eta: found inf"),
    (lambda: StepSizes(delay=-1.0), "delay: found -1.0, wanted 0 or more"),
    (lambda: StepSizes(forgetting_rate=0.5), "forgetting rate: found 0.5, wanted above 0.5"),
    (lambda: StepSizes(forgetting_rate=1.1), "forgetting rate: found 1.1"),
    (lambda: TrainingOptions(0), "topics: found 0, wanted at least 1"),
    (lambda: TrainingOptions(-3), "topics: found -3"),
    (lambda: TrainingOptions(3, laps=0), "laps: found 0, wanted at least 1"),
    (lambda: TrainingOptions(3, local=LocalOptions(sparsity=4)), "sparsity: found 4, wanted at mo"),
    (lambda: TrainingOptions(3, learner="online"), "learner: found online, wanted one of memoized"),
    (lambda: TrainingOptions(3, start="far"), "start: found far, wanted one of random, distant"),
    (
        lambda: TrainingOptions(3, learner="stochastic", learn_hyperparameters=True),
        "learn-hyperparameters: found the stochastic learner",
    ),
    (lambda: TopicPrior(top_concentration=0.0), "gamma: found 0.0, wanted a positive number"),
    (lambda: TrainingOptions(3, model="lsi"), "model: found lsi, wanted one of lda, hdp"),
    (
        lambda: TrainingOptions(3, prior=TopicPrior(top_concentration=1.0)),
        "gamma: found LDA, wanted the HDP",
    ),
    (
        lambda: MoveOptions(("split",)),
        "moves: found split, wanted one of merge, delete, birth, regroup",
    ),
    (lambda: MoveOptions(("merge", "merge")), "moves: found merge,merge, wanted each move once"),
    (lambda: MoveOptions((), "bound"), "criterion: found bound without moves, wanted moves that"),
    (lambda: MoveOptions(criterion="aic"), "criterion: found aic, wanted one of bound, collapsed"),
    (
        lambda: TrainingOptions(3, moves=MoveOptions()),
        "moves: found merge,delete,birth with LDA, wanted regroup",
    ),
    (
        lambda: TrainingOptions(3, moves=MoveOptions(("regroup", "merge"))),
        "moves: found regroup,merge with LDA, wanted regroup",
    ),
    (
        lambda: TrainingOptions(3, moves=MoveOptions(("regroup",)), learner="full"),
        "moves: found the full learner, wanted the memoized learner",
    ),
    (
        lambda: TrainingOptions(1, model="mixture", learner="accelerated", local=MEAN_FIELD),
        "learner: found accelerated with mixture, wanted a dp-mixture of vectors",
    ),
    (
        lambda: TrainingOptions(
            1, model="dp-mixture", learner="accelerated", local=MEAN_FIELD, likelihood="multinomial"
        ),
        "learner: found accelerated with multinomial items, wanted a dp-mixture of vectors",
    ),
    (
        lambda: TrainingOptions(3, learner="accelerated"),
        "learner: found accelerated with lda, wanted a dp-mixture of vectors",
    ),
    (
        lambda: TrainingOptions(3, model="dp-mixture", learner="accelerated", local=MEAN_FIELD),
        "topics: found 3 with the accelerated learner, wanted 1",
    ),
    (
        lambda: TrainingOptions(
            1, model="dp-mixture", learner="accelerated", local=MEAN_FIELD, tree_tolerance=-1.0
        ),
        "tree-tolerance: found -1.0, wanted 0 or more nats",
    ),
    (
        lambda: TrainingOptions(1, model="dp-mixture", local=MEAN_FIELD, tree_tolerance=0.1),
        "tree-tolerance: found the memoized learner, wanted the accelerated learner",
    ),
    (
        lambda: TrainingOptions(
            1,
            model="dp-mixture",
            learner="accelerated",
            local=MEAN_FIELD,
            moves=MoveOptions(("merge",)),
        ),
        "moves: found the accelerated learner, wanted the memoized learner",
    ),
    (
        lambda: TrainingOptions(3, model="hdp", moves=MoveOptions(("merge", "regroup"))),
        "moves: found regroup with hdp, wanted merge, delete, birth",
    ),
    (
        lambda: TrainingOptions(3, model="hdp", learner="stochastic", moves=MoveOptions()),
        "moves: found the stochastic learner, wanted the memoized learner",
    ),
    (
        lambda: TrainingOptions(3, model="hdp", learner="full", moves=MoveOptions(("merge",))),
        "moves: found the full learner",
    ),
    (
        lambda: TrainingOptions(
            3, model="hdp", moves=MoveOptions(()), local=LocalOptions(sparsity=4)
        ),
        "sparsity: found 4, wanted at most 3",
    ),
    (lambda: open_executor(0).__enter__(), "workers: found 0, wanted at least 1"),
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


@pytest.mark.parametrize("model", get_args(ModelName))
def test_the_default_local_step_of_a_model_is_one_that_it_takes(model):
    local = resolve(model, {"sparsity": 2}).local

    assert TrainingOptions(3, model=model, local=local).local.sparsity == 2
    assert local.update == ("mean-field" if model in MIXTURES else "collapsed")
    assert local.n_restarts == 0


def test_a_given_start_wins_over_the_default():
    for start in ("random", "distant"):
        assert TrainingOptions(3, start=start).start_name == start


@pytest.mark.parametrize("mass", [-1.0, float("nan")])
def test_a_minimum_mass_below_zero_is_refused(mass):
    with pytest.raises(OptionError, match=r"minimum-mass: found .*, wanted 0 or more tokens"):
        LocalOptions(minimum_mass=mass)


def test_only_the_collapsed_update_prunes_by_default():
    assert LocalOptions("collapsed").pruning_mass > 1.0
    assert LocalOptions("mean-field").pruning_mass < 1e-6
    assert LocalOptions("collapsed", minimum_mass=0.5).pruning_mass == 0.5


@pytest.mark.parametrize(("model", "laps"), [("lda", 20), ("hdp", 100)])
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
