"""Deletes: a topic goes, and its documents find other topics for their words.

Plan: the smallest topics that have not just refused. Propose: the documents that use one of them
are fitted anew without it. Accept: if the score rises. After a topic that could go, two are tried
at once, then four, and so on; when several cannot go together, they are tried one by one again.
Documents that do not use the topics are not touched. Refusals end it for this lap when they have
cost as much as fitting a tenth of the collection once; a topic that too much of the collection uses
is not tried at all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.inference.moves.refit import accepted, refit_without
from sparsetopics.inference.moves.sample import (
    DocTopics,
    Sample,
    Trial,
    commit,
    doc_topics,
    first_trial,
    gather,
)
from sparsetopics.inference.moves.standing import MoveTally, Standing, Tools

NAME = "delete"
LARGEST_SHARE = 0.5  # of the topics that are tried in a lap,
FEWEST_TARGETS = 16  # or so many
LARGEST_TARGET = 0.3  # of the collection's tokens, in documents that use it
FETCHED_SHARE = 0.1  # of the collection's tokens, in the documents of all targets,
FETCHED_TOKENS = 2e6  # or so many
REFUSED_SHARE = 0.05  # of the collection's tokens, in documents of targets that refused
TIE = 1e-12  # of the score: a topic that no document uses is worth nothing, and goes
ROUNDS = 2  # of local steps for the targets' documents


class Plan(NamedTuple):
    targets: IntArray  # (n_targets,)  the smallest first
    documents: dict[int, IntArray]  # by batch: those that use a target


def delete_topics(standing: Standing, tools: Tools) -> tuple[Standing, MoveTally]:
    """Try to do without the smallest topics."""
    chosen = plan(standing)
    if len(chosen.targets) == 0:
        return standing, MoveTally(0, 0)
    sample = gather(standing, chosen.documents)
    trial, ledger = first_trial(standing, sample), standing.ledger
    entries = _entries(trial, sample)
    n_tokens, left, at_once = standing.terms.n_tokens, chosen.targets.tolist(), 1
    refused, n_tried = 0.0, 0
    while left and refused <= REFUSED_SHARE * n_tokens:
        group = trial.new_topics[left[:at_once]]
        users = np.unique(entries.documents[np.isin(entries.topics, group)])
        kept = np.setdiff1d(np.arange(trial.n_topics), group)
        refit = refit_without(trial, sample, kept, users, standing.likelihood, tools, rounds=ROUNDS)
        unused = TIE * abs(trial.score) if len(users) == 0 else 0.0
        if refit.score > trial.score - unused:
            trial = accepted(trial, sample, kept, users, refit)
            entries = _entries(trial, sample)
            n_tried, left, at_once = n_tried + len(group), left[at_once:], 2 * at_once
            continue
        refused += entries.lengths[users].sum()
        if len(group) == 1:
            ledger = ledger.refused(NAME, float(standing.sizes[left[0]]), left[0])
            n_tried, left = n_tried + 1, left[1:]
        at_once = 1
    standing = standing._replace(ledger=ledger)
    n_made = standing.n_topics - trial.n_topics
    if n_made:
        standing = commit(standing, trial, sample, tools)
    return standing, MoveTally(n_tried, n_made)


def _entries(trial: Trial, sample: Sample) -> DocTopics:
    whole = sample.assignments._replace(responsibilities=trial.found)
    return doc_topics(whole, trial.n_topics)


def plan(standing: Standing) -> Plan:
    """Which topics to try, and their documents."""
    candidates = _candidates(standing)
    used = np.zeros(standing.n_topics)  # tokens of the documents that use a topic
    users = {}
    for batch_id, assignments in standing.assignments():
        entries = doc_topics(assignments, standing.n_topics)
        chosen = np.isin(entries.topics, candidates)
        topics, documents = entries.topics[chosen], entries.documents[chosen]
        used += np.bincount(topics, entries.lengths[documents], minlength=len(used))
        users[batch_id] = topics, documents
    targets = _affordable(standing, candidates, used)
    return Plan(
        targets,
        {
            batch_id: np.unique(documents[np.isin(topics, targets)])
            for batch_id, (topics, documents) in users.items()
        },
    )


def _candidates(standing: Standing) -> IntArray:
    """Topics that have not just refused, the smallest first."""
    eligible = standing.ledger.eligible(NAME, standing.sizes)
    return eligible[np.argsort(standing.sizes[eligible], kind="stable")]


def _affordable(standing: Standing, candidates: IntArray, used: FloatArray) -> IntArray:
    n_topics, n_tokens = standing.n_topics, standing.terms.n_tokens
    targets = candidates[used[candidates] <= LARGEST_TARGET * n_tokens]
    most = max(FEWEST_TARGETS, int(LARGEST_SHARE * n_topics))
    targets = targets[: min(most, n_topics - 1)]
    room = max(FETCHED_SHARE * n_tokens, FETCHED_TOKENS)
    affordable: IntArray = targets[np.cumsum(used[targets]) <= room]
    return affordable
