"""Merges: two topics become one, r_m = r_a + r_b.

Plan: the gain of every pair at once, exact in its words and entropies, to first order in the small
prior of documents that use only one of the two. Propose: the best pairs, each topic in one of them;
one pass over the assignments gives the exact terms of all. Accept: one after the other, each
against the state that the ones before have left, sticks re-optimised (HDP15, MEMO13).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from sparsetopics import _pair_kernels, _summary_kernels
from sparsetopics.allocations.hdp import HDPAllocation
from sparsetopics.assignments import Assignments, TopicChange
from sparsetopics.batches import FloatArray, IntArray
from sparsetopics.likelihoods import words
from sparsetopics.local_step import sum_terms
from sparsetopics.moves.standing import MoveTally, Standing, Tools, committed, corrections_of
from sparsetopics.spread import Spread
from sparsetopics.statistics import TERMS_BY_TOPIC, DocumentTerms

ROUNDS = 4  # a lap
HOPE = 20.0  # nats that the first-order gain may lack: sticks and θ_d adapt


def merge_topics(standing: Standing, tools: Tools) -> tuple[Standing, MoveTally]:
    """Merge until no pair of topics is better as one, ``ROUNDS`` times at most."""
    proposed = accepted = 0
    for _ in range(ROUNDS):
        pairs = plan(standing)
        if len(pairs) == 0:
            break
        proposed += len(pairs)
        n_before = standing.n_topics
        standing = _merge_round(standing, pairs, tools)
        accepted += n_before - standing.n_topics
        if standing.n_topics == n_before:
            break
    return standing, MoveTally(proposed, accepted)


def plan(standing: Standing) -> IntArray:
    """Disjoint pairs (kept < absorbed) worth a proposal, the best first, (n_pairs, 2)."""
    gains = pair_gains(standing)
    a, b = np.nonzero(np.triu(gains > -HOPE, 1))
    used: set[int] = set()
    pairs = []
    for i in np.argsort(-gains[a, b], kind="stable"):
        pair = int(a[i]), int(b[i])
        if used.isdisjoint(pair):
            used.update(pair)
            pairs.append(pair)
    return np.array(pairs, np.int64).reshape(-1, 2)


def pair_gains(standing: Standing) -> FloatArray:
    """What merging topics a < b would add to the ELBO at the sticks as they are, (K, K)."""
    n_topics, prior = standing.n_topics, standing.reference
    gains = words.merge_gains(standing.counts, standing.word_concentration)
    shared = np.zeros((n_topics, n_topics))
    for _, (batch, found) in standing.assignments():
        counts = batch.word_counts.astype(np.float64)
        _pair_kernels.add_assignment_pair_gains(counts, *found, gains)
        in_documents = _summary_kernels.doc_topic_counts(batch.indptr, counts, *found, n_topics)
        _pair_kernels.add_document_pair_gains(*in_documents, prior, gains, shared)
    return np.triu(gains + _prior_gains(standing.terms, prior, shared), 1)


def _prior_gains(terms: DocumentTerms, prior: FloatArray, shared: FloatArray) -> FloatArray:
    """The part of ``pair_gains`` that the priors of documents decide, (n_topics, n_topics).

    A document that uses a only owes lnΓ(N_a + α_a + α_b) − lnΓ(N_a + α_a) − lnΓ(α_b), one that uses
    neither lnΓ(α_a + α_b) − lnΓ(α_a) − lnΓ(α_b), and the sticks log(α_a + α_b) − log α_a − log α_b.
    """
    active, summed = terms.active_documents, terms.summed_digamma
    both = prior[:, None] + prior[None, :]
    log_gammas = gammaln(prior)
    only = active[:, None] - shared  # [a, b]: documents that use a and not b, above the diagonal
    only_other = active[None, :] - shared
    linear = prior[None, :] * summed[:, None] + prior[:, None] * summed[None, :]
    of_one = -only * log_gammas[None, :] - only_other * log_gammas[:, None]
    neither = terms.n_docs - active[:, None] - active[None, :] + shared
    apart = log_gammas[:, None] + log_gammas[None, :]
    logs = np.log(both) - np.log(prior)[:, None] - np.log(prior)[None, :]
    gains: FloatArray = linear + of_one + neither * (gammaln(both) - apart) + terms.n_docs * logs
    return gains


class _Merged(NamedTuple):
    """Where a round stands: all that the ELBO needs, by topic."""

    evidence: FloatArray  # (n_topics,)  log M(S_k), and what the criterion adds
    terms: DocumentTerms
    allocation: HDPAllocation
    score: float


def _merge_round(standing: Standing, pairs: IntArray, tools: Tools) -> Standing:
    spread = None if standing.spread is None else Spread.zeros(len(standing.counts), len(pairs))
    by_batch = {
        batch_id: _terms_of_pairs(assignments, pairs, standing, spread, tools)
        for batch_id, assignments in standing.assignments()
    }
    columns = sum(by_batch.values(), np.zeros((len(TERMS_BY_TOPIC), len(pairs))))
    joint = standing.counts[:, pairs[:, 0]] + standing.counts[:, pairs[:, 1]]
    evidence = words.evidence_by_topic(joint, standing.word_concentration)
    evidence += corrections_of(spread, joint, standing.word_concentration)
    merged = _start(standing)
    number = np.arange(standing.n_topics)
    made = []
    for p, (kept, absorbed) in enumerate(pairs.tolist()):
        a, b = int(number[kept]), int(number[absorbed])
        trial = _tried(merged, a, b, evidence[p], columns[:, p])
        if trial.score > merged.score:
            merged = trial
            made.append(p)
            number[number > b] -= 1
            number[absorbed] = a
    if not made:
        return standing
    merged = merged._replace(allocation=merged.allocation.updated(merged.terms))
    by_batch = {batch_id: found[:, made] for batch_id, found in by_batch.items()}
    if spread is not None:
        spread = spread.take(made)
    return _commit(standing, merged, number, pairs[made], by_batch, spread)


def _start(standing: Standing) -> _Merged:
    evidence = words.evidence_by_topic(standing.counts, standing.word_concentration)
    evidence += standing.corrections
    score = float(evidence.sum()) + standing.allocation.elbo(standing.terms)
    return _Merged(evidence, standing.terms, standing.allocation, score)


def _tried(
    before: _Merged, kept: int, absorbed: int, evidence: float, column: FloatArray
) -> _Merged:
    """With two topics merged, sticks re-optimised only if that can decide."""
    by_topic = before.evidence.copy()
    by_topic[kept] = evidence
    by_topic = np.delete(by_topic, absorbed)
    terms = with_merged_column(before.terms, kept, absorbed, column)
    allocation = before.allocation.merged(kept, absorbed)
    score = float(by_topic.sum()) + allocation.elbo(terms)
    if before.score - 2.0 * HOPE < score <= before.score:
        allocation = allocation.updated(terms)
        score = float(by_topic.sum()) + allocation.elbo(terms)
    return _Merged(by_topic, terms, allocation, score)


def with_merged_column(
    terms: DocumentTerms, kept: int, absorbed: int, column: FloatArray
) -> DocumentTerms:
    """Sums over topics with ``column`` (5,) for the two; sums over documents as they are."""
    by_topic = terms.by_topic
    by_topic[:, kept] = column
    return terms.with_topics(np.delete(by_topic, absorbed, axis=1))


def _terms_of_pairs(
    assignments: Assignments,
    pairs: IntArray,
    standing: Standing,
    spread: Spread | None,
    tools: Tools,
) -> FloatArray:
    """Sums over one batch's documents as if every pair were merged, (5, n_pairs).

    The same documents are put into ``spread``.
    """
    number = np.full(standing.n_topics, -1)
    number[pairs[:, 0]] = number[pairs[:, 1]] = np.arange(len(pairs))
    found = assignments.responsibilities.renumbered(number)
    prior = standing.reference[pairs].sum(axis=1)
    if spread is not None:
        spread.add(assignments._replace(responsibilities=found), prior)
    terms = sum_terms(assignments.documents, found, prior, 0.0, tools.executor)
    return terms.by_topic


def _commit(
    standing: Standing,
    merged: _Merged,
    number: IntArray,
    pairs: IntArray,
    by_batch: Mapping[int, FloatArray],  # (5, n_pairs) of each batch
    of_pairs: Spread | None,
) -> Standing:
    counts = np.zeros((len(standing.counts), len(merged.evidence)))
    kept = np.setdiff1d(np.arange(standing.n_topics), pairs[:, 1])
    counts[:, number[kept]] = standing.counts[:, kept]
    counts[:, number[pairs[:, 0]]] += standing.counts[:, pairs[:, 1]]
    reference: FloatArray = np.bincount(number, standing.reference).astype(np.float64)
    terms = {}
    for batch_id, memoized in standing.state.per_batch.items():
        columns = memoized.terms.by_topic
        columns[:, pairs[:, 0]] = by_batch[batch_id]
        terms[batch_id] = memoized.terms.with_topics(columns[:, kept])
    change = TopicChange(number, {}, len(merged.evidence))
    spread = None
    if standing.spread is not None and of_pairs is not None:
        apart = number.copy()
        apart[pairs] = -1
        spread = standing.spread.renumbered(apart, len(reference))
        spread.put(number[pairs[:, 0]], of_pairs)
    return committed(standing, change, counts, terms, merged.allocation, reference, spread)
