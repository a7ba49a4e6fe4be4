"""Check that training can continue from a checkpoint: all parts sound and of matching sizes.

Reading a file checks only types; the values must also fit the data and the options. Finally the
ELBO is recomputed and must equal the recorded one. It is then finite, and so is everything that it
is computed from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsetopics.base.batches import Source
from sparsetopics.base.soundness import check_close, require
from sparsetopics.inference.bounds import elbo
from sparsetopics.inference.growth.grower import GrowerRecord
from sparsetopics.inference.laps import Prior
from sparsetopics.inference.learners.accelerated import GrownState
from sparsetopics.inference.learners.learner import Learner
from sparsetopics.inference.moves.birth import MOST_BORN
from sparsetopics.inference.moves.mover import MoverRecord
from sparsetopics.model.allocations.hdp import HDPAllocation
from sparsetopics.model.allocations.lda import LDAAllocation
from sparsetopics.model.allocations.mixture import ItemAllocation
from sparsetopics.model.allocations.nested import NestedAllocation
from sparsetopics.model.likelihoods.words import Words
from sparsetopics.model.mixture_posterior import sharing_of
from sparsetopics.model.statistics import Statistics
from sparsetopics.options.registry import LIKELIHOODS, imported
from sparsetopics.options.training import TrainingOptions

if TYPE_CHECKING:  # that module imports this one
    from sparsetopics.inference.training import LapInfo, Progress

LONGEST = 1e10  # seconds of training


def check_progress(
    progress: Progress,
    learner: Learner[Any],
    source: Source,
    options: TrainingOptions,
    rng: np.random.Generator,
) -> None:
    """ValueError, or another built-in error, unless training can continue from ``progress``.

    Its numbers are known to be finite, and it has the documents of batches in memory. ``rng`` is a
    generator of the kind that training uses.
    """
    course, prior = progress.course, progress.prior
    _check_course(course, prior.allocation.n_topics)
    bound = checked_elbo(progress.learner, prior, learner, source, options, len(course))
    check_close(bound / source.n_tokens, course[-1].elbo_per_token, "the ELBO")
    _check_rng(progress.rng, rng)
    if options.grows:
        _check_growth(progress.mover, progress.learner, source, options)
    elif options.active_moves.names:
        require(isinstance(progress.mover, MoverRecord), "no record of moves")
        progress.mover.ledger.check(prior.allocation.n_topics)
        if progress.mover.rival is not None:
            rival = progress.mover.rival
            rival.course.check()
            rival.ledger.check(rival.prior.allocation.n_topics)
            checked_elbo(rival.state, rival.prior, learner, source, options, len(course))
    else:
        require(progress.mover is None, "a record of moves")


def checked_elbo(
    state: Any,
    prior: Prior,
    learner: Learner[Any],
    source: Source,
    options: TrainingOptions,
    n_laps: int,
) -> float:
    """The ELBO in nats of a ``learner``'s state after ``n_laps`` laps.

    ValueError, or another built-in error, unless state and prior are sound.
    """
    _check_prior(prior, source, options, n_laps)
    learner.check(state, nothing_under(prior), source)
    current = prior.with_components(learner.components(state))
    bound = elbo(learner.statistics(state), current)
    require(np.isfinite(bound), "the ELBO is not finite")
    return bound


def nothing_under(prior: Prior) -> Statistics:
    """Statistics of no data, for the number of topics in ``prior``."""
    terms = prior.allocation.zero_terms()
    return Statistics(prior.likelihood.zeros(terms.n_topics), terms)


def _check_prior(prior: Prior, source: Source, options: TrainingOptions, n_laps: int) -> None:
    allocation, likelihood = prior
    if options.is_mixture:
        wanted = imported(LIKELIHOODS[options.likelihood_name].where)
        n_columns = getattr(source, "n_columns", None)
    else:
        wanted, n_columns = Words, getattr(source, "n_words", None)
    require(type(likelihood) is wanted, "the likelihood of another model")
    found = likelihood.n_columns
    require(found == n_columns, f"data of {found} words or columns, not {n_columns}")
    concentration = likelihood.word_concentration
    require(concentration is None or concentration > 0.0, "a concentration of words below zero")
    require(type(allocation) is _allocation_of(options), "the weights of another model")
    allocation.check()
    n_topics = allocation.n_topics
    most = options.n_topics + (n_laps + 1) * max(MOST_BORN, options.n_topics)
    require(n_topics <= most, f"{n_topics:,} topics")
    if isinstance(allocation, ItemAllocation):
        kind = sharing_of(options.model, at_modes=options.at_modes)
        require(type(allocation.mixture) is kind, "the weights of another mixture")


def _allocation_of(options: TrainingOptions) -> type[Any]:
    if options.is_mixture:
        return NestedAllocation if options.grows else ItemAllocation
    return LDAAllocation if options.model == "lda" else HDPAllocation


def _check_course(course: tuple[LapInfo, ...], n_topics: int) -> None:
    laps = [info.lap for info in course]
    require(laps == list(range(1, len(laps) + 1)) != [], "laps that do not follow each other")
    require(all(0.0 <= info.seconds < LONGEST for info in course), "laps without a time")
    require(course[-1].n_topics == n_topics, "a number of topics other than that of the last lap")


def _check_rng(state: Mapping[str, Any], rng: np.random.Generator) -> None:
    """ValueError unless numpy accepts the state and draws are not always the same."""
    own = type(rng.bit_generator)()
    own.state = dict(state)
    require(own.state == state, "another random generator")
    if isinstance(own, np.random.PCG64):
        require(state["state"]["inc"] % 2 == 1, "a random generator with an even increment")


def _check_growth(record: Any, state: Any, source: Source, options: TrainingOptions) -> None:
    """Check the record, except for what only the rebuilt tree can tell."""
    require(isinstance(record, GrowerRecord), "no record of growth")
    assert isinstance(state, GrownState), "checked"
    has_tree = options.tree_tolerance != 0.0
    require(has_tree == (record.nodes is not None), "a tree, or none, contrary to the options")
    if state.found is not None:
        n_rows = source.n_docs if record.nodes is None else len(record.nodes.outer)
        state.found.check(n_rows, state.total.components.n_topics)
        require(bool(np.diff(state.found.starts).all()), "nodes without a component")
