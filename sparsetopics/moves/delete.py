"""Deletes: a topic goes, and its documents find other topics for their words.

Plan: the smallest topics that have not just refused, as long as the documents that use them hold a
tenth of the collection's tokens at most. Propose: those documents are fitted anew without the topic.
Accept: if the score rises. Documents that do not use the topic are not touched.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsetopics.batches import IntArray
from sparsetopics.moves.refit import Proposal, refitted, without_documents
from sparsetopics.moves.sample import Sample, Trial, commit, doc_topics, first_trial, gather
from sparsetopics.moves.standing import MoveTally, Standing, Tools

NAME = "delete"
MOST_TARGETS = 8  # a lap
LARGEST_SHARE = 0.1  # of the collection's tokens, in documents that are fitted anew
FEWEST_TOKENS = 20_000.0  # that may always be
LARGEST_SINGLE_SHARE = 0.3  # if it is one topic
ROUNDS = 2  # of local steps for a target's documents


class Plan(NamedTuple):
    targets: IntArray  # (n_targets,)  the smallest first
    documents: dict[int, IntArray]  # by batch: those that use a target


def delete_topics(standing: Standing, tools: Tools) -> tuple[Standing, MoveTally]:
    """Try to do without the smallest topics, one after the other."""
    chosen = plan(standing)
    if len(chosen.targets) == 0:
        return standing, MoveTally(0, 0)
    sample = gather(standing, chosen.documents)
    trial, accepted, ledger = first_trial(standing, sample), 0, standing.ledger
    for topic in chosen.targets.tolist():
        shorter = _tried(trial, sample, int(trial.new_topics[topic]), standing, tools)
        if shorter.score > trial.score:
            trial, accepted = shorter, accepted + 1
        else:
            ledger = ledger.refused(NAME, float(standing.sizes[topic]), topic)
    standing = standing._replace(ledger=ledger)
    if accepted:
        standing = commit(standing, trial, sample, tools)
    return standing, MoveTally(len(chosen.targets), accepted)


def plan(standing: Standing) -> Plan:
    """Which topics to try, and their documents."""
    sizes = standing.sizes
    eligible = standing.ledger.eligible(NAME, sizes)
    if standing.n_topics < 2 or len(eligible) == 0:
        return Plan(np.zeros(0, np.int64), {})
    smallest = eligible[np.argsort(sizes[eligible], kind="stable")][:MOST_TARGETS]
    smallest = smallest[: standing.n_topics - 1]
    rank = np.full(standing.n_topics, len(smallest))
    rank[smallest] = np.arange(len(smallest))
    users, costs = {}, np.zeros(len(smallest) + 1)
    for batch_id, assignments in standing.assignments():
        entries = doc_topics(assignments, standing.n_topics)
        first = np.full(len(entries.lengths), len(smallest))  # the best-ranked target of each
        np.minimum.at(first, entries.documents, rank[entries.topics])
        users[batch_id] = first
        costs += np.bincount(first, entries.lengths, minlength=len(costs))
    budget = max(LARGEST_SHARE * standing.terms.n_tokens, FEWEST_TOKENS)
    n_targets = int(np.searchsorted(np.cumsum(costs[:-1]), budget, side="right"))
    if n_targets == 0 and costs[0] <= LARGEST_SINGLE_SHARE * standing.terms.n_tokens:
        n_targets = 1
    documents = {batch_id: np.flatnonzero(first < n_targets) for batch_id, first in users.items()}
    return Plan(smallest[:n_targets], documents)


def _tried(trial: Trial, sample: Sample, topic: int, standing: Standing, tools: Tools) -> Trial:
    new_topics = np.arange(trial.n_topics)
    new_topics[topic + 1 :] -= 1
    new_topics[topic] = -1
    proposal = Proposal(
        np.delete(trial.counts, topic, axis=1),
        trial.allocation.without(topic),
        np.delete(trial.reference, topic),
        new_topics,
    )
    entries = doc_topics(sample.assignments._replace(responsibilities=trial.found), trial.n_topics)
    users = np.unique(entries.documents[entries.topics == topic])
    rest = without_documents(trial, sample, users, tools)
    return refitted(
        trial, sample, rest, proposal, standing.word_concentration, tools, rounds=ROUNDS
    )
