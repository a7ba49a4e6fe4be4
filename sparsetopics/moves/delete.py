"""Deletes: a topic goes, and its documents find other topics for their words.

Plan: the smallest topics that have not just refused. Propose: the documents that use one of them
are fitted anew without it. Accept: if the score rises. Documents that do not use the topic are not
touched. Refusals end it for this lap when they have cost as much as fitting a tenth of the
collection; a topic that too much of the collection uses is not tried at all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsetopics.batches import FloatArray, IntArray
from sparsetopics.moves.refit import accepted, refit_without
from sparsetopics.moves.sample import commit, doc_topics, first_trial, gather
from sparsetopics.moves.standing import MoveTally, Standing, Tools

NAME = "delete"
MOST_TARGETS = 16  # a lap
LARGEST_TARGET = 0.3  # of the collection's tokens, in documents that use it
FETCHED_SHARE = 0.1  # of the collection's tokens, in the documents of all targets,
FETCHED_TOKENS = 2e6  # or so many
REFUSED_SHARE = 0.1  # of the collection's tokens, in documents of targets that refused
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
    trial, ledger = first_trial(standing, sample), standing.ledger
    refused, n_tried, n_made = 0.0, 0, 0
    for topic in chosen.targets.tolist():
        if refused > REFUSED_SHARE * standing.terms.n_tokens:
            break
        current, n_tried = int(trial.new_topics[topic]), n_tried + 1
        whole = sample.assignments._replace(responsibilities=trial.found)
        entries = doc_topics(whole, trial.n_topics)
        users = np.unique(entries.documents[entries.topics == current])
        refit = refit_without(
            trial, sample, current, users, standing.word_concentration, tools, rounds=ROUNDS
        )
        if refit.score > trial.score:
            trial, n_made = accepted(trial, sample, current, users, refit), n_made + 1
        else:
            refused += entries.lengths[users].sum()
            ledger = ledger.refused(NAME, float(standing.sizes[topic]), topic)
    standing = standing._replace(ledger=ledger)
    if n_made:
        standing = commit(standing, trial, sample, tools)
    return standing, MoveTally(n_tried, n_made)


def plan(standing: Standing) -> Plan:
    """Which topics to try, and their documents."""
    used = np.zeros(standing.n_topics)  # tokens of the documents that use a topic
    for _, assignments in standing.assignments():
        entries = doc_topics(assignments, standing.n_topics)
        lengths = entries.lengths[entries.documents]
        used += np.bincount(entries.topics, lengths, minlength=len(used))
    targets = _targets(standing, used)
    documents = {}
    for batch_id, assignments in standing.assignments():
        entries = doc_topics(assignments, standing.n_topics)
        documents[batch_id] = np.unique(entries.documents[np.isin(entries.topics, targets)])
    return Plan(targets, documents)


def _targets(standing: Standing, used: FloatArray) -> IntArray:
    sizes, n_tokens = standing.sizes, standing.terms.n_tokens
    eligible = standing.ledger.eligible(NAME, sizes)
    eligible = eligible[used[eligible] <= LARGEST_TARGET * n_tokens]
    targets = eligible[np.argsort(sizes[eligible], kind="stable")]
    targets = targets[: min(MOST_TARGETS, standing.n_topics - 1)]
    room = max(FETCHED_SHARE * n_tokens, FETCHED_TOKENS)
    return targets[np.cumsum(used[targets]) <= room]
