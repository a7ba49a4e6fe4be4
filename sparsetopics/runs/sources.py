"""The batches of a run's data, the same in every process that divides them."""

from __future__ import annotations

import numpy as np

from sparsetopics.base.batches import Source
from sparsetopics.corpora.batching import plan_batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.vector_batching import plan_vector_batches
from sparsetopics.corpora.vectors import VectorCorpus
from sparsetopics.model.document_items import DocumentItemSource
from sparsetopics.options.table import RESIDENT_PAIRS
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.plan import RunPlan


def divided(plan: RunPlan, rng: np.random.Generator) -> Source:
    """The data of ``plan`` as its kind of model reads them; a new ``rng`` of its seed is wanted."""
    return source_of(
        corpus_of(plan), plan.options, plan.n_batches, rng, resident_pairs=plan.resident_pairs
    )


def corpus_of(plan: RunPlan) -> Corpus | VectorCorpus:
    """The data of ``plan``; CorpusFormatError if they are of another kind than its model's."""
    path = plan.at(plan.corpus)
    return Corpus.open(path) if plan.options.counts_words else VectorCorpus.open(path)


def source_of(
    corpus: Corpus | VectorCorpus,
    options: TrainingOptions,
    n_batches: int | None,
    rng: np.random.Generator,
    *,
    resident_pairs: int = RESIDENT_PAIRS,
) -> Source:
    """The corpus in batches, as the kind of model reads them; OptionError for too many batches."""
    if isinstance(corpus, VectorCorpus):
        return plan_vector_batches(corpus, n_batches, rng)
    source = plan_batches(corpus, n_batches, rng, resident_pairs=resident_pairs)
    return DocumentItemSource(source) if options.is_mixture else source
