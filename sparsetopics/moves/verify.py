"""Verification: after a move, everything is computed anew from the assignments and compared."""

from __future__ import annotations

import numpy as np

from sparsetopics.document_step import sum_terms
from sparsetopics.moves.standing import Standing, Tools, score_of
from sparsetopics.moves.word_scores import WordScores
from sparsetopics.spread import Spread
from sparsetopics.statistics import DocumentTerms, added
from sparsetopics.word_counts import sum_words

TOLERANCE = 1e-8  # relative


def verify_move(name: str, before: Standing, after: Standing, tools: Tools) -> None:
    """Raise AssertionError unless the move ``name`` kept its promises.

    The score of the statistics is that of the assignments, it is no lower than it was, and higher
    if the number of topics is another.
    """
    exact = recomputed_score(after, tools)
    for found in (after.score, after._replace(known_scores=None).score):
        if abs(found - exact) > TOLERANCE * abs(exact):
            raise AssertionError(f"{name}: score {found!r} of the statistics, {exact!r} exactly")
    worse = after.score < before.score - TOLERANCE * abs(before.score)
    if worse or (after.n_topics != before.n_topics and after.score <= before.score):
        raise AssertionError(f"{name}: score {before.score!r} before, {after.score!r} after")


def recomputed_score(standing: Standing, tools: Tools) -> float:
    """ELBO or collapsed criterion in nats, from the assignments of all batches."""
    counts = np.zeros_like(standing.counts)
    terms = DocumentTerms.zeros(standing.n_topics)
    spread = None if standing.spread is None else Spread.zeros(*counts.shape)
    shape = (counts.shape[0], counts.shape[1])
    for _, assignments in standing.assignments():
        if spread is not None:
            spread.add(assignments, standing.reference)
        sum_words(*assignments, shape, tools.executor).add_to(counts)
        terms = added(
            terms, sum_terms(*assignments, standing.reference, standing.tail, tools.executor)
        )
    scores = WordScores.of(counts, spread, standing.word_concentration)
    return score_of(
        scores, len(counts), standing.word_concentration, terms, standing.allocation, spread
    )
