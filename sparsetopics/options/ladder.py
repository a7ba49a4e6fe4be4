"""The numbers of topics on a topic path: its rungs, and the steps between them.

A path begins with many topics and merges them until few are left. It keeps a model at each rung.
Topics are fitted again after every step, so a step must not merge too many of them at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from sparsetopics.options.option import refuse

ROUND = (7.0, 5.0, 3.0, 2.0, 1.5, 1.0)  # times a power of ten: six numbers in a factor of ten
LEAST_LEFT = 0.55  # share of the topics that a step leaves
CLOSE = 0.87  # share of the topics that the next rung of an HDP has
ONE_BY_ONE = 24  # topics; every number below is a rung, since one topic more or less matters there


def default_rungs(most: int, fewest: int) -> tuple[int, ...]:
    """Both ends, and between them the round numbers and all below ``ONE_BY_ONE``, falling.

    Raises OptionError unless ``fewest`` is below ``most``.
    """
    if fewest >= most:
        refuse("to", f"must be below --from, {most:,}, but is {fewest:,}")
    powers = range(int(math.log10(most)), -1, -1)
    numbers = (factor * 10**power for power in powers for factor in ROUND)
    tried = {int(number) for number in numbers if number == int(number)} | set(range(1, ONE_BY_ONE))
    between = sorted((number for number in tried if fewest < number < most), reverse=True)
    return (most, *between, fewest)


def close_rungs(most: int, fewest: int) -> tuple[int, ...]:
    """Numbers of topics close to each other, from ``most`` down to ``fewest``."""
    rungs = [most]
    while (last := rungs[-1]) > fewest:
        rungs.append(max(int(CLOSE * last), min(last, ONE_BY_ONE) - 1, fewest))
    return tuple(rungs)


def check_rungs(rungs: Sequence[int]) -> None:
    """Raise OptionError unless the rungs are whole numbers in falling order, at least two."""
    if len(rungs) < 2:
        refuse("rungs", "must be at least two numbers of topics", "One number needs no path.")
    if not all(more > fewer for more, fewer in pairwise(rungs)) or rungs[-1] < 1:
        found = ",".join(map(str, rungs))
        refuse("rungs", f"must be different numbers from 1, the largest first, but are {found}")


@cache
def steps_of(rungs: tuple[int, ...]) -> tuple[int, ...]:
    """The number of topics after each step, from the first rung to the last.

    Between rungs that are far apart there are further steps of about the same factor.
    """
    steps: list[int] = []
    for more, fewer in pairwise(rungs):
        n_steps = max(1, math.ceil(math.log(fewer / more) / math.log(LEAST_LEFT) - 1e-9))
        between = (more * (fewer / more) ** (step / n_steps) for step in range(1, n_steps))
        steps += [*map(round, between), fewer]
    return tuple(steps)
