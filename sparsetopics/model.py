"""A trained topic model: the posterior arrays, and what follows from them in closed form."""

from __future__ import annotations

from dataclasses import dataclass

from sparsetopics.batches import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class TopicModel:
    """Topics and how documents mix them, in falling order of weight."""

    name: str  # "lda"
    topic_word_posterior: FloatArray  # (n_topics, n_words)  λ
    doc_concentration: FloatArray  # (n_topics,)  α_k
    word_concentration: float  # η

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
    def topic_weights(self) -> FloatArray:
        """Share of the training tokens that each topic explains, (n_topics,), sums to one."""
        counts = self.topic_word_posterior.sum(axis=1) - self.n_words * self.word_concentration
        weights: FloatArray = counts / counts.sum()
        return weights
