"""What growth asks of the data: outer nodes that may be refined, in one batch."""

from __future__ import annotations

from typing import Any, Protocol

from sparsetopics.base.batches import IntArray, Source
from sparsetopics.model.node_batches import NodeRecord


class OuterSource(Source, Protocol):
    """Items by the outer nodes of a tree; ``read(0)`` gives them all."""

    @property
    def is_refinable(self) -> bool:
        """Whether there is anything below outer nodes."""
        ...

    @property
    def outer(self) -> IntArray:
        """The number of each outer node, which it keeps."""
        ...

    def children(self, positions: IntArray) -> tuple[Any, IntArray]:
        """What is one level below some outer nodes, as a batch, with its parents' places there."""
        ...

    def refine(self, nodes: IntArray, n_levels: int = 1) -> None:
        """Put what is ``n_levels`` below in the place of those of ``nodes`` that are outer ones."""
        ...

    def record(self) -> NodeRecord | None:
        """The outer nodes as they are, if they can be others."""
        ...

    def restore(self, record: NodeRecord) -> None:
        """Take up where a source of the same items was, from the beginning."""
        ...
