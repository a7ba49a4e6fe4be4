"""The scores of one topic model on held-out documents, and its record in ``evaluate --json``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.wording import quantity
from sparsetopics.corpora.corpus import AnyCorpus, Corpus, VectorCorpus
from sparsetopics.evaluation.scoring.fixed_topics import FixedTopics, topics_of_run
from sparsetopics.evaluation.scoring.tokenized_texts import TokenizedTexts
from sparsetopics.execution.executors import ALONE, Crew
from sparsetopics.measures import coherence
from sparsetopics.measures.completion import (
    CompletionScore,
    document_completion,
    unigram_probabilities,
)
from sparsetopics.measures.paired import HeldoutScores
from sparsetopics.measures.top_words import inverted_rbo, top_words, topic_diversity
from sparsetopics.measures.topic_quality import COHERENT_WORDS, DISTINCT_WORDS
from sparsetopics.options.registry import MODELS
from sparsetopics.runs.run import Run, TopicRun

IN_SAMPLE = " was trained with this corpus: its scores are in-sample, not those of new data."
Record = dict[str, str | float | dict[str, float | None] | None]  # scores by their JSON keys


class Scoring(NamedTuple):
    """How models are scored; all but ``crew`` is for topics."""

    concentration: float | None = None  # Σ_k α_k of runs; None: their own
    texts: TokenizedTexts | None = None  # for c_v and c_npmi
    seed: int = 0  # of the split of documents
    crew: Crew = ALONE


USUAL = Scoring()


@dataclass(frozen=True, slots=True, eq=False)
class Scorecard:
    """The scores of one set of topics."""

    topics: FixedTopics
    completion: CompletionScore
    heldout: HeldoutScores  # of the documents that were scored
    topic_npmi: FloatArray  # (n_topics,)
    u_mass: float  # mean over topics
    diversity: float
    inverted_rbo: float
    topic_c_v: FloatArray | None = None  # (n_topics,)  None without texts
    topic_c_npmi: FloatArray | None = None
    n_texts: int | None = None  # that c_v and c_npmi were counted in
    in_sample: bool | None = None  # whether the run was trained with ``heldout``; None: unknown

    @property
    def npmi(self) -> float:
        return float(self.topic_npmi.mean())

    @property
    def c_v(self) -> float | None:
        """Mean over the topics whose top words all occur in the texts; None without any."""
        return _mean_of_known(self.topic_c_v)

    @property
    def c_npmi(self) -> float | None:
        """Mean over the same topics; None without any."""
        return _mean_of_known(self.topic_c_npmi)

    @property
    def n_topics(self) -> int:
        return len(self.topics.topic_word)

    @property
    def name(self) -> str:
        return self.topics.name

    @property
    def remarks(self) -> list[str]:
        """Sentences about what was left out, to be printed after the name."""
        remarks = [IN_SAMPLE] if self.in_sample else []
        if n_missing := self.topics.n_missing_words:  # each token costs 27 nats
            remarks.append(
                f" has no column for {n_missing:,} of the {len(self.topics.vocabulary):,} words: "
                "their probability is taken as 1e-12."
            )
        if self.topic_c_v is None or self.topic_c_npmi is None:
            return remarks
        if n_undefined := int(np.isnan(self.topic_c_v + self.topic_c_npmi).sum()):
            remarks.append(
                f": c_v and c_npmi leave out {n_undefined:,} of {self.n_topics:,} topics: "
                "a word of their ten best is not in the texts."
            )
        return remarks

    @property
    def extent(self) -> str:
        """How much was scored, the same for all models that are scored together."""
        score = self.completion
        tokens = quantity(round(score.n_tokens), "token")
        texts = "" if self.n_texts is None else f"; {quantity(self.n_texts, 'text')} read for c_v"
        return (
            f"{quantity(score.n_documents, 'document')} and {tokens} scored; "
            f"{quantity(score.n_skipped_documents, 'document')} skipped; "
            f"{quantity(score.n_unknown_tokens, 'token')} outside the vocabulary{texts}"
        )

    @property
    def run(self) -> TopicRun | None:
        """None for topics of another toolkit."""
        return self.topics.run

    @property
    def kind(self) -> str:
        """Kind of model as tables print it: LDA, HDP or matrix."""
        return "matrix" if self.run is None else MODELS[self.run.model.name].title

    def _npmi_by_id(self, run: TopicRun) -> dict[str, float | None]:
        pairs = zip(run.topics, self.topic_npmi.tolist(), strict=True)
        return {topic.id: None if math.isnan(npmi) else npmi for topic, npmi in pairs}

    def as_dict(self) -> Record:
        """Return the record that ``evaluate --json`` prints; undefined scores are None.

        The fields of ``CompletionScore`` are keys of it, and ``cli.printing`` prints them.
        """
        # A plain matrix has no trace.
        trace, model = ((), None) if self.run is None else (self.run.trace, self.run.model.name)
        record = {
            "run": self.topics.name,
            **self.completion._asdict(),
            "npmi": self.npmi,
            "diversity": self.diversity,
            "model": model,
            "n_topics": self.n_topics,
            "elbo_per_token": last_known(trace, "elbo_per_token"),
            "criterion_per_token": last_known(trace, "criterion_per_token"),
            "u_mass": self.u_mass,
            "inverted_rbo": self.inverted_rbo,
            "c_v": self.c_v,
            "c_npmi": self.c_npmi,
            "in_sample": self.in_sample,
            "smoothing": None if self.run is None else self.run.model.smoothing,
            "topic_npmi": None if self.run is None else self._npmi_by_id(self.run),
        }
        return {
            key: None if isinstance(value, float) and math.isnan(value) else value
            for key, value in record.items()
        }


def last_known(trace: Sequence[Mapping[str, float | None]], key: str) -> float | None:
    """Return the last entry for ``key`` in a trace; not every lap has, say, a criterion."""
    known = (entry[key] for entry in reversed(trace) if entry.get(key) is not None)
    return next(known, None)


def _mean_of_known(scores: FloatArray | None) -> float | None:
    return None if scores is None or np.isnan(scores).all() else float(np.nanmean(scores))


def score_topics(
    topics: FixedTopics | TopicRun, heldout: AnyCorpus, counted_in: AnyCorpus, how: Scoring = USUAL
) -> Scorecard:
    """Score ``topics``: completion of ``heldout``, coherence, and diversity.

    Coherence is counted in ``counted_in``, and also in windows of texts if ``how`` has
    these. The same seed splits the documents alike for all models, so that their scores can be
    compared.
    Raises CorpusError if there is no document to score.
    """
    assert not isinstance(heldout, VectorCorpus), "topics are over words"
    assert not isinstance(counted_in, VectorCorpus), "so are these"
    if isinstance(topics, Run):
        topics = topics_of_run(topics, how.concentration)
    topic_word, alpha = topics.topic_word, topics.doc_concentration
    unigram = unigram_probabilities(topics.vocabulary.term_frequency)
    completion, documents = document_completion(
        heldout, topic_word, alpha, unigram,
        seed=how.seed, workers=how.crew.threads, broadcast=how.crew.map,
    )  # fmt: skip
    coherent_words = top_words(topic_word, COHERENT_WORDS)
    counts = coherence.count_cooccurrence(counted_in.batches(), coherent_words)
    words, texts = topics.vocabulary.words, how.texts
    names = [[words[word] for word in best] for best in coherent_words]
    c_v, c_npmi = (None, None) if texts is None else coherence.text_coherence(names, texts)
    return Scorecard(
        topics=topics,
        completion=completion,
        heldout=documents,
        topic_npmi=coherence.npmi(*counts),
        u_mass=float(coherence.u_mass(*counts).mean()),
        diversity=topic_diversity(top_words(topic_word, DISTINCT_WORDS)),
        inverted_rbo=inverted_rbo(coherent_words),
        topic_c_v=c_v,
        topic_c_npmi=c_npmi,
        n_texts=None if texts is None else texts.n_read,
    )


def coherence_in(corpus: Corpus, topic_word: FloatArray) -> FloatArray:
    """Return the NPMI of each topic, (n_topics,), counted in ``corpus``."""
    best = top_words(topic_word, COHERENT_WORDS)
    return coherence.npmi(*coherence.count_cooccurrence(corpus.batches(), best))
