"""What the scripts of a page read, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.sealed_files import Json
from sparsetopics.evaluation.denoising.pictures import grey_png
from sparsetopics.evaluation.report.components import png_address
from sparsetopics.evaluation.report.division import Division
from sparsetopics.evaluation.report.topic_browser import BrowserWords
from sparsetopics.evaluation.report.topic_tree import Tree

DECIMALS = 3  # of logarithms; the error of a probability is below a thousandth
SHARE_DECIMALS = 4
ESCAPES = str.maketrans({each: f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"})


def heat_map(similarities: FloatArray) -> dict[str, str | float]:
    """Return a picture of (n_topics, n_topics) similarities, of at least two topics.

    ``image`` is the address of a PNG file with a dot for each pair, from the ``least`` similarity
    of two topics, which is black, to the ``greatest``. Topics are more like themselves.
    """
    pairs = similarities[~np.eye(len(similarities), dtype=bool)]
    least, greatest = float(pairs.min()), float(pairs.max())
    shares = (similarities - least) / (greatest - least or 1.0)
    return {"image": png_address(grey_png(shares)), "least": least, "greatest": greatest}


def tree_data(tree: Tree) -> dict[str, Json]:
    """Return the branches with their places, names and words."""
    branches = [
        [*branch[:5], round(branch.weight, SHARE_DECIMALS + 2), branch.words]
        for branch in tree.branches
    ]
    numbers, marks = list(tree.numbers), dict(tree.marks)
    return {"branches": branches, "numbers": numbers, "cut": tree.cut, "marks": marks}


def division_data(division: Division) -> dict[str, Json]:
    """Return the shares of groups and periods, and the differences between pairs of groups."""
    content: dict[str, Json] = {
        "groups": division.groups,
        "periods": division.periods,
        "documents": division.n_documents.tolist(),
        "mean": _rounded(division.mean),
        "low": _rounded(division.low),
        "high": _rounded(division.high),
    }
    for name, found in (("pairs", division.pairs), ("rest", division.against_rest)):
        if found is not None:
            ends = {"low": _rounded(found.low), "high": _rounded(found.high)}
            content[name] = {"difference": _rounded(found.difference), **ends}
    return content


def _rounded(values: FloatArray) -> Json:
    """Return rounded numbers, and None for those that are not known."""
    rounded = np.round(values, SHARE_DECIMALS).astype("O")
    rounded[np.isnan(values)] = None
    found: Json = rounded.tolist()
    return found


def escaped_json(record: Mapping[str, Json]) -> str:
    """Return JSON without the characters that mean something to HTML or end a line of script.

    Browsers do not read markup inside an element of data, but ``</script`` would end it.
    """
    # JSON has these characters only inside strings.
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).translate(ESCAPES)


def browser_data(words: Sequence[str], topics: Sequence[BrowserWords]) -> dict[str, Json]:
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
