"""What the page of a topic path shows before the topics of one run: scores and advice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sparsetopics.base.wording import quantity
from sparsetopics.measures.knee import AS_GOOD_LOSS, RECOMMENDED_LOSS
from sparsetopics.measures.paired import Estimate
from sparsetopics.runs.run import TopicRun
from sparsetopics.runs.topic_path_files import Scores, TopicPathFolder

SHOWN_LOSS = 0.1  # nats below the best


class Curve(NamedTuple):
    """Scores over numbers of topics, without those much below the best."""

    scores: Mapping[int, Estimate]
    recommended: int  # the nearest of these numbers
    as_good: tuple[int, int]  # the fewest and the most topics that predict as well


class NumberChoice(NamedTuple):
    """How documents that were kept out of training chose the number of topics."""

    scored_on: str  # which documents
    advice: str  # which other numbers predict as well
    curve: Curve


@dataclass(frozen=True, slots=True, eq=False)
class TopicPathSection:
    """The part of a page that is about a topic path."""

    name: str
    run: Path  # whose topics the page shows
    n_topics: int  # of this run
    meaning: str
    scores: Scores
    curve: Curve | None


def shown_number(scores: Scores) -> int:
    """Return the number of topics of the run that a page shows: the recommended or middle one."""
    return scores.recommended or scores.rungs[len(scores.rungs) // 2].n_topics


def topic_path_section(found: TopicPathFolder) -> TopicPathSection:
    """Return what a page shows of a topic path, whose runs are not read."""
    scores, n_topics = found.scores, shown_number(found.scores)
    return TopicPathSection(
        name=found.folder.name or str(found.folder),
        run=found.run(n_topics),
        n_topics=n_topics,
        meaning=_meaning(scores, n_topics),
        scores=scores,
        curve=score_curve(scores, n_topics) if scores.recommended else None,
    )


def _meaning(scores: Scores, n_topics: int) -> str:
    if scores.recommended is None:
        return f"Below are the {quantity(n_topics, 'topic')} of the run in the middle of the path."
    meaning = (
        f"{n_topics:,} is the smallest number that predicts nearly as well as the best: on a curve "
        f"through the scores, it loses at most {RECOMMENDED_LOSS:g} nats. "
        f"Numbers that predict as well lose at most two standard errors or {AS_GOOD_LOSS:g} nats."
    )
    if any(rung.empty_topics for rung in scores.rungs):
        meaning += " Numbers with empty topics are passed over if others predict as well."
    return meaning


def score_curve(scores: Scores, n_topics: int) -> Curve | None:
    """Return the scores over numbers of topics; None without scores.

    The recommended number is the one nearest to ``n_topics``. Numbers below ``SHOWN_LOSS`` are left
    out, because they would flatten the rest.
    """
    known = {
        rung.n_topics: Estimate(score, rung.difference_standard_error or 0.0)
        for rung in scores.rungs
        if (score := rung.log_likelihood_per_token) is not None
    }
    if not known:
        return None
    least = max(score.mean for score in known.values()) - SHOWN_LOSS
    low, high = scores.as_good_around(n_topics)
    shown = {n: score for n, score in known.items() if score.mean >= least or low <= n <= high}
    nearest = min(shown, key=lambda number: abs(number - n_topics))
    return Curve(shown, nearest, (low, high))


def number_choice(run: TopicRun) -> NumberChoice | None:
    """Return how the number of topics was validated; None if it was not."""
    scores = run.settings.get("number_of_topics")
    if scores is None or scores.scored_on is None:
        return None
    n = run.model.n_topics
    low, high = scores.as_good_around(n)
    chosen = "are enough to read" if n < low else "were chosen"
    well = "best" if n < low else "as well"
    advice = f"{n:,} topics {chosen}; from {low:,} to {high:,} predict {well}. {scores.limits}"
    curve = score_curve(scores, max(n, low))
    return None if curve is None else NumberChoice(scores.scored_on, advice, curve)
