"""What other toolkits take of a run over words: of topics, or of a mixture of documents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sparsetopics.base.batches import DocumentBatch, FloatArray
from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.inference.new_documents import topic_proportions
from sparsetopics.runs.mixture_runs import MixtureRun
from sparsetopics.runs.topic_runs import Run


@dataclass(frozen=True, eq=False)
class WordTopics:
    """A run that has words, and the documents it was trained with where a format wants them."""

    run: Run | MixtureRun
    documents: Corpus | None = None

    @property
    def vocabulary(self) -> Vocabulary:
        return self.run.words

    @property
    def posterior(self) -> FloatArray:
        """λ = η + the expected counts of words, (n_topics, n_words)."""
        return self.run.model.topic_word_posterior

    @cached_property
    def topic_word(self) -> FloatArray:
        """Posterior mean probability of each word in each topic, (n_topics, n_words)."""
        return self.run.model.topic_word_mean

    @property
    def weights(self) -> FloatArray:
        """The α_k of a topic model, E[w_k] of a mixture, (n_topics,)."""
        if isinstance(self.run, Run):
            return self.run.model.doc_concentration
        return self.run.model.weights

    def proportions(self, batch: DocumentBatch) -> FloatArray:
        """How much each document is about each topic, (n_docs, n_topics); rows sum to one."""
        if isinstance(self.run, Run):
            return topic_proportions(batch, self.topic_word, self.run.model.doc_concentration)
        return self.run.model.responsibilities(batch)

    def topic_run(self, target: str) -> Run:
        """The run, for formats that know nothing but topic models; OptionError for a mixture."""
        if isinstance(self.run, Run):
            return self.run
        raise OptionError(
            "to",
            found=f"{target} for {self.run.path}, a mixture of documents",
            wanted="a run of topics",
            hint="Mixtures are exported as mallet, matrix-market, csv, parquet or pyldavis.",
        )
