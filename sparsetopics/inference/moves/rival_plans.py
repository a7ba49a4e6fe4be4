"""Plans of rivals: births split topics, culls drop the smallest.

Each plan makes a new set of topics from the present one. A rival grows from it (``rival``) and
replaces the collection if it ends with the higher score.
"""

from __future__ import annotations

import numpy as np

from sparsetopics.base.batches import IntArray
from sparsetopics.inference.moves.rival import RivalPlan, RivalRules
from sparsetopics.inference.moves.standing import Standing, TopicUse
from sparsetopics.model.allocations.allocation import is_of_documents
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.statistics import B, C, P, T

BIRTH_CHILDREN = 4  # of a topic, itself among them
FEWEST_BIRTHS = 10  # topics to try at least: where topics are few, each has more children
MOST_BORN = 200  # in a lap
FIRST_BIRTH_TRIM = 4  # lap; before it, the new topics form

CULL_SHARES = (0.5, 0.35, 0.2)  # of the topics to drop; each refusal moves on to the next
FIRST_CULL_TRIM = 2  # lap


def plan_birth(standing: Standing[B, C, P, T]) -> RivalPlan[B, C, T] | None:
    """Split the largest topics into children; None if that was refused or there are no documents.

    A child that is born small beside grown topics attracts hardly any words, and a split that is
    judged on a sample of the topic's own words is hardly ever accepted. Therefore whole families
    take part in laps over all documents, where children compete as equals.

    Few short documents may have topics that many children, or other seeds, do not find. After a
    refusal, topics of documents get three children each, more often the fewer topics there are.
    """
    n_topics = standing.n_topics
    n_children = max(BIRTH_CHILDREN, -(-FEWEST_BIRTHS // n_topics))
    if n_refusals := standing.ledger.n_refusals("birth"):
        if n_refusals * n_topics >= FEWEST_BIRTHS or not is_of_documents(standing.allocation):
            return None
        n_children = 3
    n_split = max(1, MOST_BORN // (n_children - 1))
    samples = _sample(standing, np.argsort(-standing.sizes, kind="stable")[:n_split])
    rng = standing.tools.laps.rng
    children, parents = standing.evidence.families(samples, n_children, rng)
    if len(parents) == n_topics:  # nothing was split
        return None
    course = RivalRules(n_topics + 1, None, FIRST_BIRTH_TRIM, judged_from=FIRST_BIRTH_TRIM)
    return RivalPlan(children, standing.allocation.branched(parents), course)


def plan_cull(standing: Standing[B, C, P, T]) -> RivalPlan[B, C, T] | None:
    """Drop the smallest topics together; None if there are too few topics.

    Topics that share their documents support each other: none can be deleted or merged alone, even
    if the collection scores higher with half of them, once the rest has taken over their words.
    """
    n_topics = standing.n_topics
    share = CULL_SHARES[min(standing.ledger.n_refusals("cull"), len(CULL_SHARES) - 1)]
    n_dropped = int(share * n_topics)
    if n_dropped == 0:
        return None
    kept = np.sort(np.argsort(-standing.sizes, kind="stable")[: n_topics - n_dropped])
    course = RivalRules(1, n_topics - 1, FIRST_CULL_TRIM, judged_from=FIRST_CULL_TRIM)
    components = standing.evidence.take(kept).components
    return RivalPlan(components, standing.allocation.restricted(kept), course)


def _sample(standing: Standing[B, C, P, T], targets: IntArray) -> dict[int, Assignments[B]]:
    """Some documents of each target topic that has any."""
    parts: dict[int, list[Assignments[B]]] = {topic: [] for topic in targets.tolist()}
    n_documents, fewest_tokens = standing.evidence.sampling
    rng = standing.tools.laps.rng
    per_batch = -(-n_documents // len(standing.state.per_batch))
    for _, assignments in standing.assignments():
        use = TopicUse.of(assignments, standing.n_topics)
        for topic, found in parts.items():
            mine = (use.topics == topic) & (use.counts >= fewest_tokens)
            chosen = np.sort(rng.permutation(use.documents[mine])[:per_batch])
            if len(chosen) > 0:
                found.append(assignments.take(chosen))
    return {topic: Assignments.joined(found) for topic, found in parts.items() if found}
