"""What the script of a report's page works with, as JSON that cannot end its element."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from sparsetopics.evaluation.report.relevance import STEPS
from sparsetopics.evaluation.report.report_subject import Subject

DECIMALS = 3  # of logs: a thousandth part of a probability
ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def browser_data(subjects: Sequence[Subject]) -> Markup:
    """Words of all topics for every place of the slider, for a script element of type JSON.

    Inside such an element markup is not read, but ``</script`` ends it; no ``<`` is left.
    """
    record = {"steps": STEPS, "runs": [_run_data(subject) for subject in subjects]}
    return Markup(escaped_json(record))


def escaped_json(record: Any) -> str:
    """JSON without the characters that mean something to HTML or end a line of script."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    for character, escape in ESCAPES.items():  # all of them can only stand in strings
        text = text.replace(character, escape)
    return text


def _run_data(subject: Subject) -> dict[str, Any]:
    """Each word once, and of topics the words' numbers, log φ and log φ/p."""
    used = sorted({int(word) for topic in subject.topics for word in topic.relevant.word_ids})
    place = {word: number for number, word in enumerate(used)}
    return {
        "words": [subject.words[word] for word in used],
        "topics": [
            {
                "words": [place[word] for word in topic.relevant.word_ids.tolist()],
                "logs": topic.relevant.log_probabilities.round(DECIMALS).tolist(),
                "lifts": topic.relevant.log_lifts.round(DECIMALS).tolist(),
            }
            for topic in subject.topics
        ],
    }
