"""Regrouping: topics are split, and merged back to as many as there were.

For models that keep their number of topics. Alternating laps only ever improve the topics that the
start happened to make: two topics that are one in truth stay two, and one that is two stays one. So
all topics are split in two along their documents; after laps of their own the pairs that
lose least are merged, again and again, until the number is what it was. This grows as a rival: it
takes the place of the collection if its score is the higher.
"""

from __future__ import annotations

from sparsetopics.inference.moves.rival import Candidate, Course
from sparsetopics.inference.moves.rival_plans import split_topics
from sparsetopics.inference.moves.standing import Standing, Tools

NAME = "regroup"
CHILDREN = 2
MERGING_LAP = 3
SETTLING_LAPS = 2  # for merged topics to become what they will be


def plan_regroup(standing: Standing, tools: Tools) -> Candidate | None:
    """All topics in two, to be merged back."""
    n_topics = standing.n_topics
    families = split_topics(standing, CHILDREN, n_topics, tools.rng)
    if len(families.parents) == n_topics:
        return None
    course = Course(
        fewest=n_topics,
        most=n_topics,
        trimmed_from=MERGING_LAP,
        judged_from=MERGING_LAP + SETTLING_LAPS,
        merged_to=n_topics,
    )
    branched = standing.allocation.branched(families.parents)
    return Candidate(families.components, branched, course)
