"""Documents of one component each: x_n ~ Multinomial(φ_k), φ_k ~ Dir(η), q(φ_k) = Dir(λ_k).

λ = S + η as for topics, but S_kv = Σ_n r_nk x_nv sums whole documents. The log density of a
document is Σ_v x_nv E[log φ_kv]: as in the ELBO of topics, the multinomial coefficient, which is
the same for all components, is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple, Self

import numpy as np

from sparsetopics.base.batches import Batch, DocumentBatch, FloatArray, IntArray, Source
from sparsetopics.base.showing import short_repr
from sparsetopics.kernels import items as item_kernels
from sparsetopics.kernels.types import Float32Array
from sparsetopics.model.array_formats import TOPIC_WORDS, StoredAs
from sparsetopics.model.document_counts import DocumentCounts, SparseDocumentCounts, rows_of
from sparsetopics.model.likelihoods import document_seeds
from sparsetopics.model.likelihoods.document_seeds import background_of
from sparsetopics.model.likelihoods.likelihood import ItemLikelihood, Posterior
from sparsetopics.model.likelihoods.scorers import Scorer
from sparsetopics.model.likelihoods.words import DirichletPrior
from sparsetopics.options.training import TrainingOptions

# Share of a component's start that comes from its seed document. Log densities of whole documents
# lie far apart: the larger this share, the more documents go to the few seeds with many words.
SEED_SHARE = 0.01


class DirichletPosterior(NamedTuple):
    """q(φ_k) = Dir(λ_k)."""

    topic_word_posterior: FloatArray  # (n_topics, n_words)  λ

    def __repr__(self) -> str:
        return short_repr(self, "topic_word_posterior")


def word_log_densities(
    log_weights: Float32Array,  # (n_words, n_topics)
    values: DocumentBatch,
) -> FloatArray:
    """Σ_v x_v log weight_vk of documents, (n_docs, n_topics).

    It is summed in float64 because documents may have any number of words.
    """
    out = np.zeros((len(values), log_weights.shape[1]))
    item_kernels.add_word_logs(values.indptr, values.word_ids, values.word_counts, log_weights, out)
    return out


@dataclass(frozen=True, slots=True)
class Multinomial(
    DirichletPrior, ItemLikelihood[DocumentBatch, DocumentCounts, SparseDocumentCounts]
):
    """The prior of components, to which whole documents belong."""

    stored: ClassVar[StoredAs] = StoredAs(
        DirichletPosterior, (TOPIC_WORDS,), {}, ("word_concentration",)
    )

    @classmethod
    def for_training(
        cls, sample: DocumentBatch, source: Source[Batch], options: TrainingOptions
    ) -> Self:
        """The prior that the options give; it does not depend on the documents."""
        return cls(source.n_columns, options.prior.word_concentration)

    def zeros(self, n_topics: int) -> DocumentCounts:
        return DocumentCounts.zeros(self.n_words, n_topics)

    def prepare(self, components: DocumentCounts) -> Scorer[DocumentBatch]:
        logs = self.expected_logs(components.table, components.table.sum(axis=0))
        return partial(word_log_densities, logs.astype(np.float32))

    def distant_seeds(
        self, values: DocumentBatch, n_seeds: int, rng: np.random.Generator
    ) -> IntArray:
        held = np.flatnonzero(np.diff(values.indptr))  # documents without words are all alike
        rows = rows_of(values.take(held), self.n_words)
        n_seeds = min(n_seeds, len(held))
        found = held[document_seeds.distant_rows(rows, background_of(rows), n_seeds, rng)]
        _, first = np.unique(found, return_index=True)
        return found[np.sort(first)]

    def alone(self, values: DocumentBatch, seeds: IntArray) -> DocumentCounts:
        """One document each, mixed with the background; sizes as if ``values`` were shared out."""
        rows = rows_of(values, self.n_words)
        background, n_tokens = background_of(rows), values.n_tokens
        table = document_seeds.mixed_counts(rows[seeds], background, SEED_SHARE, n_tokens)
        return DocumentCounts(np.full(len(seeds), len(values) / len(seeds)), table)

    def posterior(self, components: DocumentCounts) -> DirichletPosterior:
        by_topic = np.ascontiguousarray(components.table.T)
        return DirichletPosterior(by_topic + self.word_concentration)

    def components_of(self, posterior: Posterior) -> DocumentCounts:
        """Counts of words without counts of documents, which the posterior does not contain."""
        (by_topic,) = posterior
        table = np.ascontiguousarray(by_topic.T) - self.word_concentration
        return DocumentCounts(np.zeros(len(by_topic)), table)

    def predictive(self, components: DocumentCounts) -> Scorer[DocumentBatch]:
        """Σ_v x_v log E[φ_kv]: words of a document are drawn from the mean of the posterior."""
        weights = components.table + self.word_concentration
        logs = np.log(weights / weights.sum(axis=0))
        return partial(word_log_densities, logs.astype(np.float32))
