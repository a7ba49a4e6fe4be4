"""Refuses options, alone and in combinations that mean nothing, with what would go instead."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NoReturn

from sparsetopics.base.errors import OptionError
from sparsetopics.options.registry import LIKELIHOODS

if TYPE_CHECKING:
    from sparsetopics.options.training import TrainingOptions


MOST = 2**31 - 1


def refuse(option: str, found: object, wanted: str, hint: str = "") -> NoReturn:
    """Raise OptionError."""
    raise OptionError(option, found=str(found), wanted=wanted, hint=hint)


def check_size(option: str, value: int | None, least: int, unit: str = "") -> None:
    """OptionError if a whole number is given that is below ``least`` or too large for kernels to
    count."""
    if value is None or least <= value <= MOST:
        return
    lowest = f"at least {least}" if least else "0 or more"
    wanted = lowest if value < least else f"at most {MOST:,}"
    refuse(option, value, f"{wanted} {unit}".rstrip())


def check_name(option: str, found: str, names: Collection[str]) -> None:
    """OptionError unless ``found`` is one of the names."""
    if found not in names:
        refuse(option, found, f"one of {', '.join(names)}")


def check_growth(options: TrainingOptions) -> None:
    """Of the accelerated learner."""
    tolerance = options.tree_tolerance
    if not options.grows:
        if tolerance is not None:
            refuse("tree-tolerance", f"the {options.learner} learner", "the accelerated learner")
        return
    if options.model != "dp-mixture" or options.counts_words:
        kind = (
            f"{options.likelihood_name} items" if options.model == "dp-mixture" else options.model
        )
        refuse(
            "learner",
            f"{options.learner} with {kind}",
            "a dp-mixture of vectors",
            "It groups vectors that lie close together.",
        )
    growing = [name for name, kind in LIKELIHOODS.items() if kind.grows]
    if options.likelihood_name not in growing:
        found = f"{options.learner} with {options.likelihood_name}"
        refuse("learner", found, f"one of {', '.join(growing)}")
    if options.n_topics != 1:
        refuse(
            "topics",
            f"{options.n_topics} with the {options.learner} learner",
            "1",
            "It grows from one component.",
        )
    if tolerance is not None and not 0 <= tolerance < float("inf"):
        refuse("tree-tolerance", tolerance, "0 or more nats")


def check_points(options: TrainingOptions) -> None:
    """Of learners and likelihoods of points."""
    if options.gradient is not None and options.learner != "gradient":
        refuse(
            "gradient",
            f"{options.gradient.rule} with the {options.learner} learner",
            "the gradient learner",
        )
    may_be_points = options.is_mixture and LIKELIHOODS[options.likelihood_name].at_modes
    if options.variance is not None:
        if not may_be_points:
            kind = options.likelihood_name if options.is_mixture else options.model
            refuse(
                "variance",
                f"{options.variance:g} with {kind}",
                "isotropic-gaussian",
                "Others learn their variances.",
            )
        if not 0 < options.variance < float("inf"):
            refuse("variance", options.variance, "a positive number")
    if not options.at_modes:
        return
    if options.model != "dp-mixture" or not may_be_points:
        kind = options.likelihood_name if options.model == "dp-mixture" else options.model
        refuse("learner", f"{options.learner} with {kind}", "a dp-mixture with isotropic-gaussian")
    if options.local.sparsity not in (None, 1):
        refuse(
            "sparsity",
            f"{options.local.sparsity} with the {options.learner} learner",
            "1",
            "It gives every item to one component.",
        )
    if options.prior.gamma < 1:
        refuse(
            "gamma",
            f"{options.prior.gamma:g} with the {options.learner} learner",
            "at least 1",
            "Below, sticks have no most probable length.",
        )


def check_round(options: TrainingOptions) -> None:
    """Of batches that share parameters."""
    check_size("round", options.batches_per_round, 1, "batch")
    if options.batches_per_round > 1 and options.learner_kind.takes_all:
        refuse(
            "round",
            f"{options.batches_per_round} batches with the {options.learner} learner",
            "the memoized, stochastic or gradient learner",
            "All batches are one round of it.",
        )


def check_cold(options: TrainingOptions) -> None:
    """Of laps in which documents start cold."""
    if options.cold_every is None:
        return
    check_size("cold-every", options.cold_every, 1, "lap")
    if options.cold_every == 1 or options.can_remember:
        return
    if options.is_mixture:
        found = f"{options.cold_every} with {options.model}"
        refuse("cold-every", found, "a topic model", "The step of an item is exact.")
    if options.active_moves.names:
        found = f"{options.cold_every} with moves {','.join(options.active_moves.names)}"
        refuse(
            "cold-every",
            found,
            "1, or moves none",
            "New topics must be found in documents that have not had them.",
        )
    refuse(
        "cold-every",
        f"{options.cold_every} with the {options.learner} learner",
        "the memoized learner",
        "The others keep nothing of documents.",
    )
