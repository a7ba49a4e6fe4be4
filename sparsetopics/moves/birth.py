"""Births: topics are split along their documents, and what is not worth it is merged again.

Plan: topics that enough documents use, the largest first. Creation: of each, a sample of documents
is taken with the topic's share of their words; distant ones among them are the seeds of its children,
each of which is the parent tilted towards its seed, as topics are at the start of training.
Adoption: a few laps over all documents, in which children compete as equals and the parents' counts
stand for documents not yet visited (the extra mass of MEMO13, section 3.1). Then laps with merges and
deletes. Accept: if there are more topics than before and the whole-data ELBO is higher; otherwise
all is as it was.

A child that is born small beside grown topics is hardly used, and a split judged on the topic's own
words in a sample hardly ever pays: that is why whole families are adopted, by all documents.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsetopics.assignments import Assignments
from sparsetopics.batches import DocumentBatch, FloatArray, IntArray
from sparsetopics.laps import Prior
from sparsetopics.moves.delete import delete_topics
from sparsetopics.moves.ledger import Ledger
from sparsetopics.moves.merge import merge_topics
from sparsetopics.moves.sample import doc_topics, joined_documents
from sparsetopics.moves.standing import MoveTally, Standing, Tools, refreshed
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
CLEANING_LAPS = 3


class Families(NamedTuple):
    """Topics to begin the adoption with."""

    counts: FloatArray  # (n_words, n_children)
    parents: IntArray  # (n_children,)  rising


def bear_topics(standing: Standing, tools: Tools) -> tuple[Standing, MoveTally]:
    """Split topics, let the children grow, and keep them if the collection is better off."""
    if not standing.ledger.may_try(NAME, standing.n_topics):
        return standing, MoveTally(0, 0)
    families = plan(standing, tools)
    n_born = len(families.parents) - standing.n_topics
    grown = adopted(standing, families, tools) if n_born > 0 else None
    if grown is None:
        ledger = standing.ledger.refused(NAME, standing.n_topics)
        return standing._replace(ledger=ledger), MoveTally(n_born, 0)
    discard(standing)
    return grown, MoveTally(n_born, grown.n_topics - standing.n_topics)


def plan(standing: Standing, tools: Tools) -> Families:
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
    return Families(np.hstack(counts), np.concatenate(parents))


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


def adopted(standing: Standing, families: Families, tools: Tools) -> Standing | None:
    """The collection with the children that were worth it; None if it is not better off."""
    laps = tools.laps
    before = standing.elbo
    prior = Prior(standing.allocation.branched(families.parents), standing.word_concentration)
    state = laps.learner.init(families.counts)
    for _ in range(MATURING_LAPS):
        state, prior, _ = laps.run(state, prior, tools.rng)
    ledger = Ledger.new(len(families.parents), standing.ledger)
    for _ in range(CLEANING_LAPS):
        state, prior, _ = laps.run(state, prior, tools.rng)
        grown = refreshed(Standing.of(state, prior, ledger), tools)
        grown, _ = merge_topics(grown, tools)
        grown, _ = delete_topics(grown, tools)
        state, ledger = grown.state, grown.ledger
        prior = prior._replace(allocation=grown.allocation)
        if grown.n_topics <= standing.n_topics:
            break
        if grown.elbo > before:
            return grown
    discard(grown)
    return None


def discard(standing: Standing) -> None:
    """Give back what the memo keeps of a collection that is not needed any more."""
    for kept in standing.state.per_batch.values():
        kept.stored.discard()
