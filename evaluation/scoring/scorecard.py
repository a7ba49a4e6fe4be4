"""Everything that is measured of one model on held-out documents."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.evaluation.scores.coherence import count_cooccurrence, npmi, u_mass
from sparsetopics.evaluation.scores.completion import (
    CompletionScore,
    Documents,
    document_completion,
)
from sparsetopics.evaluation.scores.diversity import topic_diversity
from sparsetopics.evaluation.scores.rank_overlap import inverted_rbo
from sparsetopics.evaluation.scores.topic_table import top_words
from sparsetopics.evaluation.scoring.candidates import Candidate
from sparsetopics.execution.executors import BroadcastMap, broadcast_map_here

COHERENCE_WORDS = 10
DIVERSITY_WORDS = 25


@dataclass(frozen=True, slots=True, eq=False)
class Scorecard:
    """The scores of one candidate."""

    candidate: Candidate
    completion: CompletionScore
    topic_npmi: FloatArray  # (n_topics,)
    topic_u_mass: FloatArray  # (n_topics,)
    diversity: float
    inverted_rbo: float
    topic_c_v: FloatArray | None = None  # (n_topics,); None without texts
    topic_c_npmi: FloatArray | None = None  # likewise

    @property
    def npmi(self) -> float:
        return float(self.topic_npmi.mean())

    @property
    def u_mass(self) -> float:
        return float(self.topic_u_mass.mean())

    @property
    def c_v(self) -> float | None:
        """Mean over the topics whose top words all occur in the texts; None without any."""
        return _mean_of_known(self.topic_c_v)

    @property
    def c_npmi(self) -> float | None:
        """The same of c_npmi."""
        return _mean_of_known(self.topic_c_npmi)

    @property
    def n_undefined(self) -> int:
        """Topics without c_v or c_npmi although there were texts."""
        if self.topic_c_v is None or self.topic_c_npmi is None:
            return 0
        return int(np.isnan(self.topic_c_v + self.topic_c_npmi).sum())

    @property
    def n_topics(self) -> int:
        return len(self.candidate.topic_word)

    @property
    def name(self) -> str:
        return self.candidate.name

    @property
    def remarks(self) -> list[str]:
        """What was left out, to be read behind the name."""
        told = []
        if n_missing := self.candidate.n_missing_words:  # each costs 27 nats a token
            told.append(
                f" has no column for {n_missing:,} of the {len(self.candidate.words):,} words: "
                "their probability is taken as 1e-12."
            )
        if self.n_undefined:
            told.append(
                f": c_v and c_npmi leave out {self.n_undefined:,} of {self.n_topics:,} topics: "
                "a word of their ten best is not in the texts."
            )
        return told

    @property
    def extent(self) -> str:
        """How much was scored, the same for all models that are scored together."""
        score = self.completion
        return (
            f"{score.n_documents:,} documents and {score.n_tokens:,.0f} tokens scored; "
            f"{score.n_skipped_documents:,} documents skipped; "
            f"{score.n_unknown_tokens:,} tokens outside the vocabulary"
        )

    @property
    def model_name(self) -> str | None:
        """Kind of model, "lda" or "hdp"; None for a plain matrix."""
        return None if self.candidate.run is None else self.candidate.run.model.name

    @property
    def kind(self) -> str:
        """The same for people: LDA, HDP or matrix."""
        return "matrix" if self.model_name is None else self.model_name.upper()

    @property
    def elbo_per_token(self) -> float | None:
        """Bound on the training documents after the last lap; None for a plain matrix."""
        return self._last("elbo_per_token")

    @property
    def criterion_per_token(self) -> float | None:
        """What moves had to raise, where that is not the bound."""
        return self._last("criterion_per_token")

    def _last(self, key: str) -> float | None:
        """Entry of the last lap that has one: laps without moves have no criterion."""
        trace = () if self.candidate.run is None else self.candidate.run.trace
        known = (entry[key] for entry in reversed(trace) if entry.get(key) is not None)
        return next(known, None)

    def as_dict(self) -> dict[str, Any]:
        """The record that ``evaluate --json`` prints; what is undefined is None."""
        record = {
            "run": self.candidate.name,
            **self.completion._asdict(),
            "npmi": self.npmi,
            "diversity": self.diversity,
            "model": self.model_name,
            "n_topics": self.n_topics,
            "elbo_per_token": self.elbo_per_token,
            "criterion_per_token": self.criterion_per_token,
            "u_mass": self.u_mass,
            "inverted_rbo": self.inverted_rbo,
            "c_v": self.c_v,
            "c_npmi": self.c_npmi,
        }
        return {
            key: None if isinstance(value, float) and math.isnan(value) else value
            for key, value in record.items()
        }


def _mean_of_known(scores: FloatArray | None) -> float | None:
    if scores is None or np.isnan(scores).all():
        return None
    return float(np.nanmean(scores))


def score_candidate(
    candidate: Candidate,
    heldout: Documents,
    coherence_documents: Documents,
    *,
    texts: Iterable[Sequence[str]] | None = None,
    seed: int = 0,
    workers: int = 1,
    broadcast: BroadcastMap = broadcast_map_here,
) -> Scorecard:
    """Document completion on ``heldout``, coherence on ``coherence_documents``, diversity.

    With ``texts``, lists of words that can be iterated over again, coherence in windows of text
    too. The same ``seed`` splits the documents alike for every candidate, so that scores compare.
    """
    completion = document_completion(
        heldout,
        candidate.topic_word,
        candidate.doc_concentration,
        candidate.unigram,
        seed=seed,
        workers=workers,
        broadcast=broadcast,
    )
    coherent_words = top_words(candidate.topic_word, COHERENCE_WORDS)
    counts = count_cooccurrence(coherence_documents.batches(), coherent_words)
    of_texts = None
    if texts is not None:
        from sparsetopics.evaluation.scores.text_coherence import text_coherence

        words = [[candidate.words[word] for word in best] for best in coherent_words]
        of_texts = text_coherence(words, texts)
    return Scorecard(
        candidate=candidate,
        completion=completion,
        topic_npmi=npmi(counts),
        topic_u_mass=u_mass(counts),
        diversity=topic_diversity(top_words(candidate.topic_word, DIVERSITY_WORDS)),
        inverted_rbo=inverted_rbo(coherent_words),
        topic_c_v=None if of_texts is None else of_texts.c_v,
        topic_c_npmi=None if of_texts is None else of_texts.c_npmi,
    )
