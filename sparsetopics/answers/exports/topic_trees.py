"""The topics of a topic path as a tree in Newick, and as a table in CSV."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
from msgspec.structs import asdict

from sparsetopics.answers.table_files import write_tables
from sparsetopics.runs.topic_path_files import TopicPathFolder, TopicTree, TreeRung

LABEL_WORDS = 5
APOSTROPHE = "\N{RIGHT SINGLE QUOTATION MARK}"
# What is below a node, in Newick, without the length of the edge above; and the size of its rung.
Node = tuple[str, int]
NUMBERS = ("n_topics", "topic", "parent_n_topics", "parent_topic")  # the last rung has no parents
TEXTS = dict.fromkeys(("name", "words", "telling_words"), pa.string())
TOPICS = pa.schema({**dict.fromkeys(NUMBERS, pa.int64()), "weight": pa.float64(), **TEXTS})


def write_newick(path: Path, topic_path: TopicPathFolder) -> None:
    """Write the tree that ``newick`` returns."""
    path.write_text(f"{newick(topic_path.tree)}\n", encoding="utf-8", newline="")


def newick(tree: TopicTree) -> str:
    """Return the tree of topics in the Newick format, with edges of ln(K_child / K_parent).

    Leaves are the topics of the largest rung, and inner nodes those that others were merged to. The
    topics of the rung of K topics lie ln K below the root, so a cut at this distance gives the
    rung. A topic that is not merged on the way to a smaller rung has one node, that of the larger
    rung, because some programs refuse nodes with a single child. If the last rung has several
    topics, a root without a label joins them.
    """
    first = tree.rungs[0]
    nodes = [(_label(first, topic), first.n_topics) for topic in range(first.n_topics)]
    for rung, fewer in pairwise(tree.rungs):
        parts = rung.children(fewer.n_topics)
        families = [[nodes[part] for part in family] for family in parts]
        nodes = [
            family[0] if len(family) == 1 else _joined(family, fewer.n_topics, _label(fewer, topic))
            for topic, family in enumerate(families)
        ]
    root, _ = nodes[0] if len(nodes) == 1 else _joined(nodes, 1, "")
    return f"{root};"


def _joined(nodes: Sequence[Node], n_topics: int, label: str) -> Node:
    """Return the node of a rung that others were merged to."""
    edges = (f"{below}:{math.log(size / n_topics)!r}" for below, size in nodes)
    return f"({','.join(edges)}){label}", n_topics


def _label(rung: TreeRung, topic: int) -> str:
    """Return ``'50-3 space nasa …'``: the rung, the topic and its best words, in quotes.

    Line breaks and other control characters become spaces: some programs read line by line.
    """
    words = " ".join(rung.topics[topic].words[:LABEL_WORDS])
    # The standard doubles a quote inside quotes, but ape 5.7 and ete3 3.1 cannot read that.
    plain = "".join(c if c.isprintable() else " " for c in words).replace("'", APOSTROPHE)
    return f"'{rung.n_topics}-{topic} {plain}'"


def write_csv(path: Path, topic_path: TopicPathFolder, spreadsheet_safe: bool = False) -> None:
    """Write one row for each topic of each rung, the largest rung first.

    Words are separated by spaces. With ``spreadsheet_safe``, words that begin like a formula get an
    apostrophe in front.
    """
    sizes = [rung.n_topics for rung in topic_path.tree.rungs]
    tables = map(_rows, topic_path.tree.rungs, [*sizes[1:], None])
    write_tables(path, ".csv", TOPICS, tables, spreadsheet_safe=spreadsheet_safe)


def _rows(rung: TreeRung, n_parents: int | None) -> pa.Table:
    """Return the topics of a rung; ``n_parents`` is the size of the next one, None for the last."""
    own = {"n_topics": rung.n_topics, "parent_n_topics": n_parents}
    rows = [
        {**own, "topic": number, "parent_topic": topic.parent, **asdict(topic)}
        | {"words": " ".join(topic.words), "telling_words": " ".join(topic.telling_words)}
        for number, topic in enumerate(rung.topics)
    ]
    return pa.Table.from_pylist(rows, TOPICS)
