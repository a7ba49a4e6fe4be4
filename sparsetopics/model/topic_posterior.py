"""A trained topic model: the posterior arrays, and what follows from them in closed form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.showing import short_repr
from sparsetopics.model.array_formats import COMPONENTS, TOPIC_WORDS, Stored, StoredReader
from sparsetopics.options.registry import models_with

_LDA_ARRAYS = {"topic_word_posterior": TOPIC_WORDS, "doc_concentration": COMPONENTS}
_HDP_ARRAYS = {
    "topic_word_posterior": TOPIC_WORDS,
    "stick_means": COMPONENTS._replace(upper=1.0),
    "stick_concentrations": COMPONENTS,
}


class Sticks(NamedTuple):
    """How an HDP's topics share their weight: u_k ~ Beta(ρ_k ω_k, (1 − ρ_k) ω_k)."""

    means: FloatArray  # (n_topics,)  ρ_k
    concentrations: FloatArray  # (n_topics,)  ω_k
    top_concentration: float  # γ
    doc_concentration: float  # α, in total; E[β_k] shares it out

    def __repr__(self) -> str:
        return short_repr(self, "means", "top_concentration", "doc_concentration")

    @property
    def global_topic_weights(self) -> FloatArray:
        """E[β_k] = ρ_k Π_{l<k} (1 − ρ_l), (n_topics,); the tail has the rest of the sum of one."""
        before = np.concatenate(([1.0], np.cumprod(1.0 - self.means[:-1])))
        return self.means * before


@dataclass(frozen=True, slots=True, eq=False)
class TopicPosterior:
    """Topics and how documents mix them, in falling order of weight."""

    name: str  # of its kind, in ``registry.MODELS``
    topic_word_posterior: FloatArray  # (n_topics, n_words)  λ
    doc_concentration: FloatArray  # (n_topics,)  α_k; for an HDP αE[β_k]
    word_concentration: float  # η
    sticks: Sticks | None = None  # of an HDP
    smoothing: float | None = None  # σ, which takes the place of η in what is read; None: η
    likelihood_name = None  # topics have no choice of it

    def __repr__(self) -> str:
        return short_repr(self, "name", "n_topics", "n_words")

    @property
    def n_topics(self) -> int:
        return len(self.topic_word_posterior)

    @property
    def n_words(self) -> int:
        return int(self.topic_word_posterior.shape[1])

    @property
    def n_columns(self) -> int:
        """Columns of the data, which are words."""
        return self.n_words

    @property
    def topic_word_counts(self) -> FloatArray:
        """S = λ − η, expected training tokens of each word in each topic, (n_topics, n_words)."""
        counts = self.topic_word_posterior - self.word_concentration
        return np.maximum(counts, 0.0, out=counts)

    @property
    def exact_counts(self) -> FloatArray:
        """``topic_word_counts`` as training had them, if they are multiples of 2⁻²⁰.

        Those of whole tokens are (``PairCounts``), but not those that the stochastic learner
        scales; these are returned as they are.
        """
        counts = self.topic_word_counts
        exact = np.ldexp(np.rint(np.ldexp(counts, 20)), -20)
        is_exact = np.array_equal(exact + self.word_concentration, self.topic_word_posterior)
        return exact if is_exact else counts

    @property
    def topic_word_weights(self) -> FloatArray:
        """S + σ, what the probabilities of words are proportional to, (n_topics, n_words)."""
        if self.smoothing in (None, self.word_concentration):
            return self.topic_word_posterior
        weights = self.topic_word_counts
        weights += self.smoothing
        return weights

    @property
    def topic_word_mean(self) -> FloatArray:
        """Probability of each word in each topic, (S + σ) / (N + V σ), (n_topics, n_words)."""
        weights = self.topic_word_weights
        mean: FloatArray = weights / weights.sum(axis=1, keepdims=True)
        return mean

    @property
    def sizes(self) -> FloatArray:
        """Training tokens that each topic explains, (n_topics,)."""
        posterior = self.topic_word_posterior
        sizes: FloatArray = posterior.sum(axis=1) - self.n_words * self.word_concentration
        return sizes

    def with_words(self, n_words: int) -> TopicPosterior:
        """The same topics over ``n_words``, of which those that are new have no tokens yet."""
        filler = np.full((self.n_topics, n_words - self.n_words), self.word_concentration)
        return replace(self, topic_word_posterior=np.hstack([self.topic_word_posterior, filler]))

    @property
    def weights(self) -> FloatArray:
        """Share of the training tokens that each topic explains, (n_topics,), sums to one."""
        sizes = self.sizes
        weights: FloatArray = sizes / sizes.sum()
        return weights

    @property
    def mixing_weights(self) -> FloatArray:
        """What the mean proportions of topics in a new document are proportional to: α_k."""
        return self.doc_concentration

    def stored(self) -> Stored:
        """What a run folder keeps; TypeError if sticks are missing."""
        settings: dict[str, str | float | bool] = {
            "model": self.name,
            "n_topics": self.n_topics,
            "n_words": self.n_words,
            "word_concentration": float(self.word_concentration),
        }
        if self.smoothing is not None:
            settings["smoothing"] = float(self.smoothing)
        arrays = {"topic_word_posterior": self.topic_word_posterior}
        if self.name not in models_with("gamma"):
            settings["doc_concentration"] = float(self.doc_concentration.sum())
            arrays["doc_concentration"] = self.doc_concentration
            return Stored(settings, arrays)
        if self.sticks is None:
            raise TypeError(f"an {self.name} without sticks cannot be saved")
        settings["doc_concentration"] = float(self.sticks.doc_concentration)
        settings["top_concentration"] = float(self.sticks.top_concentration)
        arrays["stick_means"] = self.sticks.means
        arrays["stick_concentrations"] = self.sticks.concentrations
        return Stored(settings, arrays)

    @classmethod
    def from_stored(cls, name: str, reader: StoredReader) -> TopicPosterior:
        """The posterior that ``stored`` described; the reader's error for anything else."""
        has_sticks = name in models_with("gamma")
        names = ["doc_concentration", "word_concentration"]
        names += ["smoothing"] if "smoothing" in reader.content else []  # older runs have none
        names += ["top_concentration"] if has_sticks else []
        numbers, sticks = reader.numbers(names), None
        arrays = reader.arrays(_HDP_ARRAYS if has_sticks else _LDA_ARRAYS)
        if has_sticks:
            means, concentrations = arrays["stick_means"], arrays["stick_concentrations"]
            alpha, gamma = numbers["doc_concentration"], numbers["top_concentration"]
            sticks = Sticks(means, concentrations, gamma, alpha)
            arrays["doc_concentration"] = alpha * sticks.global_topic_weights  # α_k = αE[β_k]
        posterior, concentration = arrays["topic_word_posterior"], arrays["doc_concentration"]
        eta, smoothing = numbers["word_concentration"], numbers.get("smoothing")
        return cls(name, posterior, concentration, eta, sticks, smoothing)
