"""Culls: the smallest topics go together, and all documents find other topics for their words.

Topics that share their documents hold each other up: none of them can be deleted or merged alone,
though the collection is better off with half of them, once the rest has taken over their words. So
a good share of the topics is dropped at once, and the rest grows as a rival.
"""

from __future__ import annotations

import numpy as np

from sparsetopics.inference.moves.rival import Candidate, Course
from sparsetopics.inference.moves.standing import Standing, Tools

NAME = "cull"
SHARES = (0.5, 0.35, 0.2)  # of the topics: after a refusal the next
FIRST_TRIM = 2  # lap


def plan_cull(standing: Standing, tools: Tools) -> Candidate | None:
    """The collection without its smallest topics."""
    n_topics = standing.n_topics
    share = SHARES[min(standing.ledger.n_refusals(NAME), len(SHARES) - 1)]
    n_gone = int(share * n_topics)
    if n_gone == 0:
        return None
    kept = np.sort(np.argsort(-standing.sizes, kind="stable")[: n_topics - n_gone])
    course = Course(1, n_topics - 1, trimmed_from=FIRST_TRIM, judged_from=FIRST_TRIM)
    components = standing.evidence.take(kept).components
    return Candidate(components, standing.allocation.restricted(kept), course)
