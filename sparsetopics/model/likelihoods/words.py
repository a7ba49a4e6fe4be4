"""Words of a topic: multinomial with a Dirichlet prior (MATH: φ_k ~ Dir(η), q(φ_k) = Dir(λ_k)).

Counts are stored word-major, (n_words, n_topics), because a batch touches rows of words. The
posterior is always λ = S + η, its optimum for the counts S after every global update.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, psi

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.kernels import pairs as pair_kernels
from sparsetopics.kernels.types import Weights
from sparsetopics.model.document_counts import DocumentCounts
from sparsetopics.model.hyperparameters import learn_word_concentration
from sparsetopics.model.word_counts import PairCounts, WordCounts

Counts = WordCounts | DocumentCounts


@dataclass(frozen=True, slots=True)
class DirichletPrior:
    """φ_k ~ Dir(η) over all words of a vocabulary."""

    n_words: int
    word_concentration: float  # η

    @property
    def n_columns(self) -> int:
        return self.n_words

    @property
    def _total_concentration(self) -> float:
        return self.n_words * self.word_concentration

    def log_evidence(self, components: Counts) -> FloatArray:
        return evidence_by_topic(components.table, self.word_concentration)

    def evidence_of_sums(self, sums: FloatArray, sizes: FloatArray) -> FloatArray:
        """log M(S_k) from ``word_gamma_sums`` over all words and the sizes, (n_topics,) each."""
        prior = self._total_concentration
        evidence: FloatArray = sums - gammaln(sizes + prior) + gammaln(prior)
        return evidence

    def elbo(self, components: Counts, posterior: Counts) -> float:
        """Σ_k [lnB(λ_k) − lnB(η1) + Σ_v (S_kv + η − λ_kv) E[log φ_kv]], where λ − η is given."""
        counts, posterior_counts = components.table, posterior.table
        bound = float(evidence_by_topic(posterior_counts, self.word_concentration).sum())
        if counts is posterior_counts:
            return bound
        parameters = posterior_counts + self.word_concentration
        expected_logs = psi(parameters) - psi(parameters.sum(axis=0))
        return bound + float(np.sum((counts - posterior_counts) * expected_logs))

    def expected_logs(self, rows: FloatArray, sizes: FloatArray) -> FloatArray:
        """E[log φ_kv] of some words, (n_rows, n_topics).

        ``rows`` (n_rows, n_topics) are the words' counts, ``sizes`` (n_topics,) those of all words.
        """
        logs = np.full(rows.shape, psi(self.word_concentration))  # most counts are exactly zero
        seen = rows > 0.0
        logs[seen] = psi(rows[seen] + self.word_concentration)
        logs -= psi(sizes + self._total_concentration)
        return logs

    def merge_gains(self, components: Counts, pairs: IntArray) -> FloatArray:
        """log M(S_a + S_b) − log M(S_a) − log M(S_b) for ``pairs`` (n_pairs, 2), (n_pairs,)."""
        by_topic = np.ascontiguousarray(components.table.T)
        pairs = np.ascontiguousarray(pairs)
        return pair_kernels.word_pair_gains(by_topic, pairs, self.word_concentration)


@dataclass(frozen=True, slots=True)
class Words(DirichletPrior):
    """The prior of topics, which share the words of a document."""

    def zeros(self, n_topics: int) -> WordCounts:
        return WordCounts.zeros(self.n_words, n_topics)

    def expected_log_evidence(self, batch: PairCounts, posterior: WordCounts) -> float:
        table, totals = posterior.table, psi(posterior.sizes + self._total_concentration)
        logs = psi(table[batch.word_of_entry, batch.topics] + self.word_concentration)
        return float(np.dot(batch.values, logs - totals[batch.topics]))

    def learned(self, components: WordCounts) -> Words:
        """The likelihood with η at its optimum."""
        learned = learn_word_concentration(self.word_concentration, components.table)
        return Words(self.n_words, learned)

    def collapsed_weights(self, rows: FloatArray, sizes: FloatArray) -> Weights:
        """E[φ_kv] of some words (Asuncion et al. 2009).

        ``rows`` (n_rows, n_topics) are the words' counts, ``sizes`` (n_topics,) those of all words.
        """
        inverse_totals = 1.0 / (sizes + self._total_concentration)
        return Weights(rows, self.word_concentration, inverse_totals)

    def mean_field_weights(self, rows: FloatArray, sizes: FloatArray) -> FloatArray:
        """exp E[log φ_kv] of some words, (n_rows, n_topics), each word's largest scaled to one."""
        logs = self.expected_logs(rows, sizes)
        logs -= logs.max(axis=1, keepdims=True)
        return np.exp(logs, out=logs)


def evidence_by_topic(counts: FloatArray, word_concentration: float) -> FloatArray:
    """log M(S_k) = lnB(S_k + η) − lnB(η1), (n_topics,); zero counts contribute nothing.

    It is the log probability of a topic's expected counts, with φ_k integrated out.
    """
    sums = pair_kernels.word_gamma_sums(counts, word_concentration)
    prior = DirichletPrior(len(counts), word_concentration)
    return prior.evidence_of_sums(sums, counts.sum(axis=0))
