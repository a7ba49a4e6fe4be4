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

from sparsetopics.assignments import Assignments
from sparsetopics.batches import DocumentBatch, IntArray
from sparsetopics.moves.rival import Candidate
from sparsetopics.moves.sample import doc_topics, joined_documents
from sparsetopics.moves.standing import Standing, Tools
from sparsetopics.starts import distant_shares

NAME = "birth"
CHILDREN = 4  # of a topic, itself among them
FEWEST_TOPICS = 10  # that are tried: few topics have more children
MOST_BORN = 200  # a lap
SAMPLED_DOCUMENTS = 300  # of a topic
FEWEST_TOKENS = 5.0  # of a topic in a document that may be a seed
FEWEST_SEEDS = 2  # documents for each child
SEED_SHARE = 1 / 7
MATURING_LAPS = 3


def plan_birth(standing: Standing, tools: Tools) -> Candidate | None:
    """Every topic's children, or itself alone where it is not split."""
    n_topics = standing.n_topics
    n_children = max(CHILDREN, -(-FEWEST_TOPICS // n_topics))
    most = max(1, MOST_BORN // (n_children - 1))
    targets = np.argsort(-standing.sizes, kind="stable")[:most]
    samples = _sample(standing, targets, tools.rng)
    counts, parents = [], []
    for topic in range(n_topics):
        mine = standing.counts[:, [topic]]
        own = samples.get(topic)
        if own is not None and own.n_docs >= FEWEST_SEEDS * n_children:
            seeds = distant_shares(own, len(mine), n_children, tools.rng)
            size = mine.sum()
            mine = ((1.0 - SEED_SHARE) * mine + SEED_SHARE * size * seeds) / n_children
        counts.append(mine)
        parents.append(np.full(mine.shape[1], topic))
    if sum(len(family) for family in parents) == n_topics:
        return None
    allocation = standing.allocation.branched(np.concatenate(parents))
    return Candidate(np.hstack(counts), allocation, lambda n_left: n_left > n_topics, MATURING_LAPS)


def _sample(
    standing: Standing, targets: IntArray, rng: np.random.Generator
) -> dict[int, DocumentBatch]:
    """Some documents of each target, with the words that are the target's alone."""
    parts: dict[int, list[DocumentBatch]] = {topic: [] for topic in targets.tolist()}
    per_batch = -(-SAMPLED_DOCUMENTS // len(standing.state.per_batch))
    for _, assignments in standing.assignments():
        entries = doc_topics(assignments, standing.n_topics)
        for topic, found in parts.items():
            mine = (entries.topics == topic) & (entries.counts >= FEWEST_TOKENS)
            chosen = np.sort(rng.permutation(entries.documents[mine])[:per_batch])
            if len(chosen) > 0:
                found.append(words_of_topic(assignments.take(chosen), topic))
    return {topic: joined_documents(found) for topic, found in parts.items() if found}


def words_of_topic(assignments: Assignments, topic: int) -> DocumentBatch:
    """The expected counts x_dv r_dv of a topic, as documents."""
    batch, found = assignments
    entries = np.flatnonzero(found.topics == topic)
    pairs = np.searchsorted(found.starts, entries, side="right") - 1
    counts = (found.shares[entries] * batch.word_counts[pairs]).astype(np.float32)
    kept = counts > 0.0
    indptr = np.searchsorted(pairs[kept], batch.indptr).astype(np.int64)
    own = DocumentBatch(indptr, batch.word_ids[pairs[kept]], counts[kept])
    return own.take(np.flatnonzero(np.diff(indptr) > 0))
