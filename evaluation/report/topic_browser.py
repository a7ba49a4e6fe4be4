"""The data of page.js, the topic browser: words of each topic for every place of its slider."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.measures.relevance import relevance
from sparsetopics.measures.top_words import top_words

STEPS = 20  # of the slider, which has one place more
DECIMALS = 3  # of logarithms; the error of a probability is below a thousandth
ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


class BrowserWords(NamedTuple):
    """Words that lead a topic at some place of the slider, the most probable first."""

    word_ids: IntArray  # (n_kept,)
    log_probabilities: FloatArray  # (n_kept,)  log φ_kv
    log_lifts: FloatArray  # (n_kept,)  log φ_kv / p_v


def browser_words(probabilities: FloatArray, unigram: FloatArray, n_words: int) -> BrowserWords:
    """Return all words that are among the ``n_words`` most relevant for some λ = 0, 0.05, …, 1.

    Words have the ``probabilities`` φ_kv in the topic and the ``unigram`` p_v in all documents.
    """
    logs = np.log(probabilities)
    lifts = logs - np.log(unigram)
    places = [relevance(logs, lifts, step / STEPS) for step in range(STEPS + 1)]
    kept = np.unique(top_words(np.array(places), n_words))
    kept = kept[np.argsort(-logs[kept], kind="stable")]
    return BrowserWords(kept, logs[kept], lifts[kept])


def browser_data(runs: Sequence[tuple[Sequence[str], Sequence[BrowserWords]]]) -> Markup:
    """Return JSON for a script element, made of each run's vocabulary and words by topic.

    Browsers do not read markup inside such an element, but ``</script`` would end it: no ``<`` is
    left in the text.
    """
    return Markup(escaped_json({"steps": STEPS, "runs": [_run_data(*run) for run in runs]}))


def escaped_json(record: Mapping[str, Any]) -> str:  # whatever json.dumps takes
    """Return JSON without the characters that mean something to HTML or end a line of script."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    for character, escape in ESCAPES.items():  # JSON has these characters only inside strings
        text = text.replace(character, escape)
    return text


def _run_data(
    words: Sequence[str], topics: Sequence[BrowserWords]
) -> dict[str, list[str] | list[dict[str, list[float]]]]:
    """Return each used word once and, for each topic, numbers of words, log φ and log φ/p."""
    used = sorted({int(word) for topic in topics for word in topic.word_ids})
    place = {word: number for number, word in enumerate(used)}
    return {
        "words": [words[word] for word in used],
        "topics": [
            {
                "words": [place[word] for word in topic.word_ids.tolist()],
                "logs": topic.log_probabilities.round(DECIMALS).tolist(),
                "lifts": topic.log_lifts.round(DECIMALS).tolist(),
            }
            for topic in topics
        ],
    }
