"""The batches of a run's data, the same in every process that divides them."""

from __future__ import annotations

import numpy as np

from sparsetopics.batches import Source
from sparsetopics.corpora.batching import plan_batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.vector_batching import plan_vector_batches
from sparsetopics.corpora.vectors import VectorCorpus
from sparsetopics.document_items import DocumentItemSource
from sparsetopics.run_plans import RunPlan


def divided(plan: RunPlan, rng: np.random.Generator) -> Source:
    """The data of ``plan`` as its kind of model reads them; a new ``rng`` of its seed is wanted."""
    path, options = plan.at(plan.corpus), plan.options
    if not options.counts_words:
        return plan_vector_batches(VectorCorpus.open(path), plan.n_batches, rng)
    corpus = Corpus.open(path)
    source = plan_batches(corpus, plan.n_batches, rng, resident_pairs=plan.resident_pairs)
    return DocumentItemSource(source) if options.is_mixture else source
