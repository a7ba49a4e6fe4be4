"""A trained topic model: the posterior arrays, and what follows from them in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.options.table import ModelName


class Sticks(NamedTuple):
    """How an HDP's topics share their weight: u_k ~ Beta(ρ_k ω_k, (1 − ρ_k) ω_k)."""

    means: FloatArray  # (n_topics,)  ρ_k
    concentrations: FloatArray  # (n_topics,)  ω_k
    top_concentration: float  # γ
    doc_concentration: float  # α, in total; E[β_k] shares it out

    @property
    def global_topic_weights(self) -> FloatArray:
        """E[β_k] = ρ_k Π_{l<k} (1 − ρ_l), (n_topics,); what is missing to one is the tail's."""
        before = np.concatenate(([1.0], np.cumprod(1.0 - self.means[:-1])))
        weights: FloatArray = self.means * before
        return weights


@dataclass(frozen=True, slots=True, eq=False)
class TopicModel:
    """Topics and how documents mix them, in falling order of weight."""

    name: ModelName
    topic_word_posterior: FloatArray  # (n_topics, n_words)  λ
    doc_concentration: FloatArray  # (n_topics,)  α_k; of an HDP αE[β_k]
    word_concentration: float  # η
    sticks: Sticks | None = None  # of an HDP

    @property
    def n_topics(self) -> int:
        return len(self.topic_word_posterior)

    @property
    def n_words(self) -> int:
        return int(self.topic_word_posterior.shape[1])

    @property
    def topic_word_mean(self) -> FloatArray:
        """Posterior mean probability of each word in each topic, (n_topics, n_words)."""
        posterior = self.topic_word_posterior
        mean: FloatArray = posterior / posterior.sum(axis=1, keepdims=True)
        return mean

    @property
    def weights(self) -> FloatArray:
        """Share of the training tokens that each topic explains, (n_topics,), sums to one."""
        counts = self.topic_word_posterior.sum(axis=1) - self.n_words * self.word_concentration
        weights: FloatArray = counts / counts.sum()
        return weights
