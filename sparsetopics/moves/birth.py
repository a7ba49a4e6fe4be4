"""Births: a topic is split by a fresh small model of the words that it explains.

Plan: topics that have not just refused, the largest first, and for each some of the documents in
which it matters. Creation: their tokens of the topic, r_t of each, are documents of their own; a
model of a few new topics is fitted to them from distant seeds. Adoption: the documents are fitted
anew with the new topics beside all others. Accept: if the whole-data ELBO rises, though only these
documents use the new topics so far (MEMO13, section 3.1; there births are always taken).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sparsetopics.allocations.hdp import HDPAllocation
from sparsetopics.assignments import Assignments
from sparsetopics.batches import DocumentBatch, FloatArray, IntArray
from sparsetopics.learners.memoized import KeptBatch, MemoizedState
from sparsetopics.local_step import TopicGlobals, fit_documents
from sparsetopics.memo import Memo
from sparsetopics.moves.ledger import Ledger
from sparsetopics.moves.merge import merge_topics
from sparsetopics.moves.refit import Proposal, refitted, without_documents
from sparsetopics.moves.sample import Sample, Trial, commit, doc_topics, first_trial, gather
from sparsetopics.moves.standing import MoveTally, Standing, Tools
from sparsetopics.starts import SEED_SHARES, seed_counts
from sparsetopics.statistics import Statistics

NAME = "birth"
NEW_TOPICS = 10
MOST_TARGETS = 5  # a lap
LARGEST_SHARE = 0.1  # of the collection's tokens, in documents that are fitted anew
FEWEST_TOKENS = 50_000.0  # that may always be
FEWEST_DOCUMENTS = 10  # of a target
RELEVANT = 0.1  # share of a document that a target must have there
CREATION_ROUNDS = 4
ADOPTION_ROUNDS = 2


class Plan(NamedTuple):
    targets: IntArray  # (n_targets,)
    documents: dict[int, IntArray]  # by batch
    target_of: dict[int, IntArray]  # by batch, for each of the documents


def bear_topics(standing: Standing, tools: Tools) -> tuple[Standing, MoveTally]:
    """Try to split several topics, one after the other."""
    chosen = plan(standing, tools)
    if len(chosen.targets) == 0:
        return standing, MoveTally(0, 0)
    sample = gather(standing, chosen.documents)
    target_of = np.concatenate([chosen.target_of[b] for b in sorted(chosen.target_of)])
    trial, accepted, ledger = first_trial(standing, sample), 0, standing.ledger
    for topic in chosen.targets.tolist():
        documents = np.flatnonzero(target_of == topic)
        larger = _tried(trial, sample, topic, documents, standing, tools)
        if larger is not None and larger.elbo > trial.elbo:
            trial, accepted = larger, accepted + 1
        else:
            ledger = ledger.refused(NAME, topic, float(standing.sizes[topic]))
    standing = standing._replace(ledger=ledger)
    if accepted:
        standing = commit(standing, trial, sample, tools)
    return standing, MoveTally(len(chosen.targets), accepted)


def plan(standing: Standing, tools: Tools) -> Plan:
    """Which topics to try, and documents for each; a document serves one target at most."""
    sizes = standing.sizes
    eligible = standing.ledger.eligible(NAME, sizes)
    targets = eligible[np.argsort(-sizes[eligible], kind="stable")][:MOST_TARGETS]
    if len(targets) == 0:
        return Plan(targets, {}, {})
    batches, documents, topics, lengths = [], [], [], []
    for batch_id, assignments in standing.assignments():
        entries = doc_topics(assignments, standing.n_topics)
        share = entries.counts / entries.lengths[entries.documents]
        relevant = np.flatnonzero((share >= RELEVANT) & np.isin(entries.topics, targets))
        best = relevant[np.argsort(-share[relevant], kind="stable")]
        _, first = np.unique(entries.documents[best], return_index=True)
        chosen = best[first]  # each document's largest target
        batches.append(np.full(len(chosen), batch_id))
        documents.append(entries.documents[chosen])
        topics.append(entries.topics[chosen])
        lengths.append(entries.lengths[entries.documents[chosen]])
    found = _Documents(*(np.concatenate(part) for part in (batches, documents, topics, lengths)))
    budget = max(LARGEST_SHARE * standing.terms.n_tokens, FEWEST_TOKENS)
    return _drawn(found, targets, budget, tools.rng)


class _Documents(NamedTuple):
    """Documents in which a target matters."""

    batches: IntArray
    positions: IntArray
    targets: IntArray
    lengths: FloatArray


def _drawn(
    found: _Documents, targets: IntArray, budget: float, rng: np.random.Generator
) -> Plan:
    """Draw documents of each target, an equal share of the ``budget`` tokens for each."""
    order = rng.permutation(len(found.batches))
    taken, enough = [], []
    for target in targets.tolist():
        mine = order[found.targets[order] == target]
        mine = mine[np.cumsum(found.lengths[mine]) <= budget / len(targets)]
        if len(mine) >= FEWEST_DOCUMENTS:
            enough.append(target)
            taken.append(mine)
    chosen = np.sort(np.concatenate(taken)) if taken else np.zeros(0, np.int64)
    documents, target_of = {}, {}
    for batch_id in np.unique(found.batches[chosen]).tolist():
        here = chosen[found.batches[chosen] == batch_id]
        here = here[np.argsort(found.positions[here])]
        documents[batch_id] = found.positions[here]
        target_of[batch_id] = found.targets[here]
    return Plan(np.array(enough, np.int64), documents, target_of)


def _tried(
    trial: Trial,
    sample: Sample,
    topic: int,
    documents: IntArray,
    standing: Standing,
    tools: Tools,
) -> Trial | None:
    whole = Assignments(sample.assignments.documents, trial.found)
    own = words_of_topic(whole.take(documents), topic)
    fresh = created(own, standing, tools)
    if fresh.shape[1] < 2:
        return None
    taken = min(float(fresh.sum() / trial.counts[:, topic].sum()), 0.9)
    allocation = trial.allocation.split(topic, taken * fresh.sum(axis=0) / fresh.sum())
    counts = np.hstack((trial.counts, fresh))
    counts[:, topic] = np.maximum(counts[:, topic] - fresh.sum(axis=1), 0.0)
    born = allocation.doc_concentration[trial.n_topics :]
    reference = np.append(trial.reference, born)
    proposal = Proposal(counts, allocation, reference, np.arange(trial.n_topics))
    rest = without_documents(trial, sample, documents, tools)
    larger = refitted(
        trial, sample, rest, proposal, standing.word_concentration, tools, rounds=ADOPTION_ROUNDS
    )
    return larger


def words_of_topic(assignments: Assignments, topic: int) -> DocumentBatch:
    """The expected counts x_dv r_dv of a topic, as documents."""
    batch, found = assignments
    n_pairs = batch.n_pairs
    entries = np.flatnonzero(found.topics == topic)
    pair_of_entry = np.searchsorted(found.starts, entries, side="right") - 1
    counts = np.zeros(n_pairs)
    counts[pair_of_entry] = found.shares[entries] * batch.word_counts[pair_of_entry]
    kept = counts > 1e-3
    indptr = np.concatenate(([0], np.cumsum(kept)))[batch.indptr].astype(np.int64)
    own = DocumentBatch(indptr, batch.word_ids[kept], counts[kept].astype(np.float32))
    return own.take(np.flatnonzero(np.diff(indptr) > 0))


def created(own: DocumentBatch, standing: Standing, tools: Tools) -> FloatArray:
    """Word counts of new topics for the documents ``own``, (n_words, n_found).

    More topics than are wanted are fitted first; merges find how many it takes.
    """
    n_words = len(standing.counts)
    share = SEED_SHARES[tools.local.update]
    counts = seed_counts(own, n_words, NEW_TOPICS, share, tools.rng)
    like = standing.allocation.sticks
    for _ in range(CREATION_ROUNDS):
        n_topics = counts.shape[1]
        allocation = HDPAllocation.even(
            n_topics, own.n_docs, like.top_concentration, like.doc_concentration
        )
        small = small_standing(own, counts, allocation, standing.word_concentration, tools)
        counts = small.counts[:, small.sizes >= 1.0]
    if counts.shape[1] < len(small.reference):
        return counts
    merged, _ = merge_topics(small._replace(allocation=allocation.updated(small.terms)), tools)
    return merged.counts


def small_standing(
    own: DocumentBatch,
    counts: FloatArray,
    allocation: HDPAllocation,
    word_concentration: float,
    tools: Tools,
) -> Standing:
    """A collection of its own after one round of local steps."""
    current = TopicGlobals(counts, counts.sum(axis=0), allocation, word_concentration)
    fit = fit_documents(own, current, tools.local, tools.executor)
    total = Statistics.sum([fit.summary], counts.shape[0], counts.shape[1])
    arrays = Assignments(own, fit.responsibilities).to_arrays()
    kept = KeptBatch(Memo(Path(), sys.maxsize).keep(arrays), fit.summary.terms, 0)
    state = MemoizedState(None, total, {0: kept})
    reference = allocation.doc_concentration
    return Standing(
        state, allocation, word_concentration, reference, Ledger.new(allocation.n_topics)
    )
