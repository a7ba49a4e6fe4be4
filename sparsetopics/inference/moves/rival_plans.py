"""Births: topics are split along their documents, and what is not worth it is merged again.

Plan: topics that enough documents use, the largest first. Creation: of each, a sample of documents
is taken with the topic's share of their words; distant ones among them are the seeds of its
children, each of which is the parent tilted towards its seed, as topics are at the start of
training.
Adoption: laps over all documents, in which children compete as equals, then laps with merges and
deletes too (``rival``). Accept: if there are more topics and the whole-data score is higher.

A child that is born small beside grown topics is hardly used, and a split judged on the topic's own
words in a sample hardly ever pays: that is why whole families are adopted, by all documents.
"""

from __future__ import annotations

import numpy as np

from sparsetopics.base.batches import IntArray
from sparsetopics.inference.moves.families import Families
from sparsetopics.inference.moves.rival import Candidate, Course
from sparsetopics.inference.moves.sample import doc_topics
from sparsetopics.inference.moves.standing import Standing, Tools
from sparsetopics.model.assignments import Assignments

NAME = "birth"
CHILDREN = 4  # of a topic, itself among them
FEWEST_TOPICS = 10  # that are tried: few topics have more children
MOST_BORN = 200  # a lap
FIRST_TRIM = 4  # lap: until then the topics form


def plan_birth(standing: Standing, tools: Tools) -> Candidate | None:
    """Every topic's children, or itself alone where it is not split."""
    n_topics = standing.n_topics
    n_children = max(CHILDREN, -(-FEWEST_TOPICS // n_topics))
    families = split_topics(standing, n_children, MOST_BORN, tools.rng)
    if len(families.parents) == n_topics:
        return None
    course = Course(n_topics + 1, None, trimmed_from=FIRST_TRIM, judged_from=FIRST_TRIM)
    branched = standing.allocation.branched(families.parents)
    return Candidate(families.components, branched, course)


def split_topics(
    standing: Standing, n_children: int, most_born: int, rng: np.random.Generator
) -> Families:
    """Children of the largest topics, as many as may be born; the others themselves."""
    most = max(1, most_born // (n_children - 1))
    targets = np.argsort(-standing.sizes, kind="stable")[:most]
    return standing.evidence.families(_sample(standing, targets, rng), n_children, rng)


def _sample(
    standing: Standing, targets: IntArray, rng: np.random.Generator
) -> dict[int, Assignments]:
    """Some documents of each target that has any."""
    parts: dict[int, list[Assignments]] = {topic: [] for topic in targets.tolist()}
    n_documents, fewest_tokens = standing.evidence.sampling
    per_batch = -(-n_documents // len(standing.state.per_batch))
    for _, assignments in standing.assignments():
        entries = doc_topics(assignments, standing.n_topics)
        for topic, found in parts.items():
            mine = (entries.topics == topic) & (entries.counts >= fewest_tokens)
            chosen = np.sort(rng.permutation(entries.documents[mine])[:per_batch])
            if len(chosen) > 0:
                found.append(assignments.take(chosen))
    return {topic: Assignments.joined(found) for topic, found in parts.items() if found}
